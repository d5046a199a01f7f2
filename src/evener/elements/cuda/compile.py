"""Compile CUDA kernels with NVRTC. No GPU is needed."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.elements.cuda.link import compile_function, link, versions
from evener.elements.cuda.source import declarations, source_of
from evener.errors import DeviceError, first_clause
from evener.kernels.compile_clock import announce
from evener.kernels.kernel import LinkedFile
from evener.system.cache import cache_folder, delete_oldest
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evener.elements.cuda.source import KernelSource, OwnSource

__all__ = ["Binary", "architecture", "compiled", "names_of"]

_OPTIONS = ("-std=c++17",)
# The folder of the cache for kernels with functions of users.
_OPERATORS = "operators"


class Binary(NamedTuple):
    """Machine code for one architecture, and the mangled name of each kernel."""

    code: bytes
    names: dict[str, str]


def names_of(file: str | OwnSource, types: Mapping[str, str]) -> list[str]:
    """Return the names of the kernels in ``file.cu`` that have exactly these template parameters."""
    return [name for name, one in declarations(file).items() if set(one.types) == set(types)]


def compiled(file: KernelSource, types: Mapping[str, str], arch: str) -> Binary:
    """Return the compiled kernels of ``file.cu`` that have exactly these template parameters.

    `types` has a C type for each template parameter, and `arch` is what `architecture` returns: "sm_90". The
    user's cache directory keeps the binary under a digest of source, functions, types, architecture and
    compilers.
    """
    if isinstance(file, LinkedFile):
        key = [_compiler_key(file.file, types, arch), file.key, versions()]
        return _load_or_build(_OPERATORS, f"{file}-{arch}", key, lambda: _link(file, types, arch))
    return _load_or_build(
        "cuda", f"{file}-{arch}", _compiler_key(file, types, arch), lambda: _compile(file, types, arch)
    )


def _link(file: LinkedFile, types: Mapping[str, str], arch: str) -> Binary:
    """Return the kernels of a file with its functions linked in."""
    key = _compiler_key(file.file, types, arch, "-dlto")
    kernels = _load_or_build(
        "cuda", f"{file}-{arch}-lto", key, lambda: _compile(file.file, types, arch, "-dlto")
    )
    functions = [compile_function(one, arch) for one in file.functions]
    return Binary(link([kernels.code, *functions], arch), kernels.names)


def _compiler_key(file: str | OwnSource, types: Mapping[str, str], arch: str, *options: str) -> list[Any]:
    """Return everything that NVRTC's output depends on."""
    return [source_of(file), sorted(types.items()), arch, [*_OPTIONS, *options], _version()]


def _load_or_build(folder: str, name: str, key: list[Any], build: Callable[[], Binary]) -> Binary:
    """Return a binary from a folder of the cache, or build and store it."""
    cache = cache_folder()
    if cache is None:
        return build()
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    place = cache / "evener" / folder / f"{name.replace(':', '.')}-{digest}"
    binary = _cached(place)
    if binary is None:
        announce()
        binary = build()
        _store(place, binary)
        if folder == _OPERATORS:
            delete_oldest(place.parent)
    return binary


def architecture(capability: str) -> str:
    """Return the architecture to compile for, given a GPU's compute capability such as "90".

    If NVRTC does not know the capability, the function returns the newest older architecture, as PTX. The
    driver compiles PTX to machine code.
    """
    from cupy.cuda import nvrtc

    known = sorted(nvrtc.getSupportedArchs())
    if int(capability) in known:
        return f"sm_{capability}"
    older = [arch for arch in known if arch < int(capability)]
    if not older:
        msg = (
            f"expected a GPU of compute capability {known[0]} or higher, found {capability}; use another GPU "
            "or an older CUDA toolkit"
        )
        raise DeviceError(msg)
    return f"compute_{older[-1]}"


def _version() -> tuple[int, int]:
    try:
        from cupy.cuda import nvrtc

        major, minor = nvrtc.getVersion()
    except Exception as error:
        why = first_clause(error)
        msg = f'CUDA\'s run-time compiler cannot be loaded ({why}); pip install "evener[cuda13]"'
        raise DeviceError(msg) from error
    return major, minor


def _compile(file: str | OwnSource, types: Mapping[str, str], arch: str, *options: str) -> Binary:
    """Return the kernels of a file; with the option "-dlto", to be linked."""
    from cupy.cuda import nvrtc

    expressions = {}
    for name in names_of(file, types):
        bound = ", ".join(types[t] for t in declarations(file)[name].types)
        expressions[name] = f"{name}<{bound}>" if bound else name
    program = nvrtc.createProgram(source_of(file), f"{file}.cu", (), ())
    try:
        for expression in expressions.values():
            nvrtc.addNameExpression(program, expression)
        try:
            nvrtc.compileProgram(program, (*_OPTIONS, *options, f"-arch={arch}"))
        except nvrtc.NVRTCError as error:
            msg = f"{file}.cu does not compile for {arch}:\n{nvrtc.getProgramLog(program)}"
            raise DeviceError(msg) from error
        if "-dlto" in options:
            code = nvrtc.getLTOIR(program)
        else:
            code = nvrtc.getCUBIN(program) if arch.startswith("sm_") else nvrtc.getPTX(program)
        names = {name: nvrtc.getLoweredName(program, e) for name, e in expressions.items()}
    finally:
        nvrtc.destroyProgram(program)
    return Binary(code, names)


def _cached(place: Path) -> Binary | None:
    """Return the cached binary, or None if it is missing or damaged. Its first line has the digest."""
    try:
        head, _, code = place.read_bytes().partition(b"\n")
        described = json.loads(head)
        if described["sha256"] == hashlib.sha256(code).hexdigest():
            return Binary(code, described["names"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return None


def _store(place: Path, binary: Binary) -> None:
    """Write a binary to the cache. If this fails, the next process compiles again."""
    head = json.dumps({"names": binary.names, "sha256": hashlib.sha256(binary.code).hexdigest()})
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(place) as temporary:
            temporary.write_bytes(head.encode() + b"\n" + binary.code)
