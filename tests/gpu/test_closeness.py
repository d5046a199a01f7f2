"""Closeness and harmonic centrality on a GPU."""

from __future__ import annotations

from algorithms.test_closeness import TestCloseness as _ClosenessOnCpus
from algorithms.test_closeness import TestHarmonic as _HarmonicOnCpus


class TestCloseness(_ClosenessOnCpus):
    kind = "cuda:0"


class TestHarmonic(_HarmonicOnCpus):
    kind = "cuda:0"
