"""Communities on a GPU."""

from __future__ import annotations

from algorithms.test_communities import TestLabelPropagation as _LabelPropagationOnCpus
from algorithms.test_communities import TestLouvain as _LouvainOnCpus
from algorithms.test_communities import TestModularity as _ModularityOnCpus


class TestLouvain(_LouvainOnCpus):
    kind = "cuda:0"


class TestLabelPropagation(_LabelPropagationOnCpus):
    kind = "cuda:0"


class TestModularity(_ModularityOnCpus):
    kind = "cuda:0"
