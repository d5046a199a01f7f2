"""Partitions of GPUs with edges in host memory, on graphs of any size."""

from __future__ import annotations

from importlib import import_module


def keep_on_host(monkeypatch, tiers):
    """Place partitions on GPUs by these tiers, as if their edges did not fit."""
    monkeypatch.setattr(import_module("evener.partition.placement"), "tiers_of", lambda *_, **__: tiers)
    builder = import_module("evener.partition.gpu_build")._Build
    monkeypatch.setattr(builder, "numbers_fit", lambda *_: False)
