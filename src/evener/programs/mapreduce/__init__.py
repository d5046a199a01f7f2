"""MapReduce over the edges of a graph: map, shuffle (copy and sort), reduce."""
