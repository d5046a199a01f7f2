"""Checks of the values of programs: NaN, and infinities of an overflow.

A user gives an infinity in the first values, in the weights that a function reads, or in the code of a
function. An infinite identity counts if a vertex has no messages. A program may then have infinite values of
this sign, such as the distance of an unreached vertex. Any other infinite value is an overflow or a division
by zero.
"""

from __future__ import annotations

import math
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.kernels.loops import parts_of
from evener.programs.steps import exception_of, is_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.mapreduce.stages import Stages
    from evener.programs.operators import Operator

__all__ = ["ValueCheck"]

_BOTH = frozenset((-math.inf, math.inf))
_NAMES = ("inf", "infinity")


class ValueCheck:
    """Finds values that are NaN, or infinite although the user gave no infinity.

    `first` has the first values of all fields. `weighted` says whether a function reads the weights.
    `all_hear` returns whether each vertex has messages, on all ranks.
    """

    def __init__(
        self,
        name: str,
        pg: PartitionedGraph,
        run: Engine | Stages,
        condition: Condition,
        *,
        first: Iterable[NDArray[Any]],
        identity: Any,
        operators: Iterable[Operator | None],
        weighted: bool,
        all_hear: Callable[[], bool],
    ) -> None:
        self._name, self._pg, self._run, self._remedy = name, pg, run, condition.overflow
        weights = pg.graph.weight_range if weighted else ()
        self._heaviest = max(map(abs, filter(math.isfinite, weights)), default=0.0) if weighted else None
        of_code = any(_names_infinity(one.fixed.function) for one in operators if one is not None)
        if of_code or any(map(math.isinf, weights)):
            self._given = _BOTH
        else:
            units = identity if isinstance(identity, tuple) else (identity,)
            self._given = frozenset().union(*map(_infinities, first))
            from_identity = frozenset(one for one in units if math.isinf(one)) - self._given
            if from_identity and not all_hear():
                self._given |= from_identity

    def step(
        self, fields: Mapping[str, PartitionedArray], change: float, total: float, iteration: int
    ) -> None:
        """Raise an error after an iteration if its sums are NaN, or infinite and the user gave no infinity.

        This is a collective operation; all ranks must call it.
        """
        when = f"after iteration {iteration}"
        if math.isnan(change) or math.isnan(total):
            self._run.finish()
            for values in self._real(fields):
                remedy = "the functions divide 0 by 0, or combine infinities"
                self._raise_first(np.isnan(values), f"NaN {when}; {remedy}")
            if math.isnan(change):
                raise exception_of(self._name)
            msg = f"{self._name}: the sum of aggregate is NaN {when}"
            raise ArgumentError(msg)
        if math.isinf(change) and not self._given:
            self._find(fields, when)

    def finish(self, fields: Mapping[str, PartitionedArray]) -> None:
        """Raise an error for an infinity of a sign that the user did not give, or that may be an overflow.

        This is a collective operation; all ranks must call it. A sum may have exceeded the largest number if
        another value is very large.
        """
        if not self._given:
            return
        self._find(fields, "after the last iteration")
        for values in self._real(fields):
            self._check_range(values)

    def _find(self, fields: Mapping[str, PartitionedArray], when: str) -> None:
        """Raise an error that names the first vertex with an infinity that the user did not give."""
        for values in self._real(fields):
            wrong = np.isinf(values)
            for one in self._given:
                wrong &= values != one
            self._raise_first(wrong, f"infinite {when}; {self._remedy}")

    def _check_range(self, values: NDArray[Any]) -> None:
        """Raise an error if a value is infinite, and a sum of finite numbers may be infinite."""
        infinite = np.isinf(values)
        largest = float(np.abs(values, where=~infinite, out=np.zeros(len(values))).max(initial=0))
        largest = self._pg.world.allreduce(largest, "max")
        other = largest if self._heaviest is None else self._heaviest
        if largest / 2 + other / 2 > float(np.finfo(values.dtype).max) / 2:
            remedy = f"a sum of {largest:g} and {other:g} is beyond {values.dtype}"
            self._raise_first(
                infinite, f"infinite after the last iteration; {remedy}; scale the weights or values"
            )

    def _real(self, fields: Mapping[str, PartitionedArray]) -> Iterator[NDArray[Any]]:
        """Yield the values of each floating-point field for this rank's block of vertices."""
        return (self._pg.gather(array) for array in fields.values() if array.dtype.kind == "f")

    def _raise_first(self, wrong: NDArray[np.bool_], found: str) -> None:
        """Raise an error for the first wrong vertex of all ranks; return if there is none."""
        pg = self._pg
        own = pg.block.start + int(np.argmax(wrong)) if wrong.any() else pg.graph.n
        if (v := pg.world.allreduce(own, "min")) < pg.graph.n:
            (vertex,) = pg.graph.ids_of(np.array([v]))
            msg = f"{self._name}: the value of vertex {vertex} is {found}"
            raise ArgumentError(msg)


def _infinities(values: NDArray[Any]) -> frozenset[float]:
    """Return the infinities among the values."""
    if values.dtype.kind != "f" or not len(values):
        return frozenset()
    few = values[:1] if is_constant(values) else values
    return frozenset(one for one in _BOTH if (few == one).any())


@lru_cache(maxsize=256)
def _names_infinity(function: Any) -> bool:
    """Return whether the code of a function has an infinite constant, or a name of infinity."""
    return any(
        any(name.lower() in _NAMES for name in part.co_names) or any(map(_is_infinite, part.co_consts))
        if isinstance(part, CodeType)
        else _is_infinite(part)
        for part in parts_of(function)
    )


def _is_infinite(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_infinite, value))
    if isinstance(value, str):
        return value.strip().lstrip("+-").lower() in _NAMES
    return isinstance(value, float | np.floating) and bool(np.isinf(value))
