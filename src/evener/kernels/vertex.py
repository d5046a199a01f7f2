"""The vertex number that means "no vertex"."""

from __future__ import annotations

import numpy as np

__all__ = ["NO_VERTEX"]

# For arrays of local or global vertex numbers, as in ``kernels/cuda/common.cuh``.
NO_VERTEX = np.uint32(0xFFFFFFFF)
