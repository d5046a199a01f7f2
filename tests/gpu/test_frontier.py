"""Frontiers on a GPU."""

from __future__ import annotations

from contracts.frontiers import FrontierContract


class TestFrontier(FrontierContract):
    kind = "cuda:0"
