"""Question: how many values do equal elements exchange, if the graph is divided in other ways.

Counts for one superstep that sends a value of each boundary vertex, such as an iteration of PageRank:

- random: shuffled vertices, equal edges.
- contiguous: consecutive vertices, equal edges.
- blocks of a matrix: a grid of elements; an edge is at the row of its target and the column of its source.
  Elements of a column receive values, and elements of a row receive partial sums.
- divided hubs: edges of hubs are at the other end. Each element has all hubs, and partial sums of them.

`exchange` is the share of the exchange in a superstep of an H100: 250 GB/s between GPUs and 3.9 ps per edge.
The seconds are those of the element with the most edges and of the element that sends the most bytes.

    python benchmarks/divisions.py --graphs rmat:20 uniform:20 grid:1000x1000 web-NotreDame.txt.gz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import evener as ev
import harness

BYTES_PER_VALUE, SECONDS_PER_BYTE, SECONDS_PER_EDGE = 4, 1 / 250e9, 3.9e-12
# Smallest degrees of hubs to try, as multiples of the mean degree.
HUBS = (4, 16, 64, 256)


def main():
    options = _options()
    rows = []
    for name in options.graphs:
        graph = ev.read(name)
        degree = graph.out_degree().astype(np.int64)
        src = np.repeat(np.arange(graph.n), degree)
        if graph.directed:  # each edge is stored with its target, as in PageRank
            src, dst = graph.targets, src.astype(graph.targets.dtype)
        else:
            dst = graph.targets
        for parts in options.parts:
            for division, count in DIVISIONS.items():
                found = count(src, dst, graph.n, parts)
                rows.append({"graph": Path(name).name, "parts": parts, "division": division, **found})
        del src, dst, graph
    cells = [[one if isinstance(one, str) else f"{one:.3g}" for one in row.values()] for row in rows]
    harness.show("Divisions among equal elements", list(rows[0]), cells)
    if not options.no_record:
        harness.record("divisions", question=__doc__.splitlines()[0], rows=rows)


def _random(src, dst, n, parts):
    return _by_owner(src, dst, _shuffled(dst, n, parts), parts)


def _contiguous(src, dst, n, parts):
    return _by_owner(src, dst, _cut(np.arange(n), dst, n, parts), parts)


def _matrix(src, dst, n, parts):
    across = 1 << (parts.bit_length() // 2)
    owner = _shuffled(dst, n, parts)
    row, column = owner // across, owner % across
    at = row[dst] * across + column[src]
    sent = _copies(src, at, owner, parts) + _copies(dst, at, owner, parts)
    return _described(at, sent, owner, parts)


def _divided_hubs(src, dst, n, parts):
    owner = _shuffled(dst, n, parts)
    degree = np.bincount(dst, minlength=n)
    best = None
    for times in HUBS:
        hub = degree > times * len(dst) / n
        both = hub[src] & hub[dst]
        at = np.where(hub[dst], owner[src], owner[dst])
        at[both] = np.arange(both.sum()) % parts
        plain = ~hub[src] & ~hub[dst]
        # A value and a partial sum of each hub for each other element.
        sent = _copies(src[plain], at[plain], owner, parts)
        sent += 2 * np.bincount(owner[hub], minlength=parts) * (parts - 1)
        found = _described(at, sent, owner, parts)
        if best is None or found["exchange"] < best["exchange"]:
            best = found
    return best


DIVISIONS = {
    "random": _random,
    "contiguous": _contiguous,
    "blocks of a matrix": _matrix,
    "divided hubs": _divided_hubs,
}


def _shuffled(dst, n, parts):
    return _cut(np.random.default_rng(1).permutation(n), dst, n, parts)


def _cut(order, dst, n, parts):
    """Return the owner of each vertex: an order of vertices, cut into parts of equal edges."""
    ends = np.cumsum(np.bincount(dst, minlength=n)[order])
    owner = np.empty(n, np.uint8)
    owner[order] = np.maximum(ends - 1, 0) * parts // ends[-1]
    return owner


def _by_owner(src, dst, owner, parts):
    at = owner[dst]
    return _described(at, _copies(src, at, owner, parts), owner, parts)


def _copies(vertices, at, owner, parts):
    """Return, for each element, how many copies of its vertices other elements have for their edges."""
    there = np.zeros((len(owner), parts), bool)
    there[vertices, at] = True
    there[np.arange(len(owner)), owner] = False
    return np.bincount(owner, there.sum(axis=1), minlength=parts).astype(np.int64)


def _described(at, sent, owner, parts):
    edges = np.bincount(at, minlength=parts)
    compute, send = edges.max() * SECONDS_PER_EDGE, sent.max() * BYTES_PER_VALUE * SECONDS_PER_BYTE
    return {
        "copies": int(sent.sum()),
        "copies per vertex": sent.sum() / len(owner),
        "bytes": int(sent.sum()) * BYTES_PER_VALUE,
        "edge imbalance": float(edges.max() / edges.mean() - 1),
        "vertex imbalance": float(np.bincount(owner, minlength=parts).max() * parts / len(owner) - 1),
        "exchange": float(send / (send + compute)),
        "microseconds": float(1e6 * (send + compute)),
    }


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat:20", "uniform:20", "grid:1000x1000"])
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 4, 8])
    return harness.recording(parser)


if __name__ == "__main__":
    main()
