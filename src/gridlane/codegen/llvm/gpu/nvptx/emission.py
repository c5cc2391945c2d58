"""The state of emission of one kernel, and how the op families register theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.nvptx.names import register_name
from gridlane.codegen.llvm.text import Body, literal
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Const
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value, Var

Emitter = Callable[["Emission", Op], None]

EMITTERS = Emitters(scalars.TABLE)
"""What this code generator emits; its other modules fill it."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


@dataclass(frozen=True, slots=True)
class Targets:
    """Where control goes: behind the innermost loop, to its step, behind the innermost scope."""

    end: str = ""
    step: str = ""
    scope: str = ""


class LinedBody(Body):
    """A body whose instructions carry the source line that they are from, when ``line`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.mark = ""

    def op(self, text: str, hint: str = "v") -> str:
        return super().op(text + self.mark, hint)

    def do(self, text: str) -> None:
        super().do(text + self.mark)


@dataclass(slots=True)
class Emission:
    """What the emission of an op needs."""

    module: Module
    options: KernelOptions
    capability: int
    """Compute capability as one number: 90 for 9.0."""
    body: LinedBody = field(default_factory=LinedBody)
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    slots: dict[Var, str] = field(default_factory=dict[Var, str])
    targets: Targets = Targets()
    prints: list[Op] = field(default_factory=list[Op])
    globals: dict[str, str] = field(default_factory=dict[str, str])
    """Definitions of module globals that ops asked for, by name."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """Definitions of helper functions, by name."""
    library: set[str] = field(default_factory=set[str])
    """libdevice functions that are called."""
    metadata: list[str] = field(default_factory=list[str])
    lines: dict[object, int] = field(default_factory=dict[object, int])
    """Metadata numbers of files, scopes and places; see lines.py."""
    cooperative: bool = False
    uses_dynamic_shared: bool = False

    def node(self, text: str) -> int:
        """The number of a new metadata node; ``$self`` in the text is its own number."""
        number = len(self.metadata)
        self.metadata.append(text.replace("$self", str(number)))
        return number

    def name(self, value: Value) -> str:
        """The register or constant of a value."""
        return self.names[value]

    def typed(self, value: Value) -> str:
        """A value behind its type, as arguments have it."""
        return f"{register_name(value.type)} {self.names[value]}"

    def set(self, value: Value, name: str) -> None:
        """Say where a value is."""
        self.names[value] = name

    def require(self, capability: int, op: Op, what: str) -> None:
        """Refuse an op on devices before a compute capability.

        Raises:
            TargetError: the target is older.
        """
        if self.capability < capability:
            major, minor = divmod(capability, 10)
            raise TargetError(
                f"{what} needs compute capability {major}.{minor} or later; this is compiled for "
                f"{self.capability // 10}.{self.capability % 10}",
                op.loc,
            )

    def refuse(self, op: Op, reason: str, loc: Loc | None = None) -> TargetError:
        """The error for what the hardware has not."""
        return TargetError(f"NVIDIA devices have no {op.name}: {reason}", loc or op.loc)


@emits(Const)
def const(state: Emission, op: Const) -> None:
    """A constant needs no instruction."""
    state.set(op.results[0], constant_of(op.value, op.type))


def constant_of(value: bool | int | float, type_: Type) -> str:
    """A scalar's text."""
    return literal(value, type_)
