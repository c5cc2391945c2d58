"""Running sums, products, minima and maxima in nests, which the library of algorithms computes.

A nest qualifies that stores what a variable has after each element of an array, or before it, or
adds to each element of an array the one before.
"""

from __future__ import annotations

import ast
from functools import reduce
from itertools import product as pairs
from typing import Any, ClassVar

import numpy as np

from gridlane.compute.freedom import Freedom
from gridlane.compute.kinds import operation_of
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.sums import in_memory, is_in_lines
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.frozen import frozen
from gridlane.launch import current

SMALLEST = 1 << 16
"""Scans of fewer elements are loops, on processors."""
SMALLEST_ON_GPU = 512
"""The same on other devices, whose single threads are slow."""
CORES = 8
"""Fewer of a processor are slower than one that runs the loops."""
MOST_ROWS = 32
"""Scans of more rows are loops, whose rows are threads."""
OPERATORS = {"+": "PLUS", "*": "MULTIPLIES", "min": "MINIMUM", "max": "MAXIMUM"}
_FLOATS = {f32: np.float32, f64: np.float64}
_NEUTRAL = {"+": 0, "*": 1}


@frozen
class Scan:
    """A scan along the last axis.

    Attributes:
        source, target: the tensors, which may be one.
        operator: the name of the operator.
        start: the value in front of the first element; None for none.
        is_exclusive: each result is without its own element.
    """

    is_of_algorithms: ClassVar[bool] = True

    source: str
    target: str
    operator: str
    start: float | None
    is_exclusive: bool
    sums: tuple[str, TensorType]
    rest: Nest | None = None

    @property
    def call(self) -> str:
        """The call of the library of algorithms."""
        word = "exclusive" if self.is_exclusive else "inclusive"
        return f"algorithms.{word}_scan({self.source}, {self.operator}) -> {self.target}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether there are many elements, in few rows."""
        x, out = given[self.source], given[self.target]
        shape = tuple(x.shape)
        rows = reduce(lambda n, extent: n * extent, shape[:-1], 1)
        is_plain = shape == tuple(out.shape) and is_in_lines(x) and is_in_lines(out)
        return is_plain and is_wide() and shape[-1] >= smallest() and rows <= MOST_ROWS

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the result into the target."""
        from gridlane import algorithms  # of nests with scans alone

        x, target = in_memory(given[self.source]), in_memory(given[self.target])
        op, count, start = getattr(algorithms.OpKind, self.operator), x.shape[-1], None
        if self.start is not None:
            start = np.dtype(str(x.dtype).removeprefix("torch.")).type(self.start)
        scan = algorithms.exclusive_scan if self.is_exclusive else algorithms.inclusive_scan
        for row in pairs(*map(range, x.shape[:-1])):
            one, other = (x[row], target[row]) if row else (x, target)
            scan(
                d_in=one,
                d_out=other,
                op=op,
                init_value=start,
                num_items=count,
                determinism=algorithms.Determinism.NOT_GUARANTEED,
            )


def is_wide() -> bool:
    """Whether the current device runs so many threads that they are faster than one in order."""
    device = current.device()
    return not device.host_visible or device.limits.multiprocessors >= CORES


def smallest() -> int:
    """The fewest elements of a row that the library scans or reduces on the current device."""
    return SMALLEST if current.device().host_visible else min(SMALLEST, SMALLEST_ON_GPU)


def scan_of(polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom) -> Scan | str:
    """The scan that a nest is, or why it is loops.

    Args:
        types: of the variables.
    """
    nest = polyhedra.nest
    if polyhedra.same or any(each.tests for each in nest.statements):
        return ""
    found = _of_variable(polyhedra, types) if nest.variables else _of_elements(polyhedra)
    if found is None:
        return ""
    kinds = [nest.tensors[each].dtype for each in (found.source, found.target)]
    kinds += [types[each] for each in nest.variables]
    if any(each is not kinds[0] for each in kinds):
        return "loops: the scan's elements and results are of several types"
    if kinds[0].is_float and not freedom.fastmath:
        return "loops: a scan by several threads adds in another order; fastmath=True"
    if not (kinds[0].is_float or kinds[0].is_integer) or kinds[0].size < 4:
        return f"loops: the library scans no {kinds[0]}"
    return found


def _of_variable(polyhedra: Polyhedra, types: dict[str, DType]) -> Scan | None:
    """``total = start``, then ``total op= x[i]`` and ``out[i] = total`` for all ``i``."""
    nest = polyhedra.nest
    if len(nest.variables) != 1 or len(nest.statements) != 3:
        return None
    (name,), (start, one, other) = nest.variables, nest.statements
    adder, store = (one, other) if one.operator else (other, one)
    is_own = start.write.name == adder.write.name == name
    if not is_own or adder.operator not in OPERATORS or adder.loops != store.loops:
        return None
    value, loops = store.node.value, tuple([each.name for each in adder.loops])
    is_own = isinstance(value, ast.Name) and value.id == name
    if (
        not is_own
        or not isinstance(store.node, ast.Assign)
        or store.write.name == name
        or not loops
        or adder.loops[-1].downward
    ):
        return None
    if tuple([each.name for each in start.loops]) != loops[:-1]:
        return None
    source = only_element(nest, adder)
    if source is None or {source.indices, store.write.indices} != {loops}:
        return None
    first = number_of(nest, start.node.value) if isinstance(start.node, ast.Assign) else None
    if first is None or not is_whole(polyhedra, adder, store.write):
        return None
    is_exclusive, known = adder is other, types.get(name)
    if known is None or (known.is_integer and not float(first).is_integer()):
        return None
    begin = None if first == _NEUTRAL.get(adder.operator) and not is_exclusive else first
    word, target = OPERATORS[adder.operator], store.write.name
    if source.name == target and is_exclusive:
        return None  # the element is gone before it is added
    return Scan(
        source.name, target, word, begin, is_exclusive, (name, nest.tensors[target])
    )  # fmt: skip


def _of_elements(polyhedra: Polyhedra) -> Scan | None:
    """``x[i] = x[i - 1] op x[i]``, or ``out[0] = x[0]`` and ``out[i] = out[i - 1] op x[i]``."""
    nest = polyhedra.nest
    adder = nest.statements[-1]
    loops = tuple([each.name for each in adder.loops])
    if not loops or adder.write.indices != loops or adder.loops[-1].downward:
        return None
    before = *loops[:-1], f"({loops[-1]} - 1)"
    word, parts = operation_of(adder)
    if word not in OPERATORS or not all(isinstance(each, ast.Subscript) for each in parts):
        return None
    places = [nest.place(each) for each in parts]
    reads = [each for each in adder.reads if each.loc in places]
    known = [each for each in reads if (each.name, each.indices) == (adder.write.name, before)]
    others = [each for each in reads if each not in known]
    if isinstance(adder.node, ast.AugAssign):
        others.append(adder.write)
    if len(known) != 1 or len(others) != 1 or others[0].indices != loops:
        return None
    source, target = others[0].name, adder.write.name
    if not is_whole(polyhedra, adder, adder.write, 1):
        return None
    if source == target:
        is_scan = len(nest.statements) == 1
    else:
        is_scan = len(nest.statements) == 2 and _is_first(
            polyhedra, nest.statements[0], source, target, len(loops)
        )
    if not is_scan:
        return None
    return Scan(source, target, OPERATORS[word], None, False, (target, nest.tensors[target]))


def _is_first(
    polyhedra: Polyhedra, statement: Statement, source: str, target: str, rank: int
) -> bool:
    """Whether a statement copies the first element of each row."""
    value, nest = statement.node.value, polyhedra.nest
    outer = tuple([each.name for each in statement.loops])
    where = (*outer, "0")
    if len(where) != rank or not isinstance(statement.node, ast.Assign):
        return False
    reads = [each for each in statement.reads if isinstance(value, ast.Subscript)]
    is_copy = len(reads) == 1 and (reads[0].name, reads[0].indices) == (source, where)
    if not is_copy or (statement.write.name, statement.write.indices) != (target, where):
        return False
    extents = nest.tensors[target].extents[:-1]
    box = [f"0 <= {name} < {extent}" for name, extent in zip(outer, extents, strict=True)]
    return _is_domain(polyhedra, statement, box)


def only_element(nest: Nest, adder: Statement) -> Access | None:
    """The element of a tensor that a statement adds, if it adds nothing else."""
    node, value = adder.node, adder.node.value
    if isinstance(node, ast.Assign):
        operands = value.args if isinstance(value, ast.Call) else []
        operands = [value.left, value.right] if isinstance(value, ast.BinOp) else operands
        others = [each for each in operands if not isinstance(each, ast.Name)]
        value = others[0] if len(others) == 1 else value
    elif isinstance(node.op, ast.Sub):
        return None
    if not isinstance(value, ast.Subscript):
        return None
    loc = nest.place(value)
    return next((each for each in adder.reads if each.loc == loc), None)


def number_of(nest: Nest, node: ast.expr) -> float | None:
    """The number that an expression is, if it is one of the text: ``0``, ``-1``, ``f32(0)``."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _known(nest):
            value, dtype = number_of(nest, inner), nest.conversions[name]
            return None if value is None else _converted(value, dtype)
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = number_of(nest, inner)
            return None if value is None else -value
        case ast.Name(id=name) if name in nest.captured:
            return nest.captured[name]
        case _:
            return None


def _known(nest: Nest) -> set[str]:
    """The conversions whose results NumPy has."""
    return {name for name, each in nest.conversions.items() if each.is_integer or each in _FLOATS}


def _converted(value: float, dtype: DType) -> float | None:
    """A number as a conversion has it; None for one that an integer type does not hold."""
    if dtype.is_float:
        return float(np.dtype(_FLOATS[dtype]).type(value))
    is_held = float(value).is_integer() and abs(value) < 1 << (dtype.size * 8 - 1)
    return int(value) if is_held and (value >= 0 or dtype.is_signed) else None


def is_whole(polyhedra: Polyhedra, statement: Statement, write: Access, first: int = 0) -> bool:
    """Whether a statement's loops are those of all elements of a tensor, from one place on."""
    extents = polyhedra.nest.tensors[write.name].extents
    names = [each.name for each in statement.loops]
    firsts = [0] * (len(names) - 1) + [first]
    box = [f"{low} <= {e} < {n}" for low, e, n in zip(firsts, names, extents, strict=True)]
    return _is_domain(polyhedra, statement, box)


def _is_domain(polyhedra: Polyhedra, statement: Statement, box: list[str]) -> bool:
    names = ", ".join(each.name for each in statement.loops)
    text = f"{{ {statement.name}[{names}] : {' and '.join([*box, '1 = 1'])} }}"
    whole = polyhedra.set(text).intersect_params(polyhedra.context)
    return bool(polyhedra.domain(statement).is_equal(whole))
