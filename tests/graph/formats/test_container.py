"""The container: plain arrays and a manifest, memory-mapped, and checked once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

import evener as ev
from evener.graph.formats import array_folder, container


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


def test_a_container_is_memory_mapped(graph, tmp_path):
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


def test_content_is_checked_once_after_each_change(graph, tmp_path, monkeypatch):
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


def test_a_change_with_the_old_modification_time_is_detected(graph, tmp_path):
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


def test_an_edit_through_an_open_mapping_is_detected(graph, tmp_path):
    """A write to a dirty page does not update ctime."""
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


def test_a_change_during_the_check_is_detected(graph, tmp_path, monkeypatch):
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


def test_without_a_cache_each_read_checks_the_container(graph, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    calls = _count_checks(monkeypatch)
    ev.write(graph, tmp_path / "g.evg")
    ev.read(tmp_path / "g.evg")
    ev.read(tmp_path / "g.evg")
    assert len(calls) == 2


def test_old_validation_stamps_are_removed(monkeypatch):
    monkeypatch.setattr(array_folder, "_MAX_ENTRIES", 10)
    for i in range(25):
        array_folder.mark_validated(f"{i}")
    assert array_folder.is_validated("24")
    assert sum(array_folder.is_validated(f"{i}") for i in range(25)) <= 10


def test_a_mapped_container_can_be_replaced(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    mapped = ev.read(tmp_path / "g.evg")
    ev.write(ev.Graph.from_edges([0], [1]), tmp_path / "g.evg")
    same(mapped, graph)
    assert ev.read(tmp_path / "g.evg").m == 1
    assert [p.name for p in tmp_path.iterdir()] == ["g.evg"]


def test_a_mapped_container_can_be_written_to_its_own_path(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    ev.write(ev.read(tmp_path / "g.evg"), tmp_path / "g.evg")
    same(ev.read(tmp_path / "g.evg"), graph)


def test_a_container_is_read_by_the_path_of_its_manifest(graph, same, tmp_path):
    ev.write(graph, tmp_path / "g.evg")
    same(ev.read(tmp_path / "g.evg" / "evener.json", format="evg"), graph)


@pytest.mark.parametrize("other", ["ranks.parquet", "notes/today.txt", "ids.npy/today.txt", ".hidden"])
def test_a_folder_with_other_files_is_not_replaced(graph, same, tmp_path, other):
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
def test_a_container_replaced_while_opened_is_read_as_the_new_one(same, tmp_path, monkeypatch, moment):
    """Offsets of the old container with targets of the new one would be a wrong graph."""
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
    same(ev.read(tmp_path / "g.evg"), new)  # the old files no longer exist
    assert not waiting


@pytest.mark.parametrize("after", ["evener.json", "offsets.npy", "weights.npy"])
def test_a_container_moved_while_opened_is_read_completely(same, tmp_path, monkeypatch, after):
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


def test_a_damaged_array_header_is_an_error(graph, tmp_path):
    """NumPy parses the header as Python code, so any syntax error can occur."""
    ev.write(graph, tmp_path / "g.evg")
    file = tmp_path / "g.evg" / "targets.npy"
    whole = file.read_bytes()
    for heading in (b"{'descr': '''", b"{'descr': (((", b"-" * 90, b"{'descr'\xff: 1}", b"[" * 90):
        file.write_bytes(whole[:10] + heading.ljust(117) + b"\n" + whole[128:])
        with pytest.raises(ev.FormatError, match=r"g\.evg: expected the header of array targets"):
            ev.read(tmp_path / "g.evg")
