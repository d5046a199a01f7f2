"""Sums by label, on CPUs and on ranks."""

from __future__ import annotations

from contracts.label_sums import LabelSumsContract


class TestLabelSums(LabelSumsContract):
    kind = "cpu:1"
