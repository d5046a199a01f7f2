"""The options --checkpoint, --every and --resume."""

from __future__ import annotations

import pytest

from support.kcore_example import load, register


def test_a_run_continues(evener, tmp_path):
    words = f"run pagerank rmat:8 --on cpu:1 --checkpoint {tmp_path}/c --every 1step --tol 1e-5"
    first = evener(*words.split())
    assert first.status == 0
    # A progress line precedes the note if kernels are compiled.
    assert first.err.endswith(f"evener: to continue after a failure, run evener {words} --resume\n")
    again = evener(*words.split(), "--resume")
    assert again.status == 0
    assert " supersteps after " in again.out
    assert "before the checkpoint, " in again.out
    top = [out.partition("vertex")[2].partition("superstep")[0] for out in (first.out, again.out)]
    assert top[0] == top[1] != ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--every", "9s"], "--every needs the folder of the checkpoints; add --checkpoint DIR"),
        (["--resume"], "--resume needs the folder of the checkpoints; add --checkpoint DIR"),
        (["--checkpoint", "c", "--every", "9"], '--every: expected a time such as "60s", or steps such as'),
        (
            ["--checkpoint", "absent", "--resume"],
            "cannot resume: there is no folder absent; check the name, or run without --resume",
        ),
    ],
)
def test_invalid_options(evener, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    done = evener("run", "bfs", "rmat:5", "--on", "cpu:1", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"evener: {sentence}")
    assert done.err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_an_algorithm_without_checkpoints(evener, tmp_path, monkeypatch):
    load()
    register(monkeypatch, {"kcore": "evener_kcore:SPEC"})
    done = evener("run", "kcore", "rmat:5", "--on", "cpu:1", "--checkpoint", tmp_path / "c")
    assert (done.status, done.err) == (
        2, "evener: kcore writes no checkpoints; run it without --checkpoint\n",
    )  # fmt: skip
