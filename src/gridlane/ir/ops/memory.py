"""Pointers, loads and stores, shared and local arrays, and the parts of structs and vectors."""

from __future__ import annotations

from gridlane.core.dtypes import DType, u64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.types import (
    ArrayType,
    PointerType,
    Space,
    StructType,
    Type,
    VectorType,
    pointer,
)
from gridlane.ir.values import Value, Var


def element_of(op: Op, value: Value) -> Type:
    """The element of a pointer operand; VerifyError when it is not a pointer."""
    op.require(isinstance(value.type, PointerType), f"{value.type} is not a pointer")
    assert isinstance(value.type, PointerType)
    return value.type.element


def is_pointer(type_: Type) -> bool:
    """Whether an attribute annotated as a pointer type is one: parsed text may hold another."""
    return isinstance(type_, PointerType)


def space_of(value: Value) -> Space:
    """The address space of a pointer operand."""
    assert isinstance(value.type, PointerType)
    return value.type.space


def pointer_beside(value: Value, element: Type) -> PointerType:
    """The type of a pointer to another element in the memory of a pointer."""
    assert isinstance(value.type, PointerType)
    return pointer(element, value.type.space, value.type.buffer)


LOAD_POLICIES = "ca", "cg", "cs", "lu", "cv"
STORE_POLICIES = "wb", "cg", "cs", "wt"


@operation("load")
class Load(Op):
    """The value at an address aligned to its type. ``volatile`` keeps the access in place.
    ``cache`` is PTX's name of a cache policy, a hint: one of LOAD_POLICIES, or empty."""

    pointer: Value
    volatile: bool = False
    cache: str = ""

    def result_types(self) -> tuple[Type, ...]:
        return (element_of(self, self.pointer),)

    def check(self, scope: Scope) -> None:
        is_array = isinstance(element_of(self, self.pointer), ArrayType)
        self.require(not is_array, "an array is not a value")
        self.require(self.cache in ("", *LOAD_POLICIES), f"no load has the policy {self.cache!r}")


@operation("store")
class Store(Op):
    """Write a value at an address aligned to its type. Where several threads write one address
    without order, any of them wins. ``cache`` is one of STORE_POLICIES, a hint, or empty."""

    pointer: Value
    value: Value
    volatile: bool = False
    cache: str = ""

    def check(self, scope: Scope) -> None:
        element = element_of(self, self.pointer)
        self.require(element == self.value.type, f"{self.value.type} stored to {self.pointer.type}")
        space = space_of(self.pointer)
        self.require(space is not Space.CONSTANT, "constant memory is not written")
        self.require(self.cache in ("", *STORE_POLICIES), f"no store has the policy {self.cache!r}")


@operation("offset")
class Offset(Op):
    """The address ``index`` elements further; the index is sign-extended or zero-extended by its
    own type. ``checked``: the element is in its array, as code in front of it tests."""

    pointer: Value
    index: Value
    checked: bool = False
    pure = True
    produces = ("pointer",)

    def check(self, scope: Scope) -> None:
        element_of(self, self.pointer)
        index = self.index.type
        self.require(isinstance(index, DType) and index.is_integer, f"{index} is no index")


@operation("field_pointer")
class FieldPointer(Op):
    """The address of field ``index`` of a struct, or of the first element of an array."""

    pointer: Value
    index: int
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        whole = element_of(self, self.pointer)
        if isinstance(whole, ArrayType):
            return (pointer_beside(self.pointer, whole.element),)
        self.require(isinstance(whole, StructType), f"{whole} has no fields")
        assert isinstance(whole, StructType)
        self.require(0 <= self.index < len(whole.types), f"no field {self.index} in {whole}")
        return (pointer_beside(self.pointer, whole.types[self.index]),)


@operation("recast")
class Recast(Op):
    """The same address as a pointer to another element, in the same or the generic space, and in
    the same buffer."""

    pointer: Value
    type: PointerType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        element_of(self, self.pointer)
        self.require(is_pointer(self.type), f"{self.type} is not a pointer")
        space = space_of(self.pointer)
        kept = self.type.space in (space, Space.GENERIC)
        self.require(kept, f"{self.pointer.type} to {self.type} changes the address space")
        beside = self.type.buffer == pointer_beside(self.pointer, self.type.element).buffer
        self.require(beside, f"{self.pointer.type} to {self.type} changes the buffer")


@operation("address")
class Address(Op):
    """The address as a u64."""

    pointer: Value
    pure = True
    produces = (u64,)

    def check(self, scope: Scope) -> None:
        element_of(self, self.pointer)


@operation("from_address")
class FromAddress(Op):
    """A u64 as a pointer."""

    value: Value
    type: PointerType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        self.require(self.value.type is u64, "an address is a u64")
        self.require(is_pointer(self.type), f"{self.type} is not a pointer")


@operation("global")
class GlobalAddress(Op):
    """The address of the first element of the module's global ``symbol``."""

    symbol: str
    type: PointerType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        known = scope.module.globals.get(self.symbol)
        self.require(known is not None, f"no global @{self.symbol}")
        assert known is not None
        expected = pointer(known.element, known.space)
        self.require(self.type == expected, f"@{self.symbol} is a {expected}")


@operation("dynamic_shared")
class DynamicShared(Op):
    """The start of the shared memory whose size is given at launch, after the static arrays. All
    such ops of a kernel have the same start, at a multiple of the largest ``align``."""

    type: PointerType
    align: int = 16
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        shared = is_pointer(self.type) and self.type.space is Space.SHARED
        self.require(shared, f"{self.type} is not a shared pointer")
        self.require(_is_power_of_two(self.align), f"an alignment of {self.align}")


@operation("local_array")
class LocalArray(Op):
    """The address of ``count`` elements that this thread owns until the function returns. Their
    initial contents are undefined. Each such op is one array, however often it runs. Its address
    is a multiple of ``align``, or of the element's alignment where that is 0."""

    element: Type
    count: int
    align: int = 0
    pure = True

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.element.size * self.count

    @property
    def pitch(self) -> int:
        """The least distance in bytes of one thread's array from the next's."""
        return -(-self.size // self.align) * self.align if self.align else self.size

    def result_types(self) -> tuple[Type, ...]:
        return (pointer(self.element, Space.LOCAL),)

    def check(self, scope: Scope) -> None:
        self.require(self.count > 0, "an array has at least one element")
        known = not self.align or _is_power_of_two(self.align)
        self.require(known, f"an alignment of {self.align}")


def _is_power_of_two(number: int) -> bool:
    return number > 0 and not number & (number - 1)


@operation("read")
class ReadVar(Op):
    """The current value of a variable."""

    var: Var
    produces = ("var",)

    def check(self, scope: Scope) -> None:
        self.require(self.var in scope.function.variables, f"{self.var} is not declared here")


@operation("write")
class WriteVar(Op):
    """Set a variable."""

    var: Var
    value: Value

    def check(self, scope: Scope) -> None:
        self.require(self.var in scope.function.variables, f"{self.var} is not declared here")
        same = self.var.type == self.value.type
        self.require(same, f"{self.value.type} written to {self.var}")


@operation("pack")
class Pack(Op):
    """A struct or vector from its parts."""

    parts: tuple[Value, ...]
    type: StructType | VectorType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        want = part_types(self.type)
        got = tuple(part.type for part in self.parts)
        self.require(want == got, f"{self.type} packed from {got}")


@operation("part")
class Part(Op):
    """Field or lane ``index`` of a struct or vector value."""

    whole: Value
    index: int
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        types = part_types(self.whole.type)
        self.require(0 <= self.index < len(types), f"no part {self.index} in {self.whole.type}")
        return (types[self.index],)


def part_types(type_: Type) -> tuple[Type, ...]:
    """Types of the parts of a struct or vector; () for anything else."""
    if isinstance(type_, StructType):
        return type_.types
    if isinstance(type_, VectorType):
        return (type_.element,) * type_.count
    return ()
