"""Two network namespaces act as two machines: a job over TCP, and a job that loses a machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time

import pytest

from mpi import launcher

ADDRESSES = {"evener-a": "10.77.0.1", "evener-b": "10.77.0.2"}
# This script replaces ssh: it enters the namespace of an address. When the link is down, it ends, as ssh does
# with ServerAliveInterval.
ENTER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
name=$(grep "$host" "$0.names" | cut -d' ' -f1)
ip netns exec "$name" sh -c "$*" &
job=$!
while kill -0 $job 2>/dev/null; do
    sleep 1
    if ip -n "$name" link show dev link0 | grep -q "state DOWN"; then sleep 22; exit 255; fi
done
wait $job
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def remove():
    for name in ADDRESSES:
        for pid in ip("netns", "pids", name, check=False).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        ip("netns", "del", name, check=False)


pytestmark = pytest.mark.usefixtures("launcher")


@pytest.fixture
def machines(tmp_path):
    """Return launcher arguments that start one rank in each of two linked namespaces."""
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    remove()
    try:
        for name in ADDRESSES:
            ip("netns", "add", name)
        a, b = ADDRESSES
        ip("link", "add", "link0", "netns", a, "type", "veth", "peer", "name", "link0", "netns", b)
        for name, address in ADDRESSES.items():
            ip("-n", name, "address", "add", f"{address}/24", "dev", "link0")
            for device in ("lo", "link0"):
                ip("-n", name, "link", "set", device, "up")
        time.sleep(2)  # until the link is up
    except subprocess.CalledProcessError as error:
        remove()
        pytest.skip(f"network namespaces cannot be created here: {error.stderr.strip()}")
    enter = tmp_path / "enter"
    enter.write_text(ENTER)
    enter.chmod(0o755)
    (tmp_path / "enter.names").write_text("".join(f"{n} {address}\n" for n, address in ADDRESSES.items()))
    yield ["-launcher", "ssh", "-launcher-exec", enter, "-hosts", ",".join(ADDRESSES.values()), "-ppn", 1]
    remove()


def received():
    """Return the number of bytes that the first machine has received."""
    return int(ip("-n", "evener-a", "-s", "link", "show", "dev", "link0").stdout.split("RX:")[1].split()[6])


def job(machines, monkeypatch, *words):
    """Start a command on both machines. MPI must use TCP instead of their shared memory."""
    monkeypatch.setenv("UCX_TLS", "tcp")
    mpiexec, *own = [launcher.LAUNCHER, *machines, "-n", 2, *launcher.evener(*words)]
    monkeypatch.setattr(launcher, "LAUNCHER", shutil.which("ip"))
    return launcher.start("netns", "exec", "evener-a", mpiexec, *own)


@pytest.mark.slow
def test_a_job_over_tcp(machines, monkeypatch):
    before = received()
    words = ("run", "pagerank", "rmat:12", "--on", "cpu:1", "--verify")
    done = launcher.finish(job(machines, monkeypatch, *words), timeout=60)
    assert done.returncode == 0, done.stderr
    assert "The answer is verified" in done.stdout
    assert received() - before > 100_000


@pytest.mark.slow
@pytest.mark.release
def test_a_machine_that_loses_its_network(machines, monkeypatch):
    """The job ends with a message when the kernel's keepalive probes get no answer."""
    words = ("run", "pagerank", "rmat:12", "--on", "cpu:1", "--tol", 0, "--max-iter", 10**7)
    process = job(machines, monkeypatch, *words)
    assert "superstep" in process.stderr.readline()
    ip("-n", "evener-b", "link", "set", "link0", "down")
    done = launcher.finish(process, timeout=60)
    assert done.returncode != 0
    assert "evener: rank 1 of 2 on " in done.stderr
    assert "cannot be reached (connection timed out); this ends the job" in done.stderr
