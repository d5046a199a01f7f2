"""Triangles by the degrees of their vertices, on rows of neighbours; class c has the degrees from 2^c on."""

from pathlib import Path

import numpy as np

import evener as ev
from evener.kernels.cpu.atomics import fetch_add
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.triangles import map_triangles, visit_triangles
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

SPEC = AlgorithmSpec(
    name="triangle_classes",
    summary="Triangles by the degrees of their vertices.",
    run="evener_triangle_classes:triangle_classes",
    row="class",
    columns=(Column("lowest"), Column("highest"), Column("triangles")),
    directions="both",
    reads_every_edge=True,
    state=StateBytes(24, 12),  # degrees, and lengths and offsets of rows
    host_state=StateBytes(24, 12),
    traffic=Traffic(pushed=0.0, pulled=64.0),  # degrees and rows of mirrors
)


def count_class(u, v, w, arguments):  # noqa: ARG001 - the parameters of every function of triangles
    """Count a triangle whose vertices have ascending degrees."""
    degree, counts = arguments
    fetch_add(counts, 32 * int(np.log2(degree[u])) + int(np.log2(degree[w])), np.uint64(1))


CUDA = Path(__file__).with_name("classes.cu")
count_classes = ev.Kernel(cpu=visit_triangles(count_class), cuda=CUDA, name="count_classes")


@driver(SPEC)
def triangle_classes(graph, **options):
    """Return the triangles by the classes of their lowest and their highest degree.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    engine.superstep("count", active=engine.owned)
    rows = NeighbourRows(engine, oriented=True)
    counts = engine.upload([np.zeros(32 * 32, np.uint64) for _ in engine.elements])
    map_triangles(engine, rows, count_classes, rows.degree, counts)
    total = np.sum(engine.gather(engine.download(counts)), axis=0).astype(np.int64)
    found = np.flatnonzero(total) if engine.partitioned.world.rank == 0 else np.empty(0, np.int64)
    return run.finish(engine, {"lowest": found // 32, "highest": found % 32, "triangles": total[found]})
