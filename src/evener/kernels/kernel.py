"""Names of packaged kernels, and kernels given as functions and files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.errors import ArgumentError
from evener.kernels.loops import has_loop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Kernel", "KernelFile", "LinkedFile", "LinkedFunction", "no_such_kernel"]


class KernelFile:
    """The kernels of a package's file, ``FILE_cpu.py`` for CPUs and ``FILE.cu`` for CUDA.

    An attribute is the full name of a kernel, which `Engine.compute` and an element's `kernel` accept.

    Parameters
    ----------
    package : str
        The ``__package__`` of the folder with both files.
    file : str, default "kernels"
        The common part of the file names.

    Examples
    --------
    >>> KernelFile("evener.algorithms.bfs").begin
    'evener.algorithms.bfs:kernels.begin'
    """

    def __init__(self, package: str | None, file: str = "kernels") -> None:
        self._prefix = f"{package}:{file}"

    def __getattr__(self, name: str) -> str:
        full = f"{self._prefix}.{name}"
        vars(self)[name] = full
        return full


class LinkedFunction(NamedTuple):
    """A Python function that CUDA kernels call.

    Attributes
    ----------
    name : str
        Its name in the ``.cu`` file, which declares it ``extern "C"``.
    python : function
    returns : str
        The type of the result: "int64" or "float64".
    parameters : tuple of str
        The types of the parameters. A pointer has stars, as in "float32**".
    explain : callable
        Returns the error to raise, given an error of the compiler.
    """

    name: str
    python: Callable[..., Any]
    returns: str
    parameters: tuple[str, ...]
    explain: Callable[[Exception], Exception]


@dataclass(frozen=True)
class LinkedFile:
    """A packaged ``.cu`` file with Python functions that are linked into its kernels.

    Parameters
    ----------
    file : str
        ``"package:file"``.
    key : str
        Identifies the code of the functions.
    functions : tuple of LinkedFunction
    """

    file: str
    key: str
    functions: tuple[LinkedFunction, ...] = field(compare=False, repr=False)

    @cached_property
    def may_hang(self) -> bool:
        """Whether a function has a loop, which may not end."""
        return any(has_loop(function.python) for function in self.functions)

    def __str__(self) -> str:
        return self.file


@dataclass(frozen=True)
class Kernel:
    """A kernel from outside the package, for `Engine.compute`.

    Both sides have the same name and take the same arguments. A side may be missing if no element of that
    kind runs the kernel.

    Parameters
    ----------
    cpu : callable, optional
        A function compiled by Numba. A plain Python function without atomics works too; it is slow, but a
        debugger can step through it.
    cuda : str, path-like, LinkedFile or callable, optional
        The ``.cu`` file that declares the kernel, or a function of a GPU's element. The function launches
        kernels and returns the result of the last kernel. A file may include Evener's headers ("common.cuh",
        "edges.cuh", "rows.cuh") and headers in its own folder.
    name : str, optional
        The kernel's name in the file. Default: the name of the function.

    Raises
    ------
    ArgumentError
        If both sides are missing, or there is no name.

    Examples
    --------
    >>> import evener as ev
    >>> def shortened(distance):
    ...     distance[:] //= 2
    >>> ev.Kernel(cpu=shortened).name
    'shortened'
    """

    cpu: Callable[..., Any] | None = None
    cuda: str | os.PathLike[str] | LinkedFile | Callable[..., Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.cpu is not None and not callable(self.cpu):
            msg = f"Kernel: cpu=: expected a function, found {type(self.cpu).__name__}"
            raise ArgumentError(msg)
        if not (
            self.cuda is None or isinstance(self.cuda, str | os.PathLike | LinkedFile) or callable(self.cuda)
        ):
            found = type(self.cuda).__name__
            msg = f"Kernel: cuda=: expected the path of a .cu file or a function, found {found}"
            raise ArgumentError(msg)
        if self.cpu is None and self.cuda is None:
            msg = (
                "Kernel: expected a function for the CPU or for CUDA, found neither; give cpu=, cuda= or both"
            )
            raise ArgumentError(msg)
        name = self.name or getattr(self.cpu, "__name__", "") or getattr(self.cuda, "__name__", "")
        if not name:
            msg = "Kernel: expected a name, found unnamed functions; give name=, the name in the .cu file"
            raise ArgumentError(msg)
        object.__setattr__(self, "name", name)

    def side(self, kind: str, element: str) -> Any:
        """Return the side for an element, given its kind and name: a function, or the path of a ``.cu`` file.

        Raises
        ------
        ArgumentError
            If the kernel has no side for the kind.
        """
        side = getattr(self, kind, None)
        if side is None:
            msg = (
                f'the kernel "{self.name}" has no side for the element "{element}"; '
                f"give its Kernel {kind}=, or place the graph on elements of another kind"
            )
            raise ArgumentError(msg)
        return side


def no_such_kernel(name: str, where: str) -> ArgumentError:
    """Return the error for a name that names no packaged kernel."""
    msg = (
        f'Evener has no kernel "{name}" for {where}; expected a name such as "bits.copy", or an '
        "evener.Kernel for your own kernel"
    )
    return ArgumentError(msg)
