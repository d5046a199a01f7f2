"""Cost models with given coefficients, for tests of choices."""

from __future__ import annotations

from evener.planning.cost_model import CostModel
from evener.planning.prior import Coefficients, Rates

# Relative margin of CPU times in these models. GPU times have no margin.
CPU_MARGIN = 0.15


def cost_model(elements, *, cpu=1e-9, gpu=1e-10, host=1e-9, byte=0.0, superstep=0.0):
    """Return a model with these seconds per edge, for all threads of a CPU element together."""
    fitted = {
        one.name: Rates(
            one.kind,
            Coefficients(cpu * one.threads if one.kind == "cpu" else gpu, host, 0.0, byte, superstep),
            CPU_MARGIN if one.kind == "cpu" else 0.0,
        )
        for one in elements
    }
    return CostModel(0.0, 4.0, fitted, 1.0)
