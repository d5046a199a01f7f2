"""Infinite values of programs: infinities that a user gave, and infinities of an overflow.

A user gives an infinity in the first values, in the weights that a function reads, or in the code of a
function. An infinite identity counts if a vertex has no messages. A program may then have infinite values of
this sign, such as the distance of an unreached vertex. Any other infinite value is an overflow or a division
by zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.programs.steps import is_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType, FunctionType

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.operators import Operator

__all__ = ["InfinityCheck"]

_BOTH = frozenset((-math.inf, math.inf))
_NAMES = ("inf", "infinity")


class InfinityCheck:
    """Finds values that are infinite although the user gave no infinity.

    `first` has the first values of all fields. `weighted` says whether a function reads the weights.
    `all_hear` returns whether each vertex has messages, on all ranks.
    """

    def __init__(
        self,
        name: str,
        pg: PartitionedGraph,
        condition: Condition,
        *,
        first: Iterable[NDArray[Any]],
        identity: Any,
        operators: Iterable[Operator | None],
        weighted: bool,
        all_hear: Callable[[], bool],
    ) -> None:
        self._name, self._pg, self._remedy = name, pg, condition.overflow
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

    def step(self, fields: Mapping[str, PartitionedArray], change: float, iteration: int) -> None:
        """Raise an error for an infinite value after an iteration, if the user gave no infinity.

        This is a collective operation; all ranks must call it.
        """
        if math.isinf(change) and not self._given:
            self._find(fields, f"after iteration {iteration}")

    def finish(self, fields: Mapping[str, PartitionedArray]) -> None:
        """Raise an error for an infinity of a sign that the user did not give, or that may be an overflow.

        This is a collective operation; all ranks must call it. A sum may have exceeded the largest number if
        another value is very large.
        """
        if not self._given:
            return
        self._find(fields, "after the last iteration")
        for array in fields.values():
            if array.dtype.kind == "f":
                self._check_range(array)

    def _find(self, fields: Mapping[str, PartitionedArray], when: str) -> None:
        """Raise an error that names the first vertex with an infinity that the user did not give."""
        for array in fields.values():
            if array.dtype.kind == "f":
                values = self._pg.gather(array)
                wrong = np.isinf(values)
                for one in self._given:
                    wrong &= values != one
                self._raise_first(wrong, when, self._remedy)

    def _check_range(self, array: PartitionedArray) -> None:
        """Raise an error if a value is infinite, and a sum of finite numbers may be infinite."""
        values, world = self._pg.gather(array), self._pg.world
        infinite = np.isinf(values)
        largest = float(np.abs(values, where=~infinite, out=np.zeros(len(values))).max(initial=0))
        largest = world.allreduce(largest, "max")
        other = largest if self._heaviest is None else self._heaviest
        if largest / 2 + other / 2 > float(np.finfo(array.dtype).max) / 2:
            remedy = (
                f"a sum of {largest:g} and {other:g} is beyond {array.dtype}; scale the weights or values"
            )
            self._raise_first(infinite, "after the last iteration", remedy)

    def _raise_first(self, wrong: NDArray[np.bool_], when: str, remedy: str) -> None:
        pg = self._pg
        own = pg.block.start + int(np.argmax(wrong)) if wrong.any() else pg.graph.n
        if (v := pg.world.allreduce(own, "min")) < pg.graph.n:
            (vertex,) = pg.graph.ids_of(np.array([v]))
            msg = f"{self._name}: the value of vertex {vertex} is infinite {when}; {remedy}"
            raise ArgumentError(msg)


def _infinities(values: NDArray[Any]) -> frozenset[float]:
    """Return the infinities among the values."""
    if values.dtype.kind != "f" or not len(values):
        return frozenset()
    few = values[:1] if is_constant(values) else values
    return frozenset(one for one in _BOTH if (few == one).any())


def _names_infinity(function: FunctionType) -> bool:
    """Return whether the code of a function has an infinite constant, or a name of infinity."""
    outer = [cell.cell_contents for cell in function.__closure__ or ()]
    outer += [
        function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__
    ]
    for value in outer:
        inner = getattr(getattr(value, "dispatcher", value), "py_func", None)
        if (inner is not None and _names_infinity(inner)) or _is_infinite(value):
            return True
    return _code_names_infinity(function.__code__)


def _code_names_infinity(code: CodeType) -> bool:
    if any(name.lower() in _NAMES for name in code.co_names):
        return True
    return any(
        _code_names_infinity(one) if hasattr(one, "co_consts") else _is_infinite(one)
        for one in code.co_consts
    )


def _is_infinite(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_infinite, value))
    if isinstance(value, str):
        return value.strip().lstrip("+-").lower() in _NAMES
    return isinstance(value, float | np.floating) and bool(np.isinf(value))
