"""Searches from many vertices at once, on CPUs and on ranks."""

from __future__ import annotations

from contracts.bit_searches import BitSearchContract


class TestBitSearch(BitSearchContract):
    kind = "cpu:1"
