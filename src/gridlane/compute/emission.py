"""The text of kernels and of what launches them, from isl's syntax tree of a nest.

Loops around parallel ones run on the host. Up to three parallel loops that stand in each other are
the threads of a kernel, and all that is inside of them is a thread's. What has no parallel loop is
a kernel of one thread.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

import islpy as isl

from gridlane.compute.expressions import BLOCK, FOR, IF, USER, python
from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order, text_order
from gridlane.compute.strides import PROCESSOR, Rates, Stride, Strides, cost_of
from gridlane.compute.typing import Typing
from gridlane.core.frozen import frozen

MOST_DIMENSIONS = 3
_INDENT = "    "
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@frozen
class Span:
    """A parallel loop: the texts of its first and last value, on the host, and its step."""

    name: str
    first: str
    last: str
    step: int


@frozen
class KernelText:
    """A kernel.

    Attributes:
        name: of its function.
        text: of its function, in the dialect of numba.cuda.
        arguments: names of tensors, cells, parameters and loops of the host.
        spans: the loops that are threads, x first.
        loops: names of the loops that are threads, in the function's text.
    """

    name: str
    text: str
    arguments: tuple[str, ...]
    spans: tuple[Span, ...]
    loops: tuple[str, ...]


@frozen
class Emitted:
    """A nest's kernels and its host's function.

    Attributes:
        host: the text of ``host(launch, ...)``, which calls ``launch(number, spans, arguments)``.
        cells: variables that several kernels share: one element each.
        order: that in which iterations run.
        cost: of the launches and iterations.
        is_strided: threads next to each other access elements that are not.
    """

    kernels: tuple[KernelText, ...]
    host: str
    cells: tuple[str, ...]
    order: Order
    cost: float
    is_strided: bool


@dataclass(slots=True)
class _Lines:
    """Text under way."""

    lines: list[str] = field(default_factory=list[str])
    depth: int = 1

    def add(self, line: str) -> None:
        self.lines.append(_INDENT * self.depth + line)


class Emitter:
    """Emits the loops of a nest in an order.

    Args:
        plain: all is one thread's.
        order: the text's by default.
        rates: of the devices for which the cost is.
    """

    def __init__(
        self,
        polyhedra: Polyhedra,
        typing: Typing,
        plain: bool = False,
        order: Order | None = None,
        rates: Rates = PROCESSOR,
    ) -> None:
        self.rates = rates
        self.order = order or text_order(polyhedra)
        self.strides = Strides(polyhedra, self.order)
        self.cost, self.is_strided = 0.0, False
        self.polyhedra, self.typing, self.plain = polyhedra, typing, plain
        self.nest = polyhedra.nest
        self.statements = {each.name: each for each in self.nest.statements}
        self.kernels: list[KernelText] = []
        self.cells: dict[str, None] = {}
        self.host = _Lines()
        self.outer: list[str] = []  # iterators of the host's loops
        self.letter = "c"  # of iterators, which are no names of the function
        names = self.nest.names
        while any(re.fullmatch(rf"{self.letter}\d+.*", each) for each in names):
            self.letter += "_"
        self.launch = "launch"
        while self.launch in names:
            self.launch += "_"

    def emitted(self) -> Emitted:
        """The kernels and the host's function."""
        tree = self._tree()
        if self.plain:
            self._kernel([tree], [])
        else:
            self._host(tree)
        names = (*self.nest.arguments, *self.nest.extents)
        cells = [f"{name}_cell" for name in self.cells]
        known = dict.fromkeys((*names, *cells))
        head = f"def host({self.launch}, {', '.join(known)}):"
        return Emitted(
            tuple(self.kernels),
            "\n".join([head, *self.host.lines]) + "\n",
            tuple(self.cells),
            self.order,
            self.cost,
            self.is_strided,
        )

    def _tree(self) -> isl.AstNode:
        order, count = self.order.map, self.order.count
        build = isl.AstBuild.from_context(self.polyhedra.context)
        names = isl.IdList.alloc(order.get_ctx(), count)
        for number in range(count):
            names = names.add(isl.Id.read_from_str(order.get_ctx(), f"{self.letter}{number}"))
        return build.set_iterators(names).node_from_schedule_map(order)

    # ---- the host

    def _host(self, node: isl.AstNode) -> None:
        kind = node.get_type()
        if kind == BLOCK:
            self._siblings(_children(node))
        elif self._is_thread_code(node):
            self._kernel([node], [])
        elif kind == IF:
            self._host_branch(node)
        else:
            band = self._band(node)
            if band:
                self._kernel([band[-1].for_get_body()], band)
                return
            loop = _Loop(node)
            self.host.add(f"for {loop.name} in {loop.range}:")
            self._nested(node.for_get_body(), loop.name)

    def _siblings(self, nodes: list[isl.AstNode]) -> None:
        """Emit nodes in order: those next to each other that are a thread's are one kernel."""
        run: list[isl.AstNode] = []
        for each in nodes:
            if self._is_thread_code(each):
                run.append(each)
                continue
            if run:
                self._kernel(run, [])
            run = []
            self._host(each)
        if run:
            self._kernel(run, [])

    def _nested(self, node: isl.AstNode, name: str) -> None:
        self.outer.append(name)
        self.host.depth += 1
        self._host(node)
        self.host.depth -= 1
        self.outer.pop()

    def _host_branch(self, node: isl.AstNode) -> None:
        self.host.add(f"if {python(node.if_get_cond())}:")
        self.host.depth += 1
        self._host(node.if_get_then_node())
        self.host.depth -= 1
        if node.if_has_else_node():
            self.host.add("else:")
            self.host.depth += 1
            self._host(node.if_get_else_node())
            self.host.depth -= 1

    def _is_thread_code(self, node: isl.AstNode) -> bool:
        """Whether no loop in a node is parallel."""
        kind = node.get_type()
        if kind == USER:
            return True
        if kind == IF:
            inner = [node.if_get_then_node()]
            inner += [node.if_get_else_node()] if node.if_has_else_node() else []
            return all(map(self._is_thread_code, inner))
        if kind == FOR:
            return not self._is_parallel(node) and self._is_thread_code(node.for_get_body())
        return all(map(self._is_thread_code, _children(node)))

    def _is_parallel(self, node: isl.AstNode) -> bool:
        if node.for_is_degenerate():
            return False
        dimension, names = self._dimension(_Loop(node).name), set(_users(node))
        return self.polyhedra.is_parallel(names, dimension, self.order.map, self.order.count)

    def _dimension(self, name: str) -> int:
        return int(name[len(self.letter) :])

    def _band(self, node: isl.AstNode) -> list[isl.AstNode]:
        """Parallel loops that stand in each other, from a node on."""
        band: list[isl.AstNode] = []
        while len(band) < MOST_DIMENSIONS and node.get_type() == FOR and self._is_parallel(node):
            band.append(node)
            node = node.for_get_body()
        return band

    # ---- a kernel

    def _kernel(self, nodes: list[isl.AstNode], band: list[isl.AstNode]) -> None:
        """Add a kernel of nodes, whose threads are the loops of the band around them."""
        inside = {name for each in nodes for name in _users(each)}
        body = _Lines()
        kernel = _Body(self, inside, body)
        loops = [_Loop(each) for each in band]
        depth = max(map(_depth, nodes))
        deepest = {name for each in nodes for name in _users_at(each, depth)}
        order = self._x_first(band, deepest)
        for place, number in enumerate(order):
            name = loops[number].name
            body.add(f"{name} = {name}_first + {_THREADS[place]} * {loops[number].step}")
        for loop in loops:
            body.add(f"if {loop.name} >= {loop.first} and {loop.condition}:")
            body.depth += 1
            if loop.step > 1:
                body.add(f"if ({loop.name} - {loop.first}) % {loop.step} == 0:")
                body.depth += 1
        for each in nodes:
            kernel.walk(each)
        spans = [self._span(loops[number], inside) for number in order]
        number = len(self.kernels)
        name = f"{self.nest.name}_{number}"
        text = "\n".join(body.lines)
        words = dict.fromkeys(_WORD.findall(text))
        cells = [f"{each}_cell" for each in self.nest.variables if f"{each}_cell" in words]
        known = [*self.nest.tensors, *cells, *self.nest.scalars, *self.nest.extents, *self.outer]
        known += [f"{span.name}_first" for span in spans]
        arguments = tuple(dict.fromkeys(each for each in known if each in words))
        head = f"def {name}({', '.join(arguments)}):"
        text = f"{head}\n{text}\n"
        shown = tuple([self._loop_text(span, inside) for span in spans])
        self._add_cost(nodes, loops, order, deepest)
        self.kernels.append(KernelText(name, text, arguments, tuple(spans), shown))
        ranges = "".join(f"({each.first}, {each.last}, {each.step}), " for each in spans)
        given = "".join(f"{each}, " for each in arguments if not each.endswith("_first"))
        self.host.add(f"{self.launch}({number}, ({ranges}), ({given}))")

    def _loop_text(self, span: Span, inside: set[str]) -> str:
        """The text's loop that a loop of the order is."""
        moves = self.strides.moves(self._dimension(span.name), span.step, inside)
        texts = {each.name: each.text for s in self.nest.statements for each in s.loops}
        found = [texts[name] for steps in moves.values() for name, by in steps.items() if by > 0]
        return found[-1] if found else span.name

    def _x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        """The loops of a band by how many accesses they step through memory, most first."""

        def score(number: int) -> tuple[int, int]:
            loop = _Loop(band[number])
            found = self.strides.strides(self._dimension(loop.name), loop.step, inside)
            return found.count(Stride.ONE) - found.count(Stride.MANY), number

        return sorted(range(len(band)), key=score, reverse=True)

    def _add_cost(
        self, nodes: list[isl.AstNode], loops: list[_Loop], order: list[int], deepest: set[str]
    ) -> None:
        x = loops[order[0]] if loops else None
        found = self.strides.strides(self._dimension(x.name), x.step, deepest) if x else []
        self.is_strided = self.is_strided or Stride.MANY in found
        inner = max(map(_depth, nodes))
        self.cost += cost_of(self.rates, len(self.outer), len(loops), inner, found)

    def _span(self, loop: _Loop, inside: set[str]) -> Span:
        """The values of a loop of all threads, whatever the other loops of the band are."""
        dimension = self._dimension(loop.name)
        orders = self.order.map
        wanted = [s for s in self.nest.statements if s.name in inside]
        domains = [isl.UnionSet.from_set(self.polyhedra.domain(s)) for s in wanted]
        whole = domains[0]
        for each in domains[1:]:
            whole = whole.union(each)
        points = isl.Set.from_union_set(whole.apply(orders))
        hosts = [self._dimension(each) for each in self.outer]
        kind = isl.dim_type
        for shift, each in enumerate(sorted(hosts)):
            place = points.dim(kind.param)
            points = points.move_dims(kind.param, place, kind.set, each - shift, 1)
            points = points.set_dim_name(kind.param, place, f"{self.letter}{each}")
        place = dimension - sum(each < dimension for each in hosts)
        context = self.polyhedra.context
        ends: list[str] = []
        for bound in (points.dim_min(place), points.dim_max(place)):
            build = isl.AstBuild.from_context(context)
            ends.append(python(build.expr_from_pw_aff(bound.coalesce())))
        return Span(loop.name, ends[0], ends[1], loop.step)


_THREADS = ("cuda.grid(3)[0]", "cuda.grid(3)[1]", "cuda.grid(3)[2]")


class _Body:
    """The code of a thread."""

    def __init__(self, emitter: Emitter, inside: set[str], lines: _Lines) -> None:
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
            for each in _children(node):
                self.walk(each)
        elif kind == IF:
            self._branch(node)
        elif kind == FOR:
            loop = _Loop(node)
            self.lines.add(f"for {loop.name} in {loop.range}:")
            self.lines.depth += 1
            self.walk(node.for_get_body())
            self.lines.depth -= 1
        else:
            self._statement(node.user_get_expr())

    def _branch(self, node: isl.AstNode) -> None:
        self.lines.add(f"if {python(node.if_get_cond())}:")
        self.lines.depth += 1
        self.walk(node.if_get_then_node())
        self.lines.depth -= 1
        if node.if_has_else_node():
            self.lines.add("else:")
            self.lines.depth += 1
            self.walk(node.if_get_else_node())
            self.lines.depth -= 1

    def _statement(self, call: isl.AstExpr) -> None:
        lines, emitter = self.lines, self.emitter
        name = str(call.get_op_arg(0).get_id().get_name())
        statement = emitter.statements[name]
        for number, loop in enumerate(statement.loops):
            lines.add(f"{loop.text} = {python(call.get_op_arg(number + 1))}")
        depth = lines.depth
        for test in statement.tests:
            lines.add(f"if {self._cells(emitter.typing.test(test))}:")
            lines.depth += 1
        lines.add(self._cells(emitter.typing.assignment(statement, _target(emitter, statement))))
        lines.depth = depth

    def _cells(self, text: str) -> str:
        """A text whose variables that other kernels have too are elements of memory."""

        def element(match: re.Match[str]) -> str:
            word = match[0]
            if word not in self.shared:
                return word
            self.emitter.cells.setdefault(word)
            return f"{word}_cell[0]"

        return _WORD.sub(element, text)


def _target(emitter: Emitter, statement: Statement) -> str:
    node = statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, ast.Name):
        return target.id
    loaded = ast.Subscript(target.value, target.slice, ast.Load())  # type: ignore[attr-defined]  # an element
    return emitter.typing.expression(ast.copy_location(loaded, target))[0]


class _Loop:
    """A loop of isl's tree in Python's text."""

    def __init__(self, node: isl.AstNode) -> None:
        self.name = str(node.for_get_iterator().get_id().get_name())
        self.first = python(node.for_get_init())
        self.step = 1 if node.for_is_degenerate() else int(python(node.for_get_inc()))
        if node.for_is_degenerate():
            self.condition, self.range = f"{self.name} == {self.first}", f"({self.first},)"
            return
        self.condition = python(node.for_get_cond())
        bound = node.for_get_cond()
        last = python(bound.get_op_arg(1))
        if bound.get_op_type() == isl.ast_expr_op_type.le:
            last = f"{last} + 1"
        step = f", {self.step}" if self.step > 1 else ""
        self.range = f"range({self.first}, {last}{step})"


def _children(node: isl.AstNode) -> list[isl.AstNode]:
    found = node.block_get_children()
    return [found.get_at(n) for n in range(found.n_ast_node())]


def _depth(node: isl.AstNode) -> int:
    """The most loops in each other in a node."""
    kind = node.get_type()
    if kind == USER:
        return 0
    if kind == FOR:
        return (0 if node.for_is_degenerate() else 1) + _depth(node.for_get_body())
    if kind == IF:
        inner = [node.if_get_then_node()]
        inner += [node.if_get_else_node()] if node.if_has_else_node() else []
    else:
        inner = _children(node)
    return max(map(_depth, inner))


def _users_at(node: isl.AstNode, depth: int) -> list[str]:
    """The statements with so many loops around them in a node."""
    kind = node.get_type()
    if kind == USER:
        return _users(node) if depth == 0 else []
    if kind == FOR:
        return _users_at(node.for_get_body(), depth if node.for_is_degenerate() else depth - 1)
    if kind == IF:
        inner = [node.if_get_then_node()]
        inner += [node.if_get_else_node()] if node.if_has_else_node() else []
    else:
        inner = _children(node)
    return [name for each in inner for name in _users_at(each, depth)]


def _users(node: isl.AstNode) -> list[str]:
    """The names of the statements in a node."""
    kind = node.get_type()
    if kind == USER:
        return [str(node.user_get_expr().get_op_arg(0).get_id().get_name())]
    if kind == FOR:
        return _users(node.for_get_body())
    if kind == IF:
        inner = [node.if_get_then_node()]
        inner += [node.if_get_else_node()] if node.if_has_else_node() else []
    else:
        inner = _children(node)
    return [name for each in inner for name in _users(each)]
