"""Partitioning: one share of a graph for each processing element."""
