"""Vertex programs with expected values from NumPy and built-in algorithms."""

from __future__ import annotations

import numpy as np

import evener as ev


def shortest(n):
    """Return a program for distances from vertex 0. Vertices with a decreased distance are active."""
    distance = np.full(n, np.inf)
    distance[0] = 0
    return ev.VertexProgram(
        state={"distance": distance},
        active=distance == 0,
        send=lambda state, weight: state.distance + weight,
        combine=min,
        apply=lambda state, message: ((min(state.distance, message),), message < state.distance),
    )


def check_few_vertices_work(graph, expected, on):
    """Check the distances from vertex 0 and that few edges are read. Return the number of read edges."""
    r = ev.vertex_program(graph, shortest(graph.n), on=on)
    assert r.outcome["converged"]
    assert r.edges < graph.m * r.outcome["iterations"]
    whole = r.gather()
    if whole is not None:
        np.testing.assert_array_equal(whole["distance"], expected)
    return r.edges


def check_inactive_neighbours(splits):
    """Few vertices are active, but many change. The states equal those of a loop."""
    graph = ev.read("rmat:6,directed,seed=3")
    matrix = np.zeros((graph.n, graph.n), int)
    np.add.at(matrix, (np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(int))), graph.targets), 1)
    k, active, worked = np.arange(graph.n), np.ones(graph.n, bool), []
    for _ in range(6):
        works = active | (matrix[active].sum(axis=0) > 0)
        following = (k + matrix.T @ k) % 97
        k, active = np.where(works, following, k), works & (following % 11 == 0)
        worked.append(works.sum())
    assert 0 < worked[-1] < graph.n
    given = {
        "state": {"k": np.arange(graph.n)},
        "send": lambda state, weight: state.k,
        "combine": lambda a, b: a + b,
        "apply": lambda state, message: (
            ((state.k + message) % 97,),
            (state.k + message) % 97 % 11 == 0,
        ),
    }
    for on in splits:
        r = ev.vertex_program(graph, ev.VertexProgram(**given), until=6, on=on)
        np.testing.assert_array_equal(r["k"], k)


def check_tuples(splits):
    """Messages of three numbers in both directions equal NumPy. One vertex gets 30,000 messages."""
    random, n, m = np.random.default_rng(7), 20_000, 90_000
    src, dst = random.integers(0, n, m), random.integers(0, n // 2, m)
    dst[::3] = 0
    graph = ev.Graph.from_edges(src, dst, n=n)
    tails, heads = np.concatenate([src, dst]), np.concatenate([dst, src])
    start = {"x": random.random(n), "k": random.integers(0, 1000, n)}
    x, k, active, counts = start["x"], start["k"], np.ones(n, bool), []
    for _ in range(4):
        works, added, largest, heard = active.copy(), np.zeros(n), k.copy(), np.zeros(n)
        np.logical_or.at(works, heads, active[tails])
        np.add.at(added, heads, x[tails])
        np.add.at(heard, heads, 1)
        np.maximum.at(largest, heads, k[tails])
        active = works & (largest > k)
        x, k = np.where(works, added / (1 + heard), x), np.where(works, largest, k)
        counts.append(works.sum())
    assert 0 < counts[-1] < n
    program = ev.VertexProgram(
        state=start,
        send=lambda state, weight: (state.x, state.k, 1),
        combine=lambda a, b: (a[0] + b[0], max(a[1], b[1]), a[2] + b[2]),
        apply=lambda state, message: (
            (message[0] / (1 + message[2]), max(state.k, message[1])),
            message[1] > state.k,
        ),
        along="both",
    )
    for on in splits:
        r = ev.vertex_program(graph, program, until=4, on=on)
        np.testing.assert_allclose(r["x"], x, rtol=1e-9)
        np.testing.assert_array_equal(r["k"], k)


def product(graph, along):
    """Return a program for products of the adjacency matrix and a float32 vector."""
    return ev.VertexProgram(
        state={"x": np.random.default_rng(7).random(graph.n).astype(np.float32)},
        send=lambda state, weight: state.x,
        combine=lambda a, b: a + b,
        apply=lambda state, message: ((1 + message / 1000,), True),
        along=along,
    )


def check_products(along, splits):
    """Products equal those of SciPy, in float64."""
    graph = ev.read("rmat:13,directed")
    matrix = graph.to_scipy().astype(np.float64)
    matrices = {"out": matrix.T, "in": matrix, "both": matrix + matrix.T}
    program = product(graph, along)
    x = program.state["x"].astype(np.float64)
    for direction in [along] * 2 if isinstance(along, str) else along:
        x = 1 + matrices[direction] @ x / 1000
    for on in splits:
        np.testing.assert_allclose(ev.vertex_program(graph, program, until=2, on=on)["x"], x, rtol=1e-6)


def check_every_parameter(splits):
    """A program with two fields, all directions, weights and all parameters equals NumPy."""
    random = np.random.default_rng(5)
    n, m = 40, 200
    src, dst, weights = random.integers(0, 30, m), random.integers(0, n, m), random.integers(-3, 9, m)
    graph = ev.Graph.from_edges(src, dst, weights=weights, n=n)
    degrees, ids = np.bincount(src, minlength=n), np.arange(n)
    start = {"x": random.random(n), "k": random.integers(0, 9, n)}

    def send(state, weight, degree, vertex, n, iteration):
        return state.x * weight + state.k + degree + vertex % n + iteration

    def apply(state, message, degree, vertex, n, iteration, total):
        return (message / 100 + total / n, state.k + degree + vertex + iteration), True

    for along, ends in (("out", [(src, dst)]), ("in", [(dst, src)]), ("both", [(src, dst), (dst, src)])):
        x, k = start["x"].copy(), start["k"].copy()
        for iteration in (1, 2):
            total, heard = x.sum(), np.zeros(n)
            for tails, heads in ends:
                sent = x[tails] * weights + k[tails] + degrees[tails] + tails % n + iteration
                np.add.at(heard, heads, sent)
            x, k = heard / 100 + total / n, k + degrees + ids + iteration
        for on in splits:
            r = ev.vertex_program(
                graph,
                ev.VertexProgram(
                    state=start,
                    send=send,
                    combine=lambda a, b: a + b,
                    apply=apply,
                    along=along,
                    aggregate=lambda state: state.x,
                ),
                until=2,
                on=on,
            )
            np.testing.assert_allclose(r["x"], x, rtol=1e-12)
            np.testing.assert_array_equal(r["k"], k)
            assert r.outcome == {"iterations": 2, "converged": False}
