"""The bundle: kernels that were compiled ahead, in a folder of the package.

Wheels for one version of Python carry a bundle. The name of its folder contains a digest of everything that
compiled code depends on, so a process that would compile other code finds no bundle. The kernels need a
processor of the level x86-64-v3, which has AVX2, and no library that only some environments have.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import sysconfig
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from llvmlite import binding
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from evener.kernels.cpu.threads import WORKERS
from evener.system.checked_file import read_checked, write_checked

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "HOME",
    "LEVEL",
    "Bundle",
    "current_bundle",
    "folder_name",
    "load_machine_code",
    "machine_code",
    "use_bundle",
]

_PACKAGE = Path(__file__).parents[2]
# The folder of bundles. A checkout may have one for each version of Python.
HOME = _PACKAGE / "kernels" / "compiled"

# The processor that the kernels are compiled for.
LEVEL = "x86-64-v3"
# LLVM's names of the instructions of this level.
_FEATURES = frozenset((
    "+avx", "+avx2", "+bmi", "+bmi2", "+cx16", "+f16c", "+fma", "+lzcnt", "+movbe", "+popcnt", "+sahf",
    "+sse3", "+sse4.1", "+sse4.2", "+ssse3", "+xsave",
))  # fmt: skip


# Takes the place of the code that other kernels link, two thirds of an entry. Numba does not cache kernels
# with dynamic globals, so no cached kernel needs another kernel in memory.
_STUB = """
target triple = "{0.triple}"
target datalayout = "{0.data_layout}"
@numba.dynamic.globals.bundle = weak global i8 0
"""


class Bundle:
    """Compiled kernels in a folder, each in a compressed file with a checksum.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    building : bool, default False
        Whether kernels that this process compiles are written to the folder.
    """

    def __init__(self, folder: Path, *, building: bool = False) -> None:
        self._folder, self._building = folder, building

    @property
    def exists(self) -> bool:
        """Whether the bundle has kernels."""
        return self._folder.is_dir()

    def read(self, name: str) -> bytes | None:
        """Return an entry; None if it is missing or damaged."""
        found = read_checked(self._folder / name)
        return None if found is None else zlib.decompress(found)

    def write(self, name: str, content: bytes) -> None:
        """Write an entry if the bundle is being built."""
        if self._building:
            write_checked(self._folder / name, zlib.compress(content, 9))

    def load(self, name: str, target: Any) -> Any:
        """Return a compiled kernel for a target context of Numba, or None."""
        found = self.read(name)
        return None if found is None else load_machine_code(target, found)

    def save(self, name: str, result: Any) -> None:
        """Write a compiled kernel if the bundle is being built."""
        if self._building:
            self.write(name, machine_code(result))


def machine_code(result: Any) -> bytes:
    """Return a compiled kernel for `load_machine_code`, without the code that other kernels link."""
    (name, kind, (code, linked)), *others = result._reduce()  # noqa: SLF001 - as Numba does
    stub = binding.parse_assembly(_STUB.format(binding.parse_bitcode(linked))).as_bitcode()
    body: bytes = dumps(((name, kind, (code, stub)), *others))
    return body


def load_machine_code(target: Any, content: bytes) -> Any:
    """Return the compiled kernel of `machine_code` for a target context of Numba."""
    parts = pickle.loads(content)  # noqa: S301 - written by Evener
    names = parts[1].llvm_func_name, parts[1].llvm_cpython_wrapper_name
    target.codegen()._engine._defined_symbols.update(names)  # noqa: SLF001 - Numba reads them from the other code
    return CompileResult._rebuild(target, *parts)  # noqa: SLF001 - as Numba does


_NONE = Bundle(Path("/nonexistent"))  # a bundle without kernels
_current: Bundle | None = None


def current_bundle() -> Bundle:
    """Return the bundle of this process, which may have no kernels."""
    if _current is None:
        use_bundle(_find())
    return _current or _NONE


def use_bundle(bundle: Bundle | None) -> None:
    """Use another bundle in this process, or none."""
    global _current
    _current = bundle or _NONE


def _find() -> Bundle | None:
    """Return the bundle of the package; None if there is none that this process may use."""
    chosen = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    if chosen or not HOME.is_dir() or not _FEATURES.issubset(get_host_cpu_features().split(",")):
        return None
    return Bundle(HOME / folder_name())


def folder_name() -> str:
    """Return the name of the folder of kernels that this environment compiles, whatever its processor."""
    python = f"{sys.implementation.cache_tag}{sys.abiflags}"
    config = numba.config
    facts = (
        python, sysconfig.get_platform(), numba.__version__, llvmlite.__version__, WORKERS, config.OPT,
        config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE,
    )  # fmt: skip
    digest = hashlib.sha256(repr(facts).encode())
    for path in _sources():
        digest.update(path.read_bytes())
    return f"{python}-{digest.hexdigest()[:16]}"


def _sources() -> Iterator[Path]:
    """Yield the files with code of kernels."""
    for pattern in ("kernels/*.py", "kernels/cpu/*.py", "*/*_cpu.py", "*/*/*_cpu.py"):
        yield from sorted(_PACKAGE.glob(pattern))
