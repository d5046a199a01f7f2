"""Payloads: the numbers of a record, and compiled functions that read and write them in columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit, types

from evener.kernels.cpu.jit import OPTIONS

__all__ = ["Payload"]


@dataclass(frozen=True)
class Payload:
    """A number, or a tuple of numbers, that user functions see as float64 or int64.

    Attributes
    ----------
    kinds : str
        "f" or "i" for each number.
    single : bool
        Whether the payload is a number instead of a tuple.
    """

    kinds: str
    single: bool

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

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """The type of each column."""
        return tuple(np.dtype(np.float64 if kind == "f" else np.int64) for kind in self.kinds)

    @property
    def type(self) -> types.Type:
        """The Numba type of the payload."""
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

    def _compile(self, source: str, of_number: str, of_field: str) -> Any:
        names = {f"wide{k}": np.float64 if kind == "f" else np.int64 for k, kind in enumerate(self.kinds)}
        fields = [
            f"wide{k}({of_number if self.single else of_field.format(k=k)})" for k in range(len(self.kinds))
        ]
        body = fields[0] if self.single else f"({', '.join(fields)},)"
        return _function(source.format(body), names)


def _function(source: str, names: dict[str, Any]) -> Any:
    """Return the compiled function of a source that this module wrote."""
    scope = {"__name__": __name__, **names}
    exec(source, scope)  # noqa: S102 - no text of a user is part of the source
    return njit(**dict(OPTIONS, fastmath=False, forceinline=True))(scope["function"])
