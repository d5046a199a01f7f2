"""Vertex programs: states, directions, activity and weights, compared with loops; invalid programs."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.programs import vertex_run
from evener.programs.supersteps import Supersteps
from evener.testing.ranks import run_ranks
from support import vertex_cases

SPLITS = ("cpu:1", "cpu:1,cpu:1,cpu:1")


@pytest.mark.parametrize("spec", ["rmat:7,directed,weights=1..255", "rmat:7,weights=1..255"])
def test_only_neighbours_of_active_vertices_work(spec):
    """Distances equal those of `ev.sssp`, also on ranks, and few edges are read."""
    graph = ev.read(spec)
    expected = ev.sssp(graph, source=0)["distance"]

    def check(on):
        return vertex_cases.check_few_vertices_work(graph, expected, on)

    assert len({check(on) for on in SPLITS}) == 1
    run_ranks(2, lambda _: check("cpu:1"))


def test_messages_of_inactive_neighbours_are_current():
    vertex_cases.check_inactive_neighbours(SPLITS)


@pytest.mark.slow
def test_every_parameter():
    vertex_cases.check_every_parameter(SPLITS)


@pytest.mark.parametrize(("tol", "chosen"), [(1e-9, [True, False]), (1e-5, [True])])
def test_messages_are_float32_until_values_settle(monkeypatch, tol, chosen):
    """CPU elements send the messages of GPUs here; the answer keeps its precision."""
    graph = ev.read("rmat:7")
    expected = ev.hits(graph, on="cpu:1", tol=tol)
    choose, found = Supersteps._choose_messages, []

    def record(self, *, are_float32):
        found.append(are_float32)
        choose(self, are_float32=are_float32)

    monkeypatch.setattr(vertex_run, "_only_gpus", lambda _: True)
    monkeypatch.setattr(Supersteps, "_choose_messages", record)
    for on in SPLITS:
        found.clear()
        answer = ev.hits(graph, on=on, tol=tol)
        assert found == chosen
        np.testing.assert_allclose(answer["hub"], expected["hub"], rtol=1e-6, atol=tol / 100)


# Names of modules, of functions, of methods of tuples, and of variables of generated code.
NAMES = [
    *("random", "time", "print", "open", "input", "state", "message", "weight", "old", "new", "n", "degree"),
    *("iteration", "total", "np", "State", "fields", "v", "send", "combine", "apply", "aggregate", "numbers"),
    *("function", "count", "index", "self", "values", "initial", "own_0", "free_000", "floats", "x_0"),
]


@pytest.mark.slow
def test_fields_of_any_name():
    """The same program with other names of fields."""
    source = (
        f"VertexProgram(state=dict.fromkeys({NAMES}, start), "
        f"send=lambda state, weight: {' + '.join(f'state.{name}' for name in NAMES)}, combine=max, "
        f"apply=lambda state, message: (({', '.join(f'state.{name} + message' for name in NAMES)},), False))"
    )
    found = ev.vertex_program(
        ev.Graph.from_edges([0], [1]), eval(source, {**vars(ev), "start": [2, 3]}), until=1
    )
    # The message of vertex 0 is the sum of its fields. Vertex 1 sends nothing.
    assert found[NAMES[0]].tolist()[1] == 3 + 2 * len(NAMES)
    for name in NAMES:
        assert found[name].tolist()[1] == 3 + 2 * len(NAMES), name


@pytest.fixture(scope="module")
def pair():
    return ev.Graph.from_edges([0], [1])


def program(**changes):
    given = {
        "state": {"x": 1.0},
        "send": lambda state, weight: state.x,
        "combine": max,
        "apply": lambda state, message: ((message,), False),
    }
    return ev.VertexProgram(**given | changes)


def _total(state, message):
    return state


def _broken(state, message):
    x = state.x + 1
    return (x.hex(),), True


def _assigns(state, message):
    state.x = message
    return (state.x,), True


_RECURSION = []


def _recursive(state, weight):
    return _recursive(state, weight) if state.x > 0 else 0.0


def _listed(state, weight):
    return _RECURSION[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": {}}, "state=: expected a mapping of names to first values, found {}"),
        ({"state": {"x y": 1}}, "state=: expected names of fields that are Python names"),
        ({"state": {"x": [1.0]}}, r"state={'x': ...}: expected a number, or an array of shape \(2,\)"),
        ({"along": "up"}, 'along=: expected "out", "in", "both" or a tuple'),
        ({"along": None}, 'along=: expected "out", "in", "both" or a tuple of "out" and "in", found None'),
        (
            {"combine": "most_frequent", "identity": np.nan},
            "identity=: expected a number of the type of the messages, found nan",
        ),
        ({"active": [1, 0]}, r"active=: expected truth values of shape \(2,\), found int64 of shape"),
        ({"float32_above": -1}, "float32_above=: expected a finite number of at least 0, found -1"),
        ({"combine": "mode"}, "combine=: expected a function or \"most_frequent\", found 'mode'"),
        ({"combine": lambda a, b: a - b}, "combine is not commutative"),
        (
            {"send": lambda state: 1},
            r"send: expected two parameters, then any of degree, vertex, n, iteration",
        ),
        (
            {"send": lambda state, weight: "a"},
            "send: expected a function that returns a number or a tuple",
        ),
        ({"send": _recursive}, "send: recursion at .*line"),
        ({"send": _listed}, r"send: uses '_RECURSION' \(list\) at .*, line \d+: return _RECURSION"),
        ({"apply": _broken}, r"apply: cannot be compiled: .*hex.*, line \d+: return \(x.hex"),
        ({"apply": _assigns}, r"apply: sets an attribute at .*, line \d+: state.x = message; write a pure"),
        ({"apply": _total}, r"apply: expected a function that returns \(\(x,\), active\), found"),
        (
            {"apply": lambda state, message: ((1.0, 2.0), True)},
            r"returns \(\(x,\), active\), found \(\(float, ",
        ),
        ({"apply": lambda state, message: message}, r"returns \(\(x,\), active\), found float at"),
        ({"send": lambda state, weight: state.y}, "send: cannot be compiled: the state has no field 'y', at"),
        ({"state": {"x": 1}}, "apply: returns a floating-point number for the integer field 'x'"),
        ({"apply": lambda state, message: ((message / 0 - message / 0,), True)}, "value of vertex 0 is NaN"),
    ],
)
def test_invalid_programs(pair, changes, message):
    if changes == {"state": {"x": 1}}:
        changes = changes | {"apply": lambda state, message: ((0.5,), True)}
    with pytest.raises(ev.ArgumentError, match=message):
        ev.vertex_program(pair, program(**changes), on="cpu:1")


def test_wrong_arguments(pair):
    with pytest.raises(ev.ArgumentError, match="expected a VertexProgram, found int"):
        ev.vertex_program(pair, 3)
    for until in (max, -1):
        with pytest.raises(ev.ArgumentError, match=r"\(a float above 0\), found .*; let apply return"):
            ev.vertex_program(pair, program(), until=until)


def test_a_run_ends_at_max_iter():
    graph = ev.read("rmat:7,weights=1..255")
    with pytest.warns(ev.ConvergenceWarning, match="vertex_program did not converge in 2 iterations"):
        r = ev.vertex_program(graph, vertex_cases.shortest(graph.n), max_iter=2)
    assert r.outcome == {"iterations": 2, "converged": False}
