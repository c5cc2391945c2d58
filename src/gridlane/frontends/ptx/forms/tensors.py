"""Copies of boxes of tensors, and their descriptions. PTX ISA 9.0, "Tensors".

A copy is done at once, which an asynchronous one may be as well.
"""

from __future__ import annotations

from gridlane.core import tensor_map
from gridlane.core.dtypes import b1, i32, u8, u16, u32, u64
from gridlane.core.tensor_map import Element
from gridlane.frontends.ptx.addresses import Place, Split
from gridlane.frontends.ptx.forms.atomics import KINDS
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.forms.textures import raise_if
from gridlane.frontends.ptx.operands import Address, Number, Operand, Reg, Texel
from gridlane.frontends.ptx.types import SPACES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.ops.clusters import TensorMulticast
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.memory import pointer_beside
from gridlane.ir.ops.tensors import REDUCTIONS, TensorLoad, TensorReduce, TensorStore
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_RANKS = ".1d|2d|3d|4d|5d"
_HINT = "[.L2::cache_hint]"
_LOAD = f"cp .async .bulk .tensor {_RANKS} .shared::cta .global [.tile]"
_DONE = ".mbarrier::complete_tx::bytes"
_OUT = ".global .shared::cta"


def _tensor(t: Values, m: Match, operand: Operand) -> tuple[Value, tuple[Value, ...]]:
    """The description of a tensor, and coordinates in it."""
    if not isinstance(operand, Texel):
        t.fail("a place in a tensor is written [description, {coordinates}]")
    rank = int(m.one_of("1d", "2d", "3d", "4d", "5d")[0])
    base, *coordinates = operand.parts
    if len(coordinates) != rank:
        t.fail(f"{len(coordinates)} coordinates are given, not {rank}")
    t.aligned()
    map_ = _description(t, base)
    its_rank = t.b.load(_field(t, map_, tensor_map.RANK))
    differs = t.b.binary(arith.Ne, its_rank, t.b.const(rank - 1, u32))
    raise_if(t, differs, f"the tensor's description has other than {rank} dimensions, or is none")
    place = tuple([t.read(each, i32) for each in coordinates])
    _require_aligned(t, map_, place[0])
    return map_, place


def _require_inside(t: Values, place: tuple[Value, ...]) -> None:
    """Require that a box that is stored begins at no negative coordinate."""
    negative = t.b.const(False, b1)
    for each in place:
        negative = t.b.or_(negative, t.b.lt(each, t.b.const(0, i32)))
    raise_if(t, negative, "a box of a tensor is stored at a negative coordinate")


def _require_aligned(t: Values, map_: Value, first: Value) -> None:
    """Require that a box begins at a multiple of 16 bytes of a line."""
    b = t.b
    shifts = sum(shift << 4 * number for number, shift in enumerate(tensor_map.SHIFTS))
    number = b.binary(arith.Shl, b.load(_field(t, map_, tensor_map.TYPE)), b.const(2, u32))
    shift = b.and_(b.cast(b.binary(arith.Shr, b.const(shifts, u64), number), u32), b.const(3, u32))
    bytes_ = b.binary(arith.Shl, b.cast(first, u32), shift)
    rest = b.and_(bytes_, b.const(tensor_map.ALIGN - 1, u32))
    message = "a box of a tensor begins at a multiple of 16 bytes of a line"
    raise_if(t, b.binary(arith.Ne, rest, b.const(0, u32)), message)


def _description(t: Values, base: Operand) -> Value:
    """The place of a description: a parameter of the kernel, or global memory."""
    if not isinstance(base, Reg):
        t.fail("the address of a tensor's description is a register")
    value, register = t.of(base.register), base.register
    if isinstance(value.type, PointerType):
        return t.b.recast(value, pointer_beside(value, u64))
    known = [each for each in t.places(Space.GENERIC) if each in (Place.LOCAL, Place.GLOBAL)]
    if t.place not in known and len(known) > 1:
        raise Split(Address(register, 0), known)
    start = t.at(t.b.cast(t.bits(value), u64), t.place if t.place in known else Place.GLOBAL)
    return t.b.recast(start, pointer_beside(start, u64))


def _field(t: Values, map_: Value, place: int) -> Value:
    """The place of a word of a description."""
    start = t.b.recast(map_, pointer_beside(map_, u32))
    return t.b.offset(start, t.b.const(place // 4, i32))


@form(f"{_LOAD} {_DONE} {_HINT}", "a, tensor, bar, policy?")
@form(f"{_LOAD} {_DONE} .multicast::cluster {_HINT}", "a, tensor, bar, mask, policy?")
def load(t: Values, m: Match, o: Operands) -> None:
    """Copy a box to shared memory, and signal an mbarrier; of one block of the cluster, or at the
    same place in several."""
    map_, place = _tensor(t, m, o[1])
    (box, rank), (bar, _) = t.peers(o[0], u8), t.peers(o[2], u64)
    blocks: Value | None = None
    if m.has("multicast::cluster"):
        blocks = t.b.cast(t.read(o[3], u16), u32)
    elif rank is not None:
        blocks = t.b.binary(arith.Shl, t.b.const(1, u32), rank)
    if blocks is None:
        t.b.emit(TensorLoad(box, map_, bar, place))
    else:
        t.b.emit(TensorMulticast(box, map_, bar, blocks, place))


@form(f"cp .async .bulk .tensor {_RANKS} {_OUT} [.tile] .bulk_group {_HINT}", "tensor, a, policy?")
def store(t: Values, m: Match, o: Operands) -> None:
    """Copy shared memory to a box."""
    map_, place = _tensor(t, m, o[0])
    _require_inside(t, place)
    t.b.emit(TensorStore(t.shared(o[1], u8), map_, place))


@form(
    f"cp .reduce .async .bulk .tensor {_RANKS} {_OUT} .add|min|max|inc|dec|and|or|xor [.tile] "
    f".bulk_group {_HINT}",
    "tensor, a, policy?",
)
def reduce(t: Values, m: Match, o: Operands) -> None:
    """Change each element of a box atomically."""
    kind = KINDS[m.one_of(*KINDS)]
    map_, place = _tensor(t, m, o[0])
    _require_inside(t, place)
    number = t.b.load(_field(t, map_, tensor_map.TYPE))
    bits = sum(1 << element for element, _ in REDUCTIONS[kind])
    known = t.b.and_(t.b.binary(arith.Shr, t.b.const(bits, u32), number), t.b.const(1, u32))
    message = f"the elements of the tensor have no reduction {kind.value}"
    raise_if(t, t.b.eq(known, t.b.const(0, u32)), message)
    t.b.emit(TensorReduce(kind, t.shared(o[1], u8), map_, place))


_CACHED = ".L2 .global [.tile]"

rows(
    (f"cp .async .bulk .prefetch .tensor {_RANKS} {_CACHED} {_HINT}", "tensor, policy? u64", None),
    ("prefetch [.param|const] .tensormap", "a", None),
)


# --- descriptions that kernels write

_REPLACE = "tensormap .replace .tile"
_WHERE = "[.global|shared::cta] .b1024"
_ORDERED = {
    "box_dim": (tensor_map.BOX, 4),
    "global_dim": (tensor_map.EXTENTS, 4),
    "global_stride": (tensor_map.STRIDES, 8),
    "element_stride": (tensor_map.STEPS, 4),
}
"""Where the first number of a field lies, and the bytes of each."""
_SINGLE = {
    "rank": tensor_map.RANK,
    "elemtype": tensor_map.TYPE,
    "interleave_layout": tensor_map.INTERLEAVE,
    "swizzle_mode": tensor_map.SWIZZLE,
    "fill_mode": tensor_map.FILL,
}
_ELEMENTS = (
    *(Element(n) for n in range(8)),
    *(Element.F32_FTZ, Element.F64, Element.BF16, Element.TF32, Element.TF32_FTZ),
)
"""Elements by PTX's numbers."""
_MOST = {"interleave_layout": 0, "swizzle_mode": 3, "fill_mode": 1}
"""The greatest numbers of fields that are translated."""


@form(f"{_REPLACE} .global_address {_WHERE} .b64", "a, new")
def replace_address(t: Values, m: Match, o: Operands) -> None:
    """Set where a tensor begins."""
    t.b.store(_place(t, m, o[0], tensor_map.ADDRESS, 8), t.read(o[1], u64))
    _forget_room(t, m, o[0])


@form(f"{_REPLACE} .rank {_WHERE} .b32", "a, new")
@form(f"{_REPLACE} .elemtype|interleave_layout|swizzle_mode|fill_mode {_WHERE} .b32", "a, new")
def replace_word(t: Values, m: Match, o: Operands) -> None:
    """Set a field of one number; all but the rank are constants."""
    name = m.one_of(*_SINGLE)
    value = t.read(o[1], u32)
    if name != "rank":
        if not isinstance(o[1], Number):
            t.fail(f"the new {name} is a constant")
        value = t.b.const(_translated(t, name, int(o[1].value)), u32)
    t.b.store(_place(t, m, o[0], _SINGLE[name], 4), value)
    _forget_room(t, m, o[0])


def _translated(t: Values, name: str, value: int) -> int:
    """A number of a field as descriptions hold it."""
    if name == "elemtype":
        plain = Element.F32_FTZ, Element.TF32_FTZ
        if not 0 <= value < len(_ELEMENTS) or _ELEMENTS[value] in plain:
            t.fail(f"elements of the type {value} are not translated")
        return _ELEMENTS[value]
    if not 0 <= value <= _MOST[name]:
        t.fail(f"the {name} {value} is not translated")
    return value


@form(f"{_REPLACE} .box_dim|global_dim|global_stride|element_stride {_WHERE} .b32|b64", "a, n, new")
def replace_ordered(t: Values, m: Match, o: Operands) -> None:
    """Set a number of a field that has one for each dimension."""
    name, number = m.one_of(*_ORDERED), o[1]
    first, size = _ORDERED[name]
    if m.type.size != size:
        t.fail(f"the new {name} has {8 * size} bits")
    most = tensor_map.MOST_DIMENSIONS - (name == "global_stride")
    if not isinstance(number, Number) or not 0 <= number.value < most:
        t.fail(f"the number of the dimension is a constant below {most}")
    kind = u32 if size == 4 else u64
    t.b.store(_place(t, m, o[0], first + size * int(number.value), size), t.read(o[2], kind))
    _forget_room(t, m, o[0])


def _forget_room(t: Values, m: Match, operand: Operand) -> None:
    """The memory behind the tensor is not known any more."""
    t.b.store(_place(t, m, operand, tensor_map.ROOM, 4), t.b.const(0, u32))


def _place(t: Values, m: Match, operand: Operand, place: int, size: int) -> Value:
    """The place of a field of a description."""
    kind = u32 if size == 4 else u64
    if m.has("shared::cta"):
        start = t.shared(operand, kind)
    else:
        start = t.target(operand, kind, SPACES["global"] if m.has("global") else Space.GENERIC)
    return t.b.offset(start, t.b.const(place // size, i32))


@form(
    "tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release "
    ".cta|cluster|gpu|sys .sync .aligned",
    "a, b, size",
)
def publish(t: Values, m: Match, o: Operands) -> None:
    """Copy a description to global memory: a word by each lane."""
    lane = t.b.value(LaneId())
    source, target = t.shared(o[1], u32), t.target(o[0], u32, Space.GLOBAL)
    t.b.store(t.b.offset(target, lane), t.b.load(t.b.offset(source, lane)))
