"""Integer arithmetic without a result is an error, and unsigned integers that look negative are refused."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from numba import njit

import evener as ev
from evener.kernels.cpu.jit import inlined


def _in_place(a, b):
    a //= b
    return a


def _in_place_shift(a, b):
    a <<= b
    return a


# Functions of two integers, and a second integer for which Python or NumPy has no result.
WITHOUT_RESULT = {
    "//": (lambda a, b: a // b, 0),
    "//=": (_in_place, 0),
    "%": (lambda a, b: a % b, 0),
    "/": (lambda a, b: a / b, 0),
    "divmod": (lambda a, b: divmod(a, b)[1], 0),
    "**": (lambda a, b: a**b, -1),
    "** constant": (lambda a, b: b**-1, 2),
    "pow": (lambda a, b: pow(a, b), -2),
    "<<": (lambda a, b: a << b, -1),
    "<<=": (_in_place_shift, -1),
    ">>": (lambda a, b: a >> b, -1),
    "<< 64": (lambda a, b: a << b, 64),
    "operator.mod": (lambda a, b: operator.mod(a, b), 0),
    "np.floor_divide": (lambda a, b: np.floor_divide(a, b), 0),
    "np.remainder": (lambda a, b: np.remainder(a, b), 0),
    "np.divmod": (lambda a, b: np.divmod(a, b)[0], 0),
    "np.divide": (lambda a, b: np.divide(a, b), 0),
    "np.power": (lambda a, b: np.power(a, b), -1),
    "np.left_shift": (lambda a, b: np.left_shift(a, b), -1),
    "int of nan": (lambda a, b: int(np.sqrt(float(b))), -1),
    "int of inf": (lambda a, b: int(a / float(b)), 0),
    "int of a large number": (lambda a, b: int(10.0**b), 19),
    "np.int64": (lambda a, b: np.int64(10.0**b), 19),
    "np.int32": (lambda a, b: np.int32(10.0**b), 10),
    "math.floor": (lambda a, b: math.floor(10.0**b), 19),
    "math.ceil": (lambda a, b: math.ceil(10.0**b), 19),
    "math.trunc": (lambda a, b: math.trunc(-(10.0**b)), 19),
    "round": (lambda a, b: round(10.0**b), 19),
}


def test_integers_without_a_result():
    """Each function raises an exception there, and equals Python for another integer."""
    functions = [inlined(function) for function, _ in WITHOUT_RESULT.values()]
    scope = {f"f{i}": function for i, function in enumerate(functions)}
    body = "".join(f"    if k == {i}:\n        return float(f{i}(a, b))\n" for i in range(len(functions)))
    exec(f"def run(k, a, b):\n{body}    return 0.0\n", scope)
    run = njit(scope["run"])
    for i, (name, (function, wrong)) in enumerate(WITHOUT_RESULT.items()):
        with pytest.raises((ZeroDivisionError, ValueError)):
            print(name, run(i, 7, wrong))  # noqa: T201 - shown if it fails
        if name != "** constant":
            assert run(i, 7, 3) == function(7, 3), name


def test_floating_point_numbers_follow_numpy():
    compiled = inlined(lambda x, y: (x / y, x // y, x % y))
    run = njit(lambda x, y: compiled(x, y))
    assert np.isinf(run(1.0, 0.0)[0])
    assert np.isnan(run(0.0, 0.0)[0])


def chain():
    return ev.Graph.from_edges([0, 1], [1, 2])


def test_a_program_that_divides_by_0():
    """A vertex without out-edges sends no message, so functions may divide by the number of edges."""

    def run(v0):
        return ev.gimv(
            chain(),
            lambda m, v, degree: 12 // v // degree,
            max,
            lambda old, new, vertex: new if vertex > 0 else old,
            v0,
            until=1,
        )

    assert run([3, 2, 1])["value"].tolist() == [3, 4, 6]
    with pytest.raises(ev.ArgumentError, match=r"gimv: a function raises an exception .*divisions by 0"):
        run([3, 0, 1])


LARGE = np.uint64(1 << 63)


@pytest.mark.parametrize(
    "run",
    [
        lambda g: ev.gimv(g, lambda m, v: m + v, min, min, 1),
        lambda g: ev.gimv(g, lambda m, v: m + v, min, min, 1, engine="mapreduce"),
        lambda g: ev.gimv(g, lambda m, v: (m, v[0]), min, lambda old, new: (new[0],), {"x": 1.0}),
        lambda g: ev.vertex_program(
            g,
            ev.VertexProgram(state={"x": 1}, send=lambda s, w: w, combine=min, apply=lambda s, m: ((m,), 0)),
        ),
        lambda g: ev.mapreduce(g, lambda source, target, weight: (target, weight), combine=min),
    ],
)
def test_unsigned_weights(run):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], weights=np.array([1, LARGE, LARGE], np.uint64))
    with pytest.raises(
        ev.ArgumentError, match=f"the edge from 1 to 2 weighs {LARGE}; functions see integers"
    ):
        run(graph)


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("v0=", lambda x: ev.gimv(chain(), lambda m, v: v, min, min, x)),
        ("v0={'x': ...}", lambda x: ev.gimv(chain(), lambda m, v: v, min, min, {"x": x})),
        (
            "state={'x': ...}",
            lambda x: ev.vertex_program(
                chain(),
                ev.VertexProgram(
                    state={"x": x}, send=lambda s, w: s.x, combine=min, apply=lambda s, m: ((m,), 0)
                ),
            ),
        ),
        (
            "values=",
            lambda x: ev.mapreduce(chain(), lambda source, target: (target, 1), combine=min, values=x),
        ),
    ],
)
def test_unsigned_values(name, run):
    with pytest.raises(ev.ArgumentError) as error:
        run(np.array([1, LARGE, LARGE], np.uint64))
    assert str(error.value) == f"{name}: expected integers below 2^63, found {LARGE} for vertex 1"


def test_unsigned_results():
    with pytest.raises(ev.ArgumentError, match=r"map: returns uint64 at .*; convert it with np.int64"):
        ev.mapreduce(chain(), lambda source, target: (np.uint64(source), 1), combine=min)
