"""Programs: algorithms that a user writes as Python functions."""
