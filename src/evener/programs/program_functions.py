"""The functions of a vertex program, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evener.programs.payload import Payload

if TYPE_CHECKING:
    from evener.programs.operators import Operator

__all__ = ["ProgramFunctions"]


class ProgramFunctions(NamedTuple):
    """The checked functions of a program, and its fields.

    Attributes
    ----------
    names : tuple of str
        The fields of the state.
    dtypes : tuple of str
        The type of each field: "float32", "float64" or "int64".
    send, apply, aggregate : Operator
    combine : Operator or None
        None for the most frequent message.
    """

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    send: Operator
    combine: Operator | None
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
    def key(self) -> str:
        """Identifies the code of the functions, and the fields."""
        return self._described([one.code if one else "most_frequent" for one in self.operators])

    @property
    def meaning(self) -> str:
        """Identifies the functions with all their values, and the fields."""
        return self._described([one.meaning if one else "most_frequent" for one in self.operators])

    @property
    def operators(self) -> tuple[Operator | None, ...]:
        """All functions."""
        return self.send, self.combine, self.apply, self.aggregate

    def _described(self, functions: list[str]) -> str:
        return " ".join([str(self.names), str(self.dtypes), *functions])
