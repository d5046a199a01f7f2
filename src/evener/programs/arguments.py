"""Arguments of programs: first values, and the condition that ends a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number, type_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph

__all__ = [
    "UNSIGNED_WEIGHTS",
    "Condition",
    "Trend",
    "first_values",
    "fixed_iterations",
    "relative_change",
    "stop_condition",
    "vertex_values",
]

# The advice for an unsigned weight of 2^63 or more.
UNSIGNED_WEIGHTS = "functions see integers below 2^63; use floating-point weights"


class Condition(NamedTuple):
    """When a run stops: after `limit` iterations, or when no vertex, or no sum, changes enough."""

    limit: int
    fixed: bool  # The run has `limit` iterations, unless no vertex is active before.
    tolerance: float | None  # The sum of changes that ends the run. None: each vertex decides.
    text: str  # The condition in words.
    relative: bool = False  # `tolerance` is relative to the sum that the run adds up over all vertices.
    # The advice if the run reaches `limit` before.
    remedy: str = "increase max_iter= or change until="
    # The advice if a value is beyond the range of its type.
    overflow: str = "a function overflows or divides by 0; scale the first values or the weights"

    def is_met(self, all_converged: bool, change: float, total: float) -> bool:  # noqa: FBT001 - the value of the kernel
        """Return whether a run ends after an iteration with this sum of changes."""
        if self.fixed:
            return False
        if self.tolerance is None:
            return all_converged
        return change < self.tolerance * total or change == 0 if self.relative else change < self.tolerance


class Trend:
    """The numbers of the last two iterations, which predict whether the next iteration is the last one."""

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._counts = self._changes = (math.inf, math.inf)
        self.total = 0.0

    def add(self, count: int, change: float, total: float) -> None:
        """Add the active vertices and the sums of an iteration."""
        self._counts, self._changes = (self._counts[1], count), (self._changes[1], change)
        self.total = total

    @property
    def next_change(self) -> float:
        """The change of the next iteration, if changes fall by equal factors."""
        return _extended(*self._changes)

    def may_end(self, iteration: int) -> bool:
        """Return whether a run may end after this next iteration."""
        none_active = _extended(*self._counts) < 1
        is_met = self._condition.is_met(none_active, self.next_change, self.total)
        return iteration >= self._condition.limit or is_met


def _extended(first: float, second: float) -> float:
    """Return the next number of a falling geometric sequence; infinity if two numbers show no fall."""
    return second * (second / first) if 0 <= second < first < math.inf else math.inf


def fixed_iterations(max_iter: Any) -> Condition:
    """Return the condition of a run with exactly `max_iter` iterations, unless nothing changes before."""
    return Condition(_limit(max_iter), fixed=True, tolerance=None, text="")


def relative_change(tol: Any, max_iter: Any) -> Condition:
    """Return the condition of a run that ends if all changes sum to less than `tol` times all values."""
    if not is_number(tol) or not 0 < tol < math.inf:
        msg = f"tol=: expected a finite number above 0, found {tol!r}"
        raise ArgumentError(msg)
    return Condition(
        _limit(max_iter),
        fixed=False,
        tolerance=float(tol),
        text=f"a relative change below {tol:g}",
        relative=True,
        remedy="increase max_iter= or tol=",
        overflow="scale the weights",
    )


def _limit(max_iter: Any) -> int:
    if not is_integral(max_iter) or max_iter < 0:
        msg = f"max_iter=: expected an integer of at least 0, found {max_iter!r}"
        raise ArgumentError(msg)
    return int(max_iter)


def stop_condition(until: Any, max_iter: Any, *, functions: bool = True) -> Condition:
    """Return the condition that the arguments of `evener.gimv` or `evener.vertex_program` give.

    `until` may be a function if `functions`.
    """
    limit = _limit(max_iter)
    if until is None:
        return Condition(limit, fixed=False, tolerance=None, text="no value to change")
    if functions and callable(until):
        return Condition(limit, fixed=False, tolerance=None, text="until= to be true for all vertices")
    if is_number(until) and isinstance(until, int | np.integer) and until >= 0:
        return Condition(int(until), fixed=True, tolerance=None, text="")
    if is_number(until) and not isinstance(until, int | np.integer) and 0 < until < math.inf:
        text = f"a sum of changes below {until:g}"
        return Condition(limit, fixed=False, tolerance=float(until), text=text)
    more, remedy = (
        (" or a function", "") if functions else ("", "; let apply return whether a vertex is active")
    )
    msg = (
        "until=: expected a number of iterations (an integer of at least 0), a sum of changes (a float above "
        f"0){more}, found {until!r}{remedy}"
    )
    raise ArgumentError(msg)


def vertex_values(
    given: ArrayLike, graph: Graph, name: str, expected: str = "integers or floating-point numbers"
) -> NDArray[Any]:
    """Return a number, or an array of a number for each vertex, as an array; integers are below 2^63.

    The argument `name` gave it.
    """
    try:
        values = np.asarray(given)
    except ValueError as error:
        msg = f"{name}: expected a number or an array of numbers: {error}"
        raise ArgumentError(msg) from error
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        msg = f"{name}: expected {expected}, found {values.dtype} in {type_name(given)}"
        raise ArgumentError(msg)
    if values.shape not in ((), (graph.n,)):
        msg = f"{name}: expected a number, or an array of shape ({graph.n},), found shape {values.shape}"
        raise ArgumentError(msg)
    largest = np.iinfo(np.int64).max
    if values.dtype.kind == "u" and values.max(initial=0) > largest:
        first = int(np.argmax(values > np.uint64(largest)))
        where = f" for vertex {graph.ids_of(np.array([first]))[0]}" if values.shape else ""
        msg = f"{name}: expected integers below 2^63, found {values.flat[first]}{where}"
        raise ArgumentError(msg)
    return values


def first_values(v0: ArrayLike, graph: Graph, name: str = "v0=") -> NDArray[Any]:
    """Return the first value of each vertex, which is not NaN: float32, float64 or int64."""
    expected = "integers, float32 or float64"
    values = vertex_values(v0, graph, name, expected)
    if values.dtype == np.float16:
        msg = f"{name}: expected {expected}, found {values.dtype} in {type_name(v0)}"
        raise ArgumentError(msg)
    if values.dtype.kind != "f":
        values = values.astype(np.int64)
    elif np.isnan(values).any():
        (vertex,) = graph.ids_of(np.array([np.argmax(np.isnan(values))]))
        msg = f"{name}: expected numbers, found NaN for vertex {vertex}"
        raise ArgumentError(msg)
    native = values.dtype.newbyteorder("=")
    return np.broadcast_to(values.astype(native, copy=False), (graph.n,))
