"""One iteration of PageRank on one element, over edges in column blocks or row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.kernels.kernel import Kernel, KernelFile

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.partition.column_blocks import ColumnBlocks

__all__ = ["ITERATE", "PULL_OWNED"]

kernels = KernelFile(__package__)


def _iterate_on(
    element: Element,
    columns: ColumnBlocks | None,
    offsets: Any,
    targets: Any,
    blocks: Any,
    connected: int,
    out_degree: Any,
    damping: float,
    jump: float,
    teleport: Any,
    contribution: Any,
    rank: Any,
    next_contribution: Any,
) -> Any:
    """Run one iteration on one element. With column blocks, `PULL_OWNED` has run before."""
    if columns is None:
        return element.kernel(kernels.iterate)(
            offsets, targets, blocks, connected, out_degree, damping, jump, teleport, contribution, rank,
            next_contribution,
        )  # fmt: skip
    columns.pull_others(element, contribution)
    return element.kernel(kernels.finish)(
        columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, connected, out_degree,
        damping, jump, teleport, rank, next_contribution,
    )  # fmt: skip


def _pull_owned_on(element: Element, columns: ColumnBlocks | None, contribution: Any) -> None:
    """Begin an iteration with the contributions of owned vertices."""
    if columns is not None:
        columns.pull_owned(element, contribution)


ITERATE = Kernel(cpu=_iterate_on, cuda=_iterate_on)
PULL_OWNED = Kernel(cpu=_pull_owned_on, cuda=_pull_owned_on)
