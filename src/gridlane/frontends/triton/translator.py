"""The state of a program's translation: it walks the ast by tables and knows no rule.

A value that is known at compile time is a plain value of Python; what the program computes is a
``tensor``, or a tuple or aggregate of these.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gridlane.core.errors import CompileError
from gridlane.core.source import Loc
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import Unit
from gridlane.frontends.triton.errors import CompilationError, UnsupportedLanguageConstruct
from gridlane.frontends.triton.functions import TileFunction
from gridlane.ir.builder import Builder
from gridlane.ir.values import Region, Var

ExpressionRule = Callable[["Translator", Any], Any]
StatementRule = Callable[["Translator", Any], bool]
"""Translates a statement; True where control does not reach what follows."""


@dataclass
class Frame:
    """A function in translation.

    Attributes:
        scope: the values of its local names.
        caller: the place of the call, of a function that is inlined.
        is_kernel: a return ends the program.
        depth: how many conditions and loops of run time are around the statement.
        loops: how many of them are loops.
        unrolled: how many loops around it are unrolled.
        label: the scope that an early return leaves; 0 where none does.
        result: the value of a return that nothing follows.
        variables: the parts of the result of early returns.
        returned: a value like the result, once there is one.
        pending: names that a bare annotation says are constants.
    """

    function: TileFunction
    scope: dict[str, Any]
    caller: Loc | None = None
    is_kernel: bool = False
    depth: int = 0
    loops: int = 0
    unrolled: int = 0
    label: int = 0
    result: Any = None
    variables: list[Var] | None = None
    returned: Any = None
    pending: set[str] = field(default_factory=set[str])


@dataclass
class Rules:
    """The tables of the nodes of the ast."""

    expressions: Mapping[type[ast.expr], ExpressionRule]
    statements: Mapping[type[ast.stmt], StatementRule]
    call: Callable[[Translator, TileFunction, tuple[Any, ...], dict[str, Any]], Any]


class Translator:
    """Translates functions into a unit.

    Attributes:
        unused: the expression that is a statement of its own.
    """

    def __init__(self, unit: Unit, rules: Rules) -> None:
        self.unit, self.rules = unit, rules
        self.frames: list[Frame] = []
        self.unused: ast.expr | None = None
        unit.caller = self

    @property
    def b(self) -> Builder:
        """The builder of the function that ops go to."""
        return self.unit.b

    @property
    def frame(self) -> Frame:
        """The function in translation."""
        return self.frames[-1]

    def locate(self, node: ast.AST) -> Loc:
        """The place of a node, with the calls around it."""
        loc = self.frame.function.source.locate(node)
        return loc if self.frame.caller is None else loc.inlined_at(self.frame.caller)

    def call(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Translate a function's body at this place; return its result."""
        if not isinstance(function, TileFunction):
            raise TypeError(f"{function!r} is not a function of the language: add @triton.jit")
        return self.rules.call(self, function, args, keywords)

    # ---- nodes

    def expr(self, node: ast.expr) -> Any:
        """The value of an expression."""
        rule = self.rules.expressions.get(type(node))
        if rule is None:
            raise self.unsupported(node)
        with self.at(node):
            return unwrapped(rule(self, node))

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Translate statements; True where control does not reach what follows."""
        for statement in statements:
            rule = self.rules.statements.get(type(statement))
            if rule is None:
                raise self.unsupported(statement)
            with self.at(statement):
                if rule(self, statement):
                    return True
        return False

    @contextmanager
    def at(self, node: ast.AST) -> Generator[None, None, None]:
        """Locate ops and errors of the with block."""
        outer, place = self.b.loc, self.locate(node)
        self.b.loc = place
        try:
            yield
        except CompilationError as error:
            if error.place is None:
                error.place = self.place_of(node)
            raise
        except (CompileError, RecursionError):
            raise
        except Exception as error:
            cause = error if isinstance(node, ast.Call) else None
            raise CompilationError(_text(error), place, place=self.place_of(node)) from cause
        finally:
            self.b.loc = outer

    def place_of(self, node: ast.AST) -> tuple[int, int]:
        """The line and column of a node, counted from the function's ``def``, as Triton has it."""
        start: Any = self.frame.function.source.node
        line = getattr(node, "lineno", start.lineno)
        column = getattr(node, "col_offset", start.col_offset)
        return line - start.lineno + 1, column - start.col_offset

    def unsupported(self, node: ast.AST, message: str = "") -> UnsupportedLanguageConstruct:
        """The error of a construct that programs do not have."""
        text = message or f"unsupported AST node type: {type(node).__name__}"
        return UnsupportedLanguageConstruct(text, self.locate(node), place=self.place_of(node))

    # ---- regions of run time

    @contextmanager
    def region(
        self, region: Region, is_loop: bool = False
    ) -> Generator[dict[str, Any], None, None]:
        """Let ops go to a region of run time within the with block. The names that it assigns are
        its own: the scope is the old one afterwards."""
        frame = self.frame
        outer = frame.scope
        frame.scope = dict(outer)
        frame.depth += 1
        frame.loops += is_loop
        try:
            with self.b.inside(region):
                yield frame.scope
        finally:
            frame.scope = outer
            frame.depth -= 1
            frame.loops -= is_loop


def _text(error: Exception) -> str:
    text = str(error)
    if isinstance(error, (ValueError, TypeError, NameError, AssertionError, NotImplementedError)):
        return text or repr(error)
    return repr(error)
