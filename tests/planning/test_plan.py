"""Plans: the choice among elements, policies and shares, what fits, and what is said of what does not."""

from __future__ import annotations

import errno
import fcntl
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

import evener as ev
from evener import profile
from evener.cli import text
from evener.elements import CpuElement
from evener.partition.column_blocks import BYTES_AN_EDGE
from evener.partition.footprint import beside_edges, tiers_of
from evener.planning import place as auto
from evener.planning.model import Part, Share, predict
from evener.planning.plan import Plan, make_plan
from evener.planning.prediction import ElementPrediction, Prediction
from evener.planning.rates import keep
from evener.planning.sizes import Sizes
from evener.results.report.units import seconds_text
from evener.system.memory import format_bytes
from given_rates import rates

GIB = 1 << 30


class Gpu:
    """As much of a GPU as a plan looks at."""

    kind = "cuda"
    threads = 1
    weight = 800.0

    def __init__(self, name, room):
        self.name, self._room = name, room
        self.memory = name.partition("#")[0]

    def room(self):
        return self._room

    def room_beside(self, taken):
        return self._room - taken


# What a CPU is taken to be slower by, at worst, when a split is chosen.
CPU_MAY_TAKE = 1.15
CPU = CpuElement("cpu", 4)


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:14")


@pytest.fixture(scope="module")
def sizes(graph):
    return Sizes.of(graph)


def beside(graph):
    return beside_edges(graph.n, 0, 0, graph.m, directions=1)


def test_a_gpu_that_holds_the_graph_and_is_faster_has_all_of_it(sizes):
    found = make_plan(sizes, "pagerank", [CPU, Gpu("cuda:0", GIB)], rates(gpu=1e-12, delay=1e-4))
    assert found.on == ("cuda:0",)
    assert found.alpha is None
    assert found.shares[0].mapped == 0
    assert found.prediction.speedup_over_gpu == pytest.approx(1.0)
    assert found.prediction.speedup_over_cpu > 100


def test_a_gpu_that_is_named_twice_has_its_room_once(sizes):
    """For what lies there, then for edges a second time, of which the first element's come first."""
    known, both = rates(gpu=1e-12), {"policy": "random", "all_of_them": True}
    whole = make_plan(sizes, "pagerank", twice(GIB), known, **both)
    assert [share.columns for share in whole.shares] == [True, True]
    for room, mapped, columns in (
        (sum(whole.nbytes) - 1, True, [False, False]),
        (sum(whole.nbytes), False, [False, False]),
        (sum(whole.nbytes) + BYTES_AN_EDGE * whole.shares[0].part.edges, False, [True, False]),
    ):
        found = make_plan(sizes, "pagerank", twice(room), known, **both)
        assert sum(found.nbytes) <= room
        assert [share.mapped > 0 for share in found.shares] == [False, mapped]
        assert [share.columns for share in found.shares] == columns
    with pytest.raises(ev.DeviceOutOfMemory, match="cuda:0#1 has room for "):
        make_plan(sizes, "pagerank", twice(max(whole.nbytes)), known, **both)


def twice(room):
    return [Gpu("cuda:0#0", room), Gpu("cuda:0#1", room)]


def test_a_slow_gpu_is_left_out(sizes):
    found = make_plan(sizes, "pagerank", [CPU, Gpu("cuda:0", GIB)], rates(gpu=1e-6))
    assert found.on == ("cpu",)
    assert found.prediction.speedup_over_cpu == pytest.approx(1.0)


def test_equals_share_and_the_better_alone_is_beaten(sizes):
    found = make_plan(sizes, "pagerank", [CPU, Gpu("cuda:0", GIB)], rates(gpu=1e-9, c=1e15))
    assert found.on == ("cpu", "cuda:0")
    assert found.alpha == pytest.approx(1 / (1 + CPU_MAY_TAKE), abs=0.01)
    assert found.prediction.speedup_over_cpu == pytest.approx(1 / (1 - found.alpha), rel=0.01)


def test_the_less_of_a_graph_fits_the_more_the_cpu_takes(graph, sizes):
    alphas = []
    for fits in (0.8, 0.65, 0.5):
        room = int(beside(graph) + fits * graph.m * 4)
        elements = [CPU, Gpu("cuda:0", room)]
        found = make_plan(sizes, "pagerank", elements, rates(mapped=1e-9, c=1e15), policy="high")
        assert found.on == ("cpu", "cuda:0")
        # Both finish at the same time: the GPU with what it reads across the bus, the CPU, should it be slow.
        cpu, gpu = (e.compute_seconds for e in found.prediction.elements)
        assert CPU_MAY_TAKE * cpu == pytest.approx(gpu, rel=0.05)
        assert found.nbytes[1] <= room
        alphas.append(found.alpha)
    assert alphas == sorted(alphas)


@pytest.mark.parametrize(
    ("spec", "policy", "within"),
    [
        ("rmat:14", "low", 0.03),
        ("rmat:14", "high", 0.02),
        ("rmat:14", "random", 0.1),  # hubs are dealt out by chance
        ("rmat:14,directed", "low", 0.1),  # rows are sorted by both of their lengths
    ],
)
def test_rows_that_stay_with_the_host_are_foreseen(spec, policy, within):
    """As they are once the graph is placed."""
    graph = ev.read(spec)
    elements = [CPU, Gpu("cuda:0", int(beside(graph) * 1.5 + 0.3 * graph.m * 4))]
    found = make_plan(Sizes.of(graph), "bfs", elements, rates(), policy=policy, alpha=0.2, all_of_them=True)
    own = found.shares[1]
    assert 0.1 < own.mapped / own.part.edges < 0.9
    placed = ev.partition(graph, "cpu:1,cpu:1", policy=policy, alpha=0.2).partitions[1]
    far = own.mapped / own.part.edges
    rows = sum(int(np.searchsorted(e.offsets, far * e.count)) for e in placed.directions)
    assert own.mapped_rows == pytest.approx(rows, rel=within)
    assert own.mapped_rows > 20


@pytest.mark.parametrize(
    ("spec", "directions"),
    [("rmat:14", "both"), ("rmat:14,directed", "both"), ("rmat:14,directed", "out"), ("uniform:12", "both")],
)
@pytest.mark.parametrize("fits", [0.03, 0.125, 0.5])
def test_heads_are_foreseen(spec, directions, fits):
    """As many edges find no room beside them as once the graph is placed."""
    graph = ev.read(spec)
    stored = graph.m * (1 + (graph.directed and directions == "both"))
    least = beside_edges(graph.n, 0, 0, stored, directions=1 + (stored > graph.m))
    gpu = Gpu("cuda:0", least + int(fits * stored * 4))
    (share,) = make_plan(Sizes.of(graph, directions), "bfs", [gpu], rates(), all_of_them=True).shares
    (placed,) = ev.partition(graph, "cpu:1", directions=directions).partitions
    found = tiers_of(placed, 0, gpu, heads=directions == "both")
    assert share.mapped / stored == pytest.approx(found.mapped, rel=0.005)
    assert bool(found.most_heads) == (directions == "both")
    if directions == "both":
        # Of the rows of in-edges that are far those without.
        offsets = placed.in_.offsets.astype(np.int64)
        far = slice(found.most_heads, np.count_nonzero(offsets <= found.mapped * offsets[-1]) - 1)
        # What is a long row goes by both directions together.
        of_all = sum(np.diff(e.offsets.astype(np.int64))[far] for e in placed.directions)
        long = of_all >= 8 * len(placed.directions)
        # The plan takes rows of a degree to be alike in each direction.
        within = 0.1 if graph.directed else 0.05
        assert share.bare_long == pytest.approx(long.sum(), rel=within, abs=3)
        assert share.bare_short == pytest.approx(((of_all > 0) & ~long).sum(), rel=within, abs=3)


@pytest.mark.parametrize(
    ("spec", "directions", "edge_bytes"),
    [("rmat:10", 1, 4), ("rmat:10,weights=1..255", 1, 8), ("rmat:10,directed,weights=1..255", 2, 8)],
)
def test_edges_lie_where_there_is_room_for_them(spec, directions, edge_bytes):
    """By hand: what lies beside them comes first, then heads, then edges, then 4 bytes each in columns."""
    graph = ev.read(spec)
    stored = directions * graph.m
    least = beside_edges(graph.n, 0, 0, stored, directions=directions)
    whole = least + stored * edge_bytes

    def placed(room, followed="both"):
        sizes = Sizes.of(graph, followed)
        made = make_plan(sizes, "pagerank", [Gpu("cuda:0", room)], rates(), all_of_them=True)
        return made.shares[0].mapped, made.shares[0].columns, made.nbytes[0]

    assert placed(least) == (stored, False, least)
    assert placed(least + 3 * edge_bytes) == (stored - 3, False, least + 3 * edge_bytes)
    # Of 32 bytes a half is one head, of 1600 they are 50, and the rest is edges.
    assert placed(least + 32) == (stored - 16 // edge_bytes, False, least + 32)
    assert placed(least + 1600) == (stored - 800 // edge_bytes, False, least + 1600)
    if not graph.directed:  # where nobody searches, there are none
        assert placed(least + 1600, "in") == (stored - 1600 // edge_bytes, False, least + 1600)
    assert placed(whole) == (0, False, whole)
    assert placed(whole + 4 * stored - 1) == (0, False, whole)
    assert placed(whole + 4 * stored) == (0, True, whole)
    with pytest.raises(ev.DeviceOutOfMemory, match="cuda:0 has room for"):
        placed(least - 1)


def test_what_is_given_is_kept(sizes):
    elements = [CPU, Gpu("cuda:0", GIB)]
    found = make_plan(sizes, "bfs", elements, rates(), policy="low", alpha=0.3, all_of_them=True)
    assert (found.on, found.policy, found.alpha) == (("cpu", "cuda:0"), "low", 0.3)


def test_all_elements_are_used_where_they_were_named(sizes):
    elements = [CPU, Gpu("cuda:0", GIB)]
    assert make_plan(sizes, "wcc", elements, rates(gpu=1e-12), all_of_them=True).on == ("cpu", "cuda:0")
    several = [Gpu("cuda:0", GIB), Gpu("cuda:1", GIB)]
    assert make_plan(sizes, "wcc", several, rates(), all_of_them=True).on == ("cuda:0", "cuda:1")


def test_what_does_not_fit_is_refused_in_a_sentence(sizes):
    with pytest.raises(
        ev.DeviceOutOfMemory, match=r"cuda:0 has room for 1.0 KiB, .* needs .*larger alpha"
    ) as e:
        make_plan(sizes, "bfs", [Gpu("cuda:0", 1024)], rates())
    assert e.value.available == 1024
    assert e.value.needed > 1024


def test_where_the_gpu_holds_nothing_the_cpu_does_all(sizes):
    assert make_plan(sizes, "bfs", [CPU, Gpu("cuda:0", 1024)], rates()).on == ("cpu",)


def test_a_gpu_in_use_is_left_for_one_that_is_not(sizes):
    elements = [CPU, Gpu("cuda:0", 1024), Gpu("cuda:1", GIB)]
    assert make_plan(sizes, "bfs", elements, rates(gpu=1e-12, delay=1e-4)).on == ("cuda:1",)


def test_what_does_not_fit_is_kept_with_the_reason(sizes):
    found = make_plan(sizes, "bfs", [CPU, Gpu("cuda:0", 1024)], rates())
    assert set(found.alternatives) == {"CPU alone"}
    assert set(found.refused) == {"CPU and GPU", "GPU alone"}
    assert found.leaves_gpus_out == found.refused["GPU alone"]
    assert found.leaves_gpus_out.startswith("cuda:0 has room for 1.0 KiB, and ")
    assert make_plan(sizes, "bfs", [CPU, Gpu("cuda:0", GIB)], rates()).leaves_gpus_out is None
    assert make_plan(sizes, "bfs", [CPU], rates()).leaves_gpus_out is None


def test_speed_ups_are_of_as_many_passes():
    made = Prediction((), seconds=2.0).beside({"CPU alone": 3.0, "GPU alone": 1.0}, passes=4)
    assert made.speedup_over_cpu == 6
    assert made.speedup_over_gpu == 2


def test_the_cpu_alone_is_all_of_its_elements(sizes):
    halves = [CpuElement("cpu:2#0", 2), CpuElement("cpu:2#1", 2)]
    found = make_plan(sizes, "wcc", halves, rates(), all_of_them=True)
    assert found.on == ("cpu:2", "cpu:2")
    assert set(found.alternatives) == {"CPU alone"}
    assert found.prediction.speedup_over_cpu == 1
    beside = make_plan(sizes, "wcc", [*halves, Gpu("cuda:0", GIB)], rates())
    assert beside.alternatives["CPU alone"] == found.alternatives["CPU alone"]


def test_several_cpus_take_the_share_that_is_given(sizes):
    halves = [CpuElement("cpu:2#0", 2), CpuElement("cpu:2#1", 2)]
    found = make_plan(sizes, "wcc", halves, rates(), alpha=0.3, all_of_them=True)
    assert found.alpha == 0.3
    shares = [share.part.edges / sizes.degrees.edges for share in found.shares]
    assert shares == pytest.approx([0.3, 0.7], abs=1e-3)


@pytest.mark.parametrize(("times_slower", "on"), [(49, ("cpu",)), (19, ("cpu", "cuda:0"))])
def test_more_elements_have_to_promise_a_few_percent(sizes, times_slower, on):
    """With a GPU at 1/49 of its speed beside it a CPU takes 0.98 times as long, with one at 1/19 0.95."""
    known = rates(cpu=1e-9, gpu=times_slower * 1e-9, c=1e15, copied=1e15)
    assert make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], known).on == on


@pytest.mark.parametrize(
    ("alpha", "on", "choices"),
    [
        (0, ("cuda:0",), {"GPU alone", "CPU and GPU"}),
        (0.5, ("cpu", "cuda:0"), {"CPU and GPU"}),
        (1, ("cpu",), {"CPU alone", "CPU and GPU"}),
    ],
)
def test_a_share_leaves_out_no_side_that_it_gives_edges_to(sizes, alpha, on, choices):
    """Though the GPU alone would be faster."""
    known = rates(gpu=1e-12, delay=1e-4)
    found = make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], known, alpha=alpha)
    assert found.on == on
    assert set(found.alternatives) == choices


def test_what_fits_with_one_share_is_not_refused_for_another(graph, sizes):
    """Half of the vertices have room on the GPU."""
    elements = [CPU, Gpu("cuda:0", beside(graph) // 2)]
    found = make_plan(sizes, "wcc", elements, rates(), policy="random")
    assert set(found.refused) == {"GPU alone"}
    assert set(found.alternatives) == {"CPU alone", "CPU and GPU"}


def test_passes_take_as_long_as_one_so_many_times(sizes):
    for passes in (0, 1, 10):
        found = make_plan(sizes, "wcc", [CPU], rates(cpu=1e-9), passes=passes)
        assert found.prediction.seconds == pytest.approx(passes * sizes.degrees.edges * 1e-9)
        gpu = make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], rates(gpu=1e-12, delay=1.0), passes=passes)
        assert gpu.on == ("cuda:0",)


@pytest.mark.parametrize(("cpu", "passes"), [(1e6, 1e308), (np.nan, 1)])
@pytest.mark.parametrize("all_of_them", [False, True])
def test_what_takes_no_time_that_can_be_told_is_refused(sizes, cpu, passes, all_of_them):
    elements = [CPU, Gpu("cuda:0", GIB)]
    with pytest.raises(ev.ArgumentError, match=r"passes of wcc take (inf|nan) seconds, .* give fewer passes"):
        make_plan(sizes, "wcc", elements, rates(cpu=cpu), passes=passes, all_of_them=all_of_them)


def test_the_error_of_elements_that_were_named_is_theirs(sizes):
    """Not that of one of them alone, which fits as little."""
    elements = [CPU, Gpu("cuda:0", 1024), Gpu("cuda:1", 1024)]
    with pytest.raises(ev.DeviceOutOfMemory, match=r"a partition of 16,384 vertices"):
        make_plan(sizes, "bfs", elements[1:2], rates(), all_of_them=True)
    with pytest.raises(ev.DeviceOutOfMemory, match=r"a partition of 8,192 vertices"):
        make_plan(sizes, "bfs", elements[1:], rates(), all_of_them=True)
    with pytest.raises(
        ev.DeviceOutOfMemory, match=r"a partition of \d{1,3} vertices"
    ):  # the last alpha, 0.99
        make_plan(sizes, "bfs", elements, rates(), policy="random", all_of_them=True)


def test_the_words_of_a_plan(sizes):
    """Where both are as fast, the CPU gets 0.46, which and 15% are 0.53; 0.54 of the time is 1 / 1.85."""
    found = make_plan(sizes, "pagerank", [CPU, Gpu("cuda:0", GIB)], rates(gpu=1e-9, c=1e15), policy="random")
    edges = [f"{round(share * sizes.degrees.edges):,}" for share in (0.46, 0.54)]
    whole = seconds_text(1e-9 * sizes.degrees.edges)
    lines = text.planned(found).splitlines()
    assert lines[0] == (
        "pagerank on cpu, cuda:0; policy random, alpha 0.46, the share of the edges on the CPU side"
    )
    assert [line.split()[:2] for line in lines[3:5]] == [["cpu", edges[0]], ["cuda:0", edges[1]]]
    took = seconds_text(found.prediction.seconds)
    assert f"In all: {format_bytes(sum(found.nbytes))}, and {took} an iteration" in lines
    assert lines[-4:] == [
        f"CPU and GPU: {took}",
        f"CPU alone: {whole}",
        f"GPU alone: {whole}",
        "Predicted: 1.85 times as fast as the CPU alone and 1.85 times as fast as the GPU alone.",
    ]


def test_what_is_faster_but_no_safe_gain_is_told(sizes):
    """Alone the CPU takes 0.9 of the GPU's time, and if it is 15% slower 1.035 times as long."""
    known = rates(cpu=0.9e-9, gpu=1e-9, delay=1.0)  # exchanging does not pay
    found = make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], known)
    assert (found.on, found.passed_over) == (("cuda:0",), "CPU alone")
    said = "CPU alone is no safe gain: a CPU's times vary, and more elements have to pay."
    assert said in text.planned(found).splitlines()
    found = make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], rates(cpu=0.8e-9, gpu=1e-9, delay=1.0))
    assert (found.on, found.passed_over) == (("cpu",), None)
    assert "no safe gain" not in text.planned(found)
    # Who names the elements asks for no other choice.
    found = make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", GIB)], known, all_of_them=True)
    assert (found.on, found.passed_over) == (("cpu", "cuda:0"), None)


@pytest.mark.parametrize(
    ("algorithm", "each"),
    [("pagerank", "an iteration"), ("wcc", "a run"), ("bfs", "a run from one source")],
)
def test_each_cell_of_a_plan_and_what_its_seconds_are_of(algorithm, each):
    shares = (
        Share("cpu", "cpu", 4, Part(100, 100, 20, 30, 1000)),
        Share("cuda:0", "cuda", 1, Part(300, 300, 30, 20, 7000), mapped=500),
    )
    parts = (ElementPrediction("cpu", 0.5, 0.25), ElementPrediction("cuda:0", 2.0, 0.0))
    made = Plan(
        algorithm, ("cpu", "cuda:0"), "low", 0.125, shares, (1024, 2048), Prediction(parts, 2.0), {}, {}
    )
    lines = text.planned(made).splitlines()
    assert re.split(" {2,}", lines[3]) == ["cpu", "1,000", "-", "100", "20", "1.0 KiB", "500 ms", "250 ms"]
    assert re.split(" {2,}", lines[4]) == ["cuda:0", "7,000", "500", "300", "30", "2.0 KiB", "2 s", "-"]
    assert lines[6] == f"In all: 3.0 KiB, and 2 s {each}"


def test_the_words_for_what_does_not_fit(sizes):
    lines = text.planned(make_plan(sizes, "wcc", [CPU, Gpu("cuda:0", 1024)], rates())).splitlines()
    assert lines[0] == "wcc on cpu"
    assert [
        line for line in lines if line.startswith("GPU alone: does not fit; cuda:0 has room for 1.0 KiB, ")
    ]
    assert "larger alpha" not in lines[-1]
    assert not [line for line in lines if line.startswith("Predicted")]  # there is no other choice


def test_an_algorithm_without_rates_is_refused(sizes):
    with pytest.raises(ev.ArgumentError, match="no rates are known for 'coloring'; choose one of bet"):
        make_plan(sizes, "coloring", [CPU], rates())


# ---- on this machine -----------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Rates measured on tiny graphs, kept where nobody looks for them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(profile, "_SCALES", (8, 10))
    return tmp_path


@pytest.mark.skipif(auto.gpus() > 0, reason="what a machine without a GPU does")
def test_this_machine_is_measured_once(quick, graph, monkeypatch):
    first = ev.plan(graph, "pagerank", passes=10)
    monkeypatch.setattr(profile, "calibrate", None)
    again = ev.plan(graph, "pagerank", passes=10)
    assert first == again
    assert first.on == ("cpu",)
    assert first.prediction.seconds > 0
    assert list((quick / "evener" / "rates").glob("*.json"))


@pytest.mark.usefixtures("quick")
def test_who_needs_rates_while_another_measures_them_waits(monkeypatch, caplog):
    """Each opens the lock's file for itself, so threads wait for one another as processes do."""
    measured, others = [], []

    def calibrate(gpu, **_):
        found = replace(rates(cpu=1.0 + len(measured)), machine=profile.machine(with_gpus=False))
        measured.append(found)
        if len(measured) == 1:
            others.append(pool.submit(profile.rates_of_this_machine, gpu))
            until = monotonic() + 10
            while len(caplog.messages) < 2 and monotonic() < until:
                sleep(0.01)
        keep(found)
        return found

    monkeypatch.setattr(profile, "calibrate", calibrate)
    with ThreadPoolExecutor() as pool:
        found = profile.rates_of_this_machine(None)
    assert [found] == measured == [other.result() for other in others]
    assert caplog.messages[1].startswith("another process is measuring this machine, ")
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("home", ["none", "a file", "no locks"])
def test_where_nothing_can_be_locked_a_machine_is_measured_all_the_same(tmp_path, monkeypatch, home):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", {"none": "", "a file": "/dev/null"}.get(home, str(tmp_path)))
    if home == "none":
        monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(profile, "calibrate", lambda *_, **__: rates())
    assert profile.rates_of_this_machine(None) == rates()


@pytest.mark.skipif(auto.gpus() > 0, reason="what a machine without a GPU does")
def test_the_command_line_measures_this_machine_again(quick, evener):
    done = evener("profile")
    assert done.status == 0, done.err
    (place,) = (quick / "evener" / "rates").glob("*.json")
    before = place.read_bytes()
    assert done.out.startswith("element  ")
    assert f"Kept in {place}." in done.out
    rates = json.loads(before)["rates"]
    for name in ("bfs", "pagerank", "wcc", "sssp", "betweenness"):
        (line,) = [line for line in done.out.splitlines() if f"  {name}  " in line]
        assert float(line.split()[-2]) == pytest.approx(
            rates["cpu"][name]["edge_seconds"][-1] * 1e9, rel=0.01
        )
    nothing = any(rate["edge_seconds"][-1] == 0 for rate in rates["cpu"].values())
    assert ("Where an edge takes 0, " in done.out) == nothing
    again = evener("profile", "--json")
    assert again.status == 0
    assert place.read_bytes() != before
    assert json.loads(again.out)["cpu"] == json.loads(place.read_text())["rates"]["cpu"]


@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1", "gpu", "cuda:99"])
def test_what_cannot_stand_for_all_gpus_is_not_measured(quick, evener, on):
    done = evener("profile", "--on", on)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert on in done.err
    assert not list(quick.glob("**/*.json"))


def test_the_cpu_is_measured_alone_where_that_is_asked(quick, evener):
    assert evener("profile", "--on", "cpu").status == 0
    (place,) = (quick / "evener" / "rates").glob("*.json")
    assert json.loads(place.read_text())["rates"]["machine"]["gpus"] == []
    assert len(list(place.parent.glob("*.lock"))) == 1  # as nobody else measures meanwhile


def test_rates_of_a_gpu_are_written_as_well():
    known = rates(
        cpu=2e-9, gpu=3e-12, pulled=4e-12, beside=5e-9, mapped=6e-11, mapped_row=1.25e-9,
        c={"cpu": 7e9, "cuda": 8e9}, copied=9e9,
    )  # fmt: skip
    lines = text.rates(known).splitlines()
    found = {tuple(re.split(r"  +", line.strip())) for line in lines if "pagerank" in line}
    assert found == {
        ("cpu:4", "pagerank", "2", "0"),
        ("cpu:4, beside a GPU that reads its memory", "pagerank", "5", "0"),
        ("cuda", "pagerank", "0.003", "0"),
        ("cuda, without room for blocks of columns", "pagerank", "0.004", "0"),
        ("cuda, more for what lies in host memory", "pagerank", "0.06", "1.25"),
    }
    assert "from cpu 7.0 GB/s, from cuda 8.0 GB/s; those that lie in a row at 9.0 GB/s" in lines[-1]


def test_rates_of_searches_on_both_are_written_as_well():
    known = rates(share=(2e-9, 3e-9), carried=(1e-3, 4e-9, 2e-9))
    known.shares["bfs"] = replace(known.shares["bfs"], mirrors=(10**9,), mirror_seconds=(5e-9,))
    known.gpu["bfs"] = replace(known.gpu["bfs"], thin_seconds=(7e-9, 9e-9))
    lines = text.rates(known).splitlines()
    assert (
        "A vertex takes more in a sparse graph; divide by the mean number of edges: bfs on cuda 9 ns."
        in lines
    )
    found = [re.split(r"  +", line.strip()) for line in lines]
    assert ["cpu:4, its kernels beside a GPU", "bfs", "2", "3"] in found
    together = "bfs 1 ms, 4 ns a mirror and 2 ns a vertex of the CPU."
    assert lines[-2:] == [
        f"Beside computing, CPU and GPU together take, in a pass over a large graph: {together}",
        "For a mirror, the CPU's kernels take beside a GPU: bfs 5 ns.",
    ]


def test_a_plan_says_what_a_search_on_both_takes_beside_computing(sizes):
    known = rates(share=(1e-15,), carried=(2.0, 0.0, 0.0), gpu=1e-9)
    both = {"policy": "random", "alpha": 0.5, "all_of_them": True}
    found = make_plan(sizes, "bfs", [CPU, Gpu("cuda:0", GIB)], known, **both)
    heads, *rows = text.planned(found).splitlines()[2:5]
    assert re.split(r"  +", heads.strip())[-2:] == ["computing", "beside that"]
    assert [row.split("  ")[-1].strip() for row in rows] == ["2 s", "2 s"]
    assert "exchanging" in text.planned(
        make_plan(sizes, "pagerank", [CPU, Gpu("cuda:0", GIB)], known, **both)
    )


@pytest.mark.skipif(auto.gpus() > 0, reason="what a machine without a GPU does")
def test_without_a_gpu_nothing_is_measured_to_place_a_graph(graph, monkeypatch):
    monkeypatch.setattr(auto, "rates_of_this_machine", None)
    result = ev.bfs(graph, source=1)
    assert [e.kind for e in result.partitioned.elements] == ["cpu"]
    assert result.prediction is None


@pytest.mark.skipif(auto.gpus() > 0, reason="what a machine without a GPU does")
@pytest.mark.usefixtures("quick")
def test_the_command_line_plans(evener):
    done = evener("plan", "rmat:8", "--for", "pagerank")
    assert done.status == 0
    assert "pagerank on cpu" in done.out
    assert "CPU alone" in done.out
    assert "No GPU can be used: " in done.out
    assert "No GPU" not in evener("plan", "rmat:8", "--for", "pagerank", "--on", "cpu").out
    done = evener("plan", "rmat:8", "--for", "coloring")
    assert done.status == 2
    assert "there is no algorithm 'coloring'" in done.err


def test_explain_puts_the_prediction_beside_what_came(graph):
    placed = ev.partition(graph, ["cpu:1", "cpu:1"])
    placed.forecast = lambda _, name, passes: predict(
        [Share(f"cpu:1#{i}", "cpu", 1, Part(1, 1, 1, 1, passes * 10**9)) for i in range(2)],
        name,
        rates(),
        passes=1,
    )
    text = ev.pagerank(placed, tol=0, max_iter=3).explain()
    # Four threads' rate of 1 ns an edge: 3e9 edges on one take 12 s.
    assert "for 12 s" in text
    assert "  cpu:1#1: computing " in text


def test_the_command_line_shows_the_prediction_too(graph, capsys):
    placed = ev.partition(graph, ["cpu:1"])
    parts = (ElementPrediction("cpu:1", 11.0, 1.0),)
    placed.forecast = lambda *_: Prediction(parts, seconds=12.0)
    result = ev.pagerank(placed, tol=0, max_iter=3)
    text.show_result(result, top=0, timeline=False)
    shown = capsys.readouterr().out
    assert "Predicted: the run took " in shown
    assert "for 12 s" in shown
    assert "  cpu:1: computing " in shown
    assert " for 11 s, exchanging 0 µs for 1 s" in shown
    assert text.result_json(result, top=0, timeline=False)["prediction"] == {
        "elements": ({"name": "cpu:1", "compute_seconds": 11.0, "exchange_seconds": 1.0},),
        "seconds": 12.0,
        "speedup_over_cpu": None,
        "speedup_over_gpu": None,
        "beside_computing": False,
    }


@pytest.mark.parametrize("of_all", [False, True])
def test_of_gpus_that_others_use_those_with_room_are_taken(sizes, graph, of_all):
    elements = [CPU, Gpu("cuda:0", 1024), Gpu("cuda:1", GIB), Gpu("cuda:2", GIB)]
    equal = rates(gpu=1e-9, c=1e15)
    if of_all:
        with pytest.raises(ev.DeviceOutOfMemory, match="cuda:0"):
            make_plan(sizes, "pagerank", elements, equal, all_of_them=True)
        return
    found = make_plan(sizes, "pagerank", elements, equal)
    assert found.on == ("cpu", "cuda:1", "cuda:2")
    assert sum(share.part.edges for share in found.shares) == pytest.approx(graph.m, rel=0.01)
    assert "several GPUs" in found.alternatives


def test_a_share_of_a_grid_that_fits_is_not_refused():
    """Of vertices in a row of so regular a graph hardly any have mirrors, whatever their degrees."""
    graph = ev.read("grid:300x300")
    real = ev.partition(graph, ["cpu:1", "cpu:1"], policy="high", alpha=0.5).partitions[1]
    needs = beside_edges(real.owned, real.mirrors, real.mirrors, real.stored_edges, directions=1)
    gpu = Gpu("cuda:0", int(1.05 * needs) + 4 * real.stored_edges)
    found = make_plan(Sizes.of(graph), "bfs", [CPU, gpu], rates(), policy="high", alpha=0.5, all_of_them=True)
    assert found.shares[1].mapped == 0
    assert found.shares[1].part.mirrors == pytest.approx(real.mirrors, rel=0.1, abs=300)
