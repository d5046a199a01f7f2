"""Predict runs on many machines from rates of elements, a link, and the sizes of partitions.

    computing of an element  = edges · a + host edges · h + vertices · v
    exchanging of a machine  = bytes / bandwidth + supersteps · (overhead + messages · latency)
    seconds                  = max over elements (computing) + max over machines (exchanging)

In a superstep, a machine sends one message to each other machine, and joins an all-reduce of log2(machines)
messages. Sizes are counted from the owners that a policy chooses for a graph, or expected from the degrees
of R-MAT.

**Degrees of R-MAT.** A vertex whose number has k ones is an end of an edge with probability (a + b)^(scale
- k) · (c + d)^k. So the vertices form scale + 1 classes of equal expected degree, and a graph of 2^40
vertices needs 41 numbers. Vertices of large degree are drawn one by one, and the others as a sum.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from evener.errors import ArgumentError
from evener.graph.generators.models import GRAPH500
from evener.partition.comparison import count_partitions
from evener.partition.degrees import descending_degree_on_host, vertices_as_stored
from evener.partition.owners import edge_shares, owners
from evener.partition.policy import Processors, find_policy
from evener.partition.statistics import imbalance

# Vertices of large degree whose owners are chosen one by one.
_DRAWN = 1 << 18
# Policies that divide vertices by chance, so that parts have different edges, and those that balance edges.
CHANCE = ("round-robin", "hash", "chunking")
BALANCED = ("C-PG", "C-R", "lpt", "random")


class Rates(NamedTuple):
    """Seconds of an element per edge, per vertex, and per edge in host memory."""

    edge: float
    vertex: float = 0.0
    host_edge: float = 0.0


class Link(NamedTuple):
    """The network of a machine: seconds per message, bytes per second, and seconds per superstep."""

    latency: float
    bandwidth: float
    overhead: float = 0.0


class Parts(NamedTuple):
    """Sizes of the partition of each element, as arrays.

    Attributes
    ----------
    machine, kind : ndarray of int
        The machine of each element, and its position on the machine.
    edges, vertices, host_edges, mirrors, remote_mirrors : ndarray
        As in `evener.partition.sizes`. Mirrors of vertices on the same machine do not count.
    """

    machine: np.ndarray
    kind: np.ndarray
    edges: np.ndarray
    vertices: np.ndarray
    host_edges: np.ndarray
    mirrors: np.ndarray
    remote_mirrors: np.ndarray

    @property
    def machines(self):
        return int(self.machine.max()) + 1

    @property
    def imbalance(self):
        """Load imbalance of the edges among the last elements of the machines."""
        return imbalance(self.edges[self.kind == self.kind.max()])


class Prediction(NamedTuple):
    """Seconds of a pass."""

    compute: float
    exchange: float

    @property
    def seconds(self):
        return self.compute + self.exchange


def predict(parts, rates, link, *, supersteps, pushed=0.0, pulled=4.0, slowdown=1.0):
    """Predict a pass.

    Parameters
    ----------
    parts : Parts
    rates : sequence of Rates
        For each kind of element.
    link : Link
    supersteps : float
    pushed, pulled : float
        Bytes that travel for each mirror.
    slowdown : float
        Threads for each core, if elements share cores: kernels and the overhead take longer.
    """
    edge, vertex, host = np.array([rates[kind] for kind in parts.kind.tolist()]).T
    computing = (parts.edges - parts.host_edges) * edge + parts.host_edges * host + parts.vertices * vertex
    out = parts.mirrors * pushed + parts.remote_mirrors * pulled
    into = parts.remote_mirrors * pushed + parts.mirrors * pulled
    of_machine = max(np.bincount(parts.machine, weights=one).max() for one in (out, into))
    exchanging = 0.0
    if parts.machines > 1:
        messages = parts.machines - 1 + math.log2(parts.machines)
        exchanging = of_machine / link.bandwidth + supersteps * (
            link.overhead * slowdown + messages * link.latency
        )
    return Prediction(float(computing.max()) * slowdown, float(exchanging))


def fit(columns, seconds):
    """Return factors >= 0 of the columns that give these seconds, each row with equal relative weight."""
    rows, wanted = np.asarray(columns, float), np.asarray(seconds, float)
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1
    factors, _ = nnls(rows / scale / wanted[:, None], np.ones(len(wanted)))
    return tuple((factors / scale).tolist())


# ---- sizes, counted ---------------------------------------------------------------------------------


def counted(graph, directions, policy, machines, weights, *, on_cpu=None, alpha=None):
    """Count the partitions of a graph on machines whose elements have these weights."""
    local = len(weights)
    cpus = list(on_cpu or [True] * local) * machines
    shares = edge_shares(list(weights) * machines, alpha, on_cpu=cpus, policy=policy)
    by_degree, degree, out_degree = descending_degree_on_host(graph)
    stored = vertices_as_stored(graph, by_degree, degree, out_degree, directions)
    machine = np.repeat(np.arange(machines), local)
    processors = Processors(shares, np.array(cpus), machine, np.full(len(shares), np.inf))
    owner = owners(policy, stored, processors)
    found = count_partitions(graph, directions, owner, degree, len(shares)).sizes
    sizes = {
        name: np.array([getattr(one, name) for one in found], float)
        for name in ("edges", "connected", "mirrors", "remote_mirrors")
    }
    apart = (machines * local - local) / max(1, machines * local - 1)
    return Parts(
        machine,
        np.tile(np.arange(local), machines),
        sizes["edges"],
        sizes["connected"],
        np.zeros(len(found)),
        sizes["mirrors"] * apart,
        sizes["remote_mirrors"] * apart,
    )


# ---- sizes, expected for R-MAT ----------------------------------------------------------------------


class Classes(NamedTuple):
    """Classes of vertices with equal expected degree, in descending degree."""

    count: np.ndarray
    degree: np.ndarray

    @property
    def edges(self):
        return float(self.count @ self.degree)


def rmat_classes(scale, edge_factor=16):
    """Return the classes of an undirected R-MAT graph, with duplicates and self-loops."""
    zero, one = (sum(row) for row in GRAPH500)
    ones = np.arange(scale + 1)
    count = np.array([math.comb(scale, k) for k in range(scale + 1)], float)
    return Classes(count, 2 * edge_factor * 2.0**scale * zero ** (scale - ones) * one**ones)


def expected(classes, policy, machines, weights, *, capacity=None, seed=0):
    """Return the sizes that partitions of R-MAT are expected to have.

    Parameters
    ----------
    classes : Classes
    policy : str
        One of `CHANCE` or `BALANCED`. With others, degrees differ among parts: count them for a graph.
    machines : int
    weights : sequence of float
        Share of the edges of each element of a machine, relative to the others.
    capacity : sequence of float, optional
        Edges that each element has room for; the others are in host memory.
    seed : int
    """
    if policy not in (*CHANCE, *BALANCED):
        known = ", ".join((*CHANCE, *BALANCED))
        msg = f"policy: expected one of {known} for the degrees of R-MAT, found {policy}; give a file"
        raise ArgumentError(msg)
    local = len(weights)
    weight = np.ones(local) if find_policy(policy).even else np.asarray(weights, float)
    shares = np.tile(weight / weight.sum() / machines, machines)
    edges = _edge_loads(classes, shares, np.random.default_rng(seed), chance=policy in CHANCE)
    # A vertex of expected degree d has a neighbour in a part of share s with probability 1 - exp(-d s).
    met = 1 - np.exp(-np.outer(shares[:local], classes.degree))
    of_all = machines * met.sum(axis=0)  # parts in which a vertex has neighbours
    same = met.sum(axis=0)  # of these, parts of its own machine
    remote = np.tile(shares[:local], machines) * (classes.count @ (of_all - same))
    mirrors = np.tile(met @ classes.count, machines) * (1 - 1 / machines)
    connected = shares * (classes.count @ (1 - np.exp(-classes.degree)))
    room = np.inf if capacity is None else np.tile(capacity, machines)
    return Parts(
        np.repeat(np.arange(machines), local),
        np.tile(np.arange(local), machines),
        edges,
        connected,
        np.maximum(edges - room, 0),
        mirrors,
        remote,
    )


def _edge_loads(classes, shares, rng, *, chance):
    """Return the edges of each part: the largest vertices one by one, the others as a sum."""
    before = np.cumsum(classes.count)
    few = int(np.searchsorted(before, _DRAWN, side="right"))
    drawn = rng.poisson(np.repeat(classes.degree[:few], classes.count[:few].astype(int))).astype(float)
    drawn = np.sort(drawn)[::-1]
    rest, degree = classes.count[few:], classes.degree[few:]
    total = float(rest @ degree)
    if chance:
        part = rng.choice(len(shares), size=len(drawn), p=shares)
        loads = np.bincount(part, weights=drawn, minlength=len(shares))
        deviation = np.sqrt(shares * float(rest @ (degree**2 + degree)))
        return loads + np.maximum(shares * total + deviation * rng.standard_normal(len(shares)), 0)
    loads = _longest_first(drawn, shares)
    return _fill(loads, shares, total)


def _longest_first(sizes, shares):
    """Give each size to the part of least load relative to its share."""
    queue = [(0.0, part) for part in range(len(shares))]
    loads = np.zeros(len(shares))
    for size in sizes.tolist():
        _, part = queue[0]
        loads[part] += size
        heapq.heapreplace(queue, (loads[part] / shares[part], part))
    return loads


def _fill(loads, shares, amount):
    """Add an amount to the parts of least relative load, so that they become equal."""
    level = loads / shares
    order = np.argsort(level)
    share, load = np.cumsum(shares[order]), np.cumsum(loads[order])
    levels = (load + amount) / share  # if the first parts of the order are filled
    enough = np.append(levels[:-1] <= level[order][1:], True)
    return np.maximum(loads, shares * levels[int(np.argmax(enough))])
