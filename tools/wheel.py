"""Build a wheel with compiled kernels for each Python, and try each wheel in a new environment.

    python tools/wheel.py                  # for all Pythons from 3.11 on: this one, and those of pyenv
    python tools/wheel.py /usr/bin/python3.12

Kernels fit one version of Python and of Numba. The wheel without kernels, for all other environments, is
built too.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parents[1]
# The platforms of Numba's own wheels.
PLATFORM = "manylinux_2_28_x86_64"
COMPILED = Path("evener", "kernels", "compiled")
# First runs on a new machine, of other graphs than those that the kernels are compiled with.
RUNS = (
    "pagerank rmat:16",
    "pagerank {text} --weights",
    "bfs rmat:16,directed",
    "sssp rmat:16,weights=1..255",
    "sssp {text} --on cpu:1,cpu:1",
    "betweenness rmat:16 --sources 0,1",
    "wcc {text}",
    "triangles rmat:16",
    "louvain rmat:16,weights=1..255",
    "leiden uniform:16,weights=real",
    "scc {text} --directed",
    "wcc {names}",
    "katz uniform:16",
)
VERSION = (
    "import sys; v = sys.version_info; "
    "print(*v[:2]) if v.releaselevel == 'final' and 't' not in sys.abiflags else None"
)


def main():
    options = _options()
    dist, only = HOME / "dist", shlex.split(options.only)
    shutil.rmtree(HOME / "build", ignore_errors=True)  # modules of an earlier version
    with tempfile.TemporaryDirectory(prefix="evener-wheel-") as folder:
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, HOME)
        (pure,) = Path(folder).glob("*.whl")
        dist.mkdir(exist_ok=True)
        shutil.copy(pure, dist)
        for number, python in enumerate(options.pythons or _pythons()):
            work = Path(folder, str(number))
            compiled = _compile(python, pure, work, only)
            wheel = _pack(work / "build", pure, compiled, dist)
            tried = _environment(python, work / "try", wheel)
            _tool(tried, "check", *only)
            if not only:
                _try(tried, work)
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, tried.")


def _try(python, work):
    """Run algorithms with an empty cache, and exit if a run compiles a kernel."""
    cache, text, names = work / "cache", work / "edges.txt", work / "names.txt"
    text.write_text("".join(f"{i} {i * i % 9973} {i % 7 + 0.5}\n" for i in range(100_000)))
    names.write_text("".join(f"user-{i} a-friend-of-user-{i * i % 9973}\n" for i in range(100_000)))
    settings = {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache), "EVENER_QUIET": ""}
    for run in RUNS:
        words = "-m", "evener", "run", *run.format(text=text, names=names).split(), "--verify"
        output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        done = _run(python, *words, variables=settings, **output)
        if "compiling kernels" in done.stderr or any(cache.rglob("*.nb[ci]")) or any(cache.rglob("*.kernel")):
            sys.exit(f"evener run {run} compiled a kernel, which the bundle lacks")


def _compile(python, pure, work, only):
    """Install the wheel without kernels, compile kernels in this environment, and return their folder."""
    built = _environment(python, work / "build", pure, "wheel")
    _tool(built, "build", *only)
    (packages,) = (work / "build").glob("lib/python*/site-packages")
    return packages / COMPILED


def _pack(environment, pure, compiled, dist):
    """Return the wheel with the compiled kernels, in the folder `dist`."""
    python = environment / "bin" / "python"
    tag = "cp{}{}".format(*_version(python))
    unpacked, packed = environment / "unpacked", environment / "packed"
    _run(python, "-m", "wheel", "unpack", "--dest", unpacked, pure)
    (root,) = unpacked.iterdir()
    shutil.copytree(compiled, root / COMPILED)
    (about,) = root.glob("*.dist-info/WHEEL")
    text = re.sub(r"Tag: .*", f"Tag: {tag}-{tag}-{PLATFORM}", about.read_text())
    about.write_text(text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"))
    packed.mkdir()
    _run(python, "-m", "wheel", "pack", "--dest-dir", packed, root)
    (wheel,) = packed.iterdir()
    return Path(shutil.copy(wheel, dist))


def _environment(python, place, *packages):
    """Return the Python of a new environment with packages."""
    _run(python, "-m", "venv", place)
    _run(place / "bin" / "python", "-m", "pip", "install", "--quiet", *packages)
    return place / "bin" / "python"


def _tool(python, *words):
    _run(python, HOME / "tools" / "bundle.py", *words)


def _run(*words, **options):
    # A PYTHONPATH would hide the installed package.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= options.pop("variables", {})
    words = [*map(str, words)]
    done = subprocess.run(words, check=False, cwd=tempfile.gettempdir(), env=environment, **options)
    if done.returncode:
        sys.exit(f"{shlex.join(words)} failed: {done.stderr or 'see above'}")
    return done


def _pythons():
    """Return a Python of each version from 3.11 on."""
    found = [Path(sys.executable), *sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))]
    by_version = {_version(python): python for python in reversed(found)}
    return [python for version, python in sorted(by_version.items()) if version >= (3, 11)]


def _version(python):
    done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", type=Path, metavar="PYTHON")
    parser.add_argument("--only", default="", help="arguments of tools/bundle.py, for a part of the kernels")
    return parser.parse_args()


if __name__ == "__main__":
    main()
