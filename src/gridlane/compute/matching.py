"""Whether a nest is another one but for names, the order of axes, and loops around it.

The pattern is a nest too. Statements correspond in the order of the text; their loops, variables,
tensors and extents correspond one to one; sums, products, minima and maxima have their operands in
either order. A scalar argument of the pattern corresponds to a number of the nest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc

LOW = "LOW"
"""The pattern's name for a number below all others."""
_LOWEST = -1e30
_WORD = re.compile(r"[A-Za-z_]\w*")


@frozen
class Match:
    """What corresponds to the parts of a pattern.

    Attributes:
        tensors: the nest's tensor by the pattern's, and the places of its axes: those of the loops
            around the pattern, and then those of the pattern's tensor.
        scalars: expressions of the nest by the pattern's scalar arguments.
        batch: how many loops are around the pattern.
    """

    tensors: dict[str, tuple[str, tuple[int, ...]]]
    scalars: dict[str, ast.expr]
    batch: int


@frozen
class Mismatch:
    """The first statement that does not correspond.

    Attributes:
        count: of those in front of it.
    """

    count: int
    loc: Loc


@dataclass(slots=True)
class _Names:
    """What corresponds so far."""

    loops: dict[str, str] = field(default_factory=dict[str, str])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(
        default_factory=dict[str, tuple[str, tuple[int, ...]]]
    )
    scalars: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])

    def copy(self) -> _Names:
        return _Names(
            {**self.loops}, {**self.texts}, {**self.variables}, {**self.tensors}, {**self.scalars}
        )


def match(pattern: Nest, polyhedra: Polyhedra, is_loose: bool) -> Match | Mismatch:
    """What corresponds to a pattern in a nest, or what does not.

    Args:
        is_loose: the nest may convert numbers to floats of 32 or 64 bits.
    """
    return _Matcher(pattern, polyhedra, is_loose).match()


class _Matcher:
    def __init__(self, pattern: Nest, polyhedra: Polyhedra, is_loose: bool) -> None:
        self.polyhedra, self.is_loose = polyhedra, is_loose
        self.known = pattern
        self.nest = polyhedra.nest

    def match(self) -> Match | Mismatch:
        ones, others = self.known.statements, self.nest.statements
        self.batch = len(others[0].loops) - len(ones[0].loops)
        around = others[0].loops[: max(self.batch, 0)]
        self.around = [each.name for each in around]
        names: _Names | None = _Names()
        for number, (one, other) in enumerate(zip(ones, others, strict=False)):
            is_inside = self.batch >= 0 and other.loops[: self.batch] == around
            names = self._statement(names, one, other) if is_inside and names else None
            if names is None:
                return Mismatch(number, other.loc)
        if len(ones) != len(others):
            place = min(len(ones), len(others) - 1)
            return Mismatch(place, others[place].loc)
        assert names is not None
        extents = self._extents(names)
        if isinstance(extents, str):
            return Mismatch(len(ones), self._first_access(extents))
        for one, other in zip(ones, others, strict=True):
            if not self._is_domain(names, extents, one, other):
                return Mismatch(len(ones), other.loc)
        return Match(names.tensors, names.scalars, self.batch)

    # ---- statements

    def _statement(self, names: _Names, one: Statement, other: Statement) -> _Names | None:
        names, loops = names.copy(), other.loops[self.batch :]
        if len(one.loops) != len(loops) or len(one.tests) != len(other.tests):
            return None
        for known, loop in zip(one.loops, loops, strict=True):
            is_same = names.loops.setdefault(known.name, loop.name) == loop.name
            names.texts[known.text] = loop.text
            if not is_same or known.downward != loop.downward:
                return None
        if len({*names.loops.values()}) != len(names.loops):
            return None
        sides = zip((one, other), (_value(one), _value(other)), strict=True)
        (_, first), (_, second) = sides
        found = self._access(names, one, other, one.write, other.write)
        for pair in ((first, second), *zip(one.tests, other.tests, strict=True)):
            found = self._first(found, one, other, *pair)
        return found

    def _first(
        self, names: _Names | None, one: Statement, other: Statement, a: ast.expr, b: ast.expr
    ) -> _Names | None:
        return None if names is None else next(self._unify(names, one, other, a, b), None)

    def _access(
        self, names: _Names, one: Statement, other: Statement, first: Access, second: Access
    ) -> _Names | None:
        """Names with which two accesses correspond."""
        if first.name not in self.known.tensors:
            is_variable = second.name not in self.nest.tensors
            names = names.copy()
            known = names.variables.setdefault(first.name, second.name)
            is_own = is_variable and known == second.name
            return names if is_own and _is_injective(names.variables) else None
        if second.name not in self.nest.tensors:
            return None
        names = names.copy()
        if first.indices is None or second.indices is None:
            return self._indirect(names, first, second)
        wanted = [*self.around, *[self._renamed(names, each) for each in first.indices]]
        if sorted(wanted) != sorted(second.indices) or len({*wanted}) != len(wanted):
            return None
        axes = tuple([second.indices.index(each) for each in wanted])
        known = names.tensors.setdefault(first.name, (second.name, axes))
        return names if known == (second.name, axes) and _is_injective(names.tensors) else None

    def _indirect(self, names: _Names, first: Access, second: Access) -> _Names | None:
        """Names with which accesses by data correspond: along one axis, by the same variable."""
        if first.indices is not None or second.indices is not None:
            return None
        rank = len(self.nest.tensors[second.name].extents)
        axes = tuple(range(rank))
        is_one = len(self.known.tensors[first.name].extents) == 1 and rank == self.batch + 1
        known = names.tensors.setdefault(first.name, (second.name, axes))
        is_same = known == (second.name, axes) and _is_injective(names.tensors)
        return names if is_one and is_same else None

    def _renamed(self, names: _Names, text: str) -> str:
        return _WORD.sub(lambda word: names.loops.get(word[0], word[0]), text)

    # ---- expressions

    def _unify(
        self, names: _Names, one: Statement, other: Statement, a: ast.expr, b: ast.expr
    ) -> Iterator[_Names]:
        """All names with which two expressions correspond."""
        b = self._plain(b)
        if isinstance(a, ast.Name):
            yield from self._unify_name(names, a.id, b)
            return
        match a, b:
            case ast.Subscript(), ast.Subscript():
                yield from self._elements(names, one, other, a, b)
            case ast.Constant(value=x), ast.Constant(value=y):
                if float(x) == float(y):  # type: ignore[arg-type]  # numbers, as the reader requires
                    yield names
            case ast.BinOp(), ast.BinOp() if type(a.op) is type(b.op):
                pairs = [(a.left, b.left), (a.right, b.right)]
                is_free = isinstance(a.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr)
                yield from self._all(names, one, other, pairs, is_free)
            case ast.UnaryOp(), ast.UnaryOp() if type(a.op) is type(b.op):
                yield from self._unify(names, one, other, a.operand, b.operand)
            case ast.BoolOp(), ast.BoolOp() if type(a.op) is type(b.op):
                if len(a.values) == len(b.values) == 2:
                    pairs = [*zip(a.values, b.values, strict=True)]
                    yield from self._all(names, one, other, pairs, True)
            case ast.Compare(), ast.Compare():
                left, right = _comparison(a), _comparison(b)
                if left is not None and right is not None and left[0] is right[0]:
                    pairs = [(left[1], right[1]), (left[2], right[2])]
                    yield from self._all(names, one, other, pairs, left[0] is ast.Eq)
            case ast.Call(), ast.Call() if len(a.args) == len(b.args):
                if _function(a) == _function(b):
                    pairs = [*zip(a.args, b.args, strict=True)]
                    is_free = _function(a) in ("min", "max")
                    yield from self._all(names, one, other, pairs, is_free)
            case _:
                return

    def _unify_name(self, names: _Names, x: str, b: ast.expr) -> Iterator[_Names]:
        """All names with which a scalar, a constant, a loop or a variable corresponds to an
        expression."""
        if x in self.known.scalars:
            if self._is_number(b):
                names = names.copy()
                if ast.dump(names.scalars.setdefault(x, b)) == ast.dump(b):
                    yield names
        elif x == LOW:
            value = self._number(b)
            if value is not None and value <= _LOWEST:
                yield names
        elif isinstance(b, ast.Name):
            if x in names.texts:
                if names.texts[x] == b.id:
                    yield names
            elif x in self.known.variables and b.id in self.nest.variables:
                names = names.copy()
                is_same = names.variables.setdefault(x, b.id) == b.id
                if is_same and _is_injective(names.variables):
                    yield names

    def _all(
        self,
        names: _Names,
        one: Statement,
        other: Statement,
        pairs: list[tuple[ast.expr, ast.expr]],
        is_free: bool,
    ) -> Iterator[_Names]:
        """All names with which several expressions correspond; two of them in either order."""
        orders = [pairs]
        if is_free and len(pairs) == 2:
            (a, b), (c, d) = pairs
            orders.append([(a, d), (c, b)])
        for order in orders:
            found = [names]
            for a, b in order:
                found = [more for each in found for more in self._unify(each, one, other, a, b)]
            yield from found

    def _elements(
        self, names: _Names, one: Statement, other: Statement, a: ast.Subscript, b: ast.Subscript
    ) -> Iterator[_Names]:
        first, second = _access_of(self.known, one, a), _access_of(self.nest, other, b)
        if first is not None and second is not None:
            found = self._access(names, one, other, first, second)
            if found is not None:
                yield found

    def _plain(self, node: ast.expr) -> ast.expr:
        """An expression without conversions to floats of 32 or 64 bits."""
        while self.is_loose and isinstance(node, ast.Call) and len(node.args) == 1:
            name = ast.unparse(node.func)
            kind = self.nest.conversions.get(name)
            if name != "float" and not (kind is not None and kind.is_float and kind.size >= 4):
                break
            node = node.args[0]
        return node

    def _number(self, node: ast.expr) -> float | None:
        match node:
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                value = self._number(inner)
                return None if value is None else -value
            case ast.Name(id=name) if name in self.nest.captured:
                return float(self.nest.captured[name])
            case _:
                return None

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is of constants and scalar arguments."""
        allowed = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
        for each in ast.walk(node):
            if isinstance(each, ast.expr_context):
                continue
            if not isinstance(each, allowed):
                return False
            known = {*self.nest.scalars, *self.nest.captured}
            if isinstance(each, ast.Name) and each.id not in known:
                return False
        return True

    # ---- extents and domains

    def _first_access(self, tensor: str) -> Loc:
        return next(
            each.loc
            for each in self.nest.statements
            if tensor in (each.write.name, *(read.name for read in each.reads))
        )

    def _extents(self, names: _Names) -> dict[str, str] | str:
        """The nest's extents by the pattern's, or a tensor that has others."""
        found: dict[str, str] = {}
        rows: list[str] | None = None
        for name, (other, axes) in names.tensors.items():
            extents = self.nest.tensors[other].extents
            around = [str(extents[axis]) for axis in axes[: self.batch]]
            if rows is not None and rows != around:
                return other
            rows = around
            wanted = self.known.tensors[name].extents
            for extent, axis in zip(wanted, axes[self.batch :], strict=True):
                if found.setdefault(str(extent), str(extents[axis])) != str(extents[axis]):
                    return other
        self.rows = rows or []
        return found

    def _is_domain(
        self, names: _Names, extents: dict[str, str], one: Statement, other: Statement
    ) -> bool:
        """Whether two statements have the same iterations."""
        words = {**names.loops, **extents}
        conditions = [
            _WORD.sub(lambda word: words.get(word[0], word[0]), each) for each in one.domain
        ]
        for loop, extent in zip(self.around, self.rows, strict=True):
            conditions.append(f"0 <= {loop} < {extent}")
        loops = ", ".join(each.name for each in other.loops)
        text = f"{{ {other.name}[{loops}] : {' and '.join([*conditions, '1 = 1'])} }}"
        whole = self.polyhedra.set(text).intersect_params(self.polyhedra.context)
        return bool(self.polyhedra.domain(other).is_equal(whole))


def _value(statement: Statement) -> ast.expr:
    """What a statement assigns, with what it adds to written out."""
    node = statement.node
    if isinstance(node, ast.Assign):
        return node.value
    target = node.target
    loaded = (
        ast.Name(target.id, ast.Load())
        if isinstance(target, ast.Name)
        else ast.Subscript(target.value, target.slice, ast.Load())  # type: ignore[attr-defined]  # an element
    )
    return ast.copy_location(
        ast.BinOp(ast.copy_location(loaded, target), node.op, node.value), node
    )


def _access_of(nest: Nest, statement: Statement, node: ast.Subscript) -> Access | None:
    loc = nest.place(node)
    return next((e for e in (*statement.reads, statement.write) if e.loc == loc), None)


def _comparison(node: ast.Compare) -> tuple[type[ast.cmpop], ast.expr, ast.expr] | None:
    """A comparison by < or <=, or ==."""
    if len(node.ops) != 1:
        return None
    op, left, right = type(node.ops[0]), node.left, node.comparators[0]
    if op in (ast.Gt, ast.GtE):
        return (ast.Lt if op is ast.Gt else ast.LtE), right, left
    return op, left, right


def _function(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _is_injective(names: dict[str, str] | dict[str, tuple[str, tuple[int, ...]]]) -> bool:
    values = [each if isinstance(each, str) else each[0] for each in names.values()]
    return len({*values}) == len(values)
