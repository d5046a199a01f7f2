"""From the times of passes to what an edge costs, and a vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from evener.planning.rates import Carried, Mapped, Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Sample", "fitted", "fitted_carried", "fitted_mapped"]


class Sample(NamedTuple):
    """What a pass of an algorithm took, on so many edges, vertices that have one, and mirrors.

    `scale` tells the size of the graph, and `touched` counts the vertices whose values were read, mirrors
    too.
    """

    scale: int
    touched: int
    connected: int
    edges: int
    seconds: float
    mirrors: int = 0


def fitted(samples: Sequence[Sample], *, reads_all: bool, looks_up: bool = False) -> Rate:
    """What an edge costs, and a vertex that has one: by what has many edges for each and what has few.

    Half of an R-MAT graph's vertices have no edge, two in three where edges are few: they cost next to
    nothing. `reads_all` is whether a pass reads every edge, `looks_up` whether a vertex is done as soon as it
    has found one. Where there are shares with mirrors, those of hubs have many, and tell what one costs. A
    sample that took no time is one that the clock did not tell.
    """
    samples = [sample for sample in samples if sample.seconds > 0]
    if not samples:
        return Rate((1,), (0.0,), (0.0,), (0.0,), 0.0)
    with_mirrors = any(sample.mirrors for sample in samples)
    # Where vertices look for a neighbour, few edges make it longer, not shorter.
    thin = looks_up and not with_mirrors
    # What a run takes however little there is to do is less than the shortest took; of that we take half.
    fixed = min(sample.seconds for sample in samples) / 2
    costs: list[float]
    edge_seconds: list[float] = []
    vertex_seconds: list[float] = []
    mirror_seconds: list[float] = []
    least_seconds: list[float] = []
    thin_seconds: list[float] = []
    counts: list[int] = []
    mirrors: dict[int, float] = {}  # and what each of so many took
    for scale in sorted({sample.scale for sample in samples}):
        own = [sample for sample in samples if sample.scale == scale]
        sizes = np.array([_sizes(one, looks_up=looks_up, thin=thin) for one in own], dtype=float)
        times = np.array([sample.seconds for sample in own]) - fixed
        before = np.array(
            [each[-1:] for each in (vertex_seconds, edge_seconds, mirror_seconds, thin_seconds)]
        )
        dearer = 0.0
        if len(own) == 1 and (foretold := float((sizes[0] @ before).sum())) > 0:
            # One graph does not tell vertices from edges: all cost as many times more than on the one before.
            dearer = times[0] / foretold
            costs = (before.sum(axis=1) * dearer).tolist()
        else:
            # Never less than nothing: if one seems to, the other costs all of it.
            costs = nnls(sizes / times[:, None], np.ones(len(own)))[0].tolist()
        each_vertex, each_edge, each_mirror, each_thin = costs
        edge_seconds.append(each_edge)
        thin_seconds.append(each_thin)
        vertex_seconds.append(each_vertex)
        mirror_seconds.append(each_mirror)
        if (most_mirrors := max(sample.mirrors for sample in own)) > max(mirrors, default=0):
            mirrors[most_mirrors] = each_mirror
        # Whole graphs of many edges, or hubs.
        most = max(own, key=lambda one: one.edges / max(one.connected, 1) if with_mirrors else one.edges)
        # What reads every edge pays for every edge; if that is lost in the noise, a bound is better. Where
        # vertices stop at an edge, hubs' edges need cost nothing: what hubs took is told by their mirrors.
        known = (reads_all and each_edge > 0) or (with_mirrors and looks_up)
        if known:
            least_seconds.append(each_edge)
        elif dearer:
            least_seconds.append(dearer * least_seconds[-1])
        else:
            least_seconds.append((most.seconds - fixed) / most.edges)
        counts.append(max(sample.touched for sample in own))
    return Rate(
        tuple(counts),
        tuple(edge_seconds),
        tuple(vertex_seconds),
        tuple(least_seconds),
        fixed,
        tuple(mirrors),
        tuple(mirrors.values()),
        tuple(thin_seconds) if thin else (),
    )


def _sizes(sample: Sample, *, looks_up: bool, thin: bool) -> tuple[float, float, float, float]:
    """The vertices, edges and mirrors that cost something, and vertices over their mean number of edges."""
    of_thin = sample.connected**2 / max(sample.edges, 1) if thin else 0
    return sample.connected, 0 if looks_up else sample.edges, sample.mirrors, of_thin


def fitted_mapped(samples: Sequence[tuple[int, int, float, float]]) -> Mapped:
    """What edges in the host's memory cost, the rows they are of, and those of these without a head.

    Each sample has how many there were of all three, and the seconds for them.
    """
    *sizes, seconds = np.array(samples, dtype=float).T
    # Nothing becomes cheaper by it.
    each: list[float] = nnls(np.stack(sizes, axis=1), np.maximum(seconds, 0))[0].tolist()
    return Mapped(*each)


def fitted_carried(samples: Sequence[tuple[int, int, int, float]], mirror_seconds: float) -> Carried:
    """What a pass takes beside computing, by the graph's size, mirrors and the CPU's vertices.

    Each sample has what `Measured.beside_computing` has. One that took no time is one that the clock did not
    tell. What a mirror takes is given: shares of one graph, whose mirrors are about as many, do not tell.
    """
    told = np.array([sample for sample in samples if sample[-1] > 0], dtype=float).reshape(-1, 4)
    if not len(told):
        return Carried((1,), (0.0,), mirror_seconds, 0.0)
    sizes, mirrors, of_cpu, seconds = told.T
    # What a graph takes anyhow is what the one before does, and some more.
    graphs, which = np.unique(sizes.astype(int), return_inverse=True)
    more = which[:, None] >= np.arange(1, len(graphs))
    by = np.column_stack([np.ones(len(told)), more, of_cpu])
    # By how many times it is off, not by how much.
    left = np.maximum(seconds - mirrors * mirror_seconds, 0)
    *fixed, each_vertex = nnls(by / seconds[:, None], left / seconds)[0]
    return Carried(
        tuple(graphs.tolist()), tuple(np.cumsum(fixed).tolist()), mirror_seconds, float(each_vertex)
    )
