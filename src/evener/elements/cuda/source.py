"""The source of CUDA kernels, and the declarations that it contains."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from evener.errors import ArgumentError, FileError
from evener.kernels.kernel import LinkedFile, no_such_kernel

__all__ = [
    "SCALARS",
    "Declaration",
    "KernelSource",
    "OwnSource",
    "Parameter",
    "declaration",
    "declarations",
    "declared_in",
    "path_of",
    "source_of",
]

# The headers and kernels that all algorithms share.
_FOLDER = Path(__file__).parents[2] / "kernels" / "cuda"
# The headers of primitives.
_PRIMITIVES = Path(__file__).parents[2] / "primitives"

# The C names of types, and NumPy's one-character codes for them, which `struct` shares.
SCALARS = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "float": "f", "double": "d",
}  # fmt: skip

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)".*(?:\n|\Z)', re.MULTILINE)
_KERNEL = re.compile(
    r"(?:template <(?P<types>[^>]*)>\s*)?"
    r"__global__ void (?:SERIAL|(?P<how>PARALLEL|BLOCK(?!\(\d+,))\((?P<threads>\d+)(?:, \d+)?\)) "
    r"(?P<name>\w+)\((?P<parameters>[^)]*)\)"
)
_COMMENT = re.compile(r"//.*|/\*[\s\S]*?\*/")
_BETWEEN_COMMAS = re.compile(r"(?:<[^>]*>|[^,<])+")
_PARAMETER = re.compile(r"\s*(?P<type>\w+(?:<[^>]*>)?)\s+(?P<name>\w+)\s*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel: for ``Array<const u32> sums`` the kind "Array" of ("u32",).

    If the text cannot be parsed, it is the name, and the kind is empty.
    """

    name: str
    kind: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A kernel as its source declares it: `types` are its template parameters.

    `threads` are those of each block; 1 for a kernel of one thread. The parameters are those of the CPU
    kernel, followed by those that the launcher fills in.
    """

    name: str
    types: tuple[str, ...]
    threads: int
    one_block: bool
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class OwnSource:
    """The text of a ``.cu`` file from outside the package, with its headers inserted."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> OwnSource:
        """Return the source of a file as it is now; raise FileError if it or a header cannot be read."""
        try:
            return cls(path, _expanded(path))
        except FileError:
            raise
        except (OSError, UnicodeDecodeError) as error:
            msg = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
            raise FileError(msg) from error

    def __str__(self) -> str:
        return self.path.stem


# A packaged file, a file from outside the package, or a packaged file with functions of the user.
KernelSource: TypeAlias = str | OwnSource | LinkedFile


@cache
def source_of(file: str | OwnSource) -> str:
    """Return the whole source of a ``.cu`` file, with its headers inserted."""
    return file.text if isinstance(file, OwnSource) else _expanded(path_of(file))


@cache
def path_of(file: str) -> Path:
    """Return the path of a packaged ``.cu`` file: "file" of the shared kernels, or "package:file"."""
    package, _, name = file.rpartition(":")
    if not package:
        return _FOLDER / f"{name}.cu"
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(folders[0] if folders else ".") / f"{name}.cu"


@cache
def declarations(file: str | OwnSource) -> dict[str, Declaration]:
    """Return the kernels of ``file.cu`` by name."""
    found = {}
    for match in _KERNEL.finditer(source_of(file)):
        types = tuple(t.split()[-1] for t in (match["types"] or "").split(",") if t.strip())
        listed = _BETWEEN_COMMAS.findall(_COMMENT.sub("", match["parameters"]).strip())
        parameters = tuple(_parameter(text) for text in listed)
        threads, one_block = int(match["threads"] or 1), match["how"] != "PARALLEL"
        found[match["name"]] = Declaration(match["name"], types, threads, one_block, parameters)
    return found


def declaration(name: str) -> Declaration:
    """Return the declaration of a kernel by its full name: "file.function" or "package:file.function"."""
    file, _, function = name.rpartition(".")
    found = declarations(file) if path_of(file).is_file() else {}
    if function not in found:
        raise no_such_kernel(name, "a GPU")
    return found[function]


def declared_in(file: OwnSource, name: str) -> Declaration:
    """Return the declaration of the kernel `name` in a file from outside the package."""
    found = declarations(file)
    if name not in found:
        others = f"found {', '.join(found)}" if found else "found no kernel"
        msg = (
            f'{file.path}: expected a kernel "{name}", {others}; begin its declaration with '
            f'"__global__ void PARALLEL(256) {name}("'
        )
        raise ArgumentError(msg)
    return found[name]


def _expanded(path: Path) -> str:
    included: set[Path] = set()

    def expand(path: Path) -> str:
        def included_once(match: re.Match[str]) -> str:
            header = _header(match[1], path)
            if header in included:
                return "\n"
            included.add(header)
            next_line = match.string.count("\n", 0, match.end()) + 1
            return f'#line 1 "{header.name}"\n{expand(header)}\n#line {next_line} "{path.name}"\n'

        return _INCLUDE.sub(included_once, path.read_text(encoding="utf-8").replace("#pragma once\n", "\n"))

    return expand(path)


def _header(name: str, includer: Path) -> Path:
    """Return the path of a header in the folder of the including file, or of Evener's headers."""
    for folder in (includer.parent, _FOLDER, _PRIMITIVES):
        if (folder / name).is_file():
            return folder / name
    headers = [*_FOLDER.glob("*.cuh"), *_PRIMITIVES.glob("*.cuh")]
    ours = ", ".join(f'"{path.name}"' for path in sorted(headers))
    msg = (
        f'{includer}: the header "{name}" is neither in the folder of this file nor among Evener\'s headers: '
        f"{ours}; add it to the folder"
    )
    raise FileError(msg)


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        return Parameter(" ".join(text.split()), "", ())
    return Parameter(match["name"], match["type"].partition("<")[0], _inside(match["type"]))


def _inside(kind: str) -> tuple[str, ...]:
    inside = kind.partition("<")[2].rstrip(">")
    return tuple(part.split()[-1] for part in inside.split(",") if part.strip())
