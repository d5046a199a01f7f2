"""The verifiers of HITS, Katz and eigenvector centrality accept right values and refuse wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev


def disjoint(*blocks):
    """Return a block-diagonal matrix."""
    n = sum(map(len, blocks))
    whole, begin = np.zeros((n, n)), 0
    for block in blocks:
        whole[begin : begin + len(block), begin : begin + len(block)] = block
        begin += len(block)
    return whole


def complete(n):
    return np.ones((n, n)) - np.eye(n)


def path(n):
    return np.eye(n, k=1) + np.eye(n, k=-1)


def some(n, *, seed, symmetric):
    """Return a matrix of a connected graph with random weights."""
    random = np.random.default_rng(seed)
    matrix = random.uniform(0.5, 3, (n, n)) * (random.random((n, n)) < 0.2) + np.eye(n, k=1)
    matrix[-1, 0] = 1
    return matrix + matrix.T if symmetric else matrix


def graph_of(matrix):
    src, dst = np.nonzero(matrix)
    symmetric = bool((matrix == matrix.T).all())
    if symmetric:
        src, dst = src[src <= dst], dst[src <= dst]
    return ev.Graph.from_edges(src, dst, weights=matrix[src, dst], n=len(matrix), directed=not symmetric)


def eigenvector(matrix, which=0):
    """Return the absolute values of an eigenvector over in-edges, by NumPy; 0 is the largest eigenvalue."""
    values, vectors = np.linalg.eig(matrix.T)
    vector = np.abs(vectors[:, np.argsort(-values.real)[which]].real)
    return np.where(vector < 1e-12, 0, vector)


def singular_pair(matrix, which=0):
    left, _, right = np.linalg.svd(matrix)
    hub, authority = np.abs(left[:, which]), np.abs(right[which])
    hub[hub < 1e-12], authority[authority < 1e-12] = 0, 0
    return hub / hub.sum(), authority / authority.sum()


def katz(matrix, attenuation):
    value = np.linalg.solve(np.eye(len(matrix)) - attenuation * matrix.T, np.ones(len(matrix)))
    return value / np.linalg.norm(value)


MATRICES = {
    "triangle and edge": disjoint(complete(3), complete(2)),
    "near eigenvalues": disjoint(path(12), path(11)),
    "weighted": some(30, seed=1, symmetric=True),
    "weighted directed": some(30, seed=2, symmetric=False),
    "with isolated vertices": disjoint(some(20, seed=3, symmetric=False), np.zeros((5, 5))),
}
ATTENUATION = 0.01


def claim(name, matrix, arrays):
    parameters = {"attenuation": ATTENUATION} if name == "katz" else {}
    return ev.Claim(name, graph_of(matrix), arrays, parameters)


def right(name, matrix):
    if name == "hits":
        return dict(zip(("hub", "authority"), singular_pair(matrix), strict=True))
    return {"centrality": eigenvector(matrix) if name == "eigenvector" else katz(matrix, ATTENUATION)}


NAMES = ["eigenvector", "hits", "katz"]


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("name", NAMES)
def test_right_values_are_accepted(name, shape):
    ev.verify(claim(name, MATRICES[shape], right(name, MATRICES[shape])))


def _changed(values, v, factor):
    values = values.copy()
    values[v] *= factor
    return values


MUTATIONS = {
    "one vertex by a thousandth": lambda x: _changed(x, x.argmax(), 1.001),
    "a small value by a thousandth": lambda x: _changed(x, np.where(x > 0, x, np.inf).argmin(), 1.001),
    "a small value doubled": lambda x: _changed(x, np.where(x > 0, x, np.inf).argmin(), 2),
    "another length": lambda x: x * 100,
    "slightly longer": lambda x: x * 1.0001,
    "negative": lambda x: -x,
    "NaN": lambda x: _changed(x, 3, np.nan),
    "all NaN": lambda x: np.full(len(x), np.nan),
    "infinite": lambda x: _changed(x, x.argmax(), np.inf),
    "zero": lambda x: np.zeros(len(x)),
    "equal": lambda x: np.full(len(x), x.sum() / len(x)),
    "reversed": lambda x: x[::-1].copy(),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_changed_values_are_refused(name, mutation):
    matrix = MATRICES["weighted directed"]
    arrays = right(name, matrix)
    for column in arrays:
        wrong = arrays | {column: MUTATIONS[mutation](arrays[column])}
        with pytest.raises(ev.VerificationError):
            ev.verify(claim(name, matrix, wrong))


def test_unweighted_values_are_refused():
    matrix = MATRICES["weighted"]
    for name in NAMES:
        arrays = right(name, (matrix > 0).astype(float))
        with pytest.raises(ev.VerificationError):
            ev.verify(claim(name, matrix, arrays))
        unweighted = claim(name, matrix, arrays)
        ev.verify(ev.Claim(name, unweighted.graph, arrays, unweighted.parameters | {"weights": False}))


def test_swapped_hubs_and_authorities_are_refused():
    matrix = MATRICES["weighted directed"]
    hub, authority = singular_pair(matrix)
    with pytest.raises(ev.VerificationError):
        ev.verify(claim("hits", matrix, {"hub": authority, "authority": hub}))


# Two parts of a graph, the first with the larger eigenvalue.
PARTS = {
    "triangle, edge": (complete(3), complete(2)),
    "near paths": (path(12), path(11)),
    "small clique, large cycle": (complete(4), np.roll(np.eye(200), 1, 1) + np.roll(np.eye(200), -1, 1)),
    "heavy edge, clique": (10 * complete(2), complete(5)),
    "directed": (some(8, seed=4, symmetric=False) * 2, some(20, seed=5, symmetric=False) / 3),
}


@pytest.mark.parametrize("parts", PARTS)
def test_the_eigenvalue_of_a_smaller_part_is_refused(parts):
    first, second = PARTS[parts]
    matrix, zero = disjoint(first, second), np.zeros(len(first))
    vector = np.concatenate([zero, eigenvector(second)])
    hub, authority = (np.concatenate([zero, one]) for one in singular_pair(second))
    tiny = np.concatenate([eigenvector(first) * 1e-11, eigenvector(second)])
    for wrong in (
        vector,
        tiny,
        (vector + np.concatenate([eigenvector(first), 0 * vector[len(first) :]])) / 2**0.5,
    ):
        with pytest.raises(ev.VerificationError):
            ev.verify(claim("eigenvector", matrix, {"centrality": wrong}))
    with pytest.raises(ev.VerificationError):
        ev.verify(claim("hits", matrix, {"hub": hub, "authority": authority}))


def test_any_vector_of_equal_largest_eigenvalues_is_accepted():
    matrix = disjoint(complete(3), complete(3))
    for share in (0.0, 0.3, 1.0):
        vector = np.repeat([share, 1 - share], 3)
        ev.verify(claim("eigenvector", matrix, {"centrality": vector / np.linalg.norm(vector)}))
        ev.verify(claim("hits", matrix, {"hub": vector / vector.sum(), "authority": vector / vector.sum()}))


def test_katz_values_of_a_sum_without_a_limit_are_refused():
    """The equations have a solution, but the sum over walks has no limit."""
    for matrix in (complete(30), disjoint(complete(30), np.zeros((40, 40)))):
        arrays = {"centrality": np.abs(katz(matrix, 0.1))}
        wrong = ev.Claim("katz", graph_of(matrix), arrays, {"attenuation": 0.1})
        with pytest.raises(ev.VerificationError):
            ev.verify(wrong)


def test_without_edges_all_vertices_are_equal():
    matrix = np.zeros((4, 4))
    ev.verify(claim("eigenvector", matrix, {"centrality": np.full(4, 0.5)}))
    ev.verify(claim("hits", matrix, {"hub": np.full(4, 0.25), "authority": np.full(4, 0.25)}))
    for name, arrays in (
        ("eigenvector", {"centrality": np.eye(4)[0]}),
        ("hits", {"hub": np.full(4, 0.25), "authority": np.eye(4)[0]}),
        ("hits", {"hub": np.zeros(4), "authority": np.zeros(4)}),
    ):
        with pytest.raises(ev.VerificationError):
            ev.verify(claim(name, matrix, arrays))
