"""CUDA kernels, in CUDA C++: for each file of `evener.kernels.cpu` a ``.cu`` file with the same functions."""
