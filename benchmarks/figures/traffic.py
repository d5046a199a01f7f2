"""Equation 4 over the bytes that travel for an edge: figure 3 of both papers."""

from __future__ import annotations

import search_path  # noqa: F401 - first: it makes the folder above importable
import totem
from panel import Panel, series_of

SHOWN = ("beta", "bytes", "alpha", "r_cpu", "c", "speedup")
_BYTES = (4, 8, 12, 16)


def rows(alpha, r_cpu, bus, betas):
    return [
        {
            "beta": beta,
            "bytes": each,
            "alpha": alpha,
            "r_cpu": r_cpu,
            "c": bus / each,
            "speedup": totem.speedup(alpha, beta, r_cpu, bus / each),
        }
        for beta in betas
        for each in _BYTES
    ]


def fall(rows, beta, first, last):
    """Return in words how the speed-up falls with more bytes, at one beta."""
    found = {row["bytes"]: row["speedup"] for row in rows if row["beta"] == beta}
    return f"from {found[first]:.2f} to {found[last]:.2f}"


def panels(rows):
    own = [{**row, "curve": f"β {row['beta']:.0%}"} for row in rows]
    curves = series_of(own, "curve", "bytes", "speedup")
    return [
        Panel(
            f"α = {rows[0]['alpha']:.0%}",
            "bytes for each edge that crosses",
            "predicted speed-up",
            curves,
            line=1,
        )
    ]
