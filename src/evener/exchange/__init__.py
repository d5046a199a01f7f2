"""Exchanges between partitions: routes, and one file for each way their values can travel."""
