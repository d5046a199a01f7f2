"""Crafted checkpoints: real checkpoints with other content and right checksums."""

from __future__ import annotations

import json
import zlib

import numpy as np

from evener.engine.checkpoints.folder import CheckpointFolder

__all__ = ["change_array", "change_manifest", "manifest_of", "with_checksum"]


def manifest_of(folder):
    """Return the fields of the newest manifest."""
    return json.loads(max(folder.glob("*.json")).read_bytes()[:-9])


def with_checksum(text):
    """Return the text of a manifest with its checksum."""
    return text + f"\n{zlib.crc32(text):08x}".encode()


def change_manifest(folder, change):
    """Keep only the newest manifest of a folder, changed by a function of its fields.

    The function changes the fields, or returns others, or a text.
    """
    *old, newest = sorted(folder.glob("*.json"))
    for path in old:
        path.unlink()
    fields = json.loads(newest.read_bytes()[:-9])
    changed = change(fields)
    changed = fields if changed is None else changed
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    newest.write_bytes(with_checksum(text))


def change_array(folder, kind, change, shard=0):
    """Change the array in the "state" or the "vertices" of a shard, and its checksum.

    The function changes the array, or returns another.
    """

    def change_file(fields):
        own = fields["shards"][shard]
        at = {"state": 0, "vertices": 2}[kind]
        dtype = fields["arrays"][0][1] if kind == "state" else "<u4"
        content = np.fromfile(folder / own[at], np.uint8)
        changed = change(content[: own[4] * np.dtype(dtype).itemsize].view(dtype))
        content = content if changed is None else changed.view(np.uint8)
        own[at + 1] = CheckpointFolder(folder).write(own[at], [content])

    change_manifest(folder, change_file)
