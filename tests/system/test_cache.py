"""The user's cache folder, and runs without a cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evener.system.cache import cache_folder


def nowhere():
    raise RuntimeError("Could not determine home directory.")


def test_xdg_cache_home_is_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.parametrize("named", [None, "", "relative", "./here"])
def test_the_home_directory_without_an_absolute_xdg_cache_home(tmp_path, monkeypatch, named):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if named is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == tmp_path / ".cache"


@pytest.mark.parametrize("named", [None, "relative"])
def test_no_cache_folder_without_a_home_directory(monkeypatch, named):
    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if named is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() is None


def test_no_cache_folder_with_a_relative_home_directory(monkeypatch):
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() is None


def test_xdg_cache_home_needs_no_home_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path


def test_a_user_without_a_home_directory_can_run_algorithms(tmp_path):
    """In a container, the user may be a number without an entry in the password file."""
    program = (
        "import pwd, sys\n"
        "def unknown(number): raise KeyError(number)\n"
        "pwd.getpwuid = unknown\n"
        "import evener as ev\n"
        "ev.write(ev.Graph.from_edges([0, 1], [1, 2]), sys.argv[1])\n"
        "print(ev.wcc(ev.read(sys.argv[1]))['component'].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "g.evg")],
        env={k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.stdout == "[0, 0, 0]\n", done.stderr
