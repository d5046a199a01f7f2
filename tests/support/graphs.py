"""The small and large graphs of the parity cases, and a Hypothesis strategy for graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from evener.graph.generators import models as generate
from evener.testing.graphs import (
    SHAPES,
    build,
    chain,
    duplicates,
    ends_early,
    gaps,
    grid,
    isolated,
    rmat,
    self_loops,
    star,
    uniform,
)
from support.sanitizer_sizes import sized

# SHAPES has no graph without vertices: algorithms of other packages need not accept one.
SMALL = {
    **SHAPES,
    "grid": lambda: grid(*sized((9, 9), (6, 6))),
    "chain": lambda: chain(sized(65, 20)),
    "empty": lambda: (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0),
}

LARGE = {
    "rmat": lambda: rmat(sized(12, 9)),
    "uniform": lambda: uniform(sized(12, 9)),
    "grid": lambda: grid(*sized((48, 48), (16, 16))),
    "star": lambda: star(4096),
    "chain": lambda: chain(sized(100, 70)),
    "self-loops": lambda: self_loops(sized(2047, 511)),
    "duplicates": lambda: duplicates(sized(2049, 513)),
    "isolated": lambda: isolated(sized(4097, 1025)),
    "gaps": lambda: gaps(sized(3000, 500)),
    "ends early": lambda: ends_early(sized(4096, 1024)),
}


def _broom(leaves):
    """A path from vertex 0, with ``leaves[i]`` leaves at its vertex i."""
    path = np.arange(len(leaves))
    ends = len(path) + np.arange(sum(leaves))
    src = np.concatenate([path[:-1], np.repeat(path, leaves)])
    return src, np.concatenate([path[1:], ends]), len(path) + len(ends)


def _thicket(stars):
    """Stars with ``stars[i]`` leaves each. Vertex 0 has an edge to the middle of each star."""
    middles = 1 + np.arange(len(stars))
    leaves = 1 + len(stars) + np.arange(sum(stars))
    src = np.concatenate([np.zeros_like(middles), np.repeat(middles, stars)])
    return src, np.concatenate([middles, leaves]), 1 + len(middles) + len(leaves)


def _layers(sizes, chance):
    """Layers of vertices. Each pair in adjacent layers has an edge with probability `chance`."""
    rng = np.random.default_rng(len(sizes))
    first = np.cumsum([0, *sizes])
    ends = [
        first[i : i + 2, None] + np.argwhere(rng.random((size, sizes[i + 1])) < chance).T
        for i, size in enumerate(sizes[:-1])
    ]
    return *np.concatenate(ends, axis=1), first[-1]


def _fans(stages, width):
    src, dst, *_ = diamonds(stages, width)
    return src, dst, stages + 1 + stages * width


# Levels of few vertices with long rows: one, some, or more than a GPU block defers, with and without short
# rows, before and after the widest level.
NARROW = {
    "grid": lambda: grid(sized(300, 25), 4),
    "broom": lambda: _broom([100, 4000, 5, 300, 255, 256, 257, 2000, 0, 1023, 1024, 1025, 64, 900, 1, 3000]),
    "thicket": lambda: _thicket(np.random.default_rng(1).permutation([300] * 70 + [1] * 4000)),
    "layers": lambda: _layers([3, 100, 400, 100, 3], 0.8),
    "fans": lambda: _fans(10, 1500),
}


def diamonds(stages, width):
    """Joints 0..stages with `width` middles between each two: each stage has `width` times as many paths."""
    joints = np.arange(stages + 1)
    middles = (stages + 1 + np.arange(stages * width)).reshape(stages, width)
    src = np.concatenate([np.repeat(joints[:-1], width), middles.ravel()])
    dst = np.concatenate([middles.ravel(), np.repeat(joints[1:], width)])
    return src, dst, joints, middles


# Graphs of the package's own generators.
GENERATED = {
    "rmat:11": lambda: generate.rmat(11).build(),
    "uniform:11": lambda: generate.uniform(11).build(),
    "grid": lambda: generate.grid(40, 50).build(),
}


@st.composite
def drawn_graphs(draw):
    """Sparse to dense graphs with hubs, self-loops, repeated edges and isolated vertices."""
    n = draw(st.one_of(st.integers(1, 24), st.sampled_from([63, 64, 65, 127, 128, 129, 193])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m = draw(st.integers(0, 3 * n))
    src, dst = (rng.random((2, m)) ** draw(st.sampled_from([1, 3])) * n).astype(np.int64)
    if draw(st.booleans()):
        relabel = rng.permutation(n)
        src, dst = relabel[src], relabel[dst]
    return build((src, dst, n), directed=draw(st.booleans()))
