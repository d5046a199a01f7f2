"""Checkpoints: a stopped run continues to the same answer, and checkpoints of another run are refused."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import evener as ev
from evener.elements.cpu import CpuElement
from evener.engine.checkpoints.folder import CheckpointFolder
from evener.programs import operator_sets
from evener.programs.supersteps import Supersteps
from evener.testing.ranks import run_ranks
from support import gimv_cases, vertex_cases
from support.fake_gpu import FakeGpu
from support.kernel_inventory import find_kernels_of_gpus


class StopError(Exception):
    """Raised to stop a run."""


def stop_at(superstep):
    def stop(progress):
        if progress.superstep == superstep:
            raise StopError

    return stop


def shortest_paths(placed, **options):
    return ev.gimv(placed, **operator_sets.shortest_paths(placed.graph, 0), **options)


def components(placed, **options):
    return ev.gimv(placed, **operator_sets.connected_components(placed.graph), **options)


def shortest_paths_with_parents(placed, **options):
    return ev.gimv(placed, **gimv_cases.parents(placed.graph), **options)


def distances(placed, **options):
    return ev.vertex_program(placed, vertex_cases.shortest(placed.graph.n), **options)


def personalized(placed, **options):
    jumps = {1: 1.0, 5: 2.0}
    return ev.pagerank(placed, dtype="float64", tol=1e-9, personalization=jumps, **options)


def weighted_pagerank(placed, **options):
    return ev.pagerank(placed, tol=0, max_iter=7, **options)


def bfs(placed, **options):
    return ev.bfs(placed, source=1, **options)


def sssp(placed, **options):
    return ev.sssp(placed, source=1, **options)


def betweenness(placed, **options):
    return ev.betweenness(placed, sources=range(1, 17), **options)


# An algorithm, a graph, and the superstep at which the run stops.
CASES = {
    "pagerank": (ev.pagerank, "rmat:8", 6),
    "personalized pagerank": (personalized, "rmat:8,directed", 20),
    "weighted pagerank": (weighted_pagerank, "rmat:8,weights=real", 5),
    "bfs": (bfs, "grid:9x60", 7),
    "sssp": (sssp, "grid:40x40,weights=real", 9),
    "sssp of integers": (sssp, "grid:40x40,weights=1..99", 9),
    "betweenness": (betweenness, "rmat:8", 20),
    "gimv": (components, "grid:9x9", 6),
    "gimv with weights": (shortest_paths, "grid:9x9,weights=real", 6),
    "gimv with fields": (shortest_paths_with_parents, "grid:9x9,weights=1..9", 6),
    "vertex program with weights": (distances, "grid:9x9,weights=1..9", 6),
    "k_core": (partial(ev.k_core, k=3), "grid:9x9", 4),
    "hits": (ev.hits, "rmat:8,directed", 6),
    "leiden": (ev.leiden, "grid:9x9", 9),
    "louvain": (ev.louvain, "grid:9x9", 4),
    "label_propagation": (ev.label_propagation, "grid:9x9", 3),
}
NO_VERIFIER = ("gimv", "gimv with weights", "gimv with fields", "vertex program with weights")
# The elements and the policy of a run, and those of another run that resumes it.
PLACES = [("cpu:1", "random", "cpu:1,cpu:1,cpu:1", "high"), ("cpu:1,cpu:1", "low", "cpu:1", "random")]


def values(result):
    return {name: np.array(result[name]) for name in result}


def check_equal(result, expected):
    assert list(result) == list(expected)
    for name in result:
        np.testing.assert_array_equal(result[name], expected[name])


def check_close(result, expected, name):
    for column in expected.keys() - {"parent"}:  # several parents are correct
        np.testing.assert_allclose(result[column], expected[column], rtol=1e-6)
    if name not in NO_VERIFIER:
        ev.verify(result)


def stopped(run, placed, folder, superstep):
    """Stop a run at a superstep, after it wrote checkpoints to the folder."""
    with pytest.raises(StopError):
        run(placed, checkpoint=ev.Checkpoint(folder, every="1step"), progress=stop_at(superstep))
    assert any(file.suffix == ".json" for file in folder.iterdir())


def resume(folder):
    return ev.Checkpoint(folder, every="1step", resume=True)


def marked(name):
    """Return a case. The everyday command compiles one GIM-V program and one library algorithm."""
    programs = ("gimv with weights", "gimv with fields", "vertex program with weights", "hits", "leiden")
    return pytest.param(name, marks=[pytest.mark.slow] * (name in programs))


@pytest.mark.parametrize("place", PLACES, ids=["one", "two"])
@pytest.mark.parametrize("name", [marked(name) for name in CASES])
def test_a_run_continues(tmp_path, name, place):
    """A run continues to the same bytes on the same elements, and to the same answer on others."""
    run, spec, superstep = CASES[name]
    graph = ev.read(spec)
    same, other = (ev.partition(graph, on, policy=policy) for on, policy in (place[:2], place[2:]))
    whole = run(same)
    expected = values(whole)
    stopped(run, same, tmp_path / "a", superstep)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    result = run(same, checkpoint=resume(tmp_path / "a"))
    check_equal(result, expected)
    assert 0 < result.timeline.supersteps < whole.timeline.supersteps
    assert result.outcome == whole.outcome
    assert result.seconds > result.timeline.earlier_seconds > 0
    check_close(run(other, checkpoint=resume(tmp_path / "b")), expected, name)


def test_a_vertex_program_continues_with_the_same_kernels(tmp_path, monkeypatch):
    """A GPU reads column blocks if the last superstep read most edges, also if a run continues."""
    chosen = []
    step = Supersteps._step

    def observed(self, *args, first=False, dense=False, **options):
        if not first:
            chosen.append(dense)
        return step(self, *args, first=first, dense=dense, **options)

    monkeypatch.setattr(Supersteps, "_step", observed)
    graph = ev.read("grid:20x20")
    program = ev.VertexProgram(
        state={"label": np.arange(graph.n)},
        send=lambda state, _: state.label,
        combine=min,
        apply=lambda state, message: ((min(state.label, message),), message < state.label),
    )
    placed = ev.partition(graph, "cpu:1")
    run = partial(ev.vertex_program, program=program)
    run(placed)
    whole, chosen[:] = list(chosen), []
    assert whole[:2] == [True, True]
    assert not whole[-1]
    stopped(run, placed, tmp_path / "a", 3)
    chosen.clear()
    run(placed, checkpoint=resume(tmp_path / "a"))
    assert chosen == whole[-len(chosen) :]
    assert chosen[0]


@pytest.mark.parametrize("name", ["pagerank", "bfs", "sssp"])
def test_gpus_continue(tmp_path, monkeypatch, name):
    """A run on one fake GPU, with kernels for many levels, continues there and on a CPU with a fake GPU."""
    find_kernels_of_gpus(monkeypatch)
    run, spec, _ = CASES[name]
    graph = ev.read(spec)
    single = ev.partition(graph, [FakeGpu("cuda:0", 0)])
    expected = values(run(graph, on="cpu:1"))
    stopped(run, single, tmp_path / "c", 3)
    both = ev.partition(graph, [CpuElement("cpu:1", 1), FakeGpu("cuda:0", 0)], policy="high", alpha=0.5)
    shutil.copytree(tmp_path / "c", tmp_path / "d")
    check_close(run(both, checkpoint=resume(tmp_path / "c")), expected, name)
    check_close(run(single, checkpoint=resume(tmp_path / "d")), expected, name)


def test_a_checkpoint_of_complete_components_needs_no_superstep(tmp_path):
    placed = ev.partition(ev.read("rmat:8"), "cpu:1,cpu:1")
    expected = values(ev.wcc(placed, checkpoint=ev.Checkpoint(tmp_path / "c", every="1step")))
    result = ev.wcc(ev.partition(ev.read("rmat:8"), "cpu:1"), checkpoint=resume(tmp_path / "c"))
    check_equal(result, expected)
    assert result.timeline.supersteps == 0


def test_distances_beyond_32_bits(tmp_path):
    """The search starts again in float64, and the run resumes in the second search."""
    length = 40
    graph = ev.Graph.from_edges(np.arange(length), np.arange(length) + 1, np.full(length, 2**30, np.int32))
    placed = ev.partition(graph, "cpu:1,cpu:1")
    whole = ev.sssp(placed, source=0)
    begun = sorted({span.superstep for span in whole.timeline if span.phase == "begin"})
    assert len(begun) == 2
    stopped(partial(ev.sssp, source=0), placed, tmp_path / "c", begun[1] + 9)
    result = ev.sssp(placed, source=0, checkpoint=resume(tmp_path / "c"))
    check_equal(result, values(whole))
    assert result["distance"][length] == length * 2**30
    assert len({span.superstep for span in result.timeline if span.phase == "begin"}) == 1


def chain_of_cycles():
    """Return a graph with a cycle of three vertices for each round of `scc`."""
    v = np.arange(30)
    tails, heads = np.append(v, v[2:-3:3]), np.append(v - v % 3 + (v + 1) % 3, v[3::3])
    return ev.Graph.from_edges(tails, heads)


@pytest.mark.parametrize("name", ["coloring", "core_number", "scc"])
def test_rounds_of_several_elements(tmp_path, name):
    """A run on one element, or on three, continues the rounds of two elements."""
    run = getattr(ev, name)
    graph = chain_of_cycles() if name == "scc" else ev.read("grid:20x20" if name == "coloring" else "rmat:8")
    placed = ev.partition(graph, "cpu:1,cpu:1", policy="random")
    whole = run(placed)
    stopped(run, placed, tmp_path / "a", whole.timeline.supersteps // 2)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for on, folder in (("cpu:1", "a"), ("cpu:1,cpu:1,cpu:1", "b")):
        result = run(graph, on=on, checkpoint=resume(tmp_path / folder))
        check_equal(result, values(whole))
        assert result.outcome == whole.outcome


@pytest.mark.parametrize(
    ("name", "ranks"), [("pagerank", 3), ("bfs", 1), ("sssp of integers", 3), ("k_core", 3), ("louvain", 3)]
)
def test_ranks(tmp_path, name, ranks):
    """Two ranks continue to the same bytes; another number of ranks continues to the same answer."""
    run, spec, superstep = CASES[name]

    def on_ranks(size, **options):
        def on_rank(_):
            result = run(ev.partition(spec, "cpu:1", policy="random"), **options)
            gathered = result.gather()
            return values(result if gathered is None else gathered)

        return run_ranks(size, on_rank)[0]

    expected = on_ranks(2)
    with pytest.raises(StopError):
        on_ranks(2, checkpoint=ev.Checkpoint(tmp_path / "a", every="1step"), progress=stop_at(superstep))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    check_equal(on_ranks(2, checkpoint=resume(tmp_path / "a")), expected)
    found = on_ranks(ranks, checkpoint=resume(tmp_path / "b"))
    for column in expected.keys() - {"parent"}:
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-6)


# ---- the folder ----------------------------------------------------------------------------------------


@pytest.fixture
def placed():
    return ev.partition(ev.read("rmat:8"), "cpu:1")


@pytest.fixture
def folder(placed, tmp_path):
    """A folder with the checkpoints 4 and 5."""
    stopped(ev.pagerank, placed, tmp_path / "c", 7)
    return tmp_path / "c"


def test_two_generations_are_kept(folder, placed):
    (folder / "notes.txt").write_text("mine")
    (folder / "00000099.00000.state").write_text("of a killed run")
    before = {file.name for file in folder.iterdir()}
    states = {f"0000000{generation}.00000.state" for generation in range(1, 6)}
    assert before - states == {
        "00000001.00000.vertices", "00000002.00000.vertices", "00000004.json", "00000005.json",
        "00000006.00000.state", "00000099.00000.state", "notes.txt",
    }  # fmt: skip
    # Later generations overwrote the first states. The kept ones are in files of their own.
    assert {"00000004.00000.state", "00000005.00000.state"} <= before
    assert len(before & states) <= 4
    ev.pagerank(placed, checkpoint=resume(folder))
    after = sorted(file.name for file in folder.iterdir() if file.suffix == ".json")
    assert len(after) == 2
    assert min(after) > "00000100"
    assert len(list(folder.iterdir())) == 7  # two manifests, two states, two files of vertices, and the notes


def test_a_continued_run_without_a_checkpoint_removes_none(folder, placed):
    before = sorted(file.name for file in folder.iterdir())
    ev.pagerank(placed, checkpoint=ev.Checkpoint(folder, every="9999steps", resume=True))
    assert sorted(file.name for file in folder.iterdir()) == before


def test_another_run_does_not_use_the_folder_meanwhile(folder, placed):
    def look(progress):
        if progress.superstep == 2:
            with pytest.raises(ev.FileError, match=r"^cannot write checkpoints to \S*: another run writes"):
                ev.pagerank(placed, checkpoint=resume(folder))

    ev.pagerank(placed, checkpoint=resume(folder), progress=look)
    ev.pagerank(placed, checkpoint=resume(folder))


KILLED = """
import os, signal, sys
from pathlib import Path
import evener as ev

replace = Path.replace

def killed(self, target):
    if self.parent.name == "c" and "00000007" in self.name:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)

Path.replace = killed
placed = ev.partition(ev.read("rmat:8"), "cpu:1")
ev.pagerank(placed, checkpoint=ev.Checkpoint(sys.argv[1], every="1step", resume=True))
"""


def test_temporary_files_of_killed_runs_are_removed(folder, placed):
    """The next checkpoint removes the temporary manifest of a killed run, not the file of a living one."""
    done = subprocess.run([sys.executable, "-c", KILLED, folder], check=False)
    assert done.returncode == -signal.SIGKILL
    (killed,) = folder.glob(".*")
    assert killed.name.startswith(".00000007.json.")
    (folder / ".00000003.json.0123abcd.tmp").touch()
    os.mkfifo(folder / ".00000002.json.0123abcd.tmp")
    others = [folder / ".00000007.json.00000000.tmp", folder / ".notes.txt.0123abcd.tmp"]
    for file in others:
        file.touch()
    with others[0].open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        ev.pagerank(placed, checkpoint=resume(folder))
        assert sorted(folder.glob(".*")) == sorted(others)


def test_ranks_remove_temporary_files(tmp_path):
    (tmp_path / ".00000001.json.0123abcd.tmp").touch()
    checkpoint = ev.Checkpoint(tmp_path, every="1step")
    run_ranks(2, lambda _: ev.pagerank(ev.partition("rmat:5", "cpu:1"), checkpoint=checkpoint))
    assert not list(tmp_path.glob(".*"))


def flip(place):
    def damage(file):
        content = bytearray(file.read_bytes())
        content[place % len(content)] ^= 4
        file.write_bytes(content)

    return damage


def cut(length):
    return lambda file: file.write_bytes(file.read_bytes()[:length])


DAMAGES = {
    "first byte": flip(0), "a byte": flip(333), "last byte": flip(-1), "empty": cut(0), "half": cut(300),
    "one byte less": cut(-1), "one byte more": lambda file: file.write_bytes(file.read_bytes() + b"\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["00000005.json", "00000005.00000.state", "00000001.00000.vertices"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_generation_is_not_used(folder, placed, caplog, name, damage):
    """One warning names the file, and the run continues from the previous generation."""
    DAMAGES[damage](folder / name)
    result = ev.pagerank(placed, checkpoint=resume(folder))
    check_equal(result, values(ev.pagerank(placed)))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message.startswith(f"checkpoint 5 is not valid and not used: {folder / name}: ")
    assert result.timeline.supersteps == len(ev.pagerank(placed).timeline) - 4


def test_the_checksum_of_a_file(tmp_path):
    """It does not depend on how the bytes are divided into arrays, and detects rows that changed places."""
    folder, content = CheckpointFolder(tmp_path), np.random.default_rng(1).integers(0, 256, 20_000, np.uint8)
    checksum = folder.write("a", [content])
    assert folder.write("b", np.split(content, [1, 4000, 4096, 4097, 15_000]), over="a") == checksum
    (found,) = folder.read("b", ["u1"], len(content), checksum)
    np.testing.assert_array_equal(found, content)
    folder.write("b", [content[4096:8192], content[:4096], content[8192:]])
    with pytest.raises(ev.FormatError, match="its checksum does not match"):
        folder.read("b", ["u1"], len(content), checksum)


@pytest.mark.parametrize("name", ["00000005.00000.state", "00000001.00000.vertices"])
def test_a_missing_file(folder, placed, caplog, name):
    (folder / name).unlink()
    check_equal(ev.pagerank(placed, checkpoint=resume(folder)), values(ev.pagerank(placed)))
    assert f"{folder / name}: cannot be read: no such file or directory" in caplog.text


def test_no_valid_generation(folder, placed, evener):
    for file in folder.glob("*.json"):
        flip(100)(file)
    reason = "the manifest is damaged: its checksum does not match"
    with pytest.raises(
        ev.FormatError,
        match=rf"05\.json: {reason}; cannot resume: .*c has no valid checkpoint; run without resume",
    ):
        ev.pagerank(placed, checkpoint=resume(folder))
    words = ["run", "pagerank", "rmat:8", "--on", "cpu:1", "--checkpoint", folder, "--resume"]
    done = evener(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1] == (
        f"evener: {folder / '00000005.json'}: {reason}; cannot resume: {folder} has no valid checkpoint; run "
        "without --resume to begin again"
    )


def test_a_folder_without_checkpoints(placed, tmp_path):
    with pytest.raises(ev.FileError, match=f"cannot resume: {tmp_path} has no valid checkpoint; run without"):
        ev.pagerank(placed, checkpoint=resume(tmp_path))


OTHERS = {
    "expected 0.7 for damping=, found 0.85": {"damping": 0.7},
    "expected float64 for dtype=, found float32": {"dtype": "float64"},
    "expected 1 values with checksum [0-9a-f]+ for personalization=, found None": {
        "personalization": {1: 1.0}
    },
}


@pytest.mark.parametrize("sentence", OTHERS)
def test_other_arguments_are_refused(folder, placed, sentence):
    with pytest.raises(
        ev.ArgumentError, match=f"the checkpoints in .*c are of another run; {sentence}; give"
    ):
        ev.pagerank(placed, **OTHERS[sentence], checkpoint=resume(folder))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rmat:7", "expected 128 for number of vertices, found 256"),
        ("rmat:8,seed=2", "expected [0-9]+ for number of edges, found [0-9]+"),
        ("rmat:8,weights=real", r"expected float32 from 0\.000\d+ to 0\.99\d+ for weights, found None"),
    ],
)
def test_another_graph_is_refused(folder, spec, sentence):
    graph = ev.read(spec)
    with pytest.raises(ev.ArgumentError, match=sentence):
        ev.pagerank(graph, on="cpu:1", weights=False, checkpoint=resume(folder))


def test_a_graph_with_different_degrees_is_refused(tmp_path):
    cycle, path = ([0, 1, 2, 3], [1, 2, 3, 0]), ([0, 1, 2, 2], [1, 2, 3, 0])
    first, second = (ev.Graph.from_edges(*edges) for edges in (cycle, path))
    ev.pagerank(first, on="cpu:1", checkpoint=ev.Checkpoint(tmp_path / "c", every="1step"), tol=0, max_iter=5)
    with pytest.raises(ev.ArgumentError, match=r"expected [0-9a-f]{16} for degrees, found [0-9a-f]{16}"):
        ev.pagerank(second, on="cpu:1", checkpoint=resume(tmp_path / "c"), tol=0, max_iter=5)


def test_another_algorithm_is_refused(folder, placed):
    with pytest.raises(ev.ArgumentError, match="expected wcc for algorithm, found pagerank"):
        ev.wcc(placed, checkpoint=resume(folder))


def test_checkpoints_of_an_earlier_run_are_not_overwritten(folder, placed):
    with pytest.raises(
        ev.ArgumentError, match="has the checkpoints of an earlier run; continue it with resume=True"
    ):
        ev.pagerank(placed, checkpoint=ev.Checkpoint(folder))


def test_a_folder_that_cannot_be_used(placed, tmp_path):
    with pytest.raises(ev.FileError, match=r"cannot write checkpoints to .*: there is no folder .*absent;"):
        ev.pagerank(placed, checkpoint=ev.Checkpoint(tmp_path / "absent" / "c"))
    (tmp_path / "file").touch()
    with pytest.raises(ev.FileError, match=r"cannot write checkpoints to .*file: file exists"):
        ev.pagerank(placed, checkpoint=ev.Checkpoint(tmp_path / "file"))
    with pytest.raises(ev.FileError, match=r"cannot resume: there is no folder .*c; check the name"):
        ev.pagerank(placed, checkpoint=resume(tmp_path / "c"))


@pytest.mark.parametrize("kind", ["state", "json"])
def test_a_full_disk_is_a_warning(placed, tmp_path, monkeypatch, caplog, kind):
    """The run continues, the previous generation stays, and later generations are written."""
    sync = os.fsync

    def full(handle):
        name = str(Path(f"/proc/self/fd/{handle}").readlink())
        if re.search(rf"0000000[345]\.(00000\.)?{kind}", name):
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr("evener.engine.checkpoints.folder.os.fsync", full)
    folder = tmp_path / "c"

    def look(progress):
        if progress.superstep == 7:
            assert {"00000001.json"} <= {file.name for file in folder.glob("*.json")} <= {
                "00000001.json", "00000002.json",
            }  # fmt: skip

    result = ev.pagerank(placed, checkpoint=ev.Checkpoint(folder, every="1step"), progress=look)
    check_equal(result, values(ev.pagerank(placed)))
    (record,) = caplog.records
    assert f"a checkpoint cannot be written to {folder}: " in record.message
    assert "no space left on device" in record.message
    assert record.message.endswith("the run goes on; earlier checkpoints stay valid")
    assert max(file.name for file in folder.glob("*.json")) > "00000006.json"
    assert not list(folder.glob(".*"))
    kept = CheckpointFolder(folder)
    for generation in kept.generations():
        manifest = kept.read_manifest(generation)
        (shard,) = manifest.shards
        kept.read(shard.vertices, ["<u4"], shard.owned, shard.vertices_checksum)
        kept.read(shard.state, ["<f4"], shard.owned, shard.state_checksum)


def test_no_memory_for_a_copy_is_a_warning(placed, tmp_path, monkeypatch, caplog):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("evener.engine.checkpoints.checkpoints.values_of", full)
    result = ev.pagerank(placed, checkpoint=ev.Checkpoint(tmp_path / "c", every="1step"))
    assert result.outcome["converged"]
    assert ["not enough memory" in record.message for record in caplog.records] == [True]


def test_a_rank_that_cannot_write_is_named(tmp_path, monkeypatch):
    def full(folder, name, arrays, **options):
        if ".00001." in name:
            raise OSError(28, "No space left on device")
        return write(folder, name, arrays, **options)

    write = CheckpointFolder.write
    monkeypatch.setattr(CheckpointFolder, "write", full)
    (tmp_path / "00000000.00000.state").touch()
    with pytest.raises(
        ev.FileError, match=r"cannot write checkpoints to .* on rank 1: no space left on device"
    ):
        run_ranks(
            2, lambda _: ev.bfs(ev.partition("rmat:5", "cpu:1"), source=0, checkpoint=ev.Checkpoint(tmp_path))
        )


def test_a_failing_rank_does_not_let_the_files_of_others_pile_up(tmp_path, monkeypatch):
    def full(folder, name, arrays, **options):
        if re.match(r"(?!0{8})\d{8}\.00001", name):
            raise OSError(5, "Input/output error")
        return write(folder, name, arrays, **options)

    write = CheckpointFolder.write
    monkeypatch.setattr(CheckpointFolder, "write", full)

    checkpoint = ev.Checkpoint(tmp_path, every="1step")
    run_ranks(2, lambda _: ev.pagerank(ev.partition("rmat:5", "cpu:1"), checkpoint=checkpoint))
    assert {file.name for file in tmp_path.iterdir()} == {"00000001.00000.vertices"}


def test_an_error_in_the_thread_is_raised(placed, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("evener.engine.checkpoints.folder.Shard", broken)
    with pytest.raises(ZeroDivisionError):
        ev.pagerank(placed, checkpoint=ev.Checkpoint(tmp_path / "c", every="1step"))


@pytest.mark.parametrize(
    ("every", "steps", "seconds", "due"),
    [("60s", 9, 59.0, False), ("60s", 1, 60.0, True), ("0.5s", 1, 0.6, True), ("3steps", 2, 99.0, False),
     ("3steps", 3, 0.0, True), ("1step", 1, 0.0, True)],
)  # fmt: skip
def test_when_a_checkpoint_is_due(every, steps, seconds, due):
    assert ev.Checkpoint("c", every=every).is_due(steps, seconds) is due


@pytest.mark.parametrize("every", ["", "60", "0steps", "-1s", "1min", 60])
def test_other_times_are_refused(every):
    with pytest.raises(
        ev.ArgumentError, match='every=: expected a time such as "60s", or steps such as "10steps"'
    ):
        ev.Checkpoint("c", every=every)


def test_another_object_is_refused(placed, tmp_path):
    with pytest.raises(ev.ArgumentError, match=r"checkpoint=: expected an evener\.Checkpoint, found str"):
        ev.pagerank(placed, checkpoint=str(tmp_path))


def test_every_rank_has_the_command_that_resumes_the_run(tmp_path):
    def run(world):
        checkpoint = ev.Checkpoint(tmp_path, every="1step", command="the same again")
        ev.pagerank(ev.partition("rmat:5", "cpu:1"), checkpoint=checkpoint)
        return world.recovery

    assert run_ranks(2, run) == ["the same again"] * 2


def test_no_rank_has_a_command_before_the_first_valid_checkpoint(monkeypatch, tmp_path):
    """A rank other than 0 learns from rank 0 whether a manifest was written. A run that continues has one."""
    path = tmp_path / "c"

    def run(world, **how):
        found = []
        ev.pagerank(
            ev.partition("rmat:5", "cpu:1"),
            checkpoint=ev.Checkpoint(path, every="1step", command="the same again", **how),
            progress=lambda _: found.append(world.recovery),
        )
        return found[0], world.recovery

    def fail(*_):
        raise OSError("no space")

    with monkeypatch.context() as refusing:
        refusing.setattr(CheckpointFolder, "commit", fail)
        assert run_ranks(2, run) == [("", "")] * 2
    assert run_ranks(2, run) == [("", "the same again")] * 2
    assert run_ranks(2, partial(run, resume=True)) == [("the same again",) * 2] * 2


@pytest.mark.parametrize("other", ["another folder", None])
def test_ranks_with_other_checkpoints_are_refused(tmp_path, other):
    given = [ev.Checkpoint(tmp_path), other and ev.Checkpoint(tmp_path / other)]

    def run(world):
        ev.bfs(ev.partition("rmat:5", "cpu:1"), source=0, checkpoint=given[world.rank])

    with pytest.raises(
        ev.MpiError,
        match=f"bfs: expected the same (folder of )?checkpoint on all ranks, .* and .*{other}.* on rank 1",
    ):
        run_ranks(2, run)
