"""The command line: its output, its files and its exit status."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from numba.core import caching
from pyarrow import parquet

import evener as ev
from evener.cli import runs
from evener.cli.options import PLACEMENT_OPTIONS
from evener.cli.output import in_options, note
from evener.spec.registry import find, names
from evener.system import mpi

KARATE = nx.karate_club_graph()


@pytest.fixture
def karate(tmp_path):
    """Zachary's karate club as a text file, without its weights."""
    path = tmp_path / "karate.txt"
    path.write_text("".join(f"{u} {v}\n" for u, v in KARATE.edges))
    return path


class TestRun:
    def test_top_vertices_timeline_and_rate(self, evener, karate):
        done = evener("run", "pagerank", karate, "--undirected", "--top", 3)
        assert done.status == 0
        expected = nx.pagerank(KARATE, weight=None)
        best = sorted(expected, key=expected.get, reverse=True)[:3]
        lines = done.out.splitlines()
        start = next(i for i, text in enumerate(lines) if text.split() == ["vertex", "rank"])
        assert [int(text.split()[0]) for text in lines[start + 1 : start + 4]] == best
        assert any(text.split()[:2] == ["superstep", "active"] for text in lines)
        assert "edges/s" in done.out

    @pytest.mark.parametrize(
        ("words", "lines"),
        [
            (
                ("bfs",),
                [
                    "Source: 0 (default; name another with --source)",
                    "Outcome: 3 of 4 vertices reached, largest distance 2",
                ],
            ),
            (("sssp", "--source", 1), ["Source: 1", "Outcome: 2 of 4 vertices reached, largest distance 7"]),
            (("wcc",), ["Outcome: components 2, largest component 3 vertices"]),
            (("pagerank", "--max-iter", 1), ["Outcome: iterations 1, not converged"]),
            (("betweenness",), ["Sources: all vertices"]),
            (("betweenness", "-k", 2), ["Sources: 2 vertices"]),
            (("betweenness", "--sources", 2), ["Sources: 2"]),
        ],
        ids=lambda part: " ".join(map(str, part)),
    )
    def test_source_and_outcome_are_printed(self, evener, tmp_path, words, lines):
        """The graph has the edges 0-1 and 1-2 with weights 1 and 7, and vertex 3 with a self-loop."""
        (tmp_path / "g.txt").write_text("0 1 1\n1 2 7\n3 3 1\n")
        done = evener("run", words[0], tmp_path / "g.txt", *words[1:])
        assert done.out.splitlines()[1 : 1 + len(lines)] == lines

    def test_standard_output_contains_only_json(self, evener, karate, tmp_path):
        table = tmp_path / "ranks.parquet"
        done = evener("run", "pagerank", karate, "--undirected", "--json", "-o", table, "--verify")
        content = json.loads(done.out)
        assert content["algorithm"] == "pagerank"
        assert content["graph"] == {"name": str(karate), "vertices": 34, "edges": 156, "directed": False}
        assert content["verified"] is True
        assert content["written"] == [str(table)]
        assert content["supersteps"] == len({span["superstep"] for span in content["timeline"]})
        ranks = dict(zip(*parquet.read_table(table).to_pydict().values(), strict=True))
        assert ranks == pytest.approx(nx.pagerank(KARATE, weight=None, tol=1e-9), abs=1e-5)

    def test_the_answer_does_not_depend_on_the_split(self, evener, karate):
        places = [[], ["--on", "cpu:1, cpu:1", "--policy", "high", "--alpha", "0.8"], ["--alpha", "auto"]]
        answers = [
            json.loads(evener("run", "bfs", karate, "--undirected", "--source", 5, "--json", *place).out)[
                "top"
            ]
            for place in places
        ]
        assert answers[0] == answers[1] == answers[2]
        far = nx.single_source_shortest_path_length(KARATE, 5)
        assert answers[0][0]["value"] == max(far.values())

    @pytest.mark.parametrize(
        "words",
        [
            ("wcc",),
            ("sssp", "--source", "3", "--delta", "2"),
            ("betweenness", "--sources", "1, 2", "--raw"),
            ("betweenness", "-k", "3", "--seed", "7"),
            (
                "pagerank",
                "--tol",
                "0",
                "--max-iter",
                "4",
                "--dtype",
                "float64",
                "--semantics",
                "graphalytics",
            ),
        ],
        ids=" ".join,
    )
    def test_every_algorithm_accepts_its_options(self, evener, karate, words):
        done = evener("run", words[0], karate, "--undirected", "--verify", "--no-timeline", *words[1:])
        assert done.status == 0, done.err
        assert "The answer is verified." in done.out
        assert "superstep  active" not in done.out

    def test_a_run_that_did_not_converge_prints_a_note(self, evener, karate):
        done = evener("run", "pagerank", karate, "--max-iter", 2)
        assert done.err == (
            "evener: pagerank did not converge in 2 iterations: expected an L1 change below 1e-06, found "
            f"{re.search('found ([0-9.]+)', done.err)[1]}; increase --max-iter or --tol\n"
        )
        for fixed in (("--tol", 0), ("--semantics", "graphalytics")):
            done = evener("run", "pagerank", karate, "--max-iter", 2, *fixed)
            assert (done.status, done.err) == (0, "")

    def test_page_and_table_are_written(self, evener, karate, tmp_path):
        done = evener("run", "wcc", karate, "-o", tmp_path / "c.csv", "--report", tmp_path / "run.html")
        assert done.status == 0
        assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
        assert (tmp_path / "c.csv").read_text().splitlines()[0] == '"vertex","component"'
        assert f"Wrote {tmp_path / 'c.csv'}." in done.out

    @pytest.mark.parametrize("read", ["g.properties", "g.v", "g.e"])
    @pytest.mark.parametrize("written", ["g.properties", "g.v", "g.e", "g.v.gz"])
    def test_no_file_of_the_input_graph_is_overwritten(self, evener, tmp_path, read, written):
        graph = ev.Graph.from_edges([0, 1], [1, 2])
        ev.write(graph, tmp_path / "g.properties")
        with (tmp_path / "g.properties").open("a") as properties:
            properties.write("graph.g.bfs.source-vertex = 1\n")
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        done = evener("convert", tmp_path / read, tmp_path / written)
        assert (done.status, done.out) == (2, "")
        assert "would overwrite the graph; name another file" in done.err
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
        assert evener("convert", tmp_path / read, tmp_path / written.replace("g", "other", 1)).status == 0

    @pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
    def test_a_default_source_without_out_edges_prints_a_note(self, evener, tmp_path, algorithm):
        (tmp_path / "e.txt").write_text("1 2\n2 0\n")
        message = "vertex 0, the default source, has no out-edges; name another with --source"
        assert message in evener("run", algorithm, tmp_path / "e.txt").err
        assert message not in evener("run", algorithm, tmp_path / "e.txt", "--source", 0).err
        (tmp_path / "e.txt").write_text("0 2\n2 1\n")
        assert message not in evener("run", algorithm, tmp_path / "e.txt").err

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (
                ["run", "wcc", "e.csv", "-o", "e.csv"],
                "-o e.csv would overwrite the graph; name another",
            ),
            (["run", "wcc", "e.csv", "-o", "./link.csv"], "-o ./link.csv would overwrite the graph"),
            (["run", "wcc", "e.csv", "-o", "hard.csv"], "-o hard.csv would overwrite the graph"),
            (
                ["run", "wcc", "e.csv", "--report", "e.csv"],
                "--report: expected a name with the suffix .html",
            ),
            (
                ["run", "wcc", "e.csv", "--trace", "t.html"],
                "--trace: expected a name with the suffix .json",
            ),
            (
                ["run", "wcc", "g.evg", "--trace", "g.evg/evener.json"],
                "--trace g.evg/evener.json is in g.evg, the folder of the graph; name a file",
            ),
            (
                ["run", "wcc", "g.evg/evener.json", "--format", "evg", "-o", "folder.evg/new/../ranks.csv"],
                "-o folder.evg/new/../ranks.csv is in g.evg, the folder of the graph",
            ),
            (
                ["run", "wcc", "folder.evg", "--report", "g.evg/new/run.html"],
                "is in folder.evg, the folder of the graph",
            ),
            (
                ["convert", "g.evg", "g.evg/e.txt"],
                "the output g.evg/e.txt is in g.evg, the folder",
            ),
            (["convert", "e.csv", "e.csv"], "the output e.csv would overwrite the graph"),
            (["run", "wcc", "d/part-00000.parquet", "-o", "d/"], "-o d/ would overwrite the graph; name"),
            (["run", "wcc", "d/part-00000.parquet", "-o", "d"], "-o d would overwrite the graph; name"),
            (["partition", "d/part-00000.parquet", "-o", "d"], "-o d would overwrite the graph; name"),
            (
                ["run", "wcc", "e.csv", "-o", "d/", "--report", "d/run.html"],
                "--report d/run.html is in d, the folder of -o; name a file in another folder",
            ),
            (["run", "wcc", "x" * 300, "-o", "y.csv"], "there is no file xxx"),
            (["bench", "wcc", "x" * 300], "there is no file xxx"),
        ],
    )
    def test_outputs_do_not_overwrite_the_graph(self, evener, tmp_path, monkeypatch, words, sentence):
        monkeypatch.chdir(tmp_path)
        text = "0,1\n1,2\n"
        Path("e.csv").write_text(text)
        ev.write(ev.Graph.from_edges([0, 1], [1, 2]), "g.evg")
        Path("g.evg/new").mkdir()
        Path("folder.evg").symlink_to("g.evg")
        Path("d").mkdir()
        ev.write(ev.read("g.evg"), "d/part-00000.parquet")
        before = sorted(Path("g.evg").rglob("*"))
        Path("link.csv").symlink_to("e.csv")
        Path("hard.csv").hardlink_to("e.csv")
        done = evener(*words)
        assert (done.status, done.out) == (2, "")
        assert sentence in done.err
        assert Path("e.csv").read_text() == text
        assert sorted(Path("g.evg").rglob("*")) == before
        assert ev.read("g.evg").m == ev.read("d/part-00000.parquet").m == 2

    def test_a_trace_is_written_and_its_folder_is_checked_first(self, evener, karate, tmp_path):
        path = tmp_path / "run.json"
        content = json.loads(evener("run", "wcc", karate, "--trace", path, "--json").out)
        assert content["written"] == [str(path)]
        assert "traceEvents" in json.loads(path.read_text())
        done = evener("run", "wcc", "rmat:22", "--trace", tmp_path / "absent" / "run.json")
        assert (done.status, done.out) == (2, "")
        assert "there is no folder" in done.err

    @pytest.mark.parametrize(("option", "suffix"), [("-o", "csv"), ("--report", "html"), ("--trace", "json")])
    def test_a_read_only_file_is_rejected_before_the_run(self, evener, tmp_path, monkeypatch, option, suffix):
        path = tmp_path / f"kept.{suffix}"
        path.write_text("kept")
        # Root can write to any file, so the answer of `os.access` is fixed.
        monkeypatch.setattr(os, "access", lambda asked, mode: mode != os.W_OK or str(asked) != str(path))
        done = evener("run", "wcc", "rmat:22", option, path)
        assert (done.status, done.out) == (2, "")
        assert f"cannot write {path}: it is read-only; make it writable" in done.err
        assert path.read_text() == "kept"

    def test_a_long_timeline_shows_its_ends(self, evener, karate):
        done = evener("run", "pagerank", karate, "--tol", 0, "--max-iter", 100)
        assert "\n… 61 more …\n" in done.out  # of 101 supersteps, 20 at each end are shown
        assert len(done.out.splitlines()) < 70
        done = evener("run", "pagerank", karate, "--tol", 0, "--max-iter", 40)
        assert "more …" not in done.out  # the line would replace only one superstep
        assert "… 2 more …" in evener("run", "pagerank", karate, "--tol", 0, "--max-iter", 41).out

    def test_ids_may_be_strings(self, evener, tmp_path):
        (tmp_path / "names.csv").write_text("source,target\nann,bob\nbob,eve\n")
        done = evener("run", "bfs", tmp_path / "names.csv", "--source", "ann", "--json")
        assert json.loads(done.out)["top"][0] == {"vertex": "eve", "value": 2}

    def test_columns_may_be_named_or_numbered(self, evener, tmp_path):
        (tmp_path / "calls.csv").write_text("who,when,whom\n1,9,2\n2,9,3\n")
        assert evener("info", tmp_path / "calls.csv", "--columns", "who,whom").status == 0
        (tmp_path / "bare.csv").write_text("1,9,2\n2,9,3\n")
        assert evener("info", tmp_path / "bare.csv", "--columns", "0,2").status == 0


class TestOtherCommands:
    def test_generate_info_convert(self, evener, tmp_path):
        folder, text = tmp_path / "grid.evg", tmp_path / "grid.txt"
        assert evener("generate", "grid:3x4", "-o", folder).status == 0
        facts = json.loads(evener("info", folder, "--json").out)
        assert (facts["vertices"], facts["edges"], facts["directed"]) == (12, 34, False)
        assert facts["out_degree"]["least"] == 2
        assert facts["out_degree"]["largest"] == 4
        written = json.loads(evener("convert", folder, text, "--json").out)["written"]
        assert written == [str(text)]
        assert nx.is_isomorphic(nx.read_edgelist(text, nodetype=int), nx.grid_2d_graph(3, 4))

    def test_info_prints_weights_and_degrees(self, evener, tmp_path):
        (tmp_path / "w.txt").write_text("0 1 0.5\n1 2 3.5\n")
        out = evener("info", tmp_path / "w.txt").out
        assert "least 0.5, largest 3.5" in out
        assert "out degree" in out

    def test_plan(self, evener):
        words = ("plan", "rmat:8", "--on", "cpu:1,cpu:1", "--policy", "high", "--alpha", "0.5")
        planned = json.loads(evener(*words, "--json").out)
        assert planned["policy"] == "high"
        assert sum(one["vertices"] for one in planned["partitions"]) == 256
        assert 0 < planned["beta_aggregated"] <= planned["beta"] < 1
        out = evener(*words).out
        assert "before aggregation" in out
        assert out.count("cpu:1") == 2
        assert "the share of the edges on the first element" in out

    def test_plan_has_the_same_column_names_with_and_without_an_algorithm(self, evener):
        words = ("plan", "rmat:8", "--on", "cpu:1,cpu:1")
        heads = [
            next(line for line in done.out.splitlines() if line.startswith("element")).split()
            for done in (evener(*words), evener(*words, "--for", "bfs"))
        ]
        assert heads[0][:6] == heads[1][:6] == ["element", "edges", "share", "vertices", "mirrors", "memory"]
        assert "predicted time" in evener("plan", "--help").out

    def test_plan_compares_policies(self, evener):
        """The elements need not exist on this machine."""
        words = ("plan", "rmat:8", "--on", "cpu:99,cuda:9", "--machines", "2")
        out = evener(*words, "--for", "pagerank", "--compare").out
        rows = [line.split()[0] for line in out.splitlines()[3:-2]]
        assert {"C-PG", "DP-OH", "high", "lpt"} <= set(rows)
        assert out.endswith("\n\nAll policies have the same predicted time.\n")
        one = evener(*words, "--for", "bfs", "--compare", "--policy", "lpt", "--gpu-memory", "1GiB", "--json")
        (found,) = json.loads(one.out)["policies"]
        assert found["policy"] == "lpt"
        assert sum(found["vertices"]) == 256
        assert len(found["edges"]) == 4
        refused = evener("plan", "rmat:4", "--on", "cpu:1", "--compare")
        assert (refused.status, "expected --for ALGORITHM and --on ELEMENTS" in refused.err) == (2, True)
        assert "--machines: expected 1 without --compare" in evener(*words).err

    def test_partition(self, evener, tmp_path):
        """The folder has the partitions of `plan`, and its runs equal runs of the graph."""
        words = ("rmat:8", "--on", "cpu:1,cpu:1", "--policy", "high", "--alpha", "0.5")
        placed = json.loads(evener("partition", *words, "-o", tmp_path / "p/", "--json").out)
        planned = json.loads(evener("plan", *words, "--json").out)
        assert planned.pop("exact")
        assert placed == planned | {"directions": "both", "written": [f"{tmp_path / 'p'}"]}
        shown = evener("partition", *words, "-o", tmp_path / "p")
        assert "before aggregation" in shown.out
        assert shown.out.endswith(f"Wrote {tmp_path / 'p'}, with the graph.\n")
        for command in ("run", "verify", "bench"):
            assert evener(command, "bfs", tmp_path / "p").status == 0
        found = [
            json.loads(evener("run", "wcc", *graph, "--json").out) for graph in ([tmp_path / "p"], words)
        ]
        assert found[0]["outcome"] == found[1]["outcome"]
        assert [span["element"] for span in found[0]["timeline"]] == [
            s["element"] for s in found[1]["timeline"]
        ]

    def test_partition_refers_to_a_container_and_copies_no_graph(self, evener, tmp_path):
        evener("generate", "rmat:8", "-o", tmp_path / "g.evg")
        out = evener("partition", tmp_path / "g.evg", "-o", tmp_path / "p", "--directions", "in").out
        assert out.endswith(f"which names the graph {tmp_path / 'g.evg'}.\n")
        assert not (tmp_path / "p" / "graph.evg").exists()
        assert evener("verify", "pagerank", tmp_path / "p").status == 0

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("run", "bfs", "p", "--on", "cpu:1"), "expected 2 elements, one for each partition, found 1"),
            (("run", "bfs", "p", "--policy", "high"), "the graph is already placed"),
            (("bench", "bfs", "p", "--directed"), "p is a placed graph, so --directed cannot be used"),
            (("run", "bfs", "p", "-o", "p/t.csv"), "name a file in another folder"),
            (("partition", "rmat:4", "-o", "."), "the folder holds other files"),
            (("partition", "rmat:4", "-o", "p", "--policy", "auto"), "--policy: expected one of"),
            (("partition", "rmat:4", "-o", "p", "--directions", "up"), 'expected "both", "out" or "in"'),
            (("partition", "rmat:4", "-o", "absent/p"), "there is no folder absent"),
        ],
        ids=lambda one: one if isinstance(one, str) else " ".join(one),
    )
    def test_invalid_uses_of_a_placed_graph(self, evener, tmp_path, monkeypatch, words, message):
        monkeypatch.chdir(tmp_path)
        assert evener("partition", "rmat:4", "-o", "p", "--on", "cpu:1,cpu:1").status == 0
        done = evener(*words)
        assert (done.status, done.out) == (2, "")
        assert message in done.err

    def test_bench(self, evener):
        timed = json.loads(evener("bench", "bfs", "rmat:6", "--repeats", 3, "--json").out)
        seconds = [run["seconds"] for run in timed["runs"]]
        assert len(seconds) == 3
        assert sorted(seconds)[1] == timed["seconds"]
        assert "median" in evener("bench", "betweenness", "grid:4x4", "--repeats", 1).out

    def test_verify_runs_or_reads_a_table(self, evener, karate, tmp_path):
        words = ("bfs", karate, "--undirected")
        assert evener("verify", *words, "--source", 0).out.endswith("the answer is correct.\n")
        table = tmp_path / "d.parquet"
        evener("run", *words, "--source", 0, "-o", table)
        assert json.loads(evener("verify", *words[:2], table, "--undirected", "--json").out)["verified"]

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
    @pytest.mark.parametrize(
        "words",
        [
            ("pagerank",),
            ("pagerank", "--tol", 0, "--max-iter", 20),
            ("pagerank", "--dtype", "float64", "--tol", 1e-9, "--max-iter", 500),
            ("betweenness", "-k", 5, "--seed", 3),
            ("betweenness", "--raw"),
        ],
        ids=lambda words: " ".join(map(str, words)),
    )
    def test_a_table_is_verified_with_the_options_of_its_run(self, evener, tmp_path, words, suffix):
        """A text table contains no options, and keeps all digits of the ranks."""
        name, *options = words
        table = tmp_path / f"answer.{suffix}"
        assert evener("run", name, "rmat:8", *options, "-o", table).status == 0
        assert evener("verify", name, "rmat:8", table, *options).status == 0
        if "-k" in words:
            assert evener("verify", name, "rmat:8", table, "-k", 6, "--seed", 3).status == 3

    def test_a_wrong_answer_fails_verification(self, evener, karate, tmp_path):
        table = tmp_path / "d.csv"
        evener("run", "bfs", karate, "--undirected", "--source", 0, "-o", table)
        rows = table.read_text().splitlines()
        table.write_text("\n".join([*rows[:-1], rows[-1].replace(",2,", ",1,")]) + "\n")
        done = evener("verify", "bfs", karate, table, "--undirected", "--source", 0)
        assert done.status == 3
        assert done.err.startswith("evener: bfs: ")

    def test_help_and_version(self, evener):
        assert evener("--version").out == f"evener {ev.__version__}\n"
        assert evener().out == evener("--help").out
        for command in (
            "run",
            "verify",
            "bench",
            "generate",
            "convert",
            "info",
            "partition",
            "devices",
            "plan",
            "profile",
        ):
            assert command in evener().out
            assert evener(command, "--help").status == 0

    @pytest.mark.parametrize("command", ["run", "verify", "bench"])
    def test_the_help_of_an_algorithm_begins_with_its_summary(self, evener, command):
        lines = [line.strip() for line in evener(command, "bfs", "--help").out.splitlines() if line.strip()]
        assert lines[1] == "Breadth-first search: distances and parents from one or more sources."


class TestStart:
    def test_importing_and_help_load_nothing_heavy(self, apart):
        heavy = "{'numba', 'pyarrow', 'scipy', 'mpi4py', 'cupy', 'networkx', 'pandas'}"
        check = f"assert not {heavy} & set(sys.modules), sorted({heavy} & set(sys.modules))"
        assert apart("-c", f"import sys, evener; evener.Progress, dir(evener); {check}").err == ""
        program = f"import sys; from evener.cli import main; assert main(['--help']) == 0; {check}"
        assert apart("-c", program).err == ""

    def test_a_run_from_the_cache_loads_no_tables_of_the_compiler(self, apart):
        heavy = "{'pydantic', 'scipy.linalg', 'numba.np.arraymath'} & set(sys.modules)"
        run = "import sys; from evener.cli import main; assert main(['run', 'bfs', 'grid:3x3']) == 0"
        apart("-c", run)  # compiles kernels
        assert apart("-c", f"{run}; assert not {heavy}, {heavy}").err == ""

    def test_import_needs_less_than_300_ms(self, apart):
        """Measure CPU time, which does not include other processes."""
        program = "import time; t = time.process_time(); import evener; print(time.process_time() - t)"
        assert min(float(apart("-c", program).out) for _ in range(3)) < 0.3

    def test_python_m(self, apart):
        assert apart("-m", "evener", "--version").out == f"evener {ev.__version__}\n"

    def test_a_submodule_never_hides_a_function(self, apart):
        program = "import evener.partition.build, evener as ev; print(ev.partition)"
        assert apart("-c", program).out.startswith("<function")

    def test_public_names_exist(self):
        for name in ev.__all__:
            assert getattr(ev, name) is not None
        assert set(ev.__all__) == set(dir(ev))
        with pytest.raises(AttributeError, match="no attribute 'page_rank'"):
            ev.page_rank  # noqa: B018 - the access fails


@pytest.mark.parametrize("algorithm", names())
def test_a_spec_lists_the_options_of_its_function(algorithm):
    spec = find(algorithm)
    parameters = inspect.signature(spec.function()).parameters
    only_python = {"sources"} if "source" in parameters else set()  # --sources is --source
    own = set(parameters) - {"graph", "progress", "checkpoint", *only_python, *PLACEMENT_OPTIONS}
    assert {option.name for option in spec.options} == own
    for option in spec.options:  # messages name it as an option; a flag of the command has no wrong value
        assert option.type == "bool" or in_options(f"{option.name}=: x").startswith("--")


def test_an_ignored_gpu_memory_limit_prints_a_note(evener):
    expected = "evener: --gpu-memory is ignored: no GPU is used\n"
    assert evener("run", "bfs", "rmat:4", "--on", "cpu:1", "--gpu-memory", "1GiB").err == expected
    assert evener("run", "bfs", "rmat:4", "--on", "cpu:1").err == ""


def test_ignored_placement_options_print_notes(evener):
    expected = "evener: --alpha 0.5 is ignored: cpu:1 is the only element"
    assert evener("run", "wcc", "rmat:4", "--on", "cpu:1", "--alpha", "0.5").err == f"{expected}\n"
    done = evener("run", "pagerank", "rmat:4", "--on", "cpu:1", "--alpha", "0.5")
    assert done.err == f"{expected}; NetworkX's alpha is called damping here\n"
    expected = "evener: --policy is ignored: cpu:1 is the only element\n"
    assert evener("run", "wcc", "rmat:4", "--on", "cpu:1", "--policy", "high").err == expected
    several = "run", "wcc", "rmat:4", "--on", "cpu:1,cpu:1", "--alpha", "0.5", "--policy", "high"
    assert evener(*several).err == ""
    expected = "evener: --alpha is ignored: C-R gives equal parts to all elements\n"
    assert evener(*several[:-1], "C-R").err == expected


def test_an_ignored_seed_prints_a_note(evener):
    expected = "evener: --seed is ignored: sources are drawn only with -k\n"
    words = "run", "betweenness", "rmat:4", "--on", "cpu:1", "--seed", 3
    assert evener(*words).err == expected
    assert evener(*words, "--sources", "1,2").err == expected
    assert evener(*words, "-k", 2).err == ""


@pytest.mark.parametrize(
    "words", [("info", "{file}", "--columns", "²,³"), ("profile", "--paper", "--scales", "²")]
)
def test_superscript_digits_are_no_numbers(evener, karate, words):
    done = evener(*(word.format(file=karate) for word in words))
    assert (done.status, done.out) == (2, "")
    assert "²" in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--max-iter", "x"), "Invalid value for '--max-iter': expected a whole number, found 'x'"),
        (("--max-iter", "1.5"), "Invalid value for '--max-iter': expected a whole number, found '1.5'"),
        (("--damping", "q"), "Invalid value for '--damping': expected a number, found 'q'"),
        (
            ("--top", "-1"),
            "Invalid value for '--top': expected a number greater than or equal to 0, found '-1'",
        ),
    ],
)
def test_invalid_numbers(evener, words, sentence):
    done = evener("run", "pagerank", "rmat:4", *words)
    assert (done.status, done.out, done.err) == (2, "", f"evener: {sentence}\n")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("name them with columns=", "name them with --columns"),
        ("sources= and k= exclude each other", "--sources and --k exclude each other"),
        ("columns=, of which", "--columns, of which"),
        (
            'it fits with on="cpu,cuda:0", policy="low", alpha=0.1, gpu_memory="1GiB"',
            'it fits with --on "cpu,cuda:0", --policy "low", --alpha 0.1, --gpu-memory "1GiB"',
        ),
        ("data/on=monday/k=3.csv has no rows", "data/on=monday/k=3.csv has no rows"),
        ("rmat:4,edge_factor=8", "rmat:4,edge_factor=8"),
        (
            "or give directed= to read them",
            "or give --directed or --undirected to read them",
        ),
        ("or give ids='drop'", "or give --ids 'drop'"),
        ('build the graph with duplicates="drop"', 'build the graph with --duplicates "drop"'),
        ("seed=: expected an integer of at least 0", "--seed: expected an integer of at least 0"),
        ("give directed=True for", "give --directed for"),
        ("read it with directed=False", "read it with --undirected"),
        (
            "self_loops=: expected 'keep' or 'drop', found 'foo'",
            "--self-loops: expected 'keep' or 'drop', found 'foo'",
        ),
        ("max_iter=: expected an integer of at least 0", "--max-iter: expected an integer of at least 0"),
        ("k=: expected a number of vertices from 1 to 4", "--k: expected a number of vertices from 1 to 4"),
        (
            "seed: expected an integer from 0 to 9, found -1",
            "seed: expected an integer from 0 to 9, found -1",
        ),
        ("g.csv: ids: expected integers", "g.csv: ids: expected integers"),
        ("there is no file on=monday.csv", "there is no file on=monday.csv"),
        ('rmat has no option "k" (in "rmat:4,k=3")', 'rmat has no option "k" (in "rmat:4,k=3")'),
        ("the file has 'on=1', 'k=2'", "the file has 'on=1', 'k=2'"),
    ],
)
def test_arguments_are_named_as_options(capsys, sentence, expected):
    note(sentence)
    assert capsys.readouterr().err == f"evener: {expected}\n"


@pytest.mark.parametrize(
    "suffix", ["csv", *(pytest.param(suffix, marks=pytest.mark.slow) for suffix in ("parquet", "arrow"))]
)
def test_a_table_whose_name_is_not_utf8_is_rejected_before_the_run(apart, tmp_path, suffix):
    named = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9." + suffix.encode())
    done = apart("-m", "evener", "run", "wcc", tmp_path / "not there.el", "--on", "cpu:1", "-o", named)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("evener: cannot write ")
    assert done.err.endswith(": its name is not UTF-8; use a UTF-8 name\n")
    done = apart("-m", "evener", "verify", "wcc", "rmat:4", named)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("evener: cannot read ")
    assert done.err.endswith(": its name is not UTF-8; use a UTF-8 name\n")


def test_only_commands_with_the_option_format_suggest_it(evener, tmp_path):
    (tmp_path / "g.xyz").touch()
    assert "or give --format" in evener("info", tmp_path / "g.xyz").err
    assert "--format" not in evener("generate", "rmat:4", "-o", tmp_path / "g.xyz").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info", ""), "read: expected a path or a spec such as 'rmat:20', found an empty name"),
        (
            ("run", "wcc", "", "-o", "c.csv"),
            "read: expected a path or a spec such as 'rmat:20', found an empty name",
        ),
        (("convert", "rmat:4", ""), "the output: expected the path of a file, but the name is empty"),
        (("generate", "rmat:4", "-o", ""), "the output: expected the path of a file, but the name is empty"),
        (("run", "wcc", "rmat:4", "-o", ""), "-o: expected the path of a file, but the name is empty"),
        (
            ("run", "wcc", "rmat:4", "--trace", ""),
            "--trace: expected the path of a file, but the name is empty",
        ),
    ],
)
def test_empty_names(evener, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = evener(*words)
    assert (done.status, done.out, done.err) == (2, "", f"evener: {message}\n")


def test_an_invalid_size_names_its_option(evener):
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1", "--gpu-memory", "x")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("evener: --gpu-memory: expected bytes, or a size with a unit such as 20GiB")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (
            "NUMBA_THREADING_LAYER",
            "elsewhere",
            "kernels have no threads: the threading layer 'elsewhere' cannot",
        ),
        (
            "NUMBA_DISABLE_JIT",
            "1",
            "NUMBA_DISABLE_JIT forbids the compilation of kernels; remove it",
        ),
    ],
)
def test_settings_that_prevent_kernels_are_not_reported_as_bugs(apart, name, value, why):
    done = apart("-W", "ignore", "-m", "evener", "run", "wcc", "rmat:4", "--on", "cpu:1", **{name: value})
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"evener: {why}")
    assert done.err.count("\n") == 1


def test_sources_in_quotes_may_contain_commas(evener, tmp_path):
    path = tmp_path / "authors.csv"
    path.write_text('src,dst\n"Smith, J","Doe, A"\n"Doe, A",Roe\n')
    done = evener("run", "betweenness", str(path), "--sources", '"Smith, J", Roe', "--json", "--on", "cpu:1")
    assert json.loads(done.out)["parameters"]["sources"] == ["Smith, J", "Roe"]


def test_an_empty_list_of_sources_is_rejected(evener):
    done = evener("run", "betweenness", "rmat:4", "--sources", "", "--on", "cpu:1")
    assert (done.status, done.out) == (2, "")
    assert "found ''; name at least one vertex" in done.err


def test_a_search_from_each_of_several_sources(evener, tmp_path):
    (tmp_path / "g.txt").write_text("ann bob\nbob eve\neve dan\n")
    words = "run", "bfs", tmp_path / "g.txt", "--sources", "ann,eve", "--each", "--no-timeline", "--top", 1
    done = evener(*words, "-o", tmp_path / "r.csv")
    lines = done.out.splitlines()
    assert lines[1:4] == [
        "Source: 2 vertices",
        "Outcome from ann: 4 of 4 vertices reached, largest distance 3",
        "Outcome from eve: 2 of 4 vertices reached, largest distance 1",
    ]
    assert [line.split() for line in lines[5:8]] == [
        ["source", "vertex", "distance"], ["ann", "dan", "3"], ["eve", "dan", "1"]
    ]  # fmt: skip
    assert (tmp_path / "r.csv").read_text().replace('"', "").split() == [
        "source,vertex,distance,parent",
        "ann,ann,0,ann", "ann,bob,1,ann", "ann,dan,3,eve", "ann,eve,2,bob",
        "eve,ann,-1,", "eve,bob,-1,", "eve,dan,1,eve", "eve,eve,0,eve",
    ]  # fmt: skip
    content = json.loads(evener(*words, "--json", "--verify").out)
    assert content["top"] == [
        {"source": "ann", "vertex": "dan", "value": 3}, {"source": "eve", "vertex": "dan", "value": 1}
    ]  # fmt: skip
    assert content["parameters"]["source"] == ["ann", "eve"]
    done = evener("verify", "bfs", tmp_path / "g.txt", tmp_path / "r.csv")
    assert (done.status, "the column 'source' of a run with --each; give --verify" in done.err) == (2, True)
    assert "with --each, found one; search from each" in evener(*words, "--checkpoint", tmp_path / "c").err


@pytest.mark.parametrize("sources", [["--source", "1,5"], ["--source", "1", "--source", "5"]])
def test_a_search_from_several_sources_to_a_target(evener, tmp_path, sources):
    """In a ring of 8 vertices, with a table that records the arguments for `verify`."""
    ev.write(ev.Graph.from_edges(range(8), [*range(1, 8), 0]), tmp_path / "ring.evg")
    table = tmp_path / "r.parquet"
    goal = ["--target", "7", "--cutoff", "2"]
    done = evener("run", "bfs", tmp_path / "ring.evg", *sources, *goal, "-o", table, "--no-timeline")
    assert "Source: 2 vertices" in done.out
    found = parquet.read_table(table).to_pydict()
    assert found["distance"] == [-1, 0, 1, 2, -1, 0, 1, 2]
    assert found["parent"] == [None, 1, 1, 2, None, 5, 5, 6]
    assert evener("verify", "bfs", tmp_path / "ring.evg", table).status == 0
    assert evener("verify", "bfs", tmp_path / "ring.evg", table, "--cutoff", "1").status == 3


def test_the_source_that_the_command_line_chooses_is_named(evener, tmp_path):
    ev.write(ev.Graph.from_edges(["bob"], ["eve"]), tmp_path / "names.evg")
    done = evener("run", "bfs", tmp_path / "names.evg", "--no-timeline")
    assert "Source: bob (default; name another with --source)" in done.out


def test_a_run_works_without_standard_error(evener, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1", "--gpu-memory", "1GiB")
    assert done.status == 0
    assert "wcc in " in done.out
    assert "is ignored" not in done.out


@pytest.mark.slow
def test_characters_that_the_encoding_lacks_are_replaced(apart):
    done = apart("-m", "evener", "run", "wcc", "rmat:4", "--on", "cpu:1", PYTHONIOENCODING="ascii")
    assert done.status == 0
    assert "wcc in " in done.out
    assert "evener: " not in done.err  # the prefix of errors; slow runs also print progress


def test_a_run_that_cannot_store_kernels_prints_a_note(evener, monkeypatch):
    monkeypatch.setattr("evener.cli.run_output.CACHE", False)
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1")
    assert done.status == 0
    assert done.err.startswith("evener: compiled kernels cannot be stored, so each run compiles them again; ")


def test_a_full_disk_for_kernels_is_not_reported_as_a_bug(evener, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    monkeypatch.setattr(caching, "open", full, raising=False)
    monkeypatch.setattr("evener.algorithms.wcc.wcc.wcc", lambda *_, **__: kept.save("key", "code"))
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("evener: no space is left for compiled kernels; ")
    # A full disk elsewhere is a bug.
    monkeypatch.setattr("evener.algorithms.wcc.wcc.wcc", full)
    assert evener("run", "wcc", "rmat:4", "--on", "cpu:1").status == 1


@pytest.mark.parametrize("damaged", [b"", b"\x80\x04no pickle", b"whole lines\nof other words"])
def test_a_damaged_kernel_is_not_reported_as_a_bug(evener, monkeypatch, tmp_path, damaged):
    kept = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    kept.save("key", "code")
    (tmp_path / "kernel.nbi").write_bytes(damaged)
    monkeypatch.setattr("evener.algorithms.wcc.wcc.wcc", lambda *_, **__: kept.load("key"))
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1")
    assert (done.status, done.out) == (2, "")
    # Typer prints a line break after EOFError.
    sentence = f"evener: compiled kernels cannot be read from or written to {tmp_path} ("
    assert done.err.lstrip().startswith(sentence)
    assert done.err.endswith("; delete this folder, or name another in NUMBA_CACHE_DIR\n")


def test_an_eof_error_elsewhere_is_reported_as_a_bug(evener, monkeypatch):
    def ends(*_, **__):
        raise EOFError("nothing more")

    monkeypatch.setattr("evener.algorithms.wcc.wcc.wcc", ends)
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1")
    assert (done.status, done.out) == (1, "")
    assert "please report it: EOFError in test_cli.py, line" in done.err


def test_a_format_error_with_an_eof_error_as_cause_is_not_reported_as_a_bug(evener, monkeypatch):
    def ends(*_, **__):
        raise ev.FormatError("the file is truncated") from EOFError()

    monkeypatch.setattr("evener.algorithms.wcc.wcc.wcc", ends)
    done = evener("run", "wcc", "rmat:4", "--on", "cpu:1")
    assert (done.status, done.err) == (2, "evener: the file is truncated\n")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("edges", ["0 1\n1 2\n2 3\n", "0 1\n2 3\n"])
def test_tables_with_whole_centralities_are_verified(evener, tmp_path, edges, suffix):
    """A text table does not store the type of a number."""
    graph, table = tmp_path / "path.txt", tmp_path / f"b.{suffix}"
    graph.write_text(edges)
    asked = "betweenness", graph, "--undirected", "--raw"
    assert evener("run", *asked, "--on", "cpu:1", "-o", table).status == 0
    done = evener("verify", "betweenness", graph, table, "--undirected", "--raw")
    assert (done.status, done.err) == (0, "")
    if suffix != "parquet":
        between = "," if suffix == "csv" else "\t"
        for wrong in (3, 2**53 + 1):  # float64 rounds the second number
            rows = [("vertex", "centrality"), *((v, wrong) for v in range(4))]
            table.write_text("".join(f"{vertex}{between}{value}\n" for vertex, value in rows))
            done = evener("verify", "betweenness", graph, table, "--undirected", "--raw")
            assert (done.status, done.err.count("\n")) == (3, 1)


def test_a_tolerance_that_float32_cannot_meet_prints_a_note(evener):
    words = "run", "pagerank", "rmat:10", "--tol", "1e-12", "--on", "cpu:1"
    assert evener(*words, "--dtype", "float32").err.endswith('; use --dtype "float64" or --tol\n')
    assert evener(*words).err == ""
    few = evener(*words, "--max-iter", 3).err
    assert few.startswith("evener: pagerank did not converge in 3 iterations: ")
    assert few.endswith("; increase --max-iter or --tol\n")
    assert few.count("\n") == 1


def test_runs_that_do_not_converge_are_noted_once(evener):
    done = evener("bench", "pagerank", "rmat:6", "--max-iter", 2, "--repeats", 3)
    assert (done.status, done.err.count("\n")) == (0, 1)


def test_run_and_bench_print_the_documented_fields(evener):
    """Each field is in the table of the reference, with its type; `bench` has the fields of both commands."""
    page = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    section = page.partition("### JSON of run and bench")[2].partition("\n### ")[0]
    kinds, shared = {}, set()
    for row in re.findall(r"^\| `.*$", section, re.MULTILINE):
        _, cell, kind, text, _ = row.split("|")
        for field in re.findall(r"`(.*?)`", cell):
            kinds[field] = kind.strip()
            if "only" not in text:
                shared.add(field)

    def found(content, prefix=""):
        for name, value in content.items():
            yield (field := prefix + name), _kind(value)
            if field == "graph":
                yield from found(value, "graph.")
            if field == "runs":
                yield from (pair for run in value for pair in found(run, "runs[]."))

    for words in (("run", "bfs", "--source", 1), ("run", "wcc"), ("bench", "pagerank", "--repeats", 2)):
        content = json.loads(evener(*words[:2], "grid:4x4", *words[2:], "--json").out)
        seen = dict(found(content))
        assert shared <= seen.keys() <= kinds.keys()
        assert all(kind in {kinds[field], "null"} for field, kind in seen.items())
        assert (seen.keys() == shared) == (words[0] == "bench")


def _kind(value):
    """Return the JSON type of a value."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def test_the_sources_of_a_benchmark_are_in_its_runs(evener):
    for algorithm, name in (("bfs", "source"), ("betweenness", "sources")):
        timed = json.loads(evener("bench", algorithm, "grid:4x4", "--repeats", 3, "--json").out)
        drawn = [np.ravel(run["parameters"][name])[0] for run in timed["runs"]]
        assert len(drawn) == 3
        assert set(drawn) <= set(range(16))
    words = "bench", "betweenness", "grid:4x4", "--repeats", 2
    assert " of 2 verified runs from one source each (" in evener(*words).out
    assert " of 2 verified runs (" in evener(*words, "--sources", "1,2").out


def test_all_written_files_of_a_graph_are_listed(evener, tmp_path):
    done = evener("generate", "grid:3x3", "-o", tmp_path / "g.e", "--json")
    assert json.loads(done.out)["written"] == [str(tmp_path / f"g.{one}") for one in ("e", "properties", "v")]
    assert f"Wrote {tmp_path}/p.v.gz, {tmp_path}/p.properties, {tmp_path}/p.e.gz: " in (
        evener("convert", tmp_path / "g.v", tmp_path / "p.v.gz").out
    )


def test_a_tolerance_that_accepts_wrong_ranks_is_an_error(evener, tmp_path):
    """With many vertices, equal ranks are near the correct ranks per vertex, but not in total."""
    graph = ev.read("rmat:14")
    table = tmp_path / "even.csv"
    even = np.full(graph.n, 1 / graph.n, np.float32)
    table.write_text("vertex,rank\n" + "".join(f"{v},{rank}\n" for v, rank in enumerate(even)))
    done = evener("verify", "pagerank", "rmat:14", table, "--tol", "1e-4", "--stop", "networkx")
    assert (done.status, done.out) == (2, "")
    assert (
        "ranks by 1.64 in total, so wrong ranks would pass; verify a run with tol=1e-06 or less" in done.err
    )
    for words in (("--tol", "1e-6", "--stop", "networkx"), ("--tol", "1e-4"), ()):
        assert evener("verify", "pagerank", "rmat:14", table, *words).status == 3
    own = tmp_path / "own.csv"
    evener("run", "pagerank", "rmat:14", "--tol", "1e-9", "--on", "cpu:1", "-o", own)
    done = evener("verify", "pagerank", "rmat:14", own, "--tol", "1e-9")
    assert done.out == "pagerank on rmat:14: the answer is correct, within --tol 1e-09.\n"


def test_a_table_of_a_run_that_max_iter_stopped_is_verified(evener, tmp_path):
    early = tmp_path / "early.csv"
    evener("run", "pagerank", "rmat:8", "--max-iter", "3", "--on", "cpu:1", "-o", early)
    done = evener("verify", "pagerank", "rmat:8", early, "--max-iter", "3")
    assert done.out.endswith(
        ": the ranks of 3 iterations; they have not converged, because --tol 1e-06 was not met.\n"
    )
    for words in ((), ("--max-iter", "4")):
        assert evener("verify", "pagerank", "rmat:8", early, *words).status == 3


def test_ranks_from_the_command_line_are_those_of_python(evener, tmp_path):
    """With jumps to two vertices of three, given in words and in a table; the ids hold "=" and commas."""
    graph = ev.Graph.from_edges(["a=b", "c", "d,e"], ["c", "d,e", "a=b"], weights=[1.0, 2.0, 3.0])
    ev.write(graph, tmp_path / "g.evg")
    (tmp_path / "jumps.csv").write_text('vertex,weight\na=b,1\n"d,e",3\n')
    options = ["--damping", "0.5", "--tol", "1e-12", "--max-iter", "200", "--weights"]
    expected = ev.pagerank(
        graph, damping=0.5, tol=1e-12, max_iter=200, weights=True, personalization={"a=b": 1, "d,e": 3}
    )
    table = tmp_path / "r.parquet"
    for jumps in (["a=b", '"d,e=3"'], [tmp_path / "jumps.csv"]):
        given = [word for jump in jumps for word in ("--personalization", jump)]
        done = evener("run", "pagerank", tmp_path / "g.evg", *options, *given, "-o", table, "--no-timeline")
        assert done.status == 0
        assert parquet.read_table(table)["rank"].to_pylist() == expected["rank"].tolist()
        assert evener("verify", "pagerank", tmp_path / "g.evg", table).status == 0
    other = ["--personalization", "c"]
    assert evener("verify", "pagerank", tmp_path / "g.evg", table, *other).status == 3
    (tmp_path / "jumps.csv").write_text("vertex,weight,when\nc,1,2\n")
    for jumps, message in (
        ("c,c", "each vertex once"),
        (tmp_path / "jumps.csv", "found vertex, weight, when"),
    ):
        done = evener("run", "pagerank", tmp_path / "g.evg", "--personalization", jumps)
        assert (done.status, done.out) == (2, "")
        assert message in done.err


def test_the_verdict_names_the_verified_tolerance(evener):
    done = evener("run", "pagerank", "rmat:6", "--verify", "--tol", "1e-9")
    (iterations,) = re.findall(r": (\d+) supersteps", done.out)
    message = f"the ranks of {int(iterations) - 1} iterations, within --tol 1e-09"
    assert f"The answer is verified: {message}.\n" in done.out
    done = evener("verify", "pagerank", "rmat:6", "--tol", "1e-9", "--max-iter", "1")
    assert done.out.endswith(
        ": the ranks of 1 iteration; they have not converged, because --tol 1e-09 was not met.\n"
    )
    for exact in (("--tol", "0"), ("--semantics", "graphalytics", "--max-iter", "5")):
        assert "The answer is verified.\n" in evener("run", "pagerank", "rmat:6", "--verify", *exact).out


def test_a_specification_with_slashes(evener):
    """The third power of a 2 x 2 matrix with three ones has 2^3 vertices and 3^3 edges."""
    assert ev.read("kronecker:11/10,power=3").m == 27
    facts = json.loads(evener("info", "kronecker:11/10,power=3", "--json").out)
    assert (facts["vertices"], facts["edges"]) == (8, 27)


def test_a_file_that_omits_the_direction_prints_a_note(evener, tmp_path):
    for suffix in ("csv", "npz"):
        done = evener("generate", "grid:3x3", "-o", tmp_path / f"g.{suffix}")
        assert done.err.endswith("files omit the direction of edges; read it with --undirected\n")
        assert ev.read(tmp_path / f"g.{suffix}", directed=False).m == 24
    assert evener("generate", "grid:3x3", "-o", tmp_path / "g.txt").err == ""
    assert evener("generate", "rmat:4,directed", "-o", tmp_path / "d.csv").err == ""


def test_convert_describes_the_file_it_wrote(evener, tmp_path):
    """The graph has the vertices 2, 5 and 9 and the edge 2-5. CSV stores only vertices with edges."""
    (tmp_path / "g.txt").write_text("# Undirected graph\n# Without edges: 9\n2 5 7\n")

    def described(name, *words):
        done = evener("convert", tmp_path / "g.txt", tmp_path / name, *words)
        return done.out.removeprefix(f"Wrote {tmp_path}/{name}: "), done.err

    kept = "3 vertices, 1 undirected edge, int32 weights.\n"
    assert described("g.parquet") == (kept, "")
    omitted = "CSV files omit 1 vertex without edges and the direction of edges; read it with --undirected"
    two = kept.replace("3 vertices", "2 vertices")
    assert described("g.csv") == (two, f"evener: {tmp_path}/g.csv: {omitted}\n")
    numbered = kept.replace("vertices", "vertices, numbered from 0 without their ids")
    assert described("g.mtx", "--ids", "drop") == (numbered, "")
    facts = json.loads(
        evener("convert", tmp_path / "g.txt", tmp_path / "g.npz", "--ids", "drop", "--json").out
    )
    assert (facts["vertices"], facts["edges"], facts["weights"]) == (3, 1, "int32")
    assert (facts["omitted_vertices"], facts["omitted_ids"], facts["omitted_direction"]) == (0, True, True)


@pytest.mark.parametrize("names", ["0 1", "ann bob"])
def test_a_third_field_that_is_not_a_weight_prints_a_note(evener, tmp_path, names):
    """NetworkX writes a dictionary of attributes by default."""
    (tmp_path / "e.txt").write_text(f"{names} {{'weight':4}}\n")
    done = evener("info", tmp_path / "e.txt")
    assert "the graph has no weights: the third field is not a number, but \"{'weight':4}\"" in done.err
    (tmp_path / "e.txt").write_text(f"{names} 4\n")
    assert evener("info", tmp_path / "e.txt").err == ""


class TestFailures:
    def test_a_bug_is_one_line_and_status_1(self, evener, monkeypatch):
        monkeypatch.setattr(runs, "compute", lambda *_: {}["absent"])
        done = evener("run", "wcc", "grid:2x2")
        assert done.status == 1
        assert done.err.count("\n") == 1
        assert "a bug in Evener" in done.err
        assert "KeyError in test_cli.py" in done.err
        monkeypatch.setenv("EVENER_TRACEBACK", "1")
        assert "Traceback (most recent call last)" in evener("run", "wcc", "grid:2x2").err

    def test_an_error_of_the_mpi_library_is_no_bug(self, evener, monkeypatch):
        """It first waits, because another rank may be lost, which ends the job with a better message."""

        class LibraryError(RuntimeError):
            pass

        def lose(*_):
            raise LibraryError("MPI_ERR_OTHER")

        waited = []
        monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(Exception=LibraryError))
        monkeypatch.setattr(runs, "compute", lose)
        monkeypatch.setattr(mpi, "sleep", waited.append)
        done = evener("run", "wcc", "grid:2x2")
        assert done.status == 1
        assert waited == [mpi._NOTICING]
        assert "the MPI library failed: MPI_ERR_OTHER" in done.err
        assert "bug" not in done.err

    def test_a_memory_error_without_a_message(self, evener, monkeypatch):
        def exhaust(*_):
            raise MemoryError

        monkeypatch.setattr(runs, "compute", exhaust)
        done = evener("run", "wcc", "grid:2x2")
        assert (done.status, done.err) == (2, "evener: not enough memory: an allocation failed\n")

    def test_a_closed_pipe(self):
        words = [sys.executable, "-m", "evener", "info", "grid:9x9"]
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, check=False, timeout=120)
        os.close(write)
        assert (done.returncode, done.stderr) == (141, b"")

    @pytest.mark.parametrize("words", [["devices"], ["run", "--help"]])
    def test_standard_output_on_a_full_disk(self, words):
        with Path("/dev/full").open("w") as full:
            words = [sys.executable, "-m", "evener", *words]
            done = subprocess.run(
                words, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120
            )
        assert done.returncode == 2
        assert done.stderr == "evener: standard output cannot be written: no space left on device\n"

    def test_standard_error_on_a_full_disk(self):
        """Notes are lost, but the exit status is correct."""
        with Path("/dev/full").open("w") as full:
            done = [
                subprocess.run(
                    [sys.executable, "-m", "evener", "run", "bfs", "grid:2x2", "--source", source],
                    stdout=subprocess.PIPE,
                    stderr=full,
                    check=False,
                    timeout=120,
                )
                for source in ("0", "9")
            ]
        assert [one.returncode for one in done] == [0, 2]
        assert b"4 of 4 vertices reached" in done[0].stdout

    def test_a_closed_standard_output(self, evener, monkeypatch):
        monkeypatch.setattr(sys, "stdout", None)
        done = evener("info", "grid:2x2")
        assert (done.status, done.err) == (2, "evener: standard output cannot be written: it is closed\n")

    def test_control_characters_in_names_are_escaped(self, evener, tmp_path):
        names = ["\x1b[31mred", "line\nbreak", "back\x08"]
        ev.write(ev.Graph.from_edges(names, names[1:] + names[:1]), tmp_path / "g.parquet")
        done = evener("run", "wcc", str(tmp_path / "g.parquet"), "--no-timeline")
        assert r"\x1b[31mred" in done.out
        assert all(c.isprintable() or c == "\n" for c in done.out)

    def test_a_setting_that_prevents_the_import_of_numba(self):
        done = subprocess.run(
            [sys.executable, "-m", "evener", "run", "bfs", "grid:2x2", "--source", "0"],
            env={**os.environ, "NUMBA_NUM_THREADS": "0"},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith("evener: Numba cannot be imported (")


def test_warmup_compiles_for_the_named_algorithms(evener, monkeypatch):
    """Processes compile for files, placements and the algorithm; here the compilation itself is left out."""
    from evener.cli import warmup

    tasks = []
    monkeypatch.setattr(warmup, "run", tasks.append)
    monkeypatch.setattr(warmup, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    done = evener("warmup", "wcc", "--json")
    names = ("files", "places", "programs", "wcc")
    assert (done.status, tasks) == (0, [(name, ("", "float64")) for name in names])
    assert json.loads(done.out)["algorithms"] == ["wcc"]
    assert done.err == "evener: compiling kernels, which takes some seconds unless all are in the cache\n"
    refused = evener("warmup", "wc")
    assert (refused.status, refused.out) == (2, "")


def test_a_task_of_warmup_runs():
    from evener.cli import kernel_runs

    kernel_runs.run(kernel_runs.Task("wcc", ("",)))
    with pytest.raises(ev.ArgumentError, match="wc"):
        kernel_runs.run(kernel_runs.Task("wc", ("",)))


def test_a_task_of_warmup_fails_if_an_option_never_works(monkeypatch):
    from evener.cli import kernel_runs

    monkeypatch.setitem(kernel_runs._OWN_VALUES, "max_searches", (0,))
    with pytest.raises(ev.ArgumentError, match="max_searches"):
        kernel_runs.run(kernel_runs.Task("diameter", ("",)))


def test_a_task_of_warmup_fails_if_no_answer_is_verified(monkeypatch):
    from evener.cli import kernel_runs

    def refuse(_):
        raise ev.VerificationError("wrong")

    monkeypatch.setattr(import_module("evener.spec.verify"), "verify", refuse)
    with pytest.raises(ev.VerificationError, match="wrong"):
        kernel_runs.run(kernel_runs.Task("wcc", ("",)))
