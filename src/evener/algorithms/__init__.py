"""Algorithms: one folder each, which `evener.algorithms.registry` finds."""
