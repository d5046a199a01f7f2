"""Checkpoints: files from which a run continues after its process has ended."""
