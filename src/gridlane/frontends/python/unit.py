"""The state that the functions of one module share during translation."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gridlane.core.errors import ConstantError, UnsupportedError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.frontends.python.doubles import Cause
from gridlane.frontends.python.operands import ArrayExpression, ArrayView, RecordView
from gridlane.frontends.python.scope import Surroundings
from gridlane.frontends.python.specs import Spec
from gridlane.ir.ops import control, memory
from gridlane.ir.types import Space, Type
from gridlane.ir.values import ErrorSite, Function, Global, Module, Region, Value


class LiteralNeeded(ConstantError):
    """A compile-time constant was required where parameter ``position`` was found."""

    def __init__(self, message: str, loc: Loc, function: types.FunctionType, position: int) -> None:
        super().__init__(message, loc)
        self.function = function
        self.position = position


@frozen
class Instance:
    """A device function and what it is compiled for: the specs of its arguments, what Python floats
    are, and the place of its ops, or None for that of its own lines."""

    function: Any  # of FunctionType, which a type checker takes for a method of this class
    specs: tuple[Spec, ...]
    floats: str
    place: Loc | None = None


@dataclass(slots=True)
class Compiled:
    """A device function of the module, and the result of a call of it."""

    function: Function
    result: Spec


@dataclass(slots=True, eq=False)
class Opened:
    """A device function that is being translated, for the calls of it inside.

    Attributes:
        result: what earlier attempts found it to return; None in the first one.
        target: the function of this attempt.
        called: whether a call of it was met.
    """

    result: Spec | None = None
    target: Function | None = None
    called: bool = False


@dataclass(slots=True)
class Made:
    """Where an expression of arrays is translated, and when it is read.

    Attributes:
        function: that it is translated in; ``region``, which has ``ops`` ops then.
        kept: whether a variable has it, so that each read may be followed by another.
        settled: whether it was read before any op that changes memory, for the last time.
    """

    function: Function
    region: Region
    ops: int
    kept: bool = False
    settled: bool = False


class Check(NamedTuple):
    """A check that two arrays are apart.

    Attributes:
        target, source: pointers to what is written and to what is read.
        fails: the region that runs if they overlap.
    """

    target: Value
    source: Value
    fails: Region
    message: str
    loc: Loc


class MemoryNeeded(UnsupportedError):
    """What is at ``place`` is used as no expression of arrays can be, or needs what only a kernel
    has that counts. The kernel is translated again with memory for it."""

    def __init__(self, message: str, loc: Loc, place: Loc) -> None:
        super().__init__(message, loc)
        self.place = place


@dataclass(slots=True, eq=False)
class Unit:
    """A module during its translation.

    Attributes:
        around: the values that names and attributes have.
        compiled: device functions by what they are compiled for.
        opened: those being translated, under the same keys.
        active: the functions being translated, outermost first, with the place of the call.
        literals: for a function, the parameters that it needs as compile-time constants.
        arrays: symbols of constant arrays by identity of the array, which is kept alive.
        shared: symbols of static shared arrays by function instance and call.
        chosen: implementations of extensions by entry and types; None where there is none.
        causes: the causes of float64, by the IR function; None if they are not requested.
        texts: functions with compile-time parts, as text without these.
        links: the code that defines declared functions which have none of their own.
        foreign: the modules of such code, and their functions once they are translated;
            ``foreign_globals``: the symbols of their variables.
        expressions: those of arrays. Nothing may change the operands of what is not settled.
        stored: the places of expressions that have memory, and of kernels whose shared arrays have
            shapes that they learn when they run; ``counts_shared``: the kernel is one.
        arguments: the arrays and records of the kernel's arguments by their pointers; None for
            memory that the caller surely has for it alone.
        checks: those that arrays are apart, which raise nothing yet.
        checked_loops: the loops of stores whose arrays have such checks, or an order.
        bounded: the places of arrays of a size that is known when the kernel runs, with the bytes
            of a thread that each has.
    """

    module: Module
    options: KernelOptions
    around: Surroundings = field(default_factory=Surroundings)
    compiled: dict[Instance, Compiled] = field(default_factory=dict[Instance, Compiled])
    opened: dict[Instance, Opened] = field(default_factory=dict[Instance, Opened])
    active: list[tuple[types.FunctionType, Loc]] = field(default_factory=list)
    literals: dict[types.FunctionType, set[int]] = field(default_factory=dict)
    arrays: dict[int, tuple[Any, str]] = field(default_factory=dict)
    shared: dict[tuple[Any, ...], str] = field(default_factory=dict)
    chosen: dict[Any, Any] = field(default_factory=dict)
    errors: dict[ErrorSite, int] = field(default_factory=dict)
    causes: dict[str, list[Cause]] | None = None
    texts: dict[types.FunctionType, str] = field(default_factory=dict)
    links: tuple[Any, ...] = ()
    foreign: dict[Any, Any] = field(default_factory=dict)
    foreign_globals: dict[Any, str] = field(default_factory=dict)
    expressions: dict[ArrayExpression, Made] = field(default_factory=dict[ArrayExpression, Made])
    arguments: dict[Value, ArrayView | RecordView | None] = field(
        default_factory=dict[Value, ArrayView | RecordView | None]
    )
    checks: dict[control.If, Check] = field(default_factory=dict[control.If, Check])
    checked_loops: set[control.Loop] = field(default_factory=set[control.Loop])
    stored: set[Loc] = field(default_factory=set[Loc])
    counts_shared: bool = False
    bounded: dict[Loc, int] = field(default_factory=dict[Loc, int])

    def function_name(self, wanted: str) -> str:
        """A name that no function of the module has yet."""
        return _fresh(wanted, self.module.functions)

    def add_global(
        self, wanted: str, element: Type, count: int, space: Space, align: int, data: bytes | None
    ) -> str:
        """Declare a global array; return its symbol."""
        symbol = _fresh(wanted, self.module.globals)
        self.module.globals[symbol] = Global(symbol, element, count, space, align, data)
        return symbol

    def error_code(self, exception: str, message: str, loc: Loc, detail: str = "") -> int:
        """The code of a ``raise`` op for an error at a place."""
        site = ErrorSite(exception, message, loc, detail)
        code = self.errors.get(site)
        if code is None:
            code = self.errors[site] = len(self.module.errors)
            self.module.errors.append(site)
        return code

    def prune(self, root: Function) -> None:
        """Erase the functions and globals that ``root`` does not reach: leftovers of attempts."""
        module = self.module
        if len(module.functions) == 1 and not module.globals:
            return
        functions, symbols, waiting = {root.name}, set(), [root]
        while waiting:
            for op in waiting.pop().body.walk():
                if isinstance(op, control.Call) and op.callee not in functions:
                    functions.add(op.callee)
                    waiting.append(module.functions[op.callee])
                elif isinstance(op, memory.GlobalAddress):
                    symbols.add(op.symbol)
        _keep(module.functions, functions)
        _keep(module.globals, symbols)


def _fresh(wanted: str, taken: dict[str, Any]) -> str:
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted).strip("_") or "f"
    number, fresh = 0, name
    while fresh in taken:
        number += 1
        fresh = f"{name}_{number}"
    return fresh


def _keep(items: dict[str, Any], wanted: set[str]) -> None:
    for name in [name for name in items if name not in wanted]:
        del items[name]
