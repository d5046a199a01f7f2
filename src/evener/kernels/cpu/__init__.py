"""CPU kernels, in Numba: loops over arrays that neither allocate, raise, log nor time."""
