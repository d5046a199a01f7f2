"""The engine: three verbs over the partitions of a graph."""
