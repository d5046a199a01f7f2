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
