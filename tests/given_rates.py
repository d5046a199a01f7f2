"""Rates that no machine was measured for: an edge costs what is given, and a vertex nothing."""

from __future__ import annotations

from evener.planning.rates import Carried, Mapped, Rate, Rates

MACHINE = {"processor": "of a test"}


def flat(edge, vertex=0.0, fixed=0.0):
    """A rate that does not depend on the graph's size."""
    return Rate((1,), (edge,), (vertex,), (edge,), fixed)


def carries(fixed, mirror, vertex):
    """What is carried on a graph of any size."""
    return Carried((1,), (fixed,), mirror, vertex)


def rates(
    *, cpu=1e-9, gpu=1e-10, mapped=1e-9, mapped_row=0.0, c=4e9, copied=4e9, delay=0.0, steps=1.0,
    pulled=None, beside=None, share=None, carried=None,
):  # fmt: skip
    """Flat rates of four threads and a GPU, where `c` and `copied` are bytes a second.

    `pulled` and `beside` are PageRank's seconds for an edge; `share` and `carried` are what `flat` and
    `carries` take of a breadth-first search. What is None was not measured.
    """
    names = ("bfs", "pagerank", "wcc", "sssp", "betweenness")
    return Rates(
        MACHINE,
        4,
        dict.fromkeys(names, flat(cpu)),
        dict.fromkeys(names, flat(gpu)),
        {} if pulled is None else {"pagerank": flat(pulled)},
        {} if beside is None else {"pagerank": flat(beside)},
        {} if share is None else {"bfs": flat(*share)},
        {} if carried is None else {"bfs": carries(*carried)},
        dict.fromkeys(names, Mapped(mapped, mapped_row)),
        dict.fromkeys(names, steps),
        c if isinstance(c, dict) else {"cpu": c, "cuda": c},
        copied,
        delay,
    )
