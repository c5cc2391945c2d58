"""Structured control flow, calls, and exits from a kernel."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Region, Value


@operation("if")
class If(Op):
    """Run ``then`` where the condition holds, ``orelse`` where it does not."""

    condition: Value
    then: Region
    orelse: Region

    def check(self, scope: Scope) -> None:
        self.require(self.condition.type is b1, "the condition is a b1")


@operation("loop")
class Loop(Op):
    """Repeat ``body`` then ``step`` until a break or return. ``continue`` goes to ``step``, which
    has no break, continue or return. ``unroll``: 0 unspecified, 1 never, n by n."""

    body: Region
    step: Region
    unroll: int = 0

    def check(self, scope: Scope) -> None:
        bad = any(op.terminator for op in self.step.walk())
        self.require(not bad, "the step region only computes")


@operation("scope")
class ScopeOp(Op):
    """Run ``body`` once; a ``leave`` in it jumps to its end. Inlined calls become scopes.

    ``label`` names the scope for a ``leave`` in inner scopes: 0 for a scope without a name, else a
    number of its own in the function.
    """

    body: Region
    label: int = 0

    def check(self, scope: Scope) -> None:
        self.require(self.label >= 0, f"{self.label} is no label")


@operation("break")
class Break(Op):
    """Leave the innermost loop."""

    terminator = True

    def check(self, scope: Scope) -> None:
        self.require(_inside(scope, Loop), "stands outside a loop")


@operation("continue")
class Continue(Op):
    """Go to the step of the innermost loop."""

    terminator = True

    def check(self, scope: Scope) -> None:
        self.require(_inside(scope, Loop), "stands outside a loop")


@operation("leave")
class Leave(Op):
    """Jump to the end of the innermost scope, or of the enclosing scope with label ``target``, out
    of the loops and scopes in it."""

    target: int = 0
    terminator = True

    def check(self, scope: Scope) -> None:
        around = [op for op in scope.ancestors if isinstance(op, ScopeOp)]
        self.require(bool(around), "stands outside a scope")
        known = not self.target or any(op.label == self.target for op in around)
        self.require(known, f"no scope {self.target} around it")


@operation("return")
class Return(Op):
    """Leave the function with its results. A function without results may also reach its end."""

    values: tuple[Value, ...] = ()
    terminator = True

    def check(self, scope: Scope) -> None:
        got = tuple(value.type for value in self.values)
        self.require(got == scope.function.results, f"returns {got}")


@operation("exit")
class Exit(Op):
    """End this thread. In a kernel it equals a return."""

    terminator = True


@operation("raise")
class Raise(Op):
    """End this thread with error ``code``, an index in the module's error table. The launch reports
    the first; other threads continue. ``numbers``, i64, are those of the error's detail; targets
    that carry none report its message."""

    code: int
    numbers: tuple[Value, ...] = ()
    terminator = True

    def check(self, scope: Scope) -> None:
        check_numbers(self, scope)


MOST_NUMBERS = 10
"""The most numbers of an error's detail."""


def check_numbers(op: Raise | StopIf | CheckAccess, scope: Scope) -> None:
    """Check the code of an error and the numbers of its detail."""
    op.require(0 <= op.code < len(scope.module.errors), f"no error {op.code}")
    numbers = () if isinstance(op, CheckAccess) else op.numbers
    op.require(all(number.type is i64 for number in numbers), "the numbers are i64")
    most = min(MOST_NUMBERS, scope.module.errors[op.code].detail.count("{}"))
    op.require(not numbers or len(numbers) == most, "a number for each hole of the detail")


@operation("stop_if")
class StopIf(Op):
    """End the launch with error ``code`` if the condition holds in a running thread. A thread ends
    there; whether others go on is left open. ``numbers`` are as those of ``raise``."""

    condition: Value
    code: int
    numbers: tuple[Value, ...] = ()

    def check(self, scope: Scope) -> None:
        self.require(self.condition.type is b1, "the condition is a b1")
        check_numbers(self, scope)


@operation("check_access")
class CheckAccess(Op):
    """End the launch with error ``code``, as ``stop_if`` does, if the ``bytes`` at an address are
    not all in one allocation that the launch may use or, for a shared pointer, in the block's
    shared memory. ``base`` is an address that is likely to be in the same allocation, or that
    address itself. The detail has one number at the most: the address."""

    pointer: Value
    base: Value
    bytes: int
    code: int

    def check(self, scope: Scope) -> None:
        for each in (self.pointer, self.base):
            self.require(isinstance(each.type, PointerType), f"{each.type} is not a pointer")
        self.require(self.bytes > 0, "some bytes")
        check_numbers(self, scope)


@operation("report")
class Report(Op):
    """Record error ``code`` for this thread, as ``raise`` does, and continue. Passes emit it where
    the threads of a block still have to meet."""

    code: int

    def check(self, scope: Scope) -> None:
        self.require(0 <= self.code < len(scope.module.errors), f"no error {self.code}")


@operation("call")
class Call(Op):
    """Call a device function of the module."""

    callee: str
    arguments: tuple[Value, ...]
    types: tuple[Type, ...] = ()

    def result_types(self) -> tuple[Type, ...]:
        return self.types

    def check(self, scope: Scope) -> None:
        target = scope.module.functions.get(self.callee)
        self.require(target is not None, f"no function @{self.callee}")
        assert target is not None
        self.require(not target.is_kernel, f"@{self.callee} is a kernel")
        want = tuple(param.value.type for param in target.params)
        got = tuple(value.type for value in self.arguments)
        self.require(want == got, f"@{self.callee} takes {want}, not {got}")
        self.require(self.types == target.results, f"@{self.callee} returns {target.results}")


@operation("print")
class Print(Op):
    """Print ``parts`` without separators, then ``end``. A part is a text, or "" for the next
    argument. Lines of one thread keep their order.

    Attributes:
        formats: for each argument its conversion of C, as ``%5.2f``, ``*`` for the width or the
            precision of the next one, or ``8`` for eight bytes of a text that the next one
            continues; ``u`` or ``b`` for a code point or a byte of a text that the next one
            continues, with a format in braces behind it where none does, ``u{!s}``; ``c`` for the
            real part of a complex number, and with a format behind it for the other part; a
            format of Python in braces, ``{:.3f}``, or ``{!s:>8}`` of its text; "" for one that is
            printed as numpy prints it; nothing where all are.
    """

    parts: tuple[str, ...]
    arguments: tuple[Value, ...]
    formats: tuple[str, ...] = ()
    end: str = "\n"

    def check(self, scope: Scope) -> None:
        holes = sum(part == "" for part in self.parts)
        self.require(holes == len(self.arguments), "one argument for each empty part")
        self.require(len(self.formats) in (0, holes), "one format for each argument, or none")

    def of(self, arguments: tuple[Value, ...]) -> Print:
        """The op with other arguments."""
        return Print(self.parts, arguments, self.formats, self.end)


def _inside(scope: Scope, kind: type[Op]) -> bool:
    """Whether the op is nested in a ``kind`` without a scope or step in between."""
    for ancestor in reversed(scope.ancestors):
        if isinstance(ancestor, kind):
            return True
        if isinstance(ancestor, ScopeOp):
            return False
    return False
