"""Finds the memory of the block or thread that each pointer points into.

SPIR-V has pointers of one element type into variables, and no casts between them. So memory that is
not global is held in arrays of integers, and a pointer is an offset in bytes. An array of the
kernel is a place of its own if every pointer to it derives from it by arithmetic alone. The others
of an address space are one place together, so that pointers to them may be selected, kept in
variables and compared.

The words of a place are as wide as its narrowest access, so that a store of an element writes only
that element. With atomics they are as wide as the widest atomic, and narrower stores are atomic as
well. Words of local arrays may be wider too: only one thread writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.analysis.alignment import alignment, shared_factor
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.ops.atomic import Atomic, AtomicCas
from gridlane.ir.ops.matrix import FragmentLoad, FragmentStore
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Module, Value

Root = str | Op
"""The provenance of a pointer: the name of a global, a LocalArray, or dynamic shared memory."""

DYNAMIC = ""
"""The dynamic shared memory as a root; no global has this name."""

_ON_THE_WAY = (memory.Offset, memory.FieldPointer, memory.Recast)
_FIRST = 16
"""The offset of the first array in a place of several, so that none is at the null pointer."""


@dataclass(slots=True, eq=False)
class Place:
    """Memory of one array, or of all arrays of a space whose pointers mix.

    Attributes:
        bits: the width of a word.
        offsets: the offset of each array, in bytes.
        size: bytes without the dynamic shared memory, which follows them.
        dynamic: the dynamic shared memory is in it.
        atomic: it has atomics, or words that narrower values share.
        quads: its words are in groups of four, since some loads take four, or some stores do
            beside matrices.
    """

    space: Space
    bits: int = 32
    offsets: dict[Root, int] = field(default_factory=dict[Root, int])
    size: int = 0
    dynamic: bool = False
    atomic: bool = False
    quads: bool = False

    def end_at(self, align: int) -> None:
        """Grow to a multiple of an alignment, where the next array begins."""
        self.size = -(-self.size // align) * align


@dataclass(slots=True)
class _Uses:
    """The accesses to the arrays of one place."""

    least: int = 64
    atomic: int = 0
    quads: bool = False
    quad_stores: bool = False
    matrices: bool = False

    def add(self, bits: int) -> None:
        self.least = min(self.least, bits)


def root_of(pointer: Value) -> Root | None:
    """The provenance of a pointer by arithmetic alone, or None."""
    op = pointer.op
    while isinstance(op, _ON_THE_WAY):
        op = op.pointer.op
    if isinstance(op, memory.GlobalAddress):
        return None if op.type.space is Space.GLOBAL else op.symbol  # in the parameters' memory
    if isinstance(op, memory.DynamicShared):
        return DYNAMIC
    return op if isinstance(op, memory.LocalArray) else None


def leaves(type_: Type, align: int) -> Iterator[tuple[int, int]]:
    """(bits, alignment in bytes) of each scalar in memory of a value."""
    if isinstance(type_, StructType):
        for offset, part in zip(type_.offsets, type_.types, strict=True):
            yield from leaves(part, shared_factor(align, offset))
    elif isinstance(type_, VectorType):
        yield type_.element.size * 8, shared_factor(align, type_.element.size)
    else:
        yield type_.size * 8, min(align, type_.size)


def is_quad(type_: Type) -> bool:
    """Whether a value in memory is four words, aligned as such."""
    return isinstance(type_, VectorType) and type_.count == 4 and type_.element.bits == 32


class Places:
    """The places of a kernel, by the provenance of pointers."""

    def __init__(self, module: Module, least_local: int = 8) -> None:
        """``least_local``: the minimal width in bits of the words of local arrays."""
        self.module, self._least_local = module, least_local
        ops = list(module.kernel.body.walk())
        self._mixed: set[Root] = set()
        self._roots: dict[Root, Space] = {}
        for op in ops:
            self._look(op)
        self._by_root: dict[Root, Place] = {}
        self._common: dict[Space, Place] = {}
        for root, space in self._roots.items():
            place = self._place_for(root, space)
            self._by_root[root] = place
            if root != DYNAMIC:
                self._lay_out(place, root)
        for op in ops:
            if isinstance(op, memory.DynamicShared):
                self._by_root[DYNAMIC].end_at(op.align)
        self._size_words(ops)

    def all(self) -> list[Place]:
        """Every place."""
        return list(dict.fromkeys((*self._by_root.values(), *self._common.values())))

    def of(self, pointer: Value) -> Place | None:
        """The place that a pointer points into; None for global memory."""
        root = root_of(pointer)
        if root is not None:
            return self._by_root[root]
        assert isinstance(pointer.type, PointerType)
        space = pointer.type.space
        if space in (Space.GLOBAL, Space.GENERIC):
            return None
        return self._common.setdefault(space, Place(space))

    def start(self, root: Root) -> int:
        """The offset of an array in its place."""
        place = self._by_root[root]
        return place.size if root == DYNAMIC else place.offsets[root]

    # ---- the kernel's accesses

    def _look(self, op: Op) -> None:
        """Note the arrays that an op defines, and those whose pointers it mixes with others."""
        if isinstance(op, memory.GlobalAddress | memory.DynamicShared | memory.LocalArray):
            root = root_of(op.results[0])
            if root is not None:
                self._roots[root] = op.results[0].type.space  # type: ignore[union-attr]  # a pointer
        plain = {id(op.pointer)} if isinstance(op, _ACCESSES + _ON_THE_WAY) else set[int]()
        for value in op.operands():
            if id(value) in plain or not isinstance(value.type, PointerType):
                continue
            root = root_of(value)
            if root is None:
                continue
            self._mixed.add(root)
            if value.type.space is Space.GENERIC:
                raise TargetError(
                    f"{op.name}: on the vulkan target a pointer to {_what(root)} cannot become "
                    "one that may point to global memory as well; write a function for each",
                    op.loc,
                )

    def _place_for(self, root: Root, space: Space) -> Place:
        if root not in self._mixed:
            return Place(space, dynamic=root == DYNAMIC)
        place = self._common.setdefault(space, Place(space, size=_FIRST))
        place.dynamic |= root == DYNAMIC
        return place

    def _lay_out(self, place: Place, root: Root) -> None:
        """Append an array to a place."""
        if isinstance(root, str):
            item = self.module.globals[root]
            size, align = item.size, item.align
        else:
            assert isinstance(root, memory.LocalArray)
            size, align = root.size, root.align
        place.end_at(max(16, align))
        place.offsets[root] = place.size
        place.size += -(-size // 16) * 16

    def _size_words(self, ops: list[Op]) -> None:
        uses: dict[Place, _Uses] = {}
        for op in ops:
            if not isinstance(op, _ACCESSES):
                continue
            place = self.of(op.pointer)
            if place is None:
                continue
            noted = uses.setdefault(place, _Uses())
            assert isinstance(op.pointer.type, PointerType)
            element = op.pointer.type.element
            if isinstance(op, FragmentLoad | FragmentStore):
                noted.add(_MATRICES)
                noted.matrices = True
                continue
            for bits, align in leaves(element, alignment(op.pointer)):
                noted.add(min(bits, 8 * align))
            noted.quads |= isinstance(op, memory.Load) and is_quad(element)
            noted.quad_stores |= isinstance(op, memory.Store) and is_quad(element)
            if isinstance(op, Atomic | AtomicCas) and place.space is Space.SHARED:
                assert isinstance(element, DType)
                noted.atomic = max(noted.atomic, element.bits, 32)
        for place, noted in uses.items():
            place.bits = noted.atomic or noted.least
            if place.space is Space.LOCAL:
                place.bits = max(place.bits, self._least_local)
            place.atomic = noted.atomic > 0
            alone = place.space is Space.SHARED and not place.dynamic and not place.atomic
            quads = noted.quads or (noted.matrices and noted.quad_stores)
            place.quads = quads and alone and place.bits == 32


_ACCESSES = (memory.Load, memory.Store, Atomic, AtomicCas, FragmentLoad, FragmentStore)
_MATRICES = 32
"""The widest words of a place with matrices, which are read of any."""


def _what(root: Root) -> str:
    if isinstance(root, str):
        return f"the array {root}" if root else "dynamic shared memory"
    return "a local array"
