"""Sums by label, on a GPU."""

from __future__ import annotations

from contracts.label_sums import LabelSumsContract


class TestLabelSums(LabelSumsContract):
    kind = "cuda:0"
