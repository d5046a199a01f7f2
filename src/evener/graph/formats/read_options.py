"""Options of `evener.read` that every format receives."""

from __future__ import annotations

from dataclasses import dataclass

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
