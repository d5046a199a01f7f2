"""GIM-V on GPUs: the launches of one iteration, by kernels with the operators linked in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.kernels.kernel import Kernel, LinkedFile
from evener.programs.columns import ColumnKernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.elements import Element
    from evener.kernels.kernel import LinkedFunction
    from evener.partition.column_blocks import ColumnBlocks

__all__ = ["FILES", "make_iterate"]

# Kernels over rows, and the kernel that ends an iteration over column blocks.
FILES = (f"{__package__}:kernels", f"{__package__}:finish")


def make_iterate(functions: tuple[LinkedFunction, ...], key: str, *, per_edge: bool) -> Callable[..., Any]:
    """Return a function of an element that does the work of `evener.programs.kernels_cpu`'s kernel."""
    rows, end = (LinkedFile(file, key, functions) for file in FILES)
    begin, gather_messages, gather_values = (
        Kernel(cuda=rows, name=name) for name in ("begin", "gather_messages", "gather_values")
    )
    blocks, finish = ColumnKernels(functions, key), Kernel(cuda=end, name="finish")

    def iterate(
        element: Element, columns: ColumnBlocks | None, owned: int, first: bool,  # noqa: FBT001
        offsets: Any, targets: Any, weights: Any, runs: Any, identity: Any, degree: Any, vertices: Any,
        n: int, total: float, initial: Any, message: Any, value: Any, next_message: Any,
    ) -> Any:  # fmt: skip
        given = (degree, vertices, n)
        if first:
            return element.kernel(begin)(per_edge, identity, *given, initial, value, next_message, owned)
        if per_edge:
            return element.kernel(gather_values)(
                offsets, targets, weights, runs, identity, *given, total, initial, message, next_message,
                owned,
            )  # fmt: skip
        if columns is None:
            return element.kernel(gather_messages)(
                offsets, targets, runs, identity, *given, total, initial, message, value, next_message
            )
        blocks.combine_items(element, columns, identity, message)
        return element.kernel(finish)(
            columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, identity, *given,
            total, initial, value, next_message,
        )  # fmt: skip

    return iterate
