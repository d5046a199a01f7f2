"""Options of `evener.read` that every format receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.graph.share import EdgeShare

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.share import EdgeIds

__all__ = ["ReadOptions"]


@dataclass(frozen=True)
class ReadOptions:
    """Options of `evener.read`; None leaves the choice to the file."""

    directed: bool | None = None
    weighted: bool | None = None
    n: int | None = None
    self_loops: str = "keep"
    duplicates: str = "keep"
    columns: tuple[str | int, ...] | None = None

    def is_directed(self, *, stated: bool | None) -> bool:
        """Return whether the graph is directed, given the direction that the file states, if any."""
        return next((choice for choice in (self.directed, stated) if choice is not None), True)

    @property
    def repeated(self) -> dict[str, str]:
        """The options for self-loops and repeated edges, by name."""
        return {"self_loops": self.self_loops, "duplicates": self.duplicates}

    def refuse_n(self, path: Path, found: str) -> None:
        """Raise ArgumentError if the caller gives `n` for a file with other ids than ``0..n-1``."""
        if self.n is not None:
            msg = f"n = {self.n} requires the integer ids 0..n-1, but the file has {found}; remove n"
            raise ArgumentError(f"{path}: {msg}")

    def share_of(self, edges: EdgeIds) -> EdgeShare:
        """Return a rank's edges for a graph of the direction that the caller or the file states."""
        directed = self.is_directed(stated=edges.directed)
        edges.n = edges.n if self.n is None else self.n
        return EdgeShare(edges, directed, not directed, self.self_loops, self.duplicates)
