"""The state of a form's translation: the builder, and the values of operands.

A register that is written once, where all its uses follow, is a value of the IR; any other is a
variable. A value has the type of its defining instruction, and is converted to the type of its use;
an address stays a pointer if pointers.py finds its array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gridlane.core.dtypes import DType, b1, u32, u64
from gridlane.frontends.ptx.addresses import (
    DYNAMIC_BIT,
    RANK_MASK,
    RANK_SHIFT,
    SPACE_OF,
    TAG_SHIFT,
    Place,
    Split,
)
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.instructions import Instruction
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
from gridlane.frontends.ptx.scalars import number, same_bits, shown, width
from gridlane.frontends.ptx.specials import special
from gridlane.frontends.ptx.text import Text
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.variables import Variables
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.ops.arith import Eq, Ge, Ne, Shl, Shr
from gridlane.ir.ops.clusters import ClusterRank, peer
from gridlane.ir.ops.shared_matrix import OFFSET_BITS
from gridlane.ir.types import PointerType, Space, Type, VectorType, pointer
from gridlane.ir.values import Value, Var

BYTES = unsigned(8)


class Values:
    """The values of a function's operands.

    Attributes:
        b: the builder.
        instruction: the one that is translated.
        parameters: the parameters of the function, and of its calls.
        place: the memory that numbers are addresses of, in one branch of an access; see Split.
        of_cluster: whether the instruction names the shared memory of all blocks of the cluster.
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
        self._since: Var | None = None
        self.normal: set[Value] = set()
        """Floats that are no subnormal numbers."""
        self.place: Place | None = None
        self.of_cluster = False

    def fail(self, message: str) -> NoReturn:
        """Raise PtxError at the instruction.

        Raises:
            PtxError: always.
        """
        instruction = self.instruction
        self.text.fail(
            f"{instruction.spelling}: {message}", instruction.at, len(instruction.spelling)
        )

    def begin(self, unwritten: Sequence[Register]) -> None:
        """Note at the function's entry that registers have no value yet. An address begins as 0,
        where no memory is."""
        for register in unwritten:
            type_ = self._type(register)
            if isinstance(type_, DType):
                value = self.b.undefined(type_)
                value.name = self._name(register)
                self.b.write(self._var(register), value)

    # --- reading

    def read(self, operand: Operand, dtype: DType, narrows: bool = False) -> Value:
        """The value of a source operand as a type.

        Args:
            narrows: the low bits of a wider register are read, as by sources of st and cvt.
        """
        if isinstance(operand, Number):
            return number(self, operand, dtype)
        if isinstance(operand, Reg):
            value = self.of(operand.register)
            if operand.negated:
                value = self.b.not_(value)
        elif isinstance(operand, Special):
            value = special(self, self.variables, operand.name)
        elif isinstance(operand, Symbol):
            value = self.variables.value(self, operand, dtype.bits)
        else:
            self.fail("an operand is a register or a constant here")
        return self.as_type(value, dtype, narrows)

    def of(self, register: Register) -> Value:
        """The value of a register, as a scalar or a pointer."""
        if register in self._mutable:
            return self.b.read(self._var(register))
        return self._values[register]

    def as_type(self, value: Value, dtype: DType, narrows: bool = False) -> Value:
        """The bits of a value as a type; an address as the integer."""
        b, have = self.b, value.type
        if have is dtype:
            return value
        if isinstance(have, PointerType):
            value = self._address_of(value)
            have = value.type
        assert isinstance(have, DType), have
        if have is b1 or dtype is b1:
            if have is dtype:
                return value
            self.fail(f"an operand is .{'pred' if have is b1 else have}, not {shown(dtype)}")
        if have.bits > dtype.bits and narrows:
            if have.is_float and dtype.is_float:
                self.fail(f"an operand is {shown(have)}, not {shown(dtype)}")
            value = b.cast(self.bits(value), unsigned(dtype.bits))
        elif have.bits != dtype.bits:
            self.fail(f"an operand has {have.bits} bits, not the {dtype.bits} of {shown(dtype)}")
        return same_bits(self.b, value, dtype)

    def bits(self, value: Value) -> Value:
        """A scalar as an unsigned integer of its width."""
        assert isinstance(value.type, DType)
        return same_bits(self.b, value, unsigned(value.type.bits))

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
                self.fail(f"{register.name} is {shown(want)}, and the result is {shown(have)}")
            if have.bits != want.bits:
                self.fail(f"{register.name} has {want.bits} bits, the result has {have.bits}")
        type_ = self._type(register)
        is_pointer = isinstance(type_, PointerType)
        if register not in self._mutable:
            self._values[register] = self.as_pointer(value) if is_pointer else value
            return
        if is_pointer:
            value = self.b.recast(self.as_pointer(value), type_)
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
        if value.type.is_float and operand.register.type.is_float:
            have, name = operand.register.type, operand.register.name
            self.fail(f"{name} is {shown(have)}, and the result is {shown(value.type)}")
        if value.type.is_float:
            return self.b.cast(self.bits(value), unsigned(wide))
        return self.b.cast(value, width(value.type, wide))

    def _var(self, register: Register) -> Var:
        var = self._vars.get(register)
        if var is None:
            name = self._name(register)
            var = self._vars[register] = self.b.variable(name, self._type(register))
        return var

    @staticmethod
    def _name(register: Register) -> str:
        return register.name.lstrip("%").replace("$", "_")

    def _type(self, register: Register) -> Type:
        return self._types.get(register, register.type)

    # --- addresses

    def as_pointer(self, value: Value) -> Value:
        """A value as a pointer to bytes; a number is an address of global memory."""
        if isinstance(value.type, PointerType):
            return value
        assert isinstance(value.type, DType)
        address = self.b.cast(self.bits(value), u64)
        return self.b.value(memory.FromAddress(address, pointer(BYTES, Space.GLOBAL)))

    def _address_of(self, pointer_: Value) -> Value:
        """A pointer as a number. That of other than global memory is one with a tag from the
        beginning: the translation is made anew with such numbers."""
        assert isinstance(pointer_.type, PointerType)
        space = pointer_.type.space
        if space is Space.GLOBAL:
            return self.b.value(memory.Address(pointer_))
        if space is Space.CONSTANT:
            self.fail(
                "the address of a variable of its module is handed on or computed with, where it "
                "must be a number, which a function that a Python kernel calls does not have"
            )
        if space in self.variables.whole.numbering.spaces:  # else the address of a variable here
            name = space.name.lower()
            self.fail(
                f"the address of {name} memory of the caller is handed on or computed with, where "
                "it must be a number: pass an array of global memory, or have the compiler inline "
                "the functions that it is handed to"
            )
        self.numbers(space)
        return self.b.const(0, u64)

    def address_of_variable(self, variable: Declared) -> Value:
        """The address of a variable, as a pointer or as a number."""
        return self.variables.value(self, Symbol(variable.name, variable))

    def numbers(self, space: Space) -> None:
        """Note that addresses of a space are numbers."""
        self.variables.whole.found.spaces.add(space)

    def target(self, operand: Operand, element: DType | VectorType, space: Space) -> Value:
        """The address of an operand that is written.

        Raises:
            Split: as ``pointer``.
        """
        if _is_constant(operand):
            self.fail("constant memory is not written")
        address = self.pointer(operand, element, space)
        if _space(address) is Space.CONSTANT:
            self.fail(
                "a variable of its module is written, which a function that a Python kernel calls "
                "does not have: hand it an array, or launch a kernel of the module by "
                "cuda.RawModule"
            )
        return address

    def pointer(self, operand: Operand, element: DType | VectorType, space: Space) -> Value:
        """The address of an operand as a pointer to an element.

        Args:
            space: that the instruction names, or GENERIC.

        Raises:
            Split: the address is a number, and may be of several memories.
        """
        if not isinstance(operand, Address):
            self.fail("an address stands in brackets")
        base = operand.base
        if base is None:
            number = self.b.const(operand.offset & (1 << 64) - 1, u64)
            value = self.at(number, self._candidates(space)[-1])
            return self.b.recast(value, pointer(element, _space(value)))
        if isinstance(base, Symbol):
            value = self.offset(self.variables.pointer(self, base), operand.offset)
        else:
            value = self._in(operand, base, space)
        have = _space(value)
        is_number = isinstance(base, Register) and not isinstance(self.of(base).type, PointerType)
        is_named = have is Space.CONSTANT and space is Space.GLOBAL
        if not (is_number or is_named or space in (have, Space.GENERIC)):  # a number has a place
            self.fail(f"the address is of {have.name.lower()} memory, not of {space.name.lower()}")
        return self.b.recast(value, pointer(element, have))

    def _in(self, operand: Address, register: Register, space: Space) -> Value:
        """The address in a register with its offset, as a pointer to bytes."""
        value = self.of(register)
        if isinstance(value.type, PointerType):
            return self.offset(value, operand.offset)
        candidates = self._candidates(space)
        if self.place not in candidates and len(candidates) > 1:
            raise Split(operand, candidates)
        place = candidates[0] if self.place not in candidates else self.place
        return self.at(self.number_of(operand), place)

    def local(self, value: Value) -> Value:
        """An address of local memory that a function of CUDA gets, as a pointer to bytes."""
        if isinstance(value.type, PointerType):
            return value
        self.numbers(Space.LOCAL)
        if Space.LOCAL not in self.variables.whole.numbering.spaces:
            return self.as_pointer(value)  # the next attempt knows the place
        return self.at(value, Place.LOCAL)

    def number_of(self, operand: Operand) -> Value:
        """The address in a register, or in brackets, as a number."""
        if isinstance(operand, Reg):
            return self.bits(self.of(operand.register))
        assert isinstance(operand, Address) and isinstance(operand.base, Register)
        number = self.bits(self.of(operand.base))
        assert isinstance(number.type, DType)
        if not operand.offset:
            return number
        return self.b.add(number, self.b.const(operand.offset & number.type.max, number.type))

    def places(self, space: Space) -> list[Place]:
        """Where the variables of a space whose addresses are numbers may be."""
        numbering = self.variables.whole.numbering
        return [
            place
            for place in numbering.candidates(space, self.of_cluster)
            if place is Place.GLOBAL or SPACE_OF[place] in numbering.spaces
        ]

    def _candidates(self, space: Space) -> list[Place]:
        """Where the memory at a number may be."""
        if space in (Space.SHARED, Space.LOCAL):
            self.numbers(space)
            if space not in self.variables.whole.numbering.spaces:
                return [Place.GLOBAL]  # the next attempt knows the places
        known = self.places(space)
        if not known:  # code behind isspacep, or a mistake: no address is of that memory
            self.raise_(
                "RuntimeError", f"the kernel has no variable of {space.name.lower()} memory"
            )
            return [Place.GLOBAL]
        return known

    def at(self, number: Value, place: Place) -> Value:
        """A number as a pointer to bytes of a memory."""
        assert isinstance(number.type, DType)
        if place is Place.GLOBAL:
            return self.as_pointer(number)
        if place is Place.PEER:
            return peer(self.b, *self._of_peer(number))
        offset = self.b.cast(number, u32)
        if place is Place.DYNAMIC:
            start = DYNAMIC_BIT + self.variables.whole.numbering.first_dynamic
            offset = self.b.sub(offset, self.b.const(start, u32))
        return self.b.offset(self.variables.segment(self, place), offset)

    def shared(self, operand: Operand, element: DType | VectorType) -> Value:
        """The address of an operand in shared memory, beside another operand that is an address:
        a number is not split, as the other one may be."""
        base = operand.base if isinstance(operand, Address) else None
        if not isinstance(base, Register) or isinstance(self.of(base).type, PointerType):
            return self.target(operand, element, Space.SHARED)
        number = self.b.cast(self.number_of(operand), u32)
        dynamic = self.b.and_(number, self.b.const(DYNAMIC_BIT, u32))
        start = self._shared_at(number, self.b.binary(Ne, dynamic, self.b.const(0, u32)))
        return self.b.recast(start, pointer(element, _space(start)))

    # --- the shared memory of a cluster

    def peers(self, operand: Operand, element: DType) -> tuple[Value, Value | None]:
        """An address in the shared memory of a cluster: the place in this block's, and the rank of
        the block, a u32; None where it is this one."""
        base = operand.base if isinstance(operand, Address) else None
        is_number = isinstance(base, Register) and not isinstance(self.of(base).type, PointerType)
        if not (self.of_cluster and is_number and Place.PEER in self.places(Space.SHARED)):
            return self.shared(operand, element), None
        number = self.number_of(operand)
        start, _ = self._of_peer(number)
        return self.b.recast(start, pointer(element, _space(start))), self.rank_of(number)

    def rank_of(self, number: Value) -> Value:
        """The rank of the block that an address of shared memory is of, a u32."""
        own, field = self.b.cast(self.b.value(ClusterRank()), u32), self._rank_field(number)
        other = self.b.sub(field, self.b.const(1, u32))
        return self.b.select(self.b.eq(field, self.b.const(0, u32)), own, other)

    def with_rank(self, number: Value, rank: Value) -> Value:
        """An address of shared memory, in the block of a rank."""
        kind = number.type
        assert isinstance(kind, DType)
        own = self.b.and_(number, self.b.const(kind.max ^ RANK_MASK << RANK_SHIFT, kind))
        field = self.b.add(self.b.cast(rank, kind), self.b.const(1, kind))
        self.variables.whole.found.places.add(Place.PEER)
        return self.b.or_(own, self.b.binary(Shl, field, self.b.const(RANK_SHIFT, u32)))

    def _rank_field(self, number: Value) -> Value:
        moved = self.b.binary(Shr, self.b.cast(number, u32), self.b.const(RANK_SHIFT, u32))
        return self.b.and_(moved, self.b.const(RANK_MASK, u32))

    def _of_peer(self, number: Value) -> tuple[Value, Value]:
        """The place in this block's memory that an address in a peer's has there, and the rank."""
        b, one = self.b, self.b.const(1, u32)
        low = b.and_(b.cast(number, u32), b.const((1 << RANK_SHIFT) - 1, u32))
        dynamic = b.binary(Ne, b.and_(low, b.const(DYNAMIC_BIT, u32)), b.const(0, u32))
        return self._shared_at(low, dynamic), b.sub(self._rank_field(number), one)

    # --- memory by the bits of an address

    def aligned(self) -> None:
        """Note that places in shared memory depend on bits of addresses: it begins where the
        patterns of swizzles do."""
        self.variables.whole.found.described = True

    def described(self, descriptor: Value) -> Value:
        """The start of a matrix in shared memory, by the low bits of a descriptor of wgmma."""
        b, whole = self.b, self.variables.whole
        self.aligned()
        unit = b.and_(b.cast(descriptor, u32), b.const((1 << OFFSET_BITS) - 1, u32))
        low = b.binary(Shl, unit, b.const(4, u32))
        first = whole.numbering.first_dynamic
        dynamic = b.binary(Ge, low, b.const(first, u32))
        number = b.select(dynamic, b.or_(low, b.const(DYNAMIC_BIT, u32)), low)
        return self._shared_at(number, dynamic)

    def _shared_at(self, number: Value, dynamic: Value) -> Value:
        """A number as a pointer to bytes of shared memory, which may be dynamic."""
        places = [each for each in self._candidates(Space.SHARED) if each is not Place.PEER]
        pointers = [self.at(number, place) for place in places]
        return pointers[0] if len(pointers) < 2 else self.b.select(dynamic, *pointers[::-1])

    def is_of(self, operand: Operand, place: Place) -> Value:
        """Whether an address that is a number is of a memory other than global memory."""
        return self.is_at(self.number_of(operand), place)

    def is_at(self, number: Value, place: Place) -> Value:
        """Whether a number is an address of a memory other than global memory."""
        assert isinstance(number.type, DType)
        dynamic = self.b.const(DYNAMIC_BIT, u32)
        low = self.b.and_(self.b.cast(number, u32), dynamic)
        is_dynamic = self.b.binary(Ne, low, self.b.const(0, u32))
        places, is_own = self.variables.whole.numbering.places, self.b.const(True, b1)
        if Place.PEER in places:
            is_own = self.b.eq(self._rank_field(number), self.b.const(0, u32))
        if number.type.bits == 32:  # an address of shared memory; the last place is not asked for
            is_here = is_dynamic if place is Place.DYNAMIC else self.b.not_(is_dynamic)
            return self.b.not_(is_own) if place is Place.PEER else self.b.and_(is_here, is_own)
        tag = self.b.binary(Shr, number, self.b.const(TAG_SHIFT, u32))
        start = place.start >> TAG_SHIFT
        is_tagged = self.b.binary(Eq, tag, self.b.const(start, u64))
        if place is Place.PEER:
            return self.b.and_(is_tagged, self.b.not_(is_own))
        if SPACE_OF[place] is Space.SHARED and Place.PEER in places:
            is_tagged = self.b.and_(is_tagged, is_own)
        if place is Place.DYNAMIC:
            return self.b.and_(is_tagged, is_dynamic)
        if place is Place.SHARED and Place.DYNAMIC in places:
            return self.b.and_(is_tagged, self.b.not_(is_dynamic))
        return is_tagged

    def change(self, registers: Sequence[Register]) -> None:
        """Make registers variables, which several branches write."""
        self._mutable.update(registers)

    def offset(self, value: Value, count: int) -> Value:
        """A pointer some bytes further."""
        if not count:
            return value
        return self.b.offset(value, self.b.const(count, unsigned(64).signed))

    def pointer_in(self, operand: Operand) -> Value | None:
        """The value of a register that holds an address; None of other operands."""
        if not isinstance(operand, Reg) or operand.register.type is b1:
            return None
        is_pointer = isinstance(self._types.get(operand.register), PointerType)
        return self.of(operand.register) if is_pointer else None

    def wants_pointer(self, operand: Operand, bits: int) -> bool:
        """Whether a result of so many bits is kept as a pointer."""
        if not isinstance(operand, Reg) or operand.register.type.bits != bits:
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

    def since(self) -> Var:
        """The time since when the thread has polled without success, in nanoseconds; 0 is now."""
        if self._since is None:
            self._since = self.b.variable("since", u64)
        return self._since

    # --- more

    def emit(self, op: Op) -> Value:
        """Append an op and return its result."""
        return self.b.value(op)

    def raise_(self, exception: str, message: str) -> None:
        """End the thread with an error, which the launch reports with the instruction's place."""
        # The block goes on for the translation.
        self.b.raise_if(self.b.const(True, b1), exception, message)

    def parts(self, operand: Operand, count: int) -> tuple[Operand, ...]:
        """The operands in braces."""
        if not isinstance(operand, Vector) or len(operand.parts) != count:
            self.fail(f"{count} operands in braces are required")
        return operand.parts

    def both(self, operand: Operand) -> tuple[Operand, Operand]:
        """The results of ``d|p``; the second is dropped where there is one."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _is_constant(operand: Operand) -> bool:
    """Whether an address is that of a variable of constant memory."""
    base = operand.base if isinstance(operand, Address) else None
    variable = base.variable if isinstance(base, Symbol) else None
    return variable is not None and variable.space == "const"


def _space(value: Value) -> Space:
    assert isinstance(value.type, PointerType)
    return value.type.space
