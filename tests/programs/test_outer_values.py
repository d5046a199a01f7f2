"""Values that operators use from outside: each kind is part of the key, or is refused."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import os
import subprocess
import sys
import textwrap
from collections import namedtuple
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core import event

import evener as ev
from evener.programs import compilation, kernel_cache
from evener.programs.compilation import settled
from evener.programs.operators import read_operator
from evener.testing.ranks import run_ranks

# Definitions for the value K, and the expression that a function of (m, v) returns.
NUMBERS = {
    "int": ("k = K", "v * k"),
    "float": ("k = K / 2", "v * k"),
    "int64": ("k = np.int64(K)", "v * k"),
    "float32": ("k = np.float32(K)", "v * k"),
    "uint8": ("k = np.uint8(K)", "v * k"),
    "two numbers": ("a = 1\nb = K", "v * b + a"),
    "a number twice": ("k = K", "v * k + k * m + (k if v > k else -k)"),
    "enumeration": ("class C(enum.Enum):\n    A = K", "v * C.A.value"),
    "integer enumeration": ("class C(enum.IntEnum):\n    A = K", "v * C.A"),
    "flag": ("class C(enum.Flag):\n    A = K", "v * C.A.value"),
    "member": ("class C(enum.IntEnum):\n    A = K\nmember = C.A", "v * member"),
    "class attribute": ("class C:\n    k = K", "v * C.k"),
    "nested class": ("class C:\n    class D:\n        k = K", "v * C.D.k"),
    "property": ("class C:\n    k = property(lambda self: K)\nc = C()", "v * c.k"),
    "dataclass": ("@dataclasses.dataclass(frozen=True)\nclass C:\n    k: int = K\nc = C()", "v * c.k"),
    "field of a named tuple": ("c = namedtuple('C', 'x y')(1, K)", "v * c.y + c.x"),
    "attribute of a module": ("module = SimpleNamespace(k=K)", "v * module.k"),
    "size of an array": ("table = np.zeros(K)", "v * table.size"),
    "conditional": ("k = K\nj = 1", "v * (k if m > 0 else j)"),
    "names of generated code": (
        "own_0 = numbers = free_000 = function = K",
        "v * own_0 + numbers + free_000 + function",
    ),
    "name of a built-in function": ("print = K", "v * print"),
    "place in a tuple of types": ("table, k = (1.5, 2, 2.5, 3), K", "v * table[k]"),
    "local closure": ("k = K", "(lambda x: x + v)(k)"),
}
CONSTANTS = {
    "bool": ("k = K > 2", "v * (3 if k else 5)"),
    "tuple": ("k = (1, K)", "v * k[1]"),
    "tuple of tuples": ("k = ((1, 2.5), (K, 2))", "v * k[1][0]"),
    "named tuple": ("c = namedtuple('C', 'x y')(1, K)", "v * max(c)"),
    "class of named tuples": ("C = namedtuple('C', ('x', 'y') if K == 2 else ('y', 'x'))", "v * C(2, 3).x"),
    "dtype": ("kind = np.dtype('int8' if K == 2 else 'int64')", "v + np.zeros(1, kind).itemsize"),
    "type": ("kind = np.int64 if K == 2 else np.float64", "v + kind(2.5)"),
    "function": ("def f(x):\n    return x * K", "f(v)"),
    "global of a function": ("k = K\ndef f(x):\n    return x * k", "f(v)"),
    "attribute in a function": ("class C:\n    k = K\ndef f(x):\n    return x * C.k", "f(v)"),
    "default": ("def f(x, k=K):\n    return x * k", "f(v)"),
    "closure of a closure": (
        "def outer(k):\n    def f(x):\n        return x * k\n    return lambda x: f(x)\ng = outer(K)",
        "g(v)",
    ),
    "compiled function": ("k = K\n@numba.njit\ndef f(x):\n    return x * k", "f(v)"),
    "compiled function of a compiled function": (
        "k = K\n@numba.njit\ndef f(x):\n    return x * k\n@numba.njit\ndef g(x):\n    return f(x)",
        "g(v)",
    ),
    "function of the library": ("f = math.floor if K == 2 else math.ceil", "v + f(v / 3)"),
    "function of a module": ("import math as m_\nf = m_.sqrt if K == 2 else m_.exp", "f(v)"),
    "inner function": ("k = K", "(lambda x: x * k)(v)"),
    "function named print": ("def print(x):\n    return x * K", "print(v)"),
}
REFUSED = {
    "default after *": ("def f(x, *, k=K):\n    return x * k", "f(v)"),
    "member of an enumeration": ("class C(enum.Enum):\n    A = K", "v if C.A == C.A else m"),
    "enumeration": ("class C(enum.Enum):\n    A = K", "v * len(C)"),
    "name of a member": ("class C(enum.Enum):\n    A = K", "v * len(C.A.name)"),
    "string enumeration": ("class C(enum.StrEnum):\n    A = str(K)", "v * len(C.A)"),
    "flag": ("class C(enum.IntFlag):\n    A = K", "v * ~C.A"),
    "enumeration with arithmetic": (
        "class C(enum.IntEnum):\n    A = K\n    def __mul__(self, x):\n        return x",
        "C.A * v",
    ),
    "subclass of int": ("class C(int):\n    pass\nk = C(K)", "v * k"),
    "subclass of float": ("class C(float):\n    pass\nk = C(K)", "v * k"),
    "named tuple with methods": (
        "class C(namedtuple('B', 'x')):\n    def __len__(self):\n        return 9\nc = C(K)",
        "v * len(c)",
    ),
    "dataclass": ("@dataclasses.dataclass(frozen=True)\nclass C:\n    k: int = K\nc = C()", "v if c else m"),
    "array": ("table = np.full(3, K)", "v * table[0]"),
    "array of a namespace": ("module = SimpleNamespace(t=np.full(3, K))", "v * module.t[0]"),
    "list": ("k = [K]", "v * k[0]"),
    "dictionary": ("k = {1: K}", "v * k[1]"),
    "string": ("k = 'K' * K", "v * len(k)"),
    "complex": ("k = complex(K)", "v * k.real if k else m"),
    "large int": ("k = K << 64", "v * k"),
    "method": ("class C:\n    def f(self, x):\n        return x * K\nc = C()", "c.f(v)"),
    "static method": ("class C:\n    @staticmethod\n    def f(x):\n        return x * K", "C.f(v)"),
    "callable object": ("class C:\n    def __call__(self, x):\n        return x * K\nf = C()", "f(v)"),
    "partial": ("f = functools.partial(pow, K)", "f(v)"),
    "cached function": ("@functools.lru_cache\ndef f(x):\n    return x * K", "f(v)"),
    "default that is a list": ("def f(x, k=[K]):\n    return x * k[0]", "f(v)"),
    "compiled for declared types": (
        "@numba.njit(locals={'y': numba.int8})\ndef f(x):\n    y = x * K * 100\n    return y",
        "f(v)",
    ),
    "vectorized function": ("f = numba.vectorize(lambda x: x * K)", "f(v)"),
    "ufunc": ("f = np.frompyfunc(lambda x: x * K, 1, 1)", "f(v)"),
    "method of a ufunc": ("f = np.add.reduce", "f(v)"),
    "module": ("module = os", "v if module else m"),
    "library module as a value": ("", "v if np else m"),
    "attribute in an inner function": ("class C:\n    k = K", "(lambda x: x * C.k)(v)"),
    "random number": ("f = np.random.rand", "v * f()"),
    "random number of Python": ("from random import random as f", "v * f()"),
    "random generator": ("generator = np.random.default_rng(1)", "v * generator.random()"),
    "random function": ("", "v * np.random.rand()"),
    "random function of a function": ("def f(x):\n    return x * np.random.rand()", "f(v)"),
    "clock": ("from time import time", "v * time()"),
    "built-in function": ("", "v * id(m)"),
    "print": ("", "print(v)"),
    "print of a namespace": ("module = SimpleNamespace(show=print)", "module.show(v)"),
}
SCOPE = {
    "dataclasses": dataclasses, "enum": enum, "functools": functools, "math": math, "numba": numba, "np": np,
    "namedtuple": namedtuple, "SimpleNamespace": SimpleNamespace, "os": os, "__name__": __name__,
}  # fmt: skip


def function_of(case, value, *, closure=False):
    """Return the function of (m, v) of a case; a closure gets the definitions from an enclosing function."""
    definitions, expression = case
    text = f"{definitions}\ndef operator(m, v):\n    return {expression}\n"
    if closure:
        text = textwrap.indent(f"{text}return operator\n", "    ")
        text = f"def enclosing():\n{text}operator = enclosing()\n"
    scope = SCOPE | {"K": value}
    exec(text, scope)
    return scope["operator"]


def operators_of(value):
    cases = NUMBERS | CONSTANTS
    return {
        (name, closure): read_operator("combine2", function_of(case, value, closure=closure), ())
        for name, case in cases.items()
        for closure in (False, True)
    }


def test_each_kind_is_part_of_the_key():
    """Another number has the same code. Any other value has other code. Ranks compare all values."""
    of_three = operators_of(3)
    for (name, closure), two in operators_of(2).items():
        three = of_three[name, closure]
        assert two.meaning != three.meaning, name
        assert two.fixed.key != three.fixed.key, name
        assert (two.key == three.key) == (name in NUMBERS), name


def keys_of(value):
    return [(one.meaning, one.fixed.code) for one in operators_of(value).values()]


@pytest.mark.slow
def test_keys_are_equal_in_other_processes():
    """Another process with another seed of hashes and definitions of its own finds the same keys."""
    text = "from test_outer_values import keys_of; print(keys_of(2))"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONHASHSEED="7")
    found = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(keys_of(2))


@pytest.mark.parametrize("name", REFUSED)
def test_other_kinds_are_refused(name):
    for closure in (False, True):
        with pytest.raises(ev.ArgumentError, match="combine2: "):
            read_operator("combine2", function_of(REFUSED[name], 2, closure=closure), ())


@pytest.mark.slow
def test_compiled_code_gives_the_results_of_python():
    """With numbers as arguments and as constants. Some code needs constants."""
    only_constants = "place in a tuple of types"
    compiled, expected, names = [], [], []
    for (name, _), one in operators_of(2).items():
        python = one.python(2, 5)
        for operator in {id(one): one, id(one.fixed): one.fixed}.values():
            if operator.numbers and name == only_constants:
                continue
            numbers = ", ".join(map(repr, operator.numbers))
            arguments = f"2, 5, {numbers}" if numbers else "2, 5"
            compiled.append((operator.compiled, arguments))
            expected.append(float(python))
            names.append(name)
    scope = {f"f{i}": function for i, (function, _) in enumerate(compiled)} | {"np": np}
    calls = ", ".join(f"float(f{i}({arguments}))" for i, (_, arguments) in enumerate(compiled))
    exec(f"def run():\n    return [{calls}]", scope)
    assert dict(zip(names, njit(scope["run"])(), strict=True)) == dict(zip(names, expected, strict=True))


def test_code_that_needs_constants():
    """If code does not compile with arguments, all numbers become constants."""

    def settled_operator(name):
        operator = read_operator("combine2", function_of(NUMBERS[name], 2), ())
        return operator, *settled(operator, lambda own: own.returned((types.int64, types.float64), {}))

    given, operator, returned = settled_operator("place in a tuple of types")
    assert (operator, returned) == (given.fixed, types.float64)
    given, operator, returned = settled_operator("int")
    assert operator is given


class StopError(Exception):
    """Raised to stop a run."""


def stop(progress):
    if progress.superstep == 3:
        raise StopError


def test_another_number_compiles_nothing(tmp_path, monkeypatch):
    """In the same process, and in a process that loads the kernel from the cache folder."""
    monkeypatch.setattr(kernel_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compilation, "_kernels", {})
    pair = ev.Graph.from_edges([0, 1], [1, 0])

    def run(k, until=1, **more):
        step = SimpleNamespace(k=k)
        with event.install_recorder("numba:compile") as recorder:
            r = ev.gimv(
                pair, lambda m, v: v * step.k, max, lambda old, new: new + k, 1.0, until=until, **more
            )
        return r["value"].tolist(), len(recorder.buffer) > 0

    assert run(2.0) == ([4.0, 4.0], True)
    assert run(2.5) == ([5.0, 5.0], False)
    compilation._kernels.clear()
    assert run(3.0) == ([6.0, 6.0], False)
    with pytest.raises(ev.MpiError, match="combine2"):
        run_ranks(2, lambda world: run(2.0 + world.rank, on="cpu:1"))
    with pytest.raises(StopError):
        run(2.0, 4, checkpoint=ev.Checkpoint(tmp_path / "c", every="1step"), progress=stop)
    again = ev.Checkpoint(tmp_path / "c", every="1step", resume=True)
    with pytest.raises(ev.EvenerError, match="are of another run"):
        run(3.0, 4, checkpoint=again)
    assert run(2.0, 4, checkpoint=again)[0] == run(2.0, 4)[0]
