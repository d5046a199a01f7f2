"""GIM-V with values of several fields against NetworkX and a loop, on any split; wrong operators."""

from __future__ import annotations

import pytest

import evener as ev
from evener.testing.ranks import run_ranks
from support import gimv_cases

SPLITS = ("cpu:1", "cpu:1,cpu:1,cpu:1")


def test_shortest_paths_with_parents():
    """Each edge makes its message."""
    graph = gimv_cases.weighted_graph()
    for on in SPLITS:
        gimv_cases.check_parents(*graph, on)
    run_ranks(2, lambda _: gimv_cases.check_parents(*graph, "cpu:1"))


@pytest.mark.slow
def test_every_parameter():
    """Each vertex makes its message."""
    gimv_cases.check_every_parameter_of_fields(SPLITS)


@pytest.fixture(scope="module")
def pair():
    return ev.Graph.from_edges([0], [1])


def _first(x, y):
    return x[0]


def _sums(x, y):
    return x[0] + y[0], x[1] + y[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"v0": {}}, "v0=: expected at least one field, found an empty mapping"),
        ({"v0": {"a b": 1.0}}, "v0=: expected names of fields that are Python names"),
        (
            {"v0": {"vertex": 1.0}},
            "v0=: expected names of fields, found 'vertex', the column of ids in tables",
        ),
        (
            {"v0": {"a": [1.0], "b": 1}},
            r"v0={'a': ...}: expected a number, or an array of shape",
        ),
        ({"combine2": lambda m, v: "a"}, "combine2: expected a function that returns a number or a tuple of"),
        (
            {"combine_all": _first},
            r"combine_all: expected a function that returns \(float, int\) as combine2 does, found float at",
        ),
        (
            {"combine_all": lambda x, y: (x[0], x[1] / 2)},
            "combine_all: returns a floating-point number for an integer of combine2 at",
        ),
        (
            {"combine_all": lambda x, y: (x[0] - y[0], x[1])},
            r"combine_all is not commutative: ",
        ),
        (
            {"combine_all": lambda x, y: (x[0] + y[0], x[1] + y[1] + 9)},
            "combine_all has no identity",
        ),
        ({"identity": 0.0}, r"identity=: expected \(float, int\), the type of the messages, found 0.0"),
        ({"identity": (1.0, 0)}, r"identity=\(1.0, 0\): expected combine_all\(identity, y\) == y, found \("),
        (
            {"assign": lambda old, new: (1.0, 2, 3)},
            r"assign: expected a function that returns \(a, b,\), found \(float, int, int\) at",
        ),
        (
            {"assign": lambda old, new: (1.0, 2.5)},
            "assign: returns a floating-point number for the integer field 'b' at .*line",
        ),
        (
            {"until": lambda old, new: new},
            r"until: expected a function that returns whether a vertex has converged, found \(float, int\)",
        ),
        (
            {"v0": {"a": 1, "b": 1}, "until": 0.5},
            "until=: a float is a sum of changes of floating",
        ),
        (
            {"engine": "mapreduce", "on": "cuda:0"},
            'gimv with fields and engine="mapreduce" runs on CPU elements, and the graph is on GPUs',
        ),
    ],
)
def test_wrong_arguments(pair, arguments, message):
    given = {
        "combine2": lambda m, v: v,
        "combine_all": _sums,
        "assign": lambda old, new: new,
        "v0": {"a": 1.0, "b": 1},
    }
    with pytest.raises(ev.ArgumentError, match=message):
        ev.gimv(pair, **given | arguments)
