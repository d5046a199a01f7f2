"""Build or check the bundle of compiled kernels of the installed package.

python tools/bundle.py build              # the kernels of all algorithms, in many CPU minutes
python tools/bundle.py build pagerank     # the kernels of readers, placements, programs and one algorithm
python tools/bundle.py check              # fails if a run of the same tasks compiles a kernel
python tools/bundle.py compare            # compares answers with those of kernels for this processor
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.progress import track

from evener.cli.kernel_runs import ALL_WEIGHTS, COMMON, answers, run, tasks_for
from evener.cli.warmup import compile_natively, map_tasks
from evener.kernels.cpu.bundle import HOME, LEVEL, Bundle, folder_name, use_bundle
from evener.spec import registry
from evener.testing.ranks import run_ranks

# Numba's settings for code that runs on all processors of the level, without Intel's vector library.
SETTINGS = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
# Suffixes of files that Numba and Evener write when they compile a kernel.
COMPILED = (".nbi", ".nbc", ".kernel", ".checked")


def main():
    options = _options()
    tasks = tasks_for(options.algorithms or registry.builtin_names(), options.weights)
    action = {"build": _build, "check": _check, "compare": _compare}[options.action]
    with tempfile.TemporaryDirectory(prefix="evener-bundle-") as cache:
        os.environ.update(NUMBA_CACHE_DIR=cache, XDG_CACHE_HOME=cache, EVENER_QUIET="1")
        action(tasks, options.processes, Path(cache))


def _build(tasks, processes, _):
    folder = HOME / folder_name()
    os.environ.update(SETTINGS)
    for other in HOME.glob(f"{folder.name.rpartition('-')[0]}-*"):
        if other != folder:
            shutil.rmtree(other)
    # The kernels that most algorithms use come first, so that few processes compile the same kernel.
    for part in (tasks[: len(COMMON)], tasks[len(COMMON) :]):
        _map(_run, part, processes, partial(_write_to, folder), "compiling kernels")
    sizes = [entry.stat().st_size for entry in folder.iterdir()]
    print(f"{len(sizes)} entries of {sum(sizes) / 1e6:.1f} MB are in {folder}.")


def _write_to(folder):
    use_bundle(Bundle(folder, building=True))


def _check(tasks, processes, cache):
    _map(_run, tasks, processes, _use_the_bundle, "checking")
    if lacking := sorted(path.name for path in cache.rglob("*") if path.suffix in COMPILED):
        sys.exit("\n".join(["The bundle lacks kernels:", *lacking]))
    print("The bundle has all kernels.")


def _use_the_bundle():
    """Change nothing: a process uses the bundle of the package."""


def _run(task):
    """Run a task in this process, and on two ranks."""
    run(task)
    run_ranks(2, lambda _: run(task), timeout=600)


def _compare(tasks, processes, _):
    """Print the runs whose answers differ, and those whose answers differ from run to run."""
    ways = (_use_the_bundle, _use_the_bundle, compile_natively)
    first, again, native = (
        {
            name: digests
            for (name, _), digests in _map(_digests, tasks[len(COMMON) :], processes, way, "comparing")
        }
        for way in ways
    )
    for name, digests in first.items():
        same = [key for key in digests if digests[key] == again[name][key]]
        differing = [key for key in same if digests[key] != native[name][key]]
        unsteady = f", {len(digests) - len(same)} change from run to run" if len(same) < len(digests) else ""
        print(f"{name}: {len(digests)} answers, {len(differing)} differ{unsteady}")
        for key in differing:
            print(f"  {key}")


def _digests(task):
    """Return a digest of the answer of each run of a task."""
    found = answers(registry.find(task.name), task.weights)
    return {key: _digest(answer.to_arrow()) for key, answer in found}


def _digest(table):
    buffers = (buffer for column in table.columns for chunk in column.chunks for buffer in chunk.buffers())
    return hashlib.sha256(b"".join(buffer for buffer in buffers if buffer is not None)).hexdigest()


def _map(function, tasks, processes, prepare, title):
    return list(track(map_tasks(function, tasks, processes, prepare), title, total=len(tasks)))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["build", "check", "compare"])
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM")
    parser.add_argument("--weights", nargs="+", default=ALL_WEIGHTS, help='types of weights; "" for none')
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


if __name__ == "__main__":
    main()
