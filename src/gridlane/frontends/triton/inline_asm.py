"""``inline_asm_elementwise``: instructions of PTX on elements, by the PTX frontend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from gridlane.core.dtypes import DType, u32
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.elementwise import apply_all
from gridlane.frontends.triton.importing import imported
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.packs import check_pack, joined, lanes_of
from gridlane.frontends.triton.shapes import broadcast_shape, matched
from gridlane.frontends.triton.types import dtype, dtype_of, scalar_ir
from gridlane.frontends.triton.values import tensor, wrap
from gridlane.ir.builder import Builder
from gridlane.ir.families import CONTROL
from gridlane.ir.ops.arith import Shl, Shr
from gridlane.ir.ops.memory import Address
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Module, Value

_REGISTERS = {"r": "b32", "l": "b64", "f": "f32", "d": "f64", "h": "b16"}
"""The types of registers by the letters of constraints."""
_PLAIN = CONTROL - {"raise", "print"} | {"read", "write", "call", "const"}
"""Ops that instructions may become, besides those on scalars: a program's elements are of no
thread, and their order is open."""


def _parsed(constraints: str) -> tuple[list[str], list[str]]:
    """The registers of results and operands."""
    results: list[str] = []
    operands: list[str] = []
    for item in [each.strip() for each in constraints.split(",")]:
        letter = item.lstrip("=&")
        if letter not in _REGISTERS:
            raise ValueError(
                f"the constraint {item!r} is not supported: registers are =r, =l, =f, =d, =h and "
                "the same without ="
            )
        (results if item.startswith("=") else operands).append(_REGISTERS[letter])
    if not results:
        raise ValueError("the instructions have a result or more")
    return results, operands


def _text(asm: str, results: list[str], operands: list[str]) -> str:
    """A function of PTX with the instructions."""
    kinds = [*results, *operands]
    names = [f"%gridlane{number}" for number in range(len(kinds))]

    def register(match: re.Match[str]) -> str:
        number = match[1] or match[2]
        if number is None:
            return "$"
        if int(number) >= len(names):
            raise ValueError(f"the instructions have no operand ${number}")
        return names[int(number)]

    body = re.sub(r"\$(?:(\d+)|\{(\d+)(?::\w)?\}|\$)", register, asm)
    outs = ", ".join(f".param .{kind} out{n}" for n, kind in enumerate(results))
    ins = ", ".join(f".param .{kind} in{n}" for n, kind in enumerate(operands))
    lines = [f".reg .{kind} {name};" for kind, name in zip(kinds, names, strict=True)]
    given = names[len(results) :]
    pairs = enumerate(zip(operands, given, strict=True))
    lines += [f"ld.param.{kind} {name}, [in{n}];" for n, (kind, name) in pairs]
    lines += ["{", body, "}" if body.rstrip().endswith((";", "}")) else ";}"]
    pairs = enumerate(zip(results, names, strict=False))
    lines += [f"st.param.{kind} [out{n}], {name};" for n, (kind, name) in pairs]
    head = ".version 8.6\n.target sm_90a\n.address_size 64\n"
    return f"{head}.visible .func ({outs}) asm({ins})\n{{\n" + "\n".join([*lines, "ret;"]) + "\n}\n"


def _function(asm: str, results: list[str], operands: list[str]) -> Function:
    """The device function of the instructions."""

    def make() -> tuple[Module, Function]:
        from gridlane.frontends.foreign.ptx import parse_ptx, translate_foreign

        foreign = translate_foreign(parse_ptx(_text(asm, results, operands)), "asm", {})
        for function in foreign.module.functions.values():
            for op in function.body.walk():
                if not op.elementwise and op.name not in _PLAIN:
                    raise NotImplementedError(
                        f"the instructions become {op.name}: those of inline_asm_elementwise "
                        "compute with elements, and access no memory and no thread's registers"
                    )
        return foreign.module, foreign.function

    return imported(("asm", asm, *results, "", *operands), "asm", make)


def _packed(b: Builder, values: Sequence[Value]) -> list[Value]:
    """Elements of less than 32 bits in registers of 32, the first in the low bits; others as they
    are."""
    kind = cast("DType", values[0].type)
    if isinstance(values[0].type, PointerType) or kind.bits >= 32:
        return list(values)
    width, registers = kind.size * 8, []
    for start in range(0, len(values), 32 // width):
        word = b.const(0, u32)
        for place, value in enumerate(values[start : start + 32 // width]):
            bits = b.cast(value if kind.is_bool else b.bitcast(value, kind.unsigned), u32)
            word = b.or_(word, b.value(Shl(bits, b.const(place * width, u32))))
        registers.append(word)
    return registers


def _as(b: Builder, value: Value, type_: Any) -> Value:
    """The bits of a value as a register's or an element's type of the same width."""
    if value.type == type_:
        return value
    if isinstance(value.type, PointerType):
        value = b.value(Address(value))
    wanted: DType = type_
    return b.bitcast(value, wanted)


def _unpacked(b: Builder, registers: list[Value], kind: DType, pack: int) -> list[Value]:
    """The elements that registers hold: the inverse of ``_packed``."""
    if kind.bits >= 32:
        return [_as(b, registers.pop(0), kind) for _ in range(pack)]
    width, elements = kind.size * 8, []
    for place in range(pack):
        if place % (32 // width) == 0:
            word = _as(b, registers.pop(0), u32)
        shifted = b.value(Shr(word, b.const(place % (32 // width) * width, u32)))  # pyright: ignore[reportPossiblyUnboundVariable]  # of place 0
        bits = b.cast(shifted, kind.unsigned)
        elements.append(b.cast(bits, kind) if kind.is_bool else b.bitcast(bits, kind))
    return elements


@builtin
def inline_asm_elementwise(
    asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any
) -> Any:
    """The results of instructions of PTX for each ``pack`` elements. ``$0`` … are registers, of the
    results first. Elements of less than 32 bits share registers."""
    results, operands = _parsed(unwrapped(constraints))
    several = isinstance(unwrapped(dtype), (tuple, list))
    kinds = [dtype_of(each) for each in unwrapped(dtype)] if several else [dtype_of(dtype)]
    count = int(unwrapped(pack))
    values = matched(*[to_tensor(each) for each in unwrapped(args)])
    shape = next((each.shape for each in values if each.shape), ())
    check_pack(count, shape)
    made = _applied(str(unwrapped(asm)), (results, operands), values, kinds, count, shape)
    return made if several else made[0]


def _applied(
    asm: str,
    registers: tuple[list[str], list[str]],
    values: list[tensor],
    kinds: list[dtype],
    pack: int,
    shape: tuple[int, ...],
) -> tuple[tensor, ...]:
    function = _function(asm, *registers)
    given = [lanes_of(broadcast_shape(each, shape), pack) if shape else [each] for each in values]
    elements = [cast("DType", scalar_ir(kind)) for kind in kinds]
    types = [param.value.type for param in function.params]

    def build(b: Builder, *lanes: Value) -> tuple[Value, ...]:
        words: list[Value] = []
        for place in range(len(given)):
            words += _packed(b, lanes[place * pack : (place + 1) * pack])
        if len(words) != len(types):
            raise ValueError(f"the operands fill {len(words)} registers, not {len(types)}")
        ready = [_as(b, word, type_) for word, type_ in zip(words, types, strict=True)]
        left = [*b.call(function, tuple(ready))]
        return tuple([each for kind in elements for each in _unpacked(b, left, kind, pack)])

    flat = [lane.handle for lanes in given for lane in lanes]
    key = asm, tuple(registers[0]), tuple(registers[1]), tuple(elements), pack
    made = [wrap(value) for value in apply_all("asm_elements", build, flat, key)]
    starts = range(0, len(made), pack)
    wholes = [joined(made[start : start + pack]) for start in starts]
    return tuple(
        [
            tensor(whole.handle, whole.type.with_element_ty(kind))
            for whole, kind in zip(wholes, kinds, strict=True)
        ]
    )
