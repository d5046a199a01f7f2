"""Kernels shared by all algorithms: one folder per kind of element, with the same file and function names."""
