"""Operators: checks of user functions, the algebra of `combine_all`, and the kernel cache."""

from __future__ import annotations

import operator
import sys
import threading
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import pytest
from numba.core import event

import evener as ev
from evener.elements.cpu import CpuElement
from evener.kernels.cpu import jit
from evener.programs import compilation, kernel_cache, vertex_kernels_cpu, vertex_run
from evener.programs.algebra import check_algebra
from evener.programs.mapreduce import functions_cpu
from evener.programs.operators import read_operator
from evener.programs.payload import Payload

SEEN = []
TABLE = np.zeros(3)
scale = 2.0


def _recursive(m, v):
    return v if m < 1 else _other(m, v)


def _other(m, v):
    return _recursive(m - 1, v)


def _appends(m, v):
    SEEN.append(v)
    return v


def _sets_global(m, v):
    global scale
    scale = v
    return v


def _raises(m, v):
    if v < 0:
        raise ValueError
    return v


def _yields(m, v):
    yield v


def _imports(m, v):
    import math

    return math.sqrt(v)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_recursive, r"recursion at .*test_operators.py, line \d+: def _recursive\(m, v\):; write a loop"),
        (
            _appends,
            r"uses 'SEEN' \(list\) at .*: SEEN.append\(v\); write a pure function of numbers",
        ),
        (lambda m, v: TABLE[0] + v, r"uses 'TABLE' \(numpy.ndarray\)"),
        (lambda m, v: ev.ArgumentError is v, "uses 'ev' .the module evener."),
        (lambda m, v: v + missing, "the name 'missing' is not defined, at "),  # noqa: F821 - on purpose
        (_sets_global, "sets a global variable at .*: scale = v"),
        (_raises, "raises an exception at .*: raise ValueError"),
        (_yields, "is a generator at"),
        (lambda m, v: v + np.random.random(), "uses random numbers at"),  # noqa: NPY002 - rejected
        (_imports, "imports a module at .*: import math"),
        (lambda m, v: print(v), "prints at .*; write a pure function of numbers, and call it from Python"),  # noqa: T201 - rejected
        (lambda m: m, r"expected two parameters, then any of degree, n, without defaults; found \(m\)"),
        (lambda m, v, w: v, r"expected two parameters, .* found \(m, v, w\)"),
        (lambda m, v=1: v, r"expected two parameters, .* found \(m, v=1\)"),
        (3, "expected a Python function, found int"),
    ],
)
def test_functions_that_are_not_pure(function, message):
    with pytest.raises(ev.ArgumentError, match=f"combine2: {message}"):
        read_operator("combine2", function, ("degree", "n"))


def _no_such_method(m, v):
    x = v + 1
    return x.root()


@pytest.mark.parametrize(
    ("function", "v0", "message"),
    [
        (_no_such_method, 1.0, "cannot be compiled: Unknown attribute 'root' .*, line [0-9]+: return x.root"),
        (lambda m, v: (m, v), 1.0, "expected a function that returns a number, found .float, float. at"),
        (lambda m, v: None, 1.0, "expected a function that returns a number, found None"),
        (lambda m, v: v / 2, 1, "returns a floating-point number for integer values at .*; use // instead"),
        (
            operator.getitem,
            1,
            r".* signature: getitem\(int64, int64\), at <built-in function getitem>, line 1",
        ),
    ],
)
def test_functions_that_cannot_be_compiled(function, v0, message):
    graph = ev.Graph.from_edges([0], [1])
    with pytest.raises(ev.ArgumentError, match=f"combine2: {message}"):
        ev.gimv(graph, function, min, min, v0)


@pytest.mark.slow
def test_an_exception_while_a_kernel_runs():
    """An index out of range is an error, whichever thread meets it, and not a result that lacks vertices."""
    path = ev.Graph.from_edges(range(40), range(1, 41))
    message = ": a function raises an exception for a vertex, an edge or a key; check its indices"
    with pytest.raises(ev.ArgumentError, match=f"gimv{message}"):
        ev.gimv(path, lambda m, v, vertex: (1.0, 2.0)[vertex], max, max, 1.0)
    with pytest.raises(ev.ArgumentError, match=f"map{message}"):
        ev.mapreduce(path, lambda source, target: (target, (1, 2)[source]), combine=max)


def test_numbers_of_an_operator_are_arguments():
    """Another number has the same code; another type has other code."""

    def scaled(factor):
        return read_operator("combine2", lambda m, v: factor * v, ())

    assert len({scaled(2).meaning, scaled(2.0).meaning, scaled(3).meaning}) == 3
    assert scaled(2).key == scaled(3).key != scaled(2.0).key
    assert scaled(2).fixed.key != scaled(3).fixed.key


def _halve_until_one(x):
    while x > 1:
        x /= 2
    return x


class Steps:
    halve = _halve_until_one


def _names_a_loop(m, v):
    step = Steps.halve
    return step(v)


def _called_on(function):
    """Return the thread that calls a kernel with an operator, and the threads that its loops may use."""

    def make(_):
        def kernel(_):
            return threading.current_thread(), numba.get_num_threads()

        return kernel

    kernel = compilation.user_kernel(make, [read_operator("combine2", function, ())], [()])
    return CpuElement("cpu:1", 1).run(kernel)


@pytest.mark.parametrize("function", [lambda m, v: _halve_until_one(v), _names_a_loop])
def test_functions_with_loops_run_on_another_thread_with_the_threads_of_the_element(function):
    """A wait for them ends by an interrupt."""
    thread, threads = _called_on(function)
    assert thread is not threading.current_thread()
    assert threads == 1


def test_functions_with_loops_run_here_if_threads_take_turns(monkeypatch):
    """This thread holds the lock for which a kernel on another thread would wait."""
    monkeypatch.setattr(jit, "THREAD_SAFE", False)
    thread, _ = _called_on(_names_a_loop)
    assert thread is threading.current_thread()


def test_a_field_with_the_name_of_the_enclosing_function():
    """The name is not read, so the enclosing function is no part of the operator."""
    thread, _ = _called_on(halved())
    assert thread is threading.current_thread()


def halved():
    return lambda m, v: m.halved / 2


def test_reads():
    """The weight of an edge matters only if the function reads it."""
    assert read_operator("combine2", lambda m, v: m + v, ()).reads == {"m", "v"}
    assert read_operator("combine2", lambda m, v: v, ()).reads == {"v"}
    assert read_operator("combine2", min, ()).reads == {"a", "b"}


@pytest.mark.parametrize(
    ("function", "real", "expected"),
    [
        (operator.add, True, 0.0),
        (operator.mul, True, 1.0),
        (min, True, np.inf),
        (max, True, -np.inf),
        (max, False, np.iinfo(np.int64).min),
        (operator.or_, False, 0),
        (operator.and_, False, -1),
        (lambda x, y: np.hypot(x, y), True, 0.0),
        (lambda x, y: x + y + 0 * int(x), True, 0.0),  # int fails for infinities
    ],
)
def test_identities(function, real, expected):
    assert (
        check_algebra(function, None, Payload("f" if real else "i", single=True), negative=False) == expected
    )


def test_identities_of_tuples():
    """They are found field by field, also if a field depends on another one; a given one is checked."""
    for kinds, function, expected in (
        ("fi", lambda x, y: (x[0] + y[0], x[1] | y[1]), (0.0, 0)),
        ("fi", min, (np.inf, np.iinfo(np.int64).max)),
        ("ff", lambda x, y: (x[0] + y[0], (x[0] * x[1] + y[0] * y[1]) / (x[0] + y[0])), (0.0, 0.0)),
        ("i" * 20, lambda x, y: tuple(map(operator.add, x, y)), (0,) * 20),
    ):
        for identity in (None, expected):
            payload = Payload(kinds, single=False)
            assert check_algebra(function, identity, payload, negative=False) == expected


@pytest.mark.parametrize(
    ("function", "identity", "message"),
    [
        (
            lambda x, y: x - y,
            None,
            r"not commutative: combine_all\(.*\) is .*, and combine_all\(.*\) is .*; the order",
        ),
        (
            lambda x, y: (x + y) / 2,
            None,
            "not associative on .* from the left it is .*, and from the right it is",
        ),
        (lambda x, y: x + y + 1, None, "no identity that Evener knows; give identity="),
        (operator.add, 1.0, r"identity=1.0: expected combine_all\(identity, y\) == y, found"),
        (operator.add, "0", "identity=: expected a number of the type of the messages, found '0'"),
        (lambda x, y: x + y[0], None, r"combine_all\(.*\) fails: IndexError"),
    ],
)
def test_algebra(function, identity, message):
    with pytest.raises(ev.ArgumentError, match=message):
        check_algebra(function, identity, Payload("f", single=True), negative=True)


def _files_of(module, found):
    """Add the files of the compiled functions that a module can call, and that they can call."""
    for value in vars(module).values():
        steps = value if hasattr(value, "dispatcher") else None
        function = steps or getattr(value, "py_func", None) or getattr(value, "_defn", None)
        if isinstance(function, FunctionType) and function.__module__.startswith("evener."):
            path = Path(function.__code__.co_filename)
            if path not in found:
                found.add(path)
                _files_of(sys.modules[function.__module__], found)


def test_keys_cover_the_code_that_kernels_call():
    """Another version of Evener does not load a kernel with other code of these files."""
    files = set()
    for module in (vertex_kernels_cpu, functions_cpu):
        found = set()
        _files_of(module, found)
        files |= {path.name for path in found - {Path(module.__file__)}}
    assert "work_queue.py" in files
    assert files <= {*compilation._OPERATOR_FILES, *compilation._KERNEL_FILES}


def test_kernels_are_loaded_from_the_cache_folder(tmp_path, monkeypatch):
    """A later process compiles nothing. Without a cache folder, each process compiles."""
    monkeypatch.setattr(kernel_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compilation, "_kernels", {})
    graph = ev.Graph.from_edges([0, 1], [1, 0])

    def run():
        compilation._kernels.clear()
        vertex_run.step_kernel.cache_clear()
        with event.install_recorder("numba:compile") as recorder:
            found = ev.gimv(graph, lambda m, v: 2 * v, max, max, 1.0, until=2)["value"].tolist()
        return found, len(recorder.buffer) > 0

    assert run() == ([4.0, 4.0], True)
    assert run() == ([4.0, 4.0], False)
    monkeypatch.setattr(kernel_cache, "cache_folder", lambda: None)
    assert run() == ([4.0, 4.0], True)
