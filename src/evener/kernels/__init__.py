"""Kernels: the inner loops, one tree for each kind of element, same file and function names in all."""
