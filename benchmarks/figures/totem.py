"""Equation 4 of T12, with which the papers draw their predictions."""

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
        Edges a second on the CPU, and between the two.
    """
    return (1 / r_cpu) / (beta / c + alpha / r_cpu)
