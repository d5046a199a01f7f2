"""The graphs of the parity matrix, small and large, and Hypothesis's own."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from evener.graph.generators import models as generate
from evener.graph.graph import Graph
from sanitized import sized


def _rmat(scale):
    """R-MAT with its self-loops and repeated edges, by Graph500's parameters."""
    rng = np.random.default_rng(scale)
    quadrant = rng.choice(4, (scale, 8 << scale), p=[0.57, 0.19, 0.19, 0.05])
    place = 1 << np.arange(scale)[:, None]
    label = rng.permutation(1 << scale)
    return label[((quadrant >> 1) * place).sum(0)], label[((quadrant & 1) * place).sum(0)], 1 << scale


def _uniform(scale):
    return *np.random.default_rng(scale).integers(0, 1 << scale, (2, 3 << scale)), 1 << scale


def _grid(rows, columns):
    number = np.arange(rows * columns).reshape(rows, columns)
    across, down = (number[:, :-1].ravel(), number[:, 1:].ravel()), (number[:-1].ravel(), number[1:].ravel())
    return np.concatenate([across[0], down[0]]), np.concatenate([across[1], down[1]]), number.size


def star(leaves):
    """The hub in the middle of the numbering; edges lead both ways, by turns."""
    hub, others = leaves // 2, np.delete(np.arange(leaves + 1), leaves // 2)
    outward = np.arange(leaves) % 2 == 0
    return np.where(outward, hub, others), np.where(outward, others, hub), leaves + 1


def _chain(n):
    order = np.random.default_rng(n).permutation(n)
    return order[:-1], order[1:], n


def _self_loops(n):
    src, dst = np.random.default_rng(n).integers(0, n, (2, n))
    return np.concatenate([src, np.arange(n)[::3]]), np.concatenate([dst, np.arange(n)[::3]]), n


def _duplicates(n):
    src, dst = np.random.default_rng(n).integers(0, n, (2, n))
    return np.repeat(src, np.arange(n) % 5), np.repeat(dst, np.arange(n) % 5), n


def _isolated(n):
    """Edges among a quarter of the vertices; 0 is not one of them."""
    ends = np.random.default_rng(n).integers(0, n // 4, (2, n // 2))
    return *(ends * 3 + 1), n


def _gaps(n):
    """Ids that leave gaps and do not begin at 0; the vertices are those that appear."""
    return *(np.random.default_rng(n).integers(0, n, (2, 2 * n)) * 7 + 1000), None


def _ends_early(n):
    """Every edge leads into a few vertices: of a directed graph most in-rows are empty."""
    rng = np.random.default_rng(n)
    return rng.integers(0, n, 3 * n), rng.integers(0, 5, 3 * n), n


_EMPTY = np.empty(0, dtype=np.int64)

# Sizes lie on and beside multiples of 64, where bitmaps end with a word and mirrors share it.
SMALL = {
    "rmat": lambda: _rmat(7),
    "uniform": lambda: _uniform(6),
    "grid": lambda: _grid(*sized((9, 9), (6, 6))),
    "star": lambda: star(127),
    "chain": lambda: _chain(sized(65, 20)),
    "empty": lambda: (_EMPTY, _EMPTY, 0),
    "one vertex": lambda: (_EMPTY, _EMPTY, 1),
    "self-loops": lambda: _self_loops(64),
    "duplicates": lambda: _duplicates(63),
    "isolated": lambda: _isolated(129),
    "gaps": lambda: _gaps(50),
    "ends early": lambda: _ends_early(64),
}

LARGE = {
    "rmat": lambda: _rmat(sized(12, 9)),
    "uniform": lambda: _uniform(sized(12, 9)),
    "grid": lambda: _grid(*sized((48, 48), (16, 16))),
    "star": lambda: star(4096),
    "chain": lambda: _chain(sized(700, 70)),
    "self-loops": lambda: _self_loops(sized(2047, 511)),
    "duplicates": lambda: _duplicates(sized(2049, 513)),
    "isolated": lambda: _isolated(sized(4097, 1025)),
    "gaps": lambda: _gaps(sized(3000, 500)),
    "ends early": lambda: _ends_early(sized(4096, 1024)),
}


def _broom(leaves):
    """A path from 0 on, with so many leaves at each of its vertices."""
    path = np.arange(len(leaves))
    ends = len(path) + np.arange(sum(leaves))
    src = np.concatenate([path[:-1], np.repeat(path, leaves)])
    return src, np.concatenate([path[1:], ends]), len(path) + len(ends)


def _thicket(stars):
    """0 leads to the middle of each star, which have so many leaves."""
    middles = 1 + np.arange(len(stars))
    leaves = 1 + len(stars) + np.arange(sum(stars))
    src = np.concatenate([np.zeros_like(middles), np.repeat(middles, stars)])
    return src, np.concatenate([middles, leaves]), 1 + len(middles) + len(leaves)


def _layers(sizes, chance):
    """Each vertex leads to each of the next layer with this chance."""
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


# Long rows in levels of few vertices: one, some, more than a block of a GPU puts aside, among short ones or
# by themselves, and on the way out as on the way back.
NARROW = {
    "grid": lambda: _grid(sized(300, 25), 4),
    "broom": lambda: _broom([100, 4000, 5, 300, 255, 256, 257, 2000, 0, 1023, 1024, 1025, 64, 900, 1, 3000]),
    "thicket": lambda: _thicket(np.random.default_rng(1).permutation([300] * 70 + [1] * 4000)),
    "layers": lambda: _layers([3, 100, 400, 100, 3], 0.8),
    "fans": lambda: _fans(10, 1500),
}


def build(parts, *, directed):
    """The graph of ``(src, dst, n)``; edges weigh eighths, from nothing to two, so that sums are exact."""
    src, dst, n = parts
    weights = np.random.default_rng(len(src)).integers(0, 17, len(src)) / 8
    return Graph.from_edges(src, dst, weights, directed=directed, n=n)


def diamonds(stages, width):
    """Joints 0..stages, each pair joined through `width` middles: `width` times as many paths each time."""
    joints = np.arange(stages + 1)
    middles = (stages + 1 + np.arange(stages * width)).reshape(stages, width)
    src = np.concatenate([np.repeat(joints[:-1], width), middles.ravel()])
    dst = np.concatenate([middles.ravel(), np.repeat(joints[1:], width)])
    return src, dst, joints, middles


def generated():
    """What the package itself generates, for those who run the matrix in full."""
    return {"rmat:11": generate.rmat(11), "uniform:11": generate.uniform(11), "grid": generate.grid(40, 50)}


@st.composite
def drawn_graphs(draw):
    """Sparse to dense, with hubs, tails, loops, repeats, isolated vertices; source 0 anywhere or nowhere."""
    n = draw(st.one_of(st.integers(1, 24), st.sampled_from([63, 64, 65, 127, 128, 129, 193])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m = draw(st.integers(0, 3 * n))
    src, dst = (rng.random((2, m)) ** draw(st.sampled_from([1, 3])) * n).astype(np.int64)
    if draw(st.booleans()):
        relabel = rng.permutation(n)
        src, dst = relabel[src], relabel[dst]
    return build((src, dst, n), directed=draw(st.booleans()))
