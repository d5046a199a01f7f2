"""The minimum spanning forest on a GPU."""

from __future__ import annotations

from algorithms.test_spanning_forest import TestSpanningForest as _OnCpus


class TestSpanningForest(_OnCpus):
    kind = "cuda:0"
