"""What the command line says about a betweenness run, and by which parameters an answer is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evener.results.result import Result

__all__ = ["claimed", "notes"]


def notes(result: Result, arguments: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - the spec's signature
    """Yield a sentence for a seed that has no effect."""
    if "seed" in arguments and "k" not in arguments:
        yield "--seed is ignored: without -k no sources are drawn"


def claimed(parameters: Mapping[str, Any], *, given: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Return the parameters to verify a saved answer by; `k` of the user replaces recorded sources."""
    return {name: value for name, value in parameters.items() if name != "sources" or "k" not in given}
