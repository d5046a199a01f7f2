"""Notes that the command line prints after a betweenness run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evener.results.result import Result

__all__ = ["notes"]


def notes(result: Result, arguments: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - the spec's signature
    """Yield a note if the seed has no effect."""
    if "seed" in arguments and "k" not in arguments:
        yield "--seed is ignored: sources are drawn only with -k"
