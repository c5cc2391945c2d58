"""What a form's translation works with: the builder, and the values of operands.

A register that is written once, where all its uses follow, is a value of the IR; any other is a
variable. A value keeps the type that its instruction gives it, and changes to the type of its use;
an address stays a pointer where pointers.py finds its array.
"""

from __future__ import annotations

import struct
from typing import NoReturn

from gridlane.core.dtypes import DType, b1, f32, u32, u64
from gridlane.frontends.ptx.body import Instruction
from gridlane.frontends.ptx.operands import (
    Address,
    Number,
    Operand,
    Pair,
    Reg,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from gridlane.frontends.ptx.parameters import Parameters
from gridlane.frontends.ptx.text import Text
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.variables import Variables
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.ops.arith import Cast
from gridlane.ir.types import PointerType, Space, Type, VectorType, pointer
from gridlane.ir.values import ErrorSite, Value, Var

BYTES = unsigned(8)
WRITTEN = "variables of a module that kernels write"


class Values:
    """The values of a function's operands.

    Attributes:
        b: the builder.
        instruction: the one that is translated.
        parameters: the parameters of the function, and of its calls.
        leak: the place of an instruction behind which the address of constant data, which a
            module's variables are, is not known as such; -1 if there is none.
        writes_anywhere: whether it writes at an address of which no more is known.
    """

    def __init__(
        self,
        b: Builder,
        text: Text,
        variables: Variables,
        parameters: Parameters,
        types: dict[Register, Type],
        mutable: set[Register],
    ) -> None:
        self.b, self.text, self.variables, self.parameters = b, text, variables, parameters
        self.instruction: Instruction
        self._types, self._mutable = types, mutable
        self._values: dict[Register, Value] = {}
        self._vars: dict[Register, Var] = {}
        self._flag: Var | None = None
        self.leak = -1
        self.writes_anywhere = False

    def fail(self, message: str) -> NoReturn:
        """Raise PtxError at the instruction.

        Raises:
            PtxError: always.
        """
        made = self.instruction
        self.text.fail(f"{made.spelling}: {message}", made.at, len(made.spelling))

    # --- reading

    def read(self, operand: Operand, dtype: DType, narrows: bool = False) -> Value:
        """The value of a source operand as a type.

        Args:
            narrows: a wider register gives its low bits, as sources of st and cvt do.
        """
        if isinstance(operand, Number):
            return self._number(operand, dtype)
        if isinstance(operand, Reg):
            value = self.of(operand.register)
            if operand.negated:
                return self.b.not_(value)
        elif isinstance(operand, Special):
            value = self.variables.special(self, operand.name)
        elif isinstance(operand, Symbol):
            value = self._symbol(operand)
        else:
            self.fail("an operand is a register or a constant here")
        return self.as_type(value, dtype, narrows)

    def of(self, register: Register) -> Value:
        """The value of a register, as a scalar or a pointer. One that is never written is 0."""
        if register in self._mutable:
            return self.b.read(self._var(register))
        found = self._values.get(register)
        return self.b.zero(self._type(register)) if found is None else found

    def as_type(self, value: Value, dtype: DType, narrows: bool = False) -> Value:
        """The bits of a value as a type; an address as the integer."""
        b, have = self.b, value.type
        if have is dtype:
            return value
        if isinstance(have, PointerType):
            self._note_leak(have, None)
            value = b.value(memory.Address(value))
            if dtype.bits == 32:  # shared memory lies below 4 GiB
                value = b.cast(value, u32)
            have = value.type
        assert isinstance(have, DType), have
        if have is b1 or dtype is b1:
            if have is dtype:
                return value
            self.fail(f"an operand is .{'pred' if have is b1 else have}, not {_shown(dtype)}")
        if have.bits > dtype.bits and narrows:
            value = b.cast(self.bits(value), unsigned(dtype.bits))
        elif have.bits != dtype.bits:
            self.fail(f"an operand has {have.bits} bits, not the {dtype.bits} of {_shown(dtype)}")
        return self._same_bits(value, dtype)

    def bits(self, value: Value) -> Value:
        """A scalar as an unsigned integer of its width."""
        assert isinstance(value.type, DType)
        return self._same_bits(value, unsigned(value.type.bits))

    def _same_bits(self, value: Value, dtype: DType) -> Value:
        have = value.type
        assert isinstance(have, DType)
        if have is dtype:
            return value
        if have.is_integer and dtype.is_integer:
            source = value.op.value if isinstance(value.op, Cast) else None
            # There and back: a register has no sign.
            return source if source and source.type is dtype else self.b.cast(value, dtype)
        return self.b.bitcast(value, dtype)

    def _number(self, operand: Number, dtype: DType) -> Value:
        value = operand.value
        if dtype is b1:
            return self.b.const(bool(value), b1)
        if not operand.is_float:
            if dtype.is_float:
                return self.b.bitcast(self.b.const(int(value), unsigned(dtype.bits)), dtype)
            return self.b.const(int(value), dtype)
        if dtype.is_float:
            if operand.float_bits not in (0, dtype.bits) and dtype.bits < 64:
                value = struct.unpack("f", struct.pack("f", value))[0] if dtype is f32 else value
            if value != value or operand.float_bits == dtype.bits:
                return self._exact(operand, dtype)
            return self.b.const(float(value), dtype)
        return self._exact(operand, dtype)

    def _exact(self, operand: Number, dtype: DType) -> Value:
        """A float constant by its bits."""
        width = operand.float_bits or dtype.bits
        if width not in (32, 64) or width != dtype.bits:
            self.fail(f"a float of {width} bits is no {_shown(dtype)}")
        if dtype.is_float and operand.value == operand.value:
            return self.b.const(float(operand.value), dtype)
        form = ("<f", "<I") if width == 32 else ("<d", "<Q")
        (raw,) = struct.unpack(form[1], struct.pack(form[0], operand.value))
        return self._same_bits(self.b.const(raw, unsigned(width)), dtype)

    def _symbol(self, operand: Symbol) -> Value:
        if operand.variable is None:
            self.fail(f"{operand.name} is no variable")
        return self.variables.address(self, operand)

    # --- writing

    def write(self, operand: Operand, value: Value) -> None:
        """Set a result."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Reg) or operand.negated:
            self.fail("a result is a register")
        register, have = operand.register, value.type
        if isinstance(have, DType):
            want = register.type
            if (have is b1) != (want is b1):
                self.fail(f"{register.name} is {_shown(want)}, and the result is {_shown(have)}")
            if have.bits != want.bits:
                self.fail(f"{register.name} has {want.bits} bits, the result has {have.bits}")
        type_ = self._type(register)
        is_pointer = isinstance(type_, PointerType)
        if register not in self._mutable:
            self._values[register] = self.as_pointer(value) if is_pointer else value
            return
        if is_pointer:
            value = self._to_space(self.as_pointer(value), type_.space)
            self._note_leak(value.type, type_)
            value = self.b.recast(value, type_)
        else:
            assert isinstance(type_, DType)
            value = self.as_type(value, type_)
        self.b.write(self._var(register), value)

    def widen(self, operand: Operand, value: Value) -> Value:
        """A loaded or converted value, extended by its own signedness to a wider register."""
        assert isinstance(value.type, DType)
        if not isinstance(operand, Reg) or operand.register.type.bits <= value.type.bits:
            return value
        wide = operand.register.type.bits
        if value.type.is_float:
            return self.b.cast(self.bits(value), unsigned(wide))
        return self.b.cast(value, _width(value.type, wide))

    def _var(self, register: Register) -> Var:
        found = self._vars.get(register)
        if found is None:
            name = register.name.lstrip("%").replace("$", "_")
            found = self._vars[register] = self.b.variable(name, self._type(register))
        return found

    def _type(self, register: Register) -> Type:
        return self._types.get(register, register.type)

    # --- addresses

    def as_pointer(self, value: Value, space: Space = Space.GENERIC) -> Value:
        """A value as a pointer to bytes."""
        if isinstance(value.type, PointerType):
            return value
        assert isinstance(value.type, DType)
        address = self.b.cast(self.bits(value), u64)
        return self.b.value(memory.FromAddress(address, pointer(BYTES, space)))

    def target(self, operand: Operand, element: DType | VectorType, space: Space) -> Value:
        """The address of an operand that is written."""
        made = self.pointer(operand, element, space)
        assert isinstance(made.type, PointerType)
        if made.type.space is Space.CONSTANT:
            self.fail(f"{WRITTEN} are not translated yet")
        self.writes_anywhere |= self._is_anywhere(operand, made.type.space)
        return made

    def _is_anywhere(self, operand: Operand, space: Space) -> bool:
        """Whether an address may be of any memory, or of any global memory."""
        if space not in (Space.GENERIC, Space.GLOBAL) or not isinstance(operand, Address):
            return False
        if not isinstance(operand.base, Register):
            return operand.base is None
        type_ = self._type(operand.base)
        return not isinstance(type_, PointerType) or type_.space is Space.GENERIC

    def _note_leak(self, have: Type, to: Type | None) -> None:
        """Note that a pointer becomes a number, or a pointer of another type."""
        if isinstance(have, PointerType) and have.space is Space.CONSTANT and have != to:
            self.leak = self.instruction.at

    def pointer(self, operand: Operand, element: DType | VectorType, space: Space) -> Value:
        """The address of an operand as a pointer to an element.

        Args:
            space: that the instruction names, or GENERIC.
        """
        if not isinstance(operand, Address):
            self.fail("an address stands in brackets")
        base = operand.base
        if base is None:
            value = self.as_pointer(self.b.const(operand.offset & (1 << 64) - 1, u64), space)
            return self.b.recast(value, pointer(element, space))
        if isinstance(base, Symbol):
            value = self.variables.address(self, base)
        else:
            value = self.as_pointer(self.of(base), space)
        value = self._to_space(self.offset(value, operand.offset), space)
        assert isinstance(value.type, PointerType)
        return self.b.recast(value, pointer(element, value.type.space))

    def offset(self, value: Value, count: int) -> Value:
        """A pointer some bytes further."""
        if not count:
            return value
        return self.b.offset(value, self.b.const(count, unsigned(64).signed))

    def _to_space(self, value: Value, space: Space) -> Value:
        """A pointer in a space. Constant data is read by ld.global as well."""
        assert isinstance(value.type, PointerType)
        have = value.type.space
        if space in (have, Space.GENERIC) or (have, space) == (Space.CONSTANT, Space.GLOBAL):
            return value
        if have is Space.GENERIC:
            address = self.b.value(memory.Address(value))
            return self.b.value(memory.FromAddress(address, pointer(BYTES, space)))
        self.fail(f"the address is of {have.name.lower()} memory, not of {space.name.lower()}")

    def pointer_in(self, operand: Operand) -> Value | None:
        """The value of a register that holds an address; None of other operands."""
        if not isinstance(operand, Reg) or operand.register.type is b1:
            return None
        is_pointer = isinstance(self._types.get(operand.register), PointerType)
        return self.of(operand.register) if is_pointer else None

    def wants_pointer(self, operand: Operand) -> bool:
        """Whether a result is kept as a pointer."""
        if not isinstance(operand, Reg):
            return False
        return isinstance(self._types.get(operand.register), PointerType)

    # --- the carry, which is one for each thread

    def carry(self) -> Value:
        """What the last instruction with .cc has set."""
        return self.b.read(self._carry())

    def set_carry(self, value: Value) -> None:
        """Set it."""
        self.b.write(self._carry(), value)

    def _carry(self) -> Var:
        if self._flag is None:
            self._flag = self.b.variable("carry", b1)
        return self._flag

    # --- more

    def emit(self, op: Op) -> Value:
        """Append an op and return its result."""
        return self.b.value(op)

    def raise_(self, exception: str, message: str) -> None:
        """End the thread with an error, which the launch reports with the instruction's place."""
        self.b.module.errors.append(ErrorSite(exception, message, self.b.loc))
        with self.b.if_(self.b.const(True, b1)):  # the block goes on for the translation
            self.b.emit(control.Raise(len(self.b.module.errors) - 1))

    def parts(self, operand: Operand, count: int) -> tuple[Operand, ...]:
        """The operands in braces."""
        if not isinstance(operand, Vector) or len(operand.parts) != count:
            self.fail(f"{count} operands in braces are required")
        return operand.parts

    def both(self, operand: Operand) -> tuple[Operand, Operand]:
        """The results of ``d|p``; the second is dropped where there is one."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _width(dtype: DType, bits: int) -> DType:
    made = unsigned(bits)
    return made.signed if dtype.is_signed else made


def _shown(dtype: DType) -> str:
    return ".pred" if dtype is b1 else f".{dtype}"
