"""Checks of a function that combines messages on random values: identity, associativity, commutativity."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number
from evener.programs.operators import type_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.programs.operators import Operator
    from evener.programs.payload import Payload

__all__ = ["can_be", "check_algebra", "check_order", "identity_of", "random_triples"]

# Random triples of payloads.
_TRIALS = 40
# Identities of tuples to try.
_MAX_CANDIDATES = 10_000
# Largest error of rounding.
_RELATIVE_ERROR = 1e-6
_INT64 = np.iinfo(np.int64)
# Identities to try, by the kind of a number.
_IDENTITIES: dict[str, tuple[float, ...]] = {
    "f": (np.inf, -np.inf, 0.0, 1.0),
    "i": (_INT64.max, _INT64.min, 0, 1, -1),
}


def identity_of(combine: Operator, identity: Any, payload: Payload, *, negative: bool) -> Any:
    """Return what `check_algebra` returns for an operator. A found identity is kept for later calls."""
    if identity is None:
        return _found_identity(combine, payload, negative)
    return check_algebra(combine.python, identity, payload, negative=negative, name=combine.name)


@lru_cache(maxsize=64)
def _found_identity(combine: Operator, payload: Payload, negative: bool) -> Any:  # noqa: FBT001 - a key
    return check_algebra(combine.python, None, payload, negative=negative, name=combine.name)


def check_algebra(
    combine: Callable[[Any, Any], Any],
    identity: Any,
    payload: Payload,
    *,
    negative: bool,
    name: str = "combine_all",
) -> Any:
    """Return the identity of the Python function `combine`, given or found, after checks on random values.

    `combine` gets and returns `payload`. `negative` says whether to check negative values too, and `name` is
    the argument that gave the function, for messages. An ArgumentError is raised if `combine` is not
    commutative or associative, or has no such identity.
    """
    triples = random_triples(payload, negative=negative)
    join = check_order(name, combine, triples)
    with np.errstate(all="ignore"):
        return _identity(name, join, identity, [x for x, _, _ in triples], payload)


def random_triples(payload: Payload, *, negative: bool = True) -> list[tuple[Any, Any, Any]]:
    """Return random triples of payloads, for `check_order`."""
    random = np.random.default_rng(1)
    low, high, shape = (-1000 if negative else 0), 1000, (_TRIALS, 3)
    columns = [
        random.uniform(low, high, shape) if kind == "f" else random.integers(low, high, shape)
        for kind in payload.kinds
    ]
    if payload.single:
        return [(x, y, z) for x, y, z in columns[0]]
    rows = zip(*columns, strict=True)  # of each trial, the three values of each number
    return [(x, y, z) for x, y, z in (zip(*row, strict=True) for row in rows)]


def check_order(
    name: str, combine: Callable[[Any, Any], Any], triples: Sequence[tuple[Any, Any, Any]]
) -> Callable[[Any, Any], Any]:
    """Return `combine` with errors that name its arguments, after checks of its algebra on the triples."""

    def join(x: Any, y: Any) -> Any:
        try:
            return combine(x, y)
        except Exception as error:
            msg = f"{name}({_text(x)}, {_text(y)}) fails: {type(error).__name__}: {error}"
            raise ArgumentError(msg) from error

    with np.errstate(all="ignore"):
        for x, y, z in triples:
            first, second, third = (_text(one) for one in (x, y, z))
            calls = f"{name}({first}, {second})", f"{name}({second}, {first})"
            _check_equal(f"{name} is not commutative", calls, join(x, y), join(y, x))
            broken = f"{name} is not associative on {first}, {second}, {third}"
            calls = "from the left it", "from the right it"
            _check_equal(broken, calls, join(join(x, y), z), join(x, join(y, z)))
    return join


def _text(value: Any) -> str:
    return f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value)


def _identity(
    name: str, join: Callable[[Any, Any], Any], given: Any, sample: Sequence[Any], payload: Payload
) -> Any:
    if given is None:

        def tried(x: Any, y: Any) -> Any:
            """Return the result, or None for a number that `combine` does not take, such as an infinity."""
            try:
                return join(x, y)
            except ArgumentError:
                return None

        # Messages may be negative even if no value is.
        for values in ([*sample, *map(_negative, sample)], sample):
            for candidate in islice(product(*_choices(tried, values, payload)), _MAX_CANDIDATES):
                unit = _typed(candidate, payload)
                if all(_equal(tried(unit, x), x) for x in values):
                    return _plain(unit)
        msg = f"{name} has no identity that Evener knows; give identity=, the x with {name}(x, y) == y"
        raise ArgumentError(msg)
    numbers = (given,) if payload.single else given
    if (
        not isinstance(numbers, tuple)
        or len(numbers) != len(payload.kinds)
        or not all(map(can_be, payload.kinds, numbers))
    ):
        expected = "a number of the type" if payload.single else f"{type_text(payload.type)}, the type"
        msg = f"identity=: expected {expected} of the messages, found {given!r}"
        raise ArgumentError(msg)
    unit = _typed(numbers, payload)
    for x in sample:
        if not _equal(found := join(unit, x), x):
            msg = (
                f"identity={given!r}: expected {name}(identity, y) == y, found {_text(found)} for y = "
                f"{_text(x)}"
            )
            raise ArgumentError(msg)
    return _plain(unit)


def _choices(
    join: Callable[[Any, Any], Any], values: Sequence[Any], payload: Payload
) -> list[Sequence[float]]:
    """Return the numbers to try for each number of the identity.

    A number qualifies for a field if it leaves the field of each value unchanged while the other fields are
    equal. If none qualifies, all numbers are tried.
    """
    if payload.single:
        return [_IDENTITIES[payload.kinds]]

    def keeps(k: int, dtype: np.dtype[Any], number: float, x: tuple[Any, ...]) -> bool:
        found = join((*x[:k], dtype.type(number), *x[k + 1 :]), x)
        return isinstance(found, tuple) and _equal(found[k], x[k])

    choices: list[Sequence[float]] = []
    for k, (kind, dtype) in enumerate(zip(payload.kinds, payload.dtypes, strict=True)):
        kept = [one for one in _IDENTITIES[kind] if all(keeps(k, dtype, one, x) for x in values)]
        choices.append(kept or _IDENTITIES[kind])
    return choices


def can_be(kind: str, number: Any) -> bool:
    """Return whether a number of a payload of this kind can be `number`, which is not NaN."""
    if kind == "f":
        return is_number(number) and number == number
    return is_integral(number) and _INT64.min <= number <= _INT64.max


def _typed(numbers: Sequence[Any], payload: Payload) -> Any:
    """Return a payload as the number, or the tuple of numbers, that a function of Python gets."""
    found = tuple(dtype.type(one) for dtype, one in zip(payload.dtypes, numbers, strict=True))
    return found[0] if payload.single else found


def _plain(payload: Any) -> Any:
    return tuple(one.item() for one in payload) if isinstance(payload, tuple) else payload.item()


def _negative(payload: Any) -> Any:
    return tuple(-one for one in payload) if isinstance(payload, tuple) else -payload


def _check_equal(broken: str, calls: tuple[str, str], one: Any, other: Any) -> None:
    if not _equal(one, other):
        msg = (
            f"{broken}: {calls[0]} is {_text(one)}, and {calls[1]} is {_text(other)}; the order in which "
            "values are combined is not defined"
        )
        raise ArgumentError(msg)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(map(_equal, one, other))
    if one == other or (one != one and other != other):
        return True
    if not (isinstance(one, float) and isinstance(other, float)):
        return False
    return bool(abs(one - other) <= _RELATIVE_ERROR * max(1.0, min(abs(one), abs(other))))
