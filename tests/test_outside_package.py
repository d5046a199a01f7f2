"""An algorithm from an installed package works like a built-in algorithm, in subprocesses."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

import evener as ev
from evener.spec.registry import names_with_kernels
from support.kcore_example import PROJECT

# Each test starts a process, and the first compiles its kernels into an empty cache.
pytestmark = pytest.mark.slow
SOURCE = Path(ev.__file__).parents[1]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the example, because building a package writes into its folder."""
    copy = tmp_path_factory.mktemp("project") / "kcore"
    leave_out = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    return shutil.copytree(PROJECT, copy, ignore=leave_out)


@pytest.fixture(scope="module")
def site(project, apart, tmp_path_factory):
    """Install the example and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    done = apart("-m", "pip", "install", *offline, "--target", folder, project)
    assert done.status == 0, done.err
    return folder


@pytest.fixture(scope="module")
def python(apart, site, tmp_path_factory):
    """Run Python with the installed example and other package folders on its path."""
    cache = tmp_path_factory.mktemp("cache")

    def run(*words, others=()):
        path = os.pathsep.join(map(str, [*others, site, SOURCE]))
        return apart(*words, timeout=280, PYTHONPATH=path, XDG_CACHE_HOME=str(cache))

    return run


@pytest.fixture(scope="module")
def command(python):
    """Run the command line with the installed example on its path."""
    return lambda *words, **how: python("-m", "evener", *words, **how)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """Write a triangle (core number 2) with a pendant vertex (core number 1)."""
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    path.write_text("7 8\n8 9\n9 7\n9 3\n")
    return path


CORES = {3: 1, 7: 2, 8: 2, 9: 2}


def test_the_tests_of_the_example_pass(python, project):
    done = python("-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider", "-q", project / "tests")
    assert done.status == 0, done.out + done.err


def test_help_lists_the_algorithm(command):
    listed = command("run", "--help")
    assert (listed.status, listed.err) == (0, "")
    assert "Core numbers of an undirected graph." in listed.out
    own = command("run", "kcore", "--help")
    assert (own.status, own.err) == (0, "")
    assert "Usage: evener run kcore [OPTIONS] {GRAPH}" in own.out


def test_a_run_writes_a_table_and_a_report(command, edges, tmp_path):
    table, page = tmp_path / "cores.csv", tmp_path / "run.html"
    words = ("--undirected", "--on", "cpu:1,cpu:1", "--verify", "--json", "-o", table, "--report", page)
    done = command("run", "kcore", edges, *words)
    assert done.status == 0, done.err
    printed = json.loads(done.out)
    assert (printed["algorithm"], printed["verified"]) == ("kcore", True)
    heads, *rows = csv.reader(table.read_text().splitlines())
    assert heads == ["vertex", "core"]
    assert dict(tuple(map(int, row)) for row in rows) == CORES
    assert "kcore" in page.read_text()


def test_verify_accepts_a_correct_table_and_rejects_a_wrong_one(command, edges, tmp_path):
    table = tmp_path / "cores.csv"
    table.write_text("vertex,core\n" + "".join(f"{v},{core}\n" for v, core in CORES.items()))
    right = command("verify", "kcore", edges, table, "--undirected")
    assert (right.status, right.err) == (0, "")
    table.write_text(table.read_text().replace("7,2", "7,3"))
    wrong = command("verify", "kcore", edges, table, "--undirected")
    assert (wrong.status, wrong.out) == (3, "")
    assert wrong.err.endswith("vertex 7 has 3, recomputed 2\n")


def test_bench_times_verified_runs(command):
    done = command("bench", "kcore", "rmat:8", "--repeats", 2, "--on", "cpu:1", "--json")
    assert done.status == 0, done.err
    printed = json.loads(done.out)
    assert (printed["verified"], len(printed["runs"])) == (True, 2)


def test_plan_predicts_a_run(command):
    done = command("plan", "rmat:8", "--for", "kcore", "--on", "cpu:1")
    assert done.status == 0, done.err
    assert "cpu:1" in done.out


# ---- broken packages ---------------------------------------------------------------------------------


@pytest.fixture
def install(tmp_path):
    """Write the metadata of an installed package with one entry point, and return its folder."""

    def write(name, value):
        folder = tmp_path / "broken-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[evener.algorithms]\n{name} = {value}\n")
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("motifs", "no_such_package:SPEC", "No module named 'no_such_package'"),
        ("motifs", "json:SPEC", "has no attribute 'SPEC'"),
        ("motifs", "json:dumps", "expected an AlgorithmSpec with the name 'motifs'"),
        ("motifs", "evener_kcore:SPEC", "expected an AlgorithmSpec with the name 'motifs'"),
    ],
    ids=["no module", "no attribute", "no spec", "another name"],
)
def test_a_broken_package_gives_a_one_line_error(command, install, name, value, found):
    broken = command("run", name, "rmat:4", "--on", "cpu:1", others=[install(name, value)])
    assert (broken.status, broken.out) == (2, "")
    assert broken.err.count("\n") == 1
    assert found in broken.err
    assert f"'{value}', which broken registers as evener.algorithms" in broken.err


def test_a_broken_package_breaks_no_other_algorithm(command, install):
    others = [install("motifs", "no_such_package:SPEC")]
    listed = command("run", "--help", others=others)
    assert (listed.status, listed.err) == (0, "")
    for word in ("motifs", "Core numbers of an undirected graph.", "bfs"):
        assert word in listed.out
    assert command("run", "bfs", "rmat:4", "--on", "cpu:1", others=others).status == 0


def test_a_package_does_not_replace_an_algorithm_of_evener(command, install):
    done = command("run", "bfs", "rmat:4", "--on", "cpu:1", others=[install("bfs", "evener_kcore:SPEC")])
    assert done.status == 0
    assert "bfs in " in done.out


# ---- imports of a run --------------------------------------------------------------------------------

IMPORTED = """
import json, sys
from evener.cli import main
assert main(["run", "bfs", "rmat:10", "--on", "cpu:1,cpu:1"]) == 0
print(json.dumps([*sys.modules]))
"""


def test_a_run_imports_no_other_algorithm_no_cuda_and_no_planner(python):
    done = python("-c", IMPORTED)
    assert done.status == 0, done.err
    imported = set(json.loads(done.out.splitlines()[-1]))
    unwanted = {"evener_kcore", "evener.planning", "evener.elements.cuda.element", "cupy", "cuda", "pynvml"}
    unwanted |= {f"evener.algorithms.{name}" for name in names_with_kernels() if name != "bfs"}
    assert imported & unwanted == set()
    assert {"evener.algorithms.bfs.bfs", "evener.elements.cpu"} <= imported
