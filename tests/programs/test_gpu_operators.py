"""Operators link into GPU kernels over column blocks and of MapReduce; these tests need no GPU."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

import evener as ev
from evener.elements.cuda import compile as compiling
from evener.elements.cuda import link
from evener.elements.cuda.source import declarations
from evener.errors import DeviceError
from evener.kernels.kernel import LinkedFile
from evener.programs import compilation
from evener.programs.column_kernels import COLUMNS
from evener.programs.mapreduce.gimv_gpu import FILE as STAGES
from evener.programs.operators import read_operator


def _inner(x):
    return math.sqrt(x) if x > 2 else x


def operators(message, *, real=True):
    """Return the functions of operators that have every parameter. An index may be out of range."""

    def assign(old, new, degree, vertex, n, total, initial):
        return old + new + degree + vertex + n + int(total) + initial

    found = compilation.Operators(
        read_operator("combine2", message, compilation.MESSAGE_PARAMETERS),
        read_operator("combine_all", lambda x, y: (x, y)[int(y < x)], ()),
        read_operator("assign", assign, compilation.VALUE_PARAMETERS),
        read_operator("until", lambda old, new: old == new, compilation.VALUE_PARAMETERS),
    )
    return found.linked(real=real)


def linked(file, message, types, arch, *, real=True):
    functions = operators(message, real=real)
    return compiling.compiled(LinkedFile(file, message.__code__.co_code.hex(), functions), types, arch)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("arch", "value", "wide", "weight"),
    [
        pytest.param("sm_80", "float", "double", "u8", marks=pytest.mark.slow),
        ("sm_90", "double", "double", "float"),
        pytest.param("sm_100", "i64", "i64", "i16", marks=pytest.mark.slow),
    ],
)
def test_operators_link_into_every_kernel(arch, value, wide, weight):
    """The linker inlines the operators, so the binary contains no operator functions."""
    real = wide == "double"

    def message(m, v, degree):
        return m + _inner(v) / degree if real else m + v // degree

    for file in (COLUMNS, STAGES):
        for types in {tuple(sorted(one.types)) for one in declarations(file).values()}:
            bound = {t: {"Value": value, "Wide": wide, "Weight": weight}[t] for t in types}
            # Kernels for column blocks have no template parameters, and see doubles.
            binary = linked(file, message, bound, arch, real=real or not types)
            assert binary.code.startswith(b"\x7fELF")
            assert not any(own in binary.code for own in (b"combine2", b"combine_all"))
            for name in binary.names.values():
                assert name.encode() + b"\0" in binary.code


def test_gpus_newer_than_the_linker_get_ptx():
    binary = linked(COLUMNS, lambda m, v: v, {}, "compute_90")
    assert b".target sm_90" in binary.code
    assert b".entry" in binary.code


def test_linked_kernels_are_loaded_from_the_cache_folder(monkeypatch):
    types = {"Value": "float", "Wide": "double"}
    first = linked(STAGES, lambda m, v: 2 * v, types, "sm_90")
    monkeypatch.setattr(compiling, "link", None)
    assert linked(STAGES, lambda m, v: 2 * v, types, "sm_90") == first


def test_the_error_for_unsupported_code_names_the_line():
    def message(m, v):
        x = v + 1
        return x.hex()

    with pytest.raises(
        ev.ArgumentError, match=r"combine2: cannot be compiled: .*hex.*, line \d+: return x.hex\(\)"
    ):
        linked(COLUMNS, message, {}, "sm_90")


def test_other_threads_see_the_current_gpu_while_functions_are_compiled(monkeypatch):
    dispatcher = import_module("numba.cuda.dispatcher")
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: "the current GPU")
    with link._inner_functions_for((8, 9)), ThreadPoolExecutor(1) as other:
        assert dispatcher.get_current_device().compute_capability == (8, 9)
        assert other.submit(lambda: dispatcher.get_current_device()).result() == "the current GPU"
    assert dispatcher.get_current_device() == "the current GPU"


def test_the_error_names_a_missing_compiler(monkeypatch):
    def absent(module):
        msg = f"No module named {module!r}"
        raise ModuleNotFoundError(msg)

    monkeypatch.setattr(link, "import_module", absent)
    link.compile_function.cache_clear()
    with pytest.raises(
        DeviceError, match=r"\(No module named 'numba.cuda'\); pip install \"evener\[cuda13\]\""
    ):
        linked(COLUMNS, lambda m, v: v, {}, "sm_90")
