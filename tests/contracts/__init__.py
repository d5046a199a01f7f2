"""Contracts: tests that every element, format, policy, transport or world passes."""
