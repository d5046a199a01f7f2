"""Fakes, graphs, expected results and twins of kernels that several test files use."""
