"""Checksums of a graph, by which ranks find that they have different graphs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu.checksum import edge_checksums
from evener.system.fingerprint import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["GraphChecksums"]


class GraphChecksums:
    """The methods of a `Graph` that describe it in a few numbers."""

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the same graph."""
        graph = cast("Graph", self)
        weight = None if graph.weight_dtype is None else str(graph.weight_dtype)
        edges, weights = self._checksums
        return {
            "direction": Words("directed" if graph.directed else "undirected"),
            "number of vertices": graph.n,
            "number of edges": graph.m,
            "type of weights": weight,
            "edges": Words(f"checksum {edges:016x}"),
            "weights": Words(f"checksum {weights:016x}"),
            "ids": _exact(graph.ids) if graph.has_custom_ids else None,
        }

    @cached_property
    def _checksums(self) -> tuple[int, int]:
        """The checksums of the edges and of the weights. They do not depend on the stored direction."""
        graph = cast("Graph", self)
        turned = "out" not in graph.stored_directions
        rows = graph.reverse if turned else graph
        if graph.m == 0:
            return 0, 0
        parts = 4 * numba.get_num_threads()
        sums = np.zeros((2, parts), np.uint64)
        weights, bits = rows.weights, rows.targets
        if weights is not None:
            bits = weights.view(f"u{weights.itemsize}")
        edge_checksums(
            read_only(rows.offsets), read_only(rows.targets), read_only(bits), turned, weights is not None,
            *sums, parts,
        )  # fmt: skip
        edges, of_weights = sums.sum(axis=1).tolist()
        return edges, of_weights


def _exact(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids without unused characters, whose number may differ between equal graphs."""
    if ids.dtype.kind != "U":
        return ids
    longest = int(np.char.str_len(ids).max(initial=1))
    return ids.astype(f"U{max(longest, 1)}", copy=False)
