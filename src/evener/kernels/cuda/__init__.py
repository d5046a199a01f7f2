"""CUDA kernels in C++: a ``.cu`` file shares kernel names with its namesake in `evener.kernels.cpu`."""
