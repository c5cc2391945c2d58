"""Kinds of loop nests: which schedule a nest has, and whether it is what the user calls it.

The loops are the meaning. A kind that the user names is required of the loops; it changes none of
their results.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import StrEnum

import islpy as isl

from gridlane.compute.attending import nearest
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.patterns import attentions, scored_attentions, sorts
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.errors import ArgumentError, TypingError
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc


class Kind(StrEnum):
    """Kinds of nests, from special to general."""

    FLASH = "flash_attention"
    ATTENTION = "attention"
    SORT = "sort"
    MATMUL = "matmul"
    CONVOLUTION = "conv2d"
    SCAN = "scan"
    REDUCE = "reduce"
    ELEMENTWISE = "elementwise"
    CUSTOM = "custom"


@frozen
class Product:
    """Sums of products of elements of two tensors: ``out[i, j] += left[i, k] * right[k, j]``.

    Attributes:
        statement: the one that adds.
        left, right: the factors: ``left`` has the loop of the result's second to last index.
        rows, columns, inner: the names of loops.
        batches: those that the result and both factors have.
    """

    statement: Statement
    left: Access
    right: Access
    rows: str
    columns: str
    inner: str
    batches: tuple[str, ...]


def named(word: str) -> Kind:
    """The kind of a word.

    Raises:
        ArgumentError: there is none.
    """
    try:
        return Kind(word)
    except ValueError:
        words = ", ".join(Kind)
        raise ArgumentError(f"kernel={word!r}; it must be one of {words}") from None


def kind_of(polyhedra: Polyhedra) -> Kind:
    """The most special kind that a nest is of."""
    return next(each for each in Kind if not _against(each, polyhedra))


def require(kind: Kind, polyhedra: Polyhedra) -> None:
    """Require that a nest is of a kind.

    Raises:
        TypingError: it is not; located at the statement that is against it.
    """
    why = _against(kind, polyhedra)
    if why:
        raise TypingError(f"kernel={kind.value!r}: {why[0]}", why[1])


def products_of(polyhedra: Polyhedra) -> tuple[Product, ...]:
    """The statements of a nest that are products of matrices."""
    found = [_product(polyhedra, each) for each in polyhedra.nest.statements]
    return tuple([each for each in found if each is not None])


def _against(kind: Kind, polyhedra: Polyhedra) -> tuple[str, Loc] | None:
    """Why a nest is not of a kind, and where."""
    nest = polyhedra.nest
    sums = [each for each in nest.statements if _adds_up(polyhedra, each)]
    first = nest.statements[0].loc
    if kind is Kind.CUSTOM:
        return None
    if kind in _PATTERNS:
        patterns, is_loose, why = _PATTERNS[kind]
        place = nearest(patterns(), polyhedra, is_loose)
        return None if place is None else (why, place)
    carried = _carried(polyhedra)
    if kind is Kind.SCAN:
        return _against_scan(polyhedra)
    if carried is not None:
        return "an iteration depends on an earlier one", carried.loc
    if kind is Kind.ELEMENTWISE:
        return ("it adds up, so that it is a reduction", sums[0].loc) if sums else None
    if not sums:
        return "nothing is added up", first
    if kind is Kind.REDUCE:
        return None
    for each in sums:
        if kind is Kind.MATMUL and _product(polyhedra, each) is None:
            return "this is no sum of left[i, k] * right[k, j] for out[i, j]", each.loc
        if kind is Kind.CONVOLUTION and not _is_convolution(nest, each):
            return "this is no sum of products with an index that is the sum of two loops", each.loc
    return None


_PATTERNS: dict[Kind, tuple[Callable[[], tuple[Nest, ...]], bool, str]] = {
    Kind.FLASH: (
        lambda: (*attentions(False), *attentions(True)), True,
        "this is no step of attention in one pass over the keys, with a running maximum and sum",
    ),
    Kind.ATTENTION: (
        lambda: (*attentions(False), *attentions(True), *scored_attentions()), True,
        "this is no step of attention: scores, their maximum, exponentials, sum, and values",
    ),
    Kind.SORT: (
        lambda: (*sorts(False), *sorts(True)), False,
        "this is no step of a sort by ranks, exchanges, bubbles, insertion or transposition",
    ),
}  # fmt: skip
"""The kinds that are patterns: these, whether types of floats may differ, and the refusal."""


def _adds_up(polyhedra: Polyhedra, statement: Statement) -> bool:
    """Whether a statement is a reduction over one of its loops."""
    return bool(statement.operator) and bool(inner_loops(polyhedra, statement))


def inner_loops(polyhedra: Polyhedra, statement: Statement) -> list[str]:
    """The loops of a statement that the index of what it writes lacks."""
    if statement.write.name in polyhedra.nest.tensors:
        used = " ".join(statement.write.indices or ())
        words = set(used.replace("(", " ").replace(")", " ").split())
    else:
        count = polyhedra.private[statement.write.name]
        words = {each.name for each in statement.loops[:count]}
    return [each.name for each in statement.loops if each.name not in words]


def _carried(polyhedra: Polyhedra) -> Statement | None:
    """A statement with a dependence between its own iterations that is no reduction's."""
    for one in polyhedra.nest.statements:
        domain = isl.UnionSet.from_set(polyhedra.domain(one))
        own = polyhedra.dependences.intersect_domain(domain).intersect_range(domain)
        if not own.is_empty():
            return one
    return None


def _against_scan(polyhedra: Polyhedra) -> tuple[str, Loc] | None:
    """A scan reads what the iteration before has written, under an associative operator."""
    nest = polyhedra.nest
    carried = _carried(polyhedra)
    running = [each for each in nest.statements if _is_running(nest, each)]
    if carried is None and not running:
        return "no iteration depends on the one before", nest.statements[0].loc
    if not running or (carried is not None and carried not in running):
        place = (carried or nest.statements[0]).loc
        return "this is no out[i] = out[i - 1] op x[i], nor a running sum", place
    return None


def _is_running(nest: Nest, statement: Statement) -> bool:
    """Whether a statement is ``x[i] = x[i - 1] op y``, or adds to a variable that is stored inside
    of the same loop."""
    if statement.write.name in nest.variables:
        if not statement.operator or not statement.loops:
            return False
        inner = statement.loops[-1].name
        return any(
            each.write.name in nest.tensors
            and any(read.name == statement.write.name for read in each.reads)
            and each.loops
            and each.loops[-1].name == inner
            for each in nest.statements
        )
    indices, (word, parts) = statement.write.indices, operation_of(statement)
    if not word or not indices or not statement.loops:
        return False
    places = [nest.place(each) for each in parts]
    loop = statement.loops[-1].name
    earlier = tuple([f"({loop} - 1)" if each == loop else each for each in indices])
    before = [
        each
        for each in statement.reads
        if each.loc in places and (each.name, each.indices) == (statement.write.name, earlier)
    ]
    return len(before) == 1 and earlier != indices


def operation_of(statement: Statement) -> tuple[str, list[ast.expr]]:
    """The operator of a statement's value and its operands; those of ``x += y`` are ``y`` alone."""
    node, signs = statement.node, {ast.Add: "+", ast.Mult: "*"}
    match node:
        case ast.AugAssign(op=ast.Add() | ast.Mult() as op, value=value):
            return signs[type(op)], [value]
        case ast.Assign(value=ast.BinOp(left=left, op=ast.Add() | ast.Mult() as op, right=right)):
            return signs[type(op)], [left, right]
        case ast.Assign(value=ast.Call(func=ast.Name(id="min" | "max" as word), args=[one, two])):
            return word, [one, two]
        case _:
            return "", []


def factors_of(nest: Nest, statement: Statement) -> tuple[ast.Subscript, ast.Subscript] | None:
    """The two elements that a statement multiplies and adds."""
    node = statement.node
    value = node.value
    if isinstance(node, ast.Assign):
        target = ast.unparse(node.targets[0])
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            return None
        others = [each for each in (value.left, value.right) if ast.unparse(each) != target]
        value = others[0] if len(others) == 1 else value
    elif not isinstance(node.op, ast.Add):
        return None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return None
    left, right = _element(nest, value.left), _element(nest, value.right)
    return None if left is None or right is None else (left, right)


def _element(nest: Nest, node: ast.expr) -> ast.Subscript | None:
    """An element, or one that is converted to another type."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in nest.conversions:
        node = node.args[0]
    return node if isinstance(node, ast.Subscript) else None


def _product(polyhedra: Polyhedra, statement: Statement) -> Product | None:
    factors, inner = factors_of(polyhedra.nest, statement), inner_loops(polyhedra, statement)
    if factors is None or statement.operator != "+" or len(inner) != 1 or statement.tests:
        return None
    outer = [each.name for each in statement.loops if each.name != inner[0]]
    result = statement.write.indices if statement.write.name in polyhedra.nest.tensors else outer
    accesses = elements_of(polyhedra.nest, statement)
    assert accesses is not None
    sets = [set(each.indices or ()) for each in accesses]
    if result is None or any(each.indices is None for each in accesses):
        return None
    if not set(result) <= set(outer) or any(inner[0] not in each for each in sets):
        return None
    batches = tuple([each for each in result if each in sets[0] and each in sets[1]])
    free = [[each for each in result if each in one and each not in batches] for one in sets]
    whole = [set((*batches, inner[0], *each)) for each in free]
    if [len(each) for each in free] != [1, 1] or whole != sets:
        return None
    order = sorted((0, 1), key=lambda n: list(result).index(free[n][0]))
    left, right = (accesses[n] for n in order)
    rows, columns = (free[n][0] for n in order)
    return Product(statement, left, right, rows, columns, inner[0], batches)


def elements_of(nest: Nest, statement: Statement) -> tuple[Access, Access] | None:
    """The accesses of the two elements that a statement multiplies and adds."""
    factors = factors_of(nest, statement)
    if factors is None:
        return None
    places = [nest.place(each) for each in factors]
    one, other = [next(each for each in statement.reads if each.loc == loc) for loc in places]
    return one, other


def _is_convolution(nest: Nest, statement: Statement) -> bool:
    """Whether an index of a factor is the sum of a loop of the result and one that adds up."""
    if factors_of(nest, statement) is None:
        return False
    loops = {each.name for each in statement.loops}
    for access in statement.reads:
        for index in access.indices or ():
            words = [w for w in index.replace("(", " ").replace(")", " ").split() if w in loops]
            if len(words) >= 2 and access.name != statement.write.name:
                return True
    return False
