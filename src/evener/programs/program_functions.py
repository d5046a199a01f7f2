"""The functions of a vertex program, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evener.programs.payload import Payload

if TYPE_CHECKING:
    from evener.programs.operators import Operator

__all__ = ["ProgramFunctions"]


class ProgramFunctions(NamedTuple):
    """The checked functions of a program, and its fields."""

    names: tuple[str, ...]  # of the fields of the state
    dtypes: tuple[str, ...]  # of the fields: "float32", "float64" or "int64"
    send: Operator
    combine: Operator | None  # None for the most frequent message
    apply: Operator
    aggregate: Operator

    @property
    def real(self) -> tuple[bool, ...]:
        """Whether functions see each field as float64 instead of int64."""
        return tuple(dtype != "int64" for dtype in self.dtypes)

    @property
    def state(self) -> Payload:
        """The fields as a payload."""
        return Payload.of_dtypes(self.dtypes)

    @property
    def meaning(self) -> str:
        """Identifies the functions with all their values, and the fields."""
        functions = [one.meaning if one else "most_frequent" for one in self.operators]
        return " ".join([str(self.names), str(self.dtypes), *functions])

    @property
    def operators(self) -> tuple[Operator | None, ...]:
        """All functions."""
        return self.send, self.combine, self.apply, self.aggregate
