"""Valid files of all formats, from which inputs are made."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from folders import folders

import evener as ev
from evener.graph.formats.registry import all_formats

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Files", "corpus"]

# The files of a graph by name; an empty name is the path itself.
Files = dict[str, bytes]

# Texts that no writer writes.
_TEXTS: dict[str, tuple[str, ...]] = {
    ".txt": (
        "# Nodes: 3 Edges: 2\n0 1\n1 2\n", "% Ids: strings\n01 1\n1 b\n", "ann bob 1.5\nbob 'the cat' 2\n",
        "a\tb c\t\nd\te\t3\n", "5,6,0.25\n6,7,1e-3\n", "0 1 # first\n\n1 2\n", '"a ""b"" c" d\n',
    ),
    ".csv": (
        "src,dst,weight\n0,1,0.5\n1,2,1\n", "from;to\nann;bob\n", '"a b","c\nd",2\n"é","f",3\n',
        "id,source,target,note\n1,5,6,x\n2,6,7,\n", "a\tb\n1\t2\n", "\ufeffsrc, dst\n1, 2\n",
    ),
    ".gr": ("c text\np sp 3 2\na 1 2 7\na 2 3 -1\n",),
    ".graph": (
        "% text\n3 2 1\n2 5\n1 5 3 2\n2 2\n", "3 2 011 2\n1 2 2 5\n1 1 1 5 3 2\n2 2 2 2\n", "2 0 100\n1\n2\n",
    ),
    ".mtx": (
        "%%MatrixMarket matrix coordinate real symmetric\n% text\n3 3 2\n2 1 0.5\n3 2 1e3\n",
        "%%MatrixMarket matrix coordinate pattern skew-symmetric\n3 3 1\n2 1\n",
        "%%MatrixMarket matrix coordinate unsigned-integer general\n3 3 1\n2 1 18446744073709551615\n",
    ),
}  # fmt: skip


def _graphs() -> list[Any]:
    tails, heads = [0, 1, 2, 3, 3], [1, 2, 3, 0, 1]
    whole, real = np.array([1, 2, 3, 4, 5]), np.array([0.5, 2, 3, 4, 5], np.float32)
    return [
        ev.Graph.from_edges(tails, heads, directed=False),
        ev.Graph.from_edges(tails, heads, weights=real),
        ev.Graph.from_edges(tails, heads, weights=whole, directed=False),
        ev.Graph.from_edges(["ann", "bob", "é"], ["bob", "", "x" * 40], directed=True),
        ev.Graph.from_edges([10**12, 5], [5, 3], weights=[1.5, 2.5]),
        ev.Graph.from_edges([], [], n=3, directed=False),
    ]


def corpus(wanted: Sequence[str] | None = None) -> dict[str, list[Files]]:
    """Return the valid files of each format, by its suffix; by default of all formats."""
    found: dict[str, list[Files]] = folders(wanted)
    graphs = _graphs()
    with tempfile.TemporaryDirectory(prefix="evener-fuzz-") as folder:
        for kind in all_formats():
            for suffix in kind.suffixes:
                if wanted is not None and suffix not in wanted:
                    continue
                files = [{"": text.encode()} for text in _TEXTS.get(suffix, ())]
                for number, graph in enumerate(graphs):
                    path = Path(folder, f"{suffix[1:]}{number}", f"g{suffix}")
                    path.parent.mkdir()
                    try:
                        ev.write(graph, path)
                    except ev.EvenerError:  # the format cannot store this graph
                        continue
                    files.append(_files(path, kind))
                if files:
                    found[suffix] = files
    return found


def _files(path: Path, kind: Any) -> Files:
    if path.is_dir():
        return {f"/{part.name}": part.read_bytes() for part in path.iterdir()}
    if kind.sibling_files is not None:
        return {part.suffix: part.read_bytes() for part in path.parent.iterdir()}
    return {"": path.read_bytes()}
