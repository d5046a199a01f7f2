"""Checksums of a graph, by which ranks find that they have different graphs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.graph.lookup import GraphIds
from evener.kernels.cpu.checksum import edge_checksums
from evener.system.fingerprint import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GraphChecksums"]


class GraphChecksums(GraphIds):
    """The methods of a `Graph` that describe it in a few numbers."""

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the same graph."""
        weight = None if self.weight_dtype is None else str(self.weight_dtype)
        edges, weights = self._checksums
        return {
            "direction": Words("directed" if self.directed else "undirected"),
            "number of vertices": self.n,
            "number of edges": self.m,
            "type of weights": weight,
            "edges": Words(f"checksum {edges:016x}"),
            "weights": Words(f"checksum {weights:016x}"),
            "ids": _exact(self.ids) if self.has_custom_ids else None,
        }

    @cached_property
    def _checksums(self) -> tuple[int, int]:
        """The checksums of the edges and of the weights. They do not depend on the stored direction."""
        turned = "out" not in self.stored_directions
        rows = self.reverse if turned else self
        if self.m == 0:
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
