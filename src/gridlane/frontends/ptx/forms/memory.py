"""Loads, stores and hints. PTX ISA 9.0, "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, i32, u32, u64
from gridlane.frontends.ptx.addresses import Place
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Address, Number, Operand, Reg, Symbol, Vector
from gridlane.frontends.ptx.types import SPACES, TYPES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, copies, memory
from gridlane.ir.ops.grid import Fence, MemoryOrder, MemoryScope
from gridlane.ir.types import PointerType, Space, VectorType, pointer
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

SCOPES = {
    "cta": MemoryScope.BLOCK,
    "cluster": MemoryScope.DEVICE,
    "gpu": MemoryScope.DEVICE,
    "sys": MemoryScope.SYSTEM,
}
_TYPES = ".<any>|f32|f64"
_VECTOR = "[.v2|v4|v8]"
_HINTS = (
    "[.L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] "
    "[.L2::evict_normal|L2::evict_first|L2::evict_last] [.L2::cache_hint] "
    "[.L2::64B|L2::128B|L2::256B]"
)
_STATE = "[.global|shared|shared::cta|local]"
_SEEN = "[.global|shared|shared::cta]"  # by other threads


def space_of(m: Match) -> Space:
    """The space that a form names; GENERIC if it names none. Parameters with an address are copied
    to local memory."""
    if m.has("param", "param::entry", "param::func"):
        return Space.LOCAL
    return SPACES.get(m.one_of(*SPACES), Space.GENERIC)


def _count(m: Match) -> int:
    return 2 if m.has("b128") else int((m.one_of("v2", "v4", "v8") or "v1")[1:])


def _type(m: Match) -> DType:
    """The type of an element; 128 bits are two words."""
    return u64 if m.has("b128") else m.type


@form(f"ld [.weak] {_STATE} [.ca|cg|cs|lu|cv] {_HINTS} {_VECTOR} {_TYPES}", "d, a, policy?")
@form(f"ld .global [.ca|cg|cs] .nc {_HINTS} {_VECTOR} {_TYPES}", "d, a, policy?")
@form(f"ld [.weak] .const [.ca|cg|cs|lu|cv] {_VECTOR} {_TYPES}", "d, a")
@form(f"ld [.weak] {_STATE} [.ca|cg|cs|lu|cv] {_HINTS} .b128", "d, a, policy?")
@form(f"ld .global [.ca|cg|cs] .nc {_HINTS} .b128", "d, a, policy?")
@form(f"ld .volatile {_STATE} .b128", "d, a")
@form("ld .const .b128", "d, a")
@form("ldu [.global] [.v2|v4] .<any>|f32|f64", "d, a")
@form(f"ld .volatile {_STATE} {_VECTOR} {_TYPES}", "d, a")
@form(f"ld .mmio .relaxed .sys [.global] {_TYPES}", "d, a")
@form(
    f"ld .relaxed|acquire .cta|cluster|gpu|sys {_SEEN} {_HINTS} {_VECTOR} {_TYPES}",
    "d, a, policy?",
)
def load(t: Values, m: Match, o: Operands) -> None:
    """Read memory. One order stronger than relaxed is a fence behind the load."""
    if isinstance(o[1], Address) and isinstance(o[1].base, Symbol):
        variable = o[1].base.variable
        if variable is not None and variable.space == "param":
            t.fail(f"{variable.name} is a parameter: read it by ld.param")
    count, kind = _count(m), _type(m)
    is_volatile = m.has("volatile", "relaxed", "acquire", "mmio")
    if count == 1:
        loaded = t.b.load(t.pointer(o[1], kind, space_of(m)), is_volatile)
        target = _alone(o[0])
        t.write(target, t.widen(target, loaded))
    else:
        targets = t.parts(o[0], count)
        whole = t.b.load(t.pointer(o[1], VectorType(kind, count), space_of(m)), is_volatile)
        for place, target in enumerate(targets):
            t.write(target, t.widen(target, t.emit(memory.Part(whole, place))))
    if m.has("acquire"):
        _fence(t, m, MemoryOrder.ACQUIRE)


@form(f"st [.weak] {_STATE} [.wb|cg|cs|wt] {_HINTS} {_VECTOR} {_TYPES}", "a, b, policy?")
@form(f"st [.weak] {_STATE} [.wb|cg|cs|wt] {_HINTS} .b128", "a, b, policy?")
@form(f"st .volatile {_STATE} .b128", "a, b")
@form(f"st .volatile {_STATE} {_VECTOR} {_TYPES}", "a, b")
@form(f"st .mmio .relaxed .sys [.global] {_TYPES}", "a, b")
@form(
    f"st .relaxed|release .cta|cluster|gpu|sys {_SEEN} {_HINTS} {_VECTOR} {_TYPES}",
    "a, b, policy?",
)
def store(t: Values, m: Match, o: Operands) -> None:
    """Write memory. One order stronger than relaxed is a fence before the store."""
    if m.has("release"):
        _fence(t, m, MemoryOrder.RELEASE)
    count, kind = _count(m), _type(m)
    is_volatile = m.has("volatile", "relaxed", "release", "mmio")
    if count == 1:
        value = t.read(_alone(o[1]), kind, narrows=True)
        t.b.store(t.target(o[0], kind, space_of(m)), value, is_volatile)
        return
    parts = tuple(t.read(each, kind, narrows=True) for each in t.parts(o[1], count))
    vector = VectorType(kind, count)
    whole = t.emit(memory.Pack(parts, vector))
    t.b.store(t.target(o[0], vector, space_of(m)), whole, is_volatile)


def _alone(operand: Operand) -> Operand:
    """The operand of ``{ %r1 }``, which Triton writes for a vector of one."""
    if isinstance(operand, Vector) and len(operand.parts) == 1:
        return operand.parts[0]
    return operand


def _fence(t: Values, m: Match, order: MemoryOrder) -> None:
    t.b.emit(Fence(SCOPES[m.one_of(*SCOPES)], order))


rows(
    ("prefetch .global|local .L1|L2", "a", None),
    ("prefetch .global .L2::evict_last|L2::evict_normal", "a", None),
    ("prefetch .L1|L2", "a", None),
    ("prefetchu .L1", "a", None),
)


@form("discard [.global] .L2", "a, size")
@form("applypriority [.global] .L2::evict_normal", "a, size")
def line_hint(t: Values, m: Match, o: Operands) -> None:
    """A hint of a line of 128 bytes."""
    if not isinstance(o[0], Address) or not isinstance(o[1], Number) or o[1].value != 128:
        t.fail("an address in brackets, and the size 128")


_FIRST = ".L2::evict_last|L2::evict_first|L2::evict_normal|L2::evict_unchanged"
_SECOND = "[.L2::evict_first|L2::evict_unchanged]"


@form(f"createpolicy .fractional {_FIRST} {_SECOND} .b64", "d, a?")
@form(f"createpolicy .range [.global] {_FIRST} {_SECOND} .b64", "d, a, size, total")
@form("createpolicy .cvt .L2 .b64", "d, a")
def policy(t: Values, m: Match, o: Operands) -> None:
    """A cache policy, which is a hint."""
    t.write(o[0], t.b.zero(m.type))


@form("isspacep .global|shared|shared::cta|shared::cluster|local|const", "d, a")
def isspacep(t: Values, m: Match, o: Operands) -> None:
    """Whether a generic address is of a space. Kernel parameters are of global memory, as in the
    ISA, wherever their copies are."""
    operand, space = o[1], SPACES[m.modifiers[0].replace("cluster", "cta")]
    if not isinstance(operand, Reg):
        t.fail("the source is a register")
    value = t.of(operand.register)
    if isinstance(value.type, PointerType):
        known: Value = t.b.const(value.type.space is space, b1)
    else:
        known = _is_of(t, operand, space)
    if space is Space.LOCAL:
        known = t.b.and_(known, t.b.not_(_is_parameter(t, operand)))
    if space is Space.GLOBAL:
        is_constant = _is_constant(t, value)
        known = t.b.and_(known, is_constant if m.has("const") else t.b.not_(is_constant))
        if m.has("global"):
            known = t.b.or_(known, _is_parameter(t, operand))
    t.write(o[0], known)


@form("isspacep .param|param::entry", "d, a")
def is_parameter(t: Values, m: Match, o: Operands) -> None:
    """Whether a generic address is of a parameter of the kernel."""
    if not isinstance(o[1], Reg):
        t.fail("the source is a register")
    t.write(o[0], _is_parameter(t, o[1]))


def _is_parameter(t: Values, operand: Reg) -> Value:
    """The same: of one whose address is taken, and which lies in local memory therefore."""
    is_parameter: Value = t.b.const(False, b1)
    value = t.of(operand.register)
    parameters = t.variables.whole.addressed_parameters()
    if isinstance(value.type, PointerType):
        if parameters and value.type.space is Space.LOCAL:
            t.numbers(Space.LOCAL)  # the next attempt knows where they are
        return is_parameter
    if not parameters or Place.LOCAL not in t.places(Space.LOCAL):
        return is_parameter
    segments = t.variables.whole.segments
    for each in parameters:
        start = Place.LOCAL.start + segments.offset(Place.LOCAL, each)
        offset = t.b.sub(t.as_type(value, u64), t.b.const(start, u64))
        is_parameter = t.b.or_(is_parameter, t.b.lt(offset, t.b.const(each.size, u64)))
    return is_parameter


@form("istypep .texref|surfref|samplerref", "d, a")
def istypep(t: Values, m: Match, o: Operands) -> None:
    """Whether a number is the handle of a texture or surface that the module names. There are no
    samplers apart from textures."""
    handle = t.read(o[1], u64)
    is_handle: Value = t.b.const(False, b1)
    for each in t.variables.whole.module.variables.values():
        if each.reference == m.modifiers[0]:
            own = t.variables.value(t, Symbol(each.name, each))
            is_handle = t.b.or_(is_handle, t.b.eq(handle, own))
    t.write(o[0], is_handle)


def _is_constant(t: Values, value: Value) -> Value:
    """Whether a generic address is of a constant, which are the first variables of the module's
    memory."""
    size = t.variables.whole.data.constants
    is_other = isinstance(value.type, PointerType) and value.type.space is not Space.GLOBAL
    if not size or is_other:
        return t.b.const(False, b1)
    start = t.as_type(t.variables.handed("data"), u64)
    offset = t.b.sub(t.as_type(value, u64), start)
    return t.b.binary(arith.Lt, offset, t.b.const(size, u64))


def _is_of(t: Values, operand: Operand, space: Space) -> Value:
    """Whether a number is an address of a space."""
    places = t.places(Space.GENERIC if space is Space.GLOBAL else space)
    others = [place for place in places if place is not Place.GLOBAL]
    is_inside: Value = t.b.const(False, b1)
    for place in others:
        is_inside = t.b.or_(is_inside, t.is_of(operand, place))
    return t.b.not_(is_inside) if space is Space.GLOBAL else is_inside


# --- copies behind the thread's back


_ASYNC = (
    "cp .async .ca|cg .shared|shared::cta .global [.L2::cache_hint] [.L2::64B|L2::128B|L2::256B]"
)


@form(_ASYNC, "a, b, size, present?, policy?")
def copy_async(t: Values, m: Match, o: Operands) -> None:
    """Start a copy of 4, 8 or 16 bytes, or of the first so many of them and 0 for the rest."""
    if not isinstance(o[2], Number) or o[2].value not in (4, 8, 16):
        t.fail("a copy has 4, 8 or 16 bytes")
    size = int(o[2].value)
    if m.has("cg") and size != 16:
        t.fail(f"a copy by .cg has 16 bytes, not {size}")
    has_policy = m.has("L2::cache_hint")
    if not 3 + has_policy <= len(o) <= 4 + has_policy:
        t.fail("there is a policy where .L2::cache_hint says so")
    target = t.target(o[0], TYPES["u8"], Space.SHARED)
    source = t.pointer(o[1], TYPES["u8"], Space.GLOBAL)
    extra = o[3 : len(o) - has_policy]
    if not extra:
        t.b.emit(copies.AsyncCopy(target, source, size))
        return
    present = _present(t, extra[0], size)
    with t.b.if_(t.b.binary(arith.Ge, present, t.b.const(size, u32))) as whole:
        t.b.emit(copies.AsyncCopy(target, source, size))
    with t.b.inside(whole.orelse):
        _copy_some(t, target, source, present, size)


def _present(t: Values, operand: Operand, size: int) -> Value:
    """How many bytes of the source are read: a number, or none where a predicate is true."""
    if isinstance(operand, Reg) and operand.register.type is b1:
        ignored = t.read(operand, b1)
        return t.b.select(ignored, t.b.zero(u32), t.b.const(size, u32))
    return t.read(operand, u32)


def _copy_some(t: Values, target: Value, source: Value, present: Value, size: int) -> None:
    """Copy bytes at once, which a copy that no one has waited for may do as well. Most are
    none."""
    b = t.b
    words = b.recast(target, pointer(u32, Space.SHARED))
    for place in range(size // 4):
        b.store(b.offset(words, b.const(place, i32)), b.zero(u32))
    copied = b.variable("copied", u32)
    b.write(copied, b.zero(u32))
    with b.loop():
        number = b.read(copied)
        b.break_if(b.not_(b.lt(number, present)))
        byte = b.load(b.offset(source, number))
        b.store(b.offset(target, number), byte)
        b.write(copied, b.add(number, b.const(1, u32)))


rows(("cp .async .commit_group", "", copies.AsyncCommit))


@form("cp .async .wait_group", "n")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for all groups but the last ones."""
    if not isinstance(o[0], Number) or o[0].is_float or o[0].value < 0:
        t.fail("the number of groups is a constant")
    t.b.emit(copies.AsyncWait(int(o[0].value)))


@form("cp .async .wait_all")
def wait_all(t: Values, m: Match, o: Operands) -> None:
    """Wait for all copies."""
    t.b.emit(copies.AsyncCommit())
    t.b.emit(copies.AsyncWait(0))
