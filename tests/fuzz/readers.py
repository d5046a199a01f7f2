"""Read mutated files of all formats: only Evener's own errors may escape, soon and with little memory.

The inputs are graphs, folders of placed graphs, and checkpoints. An error about the content is a FormatError
that names the path.

    python tests/fuzz/readers.py --inputs 1000000 --seed 1 --processes 8 --record fuzz_readers.json
    python tests/fuzz/readers.py --seed 1 --only 4711

Other processes read the inputs, so that a crash or an endless loop names its input. Seed and number determine
an input.
"""

# ruff: noqa: T201 - a script
from __future__ import annotations

import argparse
import faulthandler
import itertools
import json
import logging
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from folders import CHECKPOINTS, PLACED, READERS

# Seconds after which a read counts as endless; on a busy machine the first reads compile kernels for long.
SECONDS = 120

# The formats with several files.
_SEVERAL_FILES = (".evg", ".properties", ".v", ".e", PLACED, CHECKPOINTS)

# Bytes by which a read may raise the peak memory of the process.
MEMORY = 512 << 20


def main() -> int:
    """Read the inputs, print the outcomes, and return the exit status."""
    options = _options()
    if options.worker:
        _work(options)
        return 0
    begin = time.monotonic()
    counts, failures = run(
        options.inputs,
        seed=options.seed,
        seconds=options.seconds,
        only=options.only,
        processes=options.processes,
        formats=options.formats,
    )
    done = sum(sum(outcomes.values()) for outcomes in counts.values())
    print(f"{done:,} inputs, {len(failures)} failures, {time.monotonic() - begin:.0f} s")
    for suffix, outcomes in counts.items():
        print(f"  {suffix:12} " + ", ".join(f"{count:,} {name}" for name, count in outcomes.items()))
    for failure in failures:
        print(failure["trace"], f"--seed {options.seed} --only {failure['input']}", sep="\n")
    if options.record:
        content = {
            "question": __doc__.splitlines()[0], "command": f"python {' '.join(sys.argv)}", "inputs": done,
            "outcomes": counts, "failures": failures,
        }  # fmt: skip
        Path(options.record).write_text(json.dumps(content, indent=1) + "\n")
    return 1 if failures else 0


def run(inputs, *, seed, seconds=None, only=None, processes=1, formats=""):
    """Return the number of outcomes by suffix, and the failures."""
    counts, failures = {}, []
    first, last = (0, inputs) if only is None else (only, only + 1)
    bounds = [first + (last - first) * i // processes for i in range(processes + 1)]
    with ThreadPoolExecutor(processes) as pool:
        parts = pool.map(lambda part: _run_part(*part, seed, seconds, formats), itertools.pairwise(bounds))
        for part_counts, part_failures in parts:
            _add(counts, part_counts)
            failures += part_failures
    return counts, failures


def _run_part(first, last, seed, seconds, formats):
    """Run the inputs from `first` to `last` in a process of their own."""
    counts, failures = {}, []
    end = None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="evener-fuzz-", dir=_memory_folder()) as folder:
        while first < last:
            left = 0 if end is None else max(0.1, end - time.monotonic())
            numbers = {
                "--seed": seed,
                "--first": first,
                "--inputs": last,
                "--seconds": left,
                "--formats": formats,
            }
            words = [str(word) for option in numbers.items() for word in option]
            # One thread, because the graphs are tiny. Little memory refuses files that state many vertices.
            few = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "EVENER_MEMORY": "1GiB"}
            done = subprocess.run(
                [sys.executable, __file__, "--worker", folder, *words],
                env={**os.environ, **few}, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
            )  # fmt: skip
            if done.returncode == 1:  # an error of this script
                raise RuntimeError(done.stderr)
            state = json.loads(Path(folder, "state.json").read_text())
            _add(counts, state["counts"])
            failures += state["failures"]
            if done.returncode == 0:
                break
            at = int(Path(folder, "number").read_text())
            failures.append({"input": at, "trace": done.stderr[-3000:]})
            first = at + 1
    return counts, failures


def _add(counts, more):
    for suffix, outcomes in more.items():
        counts.setdefault(suffix, Counter()).update(outcomes)


def _memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _work(options):
    """Read the inputs from `first` on, and store the outcomes."""
    import evener as ev
    from evener.graph.formats import text_stream

    logging.getLogger("evener").setLevel(logging.ERROR)
    from corpus import corpus

    folder = Path(options.worker)
    wanted = options.formats.split(",") if options.formats else None
    found = corpus(wanted)
    counts, failures = {suffix: Counter() for suffix in found}, []
    number = (folder / "number").open("w")

    def store():
        state = {"counts": counts, "failures": failures}
        (folder / "state.json").write_text(json.dumps(state))

    store()
    faulthandler.register(signal.SIGALRM, chain=True)  # print the traceback, and end
    end = time.monotonic() + options.seconds if options.seconds else None
    for i in range(options.first, options.inputs):
        if end is not None and time.monotonic() >= end:
            break
        os.pwrite(number.fileno(), f"{i:<12}".encode(), 0)
        rng = random.Random(f"{options.seed}:{i}")
        suffix = rng.choice(list(found))
        path, arguments = _make(folder / "input", suffix, found[suffix], rng)
        # Short lines make small buffers, and small chunks end in the middle of a file.
        text_stream.MAX_LINE_BYTES, text_stream.CHUNK_BYTES = 1 << 13, rng.choice((64, 1 << 20, 1 << 20))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            if suffix in READERS:
                READERS[suffix](path)
            else:
                ev.read(path, **arguments)
            outcome = "graph"
        except ev.EvenerError as error:
            outcome = type(error).__name__
            if not arguments and not _names_the_file(error, path):
                failures.append({"input": i, "trace": f"{path.name}: {outcome}: {error}"})
        except Exception:  # noqa: BLE001 - what the run looks for
            outcome = "failure"
            failures.append({"input": i, "trace": f"{path.name} {arguments}\n{traceback.format_exc()}"})
        signal.setitimer(signal.ITIMER_REAL, 0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) << 10
        if grown > MEMORY:
            failures.append(
                {"input": i, "trace": f"{path.name} {arguments} used {grown >> 20} MiB of memory"}
            )
        counts[suffix][outcome] += 1
        if i % 1000 == 0:
            store()
    store()


def _names_the_file(error, path):
    """Return whether an error is one of those about the content of a file, and names the path."""
    from evener import ArgumentError, FileError, FormatError

    if isinstance(error, FormatError):
        return str(path.with_suffix("")) in str(error.path)
    # Files may be missing, and a checkpoint may be of another run.
    return not isinstance(error, ArgumentError | FileError) or str(path.parent) in str(error)


def _make(folder, suffix, seeds, rng):
    """Write an input; return its path and the arguments of `read`."""
    files, compression = _content(suffix, seeds, rng)
    if suffix in _SEVERAL_FILES:  # no file of an earlier input may stay
        folder /= "several"
        shutil.rmtree(folder, ignore_errors=True)
    path = folder / f"g{suffix}"
    for name, content in files.items():
        part = path / name[1:] if name.startswith("/") else folder / f"g{name or suffix}{compression}"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
    return path.with_name(path.name + compression), {} if suffix in READERS else _arguments(rng)


def _content(suffix, seeds, rng):
    """Return the files of an input, and the suffix of their compression."""
    from mutation import COMPRESS, mutated
    from structure import SUMMED, structured

    if rng.random() < 0.3:
        content = structured(suffix, rng)
        if content is not None:
            return {"": content}, ""
    files = dict(rng.choice(seeds))
    chosen = rng.choice(list(files))
    other = rng.choice(list(rng.choice(seeds).values()))
    files[chosen] = mutated(files[chosen], other, rng)
    if suffix in SUMMED and rng.random() < 0.7:
        files = SUMMED[suffix](files)
    compression = rng.choice(list(COMPRESS)) if "/" not in chosen and rng.random() < 0.08 else ""
    if compression:
        files = {name: COMPRESS[compression](content) for name, content in files.items()}
        if rng.random() < 0.5:
            files[chosen] = mutated(files[chosen], other, rng)
    elif rng.random() < 0.01:
        del files[chosen]
    return files, compression


def _arguments(rng):
    if rng.random() < 0.6:
        return {}
    choices = {
        "directed": (True, False), "weighted": (True, False), "n": (0, 1, 4, 100), "self_loops": ("drop",),
        "duplicates": ("drop",), "columns": ([0, 1], ["src", "dst"], [1, 0, 2], ["a", "b", "c"]),
    }  # fmt: skip
    return {name: rng.choice(choices[name]) for name in rng.sample(sorted(choices), rng.choice((1, 1, 2, 3)))}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", default="", help="Suffixes to read, such as .npz,.evg (default: all).")
    parser.add_argument("--seconds", type=float, help="Stop after this time.")
    parser.add_argument("--processes", type=int, default=1, help="Processes that read at the same time.")
    parser.add_argument("--only", type=int, help="The number of the only input.")
    parser.add_argument("--record", metavar="FILE", help="Write the outcomes as JSON.")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
