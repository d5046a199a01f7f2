"""The source of CUDA kernels, and what it declares: the ``.cu`` file is the one place that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from evener.errors import ArgumentError, FileError
from evener.kernels.kernel import no_such_kernel

__all__ = [
    "SCALARS",
    "Declaration",
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

# The C names of types, and NumPy's one-character codes for them, which `struct` shares.
SCALARS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "float": "f", "double": "d"}

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
    """One parameter of a kernel: its name, its type, and what stands between the type's angle brackets.

    One that cannot be read has its whole text for a name, and no type.
    """

    name: str
    kind: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A kernel as its source declares it.

    Attributes
    ----------
    name : str
    types : tuple of str
        Its template parameters.
    threads : int
        In each block; 1 for a kernel of one thread.
    one_block : bool
        Whether that block is the only one.
    parameters : tuple of Parameter
        Those of its twin in the CPU tree, and after them what the launcher fills in.
    """

    name: str
    types: tuple[str, ...]
    threads: int
    one_block: bool
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class OwnSource:
    """A ``.cu`` file from outside the package, as it was when it was read; it takes the place of a name.

    Attributes
    ----------
    path : Path
    text : str
        The whole source, with headers in the place of the lines that include them.
    """

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> OwnSource:
        """Read it as it is now.

        Raises
        ------
        FileError
            If it cannot be read, or includes what is neither beside it nor a header of ours.
        """
        try:
            return cls(path, _expanded(path))
        except FileError:
            raise
        except (OSError, UnicodeDecodeError) as error:
            msg = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
            raise FileError(msg) from error

    def __str__(self) -> str:
        return self.path.stem


@cache
def source_of(file: str | OwnSource) -> str:
    """The whole source of a ``.cu`` file, with headers in the place of the lines that include them."""
    return file.text if isinstance(file, OwnSource) else _expanded(path_of(file))


@cache
def path_of(file: str) -> Path:
    """The path of a packaged ``.cu`` file: "file" of the shared kernels, or "package:file"."""
    package, _, name = file.rpartition(":")
    if not package:
        return _FOLDER / f"{name}.cu"
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(folders[0] if folders else ".") / f"{name}.cu"


@cache
def declarations(file: str | OwnSource) -> dict[str, Declaration]:
    """The kernels of ``file.cu`` by name."""
    found = {}
    for match in _KERNEL.finditer(source_of(file)):
        types = tuple(t.split()[-1] for t in (match["types"] or "").split(",") if t.strip())
        listed = _BETWEEN_COMMAS.findall(_COMMENT.sub("", match["parameters"]).strip())
        parameters = tuple(_parameter(text) for text in listed)
        threads, one_block = int(match["threads"] or 1), match["how"] != "PARALLEL"
        found[match["name"]] = Declaration(match["name"], types, threads, one_block, parameters)
    return found


def declaration(name: str) -> Declaration:
    """The declaration of a kernel by its full name: "file.function" or "package:file.function".

    Raises
    ------
    ArgumentError
        If there is none of that name.
    """
    file, _, function = name.rpartition(".")
    found = declarations(file) if path_of(file).is_file() else {}
    if function not in found:
        raise no_such_kernel(name, "a GPU")
    return found[function]


def declared_in(file: OwnSource, name: str) -> Declaration:
    """The kernel `name` of a file from outside the package.

    Raises
    ------
    ArgumentError
        If the file declares none of that name; the sentence says how it would.
    """
    found = declarations(file)
    if name not in found:
        others = f"its kernels are {', '.join(found)}" if found else "it declares none"
        msg = (
            f'{file.path} declares no kernel "{name}": {others}; a declaration begins '
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
    """Where a header lies: beside the file that includes it, or among ours."""
    for folder in (includer.parent, _FOLDER):
        if (folder / name).is_file():
            return folder / name
    ours = ", ".join(f'"{path.name}"' for path in sorted(_FOLDER.glob("*.cuh")))
    msg = f'{includer} includes "{name}", which is neither beside it nor one of Evener\'s headers: {ours}'
    raise FileError(msg)


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        return Parameter(" ".join(text.split()), "", ())
    return Parameter(match["name"], match["type"].partition("<")[0], _inside(match["type"]))


def _inside(kind: str) -> tuple[str, ...]:
    inside = kind.partition("<")[2].rstrip(">")
    return tuple(part.split()[-1] for part in inside.split(",") if part.strip())
