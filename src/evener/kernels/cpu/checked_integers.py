"""Checks in functions of users: integer arithmetic without a result raises an exception, as in Python.

Numba's NumPy mode gives 0 for an integer divided by 0, and any number for a shift by a negative number or for
the integer of NaN. Floating-point arithmetic needs no checks: NaN and infinity are visible in the values.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.core.errors import NumbaValueError

__all__ = ["CheckedContext"]

_DIVISIONS = (
    operator.floordiv, operator.ifloordiv, operator.mod, operator.imod, operator.truediv, operator.itruediv,
    divmod, np.divmod, np.floor_divide, np.true_divide, np.divide, np.remainder, np.mod, np.fmod,
)  # fmt: skip
_SHIFTS = (
    operator.lshift, operator.ilshift, operator.rshift, operator.irshift, np.left_shift, np.right_shift,
)  # fmt: skip
_POWERS = (operator.pow, operator.ipow, pow, np.power)
_CONVERSIONS = (int, math.floor, math.ceil, math.trunc, round)


class CheckedContext(CPUContext):  # type: ignore[misc] # Numba has no types
    """A target context whose integer arithmetic is checked."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:  # noqa: FBT001, FBT002 - Numba's signature
        """Return the implementation of a function, with a check of its arguments."""
        found = super().get_function(fn, sig, _firstcall)
        check = _check_of(getattr(fn, "typing_key", fn), sig)
        return found if check is None else _Checked(found, self, sig, check)


class _Checked:
    """An implementation that is called after a check."""

    def __init__(self, found: Any, context: Any, sig: Any, check: Any) -> None:
        self._found, self._context, self._sig, self._check = found, context, sig, check

    def __call__(self, builder: Any, args: Any, loc: Any = None) -> Any:
        fails, error, text = self._check(builder, self._sig, args)
        with builder.if_then(fails, likely=False):
            self._context.call_conv.return_user_exc(builder, error, (text,), loc)
        return self._found(builder, args, loc)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


def _check_of(function: Any, sig: Any) -> Any:
    """Return the check of a function; None if its arguments are no integers, or all have a result."""
    args = sig.args
    integers = [isinstance(one, types.Integer) for one in args]
    of_arrays = [isinstance(getattr(one, "dtype", one), types.Integer) for one in args]
    if function in _DIVISIONS + _SHIFTS and len(args) == 2 and all(of_arrays):
        if not all(integers):
            msg = "divides or shifts an array of integers; use a loop over its values"
            raise NumbaValueError(msg)
        return _divides_by_zero if function in _DIVISIONS else _shifts_too_far
    if function in _POWERS and len(args) == 2 and all(integers):
        return _has_negative_exponent if args[1].signed else None
    converts = isinstance(function, types.NumberClass) or function in _CONVERSIONS
    if converts and isinstance(args[0], types.Float) and isinstance(sig.return_type, types.Integer):
        return _has_no_integer
    return None


def _divides_by_zero(builder: Any, _sig: Any, args: Any) -> tuple[Any, type, str]:
    return cgutils.is_null(builder, args[1]), ZeroDivisionError, "an integer is divided by 0"


def _shifts_too_far(builder: Any, sig: Any, args: Any) -> tuple[Any, type, str]:
    # A negative number is a large one without a sign.
    bits = min(sig.return_type.bitwidth, 1 << (args[1].type.width - 1))
    fails = builder.icmp_unsigned(">=", args[1], args[1].type(bits))
    return fails, ValueError, "a shift is negative, or has as many bits as the integer"


def _has_negative_exponent(builder: Any, sig: Any, args: Any) -> tuple[Any, type, str]:
    exponent = sig.args[1]
    if isinstance(exponent, types.IntegerLiteral):  # such an argument has no value
        fails = cgutils.bool_t(exponent.literal_value < 0)
    else:
        fails = builder.icmp_signed("<", args[1], args[1].type(0))
    return fails, ValueError, "an integer has a negative exponent"


def _has_no_integer(builder: Any, sig: Any, args: Any) -> tuple[Any, type, str]:
    value, to = args[0], sig.return_type
    # Numbers between two integers round towards zero. 64 bits hold no number just below the least integer.
    above = builder.fcmp_ordered(">=", value, value.type(float(to.minval)))
    below = builder.fcmp_ordered("<", value, value.type(float(to.maxval + 1)))
    return builder.not_(builder.and_(above, below)), ValueError, "a number is no integer of this type"
