"""Crafted folders with right checksums: a read gives the same graph, or a FormatError that names the path."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from functools import cache

import numpy as np
import pytest

import evener as ev
from support.json_fields import VALUES, fields_of, replace


@cache
def graphs():
    return {
        "weighted": ev.Graph.from_edges([10, 20, 20, 40], [20, 40, 30, 10], [1.5, 2.5, 0.5, 4.0]),
        "names": ev.Graph.from_edges(["ann", "bob"], ["bob", "é"], directed=False),
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Write a container of each graph, and a placed graph."""
    base = tmp_path_factory.mktemp("folders")
    for name, graph in graphs().items():
        ev.write(graph, base / f"{name}.evg")
    ev.write_partitioned(ev.partition(graphs()["weighted"], "cpu:1,cpu:1"), base / "placed")
    return base


def read(path):
    """Return the graph of a folder, or its FormatError."""
    try:
        return ev.read(path) if path.suffix else ev.read_partitioned(path).graph
    except ev.FormatError as error:
        return error


def check(found, name, path):
    """Accept an error that names the path, or the graph that was written."""
    if isinstance(found, ev.FormatError):
        assert str(path) in str(found)
        return
    expected = graphs()[name]
    assert found.directed == expected.directed
    np.testing.assert_array_equal(found.ids, expected.ids)
    for one, other in zip(found.edges(), expected.edges(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["weighted.evg", "names.evg", "placed"])
def test_every_field_of_a_manifest(folders, tmp_path, name):
    path = tmp_path / name
    shutil.copytree(folders / name, path)
    text = (path / "evener.json").read_text()
    values = VALUES[::2] if path.suffix else (None, 10**400, "x")
    for place in fields_of(json.loads(text)):
        for value in [(), *((value,) for value in values)]:
            # A container that is missing, and another graph.
            if (place, value) in ((("graph",), ("x",)), (("directed",), (True,))):
                continue
            fields = json.loads(text)
            replace(fields, place, value)
            (path / "evener.json").write_text(json.dumps(fields))
            check(read(path), "names" if name == "names.evg" else "weighted", tmp_path)


def change_array(path, name, array):
    """Replace an array and its entry in the manifest; bytes replace the file only."""
    if isinstance(array, bytes):
        (path / f"{name}.npy").write_bytes(array)
        return
    np.save(path / f"{name}.npy", array, allow_pickle=True)
    manifest = json.loads((path / "evener.json").read_text())
    content = array.tobytes()
    entry = {"dtype": array.dtype.str, "length": len(array), "crc32": [f"{zlib.crc32(content):08x}"]}
    manifest["arrays"][name] = entry
    (path / "evener.json").write_text(json.dumps(manifest))


def strings(*numbers):
    """Return strings of one character each, given by number."""
    return np.array(numbers, np.uint32).view("<U1")


# Other contents of an array of the container of the graph 10 -> 20 -> 30, 40 -> 10 with 4 weights.
IDS = [
    [-1, 20, 30, 40], [10, 20, 20, 40], [10, 30, 20, 40], [10, 20, 30], [10, 20, 30, 40, 50],
    np.array([10, 20, 30, 1 << 63], np.uint64), np.array([10, 20, 30, np.nan]), [True, False, True, True],
    np.array(["a", "b", "c"]), np.array(["a", "a", "b", "c"]), np.array([b"a", b"b", b"c", b"d"]),
    np.array([1, 2, 3, 4], "M8[s]"), np.array([1, 2, 3, None], object), np.zeros(4, "i4,i4"),
    np.arange(8).reshape(4, 2), strings(97, 98, 99, 0x110000), strings(97, 98, 99, 0xD800),
    strings(97, 98, 99, 0xFFFFFFFF), np.array([-128, 0, 1, 2], np.int8), [],
]  # fmt: skip
OFFSETS = [
    [0, 1, 3, 3, 5], [1, 1, 3, 3, 4], [0, 3, 1, 3, 4], [0, 1, 3, 4], [0, 1, 3, 3, 4, 4],
    [0, 1 << 63, 3, 3, 4], [0], [],
]  # fmt: skip
TARGETS = [[1, 2, 3, 9], [1, 3, 2, 0], [1, 2, 3], [1, 2, 3, 0xFFFFFFFF], [], [1, 2, 3, 0, 0]]
WEIGHTS = [
    [np.nan, 1, 1, 1], [1, 1, 1], [], np.ones(4, np.float16), np.ones(4, np.longdouble), np.ones(4, complex),
    np.ones(4, bool), np.array(["1"] * 4), np.ones(4, object), np.ones((4, 1)),
]  # fmt: skip
ARRAYS = {
    "ids": [np.array(one) for one in IDS],
    "offsets": [np.array(one, np.uint64) for one in OFFSETS]
    + [np.array([0, 1, 3, 3, 4], dtype) for dtype in ("<i8", ">u8", "<u4", "<f8", "O")],
    "targets": [np.array(one, np.uint32) for one in TARGETS]
    + [np.array([1, 2, 3, 0], dtype) for dtype in ("<i4", ">u4", "<u8", "<f4", "O")],
    "weights": [np.array(one) for one in WEIGHTS],
}
TEXTS = [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", b"PK\3\4"]


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_of_a_container(folders, tmp_path, name):
    for number, array in enumerate([*ARRAYS[name], *TEXTS]):
        path = tmp_path / f"{number}.evg"
        shutil.copytree(folders / "weighted.evg", path)
        change_array(path, name, array)
        assert isinstance(found := read(path), ev.FormatError), (array, found)
        assert str(path) in str(found)


def test_arrays_that_mean_the_same(folders, tmp_path):
    """Integers of another size, and big-endian numbers, are the same ids and weights."""
    for name, array in (
        ("ids", np.array([10, 20, 30, 40], np.uint8)), ("ids", np.array([10, 20, 30, 40], ">i8")),
        ("weights", np.array(graphs()["weighted"].weights, ">f8")),
    ):  # fmt: skip
        path = tmp_path / f"{array.dtype.str[1:]}{name}.evg"
        shutil.copytree(folders / "weighted.evg", path)
        change_array(path, name, array)
        check(read(path), "weighted", path)


def test_an_undirected_container_has_both_directions(folders, tmp_path):
    path = tmp_path / "g.evg"
    shutil.copytree(folders / "weighted.evg", path)
    manifest = json.loads((path / "evener.json").read_text())
    (path / "evener.json").write_text(json.dumps({**manifest, "directed": False}))
    assert "both directions" in str(read(path))
    change_array(path, "weights", np.array([1.0, 2, 3, 4]))
    assert "both directions" in str(read(path))


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "missing"])
@pytest.mark.parametrize("file", ["evener.json", "offsets.npy", "ids.npy"])
def test_files_of_another_kind(folders, tmp_path, kind, file):
    path = tmp_path / "g.evg"
    shutil.copytree(folders / "weighted.evg", path)
    (path / file).rename(tmp_path / file)
    if kind == "link":
        (path / file).symlink_to(tmp_path / file)
    elif kind == "pipe":
        os.mkfifo(path / file)
    elif kind == "folder":
        (path / file).mkdir()
    assert isinstance(read(path), ev.FormatError)
