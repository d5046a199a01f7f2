"""From the times of passes to what an edge costs, and a vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from evener.planning.rates import Carried, Mapped, Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Sample", "fitted", "fitted_carried", "fitted_mapped"]


# Sizes of graphs measured before the one that is far beyond the second: with fewer, that would be told from
# what mirrors and vertices take by too few samples.
_FAR_BEYOND = 3


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
    edge_seconds: list[float] = []
    vertex_seconds: list[float] = []
    mirror_seconds: list[float] = []
    least_seconds: list[float] = []
    thin_seconds: list[float] = []
    counts: list[int] = []
    for scale in sorted({sample.scale for sample in samples}):
        own = [sample for sample in samples if sample.scale == scale]
        sizes = np.array([_sizes(one, thin=thin) for one in own], dtype=float)
        times = np.array([sample.seconds for sample in own]) - fixed
        # Never less than nothing: if one seems to, the other costs all of it.
        costs: list[float] = nnls(sizes / times[:, None], np.ones(len(own)))[0].tolist()
        each_vertex, each_edge, each_mirror, each_thin = costs
        edge_seconds.append(each_edge)
        thin_seconds.append(each_thin)
        vertex_seconds.append(each_vertex)
        mirror_seconds.append(each_mirror)
        # Whole graphs of many edges, or hubs.
        most = max(own, key=lambda one: one.edges / max(one.connected, 1) if with_mirrors else one.edges)
        # What reads every edge pays for every edge; if that is lost in the noise, a bound is better. Where
        # vertices stop at an edge, hubs' edges need cost nothing: what hubs took is told by their mirrors.
        known = (reads_all and each_edge > 0) or (with_mirrors and looks_up)
        least_seconds.append(each_edge if known else (most.seconds - fixed) / most.edges)
        counts.append(max(sample.touched for sample in own))
    return Rate(
        tuple(counts),
        tuple(edge_seconds),
        tuple(vertex_seconds),
        tuple(least_seconds),
        fixed,
        tuple(mirror_seconds) if with_mirrors else (),
        tuple(thin_seconds) if thin else (),
    )


def _sizes(sample: Sample, *, thin: bool) -> tuple[float, float, float, float]:
    """The vertices, edges and mirrors that cost something, and vertices over their mean number of edges."""
    if thin:
        return sample.connected, 0, 0, sample.connected**2 / max(sample.edges, 1)
    return sample.connected, sample.edges, sample.mirrors, 0


def fitted_mapped(samples: Sequence[tuple[int, int, float]]) -> Mapped:
    """What edges in the host's memory cost, and the rows they are of: each sample's, and seconds for both."""
    edges, rows, seconds = np.array(samples, dtype=float).T
    # Nothing becomes cheaper by it.
    each_edge, each_row = nnls(np.stack([edges, rows], axis=1), np.maximum(seconds, 0))[0].tolist()
    return Mapped(each_edge, each_row)


def fitted_carried(samples: Sequence[tuple[int, int, int, float]]) -> Carried:
    """What a pass takes beside computing, by mirrors and the CPU's vertices.

    Each sample has the scale of the graph, the mirrors there were, the CPU's vertices, and seconds. One that
    took no time is one that the clock did not tell.
    """
    told = np.array([sample for sample in samples if sample[-1] > 0], dtype=float).reshape(-1, 4)
    if not len(told):
        return Carried((1,), (0.0,), 0.0, 0.0)
    scales, mirrors, vertices, seconds = told.T
    sizes = np.maximum(mirrors + vertices, 1)
    # A small graph's, a large one's, and the largest one's if it is far beyond: between them what it takes
    # anyhow grows with the logarithm.
    of_scale = [sizes[scales == scale] for scale in np.unique(scales)]
    ends = [of_scale[0].max()]
    for own in (of_scale[1:2], of_scale[_FAR_BEYOND:][-1:]):
        ends += [one.min() for one in own if one.min() > ends[-1]]
    up_to = np.log(ends)
    growth = np.clip((np.log(sizes) - up_to[:-1, None]) / np.diff(up_to)[:, None], 0, 1)
    by = np.stack([np.ones(len(told)), *growth, mirrors, vertices], axis=1) / seconds[:, None]
    *fixed, each_mirror, each_vertex = nnls(by, np.ones(len(told)))[0]
    anyhow = tuple(np.cumsum(fixed).tolist())
    return Carried(tuple(int(end) for end in ends), anyhow, float(each_mirror), float(each_vertex))
