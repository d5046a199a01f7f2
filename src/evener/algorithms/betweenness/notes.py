"""Notes on a betweenness run, and the parameters by which a saved answer is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evener.results.result import Result

__all__ = ["claimed", "notes"]


def notes(result: Result, arguments: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - the spec's signature
    """Yield a note if the seed has no effect."""
    if "seed" in arguments and "k" not in arguments:
        yield "--seed is ignored: sources are drawn only with -k"


def claimed(parameters: Mapping[str, Any], *, given: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Return the parameters to verify a saved answer by. The user's `k` replaces recorded sources."""
    return {name: value for name, value in parameters.items() if name != "sources" or "k" not in given}
