"""The kernels that the engine may call. Each CUDA kernel has a CPU twin, in the package or in the tests."""

from __future__ import annotations

from importlib import import_module

from evener.elements import CpuElement
from evener.elements.cpu import _module_of
from support.twins import bfs_levels, column_blocks, edge_list, numbering, pagerank, partition, pull

SHARED = ["bits", "exchange", "frontier", "generate", "message", "scan"]
OF_ALGORITHMS = [
    "evener.spec:goal",
    "evener.algorithms.betweenness:kernels",
    "evener.algorithms.betweenness:single_block",
    "evener.algorithms.betweenness:weighted",
    "evener.algorithms.bfs:kernels",
    "evener.algorithms.bfs:levels",
    "evener.algorithms.edge_betweenness:kernels",
    "evener.algorithms.leiden:kernels",
    "evener.algorithms.pagerank:kernels",
    "evener.algorithms.pagerank:weighted",
    "evener.algorithms.spanning_forest:kernels",
    "evener.algorithms.coloring:kernels",
    "evener.algorithms.coloring:in_order",
    "evener.algorithms.core_number:kernels",
    "evener.algorithms.scc:kernels",
    "evener.algorithms.sssp:kernels",
    "evener.algorithms.sssp:single_block",
    "evener.algorithms.sssp:tree",
    "evener.algorithms.wcc:kernels",
    "evener.primitives:bit_search",
    "evener.primitives:contract",
    "evener.primitives:distance_bounds",
    "evener.primitives:few_searches",
    "evener.primitives:label_rounds",
    "evener.primitives:label_sums",
    "evener.primitives:label_totals",
    "evener.primitives:frontier",
    "evener.primitives:neighbour_rows",
    "evener.primitives:pair_scores",
    "evener.primitives:source_paths",
    "evener.primitives:triangles",
    "evener.primitives:walks",
]
FILES = [*SHARED, *OF_ALGORITHMS]
# The contracts of algorithms call these, and not the parity matrix.
OF_CONTRACTS = {
    "scan",
    "evener.algorithms.betweenness:weighted",
    "evener.algorithms.coloring:in_order",
    *(f"evener.algorithms.{name}:kernels" for name in ("coloring", "core_number", "leiden", "scc")),
    "evener.algorithms.edge_betweenness:kernels",
    "evener.algorithms.spanning_forest:kernels",
    *(file for file in OF_ALGORITHMS if file.startswith("evener.primitives:")),
}
# For exchange verbs that none of the five algorithms uses, and for own algorithms. Contracts test them.
OF_NO_ALGORITHM = {"bits.copy", "exchange.push_add", "exchange.push_min"}
# CPU twins in the tests, for kernels that no CPU run calls.
TWINS = {
    "column_blocks": column_blocks,
    "edge_list": edge_list,
    "evener.algorithms.bfs:levels": bfs_levels,
    "evener.algorithms.pagerank:kernels": pagerank,
    "numbering": numbering,
    "partition": partition,
    "pull": pull,
}
# Called for column blocks, which only large graphs have: see tests/partition/test_columns.py.
OF_TABLES = {
    "column_blocks.choose",
    "column_blocks.count_remainder",
    "column_blocks.fill_local",
    "column_blocks.fill_remainder",
    "column_blocks.measure_local",
    "column_blocks.measure_remainder",
    "column_blocks.widths",
    "evener.algorithms.pagerank:kernels.finish",
    "pull.local_sums",
    "pull.remainder_sums",
}
# Called by other kernels, not by the engine.
OF_KERNELS = {"bits.clear_range"}
# Called where the CPU is the only element, or for models that only the host generates.
OF_CPUS = {
    "fill.narrow",
    *(f"generate.{name}" for name in ("grid", "kronecker_power", "kronecker_weights")),
    "evener.primitives:contract.add_repeated",
    "evener.primitives:few_searches.search",
    "evener.primitives:source_paths.add_sources",
    "evener.primitives:source_paths.collect",
    "evener.algorithms.spanning_forest:kernels.join_in_order",
    "evener.algorithms.sssp:single_block.dijkstra",
}
# Called only on GPUs: all levels of a search (`parity_cases.check_levels_at_once`), and partition building.
OF_GPUS = {
    "evener.algorithms.bfs:levels.all_steps",
    *(f"generate.{name}" for name in ("integer_weights", "real_weights", "sampled_kronecker", "uniform")),
    *(f"edge_list.{name}" for name in edge_list.__all__),
    *(f"numbering.{name}" for name in numbering.__all__),
    *(f"partition.{name}" for name in partition.__all__),
}


def kernels():
    """Return the CPU kernels by name, without steps that are inlined into other kernels."""
    modules = [(file, import_module(_module_of(f"{file}.any")[0])) for file in FILES]
    found = {
        f"{file}.{name}": getattr(module, name)
        for file, module in [*modules, *TWINS.items()]
        for name in module.__all__
    }
    return {
        name: kernel
        for name, kernel in found.items()
        if hasattr(kernel, "targetoptions")
        and "inline" not in kernel.targetoptions
        and name not in OF_KERNELS | OF_CPUS
    }


def find_kernels_of_gpus(monkeypatch):
    """Let CPU elements that imitate GPUs run the twins in the tests."""
    find = CpuElement.kernel

    def kernel(element, name):
        file, _, function = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        return getattr(TWINS.get(file), function, None) or find(element, name)

    monkeypatch.setattr(CpuElement, "kernel", kernel)
