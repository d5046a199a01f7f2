"""Build partitions from rows in pieces that GPUs of one process generated; see `evener.graph.gpu_rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.graph.gpu_rows import GpuRows
from evener.partition.gpu_build import RowsBuild, on_gpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["PiecesBuild", "has_rows_on"]


def has_rows_on(graph: Graph, elements: Sequence[Element]) -> bool:
    """Return whether each element has a piece of the rows of a graph, and no other GPU has one."""
    rows = graph.gpu_edges
    return isinstance(rows, GpuRows) and rows.are_on({element.memory for element in elements})


class PiecesBuild(RowsBuild):
    """The rows and mirrors of one of several partitions, from pieces of the rows on these GPUs."""

    def offsets_of(self, direction: str) -> Any:
        """Return the bounds of the graph's rows in one direction, on the GPU."""
        return cast("GpuRows", self.graph.gpu_edges).offsets_on(self.element, direction)

    def send_rows(self, receivers: Sequence[RowsBuild], part: int = 0, parts: int = 1) -> None:  # noqa: ARG002 - as for rows of the host
        """Move the rows of the piece on this GPU to their owners."""
        rows = cast("GpuRows", self.graph.gpu_edges)
        for d in self.directions:
            [piece] = (one for one in rows.pieces[d] if one.element.memory == self.element.memory)
            columns = [piece.targets] if piece.weights is None else [piece.targets, piece.weights]
            for column, values in enumerate(columns):
                unsigned = np.dtype(f"u{values.itemsize}")
                for receiver in receivers:
                    self.run(
                        "scatter_rows", self.offsets[d], self.arrays.numbers, receiver.bounds[d],
                        receiver.first, piece.begin, piece.begin + len(values), values.view(unsigned),
                        on_gpu(receiver.edges[d][column]).view(unsigned),
                    )  # fmt: skip
