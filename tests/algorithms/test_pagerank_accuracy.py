"""The ranks of the default tolerance against float64 ranks that NumPy and SciPy iterate to 1e-14."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evener as ev
from support import reference

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL = ["soc-Epinions1.txt.gz", "web-NotreDame.txt.gz"]


@pytest.mark.parametrize(
    "name", ["rmat:14", "rmat:16,directed", pytest.param("rmat:18", marks=pytest.mark.slow), *REAL]
)
def test_default_ranks_are_exact_to_five_digits(name):
    if name in REAL and not (FOLDER / name).exists():
        pytest.skip(f"{name} is not beside the repository, in ../shared/data")
    graph = ev.read(FOLDER / name if name in REAL else name)
    result = ev.pagerank(graph)
    expected = reference.pagerank(graph, tol=1e-14)
    assert np.abs(result["rank"] - expected).sum() < 1e-5
    assert [vertex for vertex, _ in result.top(10)] == graph.ids[np.argsort(-expected)[:10]].tolist()
