"""Tests that a package with an algorithm inherits, graphs for them, and fake ranks."""
