"""The sums of a timeline, compared with sums by hand."""

from __future__ import annotations

import pytest

from evener.engine.timeline import Slice, Span, Timeline


@pytest.fixture
def two_elements():
    """Two supersteps on two elements of the same name: the second is slower first, then the first."""
    return Timeline(
        [
            Span(0, "down", "cpu:1", compute=1.0, send=0.5, wait=2.5, bytes_sent=100, active=3),
            Span(0, "down", "cpu:1", compute=3.0, receive=1.0, bytes_sent=20, active=4),
            Span(1, "up", "cpu:1", compute=2.0, active=9),
            Span(1, "up", "cpu:1", compute=1.5, wait=0.5, active=0),
        ]
    )


def test_a_superstep_lasts_as_long_as_its_busiest_element(two_elements):
    first, second = two_elements.by_superstep()
    assert (first.superstep, first.phases, first.active) == (0, ("down",), 7)
    assert (first.compute, first.exchange, first.wait) == (3.0, 1.0, 0.0)
    assert first.seconds == 4.0
    assert first.bytes_sent == 120
    assert (second.compute, second.exchange, second.wait, second.active) == (2.0, 0.0, 0.0, 9)


def test_elements_of_the_same_name_get_numbers(two_elements):
    assert two_elements.elements == ("cpu:1", "cpu:1#2")
    sums = two_elements.by_phase()
    assert sums["down", "cpu:1"].compute == 1.0
    assert sums["down", "cpu:1#2"].compute == 3.0
    assert sums["up", "cpu:1#2"].wait == 0.5


def test_phases_are_summed_over_supersteps():
    timeline = Timeline(
        [Span(step, "pull", "cpu", compute=0.25, bytes_sent=8, active=2) for step in range(4)]
    )
    (span,) = timeline.by_phase().values()
    assert (span.superstep, span.compute, span.bytes_sent, span.active) == (4, 1.0, 32, 8)


def test_phases_are_summed_in_each_superstep_of_an_element(two_elements):
    two_elements.add(Span(1, "apply", "cpu:1", compute=0.5, send=0.25, bytes_sent=7, active=2))
    sums = two_elements.by_superstep_and_element()
    assert list(sums) == [(0, "cpu:1"), (0, "cpu:1#2"), (1, "cpu:1"), (1, "cpu:1#2")]
    one = sums[1, "cpu:1"]
    assert (one.phase, one.compute, one.send, one.bytes_sent, one.active) == ("up, apply", 2.5, 0.25, 7, 9)
    assert sums[0, "cpu:1#2"].element == "cpu:1#2"
    assert [span.compute for span in two_elements] == [1.0, 3.0, 2.0, 1.5, 0.5]  # unchanged


def test_several_phases_of_one_superstep_stay_in_order():
    timeline = Timeline([Span(0, "gather", "cpu", compute=1.0), Span(0, "apply", "cpu", compute=2.0)])
    (step,) = timeline.by_superstep()
    assert step.phases == ("gather", "apply")
    assert step.compute == 3.0


def test_shares_sum_to_one(two_elements):
    shares = two_elements.shares()
    assert shares == pytest.approx((7.5 / 12, 0.5 / 12, 1.0 / 12, 3.0 / 12, 0))
    assert sum(shares) == pytest.approx(1)


def test_overhead_is_the_time_between_spans(two_elements):
    """Two elements run for 15 seconds each; their spans cover 12 of the 30 seconds."""
    two_elements.seconds = 15.0
    shares = two_elements.shares()
    assert shares == pytest.approx((7.5 / 30, 0.5 / 30, 1.0 / 30, 3.0 / 30, 18 / 30))
    two_elements.seconds = 1.0  # less than the sum of the spans
    assert two_elements.shares().overhead == 0


def test_slices_beyond_the_limit_are_only_counted(monkeypatch):
    monkeypatch.setattr("evener.engine.timeline._MAX_SLICES", 2)
    timeline = Timeline()
    for k in range(5):
        timeline.add_slice(Slice(0, "on", "cpu", "compute", k, k + 0.5))
    assert [one.begin for one in timeline.slices] == [0, 1]
    assert timeline.more_slices == 3


def test_an_empty_timeline():
    timeline = Timeline()
    assert timeline.supersteps == 0
    assert timeline.by_superstep() == []
    assert timeline.shares() == (0, 0, 0, 0, 0)
    assert timeline.to_arrow().num_rows == 0


def test_spans_become_a_table(two_elements):
    table = two_elements.to_arrow()
    assert table.column_names == [
        "superstep", "phase", "element", "compute", "send", "receive", "wait", "bytes_sent", "active",
    ]  # fmt: skip
    assert table.column("compute").to_pylist() == [1.0, 3.0, 2.0, 1.5]
    assert str(table.schema.field("bytes_sent").type) == "int64"


def test_iteration_length_and_repr(two_elements):
    assert [span.superstep for span in two_elements] == [0, 0, 1, 1]
    assert len(two_elements) == 4
    assert repr(two_elements) == "<Timeline: 2 supersteps, 4 spans, 12 s in all>"
    two_elements.add(Span(2, "up", "cpu:1"))
    assert two_elements.supersteps == 3
