"""Eccentricity and diameter on a GPU."""

from __future__ import annotations

from algorithms.test_eccentricity import TestDiameter as _DiameterOnCpus
from algorithms.test_eccentricity import TestEccentricity as _EccentricityOnCpus


class TestEccentricity(_EccentricityOnCpus):
    kind = "cuda:0"


class TestDiameter(_DiameterOnCpus):
    kind = "cuda:0"
