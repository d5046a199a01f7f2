"""A graph in blocks, one for each rank: reading, vertex ids, rows, and its partitions."""
