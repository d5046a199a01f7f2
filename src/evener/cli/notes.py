"""Notes on standard error about a run: ignored arguments, uncached kernels, a source without edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.cli.options import flag
from evener.cli.output import note
from evener.kernels.cpu.jit import CACHE
from evener.partition.policy import find_policy
from evener.spec.algorithm import AlgorithmSpec, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.results.result import Result

__all__ = ["note_isolated_source", "note_no_kernel_cache", "note_unused"]


def note_unused(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note for each argument that had no effect on the run."""
    elements = result.timeline.elements
    if "gpu_memory" in arguments and not any("cuda:" in name for name in elements):
        note("--gpu-memory is ignored: no GPU is used")
    if arguments.get("policy") not in (None, "auto") and len(elements) == 1:
        note(f"--policy is ignored: {elements[0]} is the only element")
    policy = arguments.get("policy")
    if arguments.get("alpha") not in (None, "auto") and policy not in (None, "auto"):
        rule = find_policy(policy)
        if rule.even:
            note(f"--alpha is ignored: {policy} gives equal parts to all elements")
        elif rule.balances != "stored edges" and len(elements) > 1:
            note(f"--alpha is a share of the {rule.balances}, not of the stored edges, with {policy}")
    if spec.notes is not None:
        for sentence in resolve(spec.notes)(result, arguments):
            note(sentence)


def note_no_kernel_cache() -> None:
    """Print a note if compiled kernels cannot be kept, because compiling takes longer than most runs."""
    if not CACHE:
        note(
            "compiled kernels cannot be stored, so each run compiles them again; name a writable folder in "
            "NUMBA_CACHE_DIR"
        )


def note_isolated_source(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note if a search from the default source has no edge to follow."""
    name = spec.source_option
    if name in result.parameters and name not in arguments and result.edges == 0:
        (source,) = result.parameters[name] if result.parameters.get("each") else [result.parameters[name]]
        if source is not None:
            note(f"vertex {source}, the default source, has no out-edges; name another with {flag(name)}")
