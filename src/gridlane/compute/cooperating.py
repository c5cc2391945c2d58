"""The text of threads that share the sums of an iteration: lanes along x, or parts along y.

Lanes are a warp or a block: all of them run the statements of an iteration, one of them writes to
tensors, and they divide the innermost loops of sums and of parallel loops. Parts are along y of a
block whose threads along x are iterations, and divide the outermost loops of sums. Each adds up for
itself; the sums of all are added in one order, so that results are the same at every call.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl

from gridlane.compute.combining import WARP, Combiner, Way, joined, neutral
from gridlane.compute.expressions import FOR, USER
from gridlane.compute.model import Statement
from gridlane.compute.sharing import Scope, Sharing, loops_in, parts_of
from gridlane.compute.threads import Body, Context, Lines, in_place, target_of
from gridlane.compute.tree import Loop, users
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen

_AT_ONCE = 8
"""Iterations of a divided loop of one statement that a thread loads at once."""
_ROOMY, _WORD = 512, 4
"""Threads of a block that have registers for iterations of wider elements, in bytes."""


@frozen
class Divided:
    """A loop and its statements."""

    loop: Loop
    statements: frozenset[str]


class Unshared(Exception):
    """Why threads do not share an iteration."""


class Shared(Body):
    """The code of threads that share sums.

    Args:
        prefix: of names that the function has not.
        is_second: of the kernel that adds what blocks have.

    Attributes:
        arrays: the types of the arrays of what blocks have, in order.
        divided: the loops that are divided.
        scopes: the loops of sums that are.
        guard: the text of what iterations are the loops', where threads along x differ in it.
    """

    def __init__(
        self, emitter: Context, inside: set[str], lines: Lines, sharing: Sharing, way: Way,
        prefix: str, is_second: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(emitter, inside, lines)
        self.sharing, self.way, self.prefix, self.is_second = sharing, way, prefix, is_second
        self.arrays: list[DType] = []
        self.combiner = Combiner(lines, way, prefix)
        self.around = 0
        self.divided: list[Divided] = []
        self.scopes: list[Divided] = []
        self.guard = ""
        self.replaced: dict[str, str] = {}
        self.scope: Scope | None = None

    # ---- what all threads run

    def walk(self, node: isl.AstNode) -> None:
        if self.scope is not None or node.get_type() != FOR:
            super().walk(node)
            return
        loop, scope = Loop(node), self.sharing.scope(node)
        if isinstance(scope, Scope):
            self._divide(node, loop, scope)
        elif self.way.is_lanes and self.sharing.is_parallel(node):
            self._sync(node)
            self._divided(node, loop)
            self._sync(node)
        else:
            self.around += not node.for_is_degenerate()
            self._in_turn(node, loop)
            self.around -= not node.for_is_degenerate()

    def _in_turn(self, node: isl.AstNode, loop: Loop) -> None:
        with self.lines.block(f"for {loop.name} in {loop.range}:"):
            self.walk(node.for_get_body())

    def _loop(self, node: isl.AstNode, loop: Loop) -> None:
        if self.scope is None:
            self.walk(node)
        elif loop.name in self.scope.lanes and self.way.is_lanes:
            self._divided(node, loop)
        else:
            self._in_turn(node, loop)

    def _statement(self, call: isl.AstExpr) -> None:
        name = str(call.get_op_arg(0).get_id().get_name())
        statement = self.emitter.statements[name]
        is_sum = self.scope is not None and statement in self.scope.sums
        is_tensor = statement.write.name in self.emitter.nest.tensors
        if self.is_dividing or not (is_tensor or is_sum):
            super()._statement(call)
            return
        is_met = is_tensor and self.scope is None and not self.guard and self._is_met(statement)
        with self._synced(is_met), self.lines.block(f"if {self.way.thread} == 0:"):
            super()._statement(call)

    is_dividing = False

    # ---- loops that are divided

    def _divided(self, node: isl.AstNode, loop: Loop, blocks: str = "") -> None:
        """Emit a loop whose iterations the threads take in turn."""
        self.divided.append(Divided(loop, frozenset(users(node))))
        before, self.is_dividing = self.is_dividing, True
        threads, name, lines = self.way.threads, loop.name, self.lines
        first = self.way.thread
        step = f"{threads * loop.step}"
        if blocks:
            first = f"({first} + cuda.blockIdx.z * {threads})"
            step = f"(cuda.gridDim.z * {threads * loop.step})"
        start, rest = f"{name}_start", f"{name}_rest"
        lines.add(f"{start} = {loop.first} + {first} * {loop.step}")
        lines.add(f"{name}_step = {step}")
        step = f"{name}_step"
        if len(loops_in(node)) == 1:
            times = self._times(users(node))
            whole, last = f"{times} * {step}", f"{loop.end} - {times - 1} * {step}"
            count = f"max(0, ({last} - {start} + {whole} - 1) // ({whole}))"
            lines.add(f"{rest} = {start} + {count} * ({whole})")
            with lines.block(f"for {name}_many in range({start}, {rest}, {whole}):"):
                for number in range(times):
                    lines.add(f"{name} = {name}_many" + (f" + {number} * {step}" if number else ""))
                    self.walk_inside(node.for_get_body())
            start = rest
        with lines.block(f"for {name} in range({start}, {loop.end}, {step}):"):
            self.walk_inside(node.for_get_body())
        self.is_dividing = before

    def _times(self, names: list[str]) -> int:
        """Iterations whose registers a thread of a block has."""
        tensors, widest = self.emitter.nest.tensors, 1
        for name in names:
            reads = [a.name for a in self.emitter.statements[name].reads if a.name in tensors]
            widest = max([widest, *(tensors[each].dtype.size for each in reads)])
        is_full = self.way.threads * self.way.across > _ROOMY and widest > _WORD
        return _AT_ONCE if len(names) == 1 and not is_full else _AT_ONCE // 2

    def divided_alone(self, node: isl.AstNode) -> None:
        """Emit a parallel loop whose iterations the threads take in turn."""
        self._divided(node, Loop(node))

    def walk_inside(self, node: isl.AstNode) -> None:
        """Emit what one thread runs alone."""
        kept, self.scope = self.scope, self.scope or _ALONE
        super().walk(node)
        self.scope = kept

    def _divide(self, node: isl.AstNode, loop: Loop, scope: Scope) -> None:
        """Emit a scope: each thread's sums, then those of all."""
        lines = self.lines
        self.scopes.append(Divided(loop, frozenset(users(node))))
        number, sums = len(self.scopes), self._targets(scope)
        names = {text: f"{self.prefix}_{number}_{place}" for place, text in enumerate(sums)}
        guards = [f"if {self.guard}:"] if self.guard else []
        for text, (_, kind, operator) in sums.items():
            lines.add(f"{names[text]}_all = {neutral(operator, kind)}")
        with lines.block(*guards):
            if self.is_second:
                self._add_arrays(sums, names)
            else:
                self._add_own(node, loop, scope, sums, names)
        for text, (_, kind, operator) in sums.items():
            if not self.is_second or self.way.is_lanes:
                self.combiner.add(f"{names[text]}_all", kind, operator)
        with lines.block(*guards):
            for text, (statement, kind, operator) in sums.items():
                total = f"{names[text]}_all"
                if self.way.is_apart and not self.is_second:
                    place = f"cuda.blockIdx.z, {self._place()}"
                    with lines.block(f"if {self.way.thread} == 0:"):
                        lines.add(f"{self.prefix}_blocks_{len(self.arrays)}[{place}] = {total}")
                    self.arrays.append(kind)
                else:
                    self._add_total(node, statement, text, joined(operator, text, total, kind))

    def _add_total(self, node: isl.AstNode, statement: Statement, target: str, value: str) -> None:
        """Emit the sum of all, which one thread writes to a tensor."""
        is_tensor = statement.write.name in self.emitter.nest.tensors
        heads = [f"if {self.way.thread} == 0:"] if is_tensor else []
        with self._synced(is_tensor and not self.guard and self._is_met(statement)):
            self._set_outer(statement, node)
            with self.lines.block(*heads):
                self.lines.add(f"{target} = {value}")

    def _place(self) -> str:
        return f"cuda.blockIdx.y, cuda.blockIdx.x * {self.way.across} + {self.way.iteration}"

    def _targets(self, scope: Scope) -> dict[str, tuple[Statement, DType, str]]:
        """What the sums of a scope add to."""
        found: dict[str, tuple[Statement, DType, str]] = {}
        for each in scope.sums:
            kind = self.emitter.typing.type_of(each.write.name)
            found[target_of(self.emitter.typing, each)] = each, kind, each.operator
        return found

    def _add_own(
        self, node: isl.AstNode, loop: Loop, scope: Scope,
        sums: dict[str, tuple[Statement, DType, str]], names: dict[str, str],
    ) -> None:  # fmt: skip
        """Emit what one thread adds up."""
        lines, kept = self.lines, self.replaced
        variables = [
            t for t, (s, _, _) in sums.items() if s.write.name in self.emitter.nest.variables
        ]
        for text, (_, kind, operator) in sums.items():
            if text in variables:
                lines.add(f"{names[text]}_before = {text}")
                lines.add(f"{text} = {neutral(operator, kind)}")
        self.replaced = {text: f"{names[text]}_all" for text in sums if text not in variables}
        self.scope = scope
        is_apart = self.way.is_apart
        if not self.way.is_lanes or (is_apart and loop.name in scope.lanes):
            self._divided(node, loop, "z" if is_apart else "")
        elif is_apart:
            step = f"cuda.gridDim.z * {loop.step}"
            start = f"{loop.first} + cuda.blockIdx.z * {loop.step}"
            with lines.block(f"for {loop.name} in range({start}, {loop.end}, {step}):"):
                super().walk(node.for_get_body())
        else:
            self._loop(node, loop)
        self.scope, self.replaced = None, kept
        for text in variables:
            lines.add(f"{names[text]}_all = {text}")
            lines.add(f"{text} = {names[text]}_before")

    def _add_arrays(
        self, sums: dict[str, tuple[Statement, DType, str]], names: dict[str, str]
    ) -> None:
        """Emit what one thread adds of what blocks have."""
        lines, name = self.lines, f"{self.prefix}_block"
        first, step = ("cuda.threadIdx.x", self.way.threads) if self.way.is_lanes else ("0", 1)
        for text, (_, kind, operator) in sums.items():
            total = f"{names[text]}_all"
            one = f"{self.prefix}_blocks_{len(self.arrays)}[{name}, {self._place()}]"
            lines.add(f"for {name} in range({first}, {self.prefix}_count, {step}):")
            lines.add(f"    {total} = {joined(operator, total, one, kind)}")
            self.arrays.append(kind)

    # ---- memory

    def _add_sync(self) -> None:
        is_warp = self.way.threads == WARP and self.way.across > 1
        self.lines.add("cuda.syncwarp()" if is_warp else "cuda.syncthreads()")

    @contextmanager
    def _synced(self, is_needed: bool) -> Generator[None]:
        """Synchronise before and after what is added in the ``with``."""
        if is_needed:
            self._add_sync()
        yield
        if is_needed:
            self._add_sync()

    def _sync(self, node: isl.AstNode) -> None:
        written = [self.emitter.statements[each] for each in set(users(node))]
        written = [e for e in written if e.write.name in self.emitter.nest.tensors]
        if written and (self.around or any(map(self._is_met, written))):
            self._add_sync()

    def _is_met(self, statement: Statement) -> bool:
        """Whether other statements of the kernel access a tensor that one writes."""
        same = self.emitter.polyhedra.same
        memory = same.get(statement.write.name, statement.write.name)
        for name in self.inside:
            other = self.emitter.statements[name]
            for each in (other.write, *other.reads):
                is_own = other is statement and each.name == statement.write.name
                if not is_own and same.get(each.name, each.name) == memory:
                    return True
        return False

    def _set_outer(self, statement: Statement, node: isl.AstNode) -> None:
        """Assign the loops around a scope their values, where its sum's element has them."""
        call = _call_of(node, statement.name)
        inner = {each.name for each in loops_in(node)}
        used = {w for each in statement.write.indices or () for w in _WORDS.findall(each)}
        for loop, text in self._indices(call, statement).items():
            if loop.name in used:
                if inner & set(_WORDS.findall(text)):
                    raise Unshared(f"{statement.write.name} depends on inner loops")
                self.lines.add(f"{loop.text} = {text}")

    def _cells(self, text: str) -> str:
        for target, name in self.replaced.items():
            text = in_place(text, target, name)
        return super()._cells(text)


_ALONE = Scope((), frozenset(), ())
_WORDS = re.compile(r"[A-Za-z_]\w*")


def _call_of(node: isl.AstNode, name: str) -> isl.AstExpr:
    """The first call of a statement in a node."""
    kind = node.get_type()
    if kind == USER:
        return node.user_get_expr()
    inner = [node.for_get_body()] if kind == FOR else parts_of(node)
    return _call_of(next(each for each in inner if name in users(each)), name)
