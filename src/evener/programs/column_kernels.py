"""Kernels of ``columns.cu``, which combine messages over column blocks on GPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.kernels.kernel import Kernel, LinkedFile
from evener.partition.column_blocks import column_blocks_of

if TYPE_CHECKING:
    from typing import Literal

    from evener.elements import Element
    from evener.kernels.kernel import LinkedFunction
    from evener.partition.column_blocks import ColumnBlocks
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["COLUMNS", "ColumnKernels", "message_columns"]

COLUMNS = f"{__package__}:columns"


def message_columns(
    pg: PartitionedGraph, direction: Literal["in_", "out"], identity: float
) -> list[ColumnBlocks | None]:
    """Return the column blocks of each partition, for float32 messages; None if an element uses rows.

    The targets of the edges in the given direction send messages. `identity` is the message of a vertex
    without messages.

    An element uses rows if it has no column blocks, or no memory for results. All elements use rows if
    float32 cannot represent the identity. `partial` holds the identity, because kernels also combine the
    unused places between the results of tiles.
    """
    columns: list[ColumnBlocks | None] = [None] * len(pg.partitions)
    with np.errstate(over="ignore"):
        if np.float32(identity) != identity:
            return columns
    for p, element in enumerate(pg.elements):
        blocks = column_blocks_of(pg, p, direction)
        if blocks is not None and identity != 0:
            try:
                own = element.allocate(len(blocks.partial), np.float32, identity)
            except DeviceOutOfMemory:
                continue
            blocks = replace(blocks, partial=own)
        columns[p] = blocks
    return columns


class ColumnKernels:
    """The kernels of ``columns.cu``, with the functions of the user, whose code `key` identifies."""

    def __init__(self, functions: tuple[LinkedFunction, ...], key: str) -> None:
        self.file = LinkedFile(COLUMNS, key, functions)
        self._local, self._remainder, self._tiles = (
            Kernel(cuda=self.file, name=name)
            for name in ("combine_local_items", "combine_remainders", "combine_tiles")
        )

    def combine_items(self, element: Element, columns: ColumnBlocks, identity: Any, message: Any) -> None:
        """Write the combined messages of each tile and block to ``columns.partial``.

        `identity` is an array of one float64, and `message` has a float32 for each local vertex.
        """
        local = columns.local
        if len(local.width):
            element.kernel(self._local)(
                columns.block_items, local.width, local.starts, local.ends, local.order, local.places,
                local.words, columns.columns, identity, message, columns.partial, columns.taken,
            )  # fmt: skip
        for rest in (columns.own_remainder, columns.remainder):
            if len(rest.width):
                element.kernel(self._remainder)(
                    rest.width, rest.starts, rest.ends, rest.order, rest.places, rest.words, identity,
                    message, columns.partial,
                )  # fmt: skip

    def combine_rows(
        self, element: Element, columns: ColumnBlocks, identity: Any, message: Any, again: int, combined: Any
    ) -> None:
        """Write the combined messages of each row to `combined`, a float64 for each owned vertex.

        If `again` is 1, `combined` holds messages of other rows, and they are combined too.
        """
        self.combine_items(element, columns, identity, message)
        element.kernel(self._tiles)(
            columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, identity, again,
            combined,
        )  # fmt: skip
