"""The state of emission of one kernel, and the registry of the op families' emitters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridlane.analysis.crossings import Crossings
from gridlane.codegen.chosen_units import Users, is_misread
from gridlane.codegen.emitters import Emitters
from gridlane.codegen.spirv import scalars
from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.matrix_types import matrix_type
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.codegen.spirv.pointer_provenance import Place, Places
from gridlane.core.dtypes import DType, u32, u64
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Const
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import FragmentType, PointerType, Space, Type
from gridlane.ir.values import Module, Value, Var

Emitter = Callable[["Emission", Op], None]

EMITTERS = Emitters(scalars.TABLE)
"""The emitters of this code generator; its other modules register them."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


@dataclass(slots=True)
class Exits:
    """The exits of a loop or scope.

    Attributes:
        op: the loop or scope.
        merge, next: labels of the end and of the step; a scope does not use ``next``.
        left: for a scope, the variable that is true while a thread leaves it through loops and
            scopes in it; 0 if none needs it.
        used: whether a branch targets ``merge``.
    """

    op: Op
    merge: int
    next: int
    left: int = 0
    used: bool = False


@dataclass(slots=True)
class Emission:
    """The state of the emission of one kernel."""

    module: Module
    options: KernelOptions
    features: frozenset[str]
    places: Places
    code: Code = field(default_factory=Code)
    names: dict[Value, int] = field(default_factory=dict[Value, int])
    slots: dict[Var, int] = field(default_factory=dict[Var, int])
    exits: list[Exits] = field(default_factory=list[Exits])
    crossings: Crossings = field(default_factory=Crossings)
    prints: list[Op] = field(default_factory=list[Op])
    arrays: dict[Place, int] = field(default_factory=dict[Place, int])
    """The variable that holds each place."""
    distances: dict[Value, int] = field(default_factory=dict[Value, int])
    """For pointers into places, the offset from the start in words, where it is known."""
    quads: dict[Value, int] = field(default_factory=dict[Value, int])
    """The same in units of 16 bytes, for places with groups of four."""
    inputs: dict[str, int] = field(default_factory=dict[str, int])
    """The launch's values that a thread has loaded, by name; see gridops.py."""
    users: Users = field(default_factory=dict[Value, list[Op]])
    """Of constants, where a compiler misreads some of these."""
    reports: bool = False
    asks_shared: bool = False
    """Whether it asks for the size of the dynamic shared memory."""

    def name(self, value: Value) -> int:
        """The id of a value."""
        return self.names[value]

    def set(self, value: Value, name: int) -> None:
        """Set the id of a value."""
        self.names[value] = name

    def has(self, feature: str) -> bool:
        """Whether the device has a feature."""
        return feature in self.features

    def require(self, feature: str, op: Op, what: str) -> None:
        """Refuse an op that needs a feature which the device lacks.

        Raises:
            TargetError: the device lacks the feature.
        """
        if feature not in self.features:
            raise TargetError(f"the vulkan device has no {feature}, which {what} needs", op.loc)

    def refuse(self, op: Op, reason: str) -> TargetError:
        """The error for an op that Vulkan does not support."""
        return TargetError(f"the vulkan target has no {op.name} {reason}", op.loc)

    def register_type(self, type_: Type) -> int:
        """The type of a value in registers."""
        if isinstance(type_, DType):
            return self.code.scalar(type_)
        if isinstance(type_, PointerType):
            return self.code.scalar(address_type(type_))
        if isinstance(type_, FragmentType):
            return matrix_type(self.code, type_)
        parts = [self.register_type(part) for part in part_types(type_)]
        return self.code.type(Opcode.TypeStruct, *parts)


def address_type(type_: PointerType) -> DType:
    """The type of a pointer: an address in global memory, else an offset in bytes from the start of
    the place that it points into."""
    return u64 if type_.space in (Space.GLOBAL, Space.GENERIC) else u32


@emits(Const)
def const(state: Emission, op: Const) -> None:
    """Emit a constant of the module. Compilers fold a select of 1 and -0 to one of 1 and 0, so -0
    is hidden from them."""
    type_ = op.type
    dtype = address_type(type_) if isinstance(type_, PointerType) else type_
    assert isinstance(dtype, DType)
    constant = state.code.const(op.value, dtype)
    if op.is_negative_zero:
        constant = state.code.hidden_minus_zero(constant, dtype)
    if is_misread(op, state.users):
        constant = state.code.hidden_unit(constant, dtype)
    state.set(op.results[0], constant)
