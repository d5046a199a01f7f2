"""Verification of communities: their names, their modularity, and that each is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.leiden import verify_cpu as kernels
from evener.graph.arrays import read_only
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.verification_communities import checked_communities, require_modularity

if TYPE_CHECKING:
    from evener.spec.answer import Answer

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless communities are connected and have the modularity of the outcome.

    The verifier does not show that no better communities exist.
    """
    parts = parts_of(answer)
    weighted = weights_used(parts.graph, answer.parameters.get("weights"), "leiden")
    community = checked_communities(parts)
    require_modularity(parts, community, weighted=weighted)
    vertices = np.arange(parts.block.start, parts.block.stop)
    reached = vertices.astype(np.uint32)
    changed = True
    while changed:
        before = reached.copy()
        for direction in ("out", "in") if parts.graph.directed else ("out",):
            lowered = []
            pairs = zip(parts.rows(direction), parts.fetch(community, reached), strict=True)
            for rows, (own, known) in pairs:
                lowered.append(np.empty(len(rows.offsets) - 1, np.uint32))
                arrays: Any = (read_only(own), read_only(known), lowered[-1])
                kernels.lowest_reached(rows.offsets, rows.targets, *arrays, rows.blocks)
            reached = parts.collect(lowered).astype(np.uint32)
        # A vertex also reaches whatever the vertex that it reaches does.
        reached = np.minimum(reached, parts.look_up(reached, reached)).astype(np.uint32)
        changed = bool(parts.reduce(int((reached != before).any()), "max"))
    parts.require(
        reached == community,
        "each vertex reaches the first vertex of its community inside the community",
        lambda v: f"vertex {parts.id(v)} reaches no vertex before {parts.id(int(parts.at(reached, v)))}",
    )
