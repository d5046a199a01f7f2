"""Kernel names, and kernels given as functions and files of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.elements.protocols import Element

__all__ = ["Kernel", "KernelFile", "no_such_kernel"]


class KernelFile:
    """The kernels of one file of a package: ``FILE_cpu.py`` for CPUs and ``FILE.cu`` for CUDA, side by side.

    An attribute is the full name of a kernel, which `Engine.compute` and an element's `kernel` accept.

    Parameters
    ----------
    package : str
        The package whose folder holds both files, as its ``__package__`` says.
    file : str, default "kernels"
        The part of the file names that both share.

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


@dataclass(frozen=True)
class Kernel:
    """A kernel of your own, which `Engine.compute` takes.

    Both sides have the same name and take the same arguments. One that is left out is missed only when the
    graph is placed on an element of that kind.

    Parameters
    ----------
    cpu : callable, optional
        A function compiled by Numba. A plain Python function works too, if it uses no atomics: slowly, but a
        debugger steps through.
    cuda : str, path-like or callable, optional
        The ``.cu`` file that declares the kernel, or a function that launches kernels of a GPU's element and
        returns what the last one does. A file may include Evener's headers ("common.cuh", "edges.cuh",
        "rows.cuh"), and headers of its own that lie beside it.
    name : str, optional
        The kernel's name in that file. Default: the name of the function.

    Raises
    ------
    ArgumentError
        If there is no side at all, or no name.

    Examples
    --------
    >>> import evener as ev
    >>> def shortened(distance):
    ...     distance[:] //= 2
    >>> ev.Kernel(cpu=shortened).name
    'shortened'
    """

    cpu: Callable[..., Any] | None = None
    cuda: str | os.PathLike[str] | Callable[..., Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.cpu is not None and not callable(self.cpu):
            msg = f"a Kernel's cpu= is a function, not {type(self.cpu).__name__}"
            raise ArgumentError(msg)
        if not (self.cuda is None or isinstance(self.cuda, str | os.PathLike) or callable(self.cuda)):
            msg = f"a Kernel's cuda= is the path of a .cu file or a function, not {type(self.cuda).__name__}"
            raise ArgumentError(msg)
        if self.cpu is None and self.cuda is None:
            msg = "a Kernel has a side for the CPU, for CUDA, or both: give it cpu=, cuda= or both"
            raise ArgumentError(msg)
        name = self.name or getattr(self.cpu, "__name__", "") or getattr(self.cuda, "__name__", "")
        if not name:
            msg = "a Kernel without a function that has a name needs name=, its name in the .cu file"
            raise ArgumentError(msg)
        object.__setattr__(self, "name", name)

    def side(self, element: Element) -> Any:
        """What an element of its kind is to run: the function, or the path of the ``.cu`` file.

        Raises
        ------
        ArgumentError
            If there is none for that kind.
        """
        side = getattr(self, element.kind, None)
        if side is None:
            msg = (
                f'the kernel "{self.name}" has nothing for the element "{element.name}" to run; '
                f"give its Kernel {element.kind}=, or place the graph on elements of another kind"
            )
            raise ArgumentError(msg)
        return side


def no_such_kernel(name: str, where: str) -> ArgumentError:
    """For the name of a kernel that Evener does not have."""
    msg = (
        f'"{name}" is none of the kernels for {where} that Evener has, such as "bits.copy"; '
        "one of your own is given as evener.Kernel"
    )
    return ArgumentError(msg)
