"""Payloads: messages, records and states of numbers, and functions that read and write them."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import typeof, types

from evener.errors import ArgumentError
from evener.kernels.cpu.jit import inlined
from evener.programs.operators import type_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.programs.operators import Operator

__all__ = ["Fields", "Payload", "apart", "check_combined", "state_class"]


@dataclass(frozen=True)
class Payload:
    """A number, or a tuple of numbers, that user functions see as float64 or int64."""

    kinds: str  # "f" or "i" for each number
    single: bool  # a number instead of a tuple
    names: tuple[str, ...] = ()  # of the numbers, if the payload is a named tuple

    @classmethod
    def of_number(cls, *, real: bool) -> Payload:
        """Return the payload of one number."""
        return cls("f" if real else "i", single=True)

    @classmethod
    def of_type(cls, found: types.Type) -> Payload | None:
        """Return the payload of a Numba type, or None if the type is no payload."""
        single = not isinstance(found, types.BaseTuple)
        fields = (found,) if single else tuple(found)
        if not fields or not all(
            isinstance(one, types.Integer | types.Boolean | types.Float) for one in fields
        ):
            return None
        return cls("".join("f" if isinstance(one, types.Float) else "i" for one in fields), single)

    @classmethod
    def of_dtypes(cls, dtypes: Sequence[str]) -> Payload:
        """Return the tuple of fields of these types: "float32", "float64" or "int64"."""
        return cls("".join("i" if dtype == "int64" else "f" for dtype in dtypes), single=False)

    @classmethod
    def of_text(cls, text: str) -> Payload:
        """Return the payload whose `str` is the text."""
        return cls(text.strip("()"), single="(" not in text)

    def __str__(self) -> str:
        return self.kinds if self.single else f"({self.kinds})"

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """The type of each column."""
        return tuple(np.dtype(np.float64 if kind == "f" else np.int64) for kind in self.kinds)

    @property
    def type(self) -> types.Type:
        """The Numba type of the payload."""
        if self.names:
            return typeof(state_class(self.names)(*(0.0 if kind == "f" else 0 for kind in self.kinds)))
        fields = tuple(types.float64 if kind == "f" else types.int64 for kind in self.kinds)
        return fields[0] if self.single else types.Tuple(fields)

    @cached_property
    def cast(self) -> Any:
        """The compiled function of a payload that returns it with the types of the fields."""
        return self._compile("def function(x):\n return {}", "x", "x[{k}]")

    @cached_property
    def load(self) -> Any:
        """The compiled function of (columns, position) that returns a payload."""
        return self._compile("def function(columns, at):\n return {}", "columns[0][at]", "columns[{k}][at]")

    @cached_property
    def slice(self) -> Any:
        """The compiled function of (columns, begin, end) that returns an array, or a tuple of arrays."""
        fields = [f"columns[{k}][begin:end]" for k in range(len(self.kinds))]
        body = fields[0] if self.single else f"({', '.join(fields)},)"
        return _function(f"def function(columns, begin, end):\n return {body}", {})

    @cached_property
    def store(self) -> Any:
        """The compiled function of (columns, position, payload) that writes a payload."""
        steps = [
            f" columns[{k}][at] = x" if self.single else f" columns[{k}][at] = x[{k}]"
            for k in range(len(self.kinds))
        ]
        return _function("\n".join(["def function(columns, at, x):", *steps]), {})

    @cached_property
    def size(self) -> Any:
        """The compiled function of a payload that returns the sum of the absolute values."""
        fields = [f"abs(float(x{place}))" for place in self._places]
        return _function(f"def function(x):\n return {' + '.join(fields)}", {})

    @cached_property
    def distance(self) -> Any:
        """The compiled function of two payloads that returns how much they differ.

        This is the difference of two numbers. With fields, it is a sum over the floating-point fields.
        """
        fields = [
            f" + apart(float(x{place}), float(y{place}))"
            for kind, place in zip(self.kinds, self._places, strict=True)
            if self.single or kind == "f"
        ]
        return _function(f"def function(x, y):\n return 0.0{''.join(fields)}", {"apart": apart})

    @property
    def _places(self) -> list[str]:
        """How code refers to each number of a payload."""
        return [""] if self.single else [f"[{k}]" for k in range(len(self.kinds))]

    def _compile(self, source: str, of_number: str, of_field: str) -> Any:
        names: dict[str, Any] = {
            f"wide{k}": np.float64 if kind == "f" else np.int64 for k, kind in enumerate(self.kinds)
        }
        fields = [
            f"wide{k}({of_number if self.single else of_field.format(k=k)})" for k in range(len(self.kinds))
        ]
        kind = ""
        if self.names:
            kind, names["State"] = "State", state_class(self.names)
        body = fields[0] if self.single else f"{kind}({', '.join(fields)},)"
        return _function(source.format(body), names)


class Fields(NamedTuple):
    """The fields of a state, or of a value of GIM-V."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]  # "float32", "float64" or "int64"
    changing: Payload  # The first fields, as `send` sees them; the others never change.

    @classmethod
    def of(cls, first: Mapping[str, NDArray[Any]]) -> Fields:
        """Return the fields with these first values."""
        names, dtypes = tuple(first), tuple(str(values.dtype) for values in first.values())
        return cls(names, dtypes, replace(Payload.of_dtypes(dtypes), names=names))

    @property
    def value(self) -> Payload:
        """The fields as a tuple, as operators of GIM-V see them."""
        return Payload.of_dtypes(self.dtypes)

    @property
    def state(self) -> Payload:
        """The fields as other functions of a vertex program see them: as `send`, or with constants."""
        return self.changing if len(self.changing.kinds) == len(self.names) else self.value


@lru_cache(maxsize=64)
def state_class(names: tuple[str, ...], argument: str = "state=") -> Any:
    """Return the named tuple of fields; `argument` gave their names, for messages.

    A name is an identifier other than "vertex", the column of ids in tables, and is given once.
    """
    if "vertex" in names:
        msg = f"{argument}: expected names of fields, found 'vertex', the column of ids in tables; rename it"
        raise ArgumentError(msg)
    try:
        return namedtuple("State", names)
    except ValueError as error:
        msg = f"{argument}: expected names of fields that are Python names: {error}"
        raise ArgumentError(msg) from error


@inlined
def apart(old: float, new: float) -> float:
    """Return the difference of two numbers; 0 for two infinities of one sign."""
    return 0.0 if old == new else abs(old - new)


def _function(source: str, names: dict[str, Any]) -> Any:
    """Return the compiled function of a source that this module wrote."""
    scope = {"__name__": __name__, **names}
    exec(source, scope)  # noqa: S102 - no text of a user is part of the source
    return inlined(scope["function"])


def check_combined(function: Operator, payload: Payload, source: str) -> None:
    """Compile a function that combines two payloads, and check that it returns such a payload.

    `source` is the function that makes the payloads, for messages.
    """
    returned = function.returned((payload.type, payload.type), {})
    result = Payload.of_type(returned)
    same = result is not None and result.single == payload.single and len(result.kinds) == len(payload.kinds)
    if result is None or not same:
        raise function.unexpected(returned, f"{type_text(payload.type)} as {source} does")
    if any(own == "i" and found == "f" for own, found in zip(payload.kinds, result.kinds, strict=True)):
        msg = (
            f"{function.name}: returns a floating-point number for an integer of {source} at "
            f"{function.where}; use // instead of /, or let {source} return a floating-point number"
        )
        raise ArgumentError(msg)
