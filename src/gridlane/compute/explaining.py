"""A schedule as loops, with the reason of each: what runs on the host, as threads, and in one."""

from __future__ import annotations

import ast

import islpy as isl

from gridlane.compute.emission import Emitter
from gridlane.compute.expressions import BLOCK, FOR, IF, python
from gridlane.compute.shaped import ShapedEmitter
from gridlane.compute.strides import Stride
from gridlane.compute.tree import Loop, children, users

_AXES = "xyz"


class _Outline(Emitter):
    """The walk over isl's tree of an order."""

    def outline(self) -> list[str]:
        """The loops and statements, indented, with reasons."""
        self.shown: list[str] = []
        self._show(self._tree(), 0, True)
        return self.shown

    def _show(self, node: isl.AstNode, depth: int, on_host: bool) -> None:
        kind = node.get_type()
        if kind == BLOCK:
            for each in children(node):
                self._show(each, depth, on_host)
        elif kind == IF:
            self._line(depth, f"if {python(node.if_get_cond())}:")
            self._show(node.if_get_then_node(), depth + 1, on_host)
            if node.if_has_else_node():
                self._line(depth, "else:")
                self._show(node.if_get_else_node(), depth + 1, on_host)
        elif kind == FOR:
            self._show_loop(node, depth, on_host)
        else:
            name = str(node.user_get_expr().get_op_arg(0).get_id().get_name())
            statement = self.statements[name]
            tests = " and ".join(map(ast.unparse, statement.tests))
            self._line(depth, (f"if {tests}: " if tests else "") + ast.unparse(statement.node))

    def _show_loop(self, node: isl.AstNode, depth: int, on_host: bool) -> None:
        band = self._band(node) if on_host and not self._is_thread_code(node) else []
        walk = self.costs.walk_of(band) if band else None
        if walk is not None:
            self._show_walk(walk[1], depth)
            return
        if band:
            self._show_threads(band, depth)
            return
        inside = set(users(node))
        if on_host and self._is_thread_code(node):
            where, on_host = "one thread", False
        else:
            where = "the host, a launch each" if on_host else "each thread"
        self._loop_line(node, inside, depth, f"{where}: {self._why(node, inside)}")
        self._show(node.for_get_body(), depth + 1, on_host)

    def _show_threads(self, band: list[isl.AstNode], depth: int) -> None:
        inside = set(users(band[-1]))
        order = self.x_first(band, inside)
        for number, node in enumerate(band):
            axis = _AXES[order.index(number)]
            loop = Loop(node)
            found = self.strides.strides(self.dimension(loop.name), loop.step, inside)
            ones, many = found.count(Stride.ONE), found.count(Stride.MANY)
            steps = f"; of {len(found)} accesses {ones} step by one, {many} by more"
            reason = "no dependence" + (steps if found else "")
            self._loop_line(node, inside, depth, f"threads along {axis}: {reason}")
            depth += 1
        self._show(band[-1].for_get_body(), depth, False)

    def _show_walk(self, threads: list[isl.AstNode], depth: int) -> None:
        """Show loops whose threads walk; those in them are vectors."""
        inside = set(users(threads[-1]))
        for number, node in enumerate(threads):
            axis = _AXES[len(threads) - 1 - number]
            reason = "no dependence; each walks along memory"
            self._loop_line(node, inside, depth, f"threads along {axis}, a block each: {reason}")
            depth += 1
        self._show(threads[-1].for_get_body(), depth, False)

    def _loop_line(self, node: isl.AstNode, inside: set[str], depth: int, reason: str) -> None:
        loop = Loop(node)
        dimension = self.dimension(loop.name)
        name = self._name(dimension, loop, inside) or "no loop"
        name = "strips" if dimension in self.order.strips else name
        name = "tiles" if dimension < self.order.tiles else name
        self._line(depth, f"for {loop.name} in {loop.range}:  # {name}: {reason}")

    def _name(self, dimension: int, loop: Loop, inside: set[str]) -> str:
        """The text's loops that a dimension is."""
        moves = self.strides.moves(dimension, loop.step, inside)
        texts = {each.name: each.text for s in self.nest.statements for each in s.loops}
        names = dict.fromkeys(texts[n] for m in moves.values() for n, by in m.items() if by)
        return " and ".join(names)

    def _why(self, node: isl.AstNode, inside: set[str]) -> str:
        """What a loop carries, or why it is no thread without that."""
        if node.for_is_degenerate():
            return "it has one iteration"
        dimension = self.dimension(Loop(node).name)
        found = self.polyhedra.carried(inside, dimension, self.order.map, self.order.count)
        if found is None:
            return "it carries no dependence, but stands inside of threads or is short"
        one, other = found
        name = one.write.name
        if one is other and one.operator:
            return f"{name} is a sum by {one.operator}, in order (line {one.loc.line})"
        return f"it carries {name} from line {one.loc.line} to line {other.loc.line}"

    def _line(self, depth: int, text: str) -> None:
        self.shown.append("    " * depth + text)


class _ShapedOutline(ShapedEmitter, _Outline):
    """The same of a schedule by hand."""

    def _name(self, dimension: int, loop: Loop, inside: set[str]) -> str:
        return self.names[dimension]


def outline_of(emitter: Emitter) -> list[str]:
    """The loops of an emitter's order, with reasons."""
    if isinstance(emitter, ShapedEmitter):
        shown = _ShapedOutline(
            emitter.polyhedra, emitter.typing, emitter.order, emitter.rates, emitter.threads,
            emitter.unrolled, emitter.names, emitter.staged, emitter.block, emitter.items,
            emitter.split,
        )  # fmt: skip
        return shown.outline()
    return _Outline(
        emitter.polyhedra, emitter.typing, order=emitter.order, rates=emitter.rates
    ).outline()
