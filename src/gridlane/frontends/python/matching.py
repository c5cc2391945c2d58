"""``match`` statements as branches: the patterns become tests, the captures assignments.

Python Language Reference, section 8.6. Patterns are literals, names of constants, captures, ``_``,
``|``, and sequences of these where the subject is written as a tuple; a case may have a guard.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import TypeVar, cast

from gridlane.core.errors import UnsupportedError
from gridlane.core.source import Loc

Subject = str | list["Subject"]
"""The variable of a subject, or those of a tuple's items."""
Locate = Callable[[ast.AST], Loc]
_Node = TypeVar("_Node", bound=ast.AST)


def without_matches(node: ast.AST, locate: Locate) -> None:
    """Replace the ``match`` statements of a function.

    Raises:
        UnsupportedError: a pattern is of another kind, with its line.
    """
    if any(isinstance(each, ast.Match) for each in ast.walk(node)):
        _Branches(locate).visit(node)
        ast.fix_missing_locations(node)


class _Branches(ast.NodeTransformer):
    """Replaces each ``match`` by an assignment of its subject, and branches."""

    def __init__(self, locate: Locate) -> None:
        self._locate = locate
        self._names = (f"match {n}" for n in itertools.count(1))  # no name of a program

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """The statements for one; those inside of it first."""
        self.generic_visit(node)
        results: list[ast.stmt] = []
        subject = self._subject(node.subject, results)
        return [*results, *self._cases(subject, node.cases)]

    def _subject(self, value: ast.expr, assignments: list[ast.stmt]) -> Subject:
        """Evaluate a subject once, a tuple's items one by one."""
        if isinstance(value, ast.Tuple):
            return [self._subject(item, assignments) for item in value.elts]
        name = next(self._names)
        assignments.append(_at(ast.Assign([ast.Name(name, ast.Store())], value), value))
        return name

    def _cases(self, subject: Subject, cases: list[ast.match_case]) -> list[ast.stmt]:
        if not cases:
            return []
        case, where = cases[0], cases[0].pattern
        captured: list[ast.stmt] = []
        test = self._test(case.pattern, subject, captured)
        if case.guard is None:
            if test is None:
                return [*captured, *case.body]
            return [_if(where, test, [*captured, *case.body], self._cases(subject, cases[1:]))]
        rest = self._cases(subject, cases[1:])
        if test is None:
            return [*captured, _if(where, case.guard, case.body, rest)]
        if not captured:
            both = _at(ast.BoolOp(ast.And(), [test, case.guard]), where)
            return [_if(where, both, case.body, rest)]
        # The guard reads what is captured: a flag says whether both held. The body is beside the
        # other cases, so that they do not see what it assigns, and captures again, as the names may
        # have had values of other types.
        done = next(self._names)
        named = {each.target.id for each in ast.walk(case.guard) if isinstance(each, ast.NamedExpr)}
        again = [each for each in captured if _captured(each) not in named]
        return [
            _set(where, done, False),
            _if(
                where, test, [*captured, _if(where, case.guard, [_set(where, done, True)], [])], []
            ),
            _if(where, _load(where, done), [*map(copy.deepcopy, again), *case.body], rest),
        ]

    def _test(
        self, pattern: ast.pattern, subject: Subject, captured: list[ast.stmt]
    ) -> ast.expr | None:
        """The test of a pattern, None where it always holds; captures are added."""
        if isinstance(pattern, ast.MatchAs):
            test = None
            if pattern.pattern is not None:
                test = self._test(pattern.pattern, subject, captured)
            if pattern.name is not None:
                target = ast.Name(pattern.name, ast.Store())
                captured.append(_at(ast.Assign([target], _value(pattern, subject)), pattern))
            return test
        if isinstance(pattern, ast.MatchOr):
            return self._any(pattern, subject)
        if isinstance(pattern, ast.MatchSequence):
            return self._sequence(pattern, subject, captured)
        if isinstance(pattern, ast.MatchValue | ast.MatchSingleton):
            if isinstance(subject, list):
                return _at(ast.Constant(False), pattern)
            same: ast.cmpop = ast.Eq() if isinstance(pattern, ast.MatchValue) else ast.Is()
            value = (
                pattern.value
                if isinstance(pattern, ast.MatchValue)
                else _at(ast.Constant(pattern.value), pattern)
            )
            return _at(ast.Compare(_load(pattern, subject), [same], [value]), pattern)
        kind = "a mapping" if isinstance(pattern, ast.MatchMapping) else "a class"
        raise self._fail(pattern, f"a pattern of {kind} cannot be compiled: write if and elif")

    def _any(self, pattern: ast.MatchOr, subject: Subject) -> ast.expr | None:
        captured: list[ast.stmt] = []
        tests = [self._test(each, subject, captured) for each in pattern.patterns]
        if captured:
            raise self._fail(pattern, "a capture inside of | cannot be compiled: write two cases")
        if None in tests:
            return None
        return _at(ast.BoolOp(ast.Or(), cast("list[ast.expr]", tests)), pattern)

    def _sequence(
        self, pattern: ast.MatchSequence, subject: Subject, captured: list[ast.stmt]
    ) -> ast.expr | None:
        if any(isinstance(each, ast.MatchStar) for each in pattern.patterns):
            raise self._fail(pattern, "a starred pattern cannot be compiled: name each item")
        if isinstance(subject, str):
            raise self._fail(
                pattern,
                "a sequence is matched where the subject is written as a tuple, as in "
                "match (x, y); write if and elif",
            )
        if len(pattern.patterns) != len(subject):
            return _at(ast.Constant(False), pattern)
        pairs: Iterator[tuple[ast.pattern, Subject]] = zip(pattern.patterns, subject, strict=True)
        tests = [self._test(each, item, captured) for each, item in pairs]
        some = [test for test in tests if test is not None]
        if len(some) < 2:
            return some[0] if some else None
        return _at(ast.BoolOp(ast.And(), some), pattern)

    def _fail(self, node: ast.AST, message: str) -> UnsupportedError:
        return UnsupportedError(message, self._locate(node))


def _captured(assignment: ast.stmt) -> str:
    """The name of a capture."""
    assert isinstance(assignment, ast.Assign) and isinstance(assignment.targets[0], ast.Name)
    return assignment.targets[0].id


def _at(node: _Node, where: ast.AST) -> _Node:
    return ast.copy_location(node, where)


def _load(where: ast.AST, name: str) -> ast.expr:
    return _at(ast.Name(name, ast.Load()), where)


def _value(where: ast.AST, subject: Subject) -> ast.expr:
    """The value of a subject."""
    if isinstance(subject, str):
        return _load(where, subject)
    return _at(ast.Tuple([_value(where, item) for item in subject], ast.Load()), where)


def _set(where: ast.AST, name: str, value: bool) -> ast.stmt:
    target, constant = ast.Name(name, ast.Store()), _at(ast.Constant(value), where)
    return _at(ast.Assign([target], constant), where)


def _if(where: ast.AST, test: ast.expr, then: list[ast.stmt], orelse: list[ast.stmt]) -> ast.stmt:
    return _at(ast.If(test, then, orelse), where)
