"""Axes: at least one label other than 0, few of them, round and different, for any largest value."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evener as ev
from evener.engine.timeline import Slice, Span
from evener.results.report.bars import superstep_bars
from evener.results.report.curves import degree_curve, frontier_curve
from evener.results.report.draw import ticks, time_ticks
from evener.results.report.gantt import gantt
from evener.results.report.units import count_text, seconds_text

SECONDS = st.floats(-9, 5).map(lambda power: 10.0**power)
MOST = 7  # labels of an axis, with 0


def assert_labels(labels):
    assert any(label != "0" for label in labels)
    assert len(labels) == len(set(labels)) <= MOST


def left_labels(page):
    """Return the labels to the left of each picture of a page."""
    beside = re.findall(r'<svg aria-hidden="true" width="100%"[^>]*>(.*?)</svg>', page)
    return [re.findall(r"<text[^>]*>([^<]*)</text>", one) for one in beside]


def bottom_labels(page):
    """Return the labels in the lowest line of the only picture of a page."""
    found = re.findall(r'<text(?: class="(?:mid|end)?")? x="[^"]*" y="([^"]*)">([^<]*)</text>', page)
    lowest = max(float(y) for y, _ in found)
    return [label for y, label in found if float(y) == lowest]


@given(SECONDS, st.integers(2, 6))
def test_ticks_of_seconds(longest, count):
    for found in (ticks(longest, count=count), time_ticks(longest, count=count)):
        assert 2 <= len(found) <= count + 1
        assert found[0] == 0
        assert found[-1] <= longest * (1 + 1e-6)
        steps = np.diff(found)
        assert steps == pytest.approx(steps[0])
        if longest < 120:
            assert f"{steps[0]:.6e}"[0] in "125"
        assert_labels([seconds_text(mark) if mark else "0" for mark in found])


@given(st.integers(1, 10**15), st.integers(2, 6))
def test_ticks_of_vertices_and_bytes_are_whole(most, count):
    found = ticks(most, count=count, least=1)
    assert all(mark == round(mark) for mark in found)
    assert_labels([count_text(mark) for mark in found])


@pytest.mark.parametrize("longest", [1e-9, 3.7e-8, 4.1e-5, 0.012, 0.045, 0.999, 59.9, 121, 1501, 7201, 1e5])
@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
def test_bars_and_gantt(longest, steps):
    spans = [Span(i, "work", "cpu", compute=longest / (1 + i % 3), active=1 + i) for i in range(steps)]
    timeline = ev.Timeline(spans)
    for labels in left_labels(superstep_bars(timeline)):
        assert_labels(labels)
    begins = np.cumsum([0, *(span.compute for span in spans)])
    timeline.slices.extend(
        Slice(i, "work", "cpu", "compute", float(begins[i]), float(begins[i + 1])) for i in range(steps)
    )
    for picture in re.findall(r"<figure.*?</figure>", gantt(timeline)):
        assert_labels(bottom_labels(picture))


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=30))
def test_curve_of_active_vertices(active):
    page = frontier_curve(ev.Timeline([Span(i, "work", "cpu", active=n) for i, n in enumerate(active)]))
    if any(active):
        for labels in left_labels(page):
            assert_labels(labels)
        assert_labels(bottom_labels(page))


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=8))
def test_curve_of_degrees(degrees):
    sources = np.repeat(np.arange(len(degrees)), degrees)
    graph = ev.Graph.from_edges(sources, np.zeros(len(sources), int), n=len(degrees), directed=True)
    page = degree_curve(graph)
    if any(degrees):
        for labels in left_labels(page):
            assert_labels(labels)
            assert all(float(label.split()[0]) >= 1 for label in labels)
        assert_labels(bottom_labels(page))
