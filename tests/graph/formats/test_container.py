"""The container: plain arrays and a manifest, mapped, checked once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

import evener as ev
from evener.graph.formats import array_folder, container, validated


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 5000, (2, 60_000))
    return ev.Graph.from_edges(src * 3, dst * 3, rng.random(60_000), directed=False)


def test_arrays_are_plain(graph, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    assert sorted(p.name for p in (tmp_path / "g.evg").iterdir()) == [
        "evener.json",
        "ids.npy",
        "offsets.npy",
        "targets.npy",
        "weights.npy",
    ]
    assert np.array_equal(np.load(tmp_path / "g.evg" / "targets.npy"), graph.targets)
    manifest = json.loads((tmp_path / "g.evg" / "evener.json").read_text())
    assert manifest["arrays"]["weights"]["dtype"] == "<f8"
    assert manifest["directed"] is False


def test_it_is_mapped(graph, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    mapped = ev.read(tmp_path / "g.evg")
    base = mapped.targets
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert not mapped.targets.flags.writeable


def _count_checks(monkeypatch):
    calls = []
    whole = container.check
    monkeypatch.setattr(container, "check", lambda *given: (calls.append(given), whole(*given)))
    return calls


def test_content_is_checked_once_in_each_state(graph, tmp_path, monkeypatch):
    calls = _count_checks(monkeypatch)
    ev.write(graph, tmp_path / "g.evg")
    ev.read(tmp_path / "g.evg")
    assert calls == []
    shutil.copytree(tmp_path / "g.evg", tmp_path / "h.evg")
    ev.read(tmp_path / "h.evg")
    ev.read(tmp_path / "h.evg")
    assert len(calls) == 1
    (tmp_path / "g.evg" / "targets.npy").touch()
    ev.read(tmp_path / "g.evg")
    assert len(calls) == 2


def test_a_change_behind_an_old_date_is_seen(graph, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    file = tmp_path / "g.evg" / "targets.npy"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    content = bytearray(file.read_bytes())
    content[-1] = 0xFF
    with file.open("r+b") as handle:
        handle.write(content)
    os.utime(file, ns=times)
    with pytest.raises(ev.FormatError, match="targets"):
        ev.read(tmp_path / "g.evg")


def test_an_edit_that_goes_on_after_the_check_is_seen(graph, tmp_path):
    """A page that is dirty changes without a new ctime."""
    if subprocess.run(["stat", "-fc%T", tmp_path], capture_output=True, check=True).stdout == b"tmpfs\n":
        pytest.skip("tmpfs does not write pages back")
    ev.write(graph, tmp_path / "g.evg")
    targets = np.load(tmp_path / "g.evg" / "targets.npy", mmap_mode="r+")
    targets[0] = targets[0]
    ev.read(tmp_path / "g.evg")
    time.sleep(0.02)  # more than the resolution of ctime
    targets[0] = 0x7FFFFFFF
    with pytest.raises(ev.FormatError, match="targets"):
        ev.read(tmp_path / "g.evg")


def test_a_change_during_the_check_is_seen(graph, tmp_path, monkeypatch):
    ev.write(graph, tmp_path / "g.evg")
    shutil.copytree(tmp_path / "g.evg", tmp_path / "h.evg")
    whole, calls = container.check, []

    def check(*given):
        calls.append(given)
        whole(*given)
        os.utime(tmp_path / "h.evg" / "targets.npy", ns=(0, len(calls)))

    monkeypatch.setattr(container, "check", check)
    ev.read(tmp_path / "h.evg")
    ev.read(tmp_path / "h.evg")
    assert len(calls) == 2


def test_without_a_cache_it_is_checked_every_time(graph, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    calls = _count_checks(monkeypatch)
    ev.write(graph, tmp_path / "g.evg")
    ev.read(tmp_path / "g.evg")
    ev.read(tmp_path / "g.evg")
    assert len(calls) == 2


def test_old_stamps_are_forgotten(monkeypatch):
    monkeypatch.setattr(validated, "_MAX_ENTRIES", 10)
    for i in range(25):
        validated.mark_validated(f"{i}")
    assert validated.is_validated("24")
    assert sum(validated.is_validated(f"{i}") for i in range(25)) <= 10


def test_it_is_replaced_while_mapped(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    mapped = ev.read(tmp_path / "g.evg")
    ev.write(ev.Graph.from_edges([0], [1]), tmp_path / "g.evg")
    same(mapped, graph)
    assert ev.read(tmp_path / "g.evg").m == 1
    assert [p.name for p in tmp_path.iterdir()] == ["g.evg"]


def test_it_is_written_over_itself(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    ev.write(ev.read(tmp_path / "g.evg"), tmp_path / "g.evg")
    same(ev.read(tmp_path / "g.evg"), graph)


def test_the_manifest_names_the_container_too(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    same(ev.read(tmp_path / "g.evg" / "evener.json", format="evg"), graph)


@pytest.mark.parametrize("other", ["ranks.parquet", "notes/today.txt", "ids.npy/today.txt", ".hidden"])
def test_a_folder_in_which_others_keep_files_is_not_replaced(graph, same, tmp_path, other):
    ev.write(graph, tmp_path / "g.evg")
    file = tmp_path / "g.evg" / other
    if file.parent.name == "ids.npy":
        file.parent.unlink()
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(ev.FileError, match=r"g\.evg: the folder holds other files; give a new name"):
        ev.write(ev.Graph.from_edges([0], [1]), tmp_path / "g.evg")
    assert file.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["g.evg"]
    if other != "ids.npy/today.txt":
        same(ev.read(tmp_path / "g.evg"), graph)


@pytest.mark.parametrize("moment", ["evener.json", "offsets.npy", "targets.npy", "weights.npy"])
def test_one_that_is_replaced_while_it_is_opened_is_one_of_the_two(same, tmp_path, monkeypatch, moment):
    """Rows of the old with targets of the new would be a graph that nobody wrote."""
    old = ev.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 2.0, 3.0])
    new = ev.Graph.from_edges([0, 1, 2], [0, 1, 2], [4.0, 5.0, 6.0])
    ev.write(old, tmp_path / "g.evg")
    open_file, waiting = array_folder._open_file, [moment]

    def replaced_before(folder, name, path, noun):
        if name in waiting:
            waiting.remove(name)
            ev.write(new, path)
        return open_file(folder, name, path, noun)

    monkeypatch.setattr(array_folder, "_open_file", replaced_before)
    same(ev.read(tmp_path / "g.evg"), new)  # the old one's files are gone before they are opened
    assert not waiting


@pytest.mark.parametrize("after", ["evener.json", "offsets.npy", "weights.npy"])
def test_one_that_is_moved_while_it_is_opened_is_read_whole(same, tmp_path, monkeypatch, after):
    old = ev.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 2.0, 3.0])
    new = ev.Graph.from_edges([0, 1, 2], [0, 1, 2], [4.0, 5.0, 6.0])
    ev.write(old, tmp_path / "g.evg")
    ev.write(new, tmp_path / "h.evg")
    open_file, waiting = array_folder._open_file, [after]

    def moved_after(folder, name, path, noun):
        file = open_file(folder, name, path, noun)
        if name in waiting:
            waiting.remove(name)
            path.rename(tmp_path / "kept.evg")
            (tmp_path / "h.evg").rename(path)
        return file

    monkeypatch.setattr(array_folder, "_open_file", moved_after)
    same(ev.read(tmp_path / "g.evg"), old)
    same(ev.read(tmp_path / "g.evg"), new)


def test_a_damaged_heading_of_an_array_is_told(graph, tmp_path):
    """NumPy has Python read the heading, so it may be wrong in any way that a program may be."""
    ev.write(graph, tmp_path / "g.evg")
    file = tmp_path / "g.evg" / "targets.npy"
    whole = file.read_bytes()
    for heading in (b"{'descr': '''", b"{'descr': (((", b"-" * 90, b"{'descr'\xff: 1}", b"[" * 90):
        file.write_bytes(whole[:10] + heading.ljust(117) + b"\n" + whole[128:])
        with pytest.raises(ev.FormatError, match=r"g\.evg: expected the header of array targets"):
            ev.read(tmp_path / "g.evg")
