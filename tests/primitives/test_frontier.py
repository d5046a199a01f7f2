"""Frontiers on CPUs and on ranks."""

from __future__ import annotations

from contracts.frontiers import FrontierContract


class TestFrontier(FrontierContract):
    kind = "cpu:1"
