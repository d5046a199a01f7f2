"""Betweenness centrality."""
