"""`evener devices` lists real GPUs as `nvidia-smi` does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from evener.elements.cuda.discovery import gpus

QUERY = [
    "nvidia-smi",
    "--query-gpu=name,memory.total,compute_cap,power.limit",
    "--format=csv,noheader,nounits",
]


def test_each_gpu_is_listed_and_usable(evener):
    listed = json.loads(evener("devices", "--json").out)
    assert [one["element"] for one in listed["gpus"]] == [f"cuda:{i}" for i in range(gpus())]
    assert [one["problem"] for one in listed["gpus"]] == [None] * gpus()
    assert [one["name"] for one in listed["elements"]] == ["cpu", *(one["element"] for one in listed["gpus"])]
    assert all(0 < one["free_bytes"] <= one["total_bytes"] for one in listed["gpus"])
    assert listed["no_gpu"] is None
    out = evener("devices").out
    assert all(one["name"] in out for one in listed["gpus"])
    assert listed["versions"]["cupy"] in out


@pytest.mark.skipif("CUDA_VISIBLE_DEVICES" in os.environ, reason="CUDA_VISIBLE_DEVICES is set")
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="nvidia-smi is not installed")
def test_nvidia_smi_agrees(evener):
    lines = subprocess.run(QUERY, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = sorted(line.split(", ") for line in lines)
    listed = json.loads(evener("devices", "--json").out)["gpus"]
    assert sorted([one["name"], one["compute_capability"]] for one in listed) == [
        [name, capability] for name, _, capability, _ in expected
    ]
    for one, (_, mebibytes, _, watts) in zip(
        sorted(listed, key=lambda one: one["name"]), expected, strict=True
    ):
        assert one["total_bytes"] == pytest.approx(int(mebibytes) << 20, rel=0.05)
        if one["power_limit_watts"] is not None:
            assert one["power_limit_watts"] == pytest.approx(float(watts), abs=1)
