"""Crafted checkpoints with right checksums: a run raises an error of Evener, or gives the right answer."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from crafted_checkpoints import change_array, change_manifest, manifest_of, with_checksum

import evener as ev
from evener.engine.checkpoints.manifest import Manifest
from evener.testing.ranks import run_ranks
from support.json_fields import VALUES, fields_of, replace


class StopError(Exception):
    """Raised to stop a run."""


def stop_at(superstep):
    def stop(progress):
        if progress.superstep == superstep:
            raise StopError

    return stop


# An algorithm, a graph, arguments, and the superstep at which the run stops.
RUNS = {
    "pagerank": (ev.pagerank, "rmat:6", {}, 6),
    "bfs": (ev.bfs, "grid:9x60", {"source": 1}, 7),
    "sssp": (ev.sssp, "grid:9x9,weights=1..99", {"source": 1}, 4),
    "betweenness": (ev.betweenness, "rmat:5", {"sources": range(1, 9)}, 12),
    "wcc": (ev.wcc, "rmat:6", {}, None),
    "k_core": (ev.k_core, "grid:5x5", {"k": 3}, 3),
    "louvain": (ev.louvain, "grid:5x5", {}, 3),
    "label_propagation": (ev.label_propagation, "grid:5x5", {}, 3),
    "leiden": (ev.leiden, "grid:5x5", {}, 5),
    "scc": (ev.scc, "uniform:10,edge_factor=2,directed", {}, None),
    "coloring": (ev.coloring, "grid:5x5", {}, None),
}
# For each algorithm a change of its first array that no run would write.
STATES = {
    "pagerank": lambda own: own.__setitem__(3, np.nan),
    "bfs": lambda own: own.__setitem__(3, 10**6),
    "sssp": lambda own: own.__setitem__(3, 1 << 31),
    "betweenness": lambda own: own.__setitem__(3, -np.inf),
    "wcc": lambda own: own.__setitem__(3, 64),
    "k_core": lambda own: own[:-1],
    "louvain": lambda own: own.__setitem__(3, 0xFFFFFFFF),
    "label_propagation": lambda own: own.__setitem__(3, 0xFFFFFFFF),
    "leiden": lambda own: own.__setitem__(3, 25),
    "scc": lambda own: own.__setitem__(3, 1024),
    "coloring": lambda own: own.__setitem__(3, 25),
}


def run(name, ranks=1, **options):
    function, spec, arguments, _ = RUNS[name]
    if ranks == 1:
        result = function(ev.partition(spec, "cpu:1,cpu:1"), **arguments, **options)
        return {column: np.array(result[column]) for column in result}

    def on_rank(_):
        gathered = function(ev.partition(spec, "cpu:1"), **arguments, **options).gather()
        return gathered and {column: np.array(gathered[column]) for column in gathered}

    return run_ranks(ranks, on_rank)[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a function of an algorithm that returns a folder with its checkpoints, and its answer."""
    found = {}

    def save(name, ranks=1):
        if (name, ranks) not in found:
            folder, stop = tmp_path_factory.mktemp(name) / "c", RUNS[name][3]
            checkpoint = ev.Checkpoint(folder, every="1step")
            if stop is None:
                run(name, ranks, checkpoint=checkpoint)
            else:
                with pytest.raises(StopError):
                    run(name, ranks, checkpoint=checkpoint, progress=stop_at(stop))
            found[name, ranks] = folder, run(name, ranks)
        return found[name, ranks]

    return save


def check(saved, folder, name, change, ranks=1):
    """Continue from a changed copy of a folder: expect the right answer, or return the error."""
    source, expected = saved(name, ranks)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    change(folder)
    try:
        found = run(name, ranks, checkpoint=ev.Checkpoint(folder, every="1step", resume=True))
    except ev.EvenerError as error:
        return error
    for column in expected:
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-5)
    return None


def test_every_field_of_a_manifest(saved):
    """A manifest with another value in a field is refused, or has the types that the run uses."""
    text, path = json.dumps(manifest_of(saved("pagerank")[0])), Path("00000001.json")
    for place in fields_of(json.loads(text)):
        for value in [(), *((value,) for value in VALUES)]:
            fields = json.loads(text)
            replace(fields, place, value)
            try:
                manifest = Manifest.decode(with_checksum(json.dumps(fields).encode()), path)
            except ev.FormatError as error:
                found = error
            else:
                assert isinstance(manifest, Manifest)
                assert place[0] not in ("format", "version")
                continue
            assert str(path) in str(found)
            assert place[0] in ("format", "version") or f"{place[0]!r}" in str(found)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_from_changed_fields(saved, tmp_path, ranks):
    """Each field is missing, or is a number, which passes for another value of some fields."""
    fields = manifest_of(saved("pagerank", ranks)[0])
    for place in fields_of(fields) if ranks == 1 else [(name,) for name in fields]:
        for value in ((), (7,)):
            change = partial(change_manifest, change=partial(replace, path=place, value=value))
            error = check(saved, tmp_path / "c", "pagerank", change, ranks)
            assert error is None or str(tmp_path / "c") in str(error)
            if place[0] in ("format", "version", "arrays", "shards"):
                assert isinstance(error, ev.FormatError), (place, value)


TEXTS = {
    "a field twice": lambda f: json.dumps(f).replace('"step"', '"step": 3, "step"').encode(),
    "a list": lambda _: b"[]",
    "deep": lambda _: b'{"run":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "rather deep": lambda f: json.dumps({**f, "run": json.loads("[" * 100 + "]" * 100)}).encode(),
    "not UTF-8": lambda _: b'{"run": "\xff"}',
    "no text": lambda _: b" ",
    "an unknown field": lambda f: {**f, "more": 1},
    "no shards": lambda f: {**f, "shards": []},
    "no scalars": lambda f: {**f, "scalars": []},
    "no arrays": lambda f: {**f, "arrays": []},
    "an array twice": lambda f: {**f, "arrays": f["arrays"] * 2},
    "a shard twice": lambda f: {**f, "shards": f["shards"] * 2},
    "fewer vertices": lambda f: {**f, "shards": [[*f["shards"][0][:4], 31], *f["shards"][1:]]},
    "another place": lambda f: {**f, "shards": [["../x.state", *f["shards"][0][1:]], *f["shards"][1:]]},
    "a list as a scalar": lambda f: {**f, "scalars": [f["scalars"], *f["scalars"][1:]]},
    "a negative iteration": lambda f: {**f, "scalars": [-1, *f["scalars"][1:]]},
    "another iteration": lambda f: {**f, "scalars": [f["scalars"][0] - 1, *f["scalars"][1:]]},
    "an iteration after the last": lambda f: {**f, "scalars": [100, *f["scalars"][1:]]},
    "no ranks of dangling vertices": lambda f: {**f, "scalars": [*f["scalars"][:3], np.nan, f["scalars"][4]]},
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", TEXTS)
def test_other_manifests(saved, tmp_path, name, ranks):
    error = check(saved, tmp_path / "c", "pagerank", lambda c: change_manifest(c, TEXTS[name]), ranks)
    assert isinstance(error, ev.FormatError)


VERTICES = {
    "a vertex twice": lambda own: own.__setitem__(1, own[0]),
    "a vertex beyond the graph": lambda own: own.__setitem__(1, 64),
    "no vertex": lambda own: own.__setitem__(1, 0xFFFFFFFF),
    "one fewer": lambda own: own[1:],
}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", VERTICES)
def test_other_vertices(saved, tmp_path, name, ranks):
    change = partial(change_array, kind="vertices", change=VERTICES[name], shard=ranks - 1)
    assert isinstance(check(saved, tmp_path / "c", "pagerank", change, ranks), ev.FormatError)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", STATES)
def test_other_states(saved, tmp_path, name, ranks):
    """The error is raised before a kernel uses the values."""
    change = partial(change_array, kind="state", change=STATES[name], shard=ranks - 1)
    assert isinstance(check(saved, tmp_path / "c", name, change, ranks), ev.FormatError)


def test_distances_without_a_path_end(saved, tmp_path):
    """The search for the last parents ends, although no path leads to a vertex with its distance."""

    def nearer(own):
        own[own == own.max()] = 1  # the vertices that are not reached

    change = partial(change_array, kind="state", change=nearer)
    assert isinstance(check(saved, tmp_path / "c", "sssp", change), ev.FormatError)


def test_unsorted_vertices_are_read(saved, tmp_path):
    """A shard may list its vertices in any order."""

    def reverse(folder):
        change_array(folder, "vertices", lambda own: own[::-1].copy())
        change_array(folder, "state", lambda own: own[::-1].copy())

    assert check(saved, tmp_path / "c", "pagerank", reverse) is None


def special(kind):
    def change(folder):
        state = folder / manifest_of(folder)["shards"][0][0]
        file = max(folder.glob("*.json")) if kind == "manifest" else state
        for path in sorted(folder.glob("*.json"))[:-1]:
            path.unlink()
        file.rename(folder / "elsewhere")
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        else:
            file.symlink_to(folder / "elsewhere")

    return change


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "manifest"])
def test_files_of_another_kind(saved, tmp_path, kind):
    assert isinstance(check(saved, tmp_path / "c", "pagerank", special(kind)), ev.FormatError)


def test_a_link_is_not_written_through(saved, tmp_path):
    """The probe of the folder does not overwrite the file that a link leads to."""
    (tmp_path / "mine").write_text("years of work")

    def link(folder):
        (folder / "00000000.00000.state").symlink_to(tmp_path / "mine")

    assert isinstance(check(saved, tmp_path / "c", "pagerank", link), ev.FileError)
    assert (tmp_path / "mine").read_text() == "years of work"


def test_numbers_of_generations(saved, tmp_path):
    """A file with the last number of eight digits does not end the checkpoints of a folder."""
    source, expected = saved("pagerank")
    shutil.copytree(source, tmp_path / "c")
    (tmp_path / "c" / "99999999.00000.state").touch()
    for _ in range(2):
        checkpoint = ev.Checkpoint(tmp_path / "c", every="1step", resume=True)
        found = run("pagerank", checkpoint=checkpoint)
        np.testing.assert_allclose(found["rank"], expected["rank"], rtol=1e-5)
    names = {file.name for file in (tmp_path / "c").iterdir()}
    assert len(names) == 6  # two manifests, two states, two files of vertices
    assert all(len(name.partition(".")[0]) == 9 for name in names)
