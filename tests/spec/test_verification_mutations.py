"""A small part of `benchmarks/verification_mutations.py`: every verifier notices changed values."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import evener as ev
from evener.spec import registry
from support import kcore_example

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
# Graphs of one type of weights, because kernels are compiled for each type.
WEIGHTS = (None, "float64")


@pytest.fixture(scope="module")
def mutations():
    """Import the benchmark from its folder, which is not a package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("verification_mutations")
        for name in ("verification_mutations", "small_graphs", "oracles", "outside"):
            sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def kcore(monkeypatch):
    """Register the example package, as an algorithm from outside."""
    monkeypatch.syspath_prepend(str(kcore_example.FOLDER.parent))
    kcore_example.register(monkeypatch, {"kcore": "evener_kcore:SPEC"})


def marked(name):
    """Return the name of an algorithm. Those outside the package's folders compile kernels of their own."""
    return name if name in registry.names_with_kernels() else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [marked(name) for name in [*registry.names(), "kcore"]])
def test_changed_values_are_noticed(mutations, name):
    spec = registry.find(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        rng = np.random.default_rng([1, *name.encode()])
        found = mutations.count(rng, spec, 50, weights=WEIGHTS)
        mutations.count_by_command(rng, spec, 2, found)
        if spec.verifies_parts:
            mutations.count_on_ranks(rng, spec, 5, found)
    assert found.missed == []
    assert found.noticed > 30
