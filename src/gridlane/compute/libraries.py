"""What computes a nest in the place of its loops: kernels of the tile and the array library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from gridlane.compute.attending import attention_of, softmax_of, sort_of
from gridlane.compute.convolving import convolution_of
from gridlane.compute.counting import counts_of
from gridlane.compute.freedom import Freedom
from gridlane.compute.model import Nest
from gridlane.compute.multiplication import multiplication_of
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.reducing import reduction_of
from gridlane.compute.scanning import scan_of
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType


class Library(Protocol):
    """A function of arrays that computes a nest.

    Attributes:
        sums: the name of the variable of sums, and the type of their tensor.
        rest: the nest that reads the sums; None where the result is computed as it is.
        is_of_algorithms: whether a run is launches as those of ``gridlane.algorithms``, on the
            default stream, on the arguments and nothing else, so that these can be repeated.
    """

    is_of_algorithms: ClassVar[bool]

    @property
    def sums(self) -> tuple[str, TensorType]: ...

    @property
    def rest(self) -> Nest | None: ...

    @property
    def call(self) -> str:
        """The text of the call, for ``explain``."""
        ...

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether it computes these arguments, and they are worth a launch of its own."""
        ...

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the result, or the sums in ``out``."""
        ...


Recogniser = Callable[[Polyhedra, dict[str, DType], Freedom], Library | str]
"""What computes a nest, or why nothing does: no text where the nest is of another kind."""


def library_of(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> tuple[Library | None, tuple[str, ...]]:
    """What computes a nest, and the reasons of what would and does not.

    Args:
        types: of the variables.
    """
    reasons: list[str] = []
    for each in RECOGNISERS:
        found = each(polyhedra, types, freedom)
        if not isinstance(found, str):
            return found, ()
        reasons += [found] if found else []
    return None, tuple(reasons)


def _multiplication(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> Library | str:
    return multiplication_of(polyhedra, types, freedom) or ""


RECOGNISERS: tuple[Recogniser, ...] = (
    _multiplication, convolution_of, scan_of, reduction_of, attention_of, softmax_of, sort_of,
    counts_of,
)  # fmt: skip
