"""Available memory: limits of the system, cgroups and the address space."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evener.errors import ArgumentError, OutOfMemoryError
from evener.system import memory


def test_available_memory_is_plausible():
    assert 0 < memory.available() < 1 << 50


def test_require_gives_needed_and_available_bytes():
    memory.require(0, "nothing")
    with pytest.raises(
        OutOfMemoryError, match=r"the moon needs 8\.0 EiB of memory \(9,2.* bytes\)"
    ) as caught:
        memory.require(1 << 63, "the moon")
    assert caught.value.needed == 1 << 63
    assert isinstance(caught.value, MemoryError)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 62, "4.0 EiB"),
        (1 << 75, "32,768.0 EiB"),
    ],
)
def test_readable(nbytes, text):
    assert memory.format_bytes(nbytes) == text


def test_address_space_limit_counts():
    code = (
        "import resource; from evener.system import memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))\n"
        "print(memory.available())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 300 << 20


def cgroup(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_cgroup_2_uses_the_smallest_limit_of_all_parents(tmp_path):
    cgroup(tmp_path / "a", memory__max=1000, memory__current=900, memory__stat="inactive_file 50\nother 7")
    cgroup(tmp_path / "a/b", memory__max="max", memory__current=100)
    (tmp_path / "member").write_text("0::/a/b\n")
    assert memory._cgroup(tmp_path, tmp_path / "member") == 150


def test_cgroup_1(tmp_path):
    cgroup(
        tmp_path / "memory/job",
        memory__limit_in_bytes=5000,
        memory__usage_in_bytes=4000,
        memory__stat="total_inactive_file 10",
    )
    cgroup(tmp_path / "memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=1)
    (tmp_path / "member").write_text("3:cpu:/job\n9:cpuacct,memory:/job\n0::/\n")
    assert memory._cgroup(tmp_path, tmp_path / "member") == 1010


def test_no_cgroups(tmp_path):
    assert memory._cgroup(tmp_path, tmp_path / "none") == 1 << 62
    (tmp_path / "member").write_text("0::/elsewhere\n")
    assert memory._cgroup(tmp_path, tmp_path / "member") == 1 << 62


def test_evener_memory_replaces_the_free_memory(monkeypatch):
    taken = memory._resident_bytes()
    assert 1 << 20 < taken < 1 << 40
    monkeypatch.setattr(memory, "_free_memory", lambda: 5)
    monkeypatch.setattr(memory, "_cgroup", lambda *_: 1 << 62)
    assert memory.available() == 5
    monkeypatch.setenv("EVENER_MEMORY", "512GiB")
    assert 500 << 30 < memory.available() <= (512 << 30) - taken // 2
    monkeypatch.setenv("EVENER_MEMORY", "1KiB")  # less than the process uses
    assert memory.available() == 0
    monkeypatch.setattr(memory, "_cgroup", lambda *_: 7 << 20)  # cgroup limits still apply
    monkeypatch.setenv("EVENER_MEMORY", "512GiB")
    assert memory.available() == 7 << 20


def test_evener_memory_must_be_a_size(monkeypatch):
    monkeypatch.setenv("EVENER_MEMORY", "plenty")
    with pytest.raises(ArgumentError, match=r"EVENER_MEMORY=: expected bytes, .* found 'plenty'"):
        memory.available()


def test_kept_memory_is_released_before_an_error(monkeypatch):
    available = [10]
    monkeypatch.setattr(memory, "available", lambda: available[0])
    monkeypatch.setattr(memory, "_release", [lambda: available.__setitem__(0, 20)])
    memory.require(5, "this")
    assert available == [10]
    memory.require(15, "this")
    with pytest.raises(OutOfMemoryError, match="only 20 bytes"):
        memory.require(25, "this")


def test_reusable_memory_of_earlier_runs_counts_as_available(monkeypatch):
    room, kept = [memory.MIN_CHECKED_BYTES], [0]
    monkeypatch.setattr(memory, "available", lambda: room[0])
    monkeypatch.setattr(memory, "_release", [])
    monkeypatch.setattr(memory, "_reusable", [lambda: kept[0], lambda: 1])
    memory.require_for_run(room[0] + 1, "a run")
    with pytest.raises(OutOfMemoryError, match=r"^a run needs 16\.0 MiB .* only 16\.0 MiB"):
        memory.require_for_run(room[0] + 2, "a run")
    kept[0] = 1
    memory.require_for_run(room[0] + 2, "a run")


def test_small_runs_are_not_checked(monkeypatch):
    """The check would need more time than a small run."""
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("checked"))
    monkeypatch.setattr(memory, "_reusable", [lambda: pytest.fail("checked")])
    memory.require_for_run((16 << 20) - 1, "a run")
