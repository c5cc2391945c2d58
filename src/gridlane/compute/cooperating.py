"""The text of threads that share the sums of an iteration: lanes along x, or parts along y.

Lanes are a warp or a block: all of them run the statements of an iteration, one of them writes to
tensors, and they divide the innermost loops of sums and of parallel loops. Parts are along y of a
block whose threads along x are iterations, and divide the outermost loops of sums. Each adds up for
itself; the sums of all are added in one order, so that results are the same at every call.
"""

from __future__ import annotations

import re

import islpy as isl
import numpy as np

from gridlane.compute.expressions import FOR, USER
from gridlane.compute.model import Statement
from gridlane.compute.sharing import Scope, Sharing, loops_in, parts_of
from gridlane.compute.threads import Body, Context, Lines, in_place, target_of
from gridlane.compute.tree import Loop, users
from gridlane.compute.typing import NAMES
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen

WARP = 32
_AT_ONCE = 8
"""Iterations of a divided loop of one statement that a thread loads at once."""
_ROOMY, _WORD = 512, 4
"""Threads of a block that have registers for iterations of wider elements, in bytes."""


@frozen
class Way:
    """How threads divide the sums of an iteration.

    Attributes:
        is_lanes: they are along x, else along y.
        threads: how many share an iteration.
        across: iterations of a block.
        is_apart: blocks divide the loops too, and another kernel adds what each has.
        order: of tiles in shared memory, which loops are x, y and z.
    """

    is_lanes: bool
    threads: int
    across: int
    is_apart: bool = False
    order: tuple[int, ...] = ()


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
        head: texts of arrays in shared memory, by their names.
        guard: the text of what iterations are the loops', where threads along x differ in it.
    """

    def __init__(
        self, emitter: Context, inside: set[str], lines: Lines, sharing: Sharing, way: Way,
        prefix: str, is_second: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(emitter, inside, lines)
        self.sharing, self.way, self.prefix, self.is_second = sharing, way, prefix, is_second
        self.arrays: list[DType] = []
        self.head: dict[str, str] = {}
        self.around = 0
        self.divided: list[Divided] = []
        self.scopes: list[Divided] = []
        self.guard = ""
        self.where = "threadIdx.x" if way.is_lanes else "threadIdx.y"
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
        self.lines.add(f"for {loop.name} in {loop.range}:")
        self.lines.depth += 1
        self.walk(node.for_get_body())
        self.lines.depth -= 1

    def _loop(self, node: isl.AstNode, loop: Loop) -> None:
        if self.scope is None:
            self.walk(node)
        elif loop.name in self.scope.lanes and self.way.is_lanes:
            self._divided(node, loop)
        else:
            self._in_turn(node, loop)

    def _statement(self, call: isl.AstExpr) -> None:
        name = str(call.get_op_arg(0).get_id().get_name())
        statement, lines, depth = self.emitter.statements[name], self.lines, self.lines.depth
        is_sum = self.scope is not None and statement in self.scope.sums
        is_tensor = statement.write.name in self.emitter.nest.tensors
        is_one = is_tensor or is_sum
        if self.is_dividing or not is_one:
            super()._statement(call)
            return
        is_met = is_tensor and self.scope is None and not self.guard and self._is_met(statement)
        if is_met:
            self._add_sync()
        lines.add(f"if cuda.{self.where} == 0:")
        lines.depth += 1
        super()._statement(call)
        lines.depth = depth
        if is_met:
            self._add_sync()

    is_dividing = False

    # ---- loops that are divided

    def _divided(self, node: isl.AstNode, loop: Loop, blocks: str = "") -> None:
        """Emit a loop whose iterations the threads take in turn."""
        self.divided.append(Divided(loop, frozenset(users(node))))
        before, self.is_dividing = self.is_dividing, True
        threads, name, lines = self.way.threads, loop.name, self.lines
        first = f"cuda.{self.where}"
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
            lines.add(f"for {name}_many in range({start}, {rest}, {whole}):")
            lines.depth += 1
            for number in range(times):
                lines.add(f"{name} = {name}_many" + (f" + {number} * {step}" if number else ""))
                self.walk_inside(node.for_get_body())
            lines.depth -= 1
            start = rest
        lines.add(f"for {name} in range({start}, {loop.end}, {step}):")
        lines.depth += 1
        self.walk_inside(node.for_get_body())
        lines.depth -= 1
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
        lines, depth = self.lines, self.lines.depth
        self.scopes.append(Divided(loop, frozenset(users(node))))
        number = len(self.scopes)
        sums = self._targets(scope)
        names = {text: f"{self.prefix}_{number}_{place}" for place, text in enumerate(sums)}
        for text, (_, kind, operator) in sums.items():
            lines.add(f"{names[text]}_all = {neutral(operator, kind)}")
        if self.guard:
            lines.add(f"if {self.guard}:")
            lines.depth += 1
        if self.is_second:
            self._add_arrays(sums, names)
        else:
            self._add_own(node, loop, scope, sums, names)
        lines.depth = depth
        for text, (_, kind, operator) in sums.items():
            if not self.is_second or self.way.is_lanes:
                self._combine(f"{names[text]}_all", kind, operator)
        if self.guard:
            lines.add(f"if {self.guard}:")
            lines.depth += 1
        for text, (statement, kind, operator) in sums.items():
            total = f"{names[text]}_all"
            if self.way.is_apart and not self.is_second:
                place = f"cuda.blockIdx.z, {self._place()}"
                lines.add(f"if cuda.{self.where} == 0:")
                lines.add(f"    {self.prefix}_blocks_{len(self.arrays)}[{place}] = {total}")
                self.arrays.append(kind)
                continue
            is_tensor = statement.write.name in self.emitter.nest.tensors
            is_met = is_tensor and not self.guard and self._is_met(statement)
            if is_met:
                self._add_sync()
            self._set_outer(statement, node)
            indent = ""
            if is_tensor:
                lines.add(f"if cuda.{self.where} == 0:")
                indent = "    "
            lines.add(f"{indent}{text} = {joined(operator, text, total, kind)}")
            if is_met:
                self._add_sync()
        lines.depth = depth

    def _place(self) -> str:
        across = self.way.across
        first = "cuda.threadIdx.y" if self.way.is_lanes else "cuda.threadIdx.x"
        return f"cuda.blockIdx.y, cuda.blockIdx.x * {across} + {first}"

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
            lines.add(f"for {loop.name} in range({start}, {loop.end}, {step}):")
            lines.depth += 1
            super().walk(node.for_get_body())
            lines.depth -= 1
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

    def _combine(self, name: str, kind: DType, operator: str) -> None:
        """Emit the sum of what threads have, in one order."""
        lines, threads = self.lines, self.way.threads
        if self.way.is_lanes and threads % WARP == 0:
            steps = [1 << n for n in reversed(range(5))]
            for step in steps:
                other = _shuffled(f"cuda.shfl_xor_sync(0xffffffff, {{}}, {step})", name, kind)
                lines.add(f"{name} = {joined(operator, name, other, kind)}")
            if threads == WARP:
                if kind.is_float and operator in ("min", "max"):  # of NaN, lanes could have others
                    first = _shuffled("cuda.shfl_sync(0xffffffff, {}, 0)", name, kind)
                    lines.add(f"{name} = {first}")
                return
            self._through_memory(
                name, kind, operator, threads // WARP, f"// {WARP}", f"% {WARP} == 0"
            )
            return
        self._through_memory(name, kind, operator, threads, "", "")

    def _through_memory(
        self, name: str, kind: DType, operator: str, count: int, place: str, test: str
    ) -> None:
        lines, lanes = self.lines, self.way.is_lanes
        array, where = f"{self.prefix}_shared_{kind}", f"cuda.{self.where} {place}".strip()
        own = "" if lanes else ", cuda.threadIdx.x"
        shape = f"({count},)" if lanes else f"({count}, {self.way.across})"
        self.head[array] = f"{array} = cuda.shared.array({shape}, {NAMES[str(kind)]})"
        indent = ""
        if test:
            lines.add(f"if cuda.{self.where} {test}:")
            indent = "    "
        lines.add(f"{indent}{array}[{where}{own}] = {name}")
        lines.add("cuda.syncthreads()")
        if not lanes and count & (count - 1) == 0:
            half = count // 2
            while half:
                lines.add(f"if {where} < {half}:")
                one, other = f"{array}[{where}{own}]", f"{array}[{where} + {half}{own}]"
                lines.add(f"    {one} = {joined(operator, one, other, kind)}")
                lines.add("cuda.syncthreads()")
                half //= 2
            lines.add(f"{name} = {array}[0{own}]")
            lines.add("cuda.syncthreads()")
            return
        lines.add(f"{name} = {array}[0{own}]")
        one = f"{array}[{self.prefix}_other{own}]"
        lines.add(f"for {self.prefix}_other in range(1, {count}):")
        lines.add(f"    {name} = {joined(operator, name, one, kind)}")
        lines.add("cuda.syncthreads()")

    # ---- memory

    def _add_sync(self) -> None:
        is_warp = self.way.threads == WARP and self.way.across > 1
        self.lines.add("cuda.syncwarp()" if is_warp else "cuda.syncthreads()")

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


def neutral(operator: str, kind: DType) -> str:
    """The text of the value that changes nothing."""
    name = NAMES[str(kind)]
    if operator in ("min", "max"):
        if kind.is_float:
            return f"{name}(float('{'' if operator == 'min' else '-'}inf'))"
        known = np.iinfo(f"{'int' if str(kind)[0] == 'i' else 'uint'}{kind.size * 8}")
        return f"{name}({known.max if operator == 'min' else known.min})"
    if operator == "&":
        return f"{name}({-1 if str(kind)[0] == 'i' else (1 << kind.size * 8) - 1})"
    return f"{name}({1 if operator == '*' else 0})"


def joined(operator: str, one: str, other: str, kind: DType) -> str:
    """The text of a reduction of two values."""
    if operator in ("min", "max"):
        return f"{NAMES[str(kind)]}({operator}({one}, {other}))"
    return f"{NAMES[str(kind)]}({one} {operator} {other})"


def _shuffled(call: str, name: str, kind: DType) -> str:
    """The text of another lane's value; warps shuffle 32 and 64 bits."""
    if kind.size >= 4:
        return call.format(name)
    wide = NAMES["f32"] if kind.is_float else NAMES["i32"]
    return f"{NAMES[str(kind)]}({call.format(f'{wide}({name})')})"
