"""The report page of a run is complete, self-contained and consistent with the result."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from example_results import made, steady
from html_parsers import Page, share

import evener as ev
from evener.engine.timeline import Slice
from evener.planning.prediction import ElementPrediction, Prediction
from evener.results.energy.meter import Energy
from evener.results.report import curves
from evener.results.report import page as page_module
from evener.results.report.draw import ticks
from evener.results.report.explain import predicted
from evener.results.report.page import page
from evener.results.report.style import STYLE

SPANS = [
    ev.Span(0, "down", "cpu:1#0", compute=0.4, send=0.2, wait=0.2, bytes_sent=2048, active=5),
    ev.Span(0, "down", "cpu:1#1", compute=0.6, receive=0.2, active=7),
    ev.Span(1, "up", "cpu:1#0", compute=0.1, active=9),
    ev.Span(1, "up", "cpu:1#1", compute=0.1, active=0),
]
SLICES = [
    Slice(0, "down", "cpu:1#0", "compute", 0.0, 0.4),
    Slice(0, "down", "cpu:1#0", "send", 0.4, 0.6),
    Slice(0, "down", "cpu:1#1", "compute", 0.1, 0.7),
    Slice(0, "down", "cpu:1#1", "receive", 0.7, 0.9),
    Slice(1, "up", "cpu:1#0", "compute", 0.9, 1.0),
]


def section(text, heading):
    """Return the part of a page under a heading."""
    match = re.search(rf"<section><h2>{heading}</h2>(.*?)</section>", text, re.DOTALL)
    assert match, heading
    return match[1]


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


class TestPage:
    def test_a_real_run(self, tmp_path):
        placed = ev.partition(ev.read("rmat:8"), on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
        r = ev.pagerank(placed, tol=0, max_iter=5)
        r.report(tmp_path / "run.html")
        text = (tmp_path / "run.html").read_text(encoding="utf-8")
        shown = Page(text)
        assert text.startswith("<!doctype html>")
        assert headings(text) == [
            "Supersteps by element",
            "Time axis",
            "Placement",
            "Active vertices by superstep",
            "Out-degrees of the graph",
            "Phases",
            "Parameters and outcome",
        ]
        for element in ("cpu:1#0", "cpu:1#1"):
            assert element in shown.text
        assert f"{placed.statistics.partitions[0].mirrors:,}" in section(text, "Placement")
        assert list(tmp_path.iterdir()) == [tmp_path / "run.html"]

    def test_a_page_loads_nothing(self):
        text = page(made(spans=SPANS, slices=SLICES))
        assert "://" not in text
        assert "url(" not in text
        assert "@import" not in text
        (policy,) = (
            named["content"]
            for named in Page(text).all("meta")
            if named.get("http-equiv") == "Content-Security-Policy"
        )
        assert policy.startswith("default-src 'none';")

    def test_names_are_escaped(self):
        evil = '<script>alert("1")</script>&\''
        spans = [ev.Span(step, evil, evil, compute=0.1, active=3) for step in range(3)]
        slices = [Slice(0, evil, evil, "compute", 0.0, 0.1)]
        text = page(made(spans=spans, slices=slices, parameters={evil: evil}))
        shown = Page(text)
        assert text.count("<script>") == 1
        assert evil in shown.text
        assert any(evil in title for title in shown.titles)

    @pytest.mark.parametrize(
        "edges",
        [
            ([], [], 0),
            ([], [], 3),
            ([0], [0], 1),
        ],
        ids=["empty", "no edge", "a loop"],
    )
    def test_a_result_without_times(self, edges):
        src, dst, n = edges
        text = page(made(graph=ev.Graph.from_edges(src, dst, n=n), seconds=0, edges=0))
        Page(text)
        assert "No time was recorded." in text

    def test_pictures_have_labels(self):
        shown = Page(page(made(spans=SPANS, slices=SLICES)))
        pictures = [named for named in shown.all("svg") if named.get("role") == "img"]
        assert len(pictures) == 5  # two elements' supersteps, the time axis, the frontier, the degrees
        assert all(named["aria-label"].endswith(".") for named in pictures)
        assert all(
            named.get("role") == "img" or named.get("aria-hidden") == "true" or "viewbox" in named
            for named in shown.all("svg")
        )

    def test_tables_scroll_and_have_labels(self):
        shown = Page(page(made(spans=SPANS)))
        regions = shown.all("div", "scroll")
        assert len(regions) == len(shown.all("table")) == 3
        assert all(named["aria-label"] and named["tabindex"] == "0" for named in regions)
        assert all(named["scope"] == "col" for named in shown.all("th"))

    def test_a_long_parameter_is_cut(self):
        many = {"weights": dict.fromkeys(range(1000), 0.5), "values": np.arange(10_000), "text": "x" * 500}
        shown = Page(page(made(parameters=many)))
        assert "1,000 entries" in shown.text
        assert max(map(len, shown.words)) < 200

    def test_a_failed_report_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "run.html"
        path.write_text("before")

        def fail(_):
            raise RuntimeError("no page")

        monkeypatch.setattr(page_module, "page", fail)
        with pytest.raises(RuntimeError, match="no page"):
            made().report(path)
        assert path.read_text() == "before"
        with pytest.raises(ev.FileError):
            made().report(tmp_path / "absent" / "run.html")
        assert list(tmp_path.iterdir()) == [path]


class TestSupersteps:
    def test_heights_are_seconds(self):
        shown = Page(section(page(made(spans=SPANS)), "Supersteps by element"))
        assert len(shown.all("rect", "hit")) == 4
        heights = {
            kind: [float(named["height"]) for named in shown.all("rect", kind) if "y" in named]
            for kind in ("compute", "send", "receive", "wait")
        }
        first = heights["compute"][0]
        assert [height / first for height in heights["compute"]] == pytest.approx(
            [1, 0.25, 1.5, 0.25], rel=1e-2
        )
        assert [height / first for height in heights["send"]] == pytest.approx([0.5], rel=1e-2)
        assert [height / first for height in heights["receive"]] == pytest.approx([0.5], rel=1e-2)
        assert [height / first for height in heights["wait"]] == pytest.approx([0.5], rel=1e-2)

    def test_bars_have_titles(self):
        shown = Page(section(page(made(spans=SPANS)), "Supersteps by element"))
        assert shown.titles[0] == (
            "cpu:1#0, superstep 0: computing 400 ms, sending 200 ms, waiting 200 ms, 2.0 KiB sent, "
            "5 active vertices"
        )
        assert "56% computing, 22% sending, 22% waiting" in shown.text

    def test_many_supersteps_are_folded(self):
        spans = [
            ev.Span(step, "relax", "cpu", compute=0.5, active=step, bytes_sent=1024 * (step < 4))
            for step in range(1500)
        ]
        shown = Page(section(page(made(spans=spans)), "Supersteps by element"))
        assert "Folded: each bar is 4 of 1,500 supersteps." in shown.text
        assert len(shown.all("rect", "hit")) == 375
        assert shown.titles[0] == "cpu, supersteps 0 to 3: computing 2 s, 4.0 KiB sent, 3 active vertices"
        assert shown.titles[-1] == "cpu, supersteps 1,496 to 1,499: computing 2 s, 1,499 active vertices"
        assert "500 more supersteps are not shown." in shown.text

    @pytest.mark.parametrize("elements", [1, 2, 8, 16])
    def test_a_page_has_at_most_480_bars(self, elements):
        spans = [
            ev.Span(step, "relax", f"cpu:1#{e}", compute=0.5) for step in range(1000) for e in range(elements)
        ]
        text = page(made(spans=spans, slices=steady(1000)))
        assert len(Page(section(text, "Supersteps by element")).all("rect", "hit")) <= 480
        assert len(text) < 1_000_000


class TestTimeAxis:
    def test_simultaneous_slices_are_aligned(self):
        shown = Page(section(page(made(spans=SPANS, slices=SLICES)), "Time axis"))
        drawn = [named for named in shown.all("rect") if "x" in named]
        assert len(drawn) == len(SLICES)
        for named, one in zip(drawn, SLICES, strict=True):
            assert named["class"] == one.activity
            assert share(named["x"]) == pytest.approx(one.begin / 1.0, abs=1e-4)
            assert share(named["width"]) == pytest.approx((one.end - one.begin) / 1.0, abs=1e-4)
        tops = [float(named["y"]) for named in drawn]
        heights = [float(named["height"]) for named in drawn]
        assert tops[0] == tops[1] == tops[4] < tops[2] < tops[3]  # one row per element; receiving is below
        assert heights[1] == heights[3] == heights[0] / 2
        assert "busy 70%" in shown.text
        assert "busy 80%" in shown.text

    def test_many_slices_are_folded_into_shares(self):
        slices = steady(2000, compute=0.25)
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        assert "Folded: 2,000 time slices" in shown.text
        columns = [title for title in shown.titles if "superstep" not in title]
        assert 0 < len(columns) <= 480
        # Every column of a few seconds is about a quarter busy.
        assert all(re.search(r": (2[0-9]|30)% computing$", title) for title in columns[:-1])

    def test_folded_shares_are_exact(self):
        # The axis has 480 columns of 4 seconds each, and ends with the last slice.
        slices = [*steady(1920), Slice(1919, "iterate", "cpu", "send", 1919.25, 1920.0)]
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        columns = [title for title in shown.titles if "superstep" not in title]
        assert len(columns) == 480
        assert all(title.endswith(": 25% computing") for title in columns[:-1])
        assert columns[-1].endswith(": 25% computing, 19% sending")

    def test_the_longest_superstep_is_shown_completely(self):
        slices = [*steady(1000), Slice(7, "iterate", "gpu", "receive", 7.0, 9.5)]
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        assert "Superstep 7, the longest 2.5 s" in shown.text
        assert shown.titles[-2:] == [
            "cpu, superstep 7, iterate: computing 250 ms, from 7 s",
            "gpu, superstep 7, iterate: receiving 2.5 s, from 7 s",
        ]

    def test_very_short_slices_are_visible(self):
        slices = [Slice(0, "down", "cpu", "compute", 0.0, 1e-6), Slice(0, "down", "gpu", "send", 0.0, 1.0)]
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        (drawn,) = (named for named in shown.all("rect", "compute") if "x" in named)
        assert share(drawn["width"]) == 0.0005

    def test_only_the_first_slices_of_a_long_superstep_are_shown(self):
        slices = [Slice(3, "relax", "cpu", "compute", float(k), k + 0.5) for k in range(900)]
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        assert "Superstep 3, the longest 15 min; the first 400 of its 900 slices" in shown.text
        single = [title for title in shown.titles if "superstep 3" in title]
        assert len(single) == 400
        assert single[-1] == "cpu, superstep 3, relax: computing 500 ms, from 6 min 39 s"

    @pytest.mark.parametrize(("count", "bounds"), [(1, 0), (2, 2), (60, 60), (61, 0)])
    def test_lines_at_the_beginnings_of_supersteps(self, count, bounds):
        shown = Page(section(page(made(slices=steady(count))), "Time axis"))
        upright = [named for named in shown.all("line", "rule") if named["x1"] == named["x2"]]
        lefts = [share(named["x1"]) for named in upright]
        length = count - 0.75  # to the end of the last slice
        assert sorted(lefts) == pytest.approx([k / length for k in range(bounds)], abs=1e-4)

    def test_numbers_of_supersteps_do_not_overlap(self):
        """Numbers are at least 6% of the width apart, and longer supersteps have priority."""
        begins = [0.0, 50.0, 52.0, 90.0]
        slices = [
            Slice(number, "relax", "cpu", "compute", begin, end)
            for number, (begin, end) in enumerate(pairwise([*begins, 100.0]))
        ]
        shown = Page(section(page(made(slices=slices)), "Time axis"))
        at = [(share(named["x"]), named["y"]) for named in shown.all("text") if named["y"] == "8.0"]
        assert sorted(left for left, _ in at) == [0, 0.52, 0.9]

    def test_a_run_without_slices(self):
        assert "no record of time slices" in section(page(made(spans=SPANS)), "Time axis")


class TestCurves:
    def test_degrees_equal_the_graph(self):
        rng = np.random.default_rng(3)
        graph = ev.Graph.from_edges(
            rng.geometric(0.05, 5000), rng.integers(0, 500, 5000), directed=True, n=500
        )
        degree = np.bincount(np.diff(graph.offsets).astype(int))
        content = section(page(made(graph=graph)), "Out-degrees of the graph")
        titles = Page(content).titles
        assert len(titles) <= 240
        for title in titles:
            count, least = (
                int(word.replace(",", ""))
                for word in re.findall(r"^([\d,]+) vert\w+ with ([\d,]+) out", title)[0]
            )
            assert count == degree[least:].sum()
        assert f"largest {len(degree) - 1:,}, {degree[0]:,} without out-edges." in content
        median = int(np.median(np.diff(graph.offsets).astype(int)))
        assert f"Median {median}" in content

    def test_degrees_by_hand(self, monkeypatch):
        """Two vertices are counted at a time."""
        monkeypatch.setattr(curves, "_VERTICES_COUNTED", 2)
        tails = np.repeat(np.arange(5), [3, 1, 0, 3, 2])
        graph = ev.Graph.from_edges(tails, np.arange(9) % 5, directed=True, n=5)
        content = section(page(made(graph=graph)), "Out-degrees of the graph")
        assert "Median 2, mean 1.8, largest 3, 1 without out-edges." in content
        assert Page(content).titles == [
            "4 vertices with 1 out-edges or more",
            "3 vertices with 2 out-edges or more",
            "2 vertices with 3 out-edges or more",
        ]

    def test_the_frontier_and_its_peak(self):
        active = [1, 30, 4000, 200, 0]
        spans = [ev.Span(step, "down", "cpu", compute=0.1, active=one) for step, one in enumerate(active)]
        shown = Page(section(page(made(spans=spans)), "Active vertices by superstep"))
        assert [title.split(": ")[1] for title in shown.titles] == [
            "1 vertex", "30 vertices", "4,000 vertices", "200 vertices", "0 vertices",
        ]  # fmt: skip
        assert "Logarithmic scale" in shown.text
        assert "4,000 vertices in superstep 2" in shown.text
        heights = [145 - float(named["cy"]) for named in shown.all("circle")]
        assert heights[1] / heights[2] == pytest.approx(np.log10(30) / np.log10(4000), rel=0.02)

    def test_the_text_for_several_sources_explains_the_count(self):
        path = ev.read("grid:1x6")
        several, one = ev.betweenness(path, sources=[0, 5]), ev.bfs(path, source=0)
        explained = [
            "once for each source" in section(page(r), "Active vertices by superstep") for r in (several, one)
        ]
        assert explained == [True, False]

    def test_a_flat_frontier_has_a_linear_scale(self):
        spans = [ev.Span(step, "iterate", "cpu", compute=0.1, active=50) for step in range(5)]
        shown = Page(section(page(made(spans=spans)), "Active vertices by superstep"))
        assert "Logarithmic" not in shown.text

    @pytest.mark.parametrize("count", [2, 3, 5])
    def test_each_superstep_of_a_short_run_has_a_number(self, count):
        spans = [ev.Span(step, "iterate", "cpu", compute=0.1, active=50) for step in range(count)]
        shown = Page(section(page(made(spans=spans)), "Active vertices by superstep"))
        down = [float(named["y"]) for named in shown.all("text")]
        assert down.count(max(down)) == count

    def test_a_long_frontier_is_folded_to_its_peaks(self):
        spans = [ev.Span(step, "relax", "cpu", compute=0.1, active=step % 7) for step in range(1000)]
        shown = Page(section(page(made(spans=spans)), "Active vertices by superstep"))
        assert "each point is the largest of 5 supersteps" in shown.text
        assert "6 vertices in superstep 6" in shown.text
        assert len(shown.titles) == 200


class TestOptionalSections:
    def test_long_compile_time(self):
        r = made(spans=SPANS, seconds=1.2)
        assert "loading or compiling kernels" not in page(r)
        r.timeline.compile_seconds = 0.9
        assert re.search(r"of which loading or compiling kernels.{0,60}900 ms", page(r), re.DOTALL)

    def test_prediction(self):
        r = made(spans=SPANS, seconds=1.2)
        assert "Predicted and measured" not in headings(page(r))
        parts = (ElementPrediction("cpu:1#0", 0.4, 0.1), ElementPrediction("cuda:7", 0.2, 0.0))
        r.prediction = Prediction(parts, seconds=0.8, speedup_over_cpu=1.7)
        shown = Page(section(page(r), "Predicted and measured"))
        assert "Predicted 800 ms (from hardware facts), took 1.2 s (1.5×)." in shown.text
        assert "Predicted 1.7 times the speed of the CPU alone." in shown.text
        assert "GPU" not in shown.text
        assert "cpu:1#0: predicted 500 ms, measured 700 ms" in shown.titles
        rows = re.findall(r"<tr>(<td.*?)</tr>", section(page(r), "Predicted and measured"))
        cells = [re.findall(r">([^<]*)</td>", row) for row in rows]
        assert cells == [
            ["cpu:1#0", "400 ms", "500 ms", "100 ms", "200 ms"],
            ["cuda:7", "200 ms", "-", "0 µs", "-"],
        ]

    def test_prediction_text(self):
        """Sending and receiving count as exchanging. Elements that did not run are omitted."""
        r = made(spans=SPANS, seconds=1.2)
        parts = [("cpu:1#0", 0.3, 0.4), ("cpu:1#1", 0.5, 0.3), ("cuda:7", 0.2, 0.0)]
        r.prediction = Prediction(tuple(ElementPrediction(*part) for part in parts), seconds=0.8, runs=2)
        assert predicted(r.prediction, r) == [
            "Predicted 800 ms (from 2 runs on this machine), took 1.2 s (1.5×).",
            "  cpu:1#0: computing 300 ms, took 500 ms; exchanging 400 ms, took 200 ms",
            "  cpu:1#1: computing 500 ms, took 700 ms; exchanging 300 ms, took 200 ms",
        ]

    def test_energy(self):
        r = made(spans=SPANS, seconds=2.0, edges=6_000_000)
        assert "Energy" not in headings(page(r))
        r.energy = Energy({"host": 30.0, "cuda:0": None}, {"cuda:0": "there is <no> NVML"}, seconds=2.0)
        shown = Page(page(r))
        assert "30 J" in shown.text
        assert "15 W" in shown.text
        assert "energy (only host) 30 J" in shown.text
        assert "per joule 200 k edges" in shown.text
        assert "not measured: there is <no> NVML" in shown.text
        r.energy = Energy({"host": 30.0}, seconds=0.0)
        assert ">30 J</td><td>-</td>" in section(page(r), "Energy")

    def test_placement(self):
        graph = ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
        placed = ev.partition(graph, on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
        content = section(page(ev.bfs(placed, source=0)), "Placement")
        rows = [re.findall(r">([^<]*)</td>", row) for row in re.findall(r"<tr>(<td.*?)</tr>", content)]
        # Vertex 0 has three of the eight stored edges. These edges and their reverses cross.
        assert [row[:6] for row in rows] == [
            ["cpu:1#0", "1", "3", "3", "38%", "3"],
            ["cpu:1#1", "3", "1", "5", "62%", "3"],
        ]
        assert "Policy high" in content
        assert (
            "β = 75% of the edges cross partitions; after aggregation, with one message per mirror, β = 50%."
            in content
        )
        assert "cross partitions" not in section(page(ev.bfs(graph, source=0)), "Placement")

    def test_edges_in_host_memory_do_not_count_as_gpu_memory(self, monkeypatch):
        placed = ev.partition(ev.Graph.from_edges([0], [1]), on="cpu:1")
        (row,) = placed.statistics.partitions
        assert row.own_bytes == row.nbytes > row.host_bytes == 0
        own = dataclasses.replace(row, element="cuda:0", nbytes=3 << 20, host_bytes=1 << 20)
        counted = dataclasses.replace(placed.statistics, partitions=(own,))
        monkeypatch.setattr(type(placed), "statistics", property(lambda _: counted))
        content = section(page(ev.bfs(placed, source=0)), "Placement")
        assert ">2.0 MiB</td><td>1.0 MiB</td>" in content
        assert "3.0 MiB in total" in content


def luminance(colour):
    """Return the relative luminance of WCAG 2."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_colours_have_enough_contrast(place):
    colours = dict(re.findall(r"--(\w+): #(\w+);", STYLE.split(":root {")[place + 1]))
    for name, least in {"ink": 7, "faint": 4.5, "compute": 3, "send": 3, "receive": 3}.items():
        low, high = sorted([luminance(colours[name]), luminance(colours["paper"])])
        assert (high + 0.05) / (low + 0.05) >= least, name


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, [0, 0.5, 1]), (7, [0, 5]), (0.0031, [0, 0.002]), (100, [0, 50, 100]), (0, [0])],
)
def test_ticks_are_round(most, expected):
    assert ticks(most, count=2) == pytest.approx(expected)


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Browser windows are at least 500 pixels wide, so a frame has the width of a phone.
FRAME = """<!doctype html><title>waiting</title>
<script>addEventListener("message", function (event) { document.title = event.data; });</script>
<iframe src="run.html" style="width: 390px; height: 900px; border: 0"></iframe>"""
ASK = """<script>
function count(what) { return document.querySelectorAll(what).length; }
function isCut(fact) { return fact.scrollWidth > fact.clientWidth; }
parent.postMessage([document.documentElement.scrollWidth, innerWidth, count("[data-tip]"), count("g > title"),
  [...document.querySelectorAll("dd")].filter(isCut).length].join(" "), "*");
</script>"""


@pytest.mark.skipif(
    BROWSER is None, reason="there is no chromium, chromium-browser or google-chrome to open it"
)
def test_the_page_fits_the_width_of_a_phone(tmp_path):
    placed = ev.partition(ev.read("rmat:8"), on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
    r = ev.pagerank(placed, tol=0, max_iter=30)
    r.energy = Energy({"host": None}, {"host": "the machine has no RAPL counter"})
    r.edges = 520_759_178_000
    text = page(r)
    (tmp_path / "run.html").write_text(text.replace("</body>", f"{ASK}</body>"), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME, encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "frame.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    wide, window, marks, titles, cut = map(int, re.search(r"<title>([\d ]+)</title>", done.stdout)[1].split())
    assert wide <= window == 390
    assert marks == len(Page(text).titles)
    assert titles == 0  # the script has replaced the titles
    assert cut == 0
