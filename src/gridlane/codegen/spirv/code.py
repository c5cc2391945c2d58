"""Instructions by the IR's scalar types, with which the families of ops are emitted.

Integers are unsigned in SPIR-V's types, so that a bit pattern has one type; the opcode decides the
sign. bf16 is held as its 16 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np

from gridlane.codegen.spirv.assembler import Assembler
from gridlane.codegen.spirv.opcodes import Capability, Decoration, Glsl, Mode, Opcode
from gridlane.core.dtypes import DType, b1, f16, f32, i64, u8, u16, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.op import FastMath

_INTEGER_CAPABILITY = {8: Capability.Int8, 16: Capability.Int16, 64: Capability.Int64}
_FLOAT_CAPABILITY = {16: Capability.Float16, 64: Capability.Float64}
_ENDS = frozenset((Opcode.Branch, Opcode.BranchConditional, Opcode.Return, Opcode.Unreachable))
_UNSIGNED = {8: u8, 16: u16, 32: u32, 64: u64}


_LARGE = 2.0**64
_APART = (Opcode.FOrdLessThan, Opcode.FOrdGreaterThan, Opcode.FOrdNotEqual, Opcode.FUnordNotEqual)
"""Comparisons that are false for operands that compare equal."""


def unsigned(bits: int) -> DType:
    """The unsigned integer type of a width."""
    return _UNSIGNED[bits]


@frozen
class LoopLabels:
    """The labels of a loop: its end and its step."""

    merge: int
    next: int


class Code(Assembler):
    """The kernel's function, one method per instruction."""

    def __init__(self) -> None:
        super().__init__()
        self.block = 0
        self.float_widths: set[int] = set()
        self.unknown_zero: Callable[[int], int] | None = None
        """Returns an integer 0 of so many bits that the device's compiler cannot fold; None where
        the compiler handles constants correctly."""
        self.flush_zero: Callable[[int], int] | None = None
        """The same, where the device flushes subnormal f32 in comparisons and conversions, and
        where its compiler recognises a change of sign that is written in integers."""
        self.half_zero: Callable[[int], int] | None = None
        """The same, where the compiler keeps using an f32 after it was rounded to f16."""
        self.wide_zero: Callable[[int], int] | None = None
        """The same, where the compiler misuses known bits of 64-bit integers."""
        self.minus_zero: Callable[[int], int] | None = None
        """The same, where the compiler folds a select of 1 and -0 to one of 1 and 0."""
        self.rounds64 = True
        """False where the compiler truncates and rounds f64 wrongly, but for its floor: Mesa's, on
        processors without AVX-512, leaves large numbers as they are, and loses the sign of -0."""
        self.unit_zero: Callable[[int], int] | None = None
        self.select_zero: Callable[[int], int] | None = None
        """The same, where the compiler miscompiles a select between a bit select and its operand;
        see ``codegen/joined_bits.py``."""

    # ---- types and constants

    def scalar(self, dtype: DType) -> int:
        """The type of a scalar in registers."""
        if dtype.is_bool:
            return self.type(Opcode.TypeBool)
        if dtype.is_float and dtype.name != "bf16":
            self.float_widths.add(dtype.bits)
            if dtype.bits in _FLOAT_CAPABILITY:
                self.capabilities.add(_FLOAT_CAPABILITY[dtype.bits])
            return self.type(Opcode.TypeFloat, dtype.bits)
        if dtype.bits in _INTEGER_CAPABILITY:
            self.capabilities.add(_INTEGER_CAPABILITY[dtype.bits])
        return self.type(Opcode.TypeInt, dtype.bits, 0)

    def const(self, value: bool | int | float, dtype: DType) -> int:
        """A constant of a scalar type; integers wrap."""
        type_ = self.scalar(dtype)
        if dtype.is_bool:
            return self.shared(Opcode.ConstantTrue if value else Opcode.ConstantFalse, (type_,), ())
        if dtype.is_integer:
            octets = (int(value) & ((1 << dtype.bits) - 1)).to_bytes(dtype.size, "little")
        else:
            octets = np.array(value, dtype.numpy).tobytes()
        octets += bytes(-len(octets) % 4)
        return self.constant(type_, *struct.unpack(f"<{len(octets) // 4}I", octets))

    def null(self, type_: int) -> int:
        """The zero of any type."""
        return self.shared(Opcode.ConstantNull, (type_,), ())

    # ---- instructions

    def op(self, opcode: Opcode, dtype: DType, *ids: int) -> int:
        """Emit an instruction with a scalar result."""
        return self.result(opcode, self.scalar(dtype), *ids)

    def real(self, opcode: Opcode, dtype: DType, *ids: int, fast: FastMath = FastMath.NONE) -> int:
        """Emit arithmetic of floats, which is not fused or reordered unless ``fast`` allows it."""
        result = self.op(opcode, dtype, *ids)
        if not fast & FastMath.CONTRACT:
            self.decorate(result, Decoration.NoContraction)
        return result

    def ext(self, instruction: Glsl, dtype: DType, *ids: int) -> int:
        """Emit an instruction of GLSL.std.450."""
        return self.op(Opcode.ExtInst, dtype, self.glsl, instruction, *ids)

    def compare(self, opcode: Opcode, a: int, b: int) -> int:
        """Emit a comparison."""
        return self.op(opcode, b1, a, b)

    def order(self, opcode: Opcode, dtype: DType, a: int, b: int) -> int:
        """Emit an ordering of integers. Compilers that miscompile constants also miscompile that of
        a widened i32 and a constant, so ``a`` is hidden from them."""
        if dtype is i64:
            # By a sum: ``a`` may be hidden by the same exclusive or already, and two cancel.
            a = self._with_zero(self.unknown_zero, Opcode.IAdd, a, dtype)
        return self.compare(opcode, a, b)

    def relation(self, opcode: Opcode, dtype: DType, a: int, b: int) -> int:
        """Emit a comparison of floats. Where subnormal f32 are flushed to 0, their products with a
        large number are not; the plain comparison distinguishes operands whose products
        overflow."""
        plain = self.compare(opcode, a, b)
        if dtype is not f32 or self.flush_zero is None:
            return plain
        large = self.const(_LARGE, f32)
        scaled = self.compare(opcode, *(self.real(Opcode.FMul, f32, x, large) for x in (a, b)))
        return (self.either if opcode in _APART else self.both)(plain, scaled)

    def select(self, dtype: DType, condition: int, on_true: int, on_false: int) -> int:
        """Select between two computed values."""
        return self.op(Opcode.Select, dtype, condition, on_true, on_false)

    def either(self, a: int, b: int) -> int:
        """a or b."""
        return self.op(Opcode.LogicalOr, b1, a, b)

    def both(self, a: int, b: int) -> int:
        """a and b."""
        return self.op(Opcode.LogicalAnd, b1, a, b)

    def negated(self, a: int) -> int:
        """not a."""
        return self.op(Opcode.LogicalNot, b1, a)

    def add(self, dtype: DType, a: int, b: int) -> int:
        """The sum of integers."""
        return self.op(Opcode.IAdd, dtype, a, b)

    def plus(self, dtype: DType, a: int, number: int) -> int:
        """The sum of an integer and a number."""
        return self.add(dtype, a, self.const(number, dtype)) if number else a

    def times(self, dtype: DType, a: int, number: int) -> int:
        """An integer times a number."""
        return a if number == 1 else self.op(Opcode.IMul, dtype, a, self.const(number, dtype))

    def masked(self, dtype: DType, a: int, mask: int) -> int:
        """An integer's bits under a mask."""
        return self.op(Opcode.BitwiseAnd, dtype, a, self.const(mask, dtype))

    def shifted_up(self, dtype: DType, a: int, by: int) -> int:
        """An integer shifted left by a number."""
        return self.op(Opcode.ShiftLeftLogical, dtype, a, self.const(by, u32)) if by else a

    def shifted_down(self, dtype: DType, a: int, by: int) -> int:
        """An integer shifted right by a number, filled with zeros."""
        return self.op(Opcode.ShiftRightLogical, dtype, a, self.const(by, u32)) if by else a

    # ---- bits and widths

    def bits(self, value: int, dtype: DType) -> int:
        """A scalar's bits as an unsigned integer; a bool as a byte."""
        if dtype.is_bool:
            return self.select(u8, value, self.const(1, u8), self.const(0, u8))
        if dtype.is_integer or dtype.name == "bf16":
            return value
        return self.op(Opcode.Bitcast, unsigned(dtype.bits), value)

    def from_bits(self, value: int, dtype: DType) -> int:
        """The scalar with the given bits; for a bool, whether the byte is not 0."""
        if dtype.is_bool:
            return self.compare(Opcode.INotEqual, value, self.const(0, u8))
        if dtype.is_integer or dtype.name == "bf16":
            return value
        return self.op(Opcode.Bitcast, dtype, value)

    def hidden(self, value: int, dtype: DType) -> int:
        """A value that compilers cannot fold even if it is a constant. Those that fold zeros take
        x / 0 as undefined, and 0 + x and 0 * x as x and 0, whatever x is."""
        # By exclusive or: an or of -1 with any bits is -1.
        return self._with_zero(self.unknown_zero, Opcode.BitwiseXor, value, dtype)

    def hidden_minus_zero(self, value: int, dtype: DType) -> int:
        """A float computed from constants, which may be -0, hidden from the compiler."""
        # By an or with another zero, which a second hiding by exclusive or does not cancel: of a
        # constant 0 with the same one nothing would be left.
        return self._with_zero(self.minus_zero, Opcode.BitwiseOr, value, dtype)

    def _with_zero(
        self, zero: Callable[[int], int] | None, by: Opcode, value: int, dtype: DType
    ) -> int:
        if zero is None:
            return value
        raw = unsigned(dtype.bits)
        bits = self.op(by, raw, self.bits(value, dtype), zero(dtype.bits))
        return self.from_bits(bits, dtype)

    def sign_mask(self, dtype: DType, mask: int) -> int:
        """A mask that changes signs of floats. It is hidden where the compiler flushes subnormals
        in a change of sign that it recognises."""
        raw = unsigned(dtype.bits)
        zero = self.flush_zero if dtype is f32 else None
        return self._with_zero(zero, Opcode.BitwiseXor, self.const(mask, raw), raw)

    def settled_word(self, word: int) -> int:
        """A u32, hidden from compilers that would use the value that it was extended from."""
        return self._with_zero(self.half_zero, Opcode.BitwiseXor, word, u32)

    def settled_integer(self, value: int, dtype: DType, by: Opcode = Opcode.IAdd) -> int:
        """An integer, hidden from compilers that misuse its known bits."""
        # By a sum: two bitwise ops may cancel, and compilers move these through shifts.
        return self._with_zero(self.wide_zero, by, value, dtype)

    def settled_bits(self, whole: DType, bits: int) -> int:
        """An integer that joins bits of two, hidden from compilers that miscompile such a join."""
        return self._with_zero(self.select_zero, Opcode.BitwiseXor, bits, whole)

    def hidden_unit(self, value: int, dtype: DType) -> int:
        """A constant, hidden from compilers that misread a select of it."""
        return self._with_zero(self.unit_zero, Opcode.BitwiseOr, value, dtype)

    def joined(self, whole: DType, one: int, other: int) -> int:
        """The union of the bits of two integers whose bits are disjoint."""
        return self.settled_bits(whole, self.op(Opcode.BitwiseOr, whole, one, other))

    def settled(self, half: int) -> int:
        """An f32 rounded to f16, hidden from compilers that would keep using the f32."""
        return self._with_zero(self.half_zero, Opcode.BitwiseXor, half, f16)

    def resized(self, value: int, source: DType, target: DType) -> int:
        """An integer truncated, or sign- or zero-extended by its type."""
        if source.bits == target.bits:
            return value
        grows_signed = source.is_signed and source.bits < target.bits
        return self.op(Opcode.SConvert if grows_signed else Opcode.UConvert, target, value)

    def unsigned_resized(self, value: int, source_bits: int, target_bits: int) -> int:
        """Bits truncated or zero-extended to another width."""
        source, target = unsigned(source_bits), unsigned(target_bits)
        return self.resized(value, source, target)

    # ---- memory of the thread

    def local(self, dtype: DType) -> int:
        """A variable of the thread."""
        return self.variable(self.scalar(dtype))

    def get(self, dtype: DType, variable: int) -> int:
        """Load a variable."""
        return self.op(Opcode.Load, dtype, variable)

    def set(self, variable: int, value: int) -> None:
        """Store a variable."""
        self.do(Opcode.Store, variable, value)

    # ---- control

    def start(self, label: int) -> None:
        """Open a block."""
        self.do(Opcode.Label, label)
        self.block = label

    @property
    def ended(self) -> bool:
        """Whether the block has a terminator."""
        return bool(self.body) and self.body[-1][0] in _ENDS

    def branch(self, label: int) -> None:
        """Jump to a block."""
        self.do(Opcode.Branch, label)

    @contextmanager
    def when(self, condition: int) -> Generator[None]:
        """Run the instructions emitted in the block where a condition holds."""
        then, merge = self.fresh(), self.fresh()
        self.do(Opcode.SelectionMerge, merge, 0)
        self.do(Opcode.BranchConditional, condition, then, merge)
        self.start(then)
        yield
        self.branch(merge)
        self.start(merge)

    @contextmanager
    def again(self) -> Generator[LoopLabels]:
        """Repeat the instructions emitted in the block until ``stop_if`` on the yielded labels."""
        head, body = self.fresh(), self.fresh()
        labels = LoopLabels(self.fresh(), self.fresh())
        self.branch(head)
        self.start(head)
        self.do(Opcode.LoopMerge, labels.merge, labels.next, 0)
        self.branch(body)
        self.start(body)
        yield labels
        self.branch(labels.next)
        self.start(labels.next)
        self.branch(head)
        self.start(labels.merge)

    def stop_if(self, condition: int, target: int) -> None:
        """Leave for the merge block of a loop where a condition holds."""
        stay = self.fresh()
        self.do(Opcode.SelectionMerge, stay, 0)
        self.do(Opcode.BranchConditional, condition, target, stay)
        self.start(stay)

    # ---- the module

    def finished(self, entry: str, denormals: frozenset[int], fast: bool) -> bytes:
        """The module, with the execution modes that its floats need.

        Args:
            denormals: the widths in bits whose subnormals the device preserves on request.
            fast: the sign of zeros, infinity and NaN need not be preserved.
        """
        for width in sorted(self.float_widths):
            if not fast:
                preserve = Capability.SignedZeroInfNanPreserve
                self.mode(Mode.SignedZeroInfNanPreserve, preserve, width)
            self.mode(Mode.RoundingModeRTE, Capability.RoundingModeRTE, width)
            if width in denormals:
                self.mode(Mode.DenormPreserve, Capability.DenormPreserve, width)
        return self.assembled(entry)

    def mode(self, mode: Mode, capability: Capability, width: int) -> None:
        """Set the behaviour of floats of a width."""
        self.capabilities.add(capability)
        self.modes.append((Opcode.ExecutionMode, mode, width))
