"""Kernels whose sums several threads add up, for launches of too few threads without that.

A launch chooses by the iterations that it has: the kernel of one thread each, or one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Protocol

import islpy as isl

from gridlane.compute.combining import WARP, Way, neutral
from gridlane.compute.cooperating import Divided, Shared, Unshared
from gridlane.compute.expressions import BLOCK, FOR, USER
from gridlane.compute.lanes import tests_of
from gridlane.compute.model import Statement
from gridlane.compute.schedules import Order
from gridlane.compute.sharing import Scope, Sharing, innermost_loops, parts_of
from gridlane.compute.strides import Rates, Stride, Strides, cost_of
from gridlane.compute.threads import WORD, Context, Lines
from gridlane.compute.tree import Loop, children, depth_of, users
from gridlane.core.frozen import frozen

LANES = Way(True, WARP, 8), Way(True, 256, 1), Way(True, 256, 1, True)
PARTS = Way(False, 8, 32), Way(False, 32, 32), Way(False, 8, 32, True)
_MOST_LOOPS = 2
"""Loops that are threads, where others share each of their iterations."""
_FEW = 16
"""Iterations of a divided loop for each thread, from which on blocks divide it too."""
_MOST_BLOCKS = 65535


@frozen
class SplitText:
    """Kernels of threads that share iterations.

    Attributes:
        texts: of one function, or of one that adds up and of one that adds what blocks have.
        names: of the functions.
        arguments: of each.
        count: the argument of how many blocks there are.
        arrays: the types of what blocks have, which are arguments of both, by name.
        blocks: how many divide each sum by the user's schedule; 0 if a launch chooses.
    """

    way: Way
    texts: tuple[str, ...]
    names: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]
    count: str
    arrays: Mapping[str, str] = field(default_factory=dict[str, str])
    blocks: int = 0

    def shape(
        self, place: int, counts: Sequence[int], blocks: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The grid and the block of one of its kernels.

        Args:
            counts: iterations of the loops that are threads, x first.
        """
        way = self.way if place == 0 else second_of(self.way)
        if way.order:
            x, y, *z = [counts[each] for each in way.order]
            return (-(-x // way.across), -(-y // way.across), *z), (way.across, way.threads)
        block = (way.threads, way.across) if way.is_lanes else (way.across, way.threads)
        x, y = [*counts, 1, 1][:2]
        return (-(-x // way.across), y, blocks if place == 0 else 1), block


@frozen
class Splits:
    """What a kernel may be in place of one thread for each iteration.

    Attributes:
        texts: the kernels.
        scopes, divided: the loops of sums, and those that threads divide.
        notes: what is split and why, or why nothing is, for ``explain``.
        is_strided: iterations along x are not next to each other in memory, and those of the
            divided loops are.
        cost: see ``strides.cost_of``.
    """

    texts: tuple[SplitText, ...] = ()
    scopes: tuple[Divided, ...] = ()
    divided: tuple[Divided, ...] = ()
    notes: tuple[str, ...] = ()
    is_strided: bool = False
    cost: float = 0.0

    def lengths(self, span_of: Callable[[Loop, set[str]], Any]) -> str:
        """The text of how many iterations the loops of sums have, and those that threads divide,
        and whether these are other loops.

        Args:
            span_of: the first and last value of a loop of some statements, on the host.
        """
        found: list[str] = []
        for loops in (self.scopes, self.divided):
            spans = [span_of(each.loop, {*each.statements}) for each in loops]
            counts = [f"(({s.last}) - ({s.first})) // {s.step} + 1" for s in spans]
            text = counts[0]
            for each in counts[1:]:
                text = f"max({text}, {each})"
            found.append(text)
        around, inmost = ({each.loop.name for each in x} for x in (self.scopes, self.divided))
        return f"({', '.join(found)}, {around != inmost})"


class Source(Context, Protocol):
    """The nest that is emitted."""

    order: Order
    strides: Strides
    rates: Rates
    outer: list[str]

    def dimension(self, name: str) -> int:
        """The dimension of the order that a loop is."""
        ...


class Rewriter:
    """One kernel, and what others may stand in its place.

    Args:
        nodes: what its threads run.
        loops: those that are threads, x first.
        known: names of the arguments of the kernel.

    Attributes:
        inside: the names of its statements.
        prefix: of names in its text.
    """

    def __init__(
        self, source: Source, nodes: list[isl.AstNode], loops: list[Loop], name: str,
        known: Sequence[str],
    ) -> None:  # fmt: skip
        self.source, self.nodes, self.loops = source, nodes, loops
        self.name, self.known = name, known
        self.inside = sorted({name for each in nodes for name in users(each)})
        self.statements = [source.statements[each] for each in self.inside]
        self.prefix = f"{source.letter}0g"


class Splitter(Rewriter):
    """Splits the sums of one kernel."""

    @cached_property
    def sharing(self) -> Sharing:
        """How threads share loops of the nest."""
        return Sharing(self.source)

    def splits(self, ways: Sequence[Way] = (), blocks: int = 0) -> Splits:
        """The kernels.

        Args:
            ways: how threads divide sums; those for GPUs by default.
            blocks: how many divide each sum, where that is the user's choice.
        """
        outer = [scope for each in self.nodes for scope in self._outermost(each)]
        scopes = [node for node, scope in outer if isinstance(scope, Scope)]
        reasons = self._reasons(outer)
        if reasons or not scopes:
            return Splits(notes=reasons)
        score_x, score = self._scores(scopes)
        is_lanes = not self.loops or score >= score_x
        flat, is_simple = self._flat()
        if not is_lanes and flat is None:
            return Splits(notes=("sums along y stand in other loops or conditions",))
        texts: list[SplitText] = []
        divided: dict[str, Divided] = {}
        inmost: dict[str, Divided] = {}
        for way in ways or (LANES if is_lanes else PARTS):
            if way.is_lanes != is_lanes or (way.is_apart and not (flat and is_simple)):
                continue
            try:
                text, body = self._text(way if self.loops else replace(way, across=1), flat)
            except Unshared as error:
                return Splits(notes=(str(error),))
            if not all(set(each) <= {*self.known, *self._extra(text)} for each in text.arguments):
                return Splits(notes=("it has other arguments",))
            texts.append(replace(text, blocks=blocks))
            divided |= {each.loop.name: each for each in body.scopes}
            inmost |= {each.loop.name: each for each in body.divided}
        if not texts:
            return Splits(notes=("blocks divide sums that depend on nothing else in the kernel",))
        names = {each.write.name for node in scopes for each in self._sums(node)}
        axis = "x, which step along memory" if is_lanes else "y"
        note = f"sums in {', '.join(sorted(names))} by several threads along {axis}"
        return Splits(
            tuple(texts), tuple(divided.values()), tuple(inmost.values()), (note,),
            is_lanes and score > score_x, self._cost([*inmost.values()], is_lanes),
        )  # fmt: skip

    def _reasons(self, outer: list[tuple[isl.AstNode, Scope | str]]) -> tuple[str, ...]:
        """Why threads do not share sums, whatever these are."""
        if not any(isinstance(scope, Scope) for _, scope in outer):
            return tuple(dict.fromkeys(each for _, each in outer if each and isinstance(each, str)))
        if len(self.loops) > _MOST_LOOPS:
            return ("three loops are threads",)
        cells = ", ".join(self._cells())
        return (f"other kernels read {cells}",) if cells else ()

    def _cost(self, divided: list[Divided], is_lanes: bool) -> float:
        """The cost of the kernels: the loop that threads divide is one of threads."""
        strides, source = self.source.strides, self.source
        found: list[Stride] = []
        for each in divided:
            loop = each.loop if is_lanes else self.loops[0]
            number = source.dimension(loop.name)
            found += strides.strides(number, loop.step, {*each.statements})
        inner = max(0, max(map(depth_of, self.nodes)) - 1)
        return cost_of(source.rates, len(source.outer), len(self.loops) + 1, inner, found)

    def _sums(self, node: isl.AstNode) -> tuple[Statement, ...]:
        scope = self.sharing.scope(node)
        assert isinstance(scope, Scope)
        return scope.sums

    def _outermost(self, node: isl.AstNode) -> list[tuple[isl.AstNode, Scope | str]]:
        """The outermost scopes in a node, and loops without any."""
        kind = node.get_type()
        if kind == USER:
            return []
        if kind == FOR:
            scope = self.sharing.scope(node)
            if isinstance(scope, Scope):
                return [(node, scope)]
            inner = self._outermost(node.for_get_body())
            return inner or [(node, scope)]
        return [found for each in parts_of(node) for found in self._outermost(each)]

    def _cells(self) -> list[str]:
        """Variables that other kernels have too."""
        found: list[str] = []
        for each in self.source.nest.statements:
            names = {each.write.name, *(read.name for read in each.reads)}
            if each.name not in self.inside:
                found += [name for name in self.source.nest.variables if name in names]
        mine = [s for s in self.source.nest.statements if s.name in self.inside]
        used = {a.name for s in mine for a in (s.write, *s.reads)}
        return [name for name in dict.fromkeys(found) if name in used]

    def _scores(self, scopes: list[isl.AstNode]) -> tuple[int, int]:
        """How well accesses of sums step along x, and along the innermost loops of the sums."""
        along: list[Stride] = []
        across: list[Stride] = []
        strides = self.source.strides
        for scope in scopes:
            for node in innermost_loops(scope):
                names, loop = set(users(node)), Loop(node)
                along += strides.strides(self.source.dimension(loop.name), loop.step, names)
                if self.loops:
                    x = self.loops[0]
                    across += strides.strides(self.source.dimension(x.name), x.step, names)
        return (
            across.count(Stride.ONE) - across.count(Stride.MANY),
            along.count(Stride.ONE) - along.count(Stride.MANY),
        )

    # ---- flat ones

    def _flat(self) -> tuple[list[isl.AstNode] | None, bool]:
        """Statements and loops in order, where no condition nor loop is around those of sums; and
        whether sums depend on nothing that the threads compute before."""
        items: list[isl.AstNode] = []
        pending = [*self.nodes]
        while pending:
            node = pending.pop(0)
            if node.get_type() == BLOCK:
                pending = [*children(node), *pending]
                continue
            items.append(node)
        nest, same = self.source.nest, self.source.polyhedra.same
        mine = self.statements
        written = {same.get(s.write.name, s.write.name) for s in mine} & {*nest.tensors}
        is_simple = True
        for node in items:
            statements = [self.source.statements[each] for each in set(users(node))]
            reads = [a.name for s in statements for a in s.reads if a.name != s.write.name]
            scope = self.sharing.scope(node) if node.get_type() == FOR else ""
            if isinstance(scope, Scope):
                own = {s.write.name for s in scope.sums} | scope.locals
                others = {same.get(each, each) for each in reads}
                if others & written:
                    return None, False
                is_simple = is_simple and not {*reads} & {*nest.variables} - own
            elif node.get_type() == FOR and self.sharing.is_parallel(node):
                known = {same.get(s.write.name, s.write.name) for s in statements}
                all_reads = {same.get(a.name, a.name) for s in mine for a in s.reads}
                if known & all_reads or {same.get(each, each) for each in reads} & written:
                    return None, False
                is_simple = False
            elif node.get_type() != USER or (
                any(s.write.name in nest.variables for s in statements)
                and ({same.get(each, each) for each in reads} & written)
            ):
                return None, False
        return items, is_simple

    # ---- texts

    def _text(self, way: Way, flat: list[isl.AstNode] | None) -> tuple[SplitText, Shared]:
        if not way.is_apart:
            text, arguments, body = self._kernel(way, self.name, flat if not way.is_lanes else None)
            return SplitText(way, (text,), (self.name,), (arguments,), self._count), body
        first, second = f"{self.name}_blocks", f"{self.name}_sums"
        assert flat is not None
        scopes = [n for n in flat if n.get_type() == FOR]
        one, arguments, body = self._kernel(way, first, scopes)
        other, more, _ = self._kernel(second_of(way), second, flat, True)
        arrays = {f"{self.prefix}_blocks_{n}": str(kind) for n, kind in enumerate(body.arrays)}
        names, both = (first, second), (arguments, more)
        return SplitText(way, (one, other), names, both, self._count, arrays), body

    @property
    def _count(self) -> str:
        return f"{self.prefix}_count"

    def _kernel(
        self, way: Way, name: str, flat: list[isl.AstNode] | None, is_second: bool = False
    ) -> tuple[str, tuple[str, ...], Shared]:
        lines, source = Lines(), self.source
        places = [f"(cuda.blockIdx.x * {way.across} + {way.iteration})", "cuda.blockIdx.y"]
        for loop, place in zip(self.loops, places):
            lines.add(f"{loop.name} = {loop.name}__first + {place} * {loop.step}")
        body = Shared(source, set(self.inside), lines, self.sharing, way, self.prefix, is_second)
        tests = [each for loop in reversed(self.loops) for each in tests_of(loop)]
        self._start(lines)
        if flat is not None and not way.is_lanes:
            body.guard, tests = " and ".join(f"({each})" for each in tests), []
        with lines.block(*(f"if {each}:" for each in tests)):
            for node in self.nodes if flat is None else flat:
                self._add(body, node)
        heads = [f"    {each}" for each in body.combiner.head.values()]
        text = "\n".join(heads + (lines.lines or ["    pass"]))
        words = {*WORD.findall(text)}
        firsts = [f"{loop.name}__first" for loop in self.loops]
        own = [f"{self.prefix}_blocks_{n}" for n in range(len(body.arrays))]
        own.append(self._count)
        names = dict.fromkeys((*self.known, *firsts, *own))
        arguments = tuple([each for each in names if each in words])
        return f"def {name}({', '.join(arguments)}):\n{text}\n", arguments, body

    def _extra(self, text: SplitText) -> list[str]:
        return [*text.arrays, self._count, *(f"{loop.name}__first" for loop in self.loops)]

    def _start(self, lines: Lines) -> None:
        """Assign variables, whose own assignments may be in conditions."""
        written = {each.write.name for each in self.statements}
        for name in self.source.nest.variables:
            if name in written:
                lines.add(f"{name} = {neutral('+', self.source.typing.type_of(name))}")

    def _add(self, body: Shared, node: isl.AstNode) -> None:
        is_loop = node.get_type() == FOR
        if not body.guard or (is_loop and isinstance(self.sharing.scope(node), Scope)):
            body.walk(node)
            return
        with body.lines.block(f"if {body.guard}:"):
            if is_loop:
                body.divided_alone(node)
            else:
                body.walk(node)


def pick(
    splits: Sequence[SplitText], counts: Sequence[int], lengths: tuple[int, int, bool],
    is_strided: bool, resident: int,
) -> tuple[SplitText, int] | None:  # fmt: skip
    """The kernels for a launch, and how many blocks divide each sum; None for one thread each.

    Args:
        counts: iterations of the loops that are threads, x first.
        lengths: iterations of the loops of sums, and of those that threads divide; whether these
            are other loops.
        is_strided: see ``Splits``.
        resident: threads that the device has at once.
    """
    if splits[0].blocks:
        return splits[0], splits[0].blocks
    if splits[0].way.order:
        x, y, z = [*(counts[each] for each in splits[0].way.order), 1][:3]
        is_many = min(x, y) >= splits[0].way.across // 2
        is_launch = max(-(-y // splits[0].way.across), z) <= _MOST_BLOCKS
        return (splits[0], 1) if is_many and is_launch else None
    count, (whole, own, is_nested) = 1, lengths
    for each in counts:
        count *= each
    if len(counts) > 1 and counts[1] > _MOST_BLOCKS:
        return None
    few, *_ = sorted([each for each in splits if not each.way.is_apart], key=_threads)
    most = max([each for each in splits if not each.way.is_apart], key=_threads)
    apart = next((each for each in splits if each.way.is_apart), None)
    is_needed = count * 2 <= resident or (is_strided and own >= few.way.threads // 2)
    if not is_needed or own < few.way.threads // 2:
        return None
    if apart is not None:
        threads = count * apart.way.threads
        total = max(whole, own)
        least = 1 if is_nested else apart.way.threads * _FEW
        blocks = min(resident // max(1, threads), total // max(1, least), 1024)
        is_few = count * most.way.threads * 8 <= resident * 3
        if is_few and blocks >= 2 and own >= apart.way.threads:
            return apart, blocks
    is_many = own >= most.way.threads * 2 and count * few.way.threads <= resident
    is_long = most.way.is_lanes and own >= most.way.threads * 8
    return (most if is_many or is_long else few), 1


def _threads(split: SplitText) -> int:
    return split.way.threads


def second_of(way: Way) -> Way:
    """How threads add what blocks have."""
    return Way(True, WARP, 1, True) if way.is_lanes else Way(False, 1, 128, True)
