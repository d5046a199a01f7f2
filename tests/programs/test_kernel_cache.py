"""The cache of compiled operators: a damaged file is not used."""

from __future__ import annotations

import pytest
from numba import njit

from evener.programs.kernel_cache import KernelCache

DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "noise": lambda content: bytes(reversed(content)),
    "of another program": lambda content: b"evener",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "evener" / "operators"


def doubled(x):
    return 2 * x


def run():
    """Return an answer, and whether its kernel came from the cache."""
    kernel = njit(doubled)
    kernel._cache = KernelCache("key")
    loaded = []
    load = kernel._cache.load_overload
    kernel._cache.load_overload = lambda *given: loaded.append(load(*given)) or loaded[0]
    return kernel(21), loaded[0] is not None


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_kernel_is_compiled_again(folder, damage):
    assert run() == (42, False)
    assert run() == (42, True)
    (file,) = folder.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert run() == (42, False)
    assert run() == (42, True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_operators_are_checked_again_after_damage(folder, damage):
    cache = KernelCache("key")
    cache.mark_checked("float64 é")
    assert cache.checked == "float64 é"
    (file,) = folder.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert cache.checked is None


def test_a_folder_in_place_of_a_file_is_not_used(folder):
    assert run() == (42, False)
    (file,) = folder.iterdir()
    file.unlink()
    file.mkdir()
    assert run() == (42, False)
