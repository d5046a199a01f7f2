"""Searches from many vertices at once, on a GPU."""

from __future__ import annotations

from contracts.bit_searches import BitSearchContract


class TestBitSearch(BitSearchContract):
    kind = "cuda:0"
