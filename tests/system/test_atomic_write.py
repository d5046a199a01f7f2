"""Writes are atomic: they succeed completely or leave the old files, also after errors and interrupts."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import evener as ev
from evener.graph.formats import graphalytics
from evener.graph.formats.file import open_compressed
from evener.graph.formats.registry import all_formats
from evener.system import files as atomic
from evener.system.files import (
    atomic_write,
    atomic_write_all,
    atomic_write_folder,
    remove_temporary_files,
    temporary_folder,
)
from evener.testing.ranks import run_ranks


def _names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
            assert temporary.parent == tmp_path
            assert not (tmp_path / "a.txt").exists()
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert _names(tmp_path) == ["a.txt"]


def test_permissions_and_links_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.txt"
    target.write_text("old")
    target.chmod(0o604)
    (tmp_path / "link.txt").symlink_to(target)
    with atomic_write(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o604


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(0o444)
    # Root can write to any file, so `os.access` is replaced.
    monkeypatch.setattr(os, "access", lambda path, _: bool(os.stat(path).st_mode & 0o200))  # noqa: PTH116
    with pytest.raises(ev.FileError, match=r"cannot write .*a\.txt: it is read-only; "), atomic_write(target):
        pytest.fail("the file is opened")
    assert target.read_text() == "old"
    assert _names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_keeps_the_old_file(error, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(error), atomic_write(tmp_path / "a.txt") as temporary:  # noqa: PT012 - the block is the test
        temporary.write_text("half")
        raise error
    assert (tmp_path / "a.txt").read_text() == "old"
    assert _names(tmp_path) == ["a.txt"]


def test_an_os_error_names_the_file(tmp_path):
    with (
        pytest.raises(ev.FileError, match=r"a\.txt: no space left on device; nothing was left behind"),
        atomic_write(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")
    assert _names(tmp_path) == []


def test_devices_are_written_directly():
    with atomic_write("/dev/null") as temporary:
        assert str(temporary) == "/dev/null"


def _ours(folder):
    return (folder / "mark").exists()


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_replaced(exchange, tmp_path, monkeypatch):
    if not exchange:
        monkeypatch.setattr(atomic.ctypes, "CDLL", lambda *_, **__: object())
    target = tmp_path / "g"
    for content in ("one", "two"):
        with atomic_write_folder(target, may_replace=_ours) as temporary:
            (temporary / "mark").write_text(content)
        assert (target / "mark").read_text() == content
    assert _names(tmp_path) == ["g"]


def test_an_error_keeps_the_old_folder(tmp_path):
    with atomic_write_folder(tmp_path / "g", may_replace=_ours) as temporary:
        (temporary / "mark").write_text("one")
    with (
        pytest.raises(ZeroDivisionError),
        atomic_write_folder(tmp_path / "g", may_replace=_ours) as temporary,
    ):
        (temporary / "mark").write_text(f"{1 / 0}")
    assert (tmp_path / "g" / "mark").read_text() == "one"
    assert _names(tmp_path) == ["g"]


def test_temporary_files_can_be_removed(tmp_path):
    with pytest.raises(ev.FileError), atomic_write(tmp_path / "a") as file:  # noqa: PT012 - the block is the test
        file.write_text("half")
        remove_temporary_files()
        assert _names(tmp_path) == []
    with pytest.raises(ev.FileError), atomic_write_folder(tmp_path / "g", may_replace=_ours) as folder:  # noqa: PT012
        (folder / "mark").write_text("half")
        remove_temporary_files()
        assert _names(tmp_path) == []


def test_an_interrupted_program_leaves_nothing(tmp_path):
    code = (
        "import sys, os, signal, evener as ev\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore SIGINT
        "from evener.graph.formats import edgelist\n"
        "whole = edgelist.write_lines\n"
        "def slow(*a, **k):\n"
        "    whole(*a, **k)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "edgelist.write_lines = slow\n"
        "ev.write(ev.Graph.from_edges([0, 1], [1, 2]), sys.argv[1])\n"
    )
    (tmp_path / "g.txt").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "g.txt")], capture_output=True, check=False
    )
    assert b"KeyboardInterrupt" in done.stderr
    assert (tmp_path / "g.txt").read_text() == "old"
    assert _names(tmp_path) == ["g.txt"]


def test_several_files_are_replaced_together(tmp_path):
    (tmp_path / "b").write_text("old")
    with atomic_write_all(tmp_path / "a", tmp_path / "b") as temporaries:
        for temporary, text in zip(temporaries, ("one", "two"), strict=True):
            temporary.write_text(text)
        assert not (tmp_path / "a").exists()
        assert (tmp_path / "b").read_text() == "old"
    assert [(tmp_path / name).read_text() for name in _names(tmp_path)] == ["one", "two"]
    assert _names(tmp_path) == ["a", "b"]


def test_no_file_is_replaced_before_all_files_are_on_disk(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")

    def full(path):
        if path.name.startswith(".b."):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "_sync", full)
    with (
        pytest.raises(ev.FileError, match=r"cannot write .*b: no space left on device"),
        atomic_write_all(tmp_path / "a", tmp_path / "b") as temporaries,
    ):
        temporaries[0].write_text("new")
    assert (tmp_path / "a").read_text() == "old"
    assert _names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("suffix", [".properties", ".v.bz2"])
def test_a_failed_write_keeps_the_old_graphalytics_dataset(tmp_path, monkeypatch, suffix, error):
    old = ev.Graph.from_edges([0, 1], [1, 2])
    ev.write(old, tmp_path / f"g{suffix}")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(before) == 3

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(graphalytics, "write_lines", fail)
    other = tmp_path / "empty"
    for folder in (tmp_path, other):
        folder.mkdir(exist_ok=True)
        with pytest.raises(ev.FileError if isinstance(error, OSError) else KeyboardInterrupt):
            ev.write(ev.Graph.from_edges([5, 6], [6, 7]), folder / f"g{suffix}")
    assert _names(other) == []
    other.rmdir()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "rename", [1, *(pytest.param(rename, marks=pytest.mark.slow) for rename in (2, 3, 4))]
)
def test_a_killed_write_leaves_a_readable_graphalytics_dataset(tmp_path, rename):
    """The new graph can be read after each rename, and the next write removes temporary files."""
    old, new = ev.Graph.from_edges([0, 1], [1, 2]), ev.Graph.from_edges([5, 6, 6], [6, 7, 8])
    ev.write(old, tmp_path / "g.properties")
    script = """
import os, pathlib, sys
import evener as ev
replace, left = pathlib.Path.replace, int(sys.argv[2])
def killed_after(self, target):
    global left
    replace(self, target)
    left -= 1
    if left == 0:
        os._exit(9)
pathlib.Path.replace = killed_after
ev.write(ev.Graph.from_edges([5, 6, 6], [6, 7, 8]), sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "g.properties", str(rename)], check=False)
    assert done.returncode == 9
    found = ev.read(tmp_path / "g.properties")
    assert (found.ids.tolist(), found.targets.tolist()) == (new.ids.tolist(), new.targets.tolist())
    ev.write(old, tmp_path / "g.properties")
    assert ev.read(tmp_path / "g.properties").ids.tolist() == old.ids.tolist()
    assert _names(tmp_path) == ["g.e", "g.properties", "g.v"]


@pytest.mark.parametrize("compression", [None, "gzip", "zstd", "bz2"])
def test_a_full_disk_is_an_error_with_any_compression(tmp_path, compression):
    """After a failed write, closing PyArrow's bzip2 stream raises an error without the reason."""
    (tmp_path / "g").symlink_to("/dev/full")
    noise = np.random.default_rng(1).bytes(1 << 22)
    with (
        pytest.raises(ev.FileError, match=r"cannot write .*/g: .*no space left on device"),
        atomic_write(tmp_path / "g") as temporary,
        open_compressed(temporary, compression) as sink,
    ):
        sink.write(noise)


def test_a_failed_compressor_is_a_file_error(tmp_path):
    with (
        pytest.raises(ev.FileError, match=r"cannot write .*bz2 compress failed"),
        atomic_write(tmp_path / "g") as temporary,
        open_compressed(temporary, "bz2"),
    ):
        raise pa.ArrowException("Unknown error: bz2 compress failed")
    with pytest.raises(pa.ArrowInvalid), open_compressed(tmp_path / "g", "bz2"):
        raise pa.ArrowInvalid("invalid content")


def test_temporary_files_of_a_killed_process_are_removed(tmp_path):
    """The next write to the same name removes temporary files of dead processes only."""
    script = """
import os, sys
from pathlib import Path
from evener.system.files import atomic_write, atomic_write_folder
with atomic_write(sys.argv[1]), atomic_write_folder(sys.argv[2], may_replace=bool) as folder:
    (folder / "part").write_text("half")
    os._exit(9)
"""
    one, several = tmp_path / "a.txt", tmp_path / "b.evg"
    assert subprocess.run([sys.executable, "-c", script, one, several], check=False).returncode == 9
    assert len(_names(tmp_path)) == 2
    with (
        atomic_write(one) as first,
        atomic_write(one) as second,
        atomic_write_folder(several, may_replace=bool),
    ):
        first.write_text("one")
        second.write_text("two")
    assert _names(tmp_path) == ["a.txt", "b.evg"]
    assert one.read_text() == "one"


def _write_ranks(target):
    def write(_):
        ev.bfs(ev.partition("rmat:5", "cpu:1"), source=0).write(f"{target}/")

    run_ranks(2, write)


def _write_checkpoints(target):
    ev.pagerank("rmat:4", on="cpu:1", checkpoint=ev.Checkpoint(target.parent, every="1step"))


def _result():
    return ev.bfs("grid:3x3", source=0, on="cpu:1")


# All functions that write files, with the name of a file that each writes.
WRITERS = {
    **{
        f"g{kind.suffixes[0]}": lambda target: ev.write(ev.read("grid:3x3"), target) for kind in all_formats()
    },
    "placed": lambda target: ev.write_partitioned(ev.partition("grid:3x3", on="cpu:1"), target),
    "r.parquet": lambda target: _result().write(target),
    "r.csv": lambda target: _result().write(target),
    "r.html": lambda target: _result().report(target),
    "parts": lambda target: _result().write(f"{target}/"),
    "parts of ranks": _write_ranks,
    "00000002.json": _write_checkpoints,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_removes_what_a_killed_run_has_left(tmp_path, name):
    """A file of a living run is locked, and stays."""
    (tmp_path / f".{name}.01234567.tmp").touch()
    (tmp_path / f".{name}.89abcdef.tmp").mkdir()
    (tmp_path / f".{name}.89abcdef.tmp" / "part").write_text("half")
    living = tmp_path / f".{name}.00000000.tmp"
    living.touch()
    with living.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        WRITERS[name](tmp_path / name)
        assert list(tmp_path.glob(".*.tmp")) == [living]
    assert (tmp_path / name).exists() or name == "00000002.json"


def test_a_folder_that_another_process_removes_before_it_is_locked(tmp_path, monkeypatch):
    """The writer creates the folder again."""
    left, mkdir = [2], Path.mkdir

    def make(self, *args, **how):
        mkdir(self, *args, **how)
        if left[0]:
            left[0] -= 1
            self.rmdir()

    monkeypatch.setattr(Path, "mkdir", make)
    with temporary_folder(tmp_path, "parts") as folder:
        assert folder.is_dir()
    assert left == [0]
    assert _names(tmp_path) == []
