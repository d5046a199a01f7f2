"""A job over edges with every shape of keys, and its rows by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd

# Values of vertices for which `pair` gives one key to nearly all records, or a different key to each record.
SKEWED, DISTINCT = 1000, 2000


def pair(source, target, source_value, n):
    """Choose the keys by the values of vertices, so that all tests share one compiled function."""
    if source_value < 0:
        return None
    key = source * target % 199 - 40
    if source_value >= DISTINCT:
        key = source * n + target
    elif source_value >= SKEWED:
        key = target if source < 3 else 5
    return key, (source, target / 3 + source_value)


def join(x, y):
    return x[0] + y[0], max(x[1], y[1])


def spread(key, values):
    """Return the number of values, the smallest value and the key."""
    low = values[1][0]
    for value in values[1]:
        low = min(low, value)
    return len(values[0]), low, key


def pairs_of(graph, values):
    """Return the pairs of all edges, grouped by key with pandas."""
    sources = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    edges = zip(sources.tolist(), graph.targets.tolist(), strict=True)
    pairs = (pair(u, v, values[u], graph.n) for u, v in edges)
    rows = [(key, *payload) for key, payload in filter(None, pairs)]
    return pd.DataFrame(rows, columns=["key", "a", "b"]).groupby("key")


def check_combined(rows, groups):
    expected = groups.agg(a=("a", "sum"), b=("b", "max"))
    assert (rows.keys == expected.index).all()
    assert (rows.values[0] == expected.a).all()
    assert (rows.values[1] == expected.b).all()


def check_reduced(rows, groups):
    expected = groups.agg(a=("a", "count"), b=("b", "min"))
    assert (rows.keys == expected.index).all()
    assert (rows.values[0] == expected.a).all()
    assert (rows.values[1] == expected.b).all()
    assert (rows.values[2] == rows.keys).all()
