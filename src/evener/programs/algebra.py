"""Checks of a function that combines messages on random values: identity, associativity, commutativity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_algebra"]

# Random triples of values.
_TRIALS = 40
# Largest error of rounding.
_RELATIVE_ERROR = 1e-6
_FLOAT_IDENTITIES = (np.inf, -np.inf, 0.0, 1.0)
_INT_IDENTITIES = (np.iinfo(np.int64).max, np.iinfo(np.int64).min, 0, 1, -1)


def check_algebra(
    combine: Callable[[Any, Any], Any],
    identity: Any,
    *,
    real: bool,
    negative: bool,
    name: str = "combine_all",
) -> float | int:
    """Return the identity of `combine`, given or found, after checks on random values.

    Parameters
    ----------
    combine : function
        The Python function.
    identity : number or None
    real : bool
        Whether values are float64 instead of int64.
    negative : bool
        Whether to check negative values too.
    name : str
        The argument that gave the function, for messages.

    Raises
    ------
    ArgumentError
        If `combine` is not commutative or associative, or has no such identity.
    """
    random = np.random.default_rng(1)
    low, high = (-1000 if negative else 0), 1000
    shape = (_TRIALS, 3)
    values = random.uniform(low, high, shape) if real else random.integers(low, high, shape)

    def join(x: Any, y: Any) -> Any:
        try:
            return combine(x, y)
        except Exception as error:
            msg = f"{name}({x}, {y}) fails: {type(error).__name__}: {error}"
            raise ArgumentError(msg) from error

    with np.errstate(all="ignore"):
        for x, y, z in values:
            _check_equal(name, join(x, y), join(y, x), f"commutative: {name}({x}, {y})", f"with {y} and {x}")
            left, right = join(join(x, y), z), join(x, join(y, z))
            _check_equal(
                name, left, right, f"associative on {x}, {y}, {z}: from the left it", "from the right"
            )
        return _identity(name, join, identity, values[:, 0], real=real)


def _identity(
    name: str, join: Callable[[Any, Any], Any], given: Any, values: Any, *, real: bool
) -> float | int:
    kind: Any = np.float64 if real else np.int64
    if given is None:
        candidates: list[float | int] = [
            kind(one).item() for one in (_FLOAT_IDENTITIES if real else _INT_IDENTITIES)
        ]
        # Messages may be negative even if no value is.
        for sample in (np.concatenate([values, -values]), values):
            for candidate in candidates:
                if all(_equal(join(kind(candidate), x), x) for x in sample):
                    return candidate
        msg = f"{name} has no identity that Evener knows; give identity=, the x with {name}(x, y) == y"
        raise ArgumentError(msg)
    if not is_number(given) or given != given or not (real or is_integral(given)):
        msg = f"identity=: expected a number of the type of the values, found {given!r}"
        raise ArgumentError(msg)
    for x in values:
        if not _equal(found := join(kind(given), x), x):
            msg = f"identity={given!r}: expected {name}(identity, y) == y, found {found} for y = {x}"
            raise ArgumentError(msg)
    number: float | int = kind(given).item()
    return number


def _check_equal(name: str, one: Any, other: Any, rule: str, otherwise: str) -> None:
    if not _equal(one, other):
        msg = (
            f"{name} is not {rule} is {one}, and {other} {otherwise}; the order in which messages are "
            "combined is not defined"
        )
        raise ArgumentError(msg)


def _equal(one: Any, other: Any) -> bool:
    if one == other or (one != one and other != other):
        return True
    if not (isinstance(one, float) and isinstance(other, float)):
        return False
    return bool(abs(one - other) <= _RELATIVE_ERROR * max(1.0, min(abs(one), abs(other))))
