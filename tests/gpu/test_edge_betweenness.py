"""Betweenness of edges on a GPU."""

from __future__ import annotations

from algorithms.test_edge_betweenness import TestEdgeBetweenness as _OnCpus


class TestEdgeBetweenness(_OnCpus):
    kind = "cuda:0"
