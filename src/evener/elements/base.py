"""Element: what the engine asks of a processor, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

__all__ = ["Element"]


class Element(Protocol):
    """A processor that holds one partition, keeps its arrays, and runs kernels on them.

    Attributes
    ----------
    name : str
        As the user wrote it: "cpu", "cpu:8".
    kind : str
        Which tree of kernels it runs: "cpu".
    threads : int
        Its weight among its like when edges are shared out.
    """

    name: str
    kind: str
    threads: int

    def kernel(self, name: str) -> Callable[..., Any]:
        """The kernel ``"file.function"`` in this element's tree."""
        ...

    def array(self, length: int, dtype: DTypeLike, fill: object | None = None) -> NDArray[Any]:
        """An array in this element's memory; without `fill`, its content is undefined."""
        ...

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` on this element's processor now, and return its answer."""
        ...
