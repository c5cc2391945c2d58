"""The state of emission of one kernel, and the registry of the op families' emitters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.overlay import Overlay
from gridlane.codegen.llvm.text import Body, literal
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Const
from gridlane.ir.ops.grid import Axis, GridQuery
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Module, Value, Var

Emitter = Callable[["Emission", Op], None]

EMITTERS = Emitters(scalars.TABLE)
"""The emitters for every GPU; the modules beside this one register them."""
emits = EMITTERS.emits


@frozen
class Targets:
    """Jump targets: the end of the innermost loop, its step, the end of the innermost scope."""

    end: str = ""
    step: str = ""
    scope: str = ""


class LinedBody(Body):
    """A body that adds a source line to its instructions when ``line`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.mark = ""

    def op(self, text: str, hint: str = "v") -> str:
        return super().op(text + self.mark, hint)

    def do(self, text: str) -> None:
        super().do(text + self.mark)


@dataclass(slots=True)
class Emission:
    """The state of the emission of one kernel."""

    module: Module
    options: KernelOptions
    overlay: Overlay
    body: LinedBody = field(default_factory=LinedBody)
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    slots: dict[Var, str] = field(default_factory=dict[Var, str])
    targets: Targets = field(default_factory=Targets)
    ends: dict[int, str] = field(default_factory=dict[int, str])
    """The ends of the scopes that have a label."""
    prints: list[Op] = field(default_factory=list[Op])
    globals: dict[str, str] = field(default_factory=dict[str, str])
    """Definitions of the module globals that ops need, by name."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """Definitions of helper functions, by name."""
    library: set[str] = field(default_factory=set[str])
    """The called functions of the target's own library."""
    metadata: list[str] = field(default_factory=list[str])
    lines: dict[object, int] = field(default_factory=dict[object, int])
    """Metadata numbers of files, scopes and locations; see lines.py."""
    cooperative: bool = False
    unaligned: bool | None = None
    """Whether threads of a warp may come to barriers of the grid without others; None: unknown."""
    uses_dynamic_shared: bool = False
    dynamic_align: int = 16
    shared_places: dict[str, int] = field(default_factory=dict[str, int])
    """Where static shared arrays are in one that has them all; see ``memory.place_shared``."""
    shared_bytes: int = 0
    """Of static shared arrays."""
    version: int = 0
    """The lowest version of the target's language that has the code; 84 is PTX 8.4."""

    @property
    def leaving(self) -> str:
        """The instruction that ends the kernel; an exported function returns the status 0."""
        return "ret void" if self.module.export is None else "ret i32 0"

    def node(self, text: str) -> int:
        """Add a metadata node; its number. ``$self`` in the text is its own number."""
        number = len(self.metadata)
        self.metadata.append(text.replace("$self", str(number)))
        return number

    def name(self, value: Value) -> str:
        """The register or constant of a value."""
        return self.names[value]

    def register_name(self, type_: Type) -> str:
        """LLVM's type of a value in registers."""
        return self.overlay.register_name(type_)

    def pointer_name(self, space: Space) -> str:
        """LLVM's type of a pointer into an address space."""
        return self.overlay.pointer_name(space)

    def typed(self, value: Value) -> str:
        """A value with its type, as an argument is written."""
        return f"{self.register_name(value.type)} {self.names[value]}"

    def set(self, value: Value, name: str) -> None:
        """Set the register or constant of a value."""
        self.names[value] = name

    def emitter(self, cls: type[Op]) -> Emitter | None:
        """The emitter of an op class: the target's own, else the general one."""
        return self.overlay.emitters.table.get(cls) or EMITTERS.table.get(cls)

    def index(self, query: type[GridQuery], axis: Axis) -> str:
        """An index of the thread or block, or their number."""
        return self.overlay.index(self.body, query, axis)

    def refuse(self, op: Op, reason: str, loc: Loc | None = None) -> TargetError:
        """The error for an op that the hardware does not support."""
        return TargetError(f"{self.overlay.device} have no {op.name}: {reason}", loc or op.loc)


@emits(Const)
def const(state: Emission, op: Const) -> None:
    """Hold a constant as text, without an instruction."""
    state.set(op.results[0], constant_of(op.value, op.type))


def constant_of(value: bool | int | float, type_: Type) -> str:
    """A scalar's text."""
    return literal(value, type_)
