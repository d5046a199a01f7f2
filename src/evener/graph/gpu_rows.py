"""Rows of a generated graph in pieces, each in the memory of the GPU that generated it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.protocols import copy_between

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.graph.csr import CSR

__all__ = ["GpuPiece", "GpuRows"]

# Weights of a piece in the sample.
_SAMPLE = 1 << 14


@dataclass(frozen=True, eq=False)
class GpuPiece:
    """The rows of consecutive vertices in the memory of a GPU.

    Attributes
    ----------
    element : CudaElement
    first : int
        The first vertex.
    begin : int
        The number of the first edge.
    lengths : cupy.ndarray of uint32, shape (rows,)
    targets : cupy.ndarray of uint32, shape (edges,)
    weights : cupy.ndarray, shape (edges,), or None
    """

    element: CudaElement
    first: int
    begin: int
    lengths: Any
    targets: Any
    weights: Any


class GpuRows:
    """The rows of a generated graph in pieces on several GPUs.

    A `Graph` uses it as it uses `GpuEdges`. The rows are ascending, and parallel edges ascend by weight.

    Parameters
    ----------
    pieces : dict of list of GpuPiece
        The pieces by direction, "out" or "in", in the order of their vertices.
    n : int
        The number of vertices.
    both : bool
        Whether each edge is in the rows of both ends.
    generate : callable
        Generates the rows in one direction on the host.
    count : callable
        Counts the rows in one direction on a GPU.
    """

    ids = None
    generated = True

    def __init__(
        self,
        pieces: Mapping[str, list[GpuPiece]],
        n: int,
        *,
        both: bool,
        generate: Callable[[str], CSR],
        count: Callable[[str, CudaElement], Any],
    ) -> None:
        self.n, self.both, self.loops = n, both, 0 if both else None
        self.pieces, self._generate, self._count, self._direction = dict(pieces), generate, count, "out"
        stored = next(iter(self.pieces.values()))
        self.m = sum(len(piece.targets) for piece in stored)
        weights = [(piece.element, piece.weights) for piece in stored if piece.weights is not None]
        self.weight_dtype: np.dtype[Any] | None = weights[0][1].dtype if weights else None
        ends = [float(gpu.run(one)) for gpu, w in weights if len(w) for one in (w.min, w.max)]
        self.weight_range = (min(ends), max(ends)) if ends else (1.0, 1.0)
        some = [gpu.run(w[:: max(1, len(w) // _SAMPLE)].copy) for gpu, w in weights]
        self._sample = [gpu.download(own) for (gpu, _), own in zip(weights, some, strict=True)]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of one direction."""
        stored = next(iter(self.pieces.values()))
        arrays = [array for piece in stored for array in (piece.lengths, piece.targets, piece.weights)]
        return sum(array.nbytes for array in arrays if array is not None)

    def are_on(self, memories: set[object]) -> bool:
        """Return whether the GPUs with these memories have all rows."""
        return all(
            {piece.element.memory for piece in pieces} == memories and pieces[0].targets is not None
            for pieces in self.pieces.values()
        )

    def release(self) -> None:
        """Free the rows; only the lengths of rows are kept."""
        for direction, pieces in self.pieces.items():
            self.pieces[direction] = [replace(piece, targets=None, weights=None) for piece in pieces]

    def reversed(self) -> GpuRows:
        """Return the reversed rows; the arrays are shared."""
        if self.both:
            return self
        turned = object.__new__(GpuRows)
        vars(turned).update(vars(self), _direction="in" if self._direction == "out" else "out")
        return turned

    def offsets_on(self, element: CudaElement, direction: str) -> Any:
        """Return the bounds of rows in the memory of a GPU, uint64, shape (n + 1,)."""
        if direction not in self.pieces:
            lengths = self._count(direction, element)
        else:
            lengths = element.allocate(self.n, np.uint32, exchanged=True)
            element.begin_round()
            for piece in self.pieces[direction]:
                target = lengths[piece.first : piece.first + len(piece.lengths)]
                element.wait_for(copy_between(piece.element, element, piece.lengths, target))
        offsets = element.allocate(self.n + 1, np.uint64)
        element.run(element.kernel("scan.offsets_of"), lengths, offsets)
        return offsets

    def host_row_lengths(self) -> NDArray[np.uint64]:
        """Return the number of edges in each row, in host memory."""
        if self._direction in self.pieces:
            own = [piece.element.download(piece.lengths) for piece in self.pieces[self._direction]]
            return np.concatenate(own).astype(np.uint64)
        element = next(iter(self.pieces.values()))[0].element
        return element.download(self._count(self._direction, element)).astype(np.uint64)

    def host_ids(self) -> None:
        """Return None: the ids are ``0..n-1``."""

    def host_rows(self) -> CSR:
        """Return the rows in host memory, generated there."""
        return self._generate(self._direction)

    def weight_sample(self, count: int) -> NDArray[Any]:
        """Return at most about `count` of the weights, in host memory."""
        sample = np.concatenate(self._sample)
        return sample[:: max(1, len(sample) // count)]
