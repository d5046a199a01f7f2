"""DistributedGraph: a graph of which each rank holds a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.adjacency import as_ids
from evener.graph.graph import Graph
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.system.agreement import call_number, collective

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from evener.partition.distributed.rows import RowPiece, RowRanges
    from evener.system.world import World

__all__ = ["DistributedGraph"]


class DistributedGraph(Graph):
    """A graph that no rank holds as a whole; `evener.partition` places it.

    The arrays of all edges (`offsets`, `targets`, `weights`, `reverse`) and of all ids do not exist. Each
    rank has the rows of a range of vertices until the graph is placed. `numbers_of` and `ids_of` are
    collective operations; all ranks must call them.

    Attributes
    ----------
    block_ids : ndarray of int64 or strings, or None
        The ids of the vertices of this rank's block; None if the ids are ``0..n-1``.
    ranges : RowRanges
        The vertices whose rows each rank has.
    rows : dict of str to list of Piece
        The rows of this rank's range, by direction: "out" or "in".
    out_degrees, degrees : ndarray of uint64
        Out-degree of each vertex of this rank's range, and the number of its edges in both directions.
    strength : ndarray of float64, or None
        Sum of the weights of the out-edges of each vertex of this rank's range.
    weight_sample : ndarray
        Some weights, the same on all ranks.
    """

    # Facts that other graphs compute from their arrays; no rank has all edges, and loops are not counted.
    n: int = 0
    m: int = 0
    loops: int | None = None
    weight_dtype: np.dtype[Any] | None = None

    def __init__(
        self,
        world: World,
        *,
        n: int,
        m: int,
        directed: bool,
        weight_dtype: np.dtype[Any] | None,
        weight_range: tuple[float, float],
        weight_sample: NDArray[Any],
        block_ids: NDArray[Any] | None,
        ranges: RowRanges,
        rows: dict[str, list[RowPiece]],
        out_degrees: NDArray[np.uint64],
        degrees: NDArray[np.uint64],
        strength: NDArray[np.float64] | None,
    ) -> None:
        self._world: World | None = world
        self.directed = directed
        self.n, self.m, self.weight_dtype = n, m, weight_dtype
        self.weight_range, self.weight_sample = weight_range, weight_sample
        self.block_ids, self.ranges, self.rows = block_ids, ranges, rows
        self.out_degrees, self.degrees, self.strength = out_degrees, degrees, strength
        self._number = call_number(world)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_world": None}

    @property
    def world(self) -> World:
        """The ranks that hold the parts."""
        if self._world is None:
            msg = "expected a graph in parts of this job, found a pickled copy; read the graph again"
            raise ArgumentError(msg)
        return self._world

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with parts of the same graph."""
        return {"reading": self._number}

    # ---- facts ----------------------------------------------------------------------------------

    @property
    def stored_directions(self) -> tuple[str, ...]:
        """The edges in memory; empty after the graph was placed."""
        return tuple(self.rows) if self.directed or not self.rows else ("out", "in")

    @property
    def has_custom_ids(self) -> bool:
        """True if the graph stores ids of its own; False if the ids are ``0..n-1``."""
        return self.block_ids is not None

    @property
    def has_string_ids(self) -> bool:
        """True if the ids are strings."""
        return self.block_ids is not None and self.block_ids.dtype.kind == "U"

    @property
    def has_integer_ids(self) -> bool:
        """True if the ids are integers."""
        return not self.has_string_ids

    @property
    def has_object_ids(self) -> bool:
        """False: no file has ids that are neither integers nor strings."""
        return False

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of this rank."""
        pieces = [piece for own in self.rows.values() for piece in own]
        arrays = [array for piece in pieces for array in piece.rows if array is not None]
        return sum(array.nbytes for array in [*arrays, self.out_degrees, self.degrees])

    def release(self) -> None:
        """Free the arrays of this rank's range, which a placed graph does not need."""
        self.rows, self.strength = {}, None
        self.out_degrees = self.degrees = np.empty(0, np.uint64)

    # ---- ids ------------------------------------------------------------------------------------

    @collective()
    def numbers_of(self, ids: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
        """Return the vertex numbers ``0..n-1`` of ids, which are the same on all ranks.

        This is a collective operation; all ranks must call it.
        """
        given = as_ids(self, ids)
        wanted = given if self.has_string_ids else given.astype(np.int64)
        numbers = self.numbers_on_ranks(wanted)
        if (numbers < 0).any():
            missing = given[numbers < 0][0]
            msg = f"vertex {missing} is not in the graph ({self.n} vertices)"
            raise UnknownVertexError(msg)
        return numbers

    @collective(own=("ids",))
    def numbers_on_ranks(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the vertex numbers of ids, and -1 for other ids; ranks may ask for different ids.

        This is a collective operation; all ranks must call it.
        """
        own, world = self.block_ids, self.world
        if own is None:
            return np.where((ids >= 0) & (ids < self.n), ids, -1).astype(np.int64)
        last = [(rank, part[0]) for rank, part in enumerate(world.allgather(own[-1:])) if len(part)]
        if not last:
            return np.full(len(ids), -1, np.int64)
        ranks, ends = np.array([rank for rank, _ in last]), np.array([end for _, end in last])
        to = ranks[np.minimum(np.searchsorted(ends, ids), len(ranks) - 1)]
        order = np.argsort(to, kind="stable")
        cuts = np.cumsum(np.bincount(to, minlength=world.size))[:-1]
        first = block_bounds(self.n, world.size)[world.rank]
        answers = []
        for asked in world.alltoall(np.split(ids[order], cuts)):
            places = np.minimum(np.searchsorted(own, asked), max(len(own) - 1, 0))
            answers.append(np.where(own[places] == asked, places + first, -1) if len(asked) else places)
        numbers = np.empty(len(ids), np.int64)
        numbers[order] = np.concatenate(world.alltoall(answers))
        return numbers

    @collective(own=("numbers",))
    def ids_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices, given their numbers; ranks may ask for different vertices.

        This is a collective operation; all ranks must call it.
        """
        if self.block_ids is None:
            return np.asarray(numbers, np.int64)
        bounds = block_bounds(self.n, self.world.size)
        return BlockExchange(self.world, bounds, np.asarray(numbers)).fetch(self.block_ids)

    # ---- what does not exist ----------------------------------------------------------------------

    @property
    def offsets(self) -> NoReturn:
        """Raise: no rank has the rows of all vertices."""
        self._refuse()

    targets = weights = reverse = ids = offsets

    def out_degree(self) -> NoReturn:
        """Raise: no rank has the degrees of all vertices."""
        self._refuse()

    in_degree = out_degree

    def _refuse(self) -> NoReturn:
        msg = (
            "expected a graph with all edges in memory, found a graph in parts on several ranks; read it on "
            "every rank with evener.read"
        )
        raise ArgumentError(msg)
