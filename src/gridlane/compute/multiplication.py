"""Products of matrices in nests, which the tile library computes.

A nest qualifies whose sums start at zero, are those of one product over whole tensors, and are read
at the same loops alone. What reads them stays a nest of its own, in which the sums are a tensor.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gridlane.compute.freedom import Freedom
from gridlane.compute.kinds import Product, products_of
from gridlane.compute.model import Nest
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.sums import axes_of, conversions_of, destination_of, turned
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

    is_of_algorithms: ClassVar[bool] = False

    left: tuple[str, tuple[int, ...]]
    right: tuple[str, tuple[int, ...]]
    target: str | None
    axes: tuple[int, ...]
    sums: tuple[str, TensorType]
    rest: Nest | None
    precision: str

    @property
    def call(self) -> str:
        """The call of the tile library."""
        out = self.target or f"the sums of {self.rest.name if self.rest else ''}"
        words = f", precision={self.precision!r}" if self.precision != "ieee" else ""
        return f"tiles.kernels.matmul({self.left[0]}, {self.right[0]}{words}) -> {out}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether the product is worth a launch of its own."""
        rows, inner = turned(given[self.left[0]], self.left[1]).shape[-2:]
        columns = turned(given[self.right[0]], self.right[1]).shape[-1]
        return rows * inner * columns >= SMALLEST

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the product into the target, or into ``out``.

        Args:
            given: the arguments by name.
            out: of the sums' type, with the axes batches, rows, columns.
        """
        from gridlane.tiles.kernels import matmul  # of nests with products alone

        if self.target is not None:
            out = turned(given[self.target], self.axes)
        matmul(
            turned(given[self.left[0]], self.left[1]),
            turned(given[self.right[0]], self.right[1]),
            out,
            out_dtype=str(out.dtype).removeprefix("torch."),
            split_k=1,
            precision=self.precision,
        )


def multiplication_of(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> Multiplication | None:
    """The product that a nest is, if it is one.

    Args:
        types: of the variables.
        freedom: whether sums may be added in another order, and factors rounded.
    """
    found = products_of(polyhedra)
    if len(found) != 1 or polyhedra.same:
        return None
    (product,), nest = found, polyhedra.nest
    name = product.statement.write.name
    kinds = [nest.tensors[each.name].dtype for each in (product.left, product.right)]
    total = nest.tensors[name].dtype if name in nest.tensors else types[name]
    if any(each is not total for each in conversions_of(nest, product.statement)):
        return None
    known = _EXACT | (_CORES if freedom.any_order else {})
    if kinds[0] is not kinds[1] or known.get(kinds[0]) is not total:
        return None
    if kinds[0] is not total and len(conversions_of(nest, product.statement)) != 2:
        return None  # products of halves are rounded before they are added
    if not _is_whole(polyhedra, product):
        return None
    loops = (*product.batches, product.rows, product.columns)
    shape = tuple([_extent(nest, product, each) for each in loops])
    factors = product.left, product.right
    where = destination_of(nest, product.statement, loops, shape, total, factors)
    if where is None:
        return None
    inner = product.inner
    left = product.left.name, axes_of(product.left, (*product.batches, product.rows, inner))
    columns = (*product.batches, inner, product.columns)
    right = product.right.name, axes_of(product.right, columns)
    precision = "tf32" if freedom.rounds and kinds[0] is f32 else "ieee"
    return Multiplication(left, right, where.target, where.axes, where.sums, where.rest, precision)


# ---- parts of a nest


def _extent(nest: Nest, product: Product, loop: str) -> Any:
    """The extent of the axis that a loop walks."""
    for access in (product.left, product.right):
        if access.indices and loop in access.indices:
            return nest.tensors[access.name].extents[access.indices.index(loop)]
    raise AssertionError(loop)


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
