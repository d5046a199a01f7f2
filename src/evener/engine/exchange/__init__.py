"""Exchanges between partitions: what each takes, and one file for each way their values can travel."""
