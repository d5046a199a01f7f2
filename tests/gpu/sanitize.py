"""Run the tests of this folder under NVIDIA's compute-sanitizer, and say what it finds.

    python tests/gpu/sanitize.py memcheck initcheck synccheck racecheck

Each process takes a part of the tests, and all share the GPUs there are. Before them, each tool is shown a
kernel with a mistake of the kind that it is for. `racecheck` looks at races for shared memory, within a
block, so kernels run on four blocks at most, and on smaller graphs; even so it takes many times as long as
the tests alone: ``--part 1/3`` runs the first of three parts.

What the tests otherwise repeat a hundred times is run three times.

Calls of CUDA that fail are not findings: some tests ask for more memory than there is, and CuPy asks for
access to another GPU whether it has it or not. Processes that tests start are not looked at.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from evener.elements.cuda.discovery import gpus, missing

HERE = Path(__file__).parent
# The tests that fill a GPU, or lose it, are for no other process to be beside.
ALONE = "test_trouble.py"
# What each tool is for; the arguments are an array that nobody has written, of 128 threads.
MISTAKES = {
    "memcheck": "array[1 << 28] = 1;",
    "initcheck": "array[threadIdx.x] = array[threadIdx.x + 128];",
    "synccheck": """
        unsigned half = __ballot_sync(0xffffffff, threadIdx.x % 32 < 16);
        if (threadIdx.x % 32 < 17) {
            array[threadIdx.x] = 1;
            __syncwarp(half);
            array[threadIdx.x + 128] = array[threadIdx.x / 32 * 32];
        }
    """,
    "racecheck": "__shared__ int last; last = threadIdx.x; __syncthreads(); array[threadIdx.x] = last;",
}
MISTAKEN = """
import cupy
fresh = cupy.ndarray(256, "int32", cupy.cuda.MemoryPointer(cupy.cuda.Memory(1024), 0))
mistaken = cupy.RawKernel('extern "C" __global__ void mistaken(int* array) { %s }', "mistaken")
mistaken((1,), (128,), (fresh,))
cupy.cuda.runtime.deviceSynchronize()
"""
# A finding, and where in which kernel it was; addresses and arguments are not of interest.
FINDING = re.compile(r"^========= (?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|Target app)(\w.*)$")
PLACE = re.compile(r"^=========     ((?:at|and|Uninitialized) .*)$")
# What pytest says of a test, when it has been run.
OUTCOME = re.compile(r"^(\S*::.*) (PASSED|FAILED|SKIPPED|ERROR)(?: |$)")
UNINTERESTING = re.compile(r"\(.*\)|\+?0x[0-9a-f]+")


def main():
    options = _options()
    if not gpus():
        sys.exit(f"there is nothing to look at: {missing()}")
    clean = True
    for tool in options.tools:
        tests, processes = _tests(tool, *options.part), options.processes or _processes(tool)
        print(f"part {options.part[0]} of {options.part[1]}: {len(tests)} tests, {processes} processes")
        with tempfile.TemporaryDirectory() as folder:
            _show_mistake(tool, Path(folder))
            clean &= _run(tool, tests, processes, Path(folder), options)
    return 0 if clean else 1


def _tests(tool, part, parts):
    """The tests to run: every so manyth of all, for those of one function lie together and take alike."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", str(HERE), "--collect-only", "-q", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SANITIZED": tool},
    )
    tests = [line for line in listed.stdout.splitlines() if "::" in line and ALONE not in line]
    return tests[part - 1 :: parts]


def _processes(tool):
    """As many as suit it: with 18 on one GPU racecheck took 0.13 s for each launch, with 8 0.06 s."""
    free = max(1, len(os.sched_getaffinity(0)) - 2)
    return min(free, 8 * gpus()) if tool == "racecheck" else free


def _under(tool, folder):
    """The words before those of a program that is to run under a tool, and to leave its findings there."""
    how = ["--report-api-errors", "no", "--show-backtrace", "device", "--log-file", f"{folder}/%p.log"]
    # With as many threads as it chooses, 93 tests in 36 processes took 632 s in all; with one, 96 took 456.
    if tool == "racecheck":
        how += ["--racecheck-num-workers", "1"]
    # Of a hundred findings, which it stops at by itself, all may be of one kind.
    return ["compute-sanitizer", "--tool", tool, "--print-limit", "10000", *how]


def _show_mistake(tool, folder):
    """Make sure that the tool finds what it is for."""
    subprocess.run(
        [*_under(tool, folder), sys.executable, "-c", MISTAKEN % MISTAKES[tool]],
        capture_output=True,
        check=False,
    )
    logs = list(folder.glob("*.log"))
    if not any(_findings(log) for log in logs):
        sys.exit(f"{tool} does not find the mistake in a kernel with: {' '.join(MISTAKES[tool].split())}")
    for log in logs:
        log.unlink()


def _run(tool, tests, processes, folder, options):
    """Run the tests under a tool, and print what came of it; whether all passed, and nothing was found."""
    shares = [tests[k::processes] for k in range(processes)]
    running = [_start(k, tool, share, folder, options.more) for k, share in enumerate(shares)]
    _await(running, options.seconds)
    logs = list(folder.glob("*.log"))
    if len(logs) < processes:
        sys.exit(f"{len(logs)} of {processes} processes ran under {tool}")
    print(f"\n{' '.join(_under(tool, 'logs'))} python -m pytest ...")
    outcomes = Counter()
    for out in folder.glob("*.out"):
        lines = [line for line in out.read_text().splitlines() if line] or ["nothing"]
        told = [match for line in lines if (match := OUTCOME.match(line))]
        outcomes.update(match[2].lower() for match in told)
        wrong = [" ".join(match.groups()) for match in told if match[2] in ("FAILED", "ERROR")]
        print(
            *wrong, *[line for line in lines if line.startswith("E  ")], sep="\n", end="\n" if wrong else ""
        )
        if len(told) < len(out.with_suffix(".tests").read_text().splitlines()):
            print(f"one process ended with: {lines[-1]}")
    print(f"of {len(tests)} tests", *[f"{count} {outcome}" for outcome, count in outcomes.items()], sep=", ")
    kinds = Counter(kind for log in logs for kind in _findings(log))
    for kind, count in kinds.most_common():
        print(f"{count:6} times: {kind}")
    print(f"{tool}: {len(kinds)} kinds of finding", flush=True)
    return not kinds and outcomes["passed"] + outcomes["skipped"] == len(tests)


def _start(k, tool, tests, folder, more):
    """Process number `k` with its tests, in a group of its own with the tool's."""
    (folder / f"{k}.tests").write_text("\n".join(tests))
    command = [
        *_under(tool, folder),
        *(sys.executable, "-m", "pytest", f"@{folder / f'{k}.tests'}", "-v", "--color=no"),
        *("-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0", *more),
    ]
    # Processes share the GPUs: each counts another one as the first.
    seen = ",".join(str((k + i) % gpus()) for i in range(gpus()))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": seen, "SANITIZED": tool}
    with (folder / f"{k}.out").open("w") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


def _await(running, seconds):
    """Wait for processes, and interrupt those that take longer, or that run when this one is interrupted."""
    until = time.monotonic() + seconds
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        for process in running:
            process.wait(max(until - time.monotonic(), 0))
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
    for process in running:
        process.wait()


def _findings(log):
    """What a log tells, each with its place."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if finding := FINDING.match(line):
            found.append(UNINTERESTING.sub("", finding[1]))
        elif found and (place := PLACE.match(line)):
            found[-1] += f"; {UNINTERESTING.sub('', place[1])}"
    return found


def _part(text):
    which, parts = map(int, text.split("/"))
    if not 1 <= which <= parts:
        raise ValueError
    return which, parts


def _at_least_one(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="+", choices=MISTAKES)
    parser.add_argument("--processes", type=_at_least_one, help="as many as suit the tool, unless told")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="1/3: the first of three parts of the tests"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which a tool is broken off")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="options for pytest")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
