"""Operating system: memory, cache directory, atomic file writes and file locks."""
