"""CUDA kernels in C++: a ``.cu`` file and the file of its name in `evener.kernels.cpu` share kernel names."""
