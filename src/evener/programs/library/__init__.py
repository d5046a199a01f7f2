"""Algorithms as vertex programs. Each file has the program, the spec and the verifier of one algorithm."""
