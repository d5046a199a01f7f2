"""Vertex programs link into all of their GPU kernels; these tests need no GPU."""

from __future__ import annotations

import math
from importlib import import_module
from itertools import cycle

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.compile import compiled
from evener.elements.cuda.source import declarations
from evener.programs import vertex_run
from evener.programs.column_kernels import COLUMNS
from evener.programs.vertex_kernels_gpu import APPLY, COMBINE, FREQUENT, TILES, TUPLES
from evener.spec import registry

GRAPH = "rmat:5,directed,weights=1..9"


def inner(x):
    return math.sqrt(x) if x > 2 else x


def send(state, weight, degree, vertex, n, iteration):
    return inner(state.x) * weight + state.k + degree + vertex % n + iteration


def apply(state, message, degree, vertex, n, iteration, total):
    return (message + total / n, state.y, state.k + degree + vertex + iteration), message > state.x


def every_parameter(graph, combine):
    state = {"x": np.float32(1), "y": 2.0, "k": 3}
    program = ev.VertexProgram(
        state=state, send=send, combine=combine, apply=apply, along="both", aggregate=lambda state: state.y
    )
    ev.vertex_program(graph, program)


def tuples(graph):
    program = ev.VertexProgram(
        state={"x": np.float32(1), "k": 3},
        send=lambda state, weight, degree, vertex, n, iteration: (
            inner(state.x) * weight,
            state.k + degree + vertex % n + iteration,
            state.k > 2,
        ),
        combine=max,
        apply=lambda state, message, degree, vertex, n, iteration, total: (
            (message[0] + total / n, message[1] + message[2] + degree + vertex + iteration),
            message[0] > state.x,
        ),
        along="both",
        aggregate=lambda state: state.x,
    )
    ev.vertex_program(graph, program)


def numbers(graph):
    ev.gimv(
        graph,
        lambda m, v, degree, vertex, n: inner(v) + degree + vertex % n,
        max,
        lambda old, new, degree, vertex, n, total, initial: old + new + degree + vertex + n + total + initial,
        np.float32(1),
    )


def numbers_of_edges(graph):
    ev.gimv(graph, lambda m, v: m + v, min, lambda old, new, initial: min(old, new, initial), 1)


def values_with_fields(graph):
    ev.gimv(
        graph,
        lambda m, v, degree, vertex, n: inner(m * v[0]) + v[1] + degree + vertex % n,
        max,
        lambda old, new, total, initial: (new + total + initial[0], max(old[1], initial[1])),
        {"x": np.float32(1), "k": 2},
    )


EVERY_PARAMETER = {
    "sum": lambda graph: every_parameter(graph, lambda a, b: a + b),
    "tuples": tuples,
    "most frequent": lambda graph: every_parameter(graph, "most_frequent"),
}
GIMV = {
    "gimv": values_with_fields,
    "gimv of numbers": numbers,
    "gimv of numbers of edges": numbers_of_edges,
}
LIBRARY = {
    name: registry.find(name).function()
    for name in registry.builtin_names()
    if hasattr(import_module(registry.find(name).run.partition(":")[0]), "program_spec")
}
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]
CASES = [
    *zip(EVERY_PARAMETER, ARCHITECTURES, strict=True),
    *zip(GIMV, cycle(["sm_90"]), strict=False),
    *zip(LIBRARY, cycle(ARCHITECTURES), strict=False),
]


class CompiledError(Exception):
    """Raised instead of a run."""


def step_of(monkeypatch, run):
    """Return the kernels for GPUs and the shape of a program without running it."""
    found = []

    def step_kernel(functions, shape):
        found.append((vertex_run.gpu_step(functions, shape), shape))
        raise CompiledError

    monkeypatch.setattr(vertex_run, "step_kernel", step_kernel)
    with pytest.raises(CompiledError):
        run(ev.read(GRAPH))
    return found[0]


@pytest.mark.parametrize(
    ("name", "arch"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (case[0] not in ("sum", "tuples"))) for case in CASES],
)
def test_programs_link_into_their_kernels(monkeypatch, name, arch):
    """The linker inlines the functions of a program, and each kernel can be loaded by its name."""
    step, shape = step_of(monkeypatch, (EVERY_PARAMETER | LIBRARY | GIMV)[name])
    gather = FREQUENT if name in ("cdlp", "most frequent") else COMBINE
    wide = "double" if shape.message.kinds == "f" else "i64"
    expected = [gather, APPLY, *[COLUMNS, TILES] * (gather == COMBINE and wide == "double")]
    if not shape.message.single:
        expected = [TUPLES]
    files = step.files
    assert [file.file for file in files] == expected
    bound = {"Message": "float" if shape.per_edge else wide, "Wide": wide, "Weight": "u8"}
    for file in files:
        for types in {one.types for one in declarations(file.file).values()}:
            binary = compiled(file, {t: bound[t] for t in types}, arch)
            assert binary.code.startswith(b"\x7fELF")
            assert not any(
                own in binary.code
                for own in (b"send_", b"apply_f", b"apply_i", b"aggregate", b"combine_tuple\0", b"_state")
            )
            for lowered in binary.names.values():
                assert lowered.encode() + b"\0" in binary.code


def test_the_schedule_kernel_compiles():
    for arch in ("sm_80", "sm_100"):
        assert compiled("evener.programs:schedule", {}, arch).code
