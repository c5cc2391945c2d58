"""How the elements of an array lie in memory, by NumPy's names."""

from __future__ import annotations

from gridlane.core.frozen import frozen
from gridlane.xp.nodes import Node, Shape, contiguous


@frozen
class Flags:
    """NumPy's flags of an array; ``flags["C_CONTIGUOUS"]`` is ``flags.c_contiguous``.

    Attributes:
        c_contiguous: whether the elements are one after another, the last index fastest.
        f_contiguous: whether they are so with the first index fastest.
        owndata: whether no other array has the memory.
        writeable: whether elements may be stored.
    """

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool
    writeable: bool

    @property
    def contiguous(self) -> bool:
        """NumPy's older name of ``c_contiguous``."""
        return self.c_contiguous

    @property
    def fortran(self) -> bool:
        """NumPy's older name of ``f_contiguous``."""
        return self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Whether the elements are in Fortran's order alone."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Whether the elements are in one of both orders."""
        return self.c_contiguous or self.f_contiguous

    def __getitem__(self, name: str) -> bool:
        if not isinstance(found := getattr(self, name.lower(), None), bool):
            raise KeyError("Unknown flag")
        return found


def strides_of(node: Node) -> Shape:
    """The distances of neighbours in bytes. Computed elements are in C's order."""
    steps = contiguous(node.shape) if node.storage is None else node.strides
    return tuple([each * node.dtype.itemsize for each in steps])


def flags_of(node: Node) -> Flags:
    """The flags; those of elements that are still to be computed are of the result."""
    storage = node.storage
    if storage is None:
        return Flags(True, _is_in_order(node.shape[::-1], contiguous(node.shape)[::-1]), True, True)
    is_owner = sum(each() is not None for each in storage.leaves) == 1 and not storage.outside
    return Flags(
        _is_in_order(node.shape, node.strides),
        _is_in_order(node.shape[::-1], node.strides[::-1]),
        is_owner,
        not storage.readonly,
    )


def _is_in_order(shape: Shape, strides: Shape) -> bool:
    """Whether elements are one after another, the last index fastest. The strides of dimensions of
    one element count for nothing, as for NumPy."""
    if 0 in shape:
        return True
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True
