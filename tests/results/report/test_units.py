"""Readable numbers, near the limits of each unit."""

from __future__ import annotations

import pytest

from evener.results.report.units import amount_text, count_text, rate_text, seconds_text, share_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 µs"),
        (9.99e-4, "999 µs"),
        (0.001, "1 ms"),
        (0.9997, "1000 ms"),
        (1, "1 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3605.4, "60 min 5 s"),
        (7200, "2 h"),
        (9e4 + 90, "25 h 2 min"),
        (4e-9, "4 ns"),
        (1e-6, "1 µs"),
    ],
)
def test_seconds(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (999.7, "1000"), (1000, "1 k"), (999_700, "1000 k"), (2.5e15, "2500 T")],
)
def test_counts(count, text):
    assert count_text(count) == text
    assert rate_text(count, of="vertices") == f"{text} vertices/s"


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0004, "0.4 mJ"), (0.9997, "1000 mJ"), (1, "1 J"), (999.7, "1000 J"), (1000, "1 kJ"), (3e6, "3 MJ")],
)
def test_amounts(amount, text):
    assert amount_text(amount, "J") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (1e-9, "<1%"), (0.0099, "<1%"), (0.01, "1%"), (0.625, "62%"), (0.999, ">99%"), (1, "100%")],
)
def test_shares(share, text):
    assert share_text(share) == text
