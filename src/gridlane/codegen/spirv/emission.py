"""The state of emission of one kernel, and how the op families register theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.spirv import scalars
from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.codegen.spirv.places import Place, Places
from gridlane.core.dtypes import DType, u32, u64
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Const
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import PointerType, Space, Type
from gridlane.ir.values import Module, Value, Var

Emitter = Callable[["Emission", Op], None]

EMITTERS = Emitters(scalars.TABLE)
"""What this code generator emits; its other modules fill it."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


@dataclass(slots=True)
class Exits:
    """Where control goes from inside a loop or scope.

    Attributes:
        merge, next: labels behind the loop and of its step; of a scope, ``next`` is not used.
        is_scope: it is a scope, which ``leave`` goes behind.
        left: for a scope, the variable that says that the thread is on its way behind it through
            loops; 0 while no loop needs it.
        used: something goes to ``merge``.
        leaves: a ``leave`` inside this loop is on its way to the scope around it.
    """

    merge: int
    next: int
    is_scope: bool = False
    left: int = 0
    used: bool = False
    leaves: bool = False


@dataclass(slots=True)
class Emission:
    """What the emission of an op needs."""

    module: Module
    options: KernelOptions
    features: frozenset[str]
    places: Places
    code: Code = field(default_factory=Code)
    names: dict[Value, int] = field(default_factory=dict[Value, int])
    slots: dict[Var, int] = field(default_factory=dict[Var, int])
    exits: list[Exits] = field(default_factory=list[Exits])
    prints: list[Op] = field(default_factory=list[Op])
    arrays: dict[Place, int] = field(default_factory=dict[Place, int])
    """The variable that holds each place."""
    distances: dict[Value, int] = field(default_factory=dict[Value, int])
    """Of pointers into places, the distance from the start in words, where that is known."""
    inputs: dict[str, int] = field(default_factory=dict[str, int])
    """What a thread knows of its launch, by name; see gridops.py."""
    reports: bool = False

    def name(self, value: Value) -> int:
        """The id of a value."""
        return self.names[value]

    def set(self, value: Value, name: int) -> None:
        """Say what the id of a value is."""
        self.names[value] = name

    def has(self, feature: str) -> bool:
        """Whether the device has a feature."""
        return feature in self.features

    def require(self, feature: str, op: Op, what: str) -> None:
        """Refuse what the device lacks.

        Raises:
            TargetError: the feature is not there.
        """
        if feature not in self.features:
            raise TargetError(f"the vulkan device has no {feature}, which {what} needs", op.loc)

    def refuse(self, op: Op, reason: str) -> TargetError:
        """The error for what Vulkan has not."""
        return TargetError(f"the vulkan target has no {op.name} {reason}", op.loc)

    def register_type(self, type_: Type) -> int:
        """A type as a value has it."""
        if isinstance(type_, DType):
            return self.code.scalar(type_)
        if isinstance(type_, PointerType):
            return self.code.scalar(address_type(type_))
        parts = [self.register_type(part) for part in part_types(type_)]
        return self.code.type(Opcode.TypeStruct, *parts)


def address_type(type_: PointerType) -> DType:
    """What a pointer is held as: an address in global memory, else a distance in bytes from the
    start of the place that it points into."""
    return u64 if type_.space in (Space.GLOBAL, Space.GENERIC) else u32


@emits(Const)
def const(state: Emission, op: Const) -> None:
    """A constant of the module. Compilers take a choice of 1 and -0 for one of 1 and 0, so that
    zero is hidden from them."""
    type_ = op.type
    dtype = address_type(type_) if isinstance(type_, PointerType) else type_
    assert isinstance(dtype, DType)
    made = state.code.const(op.value, dtype)
    if op.is_negative_zero:
        made = state.code.hidden_minus_zero(made, dtype)
    state.set(op.results[0], made)
