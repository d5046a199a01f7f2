"""Edge sources of the generators, which compute each edge from its number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.csr import EdgeSource

__all__ = [
    "GeneratedEdges",
    "GridEdges",
    "KroneckerPower",
    "KroneckerSampler",
    "ReversedEdges",
    "UniformEdges",
    "check_integer",
]

# Weight range of the GAP benchmark for shortest paths.
GAP_WEIGHTS = "1..255"
# Outcomes of a random word, and bits for the choice of alias; must equal kernels/cpu/generate.py.
_OUTCOMES, _CUT_BITS = 1 << 10, 22


class GeneratedEdges:
    """Edges that a kernel computes from their numbers; an `evener.graph.csr.EdgeSource`.

    The kernel `kernel` of `evener.kernels.cpu.generate` gets `arguments` after the number of the first edge.
    """

    kernel: str
    arguments: tuple[Any, ...]

    def __init__(self, n: int, m: int, seed: int, weights: str | None) -> None:
        self.n, self.m = n, m
        self.key = np.uint64(check_integer("seed", seed, 0, (1 << 64) - 1))
        self.weight_range = None if weights is None else _weight_range(weights)
        self.weight_dtype: np.dtype[Any] | None = None
        if self.weight_range is not None:
            self.weight_dtype = np.dtype(np.int32 if self.weight_range else np.float32)

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:  # noqa: ARG002 - signature of EdgeSource
        """Write the tails and heads of edges ``start:stop``."""
        getattr(_kernels(), self.kernel)(start, *self.arguments, src, dst)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:  # noqa: ARG002 - signature of EdgeSource
        """Write random weights of edges ``start:stop``; both directions of an edge get the same weight."""
        if self.weight_range:
            low, high = self.weight_range
            _kernels().integer_weights(start, self.key, low, high - low + 1, weights)
        else:
            _kernels().real_weights(start, self.key, weights)


class KroneckerSampler(GeneratedEdges):
    """Edges drawn from a Kronecker power; an alias table draws several levels per random word."""

    kernel = "sampled_kronecker"

    def __init__(
        self, matrix: NDArray[Any], power: int, m: int, seed: int, weights: str | None, *, permute: bool
    ) -> None:
        size = len(matrix)
        super().__init__(size**power, m, seed, weights)
        rows, columns = np.nonzero(matrix)
        chances = matrix[rows, columns] / matrix.sum()
        if len(chances) > _OUTCOMES:
            msg = f"edges=: expected a matrix with at most {_OUTCOMES} non-zero entries, found {len(chances)}"
            raise ArgumentError(msg)
        levels = max(1, power)
        while levels > 1 and len(chances) ** levels > _OUTCOMES:
            levels -= 1
        self.draws = -(-power // levels)
        halves = [_alias_table(chances, rows, columns, size, levels)]
        last = power - (self.draws - 1) * levels
        halves.append(_alias_table(chances, rows, columns, size, last))
        self.radices = np.array([size**levels, size**last], np.uint32)
        self.tables = [np.concatenate(pair) for pair in zip(*halves, strict=True)]
        self.mask = np.uint64(self.n - 1 if permute else 0)
        self.half = np.uint64(max(1, (power + 1) // 2))
        # Multiplication by an odd factor is a bijection modulo a power of two.
        self.permutation = np.random.Philox(key=int(self.key)).random_raw(4) | np.uint64(1)
        self.arguments = (
            self.key, self.draws, self.radices, *self.tables, self.mask, self.half, self.permutation
        )  # fmt: skip

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:  # noqa: ARG002 - signature of EdgeSource
        """Write the tails and heads of edges ``start:stop``, each thread a part of them."""
        import numba

        _kernels().sampled_kronecker(start, *self.arguments, src, dst, numba.get_num_threads())


class ReversedEdges(GeneratedEdges):
    """The edges of another source with tail and head exchanged."""

    def __init__(self, source: EdgeSource) -> None:
        self.n, self.m, self.weight_dtype = source.n, source.m, source.weight_dtype
        self._source = source

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the tails and heads of edges ``start:stop``."""
        self._source.fill(start, stop, dst, src)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``."""
        self._source.fill_weights(start, stop, weights)


class UniformEdges(GeneratedEdges):
    """Edges with uniformly drawn tail and head."""

    kernel = "uniform"

    def __init__(self, n: int, m: int, seed: int, weights: str | None) -> None:
        super().__init__(n, m, seed, weights)
        self.arguments = (self.key, n)


class GridEdges(GeneratedEdges):
    """The edges of a lattice, each once."""

    kernel = "grid"

    def __init__(self, rows: int, columns: int, seed: int, weights: str | None) -> None:
        super().__init__(rows * columns, rows * (columns - 1) + (rows - 1) * columns, seed, weights)
        self.arguments = (rows, columns)


class KroneckerPower(GeneratedEdges):
    """The edges of an exact Kronecker power."""

    kernel = "kronecker_power"

    def __init__(self, matrix: NDArray[Any], power: int, seed: int, weights: str | None) -> None:
        rows, columns = np.nonzero(matrix)
        super().__init__(len(matrix) ** power, len(rows) ** power, seed, weights)
        self.power, self.entries = power, matrix[rows, columns]
        self.arguments = (power, len(matrix), rows.astype(np.uint64), columns.astype(np.uint64))
        if weights is None and (self.entries != 1).any():
            self.weight_dtype = np.dtype(np.float64)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``: products of matrix entries, or random weights."""
        if self.weight_dtype == np.float64:
            _kernels().kronecker_weights(start, self.power, self.entries, weights)
        else:
            super().fill_weights(start, stop, weights)


def _kernels() -> Any:
    from evener.kernels.cpu import generate

    return generate


def _alias_table(
    chances: NDArray[np.float64], rows: NDArray[Any], columns: NDArray[Any], size: int, levels: int
) -> tuple[NDArray[np.uint32], ...]:
    """Return Walker's alias table for `levels` levels: cut, alias, and row and column of each outcome.

    Outcomes of probability 0 fill the table up to a power of two. Probabilities are integers in units of
    2^-32, so the table is the same on every machine.
    """
    joint, row, column = np.ones(1), np.zeros(1, np.int64), np.zeros(1, np.int64)
    for _ in range(levels):
        joint = np.multiply.outer(joint, chances).ravel()
        row = np.add.outer(row * size, rows).ravel()
        column = np.add.outer(column * size, columns).ravel()
    full = 1 << _CUT_BITS
    share = np.zeros(_OUTCOMES, np.int64)
    share[: len(joint)] = np.rint(joint * (full * _OUTCOMES))
    share[share.argmax()] += full * _OUTCOMES - share.sum()
    cut, alias = np.full(_OUTCOMES, full, np.uint32), np.arange(_OUTCOMES, dtype=np.uint32)
    left = share.tolist()
    small = [i for i, s in enumerate(left) if s < full]
    large = [i for i, s in enumerate(left) if s > full]
    while small and large:
        poor, rich = small.pop(), large[-1]
        cut[poor], alias[poor] = left[poor], rich
        left[rich] -= full - left[poor]
        if left[rich] <= full:
            large.pop()
            if left[rich] < full:
                small.append(rich)
    places = np.zeros((2, _OUTCOMES), np.uint32)
    places[:, : len(joint)] = row, column
    return cut, alias, places[0], places[1]


def check_integer(name: str, value: int, low: int, high: int) -> int:
    """Return an argument as int; raise `ArgumentError` unless it is an integer from `low` to `high`."""
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, int | np.integer)
        or not low <= value <= high
    ):
        msg = f"{name}: expected an integer from {low:,} to {high:,}, found {value!r}"
        raise ArgumentError(msg)
    return int(value)


def _weight_range(weights: str) -> tuple[int, int] | tuple[()]:
    """Return the bounds of integer weights; an empty tuple for real weights."""
    if weights == "real":
        return ()
    match = re.fullmatch(r"(\d+)\.\.(\d+)", GAP_WEIGHTS if weights == "int" else str(weights))
    if match is None or not int(match[1]) <= int(match[2]) < 1 << 31:
        msg = f'weights: expected "real", "int" or a range such as "1..255" below 2^31, found {weights!r}'
        raise ArgumentError(msg)
    return int(match[1]), int(match[2])
