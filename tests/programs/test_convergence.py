"""A run that has not converged says so: divergence, overflow, and the limits of iterations."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import evener as ev
from evener.spec import registry
from evener.testing.ranks import run_ranks

INF = float("inf")
# Compiling a program needs seconds.
slow = pytest.mark.slow
SPLITS = ["cpu:1", "cpu:1,cpu:1"]
ENGINES = ["fused", pytest.param("mapreduce", marks=slow)]


def complete(n):
    src, dst = np.triu_indices(n, 1)
    return ev.Graph.from_edges(src, dst, directed=False)


# ---- Katz ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", SPLITS)
def test_katz_without_a_limit_names_a_vertex_and_the_attenuation(on):
    with pytest.raises(ev.ArgumentError, match=r"value of vertex 0 is infinite .*; decrease attenuation="):
        ev.katz(complete(30), attenuation=0.1, on=on)


def test_katz_without_a_limit_on_ranks():
    def check(_):
        with pytest.raises(ev.ArgumentError, match="decrease attenuation="):
            ev.katz(complete(30), attenuation=0.1, on="cpu:1")

    run_ranks(2, check)


@slow
@pytest.mark.parametrize("excess", [1.0, 1.001, 1.2])
def test_a_large_tolerance_does_not_hide_that_katz_has_no_limit(excess):
    """The largest eigenvalue is 9. Values change by less than the tolerance, and their sum has no limit."""
    with pytest.warns(ev.ConvergenceWarning, match=r"give attenuation= below 1 / largest eigenvalue"):
        r = ev.katz(complete(10), attenuation=excess / 9, tol=0.5, max_iter=300)
    assert r.outcome["converged"] is False


@slow
def test_katz_of_large_values_has_length_1():
    """A graph without cycles has a limit for each attenuation; the squares of the values overflow."""
    graph = ev.Graph.from_edges(np.arange(40), np.arange(1, 41))
    value = ev.katz(graph, attenuation=1e7)["centrality"]
    np.testing.assert_allclose(value[-3:], [1e-14, 1e-7, 1.0], rtol=1e-6)


# ---- GIM-V and vertex programs -------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_overflows_is_refused(engine):
    graph = ev.Graph.from_edges([5, 6], [6, 5])
    with pytest.raises(ev.ArgumentError, match=r"^gimv: the value of vertex 5 is infinite after"):
        ev.gimv(graph, lambda m, v: v * 1e90, max, lambda old, new: new, 1.0, engine=engine, on="cpu:1")


@slow
def test_an_infinite_identity_is_no_reason_for_an_overflow():
    """All vertices have messages, so the identity of `min` is the value of no vertex."""
    graph = ev.Graph.from_edges([0, 1], [1, 0])
    with pytest.raises(ev.ArgumentError, match="value of vertex 0 is infinite"):
        ev.gimv(graph, lambda m, v: v * 1e90, min, lambda old, new: new, 1.0, on="cpu:1")


@slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_length_that_overflows_is_refused(dtype):
    huge = float(np.finfo(dtype).max) * 0.6
    graph = ev.Graph.from_edges([0, 1], [1, 2], weights=[huge, huge])
    v0 = np.array([0, INF, INF], dtype)
    for on in SPLITS:
        with pytest.raises(ev.ArgumentError, match=r"value of vertex 2 is infinite .*; scale the weights"):
            ev.gimv(graph, lambda m, v: v + m, min, min, v0, on=on)
    fits = ev.Graph.from_edges([0, 1], [1, 2], weights=[huge / 2, huge / 2], n=4)
    v0 = np.array([0, INF, INF, INF], dtype)
    value = ev.gimv(fits, lambda m, v: v + m, min, min, v0)["value"]
    np.testing.assert_allclose(value, [0, huge / 2, huge, INF], rtol=1e-6)


def _walk(v0, combine, identity=None):
    graph = ev.Graph.from_edges([0, 1], [1, 2], n=4)
    return ev.gimv(graph, lambda m, v: v + m, combine, lambda old, new: new, v0, until=5, identity=identity)


@slow
def test_infinities_of_the_user_are_kept():
    """Longest and shortest walks of 5 edges do not exist, nor do messages of vertices without in-edges."""
    assert _walk(0.0, max)["value"].tolist() == [-INF] * 4
    assert _walk(0.0, min)["value"].tolist() == [INF] * 4
    assert _walk([0.0, INF, 0.0, 0.0], min)["value"].tolist() == [INF] * 4
    graph = ev.Graph.from_edges([0, 1], [1, 0])
    marked = ev.gimv(graph, lambda m, v: v, max, lambda old, new: INF if new > 0 else old, 1.0)
    assert marked["value"].tolist() == [INF, INF]
    assert marked.outcome["converged"]


@slow
def test_a_vertex_program_that_overflows_is_refused():
    program = ev.VertexProgram(
        state={"x": 1.0},
        send=lambda state, weight: state.x * 1e200,
        combine=lambda a, b: a + b,
        apply=lambda state, message: ((message,), message != state.x),
    )
    graph = ev.Graph.from_edges([0, 1], [1, 0])
    for on in SPLITS:
        with pytest.raises(ev.ArgumentError, match=r"^vertex_program: the value of vertex 0 is infinite"):
            ev.vertex_program(graph, program, on=on)


def test_until_returns_a_truth_value():
    graph = ev.Graph.from_edges([0, 1], [1, 0])
    for v0 in (1.0, {"x": 1.0}):
        with pytest.raises(
            ev.ArgumentError, match=r"^until: expected a function that returns whether .*float"
        ):
            ev.gimv(graph, lambda m, v: v, max, lambda old, new: old, v0, until=lambda old, new: float("nan"))


# ---- the outcome after a fixed number of iterations ----------------------------------------------


def test_cdlp_says_whether_labels_still_change():
    star = ev.Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4], directed=False)
    assert ev.cdlp(star).outcome == {"iterations": 10, "converged": False}
    triangle = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    assert ev.cdlp(triangle).outcome["converged"] is True
    assert ev.cdlp(triangle, max_iter=0).outcome["converged"] is False
    assert ev.cdlp(ev.Graph.from_edges([], [], n=3)).outcome["converged"] is True


@pytest.mark.parametrize("engine", ENGINES)
def test_gimv_says_whether_values_still_change(engine):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    for iterations, converged in ((1, False), (3, False), (4, True)):
        r = ev.gimv(graph, lambda m, v: v, min, min, [0, 1, 2, 3], until=iterations, engine=engine)
        assert r.outcome == {"iterations": iterations, "converged": converged}


# ---- names of arguments in messages --------------------------------------------------------------

# Arguments of other functions, which messages name together with the function.
_OF_OTHERS = {"directions", "duplicates"}
_WRONG = {
    "int": [-1, 1.5, "x"],
    "float": [-1.0, float("nan"), "x"],
    "str": ["x", 3],
    "bool": [3, "x"],
    "vertex": [99],
    "vertices": [[99], []],
    "vertex_values": [{99: 1.0}, {0: -1.0}],
}
_REQUIRED = {"betweenness": {"k": 1}, "bfs": {"source": 0}, "sssp": {"source": 0}}


def named(text):
    """Return the names of arguments in a message."""
    return set(re.findall(r"(?<![\w.])([a-z][a-z0-9_]*)=(?![=\w]*>)", text))


def arguments_of(name):
    return set(inspect.signature(getattr(ev, name)).parameters) | _OF_OTHERS


@pytest.mark.parametrize("name", registry.names())
def test_errors_name_only_arguments_of_the_function(name):
    if not hasattr(ev, name):
        pytest.skip("registered by another package")
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], weights=[1.0, 2.0, 3.0])
    for option in registry.find(name).options:
        for wrong in _WRONG[option.type]:
            if wrong == [] and registry.find(name).row != "vertex":
                continue  # no rows for no pairs, and no walks without sources
            with pytest.raises(ev.EvenerError) as caught:
                getattr(ev, name)(graph, **(_REQUIRED.get(name, {}) | {option.name: wrong}))
            assert named(str(caught.value)) <= arguments_of(name), str(caught.value)


@pytest.mark.parametrize("name", registry.names())
def test_texts_of_the_module_name_only_arguments_of_the_function(name):
    """Strings in the code of an algorithm become messages, such as what to do if it does not converge."""
    if not hasattr(ev, name):
        pytest.skip("registered by another package")
    module = inspect.getmodule(registry.find(name).function())
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    bodies = [
        node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    ]
    documented = {ast.get_docstring(node, clean=False) for node in bodies}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in documented:
            assert named(node.value) <= arguments_of(name), node.value


@slow
@pytest.mark.parametrize("name", ["eigenvector", "hits", "katz", "pagerank"])
def test_warnings_name_only_arguments_of_the_function(name):
    graph = ev.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 0], n=5)
    for max_iter in (0, 1):
        with pytest.warns(ev.ConvergenceWarning, match=r"increase max_iter=") as caught:
            r = getattr(ev, name)(graph, max_iter=max_iter)
        assert r.outcome == {"iterations": max_iter, "converged": False}
        for one in caught:
            assert named(str(one.message)) <= arguments_of(name)
