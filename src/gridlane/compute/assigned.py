"""Whether variables are assigned to before they are read, where conditions on data decide it.

isl knows which iterations run, but not how such a condition ends. An assignment under conditions
is a clause: the iterations of a read that it comes before, each with the iteration of the innermost
condition, and the literals that have to hold. Clauses of both ends of one condition are resolved to
one without it, as M. Davis and H. Putnam do ("A Computing Procedure for Quantification Theory",
1960). A read of which iterations are left that no clause without literals has is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import islpy as isl

from gridlane.compute.model import Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.errors import TypingError

_Literal = tuple[str, bool]
"""The variable of a condition, and whether it holds."""
_Literals = tuple[_Literal, ...]
"""Those around a statement, outermost first."""
_Clause = dict[_Literals, isl.Map]


def require_assigned(nest: Nest, flows: Polyhedra) -> None:
    """Require that each variable has a value where it is read, whatever the data.

    Raises:
        TypingError: it may have none; located at the read.
    """
    depths = {each.write.name: len(each.loops) for each in nest.statements}
    for name in nest.variables:
        users = flows.users(name)
        writes = [each for each in users if each.write.name == name]
        if not any(each.tests for each in writes):
            continue  # the flow of values is exact
        for read in users:
            place = next((each.loc for each in read.reads if each.name == name), None)
            if place is None or _is_assigned(flows, read, writes, depths):
                continue
            lines = sorted({each.loc.line for each in writes if each.tests})
            raise TypingError(
                f"{name} may be read before it is assigned to: in line "
                f"{', '.join(map(str, lines))} a condition decides it by data; "
                f"assign to {name} in front of the condition, or on both of its sides",
                place,
            )


def _is_assigned(
    flows: Polyhedra, read: Statement, writes: list[Statement], depths: Mapping[str, int]
) -> bool:
    """Whether an assignment comes before each iteration of a read."""
    clauses: _Clause = {}
    own = _literals(read)
    for write in writes:
        literals, before = _literals(write), flows.before(read, write)
        shared = 0
        while literals[shared : shared + 1] == own[shared : shared + 1] != ():
            shared += 1
        _add(clauses, literals, flows.first_loops(before, write, _depth(literals, depths)))
        if shared:  # in the iterations that both are in, the conditions of the read hold
            depth = depths[literals[shared - 1][0]]
            same = before.intersect(flows.same_iterations(read, write, depth))
            rest = literals[shared:]
            _add(clauses, rest, flows.first_loops(same, write, _depth(rest, depths)))
    _resolve(flows, clauses, depths)
    sure = clauses.get(())
    return sure is not None and flows.domain(read).is_subset(sure.domain())


def _resolve(flows: Polyhedra, clauses: _Clause, depths: Mapping[str, int]) -> None:
    """Add what clauses of both ends of a condition say together, innermost conditions first."""
    for size in range(max(map(len, clauses), default=0), 0, -1):
        for literals in [each for each in clauses if len(each) == size]:
            *outer, (name, holds) = literals
            other = clauses.get((*outer, (name, not holds)))
            if not holds or other is None:
                continue
            both = clauses[literals].intersect(other)
            depth, inner = _depth(outer, depths), both.dim(isl.dim_type.out)
            shorter = both.project_out(isl.dim_type.out, depth, inner - depth)
            _add(clauses, tuple(outer), shorter)


def _depth(literals: Sequence[_Literal], depths: Mapping[str, int]) -> int:
    """How many loops are around the innermost condition."""
    return depths[literals[-1][0]] if literals else 0


def _add(clauses: _Clause, literals: _Literals, pairs: isl.Map) -> None:
    clauses[literals] = clauses[literals].union(pairs) if literals in clauses else pairs


def _literals(statement: Statement) -> _Literals:
    return tuple([_literal(each) for each in statement.tests])


def _literal(test: ast.expr) -> _Literal:
    if isinstance(test, ast.UnaryOp):
        return _literal(test.operand)[0], False
    assert isinstance(test, ast.Name)
    return test.id, True
