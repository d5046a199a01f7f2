"""Twins of Louvain and label propagation in plain Python; sums of weights of the test graphs are exact."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

_WORD = (1 << 64) - 1


class Arcs:
    """A graph as weights of pairs of vertices; an undirected edge is two pairs, and a loop is one."""

    def __init__(self, n, weights, *, directed):
        self.n, self.weights, self.directed = n, weights, directed
        self.neighbours = [defaultdict(float) for _ in range(n)]
        self.out, self.in_ = [0.0] * n, [0.0] * n
        for (u, v), weight in weights.items():
            twice = 2 if u == v and not directed else 1
            self.out[u] += twice * weight
            self.in_[v] += twice * weight
            if u != v:
                self.neighbours[u][v] += weight
                if directed:
                    self.neighbours[v][u] += weight
        self.whole = sum(self.out)

    @classmethod
    def of(cls, graph, *, weighted=True):
        tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
        own = graph.weights.astype(float) if weighted and graph.weights is not None else np.ones(graph.m)
        weights = defaultdict(float)
        for u, v, weight in zip(tails.tolist(), graph.targets.tolist(), own.tolist(), strict=True):
            weights[u, v] += weight
        return cls(graph.n, weights, directed=graph.directed)

    def contracted(self, label):
        """Return the graph with a vertex for each label, and the new vertex of each vertex."""
        number = {one: i for i, one in enumerate(sorted(set(label)))}
        new = [number[one] for one in label]
        weights = defaultdict(float)
        for (u, v), weight in self.weights.items():
            halved = 0.5 if new[u] == new[v] and u != v and not self.directed else 1.0
            weights[new[u], new[v]] += halved * weight
        return Arcs(len(number), weights, directed=self.directed), new

    def modularity(self, label, resolution):
        if not self.whole:
            return 0.0
        inside = sum(
            weight * (2 if u == v and not self.directed else 1)
            for (u, v), weight in self.weights.items()
            if label[u] == label[v]
        )
        totals = sums_by_label(label, self.out), sums_by_label(label, self.in_)
        share = 1.0 / self.whole
        spread = sum(round((totals[0][c] * share) * (totals[1][c] * share) * 2.0**62) for c in totals[0])
        return inside / self.whole - resolution * spread / 2.0**62


def sums_by_label(label, values):
    sums = defaultdict(float)
    for own, value in zip(label, values, strict=True):
        sums[own] += value
    return sums


def smallest(label):
    """Return the smallest vertex with the label of each vertex."""
    first = {}
    for v, own in enumerate(label):
        first.setdefault(own, v)
    return [first[own] for own in label]


def mix(word):
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def best_label(arcs, label, totals, v, resolution):
    """Return the label with the best score: the own label, or the smallest of those with a better score."""
    own, rate = label[v], resolution / arcs.whole if arcs.whole else 0.0
    sums = defaultdict(float)
    for u, weight in arcs.neighbours[v].items():
        sums[label[u]] += weight

    def score(one):
        here = one == own
        total, far = (totals[i][one] - here * (arcs.out, arcs.in_)[i][v] for i in range(2))
        if not resolution:
            return sums.get(one, 0.0)
        if not arcs.directed:
            return sums.get(one, 0.0) - (rate * arcs.out[v]) * total
        return sums.get(one, 0.0) - ((rate * arcs.out[v]) * far + (rate * arcs.in_[v]) * total)

    best = min(list(sums), key=lambda one: (-score(one), one), default=own)
    return best if score(best) > score(own) else own


def move_until_settled(arcs, *, resolution, seed, level=0, buckets=8, enough=0, rounds=100):
    """Return the labels, the number of rounds, and the moves in the last one."""
    label, active, moved = list(range(arcs.n)), set(range(arcs.n)), 0
    for number in range(rounds):
        salt = (seed * 0x9E3779B97F4A7C15 + level * (1 << 20) + number) % (1 << 63)
        moved = 0
        for bucket in range(buckets):
            turn = {v for v in active if mix((v + salt) & _WORD) % buckets == bucket}
            active -= turn
            totals = sums_by_label(label, arcs.out), sums_by_label(label, arcs.in_)
            chosen = {v: best_label(arcs, label, totals, v, resolution) for v in turn}
            moves = {v: one for v, one in chosen.items() if one != label[v]}
            for v, one in moves.items():
                label[v] = one
            active |= {u for v in moves for u in arcs.neighbours[v] if label[u] != label[v]}
            moved += len(moves)
        if moved <= enough:
            return label, number + 1, moved
    return label, rounds, moved


def louvain(graph, *, seed=1, resolution=1.0, tol=1e-7, weighted=True):
    """Return the community of each vertex, by number, and the modularity."""
    arcs = Arcs.of(graph, weighted=weighted)
    community, quality, level = list(range(graph.n)), arcs.modularity(range(graph.n), resolution), 0
    new = list(range(graph.n))
    while graph.m:
        enough = int(1e-3 * arcs.n)
        label, _, _ = move_until_settled(arcs, resolution=resolution, seed=seed, level=level, enough=enough)
        found = arcs.modularity(label, resolution)
        if found <= quality:
            break
        gain, quality, level = found - quality, found, level + 1
        label = smallest(label)
        community = smallest([label[one] for one in new])
        if gain <= tol:
            break
        arcs, of_level = arcs.contracted(label)
        new = [of_level[one] for one in new]
    return np.array(community), quality


def label_propagation(graph, *, seed=1, weighted=True):
    """Return the community of each vertex, by number, and the number of rounds."""
    arcs = Arcs.of(graph, weighted=weighted)
    label, rounds, _ = move_until_settled(arcs, resolution=0.0, seed=seed, buckets=16)
    return np.array(smallest(label)), rounds
