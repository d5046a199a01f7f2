"""Judgements of answers on small graphs by NetworkX and textbook definitions, independent of Evener's code.

A judge gets the edges of a graph, the parameters of a run and the arrays of its answer. It returns None for a
right answer, and otherwise what is wrong. Vertices in arrays are numbers, and -1 means no vertex.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

# Relative differences that rounding explains, by the type of the answer.
_RELATIVE = {"float32": 5e-6, "float64": 1e-8}
# Largest error of the values that an iteration approaches.
_EIGENVECTORS = ("eigenvector", "hits", "katz")
_APPROACHED = 2e-6


@dataclass
class Edges:
    """The edges of a small graph between the vertices 0..n-1, each listed once.

    Attributes
    ----------
    n : int
    tails, heads : list of int
    weights : list of number, or None
    directed : bool
    """

    n: int
    tails: list
    heads: list
    weights: list | None
    directed: bool

    @cached_property
    def arcs(self):
        """The arcs ``(tail, head, weight)``: an undirected edge is two arcs, and a self-loop is one."""
        weights = [1] * len(self.tails) if self.weights is None else self.weights
        arcs = list(zip(self.tails, self.heads, weights, strict=True))
        if not self.directed:
            arcs += [(v, u, w) for u, v, w in arcs if u != v]
        return arcs

    @cached_property
    def networkx(self):
        """The graph in NetworkX, with parallel edges."""
        graph = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        graph.add_nodes_from(range(self.n))
        weights = [1] * len(self.tails) if self.weights is None else self.weights
        graph.add_weighted_edges_from(zip(self.tails, self.heads, weights, strict=True))
        return graph

    def matrix(self, *, weighted=False):
        """Return the dense matrix with the number, or the weight, of the arcs from i to j at place (i, j)."""
        found = np.zeros((self.n, self.n))
        for u, v, w in self.arcs:
            found[u, v] += w if weighted else 1
        return found

    @cached_property
    def simple(self):
        """True if the graph has no self-loops and no parallel edges."""
        ends = zip(self.tails, self.heads, strict=True)
        pairs = [(u, v) if self.directed else (min(u, v), max(u, v)) for u, v in ends]
        return len(set(pairs)) == len(pairs) and all(u != v for u, v in pairs)


def judge(algorithm, edges, parameters, arrays, outcome=None):
    """Return what is wrong with an answer, or None.

    Parameters
    ----------
    algorithm : str
    edges : Edges
    parameters : mapping
        The arguments of the run; vertices are numbers.
    arrays : mapping of str to ndarray
        The arrays of the answer, shape (n,); vertices are numbers, and -1 is no vertex.
    outcome : mapping, optional
        The number of iterations, and whether the run converged.
    """
    of_graph = dict.fromkeys(("transitivity", "modularity", "diameter"), 1)
    of_edges = {"spanning_forest": len(arrays.get("weight", ())), "edge_betweenness": len(edges.tails)}
    rows = {**of_graph, **of_edges}.get(algorithm, edges.n)
    if algorithm in _PAIR_SCORES:
        rows = len(arrays["first"])
    for name, values in arrays.items():
        if values.shape != (rows,):
            return f"{name} has the shape {values.shape}"
        if values.dtype.kind not in "iuf":
            return f"{name} has the type {values.dtype}"
    return _JUDGES[algorithm](edges, parameters, arrays, outcome or {})


def judgeable(spec, result):
    """Return whether an answer is defined: eigenvectors that have not converged are not."""
    return result.outcome.get("converged") is not False or spec.name not in _EIGENVECTORS


def is_undefined(name, edges, arguments):
    """Return whether a graph has no answer: without a cycle, no eigenvalue is above 0."""
    matrix = _weighted_matrix(edges, {"weights": arguments.get("weights")})
    graph = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    return name == "eigenvector" and matrix.any() and nx.is_directed_acyclic_graph(graph)


def distances(edges, sources, *, weighted):
    """Return the distance of every vertex from the nearest source, by NetworkX."""
    usable = edges.networkx
    found = np.full(edges.n, math.inf)
    if not weighted:
        lengths = nx.multi_source_dijkstra_path_length(usable, set(sources), weight=None)
    else:
        finite = nx.MultiDiGraph() if edges.directed else nx.MultiGraph()
        finite.add_nodes_from(usable)
        finite.add_weighted_edges_from(
            (u, v, w) for u, v, w in usable.edges(data="weight") if not math.isinf(w)
        )
        lengths = nx.multi_source_dijkstra_path_length(finite, set(sources))
    for v, length in lengths.items():
        found[v] = length
    return found


def _limited(distance, parameters):
    """Return distances with infinity for vertices beyond the cutoff or the target."""
    limit = math.inf if parameters.get("cutoff") is None else parameters["cutoff"]
    if (target := parameters.get("target")) is not None and math.isfinite(distance[target]):
        limit = min(limit, distance[target])
    return np.where(distance <= limit, distance, math.inf)


def _sources(parameters):
    given = parameters["source"]
    return given if isinstance(given, list) else [given]


def _tree(edges, sources, expected, found, parent, *, relative, weighted):
    """Return what is wrong with the distances or the parents of a search."""
    reached = np.isfinite(expected)
    if (np.isfinite(found) != reached).any():
        return "other vertices are reached"
    if not np.allclose(found[reached], expected[reached], rtol=relative, atol=0):
        return "distances differ"
    lightest = {}
    for u, v, w in edges.arcs:
        lightest.setdefault((u, v), set()).add(w if weighted else 1)
    for v in range(edges.n):
        u = int(parent[v])
        if not reached[v] or v in sources:
            if u != (v if reached[v] else -1):
                return f"vertex {v} has parent {u}"
            continue
        steps = lightest.get((u, v), ())
        if not any(math.isclose(expected[u] + w, expected[v], rel_tol=relative) for w in steps):
            return f"vertex {v} has parent {u}"
    for v in np.flatnonzero(reached).tolist():
        for _ in range(edges.n):
            v = int(parent[v])
        if v not in sources:
            return "parents lead into a cycle"
    return None


def _bfs(edges, parameters, arrays, _):
    distance = arrays["distance"]
    if distance.dtype.kind not in "iu":
        return f"distance has the type {distance.dtype}"
    sources = _sources(parameters)
    if (distance < -1).any():
        return "a distance is negative"
    expected = _limited(distances(edges, sources, weighted=False), parameters)
    found = np.where(distance == -1, math.inf, distance)
    return _tree(edges, sources, expected, found, arrays["parent"], relative=0, weighted=False)


def _sssp(edges, parameters, arrays, _):
    distance = arrays["distance"].astype(np.float64)
    sources = _sources(parameters)
    if np.isnan(distance).any() or (distance < 0).any():
        return "a distance is negative or NaN"
    weighted = edges.weights is not None
    expected = _limited(distances(edges, sources, weighted=weighted), parameters)
    integers = not weighted or all(isinstance(w, int) for w in edges.weights)
    relative = 0 if integers else 1e-13 if arrays["distance"].dtype != np.float32 else 1e-6
    return _tree(edges, sources, expected, distance, arrays["parent"], relative=relative, weighted=weighted)


def _wcc(edges, _, arrays, __):
    graph = edges.networkx
    components = nx.weakly_connected_components(graph) if edges.directed else nx.connected_components(graph)
    expected = np.empty(edges.n, np.int64)
    for component in components:
        expected[list(component)] = min(component)
    return None if np.array_equal(arrays["component"], expected) else "components differ"


def _scc(edges, parameters, arrays, outcome):
    if not edges.directed:
        return _wcc(edges, parameters, arrays, outcome)
    expected = np.empty(edges.n, np.int64)
    for component in nx.strongly_connected_components(edges.networkx):
        expected[list(component)] = min(component)
    return None if np.array_equal(arrays["component"], expected) else "components differ"


def _close(found, expected, relative, absolute=0.0):
    with np.errstate(invalid="ignore"):
        right = np.abs(found.astype(np.float64) - expected) <= relative * np.abs(expected) + absolute
    if right.all():
        return None
    v = int(np.argmin(right))
    return f"vertex {v} has {found[v]}, expected {expected[v]}"


def _pagerank(edges, parameters, arrays, outcome):
    rank = arrays["rank"]
    if rank.dtype.name not in _RELATIVE:
        return f"rank has the type {rank.dtype}"
    n, damping = edges.n, parameters["damping"]
    weighted = parameters["weights"]
    if weighted is None:
        weighted = edges.weights is not None and parameters["semantics"] != "graphalytics"
    matrix = edges.matrix(weighted=weighted)
    jumps = np.full(n, 1 / n)
    if (own := parameters.get("personalization")) is not None:
        jumps = np.zeros(n)
        jumps[list(own)] = list(own.values())
        jumps /= jumps.sum()
    strength = matrix.sum(axis=1)
    dangling = strength == 0
    share = matrix / np.where(dangling, 1, strength)[:, None]
    expected = np.full(n, 1 / n)
    for _ in range(outcome["iterations"]):
        expected = damping * (expected @ share + expected[dangling].sum() * jumps) + (1 - damping) * jumps
    if wrong := _close(rank, expected, _RELATIVE[rank.dtype.name], 1e-30):
        return wrong
    tol = 0 if parameters["semantics"] == "graphalytics" else parameters["tol"]
    if tol and outcome["converged"] and damping < 1 and weighted == (edges.weights is not None):
        allowed = (n if parameters["stop"] == "networkx" else 1) * tol / (1 - damping) + 1e-5
        return _pagerank_of_networkx(edges, damping, own, rank, allowed)
    return None


def _pagerank_of_networkx(edges, damping, own, rank, allowed):
    """Compare converged ranks with those of NetworkX, which reads the same weights."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(edges.n))
    graph.add_weighted_edges_from(edges.arcs)
    try:
        found = nx.pagerank(graph, damping, personalization=own, tol=1e-10 / edges.n, max_iter=2000)
    except nx.PowerIterationFailedConvergence:
        return None
    off = float(np.abs(np.array([found[v] for v in range(edges.n)]) - rank).sum())
    return None if off <= allowed else f"the ranks differ from those of NetworkX by {off:g} in total"


def _betweenness(edges, parameters, arrays, _):
    """Sum the shares of shortest paths by their definition; parallel edges are several paths."""
    found, n = arrays["centrality"], edges.n
    if found.dtype.name not in _RELATIVE:
        return f"centrality has the type {found.dtype}"
    sources = parameters["sources"]
    sources = list(range(n)) if sources is None else sources
    if _uses_weights(edges, parameters):
        total = _dependencies_by_weights(edges, sources)[0]
        return _is_scaled(edges, parameters, found, total, len(sources), ends=(n - 1) * (n - 2), least=3)
    matrix = edges.matrix()
    np.fill_diagonal(matrix, 0)
    distance = np.full((n, n), np.inf)
    paths = np.zeros((n, n))
    walks, level = np.eye(n), 0
    while (new := (walks > 0) & np.isinf(distance)).any():
        distance[new], paths[new] = level, walks[new]
        walks, level = np.where(new, walks, 0) @ matrix, level + 1
    total = np.zeros(n)
    for s in sources:
        for t in range(n):
            if t == s or np.isinf(distance[s, t]):
                continue
            inner = distance[s] + distance[:, t] == distance[s, t]
            inner[[s, t]] = False
            total[inner] += paths[s, inner] * paths[inner, t] / paths[s, t]
    expected = total * _scale(edges, parameters, len(sources), ends=(n - 1) * (n - 2), least=3)
    if edges.simple and len(sources) == n and len(set(sources)) == n:
        simple = nx.DiGraph(edges.networkx) if edges.directed else nx.Graph(edges.networkx)
        other = nx.betweenness_centrality(simple, normalized=parameters["normalized"])
        np.testing.assert_allclose(expected, [other[v] for v in range(n)], rtol=1e-9, atol=1e-12)
    return _is_scaled(edges, parameters, found, total, len(sources), ends=(n - 1) * (n - 2), least=3)


def _scale(edges, parameters, sources, *, ends, least):
    if edges.n < least or not sources:
        return 0.0
    return edges.n / sources / (ends if parameters["normalized"] else 1 if edges.directed else 2)


def _is_scaled(edges, parameters, found, total, sources, *, ends, least):
    expected = total * _scale(edges, parameters, sources, ends=ends, least=least)
    absolute = float(expected.max(initial=0)) * _RELATIVE[found.dtype.name] / 10
    return _close(found, expected, _RELATIVE[found.dtype.name], absolute)


def _dependencies_by_weights(edges, sources):
    """Return the shares of shortest paths of vertices and of arcs, by recursion; weights are above 0."""
    arcs = edges.arcs
    out = [[i for i, arc in enumerate(arcs) if arc[0] == u] for u in range(edges.n)]
    total, of_arcs = np.zeros(edges.n), np.zeros(len(arcs))
    for source in sources:
        distance = [math.inf] * edges.n
        distance[source] = 0
        for _ in range(edges.n):
            for u, v, w in arcs:
                distance[v] = min(distance[v], distance[u] + w)
        tight = {i for i, (u, v, w) in enumerate(arcs) if distance[v] == distance[u] + w < math.inf}
        paths = dict.fromkeys(range(edges.n), 0)  # exact integers
        paths[source] = 1
        nearest_first = sorted(range(edges.n), key=distance.__getitem__)
        for u in nearest_first:
            for i in tight.intersection(out[u]):
                paths[arcs[i][1]] += paths[u]
        behind = np.zeros(edges.n)
        for u in reversed(nearest_first):
            for i in tight.intersection(out[u]):
                v = arcs[i][1]
                share = paths[u] / paths[v] * (1 + behind[v])
                of_arcs[i] += share
                behind[u] += share
        behind[source] = 0
        total += behind
    return total, of_arcs


def _edge_betweenness(edges, parameters, arrays, _):
    found, n = arrays["centrality"], edges.n
    if found.dtype.name not in _RELATIVE:
        return f"centrality has the type {found.dtype}"
    sources = parameters["sources"]
    sources = list(range(n)) if sources is None else sources
    weights = edges.weights if _uses_weights(edges, parameters) else [1] * len(edges.tails)
    plain = Edges(n, edges.tails, edges.heads, weights, edges.directed)
    sums = _dependencies_by_weights(plain, sources)[1]
    groups = {}
    for (u, v, w), own in zip(plain.arcs, sums.tolist(), strict=True):
        ends = (u, v) if edges.directed or u <= v else (v, u)
        groups.setdefault((*ends, w), []).append(own)
    rows = []
    for (u, v, _w), own in sorted(groups.items()):
        # Equal edges share evenly; both arcs of an undirected edge count.
        count = len(own) if edges.directed or u == v else len(own) // 2
        rows += [(u, v, sum(own) / count)] * count
    if [(u, v) for u, v, _ in rows] != list(zip(arrays["u"].tolist(), arrays["v"].tolist(), strict=True)):
        return "the rows are not the edges in ascending order"
    total = np.array([own for _, _, own in rows])
    if edges.simple and len(sources) == n and len(set(sources)) == n:
        simple = nx.DiGraph(edges.networkx) if edges.directed else nx.Graph(edges.networkx)
        weight = "weight" if _uses_weights(edges, parameters) else None
        other = nx.edge_betweenness_centrality(simple, normalized=False, weight=weight)
        expected = {tuple(sorted(ends)) if not edges.directed else ends: own for ends, own in other.items()}
        np.testing.assert_allclose(
            total / (1 if edges.directed else 2), [expected[row[:2]] for row in rows], rtol=1e-9, atol=1e-12
        )
    return _is_scaled(edges, parameters, found, total, len(sources), ends=n * (n - 1), least=2)


def _cdlp(edges, parameters, arrays, _):
    heard = [[] for _ in range(edges.n)]
    for u, v, _w in edges.arcs:
        heard[u].append(v)
        if edges.directed:
            heard[v].append(u)
    label = list(range(edges.n))
    for _ in range(parameters["max_iter"]):
        counts = [Counter(label[u] for u in row) for row in heard]
        label = [
            min(count, key=lambda one: (-count[one], one)) if count else own
            for count, own in zip(counts, label, strict=True)
        ]
    return None if arrays["label"].tolist() == label else "labels differ"


def _degrees(edges, inside):
    """Return the number of edge ends of each vertex that lead to a vertex in `inside`."""
    degree = [0] * edges.n
    for u, v, _ in edges.arcs:
        degree[u] += inside[v]
        if edges.directed:
            degree[v] += inside[u]
    return degree


def _k_core(edges, parameters, arrays, _):
    inside = [True] * edges.n
    while True:
        degree = _degrees(edges, inside)
        stays = [own and count >= parameters["k"] for own, count in zip(inside, degree, strict=True)]
        if stays == inside:
            break
        inside = stays
    if edges.simple and not edges.directed:
        core = set(nx.k_core(nx.Graph(edges.networkx), parameters["k"]))
        assert core == {v for v in range(edges.n) if inside[v]}
    return None if arrays["member"].tolist() == [int(one) for one in inside] else "the core differs"


def _core_number(edges, _, arrays, __):
    core, inside, level = [0] * edges.n, [True] * edges.n, 0
    for _ in range(edges.n):
        degree = _degrees(edges, inside)
        v = min((v for v in range(edges.n) if inside[v]), key=lambda v: degree[v])
        level = core[v] = max(level, int(degree[v]))
        inside[v] = False
    if edges.simple and not edges.directed:
        known = nx.core_number(nx.Graph(edges.networkx))
        assert core == [known[v] for v in range(edges.n)]
    return None if arrays["core"].tolist() == core else "the core numbers differ"


def _coloring(edges, _, arrays, __):
    color, near = arrays["color"].tolist(), [set() for _ in range(edges.n)]
    for u, v, _w in edges.arcs:
        if u != v:
            near[u].add(color[v])
            near[v].add(color[u])
    if any(own in others for own, others in zip(color, near, strict=True)):
        return "two neighbours have one color"
    pairs = list(zip(color, near, strict=True))
    if any(not 0 <= own <= len(others) or not others >= set(range(own)) for own, others in pairs):
        return "a vertex could have a smaller color"
    return None


def _maximal_independent_set(edges, _, arrays, __):
    member = arrays["member"].tolist()
    if not set(member) <= {0, 1}:
        return "a member is neither 0 nor 1"
    covered = [bool(one) for one in member]
    for u, v, _w in edges.arcs:
        if u != v:
            if member[u] and member[v]:
                return "two members are neighbours"
            covered[u] |= bool(member[v])
            covered[v] |= bool(member[u])
    return None if all(covered) else "a vertex could join"


def _kcore(edges, _, arrays, __):
    expected = nx.core_number(nx.Graph(edges.networkx))
    return None if arrays["core"].tolist() == [expected[v] for v in range(edges.n)] else "core numbers differ"


def _weighted_matrix(edges, parameters):
    """Return the matrix that a centrality reads: with weights, unless its parameters say otherwise."""
    weighted = parameters.get("weights", False)
    return edges.matrix(weighted=edges.weights is not None if weighted is None else weighted)


def _is_principal(matrix, value):
    """Return whether a vector is an eigenvector of the largest eigenvalue of a non-negative matrix."""
    radius = max(abs(np.linalg.eigvals(matrix)))
    product = value @ matrix
    return np.abs(product - radius * value).max() <= _APPROACHED * max(1.0, radius) * np.abs(value).max()


def _eigenvector_centrality(edges, parameters, arrays, _):
    value = arrays["centrality"].astype(np.float64)
    if not np.isfinite(value).all() or value.min() < 0 or abs(value @ value - 1) > _APPROACHED:
        return "the values are not a vector of length 1 without negative values"
    matrix = _weighted_matrix(edges, parameters)
    if not matrix.any():
        return _close(value, np.full(edges.n, edges.n**-0.5), 1e-9)
    if not _is_principal(matrix, value):
        return "the values are not an eigenvector of the largest eigenvalue"
    graph = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    if edges.n > 2 and nx.is_strongly_connected(graph):
        expected = np.abs(np.array(list(nx.eigenvector_centrality_numpy(graph, weight="weight").values())))
        return _close(value, expected, 1e-4, 1e-6)
    return None


def _katz_centrality(edges, parameters, arrays, _):
    value = arrays["centrality"].astype(np.float64)
    matrix = _weighted_matrix(edges, parameters)
    factor = parameters["attenuation"]
    expected = np.linalg.solve(np.eye(edges.n) - factor * matrix.T, np.ones(edges.n))
    expected /= np.linalg.norm(expected)
    return _close(value, expected, 1e-5)


def _hits(edges, parameters, arrays, _):
    hub, authority = (arrays[name].astype(np.float64) for name in ("hub", "authority"))
    matrix = _weighted_matrix(edges, parameters)
    if not matrix.any():
        return _close(hub, np.full(edges.n, 1 / edges.n), 1e-9) or _close(authority, hub, 1e-9)
    for value in (hub, authority):
        if not np.isfinite(value).all() or value.min() < 0 or abs(value.sum() - 1) > _APPROACHED:
            return "the values do not sum to 1"
    for value, follows in ((hub, matrix @ authority), (authority, matrix.T @ hub)):
        if np.abs(value - follows / (follows.sum() or 1)).sum() > _APPROACHED:
            return "hubs and authorities do not follow from each other"
    if not _is_principal(matrix @ matrix.T, hub):
        return "the hubs are not an eigenvector of the largest eigenvalue"
    return None


def _near(edges):
    """Return the matrices of the arcs, and of the edges, between different vertices."""
    arcs = np.minimum(edges.matrix(), 1)
    np.fill_diagonal(arcs, 0)
    return arcs, np.maximum(arcs, arcs.T)


def _triangles(edges, _, arrays, __):
    _, near = _near(edges)
    expected = (near * (near @ near)).sum(1) / 2
    return None if arrays["triangles"].tolist() == expected.tolist() else "the triangles differ"


def _distances_from_sample(edges, parameters):
    """Return the distances from the sources, inf between a vertex and itself, and the other sources."""
    n, k = edges.n, parameters.get("k")
    sources = np.arange(n)
    if k is not None:
        sources = np.random.default_rng(parameters["seed"]).choice(n, k, replace=False)
    graph = nx.from_numpy_array(edges.matrix(), create_using=nx.DiGraph)
    away = np.full((len(sources), n), np.inf)
    for row, source in zip(away, sources.tolist(), strict=True):
        for v, distance in nx.single_source_shortest_path_length(graph, source).items():
            row[v] = distance or np.inf
    return away, np.maximum(len(sources) - np.isin(np.arange(n), sources), 1)


def _closeness(edges, parameters, arrays, _):
    away, others = _distances_from_sample(edges, parameters)
    reached, total = np.isfinite(away).sum(0), np.where(np.isfinite(away), away, 0).sum(0)
    expected = np.where(total > 0, reached / np.maximum(total, 1), 0)
    return _close(
        arrays["closeness"], expected * (reached / others if parameters["wf_improved"] else 1), 1e-9
    )


def _harmonic(edges, parameters, arrays, _):
    away, others = _distances_from_sample(edges, parameters)
    return _close(arrays["harmonic"], (1 / away).sum(0) * max(edges.n - 1, 1) / others, 1e-9)


def _largest_distances(edges):
    graph = nx.from_numpy_array(edges.matrix(), create_using=nx.DiGraph)
    found = nx.all_pairs_shortest_path_length(graph)
    return np.array([max(distances.values()) for _, distances in sorted(found)], np.int64)


def _eccentricity(edges, _, arrays, __):
    return _close(arrays["eccentricity"], _largest_distances(edges), 0)


def _diameter(edges, parameters, arrays, _):
    largest = _largest_distances(edges).max(initial=0)
    found, upper, source, target = (arrays[name][0] for name in ("diameter", "upper", "source", "target"))
    graph = nx.from_numpy_array(edges.matrix(), create_using=nx.DiGraph)
    if edges.n:
        if source not in graph or nx.single_source_shortest_path_length(graph, source).get(target) != found:
            return f"{source} and {target} are not at the distance {found}"
    elif (source, target) != (-1, -1):
        return f"the empty graph has no vertices {source} and {target}"
    if parameters["max_searches"] is None and (found, upper) != (largest, largest):
        return f"expected {largest}, found {found} and {upper}"
    return None if found <= largest <= upper else f"{largest} is not from {found} to {upper}"


def _clustering(edges, parameters, arrays, _):
    arcs, near = _near(edges)
    degree, both = near.sum(1), (arcs * arcs.T).sum(1)
    if edges.directed and parameters["semantics"] == "networkx":
        links = arcs + arcs.T
        count, degree = (links * (links @ links)).sum(1) / 2, degree + both
        pairs = degree * (degree - 1) - 2 * both
    else:
        count, pairs = (near * (near @ arcs)).sum(1), degree * (degree - 1)
    return _close(arrays["clustering"], count / np.where(pairs > 0, pairs, 1), 1e-5)


def _score(name, near, u, v):
    """Return the score of a pair, from the matrix of neighbours."""
    degree, common = near.sum(1), near[u] * near[v]
    if name in ("jaccard", "overlap"):
        total = degree[u] + degree[v] - common.sum() if name == "jaccard" else min(degree[u], degree[v])
        return common.sum() / total if total else 0.0
    weights = {
        "common_neighbors": lambda d: 1.0,  # noqa: ARG005 - as the others
        "adamic_adar": lambda d: 1 / np.log(d) if d > 1 else 0.0,
        "resource_allocation": lambda d: 1 / d if d else 0.0,
    }
    return sum(weights[name](degree[w]) for w in np.flatnonzero(common))


def _pair_scores(name):
    def judge_pairs(edges, _, arrays, __):
        _, near = _near(edges)
        ends = [arrays[end].tolist() for end in ("first", "second")]
        if not all(0 <= v < edges.n for own in ends for v in own):
            return "a pair has less than two vertices"
        expected = np.array([_score(name, near, u, v) for u, v in zip(*ends, strict=True)])
        return _close(arrays[name], expected, 1e-5)

    return judge_pairs


def _transitivity(edges, _, arrays, __):
    _, near = _near(edges)
    degree = near.sum(1)
    triangles, paths = (near * (near @ near)).sum() / 6, (degree * (degree - 1)).sum() / 2
    right = [arrays["triangles"][0] == triangles, arrays["paths"][0] == paths]
    return _close(arrays["transitivity"], np.array([3 * triangles / (paths or 1)]), 1e-5) or (
        None if all(right) else "the triangles or the paths differ"
    )


_PAIR_SCORES = ("adamic_adar", "common_neighbors", "jaccard", "overlap", "resource_allocation")


def _spanning_forest(edges, parameters, arrays, _):
    weighted = parameters.get("weights") is not False and edges.weights is not None
    known = {(min(u, v), max(u, v), float(w) if weighted else 1.0) for u, v, w in edges.arcs if u != v}
    rows = list(zip(*(arrays[name].tolist() for name in ("u", "v", "weight")), strict=True))
    if not all(row in known for row in rows):
        return "a row is no edge"
    forest = nx.MultiGraph()
    forest.add_nodes_from(range(edges.n))
    forest.add_weighted_edges_from(rows)
    trees = nx.number_connected_components(forest)
    if trees + len(rows) != edges.n or trees != nx.number_weakly_connected_components(
        nx.MultiDiGraph(edges.networkx)
    ):
        return "rows are no spanning forest"
    graph = nx.Graph()
    graph.add_weighted_edges_from(sorted(known, reverse=True))  # the lightest of parallel edges comes last
    lightest = sum(one[2]["weight"] for one in nx.minimum_spanning_edges(graph))
    return _close(np.array([sum(row[2] for row in rows)]), np.array([lightest]), 1e-12)


def _leiden(edges, parameters, arrays, outcome):
    community, graph = arrays["community"], nx.Graph(edges.networkx)
    names = np.unique(community)
    groups = [set(np.flatnonzero(community == one).tolist()) for one in names]
    if names.tolist() != [min(group) for group in groups]:
        return "a name is not the smallest vertex of its community"
    if not all(nx.is_connected(graph.subgraph(group)) for group in groups):
        return "a community is not connected"
    weight = "weight" if parameters.get("weights") is not False else None
    total = sum(w for _, _, w in edges.arcs) if weight else len(edges.arcs)
    found = (
        nx.community.modularity(edges.networkx, groups, weight, parameters["resolution"]) if total else 0.0
    )
    if outcome.get("communities") != len(groups):
        return "another number of communities"
    return _close(np.array([outcome.get("modularity", found)]), np.array([found]), 0, 1e-9)


def _communities(edges, parameters, arrays, outcome):
    community, weighted = arrays["community"].tolist(), _uses_weights(edges, parameters)
    members = {}
    for v, own in enumerate(community):
        members.setdefault(own, set()).add(v)
    if any(own != min(inside) for own, inside in members.items()):
        return "a community is not named by its smallest vertex"
    met = {v for u, v, _ in edges.arcs if u != v} | {u for u, v, _ in edges.arcs if u != v}
    if any(v not in met and len(members[community[v]]) > 1 for v in range(edges.n)):
        return "a vertex without neighbours is not alone"
    if len(members) != outcome["communities"]:
        return "the number of communities differs"
    if "modularity" not in outcome:
        return _has_best_labels(edges, community, weighted=weighted) if outcome["converged"] else None
    resolution = parameters["resolution"]
    return _is_modularity(edges, members.values(), resolution, outcome["modularity"], weighted=weighted)


def _uses_weights(edges, parameters):
    weighted = parameters.get("weights")
    return edges.weights is not None if weighted is None else weighted


def _has_best_labels(edges, community, *, weighted):
    sums = [Counter() for _ in range(edges.n)]
    for u, v, w in edges.arcs:
        if u != v:
            sums[u][community[v]] += w if weighted else 1
            if edges.directed:
                sums[v][community[u]] += w if weighted else 1
    worse = any(own[community[v]] < max(own.values(), default=0) - 1e-9 for v, own in enumerate(sums))
    return "a vertex has a better community" if worse else None


def _is_modularity(edges, communities, resolution, value, *, weighted):
    graph = edges.networkx
    if not weighted:
        graph = type(graph)(graph)
        nx.set_edge_attributes(graph, 1, "weight")
    if not sum(w for _, _, w in graph.edges(data="weight")):
        return None if value == 0 else "the modularity without weight is not 0"
    expected = nx.community.modularity(graph, communities, resolution=resolution)
    return None if abs(expected - value) <= 1e-8 else "the modularity differs"


def _modularity(edges, parameters, arrays, _):
    weighted = _uses_weights(edges, parameters)
    given = parameters["communities"]
    members = {}
    for v in range(edges.n):
        members.setdefault(v if given is None else given[v], set()).add(v)
    value = float(arrays["modularity"][0])
    return _is_modularity(edges, members.values(), parameters["resolution"], value, weighted=weighted)


_JUDGES = {
    **{name: _pair_scores(name) for name in _PAIR_SCORES},
    "betweenness": _betweenness,
    "bfs": _bfs,
    "cdlp": _cdlp,
    "closeness": _closeness,
    "clustering": _clustering,
    "coloring": _coloring,
    "eigenvector": _eigenvector_centrality,
    "harmonic": _harmonic,
    "edge_betweenness": _edge_betweenness,
    "eccentricity": _eccentricity,
    "diameter": _diameter,
    "hits": _hits,
    "core_number": _core_number,
    "k_core": _k_core,
    "katz": _katz_centrality,
    "kcore": _kcore,
    "leiden": _leiden,
    "label_propagation": _communities,
    "louvain": _communities,
    "maximal_independent_set": _maximal_independent_set,
    "modularity": _modularity,
    "pagerank": _pagerank,
    "spanning_forest": _spanning_forest,
    "sssp": _sssp,
    "transitivity": _transitivity,
    "scc": _scc,
    "triangles": _triangles,
    "wcc": _wcc,
}
