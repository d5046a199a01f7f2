"""Which kernels the engine may ask an element for; each kind of element has a twin of each."""

from __future__ import annotations

from importlib import import_module

from evener.elements.cpu import _module_of

SHARED = ["bits", "column_blocks", "exchange", "frontier", "message", "pull"]
OF_ALGORITHMS = [
    "evener.algorithms.betweenness:kernels",
    "evener.algorithms.betweenness:single_block",
    "evener.algorithms.bfs:kernels",
    "evener.algorithms.bfs:levels",
    "evener.algorithms.pagerank:kernels",
    "evener.algorithms.pagerank:weighted",
    "evener.algorithms.sssp:kernels",
    "evener.algorithms.sssp:single_block",
    "evener.algorithms.sssp:tree",
    "evener.algorithms.wcc:kernels",
]
FILES = [*SHARED, *OF_ALGORITHMS]
# For verbs as none of the five algorithms uses them today: the transport's contract checks them.
OF_NO_ALGORITHM = {"exchange.push_add", "exchange.push_min", "message.take_values"}
# Asked for on large graphs, of elements with tables: tests/partition/test_columns.py.
OF_TABLES = {
    "column_blocks.choose",
    "column_blocks.fill_far",
    "column_blocks.fill_near",
    "column_blocks.measure_far",
    "column_blocks.measure_near",
    "column_blocks.widths",
    "evener.algorithms.pagerank:kernels.finish",
    "pull.far",
    "pull.near",
}
# Taken by other kernels, not by the engine.
OF_KERNELS = {"bits.clear_range"}
# Taken where the CPU is the only element.
OF_CPUS = {"evener.algorithms.sssp:single_block.settle"}
# Taken where a GPU is the only element, whichever frontiers it has: `matrix.check_levels_at_once`.
OF_GPUS = {"evener.algorithms.bfs:levels.all_steps"}


def kernels():
    """The CPU's kernels by name: all but the steps compiled into other kernels."""
    modules = {file: import_module(_module_of(f"{file}.any")[0]) for file in FILES}
    found = {
        f"{file}.{name}": getattr(module, name) for file, module in modules.items() for name in module.__all__
    }
    return {
        name: kernel
        for name, kernel in found.items()
        if hasattr(kernel, "targetoptions")
        and "inline" not in kernel.targetoptions
        and name not in OF_KERNELS | OF_CPUS
    }
