"""Mutated files of all formats: `readers.py` for a few seconds."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from readers import run

SECONDS = 5


def test_only_errors_of_evener_escape():
    counts, failures = run(1_000_000, seed=2, seconds=SECONDS)
    assert not failures, failures[0]
    assert sum(outcomes["FormatError"] for outcomes in counts.values()) > 100
    assert all(counts.values())
