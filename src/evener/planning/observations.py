"""Observations: the sizes and times of past runs on this machine, from which the cost model learns.

A file in the user's cache directory holds one JSON object per line, newest last. The reader skips a line of
another version or another machine, and a line that it cannot parse.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from evener.elements.hardware import fingerprint
from evener.errors import FileError
from evener.system.cache import cache_folder
from evener.system.files import atomic_write
from evener.system.lock import file_lock
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Observation", "ObservedElement", "file_of_observations", "observations", "record"]


# Version of the lines; change it with the meaning of a field.
VERSION = 1
# Number of newest observations that plans use. The file is cut at twice this number.
KEPT = 256
# Numbers from here on are not those of a run: the cost model could not add their squares.
_LIMIT = 1e18


@dataclass(frozen=True, slots=True)
class ObservedElement:
    """The part of one element in a run.

    Attributes
    ----------
    model : str
        The hardware: "cpu", or the name of a GPU.
    kind : str
        "cpu" or "cuda".
    threads : int
    edges, host_edges, vertices, mirrors : int
        Edges, edges in host memory, owned vertices with an edge, and mirrors.
    bytes_sent : int
        Bytes sent in the whole run.
    compute, exchange : float
        Seconds in kernels, and in sending and receiving.
    """

    model: str
    kind: str
    threads: int
    edges: int
    host_edges: int
    vertices: int
    mirrors: int
    bytes_sent: int
    compute: float
    exchange: float


@dataclass(frozen=True, slots=True)
class Observation:
    """One run.

    Attributes
    ----------
    algorithm : str
    passes : float
        Iterations, or sources.
    supersteps : int
    seconds : float
    elements : tuple of ObservedElement
    """

    algorithm: str
    passes: float
    supersteps: int
    seconds: float
    elements: tuple[ObservedElement, ...]

    @property
    def overhead(self) -> float:
        """Seconds beyond the busiest element: waiting for copies, and the engine between supersteps."""
        return max(0.0, self.seconds - max(one.compute + one.exchange for one in self.elements))


def file_of_observations() -> Path | None:
    """Return the path of the file; None if the user has no cache directory."""
    cache = cache_folder()
    return cache and cache / "evener" / "observations.jsonl"


def record(observation: Observation) -> None:
    """Append a run to the file. A failure is logged at the level DEBUG and changes nothing."""
    path = file_of_observations()
    if path is None:
        return
    line = json.dumps({"version": VERSION, "machine": fingerprint(), **asdict(observation)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(path.with_suffix(".lock")):
            lines = [*_lines(path), line]
            if len(lines) < 2 * KEPT:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
            else:
                with atomic_write(path) as temporary:
                    temporary.write_text("".join(f"{one}\n" for one in lines[-KEPT:]), encoding="utf-8")
    except (OSError, FileError) as error:
        log.debug("the run is not recorded for later plans: %s", error)


def observations(algorithm: str) -> list[Observation]:
    """Return the recorded runs of an algorithm on this machine, oldest first."""
    path = file_of_observations()
    try:
        lines = [] if path is None else _lines(path)
    except OSError as error:
        log.debug("recorded runs cannot be read: %s", error)
        return []
    return [run for run in map(_parsed, lines[-KEPT:]) if run is not None and run.algorithm == algorithm]


def _lines(path: Path) -> Sequence[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _parsed(line: str) -> Observation | None:
    """Return the observation of a line; None for another version or machine, or an invalid line."""
    try:
        document = json.loads(line)
        if document.pop("version") != VERSION or document.pop("machine") != fingerprint():
            return None
        elements = tuple(ObservedElement(**one) for one in document.pop("elements"))
        run = Observation(**document, elements=elements)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return run if _is_valid(run) else None


def _is_valid(run: Observation) -> bool:
    """Return whether fields have their types, numbers are finite and not negative, and the run took time."""
    if not run.elements or not all(map(_has_valid_fields, (run, *run.elements))):
        return False
    known = all(one.kind in ("cpu", "cuda") for one in run.elements)
    busy = known and all(
        one.threads > 0 and one.compute + one.exchange + run.overhead > 0 for one in run.elements
    )
    return busy and run.seconds > 0 and run.passes > 0


def _has_valid_fields(one: Any) -> bool:
    for field in fields(one):
        value = getattr(one, field.name)
        if field.type == "str" and not isinstance(value, str):
            return False
        if field.type in ("int", "float") and not (
            isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LIMIT
        ):
            return False
    return True
