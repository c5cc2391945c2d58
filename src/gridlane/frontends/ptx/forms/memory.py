"""Loads, stores and hints. PTX ISA 9.0, "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i64, u32
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Address, Number, Operand, Reg, Symbol
from gridlane.frontends.ptx.types import SPACES, TYPES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, copies, memory
from gridlane.ir.ops.grid import Fence, MemoryOrder, MemoryScope
from gridlane.ir.types import Space, VectorType
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
    """The space that a form names; GENERIC if it names none."""
    return SPACES.get(m.one_of(*SPACES), Space.GENERIC)


def _count(m: Match) -> int:
    return int((m.one_of("v2", "v4", "v8") or "v1")[1:])


@form(f"ld [.weak] {_STATE} [.ca|cg|cs|lu|cv] {_HINTS} {_VECTOR} {_TYPES}", "d, a, policy?")
@form(f"ld .global [.ca|cg|cs] .nc {_HINTS} {_VECTOR} {_TYPES}", "d, a, policy?")
@form(f"ld .const {_VECTOR} {_TYPES}", "d, a")
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
    count, kind = _count(m), m.type
    is_volatile = m.has("volatile", "relaxed", "acquire", "mmio")
    if count == 1:
        made = t.b.load(t.pointer(o[1], kind, space_of(m)), is_volatile)
        t.write(o[0], t.widen(o[0], made))
    else:
        targets = t.parts(o[0], count)
        whole = t.b.load(t.pointer(o[1], VectorType(kind, count), space_of(m)), is_volatile)
        for place, target in enumerate(targets):
            t.write(target, t.widen(target, t.emit(memory.Part(whole, place))))
    if m.has("acquire"):
        _fence(t, m, MemoryOrder.ACQUIRE)


@form(f"st [.weak] {_STATE} [.wb|cg|cs|wt] {_HINTS} {_VECTOR} {_TYPES}", "a, b, policy?")
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
    count, kind = _count(m), m.type
    is_volatile = m.has("volatile", "relaxed", "release", "mmio")
    if count == 1:
        value = t.read(o[1], kind, narrows=True)
        t.b.store(t.target(o[0], kind, space_of(m)), value, is_volatile)
        return
    parts = tuple(t.read(each, kind, narrows=True) for each in t.parts(o[1], count))
    vector = VectorType(kind, count)
    whole = t.emit(memory.Pack(parts, vector))
    t.b.store(t.target(o[0], vector, space_of(m)), whole, is_volatile)


def _fence(t: Values, m: Match, order: MemoryOrder) -> None:
    t.b.emit(Fence(SCOPES[m.one_of(*SCOPES)], order))


@form("prefetch .global|local .L1|L2", "a")
@form("prefetch .global .L2::evict_last|L2::evict_normal", "a")
@form("prefetch .L1|L2", "a")
@form("prefetchu .L1", "a")
@form("discard [.global] .L2", "a, size")
@form("applypriority [.global] .L2::evict_normal", "a, size")
def hint(t: Values, m: Match, o: Operands) -> None:
    """A hint that no result depends on."""


_FIRST = ".L2::evict_last|L2::evict_first|L2::evict_normal|L2::evict_unchanged"
_SECOND = "[.L2::evict_first|L2::evict_unchanged]"


@form(f"createpolicy .fractional {_FIRST} {_SECOND} .b64", "d, a?")
@form(f"createpolicy .range [.global] {_FIRST} {_SECOND} .b64", "d, a, size, total")
@form("createpolicy .cvt .L2 .b64", "d, a")
def policy(t: Values, m: Match, o: Operands) -> None:
    """A cache policy, which is a hint."""
    t.write(o[0], t.b.zero(m.type))


@form("isspacep .global|shared|shared::cta|local|const", "d, a")
def isspacep(t: Values, m: Match, o: Operands) -> None:
    """Whether a generic address is of a space; where it is known which it is of."""
    value = t.pointer_in(o[1])
    space = getattr(value.type, "space", Space.GENERIC) if value is not None else Space.GENERIC
    if space in (Space.GENERIC, Space.CONSTANT):  # variables of global memory are constant data
        t.fail("it is not known here which memory the address is of")
    t.write(o[0], t.b.const(space is SPACES[m.modifiers[0]], b1))


# --- copies behind the thread's back


_ASYNC = (
    "cp .async .ca|cg .shared|shared::cta .global [.L2::cache_hint] [.L2::64B|L2::128B|L2::256B]"
)


@form(_ASYNC, "a, b, size")
def copy_async(t: Values, m: Match, o: Operands) -> None:
    """Start a copy of 4, 8 or 16 bytes."""
    _copy(t, o)


@form(_ASYNC.replace("[.L2::cache_hint]", ".L2::cache_hint"), "a, b, size, policy")
def copy_with_hint(t: Values, m: Match, o: Operands) -> None:
    """The same."""
    _copy(t, o)


@form(_ASYNC, "a, b, size, given")
@form(_ASYNC.replace("[.L2::cache_hint]", ".L2::cache_hint"), "a, b, size, given, policy")
def copy_with_zeros(t: Values, m: Match, o: Operands) -> None:
    """Start a copy of as many bytes as the source has, or of none where a predicate holds; the
    other bytes are 0."""
    b, whole = t.b, _bytes(t, o[2])
    if isinstance(o[3], Reg) and o[3].register.type is b1:
        given = b.select(t.read(o[3], b1), b.const(0, u32), b.const(whole, u32))
    else:
        given = t.read(o[3], u32)
    is_whole = b.binary(arith.Ge, given, b.const(whole, u32))
    with b.if_(is_whole):
        _copy(t, o)
    with b.if_(b.not_(is_whole)):
        _copy_bytes(t, o, whole, given)


def _bytes(t: Values, operand: Operand) -> int:
    if not isinstance(operand, Number) or operand.value not in (4, 8, 16):
        t.fail("a copy has 4, 8 or 16 bytes")
    return int(operand.value)


def _ends(t: Values, o: Operands) -> tuple[Value, Value]:
    byte = TYPES["u8"]
    return t.target(o[0], byte, Space.SHARED), t.pointer(o[1], byte, Space.GLOBAL)


def _copy(t: Values, o: Operands) -> None:
    t.b.emit(copies.AsyncCopy(*_ends(t, o), _bytes(t, o[2])))


def _copy_bytes(t: Values, o: Operands, whole: int, given: Value) -> None:
    """Copy some bytes now, which is early enough, and clear the others. The source is read no
    further, as it may be no address at all."""
    b, byte, place = t.b, TYPES["u8"], t.b.variable("place", u32)
    target, source = _ends(t, o)
    held = b.variable("held", byte)
    b.write(place, b.const(0, u32))
    with b.loop() as loop:
        b.break_if(b.binary(arith.Ge, b.read(place), b.const(whole, u32)))
        b.write(held, b.zero(byte))
        at = b.cast(b.read(place), i64)
        with b.if_(b.lt(b.read(place), given)):
            b.write(held, b.load(b.offset(source, at)))
        b.store(b.offset(target, at), b.read(held))
        with b.inside(loop.step):
            b.write(place, b.add(b.read(place), b.const(1, u32)))


@form("cp .async .commit_group")
def commit(t: Values, m: Match, o: Operands) -> None:
    """Make a group of the copies."""
    t.b.emit(copies.AsyncCommit())


@form("cp .async .wait_group", "n")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for all groups but the last ones."""
    if not isinstance(o[0], Number):
        t.fail("the number of groups is a constant")
    t.b.emit(copies.AsyncWait(int(o[0].value)))


@form("cp .async .wait_all")
def wait_all(t: Values, m: Match, o: Operands) -> None:
    """Wait for all copies."""
    t.b.emit(copies.AsyncCommit())
    t.b.emit(copies.AsyncWait(0))
