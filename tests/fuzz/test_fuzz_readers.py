"""Mutated files of all formats: `readers.py` with few inputs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from readers import run

# Most inputs, and most seconds for them on a busy machine.
INPUTS, SECONDS = 500, 25


def test_only_errors_of_evener_escape():
    counts, failures = run(INPUTS, seed=2, seconds=SECONDS)
    assert not failures, failures[0]
    assert any(outcomes["FormatError"] for outcomes in counts.values())
