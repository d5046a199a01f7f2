"""Graphs: the Graph class, the CSR builder, vertex ids and conversions."""
