"""Wrong answers for tests of the verifiers."""

from __future__ import annotations

import re

import pytest

from evener.errors import VerificationError
from evener.spec.verify import Claim, verify


def claim(algorithm, graph, parameters=None, **arrays):
    return Claim(algorithm, graph, arrays, parameters or {})


def refused(answer, rule=None):
    with pytest.raises(VerificationError, match=rule and re.escape(rule)) as caught:
        verify(answer)
    return str(caught.value)


def changed(array, **positions):
    """Return a copy of the array with some entries replaced: ``v3=7`` sets entry 3 to 7."""
    copy = array.copy()
    for name, value in positions.items():
        copy[int(name[1:])] = value
    return copy
