"""Equation 4 of T12, which the papers use for their predictions."""

from __future__ import annotations


def speedup(alpha, beta, r_cpu, c):
    """Return the speed-up of a CPU and a GPU over the CPU alone, if the CPU finishes last.

    Parameters
    ----------
    alpha : float
        Share of the edges on the CPU.
    beta : float
        Share of the edges that cross, after aggregation.
    r_cpu, c : float
        Edges/s on the CPU, and edges/s between CPU and GPU.
    """
    return (1 / r_cpu) / (beta / c + alpha / r_cpu)
