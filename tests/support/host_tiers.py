"""Force GPU partitions to keep edges in host memory, for graphs of any size."""

from __future__ import annotations

from importlib import import_module


def keep_on_host(monkeypatch, tiers):
    """Place partitions on GPUs with these tiers, as if the edges did not fit."""
    monkeypatch.setattr(import_module("evener.partition.transfer"), "tiers_of", lambda *_, **__: tiers)
    builder = import_module("evener.partition.gpu_build").RowsBuild
    monkeypatch.setattr(builder, "numbers_fit", lambda *_: False)
