"""The text of a thread: the nodes of isl's tree, and the statements in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import islpy as isl

from gridlane.compute.expressions import BLOCK, FOR, IF, USER, python
from gridlane.compute.model import LoopName, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.tree import Loop, children
from gridlane.compute.typing import Typing
from gridlane.compute.walks import Walks

_INDENT = "    "
_AT_ONCE = range(4)
"""Iterations of a loop that run at once, around a vector."""
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(slots=True)
class Lines:
    """Text under way."""

    lines: list[str] = field(default_factory=list[str])
    depth: int = 1

    def add(self, line: str) -> None:
        self.lines.append(_INDENT * self.depth + line)

    @contextmanager
    def block(self, *heads: str) -> Generator[None]:
        """Add lines in each other; what is added in the ``with`` stands in the last one."""
        before = self.depth
        for each in heads:
            self.add(each)
            self.depth += 1
        yield
        self.depth = before


class Context(Protocol):
    """The nest that is emitted.

    Attributes:
        plain: loops are as in the text.
        cells: variables that several kernels share.
        letter: of names that the function has not.
        walks_alone: the kernel's blocks have one thread, whose innermost loops are vectors.
    """

    polyhedra: Polyhedra
    typing: Typing
    nest: Nest
    statements: dict[str, Statement]
    plain: bool
    cells: dict[str, None]
    letter: str
    walks: Walks
    walks_alone: bool


class Body:
    """The code of a thread.

    Args:
        inside: the names of its statements.
        row: the iterator of a parallel loop, of which a thread has several iterations at once.
        rows: how many.
    """

    def __init__(
        self, emitter: Context, inside: set[str], lines: Lines, row: str = "", rows: int = 1
    ) -> None:
        self.row, self.rows = row, range(rows)
        self.decided: dict[str, bool] = {}  # tests of branches around
        self.emitter, self.inside, self.lines = emitter, inside, lines
        nest = emitter.nest
        self.shared = {
            name
            for name in nest.variables
            if any(
                name in (statement.write.name, *(each.name for each in statement.reads))
                for statement in nest.statements
                if statement.name not in inside
            )
        }

    def walk(self, node: isl.AstNode) -> None:
        kind = node.get_type()
        if kind == BLOCK:
            for each in children(node):
                self.walk(each)
        elif kind == IF:
            self._branch(node)
        elif kind == FOR:
            loop = Loop(node)
            if self.row and self.row in WORD.findall(f"{loop.first} {loop.end}"):
                self._loops_of_rows(node, loop)
            else:
                self._loop(node, loop)
        else:
            self._statement(node.user_get_expr())

    def _loop(self, node: isl.AstNode, loop: Loop) -> None:
        if self._sum(node, loop) or self._at_once(node, loop):
            return
        with self.lines.block(f"for {loop.name} in {loop.range}:"):
            self.walk(node.for_get_body())

    def _at_once(self, node: isl.AstNode, loop: Loop) -> bool:
        """Emit a loop some iterations of which run at once: each element of a vector in it has them
        one after the other. Branches that are the same in all iterations are outside of it."""
        emitter, rows = self.emitter, self.rows
        if not emitter.walks_alone or len(rows) > 1:
            return False
        rest, tests = self._apart(node.for_get_body(), loop)
        if len(rest) != 1 or not emitter.walks.can_have_rows(node, rest[0]):
            return False
        if tests:
            for line, is_taken in ((f"if {tests[0]}:", True), ("else:", False)):
                self.decided[tests[0]] = is_taken
                with self.lines.block(line):
                    self._loop(node, loop)
                del self.decided[tests[0]]
            return True
        first, end, count = f"{loop.name}_from", f"{loop.name}_to", len(_AT_ONCE)
        self.lines.add(f"{first} = {loop.first}")
        self.lines.add(f"{end} = {first} + max({loop.end} - {first}, 0) // {count} * {count}")
        before, self.row, self.rows = self.row, loop.name, _AT_ONCE
        with self.lines.block(f"for {loop.name} in range({first}, {end}, {count}):"):
            self.walk(node.for_get_body())
        self.row, self.rows = before, rows
        with self.lines.block(f"for {loop.name} in range({end}, {loop.end}):"):
            self.walk(node.for_get_body())
        return True

    def _apart(self, node: isl.AstNode, loop: Loop) -> tuple[list[isl.AstNode], list[str]]:
        """What a loop has, without branches that are the same in all of its iterations and not
        decided, and the tests of these."""
        if node.get_type() == IF:
            test = python(node.if_get_cond())
            if test in self.decided:
                return self._apart(taken, loop) if (taken := self._taken(node)) else ([], [])
            is_same = loop.name not in WORD.findall(test) and not node.if_has_else_node()
            return ([], [test]) if is_same else ([node], [])
        if node.get_type() != BLOCK:
            return [node], []
        parts = [self._apart(each, loop) for each in children(node)]
        return [n for each, _ in parts for n in each], [t for _, each in parts for t in each]

    def _taken(self, node: isl.AstNode) -> isl.AstNode | None:
        """The part of a decided branch that runs."""
        if self.decided[python(node.if_get_cond())]:
            return node.if_get_then_node()
        return node.if_get_else_node() if node.if_has_else_node() else None

    def _loops_of_rows(self, node: isl.AstNode, loop: Loop) -> None:
        """Emit a loop whose bounds differ among the rows: what each has in front, what all have,
        and what each has behind."""
        whole = self.rows
        firsts = [self._in_row(loop.first, row) for row in whole]
        ends = [self._in_row(loop.end, row) for row in whole]
        if len(whole) == 1:
            self._loop(node, loop.between(firsts[0], ends[0]))
            return
        most, least = firsts[0], ends[0]
        for first, end in zip(firsts[1:], ends[1:], strict=True):
            most, least = f"max({most}, {first})", f"min({least}, {end})"
        start, stop = f"{loop.name}__first", f"{loop.name}_end"
        self.lines.add(f"{start} = {most}")
        self.lines.add(f"{stop} = max({start}, {least})")
        for row, first, end in zip(whole, firsts, ends, strict=True):
            self.rows = range(row, row + 1)
            self._loop(node, loop.between(first, f"min({start}, {end})"))
        self.rows = whole
        self._loop(node, loop.between(start, stop))
        for row, end in zip(whole, ends, strict=True):
            self.rows = range(row, row + 1)
            self._loop(node, loop.between(stop, end))
        self.rows = whole

    def _in_row(self, text: str, row: int) -> str:
        return re.sub(rf"\b{self.row}\b", f"({self.row} + {row})", text) if row else text

    def _branch(self, node: isl.AstNode) -> None:
        test = python(node.if_get_cond())
        if test in self.decided:
            taken = self._taken(node)
            if taken is not None:
                self.walk(taken)
            return
        with self.lines.block(f"if {test}:"):
            self.walk(node.if_get_then_node())
        if node.if_has_else_node():
            with self.lines.block("else:"):
                self.walk(node.if_get_else_node())

    def can_have_rows(self, node: isl.AstNode, row: str) -> bool:
        """Whether iterations of a parallel loop run the same inner loops, but for their bounds."""
        kind = node.get_type()
        if kind == BLOCK:
            return all(self.can_have_rows(each, row) for each in children(node))
        if kind == USER:
            name = str(node.user_get_expr().get_op_arg(0).get_id().get_name())
            statement = self.emitter.statements[name]
            names = {each.name for each in (statement.write, *statement.reads)}
            return not statement.tests and not names & self.shared
        if kind == FOR:
            loop = Loop(node)
            is_same = row not in WORD.findall(f"{loop.first} {loop.end}")
            is_plain = loop.step == 1 and not node.for_is_degenerate()
            return (is_same or is_plain) and self.can_have_rows(node.for_get_body(), row)
        return False

    def _statement(self, call: isl.AstExpr) -> None:
        lines, emitter = self.lines, self.emitter
        name = str(call.get_op_arg(0).get_id().get_name())
        statement = emitter.statements[name]
        target = target_of(emitter.typing, statement)
        if self.rows is _AT_ONCE and self._is_one(call, statement):
            self._one_element(call, statement, target)
            return
        text = self._cells(emitter.typing.assignment(statement, target))
        for row in self.rows:
            self._set_loops(call, statement, row)
            tests = [self._cells(emitter.typing.test(test)) for test in statement.tests]
            with lines.block(*(f"if {test}:" for test in tests)):
                lines.add(self._of_row(text, row))

    def _is_one(self, call: isl.AstExpr, statement: Statement) -> bool:
        """Whether all rows change one element, and read no other that they change."""
        texts = self._indices(call, statement)
        moving = {each.name for each in texts if self.row in WORD.findall(texts[each])}
        return self.emitter.polyhedra.is_one_element(statement, moving)

    def _one_element(self, call: isl.AstExpr, statement: Statement, target: str) -> None:
        """Emit rows that change one element, which stays in a register."""
        name, lines = self._register(statement), self.lines
        text = in_place(self.emitter.typing.assignment(statement, target), target, name)
        self._set_loops(call, statement, self.rows[0])
        lines.add(f"{name} = {target}")
        for row in self.rows:
            self._set_loops(call, statement, row)
            lines.add(self._cells(text))
        lines.add(f"{target} = {name}")

    def _register(self, statement: Statement) -> str:
        """A variable for the element that a statement changes."""
        name = f"{self.emitter.letter}_{statement.write.name}"
        while any(each.startswith(name) for each in self.emitter.nest.names):
            name += "_"
        return name

    def _set_loops(self, call: isl.AstExpr, statement: Statement, row: int) -> None:
        """Assign a statement's loops their values in a row."""
        for loop, text in self._indices(call, statement).items():
            self.lines.add(f"{loop.text} = {self._in_row(text, row)}")

    def _of_row(self, text: str, row: int) -> str:
        """A text with the variables of a row."""
        names = self.emitter.nest.variables

        def renamed(match: re.Match[str]) -> str:
            return f"{match[0]}_{self.emitter.letter}{row}" if match[0] in names else match[0]

        return WORD.sub(renamed, text) if row else text

    def _sum(self, node: isl.AstNode, loop: Loop) -> bool:
        """Emit a loop of one statement that changes one element, which stays in a register."""
        inner = node.for_get_body()
        if self.emitter.plain or inner.get_type() != USER or node.for_is_degenerate():
            return False
        call = inner.user_get_expr()
        statement = self.emitter.statements[str(call.get_op_arg(0).get_id().get_name())]
        texts = self._indices(call, statement)
        moving = {each.name for each in statement.loops if loop.name in WORD.findall(texts[each])}
        if not self.emitter.polyhedra.is_one_element(statement, moving):
            return False
        target = target_of(self.emitter.typing, statement)
        name = self._register(statement)
        text = in_place(self.emitter.typing.assignment(statement, target), target, name)
        text, lines = self._cells(text), self.lines
        with lines.block(f"if {loop.first} < {loop.end}:"):
            lines.add(f"{loop.name} = {loop.first}")
            for row in self.rows:
                self._set_loops(call, statement, row)
                lines.add(f"{name}_{row} = {target}")
            with lines.block(f"for {loop.name} in {loop.range}:"):
                for row in self.rows:
                    self._set_loops(call, statement, row)
                    lines.add(self._of_row(re.sub(rf"\b{name}\b", f"{name}_{row}", text), row))
            for row in self.rows:
                self._set_loops(call, statement, row)
                lines.add(f"{target} = {name}_{row}")
        return True

    def _indices(self, call: isl.AstExpr, statement: Statement) -> dict[LoopName, str]:
        """The values of a statement's loops in its call."""
        loops = enumerate(statement.loops, 1)
        return {loop: python(call.get_op_arg(number)) for number, loop in loops}

    def _cells(self, text: str) -> str:
        """A text whose variables that other kernels have too are elements of memory."""

        def element(match: re.Match[str]) -> str:
            word = match[0]
            if word not in self.shared:
                return word
            self.emitter.cells.setdefault(word)
            return f"{word}__cell[0]"

        return WORD.sub(element, text)


def in_place(text: str, element: str, name: str) -> str:
    """A text with a name in place of an element, but not of one whose array's name ends alike."""
    return re.sub(rf"(?<!\w){re.escape(element)}", name, text)


def target_of(typing: Typing, statement: Statement) -> str:
    """The text of what a statement assigns to."""
    node = statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, ast.Name):
        return target.id
    loaded = ast.Subscript(target.value, target.slice, ast.Load())  # type: ignore[attr-defined]  # an element
    return typing.expression(ast.copy_location(loaded, target))[0]
