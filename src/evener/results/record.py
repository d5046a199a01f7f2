"""The record of a run: its arrays by name, in the order of the graph's ids, and facts about the run."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from evener.errors import ArgumentError
from evener.partition.distributed.graph import DistributedGraph
from evener.results.columns import Column
from evener.results.report.units import counted
from evener.system.agreement import call_number, collective
from evener.system.memory import translate_errors
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.timeline import Timeline
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy
    from evener.system.world import World

__all__ = ["RunRecord"]


class RunRecord:
    """The arrays of a run by name, and facts about the run. `Result` describes the parameters."""

    def __init__(
        self,
        algorithm: str,
        graph: Graph,
        arrays: Mapping[str, Callable[[], NDArray[Any]]],
        *,
        columns: Sequence[Column] = (),
        parameters: Mapping[str, Any],
        timeline: Timeline,
        seconds: float,
        edges: int,
        outcome: Mapping[str, Any] | None = None,
        partitioned: PartitionedGraph | None = None,
        passes: float = 1,
    ) -> None:
        self.algorithm = algorithm
        self.graph = graph
        self.columns = {name: Column(name) for name in arrays} | {one.name: one for one in columns}
        self.parameters = dict(parameters)
        self.timeline = timeline
        self.seconds = float(seconds)
        self.edges = int(edges)
        self.outcome = dict(outcome or {})
        self.partitioned = partitioned
        self.passes = passes
        self.world: World = SingleProcess() if partitioned is None else partitioned.world
        # The ids of all vertices, after `gather`.
        self._ids: NDArray[Any] | None = None
        self._number = call_number(self.world)
        self.block = range(graph.n) if partitioned is None else partitioned.block
        self.prediction: Prediction | None = None
        self.energy: Energy | None = None
        # None after gathering, so that the function no longer keeps the elements' memory alive.
        self._gather: dict[str, Callable[[], NDArray[Any]] | None] = dict(arrays)
        self._gathered: dict[str, NDArray[Any]] = {}
        # Arrays of vertices as ids.
        self._named: dict[str, NDArray[Any]] = {}

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the same result."""
        return {"run": self._number}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self or not self.columns[name].names_vertices:
            return self.gathered(name)
        if name not in self._named:
            self._named[name] = self.names_of(self.gathered(name))
        return self._named[name]

    def gathered(self, name: str) -> NDArray[Any]:
        """Return an array as the run computed it.

        If the ids are not integers, vertices in the array are positions in ``graph.ids``, not ids.
        """
        if name not in self._gathered:
            self._gathered[name] = self._gather_array(name)
            self._gather[name] = None
        return self._gathered[name]

    def source(self, name: str) -> Callable[[], NDArray[Any]] | None:
        """Return the function that gathers an array, or None after it was gathered."""
        self._check_name(name)
        return self._gather[name]

    def _check_name(self, name: str) -> None:
        if name not in self:
            names = ", ".join(map(repr, self._gather))
            msg = f"expected one of the arrays {names} of a result of {self.algorithm}, found {name!r}"
            msg += "; value(id) returns the value of a vertex"
            raise KeyError(msg)

    @collective(name="Result[...]")
    def _gather_array(self, name: str) -> NDArray[Any]:
        self._check_name(name)
        gather = cast("Callable[[], NDArray[Any]]", self._gather[name])
        with translate_errors(f"gathering {name} of {self.algorithm}"):
            return gather()

    def __iter__(self) -> Iterator[str]:
        return iter(self._gather)

    def __len__(self) -> int:
        return len(self._gather)

    def __contains__(self, name: object) -> bool:
        return name in self._gather

    def keys(self) -> KeysView[str]:
        """Return the names of the arrays."""
        return self._gather.keys()

    def values(self) -> ValuesView[NDArray[Any]]:
        """Return the arrays."""
        return ValuesView(cast("Mapping[str, NDArray[Any]]", self))

    def items(self) -> ItemsView[str, NDArray[Any]]:
        """Return the pairs of a name and its array."""
        return ItemsView(cast("Mapping[str, NDArray[Any]]", self))

    def get(self, name: str, default: Any = None) -> Any:
        """Return an array, or `default` if the result has no array of this name."""
        return self[name] if name in self._gather else default

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Raise ArgumentError: NumPy and `pandas.DataFrame` would read the names instead of the arrays."""
        msg = (
            f"expected an array, found the result of {self.algorithm}; use to_pandas(), to_arrow() or "
            f"result[{next(iter(self))!r}]"
        )
        raise ArgumentError(msg)

    def __getstate__(self) -> dict[str, Any]:
        # The gathering functions and the partitions refer to memory of this process's elements.
        gathered = {name: self.gathered(name) for name in self}
        if isinstance(self.graph, DistributedGraph):
            list(self.values())  # other ranks have some ids, which the copy cannot ask for
        alone = {"partitioned": None, "world": SingleProcess()}
        return {**vars(self), **alone, "_gather": dict.fromkeys(self), "_gathered": gathered}

    @property
    def edges_per_second(self) -> float:
        """Return `edges` divided by `seconds`."""
        return self.edges / self.seconds if self.seconds else 0.0

    @property
    def edges_per_joule(self) -> float | None:
        """Return `edges_per_second` per watt, or None without a measurement.

        The measurement may cover several equal runs.
        """
        watts = self.energy.watts if self.energy is not None else None
        return self.edges_per_second / watts if watts else None

    def __repr__(self) -> str:
        names = ", ".join(self._gather)
        vertices = counted(self.graph.n, "vertex")
        return f"<Result of {self.algorithm}: {names} of {vertices}, {self.seconds:.3g} s>"

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of the vertices whose values this rank has, in the order of the arrays."""
        if self._ids is not None:
            return self._ids
        if not isinstance(self.graph, DistributedGraph):
            return self.graph.ids[self.block.start : self.block.stop]
        own = self.graph.block_ids
        return np.arange(self.block.start, self.block.stop) if own is None else own

    def names_of(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices in an array of `gathered`."""
        if self.graph.has_integer_ids:
            return vertices
        missing = vertices < 0
        known = np.where(missing, 0, vertices)
        names = (self.graph.ids_of(known) if self._ids is None else self._ids[known]).astype(object)
        names[missing] = None
        return names
