"""Result columns: the meaning of the arrays of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Column"]


@dataclass(frozen=True, slots=True)
class Column:
    """One array of a result, with one value per vertex.

    Parameters
    ----------
    name : str
        The name of the array in a `Result` and of the column in a table.
    kind : {"value", "distance", "vertex", "group"}
        ``value``: a number; the largest values are at the top. ``distance``: a number that is negative or
        infinite for unreached vertices; the farthest reached vertices are at the top. ``vertex``: the id of
        another vertex, -1 for no vertex. ``group``: the id of the vertex that names a group; the largest
        groups are at the top.
    real : bool, default False
        True if values are floating-point numbers, even if a text file shows integers.

    Examples
    --------
    >>> Column("parent", "vertex").names_vertices
    True
    """

    name: str
    kind: Literal["value", "distance", "vertex", "group"] = "value"
    real: bool = False

    @property
    def names_vertices(self) -> bool:
        """True if the values are vertex ids."""
        return self.kind in ("vertex", "group")

    @property
    def top_heads(self) -> tuple[str, str]:
        """The headings of a table of top vertices or groups."""
        return (self.name, "vertices") if self.kind == "group" else ("vertex", self.name)
