"""Which kernels the engine may ask an element for; each kind of element has a twin of each."""

from __future__ import annotations

from importlib import import_module

FILES = [
    "bfs",
    "bfs_levels",
    "betweenness",
    "betweenness_narrow",
    "bits",
    "columns",
    "exchange",
    "frontier",
    "message",
    "pagerank",
    "pagerank_weighted",
    "pull",
    "sssp",
    "sssp_narrow",
    "sssp_tree",
    "wcc",
]
# For verbs as none of the five algorithms uses them today: the transport's contract checks them.
OF_NO_ALGORITHM = {"exchange.push_add", "exchange.push_min", "message.take_values"}
# Asked for on large graphs, of elements with tables: tests/partition/test_columns.py.
OF_TABLES = {
    "columns.choose",
    "columns.fill_far",
    "columns.fill_near",
    "columns.measure_far",
    "columns.measure_near",
    "columns.widths",
    "pagerank.finish",
    "pull.far",
    "pull.near",
}
# Taken by other kernels, not by the engine.
OF_KERNELS = {"bits.clear_range"}
# Taken where the CPU is the only element.
OF_CPUS = {"sssp_narrow.settle"}
# Taken where a GPU is the only element, whichever frontiers it has: `matrix.check_levels_at_once`.
OF_GPUS = {"bfs_levels.all_steps"}


def kernels():
    """The CPU's kernels by name: all but the steps compiled into other kernels."""
    modules = {file: import_module(f"evener.kernels.cpu.{file}") for file in FILES}
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
