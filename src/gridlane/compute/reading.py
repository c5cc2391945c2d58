"""Reads the loops of a function: statements, their domains and accesses."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gridlane.compute.affine import NotAffine, affine, condition, constant_of
from gridlane.compute.model import Access, LoopName, Nest, Statement
from gridlane.compute.outside import Outside, outside_of
from gridlane.compute.parameters import Parameters, require_name
from gridlane.compute.tensors import TensorType
from gridlane.core.errors import ConstantError, NameLookupError, TypingError, UnsupportedError
from gridlane.core.source import Loc

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


def read(function: Callable[..., Any], outside: Mapping[str, Any] | None = None) -> Nest:
    """The nest of a function.

    Args:
        outside: what names outside of it are; what they are now by default.

    Raises:
        CompileError: it is no nest of loops that assign to elements of tensors; located.
    """
    around = outside_of(function) if outside is None else outside
    try:
        lines, first = inspect.getsourcelines(function.__code__)  # not of what it wraps
    except (OSError, TypeError) as error:
        raise UnsupportedError(f"the source of {function!r} is not available: {error}") from None
    text = textwrap.dedent("".join(lines))
    tree = ast.parse(text).body[0]
    file = inspect.getsourcefile(function.__code__) or "<unknown>"
    indent = len(lines[0]) - len(lines[0].lstrip())
    place = _Place(file, first - 1, indent, function.__name__)
    if not isinstance(tree, ast.FunctionDef):
        raise UnsupportedError("compute takes a function of `def`", place.of(tree))
    return _Reader(function, tree, place, around).nest()


class _Place:
    """Where nodes of a function's text stand in its file."""

    def __init__(self, file: str, line: int, indent: int, function: str) -> None:
        self.file, self.line, self.indent, self.function = file, line, indent, function

    def of(self, node: ast.AST) -> Loc:
        line = self.line + getattr(node, "lineno", 1)
        column = self.indent + getattr(node, "col_offset", 0) + 1
        end = self.indent + (getattr(node, "end_col_offset", None) or 0) + 1
        same = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        return Loc(self.file, line, column, end if same else 0, self.function)


class _Reader:
    """The walk over a function's text.

    Attributes:
        names: Python's names of loops and parameters that are in scope, and isl's.
        loops, domain, place: of the statement that would come next.
        tests: conditions that are not affine, around it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tree: ast.FunctionDef,
        place: _Place,
        outside: Mapping[str, Any],
    ) -> None:
        self.function, self.tree, self.loc = function, tree, place.of
        self.outside, self.given = Outside(outside), Parameters(function, tree, place.of)
        self.tensors, self.scalars = self.given.tensors, self.given.scalars
        self.variables: dict[str, None] = {}
        self.statements: list[Statement] = []
        self.names: dict[str, str] = {}
        self.used: set[str] = set()
        self.loops: tuple[LoopName, ...] = ()
        self.domain: tuple[str, ...] = ()
        self.place: tuple[int, ...] = (0,)
        self.tests: tuple[ast.expr, ...] = ()

    def nest(self) -> Nest:
        given = self.given
        for each in ast.walk(self.tree):
            if isinstance(each, ast.Call):
                self.outside.require_meant(each, self.loc(each.func))
        for name in given.extents:
            require_name(name, self.loc(self.tree), is_index=True)
        for name in (*given.extents, *given.names):
            self.outside.names.pop(name, None)  # an extent's name hides a global one
        whole = [name for name, kind in self.scalars.items() if kind.is_integer]
        self.names = {name: name for name in (*given.extents, *whole)}
        self.used = {*self.names, *self.tensors, *self.scalars}
        body = self.tree.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        self._body(body)
        if not self.statements:
            raise UnsupportedError("the function assigns to no element", self.loc(self.tree))
        return Nest(
            self.function.__name__, given.names, self.tensors, self.scalars,
            frozenset(given.weak), given.extents, tuple(self.variables), self.outside.captured,
            self.outside.conversions, tuple(self.statements), self.loc,
        )  # fmt: skip

    # ---- statements

    def _body(self, body: list[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.For():
                    self._loops(node)
                case ast.If():
                    self._branch(node)
                case ast.Assign(targets=[_, _, *_]):
                    self._chain(node)
                case ast.Assign(targets=[ast.Tuple() as target], value=ast.Tuple() as value):
                    self._tuple(target, value)
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                    self._assignment(node)
                case ast.Pass():
                    continue
                case _:
                    word = type(node).__name__.lower()
                    raise UnsupportedError(
                        f"a loop nest has loops, conditions and assignments, no `{word}`; "
                        "a kernel of gridlane.cuda.jit or gridlane.tiles.jit may have it",
                        self.loc(node),
                    )
            self.place = (*self.place[:-1], self.place[-1] + 1)

    def _loops(self, node: ast.For) -> None:
        if node.orelse:
            raise UnsupportedError("a loop has no `else`", self.loc(node))
        call, kept = node.iter, (self.names, self.loops, self.domain, self.place)
        has_name = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        word = ast.unparse(call.func) if has_name else ""  # type: ignore[union-attr]  # a call
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if word not in ("range", "grid", "parallel") or not isinstance(call, ast.Call):
            raise UnsupportedError(
                "a loop is over range(...), grid(...) or parallel(...)", self.loc(node.iter)
            )
        if call.keywords or not all(isinstance(each, ast.Name) for each in targets):
            raise UnsupportedError("a loop has names and positional bounds", self.loc(node.iter))
        names = [each for each in targets if isinstance(each, ast.Name)]
        bounds = [call.args] if word == "range" else [[each] for each in call.args]
        if len(bounds) != len(names):
            raise TypingError(
                f"{len(names)} names for {len(bounds)} bounds of {word}()", self.loc(node.target)
            )
        for name, one in zip(names, bounds, strict=True):
            self._loop(name, one, word == "parallel")
        self._body(node.body)
        self.names, self.loops, self.domain, self.place = kept

    def _loop(self, target: ast.Name, bounds: list[ast.expr], is_parallel: bool) -> None:
        if not 1 <= len(bounds) <= 3:
            raise TypingError("range() has one to three arguments", self.loc(target))
        if target.id in self.given or target.id in self.given.extents:
            raise UnsupportedError(f"the loop hides {target.id}", self.loc(target))
        require_name(target.id, self.loc(target), is_index=True)
        start = bounds[0] if len(bounds) > 1 else ast.Constant(0)
        stop = bounds[1] if len(bounds) > 1 else bounds[0]
        step = constant_of(bounds[2], self.outside.numbers()) if len(bounds) == 3 else 1
        if not step:
            raise ConstantError("a step is a constant other than 0", self.loc(bounds[-1]))
        name = _fresh(target.id, self.used)
        lows = self._bounds(start, "max" if step > 0 else "min")
        highs = self._bounds(stop, "min" if step > 0 else "max")
        above, below = (">=", "<") if step > 0 else ("<=", ">")
        self.domain += tuple([f"{name} {above} {each}" for each in lows])
        self.domain += tuple([f"{name} {below} {each}" for each in highs])
        if abs(step) > 1:
            if len(lows) > 1:
                raise UnsupportedError("a loop with a step has one start", self.loc(start))
            self.domain += (f"(({name} - {lows[0]}) mod {abs(step)}) = 0",)
        self.names = {**self.names, target.id: name}
        self.loops += (LoopName(name, target.id, self.loc(target), step < 0, is_parallel),)
        self.place += (0,)

    def _bounds(self, node: ast.expr, word: str) -> list[str]:
        """A bound in isl's texts: several of a call of min or max."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name == word:
                return [text for each in args for text in self._bounds(each, word)]
            case _:
                return [self._affine(node, "a bound of a loop")]

    def _affine(self, node: ast.expr, what: str) -> str:
        try:
            return affine(node, self.names, self.outside.numbers())
        except NotAffine as error:
            raise UnsupportedError(
                f"{what} is not affine in the loops and extents: {error}", self.loc(error.node)
            ) from None

    def _branch(self, node: ast.If) -> None:
        kept = self.domain, self.tests
        try:
            sides = [
                (condition(node.test, self.names, self.outside.numbers(), h), None)
                for h in (True, False)
            ]
        except NotAffine:
            test = self._test(node.test)
            sides = [("", test), ("", ast.copy_location(ast.UnaryOp(ast.Not(), test), test))]
        for (text, value), body in zip(sides, (node.body, node.orelse), strict=True):
            self.domain += (text,) if text else ()
            self.tests += (value,) if value is not None else ()
            self._body(body)
            self.domain, self.tests = kept

    def _test(self, node: ast.expr) -> ast.Name:
        """A variable with the value that a condition has in front of its branches, which may change
        what it reads. Under other conditions it is evaluated where these hold alone."""
        name = _fresh("test", self.used)

        def assign(value: ast.expr) -> None:
            target = ast.copy_location(ast.Name(name, ast.Store()), node)
            assignment = ast.copy_location(ast.Assign([target], value), node)
            self._assignment(assignment)
            self.place = (*self.place[:-1], self.place[-1] + 1)

        if self.tests:
            outer, self.tests = self.tests, ()
            assign(ast.copy_location(ast.Constant(False), node))
            self.tests = outer
        assign(node)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        if isinstance(node, ast.AnnAssign):
            raise UnsupportedError("an assignment has no annotation", self.loc(node))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name | ast.Subscript):
            raise UnsupportedError(
                "an assignment has one target: a variable or an element", self.loc(node)
            )
        target = targets[0]
        write = self._target(target)
        reads = self._reads(node.value)
        if isinstance(node, ast.AugAssign):
            reads = [write, *reads]
        for test in self.tests:
            reads += self._reads(test)
        where = [sub for sub in ast.walk(target) if isinstance(sub, ast.Subscript)]
        for each in where:
            reads += self._reads(each.slice)
        self.statements.append(
            Statement(
                f"S{len(self.statements)}", self.loops, self.domain, self.place, node, write,
                tuple(reads), self.tests, _operator(node, write.name), self.loc(node),
            )
        )  # fmt: skip

    def _chain(self, node: ast.Assign) -> None:
        """Assignments of a number to several targets, left to right."""
        value = node.value.operand if isinstance(node.value, ast.UnaryOp) else node.value
        if not isinstance(value, ast.Constant):
            raise UnsupportedError("several targets are assigned a number", self.loc(node))
        for number, target in enumerate(node.targets):
            self.place = (*self.place[:-1], self.place[-1] + (number > 0))
            self._assignment(ast.copy_location(ast.Assign([target], node.value), node))

    def _tuple(self, target: ast.Tuple, value: ast.Tuple) -> None:
        """Assignments of several values, which are all evaluated before. Where one reads what one
        before it assigns to, as in an exchange, variables have the values."""
        if len(target.elts) != len(value.elts):
            raise TypingError(
                f"{len(target.elts)} targets for {len(value.elts)} values", self.loc(target)
            )
        values = value.elts
        if _meet(target.elts, values, self.tensors):
            values = [self._kept(each) for each in values]
        for number, (one, other) in enumerate(zip(target.elts, values, strict=True)):
            self.place = (*self.place[:-1], self.place[-1] + (number > 0))
            self._assignment(ast.copy_location(ast.Assign([one], other), target))

    def _kept(self, value: ast.expr) -> ast.expr:
        """A variable with a value."""
        if isinstance(value, ast.Constant):
            return value
        name = _fresh("value", self.used)
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        self._assignment(ast.copy_location(ast.Assign([target], value), value))
        self.place = (*self.place[:-1], self.place[-1] + 1)
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    def _target(self, node: ast.Name | ast.Subscript) -> Access:
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if node.id in self.names or node.id in self.given:
            raise UnsupportedError(f"{node.id} is not assigned to", self.loc(node))
        require_name(node.id, self.loc(node))
        self.variables.setdefault(node.id)
        self.used.add(node.id)
        return Access(node.id, (), self.loc(node))

    def _element(self, node: ast.Subscript) -> Access:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.tensors:
            raise NameLookupError("an element is that of a tensor argument", self.loc(node.value))
        name = node.value.id
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        rank = len(self.tensors[name].extents)
        if len(indices) != rank:
            raise TypingError(f"{name} has {rank} axes, and {len(indices)} indices", self.loc(node))
        try:
            texts = [affine(each, self.names, self.outside.numbers()) for each in indices]
        except NotAffine:
            return Access(name, None, self.loc(node))
        return Access(name, tuple(texts), self.loc(node))

    def _reads(self, node: ast.expr) -> list[Access]:
        found: list[Access] = []
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript):
                found.append(self._element(each))
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self._name(each, found)
        return found

    def _name(self, node: ast.Name, found: list[Access]) -> None:
        name = node.id
        if name in self.variables:
            found.append(Access(name, (), self.loc(node)))
        elif name in self.names or name in self.given:
            return
        elif self.outside.value(name) is None:
            raise NameLookupError(f"{name} is no argument, extent or variable", self.loc(node))


def _operator(node: ast.Assign | ast.AugAssign, name: str) -> str:
    """The operator of a reduction into a name."""
    if isinstance(node, ast.AugAssign):
        word = "+" if isinstance(node.op, ast.Sub) else _OPERATORS.get(type(node.op), "")
        return "" if _has_name(node.value, name) else word
    target = ast.unparse(node.targets[0])
    match node.value:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            sides, word = [left, right], _OPERATORS[type(op)]
        case ast.Call(func=ast.Name(id="min" | "max" as word), args=[left, right]):
            sides = [left, right]
        case _:
            return ""
    others = [each for each in sides if ast.unparse(each) != target]
    return "" if len(others) != 1 or _has_name(others[0], name) else word


def _has_name(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _meet(
    targets: Sequence[ast.expr], values: Sequence[ast.expr], tensors: Mapping[str, TensorType]
) -> bool:
    """Whether a value, or an index of a target, reads what a target before it assigns to. Tensors
    of as many axes may be one array.
    """
    written = set[str]()
    for target, value in zip(targets, values, strict=True):
        read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        base = target
        if isinstance(target, ast.Subscript):
            read |= {each.id for each in ast.walk(target.slice) if isinstance(each, ast.Name)}
            base = target.value
        if written & read:
            return True
        if isinstance(base, ast.Name):
            rank = len(tensors[base.id].extents) if base.id in tensors else None
            written |= {name for name, each in tensors.items() if len(each.extents) == rank}
            written.add(base.id)
    return False


def _fresh(name: str, used: set[str]) -> str:
    """A name that is not used yet, like another one."""
    number, fresh = 1, name
    while fresh in used:
        number += 1
        fresh = f"{name}_{number}"
    used.add(fresh)
    return fresh
