"""mov, cvta, ld.param, st.param, selections."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, i32, u64
from gridlane.frontends.ptx.addresses import SPACE_OF, Place
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.memory import load
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Address, Operand, Reg, Register, Special, Symbol, Vector
from gridlane.frontends.ptx.specials import special
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.arith import Ge, Or, Shl, Shr
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


@form("mov .<int>|<bits>|f32|f64|pred", "d, a")
def mov(t: Values, m: Match, o: Operands) -> None:
    """Copy; pack into a wider register or unpack into narrower ones."""
    target, source = o
    if isinstance(source, Vector):
        t.write(target, packed(t, source, m.type))
    elif isinstance(target, Vector):
        unpack(t, target, t.read(source, unsigned(m.type.bits)))
    elif isinstance(source, Reg | Symbol) and not (isinstance(source, Reg) and source.negated):
        if isinstance(source, Reg):
            value = t.of(source.register)
        else:
            value = t.variables.value(t, source, m.type.bits)
        if isinstance(value.type, DType):
            kind = b1 if value.type is b1 else value.type
            if kind.bits != m.type.bits or (kind is b1) != (m.type is b1):
                t.fail(f"the source has {kind.bits} bits")
        t.write(target, value)
    else:
        narrows = isinstance(source, Special)  # mov.u16 of %tid.x is of PTX 1
        t.write(target, t.read(source, m.type, narrows))


@form("mov .b128", "d, a")
def mov_wide(t: Values, m: Match, o: Operands) -> None:
    """Copy 128 bits, which are two registers of 64."""
    values = [t.read(part, u64) for part in t.parts(o[1], 2)]
    for part, value in zip(t.parts(o[0], 2), values, strict=True):
        t.write(part, value)


@form("mov .v2|v4 .<int>|<bits>|f32|f64", "d, a")
def mov_vector(t: Values, m: Match, o: Operands) -> None:
    """Copy the parts of a vector, which may be those of a special register."""
    count = int(m.modifiers[0][1])
    source = o[1]
    if isinstance(source, Special):
        values = [special(t, t.variables, f"{source.name}.{axis}") for axis in "xyzw"[:count]]
        values = [t.as_type(value, m.type, narrows=True) for value in values]
    else:
        values = [t.read(part, m.type) for part in t.parts(source, count)]
    for part, value in zip(t.parts(o[0], count), values, strict=True):
        t.write(part, value)


def packed(t: Values, source: Vector, dtype: DType) -> Value:
    """The parts of a vector operand in one register, the first one lowest."""
    width = dtype.bits // len(source.parts)
    total: Value | None = None
    for place, part in enumerate(source.parts):
        bits = t.b.cast(t.read(part, unsigned(width)), unsigned(dtype.bits))
        if place:
            bits = t.b.binary(Shl, bits, t.b.const(place * width, i32))
        total = bits if total is None else t.b.binary(Or, total, bits)
    if total is None:
        t.fail("there is nothing in the braces")
    return total


def unpack(t: Values, target: Vector, value: Value) -> None:
    """Write the parts of a value, the lowest first."""
    assert isinstance(value.type, DType)
    width = value.type.bits // max(1, len(target.parts))
    for place, part in enumerate(target.parts):
        bits = value
        if place:
            bits = t.b.binary(Shr, value, t.b.const(place * width, i32))
        t.write(part, t.b.cast(bits, unsigned(width)))


@form("cvta .global|shared|local|const|param|param::entry|shared::cta .u64|u32", "d, a")
@form("cvta .to .global|shared|local|const|param|param::entry|shared::cta .u64|u32", "d, a")
def cvta(t: Values, m: Match, o: Operands) -> None:
    """An address of a space as a generic one, or back. A pointer is the same in both, and so is a
    number with a tag; one of 32 bits gets the tag of its space here."""
    source = o[1]
    if isinstance(source, Symbol):
        t.write(o[0], t.variables.value(t, source))
        return
    if not isinstance(source, Reg):
        t.fail("the source is a register or a variable")
    value = t.of(source.register)
    place = _TAGGED.get(m.one_of(*_TAGGED))
    if not isinstance(value.type, PointerType) and place is not None and not m.has("to"):
        t.numbers(SPACE_OF[place])
        value = t.b.or_(t.as_type(value, m.type), t.b.const(place.start, m.type))
    t.write(o[0], value)


_TAGGED = {
    "shared": Place.SHARED,
    "shared::cta": Place.SHARED,
    "local": Place.LOCAL,
    "param": Place.LOCAL,
    "param::entry": Place.LOCAL,
}


@form(
    "ld [.weak] .param|param::entry|param::func [.ca|cg|cs|lu|cv] [.v2|v4] .<any>|f16|bf16|f32|f64",
    "d, a",
)
def ld_param(t: Values, m: Match, o: Operands) -> None:
    """Read a parameter, or what a call has returned; or a parameter's copy in local memory, where
    its address is taken."""
    address = o[1]
    if isinstance(address, Address) and isinstance(address.base, Register):
        load(t, m, o)
        return
    variable, offset = _param(t, address)
    targets = t.parts(o[0], int(m.one_of("v2", "v4")[1])) if m.has("v2", "v4") else (o[0],)
    for place, target in enumerate(targets):
        value = t.parameters.load(t, variable, offset + place * m.type.size, m.type)
        t.write(target, t.widen(target, value) if isinstance(value.type, DType) else value)


@form("ld [.weak] .param|param::entry|param::func .b128", "d, a")
def ld_param_wide(t: Values, m: Match, o: Operands) -> None:
    """Read 128 bits, which are two registers of 64."""
    address = o[1]
    if isinstance(address, Address) and isinstance(address.base, Register):
        load(t, m, o)
        return
    variable, offset = _param(t, address)
    for place, target in enumerate(t.parts(o[0], 2)):
        t.write(target, t.as_type(t.parameters.load(t, variable, offset + 8 * place, u64), u64))


@form("st .param|param::func [.v2|v4] .<any>|f16|bf16|f32|f64", "a, b")
def st_param(t: Values, m: Match, o: Operands) -> None:
    """Write a part of an argument, or of the result."""
    variable, offset = _param(t, o[0])
    sources = t.parts(o[1], int(m.one_of("v2", "v4")[1])) if m.has("v2", "v4") else (o[1],)
    for place, source in enumerate(sources):
        value = t.pointer_in(source) if m.type.bits == 64 else None
        if value is None:
            value = t.read(source, m.type, narrows=True)
        t.parameters.store(t, variable, offset + place * m.type.size, value)


def _param(t: Values, address: Operand) -> tuple[Declared, int]:
    """The parameter at an address, and the offset in it."""
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        t.fail("parameters of calls at addresses in registers are not translated")
    variable = address.base.variable
    if variable is None or variable.space != "param":
        t.fail(f"{address.base.name} is no parameter")
    return variable, address.offset + address.base.offset


@form("selp .<int>|<bits>|f32|f64", "d, a, b, c")
def selp(t: Values, m: Match, o: Operands) -> None:
    """The first source where the predicate holds."""
    values = [t.of(each.register) if isinstance(each, Reg) else None for each in o[1:3]]
    condition = t.read(o[3], b1)
    if all(value is not None and isinstance(value.type, PointerType) for value in values):
        first, second = (value for value in values if value is not None)
        if first.type == second.type:
            t.write(o[0], t.b.select(condition, first, second))
            return
    t.write(o[0], t.b.select(condition, t.read(o[1], m.type), t.read(o[2], m.type)))


@form("slct .<int>|<bits>|f32|f64 .s32", "d, a, b, c")
@form("slct [.ftz] .<int>|<bits>|f32|f64 .f32", "d, a, b, c")
def slct(t: Values, m: Match, o: Operands) -> None:
    """The first source where the third is 0 or more; not for a NaN."""
    kind, by = m.types
    sign = t.read(o[3], by)
    condition = t.b.binary(Ge, flushed(t, sign) if m.has("ftz") else sign, t.b.zero(by))
    t.write(o[0], t.b.select(condition, t.read(o[1], kind), t.read(o[2], kind)))
