"""Omissions: the facts about a graph that a file of a format does not store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.graph.formats.edges import isolated_vertices

if TYPE_CHECKING:
    from evener.graph.formats.registry import Format
    from evener.graph.graph import Graph

__all__ = ["count_omitted_vertices", "omissions"]


def count_omitted_vertices(graph: Graph, kind: Format) -> int:
    """Return the number of vertices that a file of this format omits."""
    return 0 if kind.stores_isolated else len(isolated_vertices(graph))


def omissions(graph: Graph, kind: Format) -> list[str]:
    """Return the facts that a file of this format omits, as ends of sentences. Ids are not checked."""
    facts = []
    if count := count_omitted_vertices(graph, kind):
        facts.append(f"{count:,} {'vertex' if count == 1 else 'vertices'} without edges")
    if not graph.directed and not kind.stores_direction:
        facts.append("the direction of edges; read it with directed=False")
    return facts
