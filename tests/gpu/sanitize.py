"""Run the tests of this folder under NVIDIA's compute-sanitizer, and print its findings.

    python tests/gpu/sanitize.py memcheck initcheck synccheck racecheck

Each process runs a part of the tests, and all processes share the GPUs. First, each tool must find a
mistake in a small kernel. `racecheck` finds races in shared memory, within a block, so kernels run on at
most four blocks and on smaller graphs. It is still many times slower than the tests: ``--part 1/3`` runs
the first of three parts.

Tests that otherwise repeat a run a hundred times repeat it three times.

Failed CUDA calls are not findings: some tests request too much memory, and CuPy requests access to other
GPUs without a check. Processes that tests start are not checked.
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
# Tests that fill or lose a GPU, and so disturb other processes.
ALONE = "test_trouble.py"
# A mistake for each tool. The kernel runs 128 threads on an array that was never written.
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
# A finding, and its place in a kernel. Addresses and arguments are removed.
FINDING = re.compile(r"^========= (?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|Target app)(\w.*)$")
PLACE = re.compile(r"^=========     ((?:at|and|Uninitialized) .*)$")
# The line of pytest for a test that ran.
OUTCOME = re.compile(r"^(\S*::.*) (PASSED|FAILED|SKIPPED|ERROR)(?: |$)")
ADDRESSES = re.compile(r"\(.*\)|\+?0x[0-9a-f]+")


def main():
    options = _options()
    if not gpus():
        sys.exit(f"no GPU can be used: {missing()}")
    clean = True
    for tool in options.tools:
        tests, processes = _tests(tool, *options.part), options.processes or _processes(tool)
        print(f"part {options.part[0]} of {options.part[1]}: {len(tests)} tests, {processes} processes")
        with tempfile.TemporaryDirectory() as folder:
            _show_mistake(tool, Path(folder))
            clean &= _run(tool, tests, processes, Path(folder), options)
    return 0 if clean else 1


def _tests(tool, part, parts):
    """Return every `parts`-th test: tests of one function take about the same time."""
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
    """Return the default number of processes: racecheck is fastest with 8 on each GPU."""
    free = max(1, len(os.sched_getaffinity(0)) - 2)
    return min(free, 8 * gpus()) if tool == "racecheck" else free


def _under(tool, folder):
    """Return the command prefix that runs a program under a tool, with logs in a folder."""
    how = ["--report-api-errors", "no", "--show-backtrace", "device", "--log-file", f"{folder}/%p.log"]
    # One thread per process is faster than the default.
    if tool == "racecheck":
        how += ["--racecheck-num-workers", "1"]
    # The default limit of 100 findings may hide other kinds.
    return ["compute-sanitizer", "--tool", tool, "--print-limit", "10000", *how]


def _show_mistake(tool, folder):
    """Check that the tool finds its mistake."""
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
    """Run the tests under a tool, print the outcomes, and return True if all passed without findings."""
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
        results = [match for line in lines if (match := OUTCOME.match(line))]
        outcomes.update(match[2].lower() for match in results)
        wrong = [" ".join(match.groups()) for match in results if match[2] in ("FAILED", "ERROR")]
        print(
            *wrong, *[line for line in lines if line.startswith("E  ")], sep="\n", end="\n" if wrong else ""
        )
        if len(results) < len(out.with_suffix(".tests").read_text().splitlines()):
            print(f"one process ended with: {lines[-1]}")
    print(f"of {len(tests)} tests", *[f"{count} {outcome}" for outcome, count in outcomes.items()], sep=", ")
    kinds = Counter(kind for log in logs for kind in _findings(log))
    for kind, count in kinds.most_common():
        print(f"{count:6} times: {kind}")
    print(f"{tool}: {len(kinds)} kinds of finding", flush=True)
    return not kinds and outcomes["passed"] + outcomes["skipped"] == len(tests)


def _start(k, tool, tests, folder, more):
    """Start process `k` with its tests, in a separate process group."""
    (folder / f"{k}.tests").write_text("\n".join(tests))
    command = [
        *_under(tool, folder),
        *(sys.executable, "-m", "pytest", f"@{folder / f'{k}.tests'}", "-v", "--color=no"),
        *("-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0", *more),
    ]
    # Processes share the GPUs: each process starts with another GPU.
    seen = ",".join(str((k + i) % gpus()) for i in range(gpus()))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": seen, "SANITIZED": tool}
    with (folder / f"{k}.out").open("w") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


def _await(running, seconds):
    """Wait for processes, and interrupt them after a time limit or an interrupt."""
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
    """Return the findings of a log, each with its place."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if finding := FINDING.match(line):
            found.append(ADDRESSES.sub("", finding[1]))
        elif found and (place := PLACE.match(line)):
            found[-1] += f"; {ADDRESSES.sub('', place[1])}"
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
    parser.add_argument("--processes", type=_at_least_one, help="number of processes (default: by tool)")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="1/3: the first of three parts of the tests"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="time limit of each tool")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="options for pytest")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
