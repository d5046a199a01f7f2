"""Where compiled kernels are kept, and that nothing breaks where they cannot be."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pytest

from evener.kernels.cpu.jit import can_keep


@pytest.fixture
def unset(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache" / "of" / "mine"))


@pytest.mark.usefixtures("unset")
def test_kept_beside_the_source(tmp_path):
    assert can_keep(tmp_path, writable=lambda path: path == tmp_path)


@pytest.mark.usefixtures("unset")
def test_kept_in_the_users_cache_folder_that_is_yet_to_be_made(tmp_path):
    assert can_keep(tmp_path / "package", writable=lambda path: path == tmp_path)


def test_kept_where_numba_was_told(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    place = tmp_path / "yet" / "to be made"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place))
    assert can_keep(tmp_path / "package", writable=lambda path: path == tmp_path)


@pytest.mark.usefixtures("unset")
def test_not_kept_where_numba_was_told_but_cannot_write(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert not can_keep(tmp_path, writable=lambda _: False)


@pytest.mark.usefixtures("unset")
def test_not_kept_where_nothing_can_be_written(tmp_path):
    assert not can_keep(tmp_path, writable=lambda _: False)


def test_reading_and_a_run_need_no_place_to_keep_kernels(tmp_path):
    """A read-only system: every place Numba would look for is refused, and the answer still comes."""
    path = tmp_path / "graph.txt"
    path.write_text("0 1 0.5\n2 3 1.5\n")
    program = (
        "import os, sys; os.access = lambda *args, **kwargs: False\n"
        "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []\n"
        "import evener as ev\n"
        "print(ev.wcc(ev.read(sys.argv[1]))['component'].tolist())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.stdout == "[0, 0, 2, 2]\n", done.stderr
