"""Random programs of verbs, and a model in NumPy of the arrays that they leave on every partition.

The model knows nothing of messages: mirrors change in `push` and `pull` only, and owned values in kernels and
in `push` only. After each verb, every array of a rank must equal the model, at any timing.
"""

from __future__ import annotations

import numpy as np

import evener as ev
from evener.engine.engine import Engine
from support.bitmaps import pack, unpack
from support.expected_exchanges import download_flags, vertex_numbers

VALUES, FLAGS = ("a", "b", "c"), ("f", "g")
DTYPES = {"a": "float64", "b": "float64", "c": "uint32"}
_OPERATIONS = [
    "write",
    "write",
    "write",
    "pull",
    "pull",
    "publish",
    "publish",
    "push",
    "changes",
    "set",
    "host",
]


def value_of(vertices, step):
    """Return the values that a kernel writes in a step."""
    return (vertices.astype(np.int64) * 7 + step * 13) % 1009


def flag_of(vertices, step):
    """Return the flags that a kernel writes in a step."""
    return (vertices.astype(np.int64) * 5 + step * 3) % 11 < 4


def _write_values(vertices, begin, end, step, array):
    array[begin:end] = value_of(vertices[begin:end], step)
    return len(vertices)


def _write_flags(vertices, begin, end, step, words):
    flags = unpack(words, 64 * len(words))
    flags[begin:end] = flag_of(vertices[begin:end], step)
    words[:] = pack(flags)
    return len(vertices)


def _without_value(kernel):
    def run(*args):
        kernel(*args)

    return run


_KERNELS = {
    (bits, counts): ev.Kernel(cpu=kernel if counts else _without_value(kernel))
    for bits, kernel in ((False, _write_values), (True, _write_flags))
    for counts in (False, True)
}


class Model:
    """An engine on a placed graph, and the expected arrays of all partitions of all ranks."""

    def __init__(self, placed):
        self.engine = engine = Engine(placed, "model")
        self.vertices = engine.gather(vertex_numbers(engine))
        self.owned = engine.gather(engine.owned.parts)
        self.n = sum(self.owned)
        self.arrays = {name: engine.array(DTYPES[name], 0) for name in VALUES}
        self.arrays |= {name: engine.bits() for name in FLAGS}
        self.expected = {
            name: [np.zeros(len(own), DTYPES.get(name, bool)) for own in self.vertices]
            for name in self.arrays
        }

    # ---- the model --------------------------------------------------------------------------------

    def owners(self, name):
        """Return the owners' values by vertex."""
        found = np.zeros(self.n, DTYPES.get(name, bool))
        for own, vertices, owned in zip(self.expected[name], self.vertices, self.owned, strict=True):
            found[vertices[:owned]] = own[:owned]
        return found

    def pulled(self, name, changed=None):
        values = self.owners(name)
        flags = np.ones(self.n, bool) if changed is None else self.owners(changed)
        for p, (vertices, owned) in enumerate(zip(self.vertices, self.owned, strict=True)):
            mirrors = vertices[owned:]
            self.expected[name][p][owned:][flags[mirrors]] = values[mirrors][flags[mirrors]]
            if changed is not None:
                self.expected[changed][p][owned:] = flags[mirrors]

    def pushed(self, name, op, changed=None):
        reduced, received = self.owners(name), np.zeros(self.n, bool)
        reduce = {"add": np.add, "min": np.minimum, "or": np.logical_or}.get(op)
        for p, (vertices, owned) in enumerate(zip(self.vertices, self.owned, strict=True)):
            mirrors, values = vertices[owned:], self.expected[name][p][owned:]
            if reduce is None:
                flags = self.expected[changed][p][owned:]
                reduced[mirrors[flags]] = values[flags]
                received[mirrors[flags]] = True
                self.expected[changed][p][owned:] = False
            else:
                reduce.at(reduced, mirrors, values)
            if op in ("add", "or"):
                self.expected[name][p][owned:] = 0
        for p, (vertices, owned) in enumerate(zip(self.vertices, self.owned, strict=True)):
            self.expected[name][p][:owned] = reduced[vertices[:owned]]
            if changed is not None:
                self.expected[changed][p][:owned] |= received[vertices[:owned]]

    # ---- verbs, on the engine and on the model ----------------------------------------------------

    def write(self, name, step, part="owned", *, counts=False, **exchanged):
        """Run a kernel that writes the owned values, the mirrors, or all values of an array."""
        engine = self.engine
        ends = {"owned": (0, 1), "mirrors": (1, 2), "all": (0, 2)}[part]
        lengths = [[0, p.owned, len(p.vertices)] for p in engine.partitions]
        begin, end = (engine.per_partition([own[k] for own in lengths]) for k in ends)
        given = {verb: self.arrays[other] for verb, other in exchanged.items() if other is not None}
        kernel = _KERNELS[name in FLAGS, counts]
        engine.compute(kernel, engine.vertices, begin, end, step, self.arrays[name], **given)
        if exchanged.get("pull_before") is not None:
            self.pulled(exchanged["pull_before"])
        for own, vertices, owned in zip(self.expected[name], self.vertices, self.owned, strict=True):
            bounds = [0, owned, len(vertices)]
            where = slice(bounds[ends[0]], bounds[ends[1]])
            own[where] = (flag_of if name in FLAGS else value_of)(vertices[where], step)

    def pull(self, name, changed=None):
        given = None if changed is None else self.arrays[changed]
        self.engine.pull(self.arrays[name], changed=given)
        self.pulled(name, changed)

    def push(self, name, op, changed=None):
        given = None if changed is None else self.arrays[changed]
        self.engine.push(self.arrays[name], op, changed=given)
        self.pushed(name, op, changed)

    def host_write(self, name, step):
        """Write owned values from the host."""
        values = [
            value_of(own[: p.owned], step).astype(DTYPES[name])
            for own, p in zip(vertex_numbers(self.engine), self.engine.partitions, strict=True)
        ]
        self.engine.write(self.arrays[name], values)
        for own, vertices, owned in zip(self.expected[name], self.vertices, self.owned, strict=True):
            own[:owned] = value_of(vertices[:owned], step)

    def check(self, doing):
        """Compare all arrays of this rank with the model."""
        engine = self.engine
        for name, array in self.arrays.items():
            found = download_flags(engine, array) if name in FLAGS else engine.download(array)
            for own, p in zip(found, engine.partitions, strict=True):
                wrong = np.flatnonzero(own != self.expected[name][p.index])
                kinds = sorted({"an owned value" if k < p.owned else "a mirror" for k in wrong.tolist()})
                assert not kinds, f"{name} of partition {p.index}: {' and '.join(kinds)} wrong after {doing}"

    def run(self, seed, count):
        """Run a random program of verbs. All ranks run the same program."""
        random, done = np.random.default_rng(seed), []

        def choose(*names):
            return names[random.integers(len(names))]

        for step in range(1, count + 1):
            self.engine.superstep("step")
            kind = choose(*_OPERATIONS)
            name = choose(*VALUES, *FLAGS)
            if kind == "write":
                how = {
                    "part": choose("owned", "owned", "mirrors", "all"),
                    "counts": choose(False, True),
                    "pull_before": choose(None, *VALUES, *FLAGS),
                    "publish": choose(None, name, name, name, *VALUES, *FLAGS),
                }
                if how["pull_before"] == name != how["publish"]:
                    how["pull_before"] = None  # a kernel must not change the array
                self.write(name, step, **how)
                done.append((kind, name, how))
            elif kind == "pull":
                self.pull(name)
                done.append((kind, name))
            elif kind == "publish":  # then change the array, or send another one
                self.write(name, step, publish=name)
                self.pull(name)
                other = choose(*(VALUES if name in VALUES else FLAGS))
                if choose(False, True):
                    self.write(name, step + 1, "all", publish=choose(None, other))
                else:
                    self.pull(other)
                done.append((kind, name, other))
            elif kind == "push":
                op = "or" if name in FLAGS else choose("add", "min")
                self.push(name, op)
                done.append((kind, name, op))
            elif kind in ("changes", "set"):
                name, changed = choose(*VALUES), choose(*FLAGS)
                self.write(name, step, "all" if kind == "set" else "owned", publish=choose(None, name))
                self.write(changed, step, "all", publish=choose(None, name, changed))
                if kind == "set":
                    self.push(name, "set", changed)
                else:
                    self.pull(name, changed)
                done.append((kind, name, changed))
            else:
                name = choose(*VALUES)
                self.host_write(name, step)
                done.append((kind, name))
            self.check(f"{done[-4:]}, with seed {seed}")
        self.engine.finish()
