"""Build or check the bundle of compiled kernels of the installed package.

python tools/bundle.py build              # the kernels of all algorithms, in many CPU minutes
python tools/bundle.py build pagerank     # the kernels of readers, placements and one algorithm
python tools/bundle.py check              # fails if a run of the same tasks compiles a kernel
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.progress import track

from evener.cli.kernel_runs import ALL_WEIGHTS, FILES, PLACES, tasks_for
from evener.cli.warmup import run_tasks
from evener.kernels.cpu.bundle import HOME, LEVEL, Bundle, folder_name, use_bundle
from evener.spec.registry import builtin_names

# Numba's settings for code that runs on all processors of the level, without Intel's vector library.
SETTINGS = {"NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}


def main():
    options = _options()
    tasks = tasks_for(options.algorithms or builtin_names(), options.weights)
    with tempfile.TemporaryDirectory(prefix="evener-bundle-") as cache:
        os.environ.update(NUMBA_CACHE_DIR=cache, XDG_CACHE_HOME=cache, EVENER_QUIET="1")
        if options.action == "build":
            _build(tasks, options.processes)
        else:
            _check(tasks, options.processes, Path(cache))


def _build(tasks, processes):
    folder = HOME / folder_name()
    os.environ.update(SETTINGS, NUMBA_CPU_NAME=LEVEL)
    for other in HOME.glob(f"{folder.name.rpartition('-')[0]}-*"):
        if other != folder:
            shutil.rmtree(other)
    # The kernels that most algorithms use come first, so that few processes compile the same kernel.
    common = [task for task in tasks if task.name in (FILES, PLACES)]
    for part in (common, [task for task in tasks if task not in common]):
        _run(part, processes, partial(_write_to, folder), "compiling kernels")
    sizes = [entry.stat().st_size for entry in folder.iterdir()]
    print(f"{len(sizes)} entries of {sum(sizes) / 1e6:.1f} MB are in {folder}.")


def _write_to(folder):
    use_bundle(Bundle(folder, building=True))


def _check(tasks, processes, cache):
    _run(tasks, processes, _use_the_bundle, "checking")
    compiled = sorted(path.name for path in cache.rglob("*") if path.suffix in (".nbc", ".kernel"))
    if compiled:
        sys.exit("\n".join(["The bundle lacks kernels:", *compiled]))
    print("The bundle has all kernels.")


def _use_the_bundle():
    """Change nothing: a process uses the bundle of the package."""


def _run(tasks, processes, prepare, title):
    done = run_tasks(tasks, processes, prepare)
    for _ in track(done, title, total=len(tasks)):
        pass


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["build", "check"])
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM")
    parser.add_argument("--weights", nargs="+", default=ALL_WEIGHTS, help='types of weights; "" for none')
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


if __name__ == "__main__":
    main()
