"""Every benchmark runs on tiny inputs, without rivals that may not be installed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import missing

FOLDER = Path(__file__).parent.parent / "benchmarks"

TINY = {
    "cpu_rivals": [
        *("--scale", "8", "--sources", "4", "--rounds", "1", "--rivals", "scipy"),
        *("--graphs", "rmat"),
    ],
    "primitives_cpu": ["--graphs", "rmat:8", "--rounds", "1", "--rivals"],
    "primitive_floors": [
        *("--graphs", "rmat:8", "--rounds", "1"),
        *("--tasks", "label_propagation", "closeness", "spanning_forest", "jaccard", "random_walks", "scc"),
    ],
    "partitions": ["--scale", "8", "--sources", "2", "--policies", "random"],
    "divisions": ["--graphs", "rmat:8", "grid:9x9", "rmat:8,directed"],
    "building": ["--scale", "8", "--rounds", "1", "--rivals", "SciPy"],
    "text_input": ["--edges", "2000", "--rounds", "1"],
    "names_input": ["--edges", "2000", "--rounds", "1", "--contenders", "evener", "polars"],
    "ingestion": ["--edges", "2000", "--rounds", "1"],
    "networkx_conversion": ["--sizes", "2000", "--string-edges", "2000", "--rounds", "1"],
    "networkx_functions": ["--edges", "2000", "--rounds", "1"],
    "memory_limit": ["--edges", "2000", "--ranks", "2", "--limit", "2_000_000_000"],
    "generation": ["--scale", "8", "--rounds", "1", "--rivals"],
    "checkpoint": ["--scale", "8", "--rounds", "1"],
    "startup": ["--graph", "grid:3x3", "--repeats", "1", "--algorithms", "wcc"],
    "largest": ["--scale", "8", "--on", "cpu:1", "--sources", "2", "--rounds", "1", "--iterations", "2"],
    "from_file": ["--scale", "8", "--on", "cpu:1"],
    "own_cost": ["--scale", "8", "--rounds", "1"],
    "own_operators": ["--scale", "8", "--rounds", "1", "--cases", "weights", "uses", "jobs"],
    "planner_regret": [],
    "differential": ["--graphs", "10", "--seed", "7"],
    "verification_mutations": ["--mutations", "50", "--by-command", "5", "--on-ranks", "5"],
    "ranks_on_gpus": [
        *("--one", "cpu:1", "--two", "cpu:1,cpu:1", "--on-ranks", "cpu:1", "--transports", "mpi"),
        *("--scales", "7", "--sources", "2", "--rounds", "1"),
    ],
    "scaling": [
        *("--strong", "rmat:7", "--weak", "6", "--ranks", "1", "2", "--tasks", "pagerank"),
        *("--rounds", "1", "--turns", "1"),
    ],
    "simulate": ["--graph", "rmat:7", "--machines", "2", "16", "--rates", "1e9", "2e9"],
    "networkx_suite": ["--suite", "networkx.algorithms.tests.test_isolate", "--processes", "2"],
    "several_gpus": [
        *("--on", "cpu:1", "cpu:1,cpu:1", "--scales", "7", "--weak", "7"),
        *("--sources", "4", "--rounds", "1"),
    ],
}
# Benchmarks that need a GPU.
TINY_ON_GPU = {
    "placing": ["--graphs", "rmat:8", "--rounds", "1"],
    "gpu_arrays": ["--scales", "8", "--rounds", "1", "--host-rounds", "1"],
    "gpu_rivals": ["--scales", "8", "--sources", "4", "--rounds", "1"],
    "primitives_gpu": ["--graphs", "rmat:8", "--rounds", "1"],
    "primitive_floors": ["--on", "cuda:0", "--graphs", "rmat:8", "--rounds", "1"],
    "hybrid": [
        *("--scale", "10", "--fits", "0.5", "--step", "0.5", "--policies", "high"),
        *("--sources", "2", "--rounds", "1"),
    ],
}


def test_every_benchmark_is_tested():
    shared = {"floors", "gap", "gpu_floors", "harness", "machine", "on_ranks", "plot", "plot_gpu", "rivals"}
    shared |= {"plot_scaling", "pyspark_gimv", "simulation", "oracles", "outside", "small_graphs"}
    shared |= {"cpu_floors", "counted_work", "plain_answers", "gpu_simulation"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*TINY, *TINY_ON_GPU, *shared}


def run(name, words):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--no-record", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Benchmarks that take more than ten seconds with any options.
LONG = {"own_operators", "startup", "own_cost", "memory_limit", "differential", "verification_mutations"}
LONG |= {"cpu_rivals", "ranks_on_gpus", "ingestion", "partitions", "scaling"}
# Figures that take as long, and run the code of others.
LONG |= {"g16_fig6", "s13_fig1", "s13_fig9"}


def marked(names):
    return [pytest.param(name, marks=[pytest.mark.release] * (name in LONG)) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(TINY))
def test_a_benchmark_runs(name):
    out = run(name, TINY[name])
    words = "evener Evener partition checkpoints T13 regret times predicted noticed contiguous"
    assert any(word in out for word in words.split())


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.skipif(missing() is not None, reason=f"no GPU can be used: {missing()}")
@pytest.mark.parametrize("name", TINY_ON_GPU)
def test_a_gpu_benchmark_runs(name):
    out = run(name, TINY_ON_GPU[name]).lower()
    assert any(word in out for word in ("pagerank", "placing", "triangles"))


# ---- the papers' figures ----------------------------------------------------------------------------

T12 = (2, 3, 6, 7, 8, 9, 10, 11)
T13 = (2, 3, 4, 7, 8, 9, 10, 13, 15, 16, 19, 20, 21)
FIGURES = [*(f"t12_fig{number}" for number in T12), *(f"t13_fig{number}" for number in T13)]
# Figures of papers about several machines.
ON_RANKS = [*(f"g16_fig{number}" for number in (3, 4, 5, 6, 7, 9)), "s13_fig7", "s13_fig11"]
TINY_FIGURES = ["--scale", "7", "--sources", "2", "--iterations", "2", "--rounds", "2"]


@pytest.fixture(scope="module")
def figures():
    """Import the modules of the figures from their folder, which is not a package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER / "figures"))
        names = ("output", "bench", "cache", "harness", "page", "projections", "spent", "sweep", *FIGURES)
        names += ("totem", *ON_RANKS)
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})


@pytest.fixture
def written(figures, monkeypatch, tmp_path):
    """Redirect records, page and plots to a folder, and return the folder."""
    monkeypatch.setattr(figures.harness, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(figures.page, "PLACE", tmp_path / "figures.md")
    monkeypatch.setattr(figures.output, "draw", lambda _: None)
    return tmp_path


def options_of(figures, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["all.py", *words])
    options = figures.output.options_of_all()
    options.half = None
    return options


def row(**values):
    """Return a run of a sweep on a CPU and a GPU that reads an eighth of the edges across the bus."""
    cpu = {"element": "cpu", "kind": "cpu", "edges": 40, "mapped_edges": 0}
    gpu = {"element": "cuda:0", "kind": "cuda", "edges": 40, "mapped_edges": 10}
    busy = {
        "cpu": {"compute": 3.0, "send": 0.25, "receive": 0.25, "wait": 0.5},
        "cuda:0": {"compute": 1.0, "send": 0.5, "receive": 0.5, "wait": 2.0},
    }
    return {
        "graph": "rmat:7", "on": "cpu,cuda:0", "task": "bfs", "policy": "random", "alpha": 0.5,
        "planned": False, "alpha_placed": 0.5, "beta": 0.5, "beta_aggregated": 0.02, "stored_edges": 80,
        "values_per_second": 40.0, "median_seconds": 4.0, "predicted_seconds": 5.0,
        "edges_per_second": 20.0, "elements": [cpu, gpu], "busy": busy, **values,
    }  # fmt: skip


TINY_ON_RANKS = {
    "g16_fig3": ["--scales", "6", "--seeds", "1"],
    "g16_fig6": ["--scale", "7", "--rounds", "1"],
    "s13_fig7": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(TINY_ON_RANKS))
def test_figures_on_ranks_run(name):
    assert "The paper: " in run(f"figures/{name}", TINY_ON_RANKS[name])


# Figures that choose owners and run no algorithm.
TINY_PARTITIONS = {
    "g16_fig8": ["--scales", "6", "--parts", "8", "--rounds", "1"],
    "g16_table1": ["--scale", "6", "--policies", "C-PG", "DP-OH"],
    "s13_fig10": ["--scales", "6", "7", "--nodes", "4"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY_PARTITIONS)
def test_figures_of_partitions_run(name):
    assert run(f"figures/{name}", TINY_PARTITIONS[name])


# Figures of GIM-V as MapReduce, without PySpark.
TINY_STAGES = {
    "s13_fig1": ["--scale", "6", "--elements", "1", "2", "--rounds", "1"],
    "s13_fig8": ["--scale", "6", "--on", "cpu", "cpu:1", "--rounds", "1"],
    "s13_fig9": ["--scale", "6", "--rounds", "1"],
    "s13_fig13": ["--scales", "6", "--rounds", "1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(TINY_STAGES))
def test_figures_of_stages_run(name):
    assert "paper" in run(f"figures/{name}", TINY_STAGES[name])


def test_every_figure_has_a_script(figures):
    assert figures.output.NAMES == FIGURES
    assert [*figures.output.ON_RANKS] == ON_RANKS


@pytest.mark.parametrize("name", [*FIGURES, *ON_RANKS])
def test_a_script_has_its_question_and_the_result_of_the_paper(figures, name):
    figure = getattr(figures, name)
    first, *rest = figure.__doc__.splitlines()
    paper, number = name.upper().split("_FIG")
    assert first.startswith("Question: ")
    assert first.endswith(f"({paper}, figure {number}).")
    assert any(line.startswith("The paper ") for line in rest)
    assert f"    python benchmarks/figures/{name}.py" in figure.__doc__
    assert figure.TITLE
    assert figure.PAPER


def test_a_placement_that_several_figures_need_is_run_once(figures, monkeypatch):
    options = options_of(figures, monkeypatch, "--scale", "7", "--on", "cpu:1,cpu:1")
    needing = (figures.t12_fig7, figures.t13_fig9, figures.t13_fig19)
    todo = figures.sweep.merged([case for figure in needing for case in figure.cases(options)])
    assert len(todo) == len(set(todo)) == 1 + 3 * 4  # the CPU alone, and three policies at four shares
    assert todo[0].on == "cpu:1"
    tasks = {(case.policy, case.alpha): case.tasks for case in todo}
    assert tasks["random", 0.5] == ("bfs", "pagerank", "betweenness")
    assert tasks["high", 0.5] == ("bfs", "betweenness")


@pytest.mark.slow
@pytest.mark.release
def test_figures_of_one_task_alone(figures, monkeypatch, written):
    tasks = ["pagerank"]
    some = ["--only", "t12_fig8", "t13_fig4", "t13_fig20", "--alphas", "0.5", "--tasks", *tasks]
    options = options_of(figures, monkeypatch, *TINY_FIGURES, "--on", "cpu:1,cpu:1", *some)
    cases = figures.sweep.only(figures.t13_fig20.cases(options), tasks)
    assert {task for case in cases for task in case.tasks} == set(tasks)
    assert {case.planned for case in cases} == {None, *tasks}
    # A placement that is only counted runs no task.
    counted = figures.t13_fig4.cases(options)
    assert figures.sweep.only(counted, tasks) == counted
    with pytest.raises(SystemExit) as ended:
        figures.output.produce(figures.output.names_of(options), options)
    assert ended.value.code == 0
    record = json.loads((written / "results" / "figures" / "t13_fig20.json").read_text())
    assert {row["task"] for row in record["rows"]} == set(tasks)
    assert "BFS was not run" in record["here"]


def test_an_answer_equal_to_a_verified_answer_is_not_verified_again(figures, monkeypatch):
    verified = []
    monkeypatch.setattr(ev, "verify", verified.append)
    graph = ev.read("rmat:6")
    right, wrong, other = (ev.wcc(graph) for _ in range(3))
    wrong["component"][3] += 1
    checked = figures.harness.Checked(apart=0)
    for question in (("a", 1), ("a", 2), ("b", 1)):
        checked.check(right, "component", question)
    checked.check(other, "component", ("a", 1))
    assert verified == [right] * 3
    checked.check(other, "component", ("a", 1), verify=True)
    assert verified[3:] == [other]
    with pytest.raises(ev.VerificationError, match=r"has .* for vertex 3 where a verified run has"):
        checked.check(wrong, "component", ("b", 1))
    checked.forget("a")
    checked.check(right, "component", ("b", 1))
    checked.check(other, "component", ("a", 2))
    assert verified[4:] == [other]


def test_density_graphs_have_equal_edges_and_different_vertices(figures, monkeypatch):
    options = options_of(figures, monkeypatch, "--scale", "10")
    graphs = [ev.read(spec) for spec in figures.sweep.density_graphs(options)]
    assert [graph.n for graph in graphs] == [1 << 9, 1 << 10, 1 << 11, 1 << 12]
    for graph in graphs:  # 2^12 edges are drawn; self-loops and duplicates are dropped
        assert 0.6 < graph.m / (2 << 12) <= 1


def test_achieved_and_predicted_speedups(figures, monkeypatch):
    options = options_of(figures, monkeypatch, "--scale", "7", "--on", "cpu,cuda:0")
    alone = row(on="cpu", policy=None, alpha=None, median_seconds=8.0, predicted_seconds=9.0)
    (found,) = figures.projections.speedups([row(), alone, row(task="pagerank")], options, ["bfs"])
    assert found["achieved"] == 2
    assert found["evener_model"] == pytest.approx(9 / 5)
    # By hand: r_cpu is 80 edges in 8 s = 10, and c is 40, so (1 / 10) / (0.02 / 40 + 0.5 / 10).
    assert found["equation_4"] == pytest.approx(1.98019802)


# T13, figure 2 (left): beta 5% and c 3 BE/s, here with alpha 0.6 and r_cpu 1 BE/s.
@pytest.mark.parametrize(
    ("alpha", "beta", "r_cpu", "c", "speedup"),
    [
        (0.6, 0.05, 1e9, 3e9, 1 / (0.05 / 3 + 0.6)),
        (1.0, 1.0, 1e9, 3e9, 0.75),  # every edge crosses and the CPU keeps all edges: slower
        (0.5, 0.02, 1e9, np.inf, 2.0),  # free communication: 1 / alpha
    ],
)
def test_equation_4(figures, alpha, beta, r_cpu, c, speedup):
    assert figures.totem.speedup(alpha, beta, r_cpu, c) == pytest.approx(speedup)


def test_agreement_of_a_model(figures):
    rows = [{"achieved": achieved, "m": 2 * achieved} for achieved in (1.0, 2.0, 4.0)]
    assert figures.projections.agreement(rows, "m") == {
        "pearson": pytest.approx(1.0),
        "mean_error": pytest.approx(1.0),
    }
    assert figures.projections.agreement(rows[:1], "m")["pearson"] is None


def test_breakdown_of_run_time(figures):
    (found,) = figures.spent.with_bottleneck([figures.projections.breakdown(row())])
    times = {name: found[name] for name in ("cpu_compute", "accelerator_compute", "communication", "total")}
    assert times == {"cpu_compute": 3.0, "accelerator_compute": 1.0, "communication": 1.0, "total": 4.0}
    assert found["bottleneck"] == "CPU"
    assert found["mapped_share"] == 0.125


def test_with_cpu_elements_only_the_first_is_the_cpu(figures):
    both = [{"element": "cpu:1#0", "kind": "cpu"}, {"element": "cpu:1#1", "kind": "cpu"}]
    assert figures.projections.sides({"elements": both}) == (["cpu:1#0"], ["cpu:1#1"])


def test_largest_share_that_fits_on_the_gpu(figures):
    def at(alpha, mapped):
        return row(alpha=alpha, elements=[{"mapped_edges": mapped}])

    rows = [at(0.8, 0), at(0.5, 0), at(0.3, 8), at(0.1, 20)]
    assert figures.projections.largest_fitting(rows)["alpha"] == 0.5
    assert figures.projections.largest_fitting(rows[2:])["alpha"] == 0.3


def test_best_alpha_of_each_configuration(figures, monkeypatch):
    options = options_of(figures, monkeypatch, "--scale", "7", "--on", "cpu,cuda:0")
    options.half = "cpu:8"
    alone = row(on="cpu", policy=None, alpha=None, edges_per_second=10.0)
    slower = row(alpha=0.8, edges_per_second=15.0)
    found = figures.projections.configurations([alone, slower, row()], options, ["rmat:7"], ["bfs"])
    assert [(each["configuration"], each["alpha"], each["over_cpu"]) for each in found] == [
        ("2S", None, 1.0),
        ("2S1G", 0.5, 2.0),
    ]
    assert figures.sweep.configurations(options)["1S1G"] == "cpu:8,cuda:0"


def test_figures_that_need_other_elements(figures):
    def lacking(name, on):
        return figures.output.lacking(getattr(figures, name), on)

    assert "needs a GPU" in lacking("t13_fig21", "cpu:1,cpu:1")
    assert "needs two accelerators" in lacking("t12_fig11", "cpu,cuda:0")
    assert "needs a second element" in lacking("t12_fig7", "cpu")
    assert lacking("t12_fig11", "cpu:1,cpu:1,cpu:1") is None
    assert [name for name in FIGURES if lacking(name, "cpu:1,cpu:1")] == ["t12_fig11", "t13_fig21"]


def test_parse_perf_counters(figures):
    loads, misses = "41023,,LLC-loads,1203,100.00,,", "8211,,LLC-load-misses:u,1203,100.00,20.02,of all"
    assert figures.cache._counts(f"{loads}\n{misses}\n") == {"loads": 41023, "misses": 8211}
    assert figures.cache._counts(f"<not supported>,,LLC-loads,0,100.00,,\n{misses}\n") is None


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def read_record(folder, name):
    text = (folder / "results" / "figures" / f"{name}.json").read_text()
    return json.loads(text, parse_constant=no_constant)


@pytest.mark.slow
@pytest.mark.release
def test_all_figures_of_one_tiny_sweep(figures, written, monkeypatch):
    words = ["--scale", "7", "--sources", "1", "--iterations", "1", "--rounds", "1"]
    options = options_of(figures, monkeypatch, *words, "--on", "cpu:1,cpu:1,cpu:1")
    with pytest.raises(SystemExit) as ended:
        figures.output.produce(figures.output.NAMES, options, keep_runs=True)
    assert ended.value.code == 0
    made = [name for name in FIGURES if name != "t13_fig21"]  # it compares two kinds of processor
    for name in made:
        record = read_record(written, name)
        assert record["rows"]
        assert record["here"]
        assert record["left out"] == {}
        assert record["command"].startswith("python benchmarks/figures/all.py --scale 7")
        assert getattr(figures, name).panels(record["rows"])
        assert f"## {figures.page.numbered(name)}: " in (written / "figures.md").read_text()

    # The recorded runs alone give the same figures, and any part of the runs gives figures.
    before = {name: read_record(written, name)["rows"] for name in made}
    figures.output.again(options_of(figures, monkeypatch, "--again", "--on", "cpu"))
    assert {name: read_record(written, name)["rows"] for name in made} == before
    runs = read_record(written, "runs")["rows"]
    options.on = "cpu:1,cpu:1,cpu:1"
    for name in made:
        figure = getattr(figures, name)
        for part in (runs[:count] for count in range(0, len(runs), 50)):
            rows = figure.rows(part, options)
            if rows:
                assert figure.here(rows)
                figure.panels(rows)


def test_runs_after_a_spent_budget_are_recorded_as_left_out(figures, written, monkeypatch):
    options = options_of(figures, monkeypatch, *TINY_FIGURES, "--on", "cpu:1,cpu:1", "--budget", "-1")
    with pytest.raises(SystemExit) as ended:
        figures.output.produce(["t12_fig2", "t13_fig9"], options, keep_runs=True)
    assert ended.value.code == 0
    assert read_record(written, "t12_fig2")["rows"]  # runs nothing
    assert not (written / "results" / "figures" / "t13_fig9.json").exists()
    left_out = read_record(written, "runs")["left out"]
    assert len(left_out) == 1 + 3 * 4
    assert set(left_out.values()) == {"the budget of -1 s was spent"}


@pytest.mark.slow
def test_a_wrong_answer_is_left_out_of_the_times(figures, written, monkeypatch):
    def refuse(_):
        raise ev.VerificationError("it is wrong")

    monkeypatch.setattr(ev, "verify", refuse)
    options = options_of(figures, monkeypatch, *TINY_FIGURES, "--on", "cpu:1,cpu:1", "--alphas", "0.5")
    with pytest.raises(SystemExit) as ended:
        figures.output.produce(["t13_fig9"], options, keep_runs=True)
    assert ended.value.code == 1
    assert read_record(written, "runs")["rows"] == []
    assert set(read_record(written, "runs")["left out"].values()) == {"it is wrong"}


@pytest.mark.parametrize("wrong", [1.001, np.nan, np.inf])
def test_ranks_that_differ_from_a_verified_run_are_rejected(figures, monkeypatch, wrong):
    monkeypatch.setattr(figures.harness, "_PIECE", 7)
    result = ev.pagerank(ev.read("rmat:5"), tol=0, max_iter=2)
    expected = result["rank"].copy()
    figures.harness.agree(result, "rank", expected, apart=2e-6)
    expected *= 1 + 1e-6
    figures.harness.agree(result, "rank", expected, apart=2e-6)
    expected[17] *= wrong
    with pytest.raises(ev.VerificationError, match="vertex 17"):
        figures.harness.agree(result, "rank", expected, apart=2e-6)


def test_vertices_unreached_in_both_runs_agree(figures):
    result = ev.sssp(ev.Graph.from_edges([0, 2], [1, 3], weights=[0.5, 1.0]), source=0)
    assert np.isinf(result["distance"]).any()
    figures.harness.agree(result, "distance", np.array([0, 0.5, np.inf, np.inf]), apart=1e-6)
    with pytest.raises(ev.VerificationError, match="vertex 2"):
        figures.harness.agree(result, "distance", np.array([0, 0.5, 7, np.inf]), apart=1e-6)


def test_a_plot_is_the_same_each_time(figures, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    charts = importlib.import_module("charts")
    monkeypatch.setattr(charts, "FOLDER", tmp_path)
    drawn = []
    for _ in range(2):
        charts.lines("lines", "curves", figures.t12_fig3.panels(figures.t12_fig3.rows([], None)))
        broken = [figures.projections.breakdown(row())]
        charts.bars("bars", "bars", figures.spent.panels(broken, lambda each: each["policy"], "policy"))
        drawn.append([(tmp_path / f"{name}.svg").read_text() for name in ("lines", "bars")])
    assert drawn[0] == drawn[1]
    for text in drawn[0]:
        assert "dc:date" not in text
        assert "<text" in text


def test_the_page_of_figures_matches_the_records(figures):
    text = figures.page.PLACE.read_text()
    assert text == figures.page.text(figures.output.PAGE)
    assert text.count("\n## ") == text.count("\n- **Why**: ") == len(figures.output.PAGE)


@pytest.mark.slow
def test_a_figure_runs_alone():
    words = ["--scale", "8", "--on", "cpu:1,cpu:1"]
    assert "62%" in run("figures/t12_fig6", words)
    script = FOLDER / "figures" / "t13_fig21.py"
    done = subprocess.run(
        [sys.executable, str(script), "--no-record", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs a GPU" in done.stderr
