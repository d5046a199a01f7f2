"""The functions of a vertex program, checked, and the fields of its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evener.programs.payload import Payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.programs.operators import Operator

__all__ = ["Fields", "ProgramFunctions"]


class Fields(NamedTuple):
    """The fields of a state, or of a value of GIM-V."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]  # "float32", "float64" or "int64"

    @classmethod
    def of(cls, first: Mapping[str, NDArray[Any]]) -> Fields:
        """Return the fields with these first values."""
        return cls(tuple(first), tuple(str(values.dtype) for values in first.values()))

    @property
    def value(self) -> Payload:
        """The fields as a tuple, as operators of GIM-V see them."""
        return Payload.of_dtypes(self.dtypes)

    @property
    def state(self) -> Payload:
        """The fields as a named tuple, as functions of a vertex program see them."""
        return Payload(self.value.kinds, single=False, names=self.names)


class ProgramFunctions(NamedTuple):
    """The checked functions of a program, and its fields."""

    fields: Fields
    send: Operator
    combine: Operator | None  # None for the most frequent message
    apply: Operator
    aggregate: Operator

    @property
    def meaning(self) -> str:
        """Identifies the functions with all their values, and the fields."""
        functions = [one.meaning if one else "most_frequent" for one in self.operators]
        return " ".join([str(self.fields), *functions])

    @property
    def operators(self) -> tuple[Operator | None, ...]:
        """All functions."""
        return self.send, self.combine, self.apply, self.aggregate
