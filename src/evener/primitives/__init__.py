"""Building blocks between the engine's verbs and algorithms, each with kernels for CPUs and GPUs."""
