"""CPU twins of kernels that only GPUs have."""
