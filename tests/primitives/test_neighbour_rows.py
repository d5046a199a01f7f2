"""Rows of neighbours and triangles on CPUs."""

from __future__ import annotations

from contracts.neighbour_rows import NeighbourRowsContract


class TestNeighbourRows(NeighbourRowsContract):
    kind = "cpu:1"
