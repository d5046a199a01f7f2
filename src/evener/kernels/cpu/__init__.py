"""CPU kernels in Numba: loops over arrays. They do not allocate, raise, log or time."""
