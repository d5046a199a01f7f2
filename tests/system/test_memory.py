"""Available memory: limits of the system, of cgroups and of the address space."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evener.errors import ArgumentError, OutOfMemoryError
from evener.system import memory


def test_room_is_positive_and_no_more_than_the_machine_has():
    assert 0 < memory.available() < 1 << 50


def test_require_says_both_numbers():
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


def test_cgroup_2_takes_the_tightest_limit_above(tmp_path):
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


def test_what_the_user_says_is_believed(monkeypatch):
    taken = memory._resident_bytes()
    assert 1 << 20 < taken < 1 << 40
    monkeypatch.setattr(memory, "_free_memory", lambda: 5)
    monkeypatch.setattr(memory, "_cgroup", lambda *_: 1 << 62)
    assert memory.available() == 5
    monkeypatch.setenv("EVENER_MEMORY", "512GiB")
    assert 500 << 30 < memory.available() <= (512 << 30) - taken // 2
    monkeypatch.setenv("EVENER_MEMORY", "1KiB")  # less than there is already
    assert memory.available() == 0
    monkeypatch.setattr(memory, "_cgroup", lambda *_: 7 << 20)  # the system would end us
    monkeypatch.setenv("EVENER_MEMORY", "512GiB")
    assert memory.available() == 7 << 20


def test_what_the_user_says_must_be_a_size(monkeypatch):
    monkeypatch.setenv("EVENER_MEMORY", "plenty")
    with pytest.raises(ArgumentError, match=r"EVENER_MEMORY=: expected bytes, .* found 'plenty'"):
        memory.available()


def test_what_is_kept_for_later_is_given_up_before_anything_is_refused(monkeypatch):
    at_hand = [10]
    monkeypatch.setattr(memory, "available", lambda: at_hand[0])
    monkeypatch.setattr(memory, "_release", [lambda: at_hand.__setitem__(0, 20)])
    memory.require(5, "this")
    assert at_hand == [10]
    memory.require(15, "this")
    with pytest.raises(OutOfMemoryError, match="only 20 bytes"):
        memory.require(25, "this")


def test_what_runs_left_is_not_asked_for_again(monkeypatch):
    room, kept = [memory.MIN_CHECKED_BYTES], [0]
    monkeypatch.setattr(memory, "available", lambda: room[0])
    monkeypatch.setattr(memory, "_release", [])
    monkeypatch.setattr(memory, "_reusable", [lambda: kept[0], lambda: 1])
    memory.require_for_run(room[0] + 1, "a run")
    with pytest.raises(OutOfMemoryError, match=r"^a run needs 16\.0 MiB .* only 16\.0 MiB"):
        memory.require_for_run(room[0] + 2, "a run")
    kept[0] = 1
    memory.require_for_run(room[0] + 2, "a run")


def test_little_is_not_asked_for(monkeypatch):
    """Asking takes longer than such a run."""
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("asked"))
    monkeypatch.setattr(memory, "_reusable", [lambda: pytest.fail("asked")])
    memory.require_for_run((16 << 20) - 1, "a run")
