"""The variables that branches and loops assign, and those of them that are live afterwards.

A variable that an inner function reads is live everywhere: the function may be called anywhere.
Only a variable that is both becomes an IR variable at a join, so that temporaries of a loop body
stay plain values and their types need not unify.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gridlane.frontends.python.lexical import Names, names_in, read_by_nested, walk_own


@dataclass(slots=True)
class Flow:
    """Facts of one if, for or while.

    Attributes:
        assigned: names that it assigns anywhere inside.
        live_out: names read after it before they are assigned again.
        live_head: for a loop, names whose values at its head are read: by an iteration or after it.
        breaks: for a loop, whether a ``break`` leaves it; ``continues`` likewise.
    """

    assigned: Names = frozenset()
    live_out: Names = frozenset()
    live_head: Names = frozenset()
    breaks: bool = False
    continues: bool = False


def analyse(body: list[ast.stmt], node: ast.AST) -> dict[ast.AST, Flow]:
    """The flow facts of every if, for and while of a function, and of functions inside of it."""
    flows = _flows(body)
    for item in ast.walk(node):
        if isinstance(item, ast.FunctionDef) and item is not node:
            flows |= _flows(item.body)
    return flows


def _flows(body: list[ast.stmt]) -> dict[ast.AST, Flow]:
    analysis = _Analysis(read_by_nested(body))
    analysis.block(body, analysis.always)
    return analysis.flows


@dataclass(slots=True)
class _Loop:
    """The live names at the targets of ``break`` and ``continue``."""

    at_break: Names
    at_continue: Names
    flow: Flow


@dataclass(slots=True)
class _Analysis:
    """``always`` are the names that are live everywhere."""

    always: Names
    flows: dict[ast.AST, Flow] = field(default_factory=dict)
    loops: list[_Loop] = field(default_factory=list)
    names: dict[ast.AST, tuple[Names, Names]] = field(default_factory=dict)
    walrus: dict[ast.AST, Names] = field(default_factory=dict)

    def block(self, statements: list[ast.stmt], live: Names) -> Names:
        """The names live before a list of statements, given those live after it."""
        for statement in reversed(statements):
            live = _TRANSFER.get(type(statement), _Analysis.simple)(self, statement, live)
        return live

    def simple(self, node: ast.AST, live: Names) -> Names:
        loads, stores = self.uses(node)
        return (live - stores) | loads | self.by_walrus(node) & live | self.always

    def leave(self, node: ast.AST, live: Names) -> Names:
        return self.uses(node)[0] | self.always

    def break_(self, node: ast.AST, live: Names) -> Names:
        if not self.loops:
            return live
        self.loops[-1].flow.breaks = True
        return self.loops[-1].at_break

    def continue_(self, node: ast.AST, live: Names) -> Names:
        if not self.loops:
            return live
        self.loops[-1].flow.continues = True
        return self.loops[-1].at_continue

    def if_(self, node: ast.If, live: Names) -> Names:
        flow = self.flow(node)
        flow.live_out |= live
        loads, _ = self.uses(node.test)
        return loads | self.block(node.body, live) | self.block(node.orelse, live)

    def while_(self, node: ast.While, live: Names) -> Names:
        loads, _ = self.uses(node.test)
        after = self.block(node.orelse, live)
        # Only a break leaves ``while True``: what precedes it assigns is not live at the head.
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self.loop(node, live, after, loads if endless else after | loads, frozenset())

    def for_(self, node: ast.For, live: Names) -> Names:
        targets = self.uses(node.target)[1]
        after = self.block(node.orelse, live)
        return self.loop(node, live, after, after, targets) | self.uses(node.iter)[0]

    def loop(
        self, node: ast.For | ast.While, live: Names, after: Names, head: Names, targets: Names
    ) -> Names:
        """Iterate to the least set of names live at the loop's head."""
        flow = self.flow(node)
        flow.live_out |= live | after
        while True:
            self.loops.append(_Loop(live, head, flow))
            body = self.block(node.body, head)
            self.loops.pop()
            grown = head | (body - targets)
            if grown == head:
                break
            head = grown
        flow.live_head |= head
        return head

    def flow(self, node: ast.AST) -> Flow:
        known_flow = self.flows.get(node)
        if known_flow is None:
            known_flow = self.flows[node] = Flow(assigned=self.uses(node)[1])
        return known_flow

    def uses(self, node: ast.AST) -> tuple[Names, Names]:
        """The names that the whole of ``node`` reads and those that it assigns."""
        names = self.names.get(node)
        if names is None:
            names = self.names[node] = self.uses_inside(node)
        return names

    def uses_inside(self, node: ast.AST) -> tuple[Names, Names]:
        """Those of a node, from those of the statements inside of it, which are known once."""
        if not isinstance(node, ast.If | ast.For | ast.While):
            return names_in([node])
        head = (node.target, node.iter) if isinstance(node, ast.For) else (node.test,)
        parts = [self.uses(part) for part in (*head, *node.body, *node.orelse)]
        loads, stores = zip(*parts, strict=True)
        return frozenset().union(*loads), frozenset().union(*stores)

    def by_walrus(self, node: ast.AST) -> Names:
        """The names that expressions of a statement assign. They may do so on some paths only, as
        in ``c and (v := 1)``, so an earlier value stays live."""
        names = self.walrus.get(node)
        if names is None:
            named = [item.target.id for item in walk_own([node]) if isinstance(item, ast.NamedExpr)]
            names = self.walrus[node] = frozenset(named)
        return names


_TRANSFER: dict[type[ast.stmt], Callable[[_Analysis, Any, Names], Names]] = {
    ast.If: _Analysis.if_,
    ast.While: _Analysis.while_,
    ast.For: _Analysis.for_,
    ast.Return: _Analysis.leave,
    ast.Raise: _Analysis.leave,
    ast.Break: _Analysis.break_,
    ast.Continue: _Analysis.continue_,
}
