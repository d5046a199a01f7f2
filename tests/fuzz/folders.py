"""Folders that are not files of graphs: placed graphs and checkpoints, and how to read them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import evener as ev

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CHECKPOINTS", "PLACED", "READERS", "folders"]

PLACED, CHECKPOINTS = ".placed", ".checkpoints"

_ITERATIONS = 4


def folders(wanted: Sequence[str] | None) -> dict[str, list[dict[str, bytes]]]:
    """Return valid folders of each kind, as files by name."""
    makers = {PLACED: _placed, CHECKPOINTS: _checkpoints}
    return {kind: make() for kind, make in makers.items() if wanted is None or kind in wanted}


def _graph() -> Any:
    return ev.Graph.from_edges([0, 0, 1, 2, 2], [1, 2, 3, 0, 2], [1.5, 2.5, 0.5, 4.0, 1.0])


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {f"/{path.relative_to(folder)}": path.read_bytes() for path in found}


def _placed() -> list[dict[str, bytes]]:
    found = []
    for on in ("cpu:1", "cpu:1,cpu:1"):
        with tempfile.TemporaryDirectory() as folder:
            ev.write_partitioned(ev.partition(_graph(), on), Path(folder, "placed"))
            found.append(_files(Path(folder, "placed")))
    return found


def _pagerank(checkpoint: ev.Checkpoint) -> None:
    ev.pagerank(_graph(), on="cpu:1", tol=0, max_iter=_ITERATIONS, checkpoint=checkpoint)


def _checkpoints() -> list[dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _pagerank(ev.Checkpoint(folder, every="1step"))
        min(folder.glob("*.json")).unlink()
        return [_files(folder)]


def _read_placed(path: Path) -> None:
    placed = ev.read_partitioned(path)
    if placed.graph.n:
        ev.verify(ev.bfs(placed, source=placed.graph.ids[0]))


def _resume(path: Path) -> None:
    _pagerank(ev.Checkpoint(path, resume=True))


READERS: dict[str, Callable[[Path], None]] = {PLACED: _read_placed, CHECKPOINTS: _resume}
