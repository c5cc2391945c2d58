"""Products of matrices in nests, which the tile library computes.

A nest qualifies whose sums start at zero, are those of one product over whole tensors, and are read
at the same loops alone. What reads them stays a nest of its own, in which the sums are a tensor.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np

from gridlane.compute.kinds import Product, products_of
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType, bf16, f16, f32, f64
from gridlane.core.frozen import frozen

SMALLEST = 32**3
"""Products with fewer multiplications are loops."""
_EXACT = {f32: f32, f64: f64}
_CORES = {f16: f32, bf16: f32}


@frozen
class Multiplication:
    """A product, and what is left of its nest.

    Attributes:
        left, right: the factors' tensors, and the order of their axes: batches, rows, inner; and
            batches, inner, columns.
        target: the tensor of the result, or None where ``rest`` reads the sums.
        axes: the order of the target's axes: batches, rows, columns.
        sums: the name of the variable of sums, and the type of their tensor.
        rest: the nest that reads the sums; None where they are the result as they are.
    """

    left: tuple[str, tuple[int, ...]]
    right: tuple[str, tuple[int, ...]]
    target: str | None
    axes: tuple[int, ...]
    sums: tuple[str, TensorType]
    rest: Nest | None

    def is_large(self, given: dict[str, Any]) -> bool:
        """Whether the product is worth a launch of its own."""
        rows, inner = _turned(given[self.left[0]], self.left[1]).shape[-2:]
        columns = _turned(given[self.right[0]], self.right[1]).shape[-1]
        return rows * inner * columns >= SMALLEST

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the product into the target, or into ``out``.

        Args:
            given: the arguments by name.
            out: of the sums' type, with the axes batches, rows, columns.
        """
        from gridlane.tiles.kernels import matmul  # of nests with products alone

        if self.target is not None:
            out = _turned(given[self.target], self.axes)
        matmul(
            _turned(given[self.left[0]], self.left[1]),
            _turned(given[self.right[0]], self.right[1]),
            out,
            out_dtype=str(out.dtype).removeprefix("torch."),
            split_k=1,
        )


def multiplication_of(
    polyhedra: Polyhedra, types: dict[str, DType], is_free: bool
) -> Multiplication | None:
    """The product that a nest is, if it is one.

    Args:
        types: of the variables.
        is_free: sums may be added in another order.
    """
    found = products_of(polyhedra)
    if len(found) != 1 or polyhedra.same:
        return None
    (product,), nest = found, polyhedra.nest
    name = product.statement.write.name
    kinds = [nest.tensors[each.name].dtype for each in (product.left, product.right)]
    total = nest.tensors[name].dtype if name in nest.tensors else types[name]
    if any(each is not total for each in _conversions(nest, product)):
        return None
    known = _EXACT | (_CORES if is_free else {})
    if kinds[0] is not kinds[1] or known.get(kinds[0]) is not total:
        return None
    if kinds[0] is not total and len(_conversions(nest, product)) != 2:
        return None  # products of halves are rounded before they are added
    others = [each for each in nest.statements if each is not product.statement]
    starts = [each for each in others if each.write.name == name]
    readers = [each for each in others if each.write.name != name]
    if len(starts) != 1 or not _is_zero(starts[0]) or not _is_whole(polyhedra, product):
        return None
    if starts[0].place > product.statement.place or _loops(starts[0]) != _outer(product):
        return None
    shape = tuple([_extent(nest, product, each) for each in _result_loops(product)])
    sums = name, TensorType(total, shape)
    left = product.left.name, _axes(product.left, (*product.batches, product.rows, product.inner))
    right = (
        product.right.name,
        _axes(product.right, (*product.batches, product.inner, product.columns)),
    )
    if name in nest.tensors:
        if readers:
            return None
        axes = _axes(product.statement.write, _result_loops(product))
        return Multiplication(left, right, name, axes, sums, None)
    if not readers or any(_loops(each) != _outer(product) for each in readers):
        return None
    if any(each.place < product.statement.place or each.tests for each in readers):
        return None
    names = {access.name for each in readers for access in (each.write, *each.reads)}
    written = {each.write.name for each in readers}
    if written & {left[0], right[0]} or len(names & {name}) != 1:
        return None
    target = _plain_target(nest, product, readers, total)
    if target is not None:
        axes = _axes(readers[0].write, _result_loops(product))
        return Multiplication(left, right, target, axes, sums, None)
    rest = _rest(nest, product, readers, sums)
    return Multiplication(left, right, None, (), sums, rest)


# ---- parts of a nest


def _result_loops(product: Product) -> tuple[str, ...]:
    return (*product.batches, product.rows, product.columns)


def _loops(statement: Statement) -> set[str]:
    return {each.name for each in statement.loops}


def _outer(product: Product) -> set[str]:
    return _loops(product.statement) - {product.inner}


def _axes(access: Access, loops: tuple[str, ...]) -> tuple[int, ...]:
    """The places of loops among the indices of an access."""
    assert access.indices is not None
    return tuple([access.indices.index(each) for each in loops])


def _extent(nest: Nest, product: Product, loop: str) -> Any:
    """The extent of the axis that a loop walks."""
    for access in (product.left, product.right):
        if access.indices and loop in access.indices:
            return nest.tensors[access.name].extents[access.indices.index(loop)]
    raise AssertionError(loop)


def _conversions(nest: Nest, product: Product) -> list[DType]:
    """The types that the factors are converted to."""
    calls = [each for each in ast.walk(product.statement.node.value) if isinstance(each, ast.Call)]
    return [nest.conversions[ast.unparse(each.func)] for each in calls]


def _is_zero(statement: Statement) -> bool:
    value = statement.node.value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]  # such as f32(0): 0 in any type
    plain = isinstance(statement.node, ast.Assign) and isinstance(value, ast.Constant)
    return plain and value.value == 0 and not statement.tests  # type: ignore[union-attr]  # a constant


def _is_whole(polyhedra: Polyhedra, product: Product) -> bool:
    """Whether the loops walk all of both factors, and the result."""
    nest, conditions = polyhedra.nest, list[str]()
    accesses = [product.left, product.right]
    if product.statement.write.name in nest.tensors:
        accesses.append(product.statement.write)
    for access in accesses:
        assert access.indices is not None
        extents = nest.tensors[access.name].extents
        if len(set(access.indices)) != len(access.indices):
            return False
        for index, extent in zip(access.indices, extents, strict=True):
            conditions.append(f"0 <= {index} < {extent}")
    names = ", ".join(each.name for each in product.statement.loops)
    text = f"{{ {product.statement.name}[{names}] : {' and '.join(conditions)} }}"
    box = polyhedra.set(text).intersect_params(polyhedra.context)
    return bool(polyhedra.domain(product.statement).is_equal(box))


def _plain_target(
    nest: Nest, product: Product, readers: list[Statement], total: DType
) -> str | None:
    """The tensor whose elements are the sums, in their type or rounded to the factors'."""
    if len(readers) != 1 or not isinstance(readers[0].node.value, ast.Name):
        return None
    write = readers[0].write
    kind = nest.tensors[write.name].dtype
    if set(write.indices or ()) != set(_result_loops(product)):
        return None
    factor = nest.tensors[product.left.name].dtype
    return write.name if kind in (total, factor) else None


def _rest(
    nest: Nest, product: Product, readers: list[Statement], sums: tuple[str, TensorType]
) -> Nest:
    """The nest of what reads the sums."""
    name, type_ = sums
    changed = [_with_tensor(each, product, name) for each in readers]
    return Nest(
        f"{nest.name}_of_sums",
        (*nest.arguments, name),
        {**nest.tensors, name: type_},
        nest.scalars,
        nest.weak,
        nest.extents,
        tuple([each for each in nest.variables if each != name]),
        nest.captured,
        nest.conversions,
        tuple(changed),
        nest.place,
        nest.origins,
    )


def _with_tensor(statement: Statement, product: Product, name: str) -> Statement:
    """A statement in which the variable of sums is a tensor."""
    loops = _result_loops(product)
    texts = {each.name: each.text for each in statement.loops}

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id != name:
                return node
            indices = [ast.Name(texts[each], ast.Load()) for each in loops]
            where = ast.Tuple(list[ast.expr](indices), ast.Load())
            return ast.copy_location(ast.Subscript(node, where, ast.Load()), node)

    node = Renamer().visit(copy.deepcopy(statement.node))
    reads = [
        Access(name, loops, each.loc) if each.name == name else each for each in statement.reads
    ]
    return Statement(
        statement.name, statement.loops, statement.domain, statement.place, node, statement.write,
        tuple(reads), statement.tests, statement.operator, statement.loc,
    )  # fmt: skip


def _turned(array: Any, axes: tuple[int, ...]) -> Any:
    """A view of an array with its axes in an order."""
    if axes == tuple(range(len(axes))):
        return array
    return array.permute(axes) if hasattr(array, "permute") else array.transpose(axes)


def sums_array(type_: TensorType, extents: dict[str, int]) -> Any:
    """An array of the device for sums."""
    from gridlane import cuda
    from gridlane.compute.typing import CONVERSIONS, NAMES

    shape = tuple([e if isinstance(e, int) else extents[e.name] for e in type_.extents])
    return cuda.device_array(shape, np.dtype(CONVERSIONS[NAMES[str(type_.dtype)]]))
