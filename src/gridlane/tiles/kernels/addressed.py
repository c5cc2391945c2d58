"""Products of matrices by addresses of their elements, prepared for arrays of one kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.tiles.kernels.blocks import multiprocessors, power_of_2, product_blocks, record
from gridlane.tiles.kernels.copies import Copy, turned_copy
from gridlane.tiles.kernels.norms import step_of, value_of
from gridlane.tiles.kernels.operands import Operand, index_type
from gridlane.tiles.kernels.prepared import Launch, empty
from gridlane.tiles.kernels.programs.products import add_parts, product_tiles

GROUP = 8
"""Tiles of rows whose columns are computed together, so that they share what caches hold."""
_LARGE, _FAR = 5e9, 1024
"""Multiplications, and rows or columns, from which on a factor of float32 is copied in another
order, which takes a few hundredths of their time."""
_VECTOR = 4
"""Elements of float32 that a thread reads at once."""
_ADDED = 16, 128
"""The piece whose parts ``add_split`` adds at once."""
_AT_ONCE = 4
"""Programs of products of float32 that a GPU's multiprocessor runs at once."""


class PreparedAddressed(NamedTuple):
    """The launches of a product.

    Attributes:
        first: of the products; second: of the sums of parts, or None.
        parts: the shape of the parts, and ``sum_name`` their type.
        shape, dtype: of the result.
        copies: of factors in another order.
    """

    first: Launch
    second: Launch | None
    parts: tuple[int, int]
    sum_name: str
    shape: tuple[int, ...]
    dtype: str
    copies: tuple[Copy | None, Copy | None]

    def run(self, a: Any, b: Any, out: Any, more: tuple[Any, ...]) -> Any:
        """Launch over arrays like those that it was prepared for; ``out`` is new where it is
        None."""
        if out is None:
            out = empty(a, self.shape, self.dtype)
        a, b = (x if c is None else c.run(x) for c, x in zip(self.copies, (a, b), strict=True))
        first, second = self.first, self.second
        if second is None:
            first.over(a, b, out, more, *first.rest, **first.options)
            return out
        split = empty(a, self.parts, self.sum_name)
        first.over(a, b, split, None, *first.rest, **first.options)
        second.over(split, out, more, *second.rest, **second.options)
        return out


class Places(NamedTuple):
    """The steps of a product's arrays.

    Attributes:
        products: the number of products; inner: those of the inner batches.
        a, b, out: steps of (outer, inner) batches, of rows and of columns.
        more: steps of the epilogue's arrays.
    """

    products: int
    inner: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    out: tuple[int, ...]
    more: tuple[Any, ...]


def prepare(
    factors: tuple[Operand, Operand],
    out: Operand,
    residual: Operand | None,
    places: Places,
    activation: str | None,
    sums: tuple[Any, str],
    split_k: int | None,
    persistent: bool,
) -> PreparedAddressed:
    """The launches of a product.

    Args:
        sums: the type of sums, of programs and of arrays.
        split_k, persistent: as of ``matmul``.
    """
    a, b = factors
    *_, m, n = out.shape
    k, count = a.shape[-1], places.products
    copies = _copies(a, b, count)
    places = _copied_places(places, *copies)
    far = [_as_operand(copy, each) for copy, each in zip(copies, factors, strict=True)]
    tile = product_blocks(m, n, k, a.dtype, count, of_arrays=True)
    tiles = count * -(-m // tile.m) * -(-n // tile.n)
    parts = _parts(split_k, tiles, max(-(-k // tile.k), 1), a.dtype)
    options: dict[str, Any] = {
        "M": tile.m, "N": tile.n, "SUM": sums[0], "INDEX": index_type(*far, out, residual),
        "num_warps": tile.warps,
    }  # fmt: skip
    steps, size = (*places.out, 0), count * m * n
    if parts > 1:
        split = Operand("parts", None, (parts, size), (size, 1), sums[1])
        options["INDEX"] = index_type(*far, out, residual, split)
        steps = (places.inner * m * n, m * n, n, 1, size)
    programs = tiles * parts
    grid = (min(programs, multiprocessors()) if persistent else programs,)
    first = Launch(
        product_tiles[grid],
        (programs, places.inner, m, n, k, parts, places.a, places.b, steps, places.more),
        {"PERSISTENT": persistent, "ACTIVATION": activation, "K": tile.k, "GROUP": GROUP} | options,
    )
    second = None
    if parts > 1:
        rest = (parts, places.inner, m, n, size, places.out, places.more)
        second = Launch(add_parts[(tiles,)], rest, {"ACTIVATION": activation} | options)
    return PreparedAddressed(first, second, (parts, size), sums[1], out.shape, out.dtype, copies)


def add_split(
    split: Operand,
    out: Operand,
    bias: Operand | None,
    activation: str | None,
    parts: int,
    kind: Any,
    index: Any,
) -> None:
    """Add the parts of the sums of a product in order, and finish them.

    Args:
        split: of shape (parts, elements of out).
        kind, index: the types of sums and of indices.
    """
    m, n = out.shape
    high, width = (min(power_of_2(e), most) for e, most in zip((m, n), _ADDED, strict=True))
    add_parts[(-(-m // high) * -(-n // width),)](
        split.value, out.value, (None, None, value_of(bias), None), parts, 1, m, n, m * n,
        (0, 0, *out.strides), (0, 0, step_of(bias), (0, 0, 0, 0)), ACTIVATION=activation,
        M=high, N=width, SUM=kind, INDEX=index,
    )  # fmt: skip


def _parts(asked: int | None, tiles: int, steps: int, dtype: str) -> int:
    """Into how many the sums are divided among programs."""
    if asked is not None:
        return min(asked, steps)
    busy, least = multiprocessors(), 2
    if dtype == "float32" and record().name == "cuda":
        busy, least = busy * _AT_ONCE, 3
    return 1 if tiles * least > busy else max(min(busy // tiles, steps // 8), 1)


def _copies(a: Operand, b: Operand, count: int) -> tuple[Copy | None, Copy | None]:
    """Copies of the factors of one large product of float32, whose rows of the left one and columns
    of the right one are neighbours, so that threads read these by vectors."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    if a.dtype != "float32" or count > 1 or record().name != "cuda" or m * n * k < _LARGE:
        return None, None
    left = n >= _FAR and not _is_near(*a.strides[-2:])
    right = m >= _FAR and not _is_near(*reversed(b.strides[-2:]))
    down, across = b.strides[-2:]
    return (
        _copy(a, m, k, a.strides[-2:]) if left else None,
        _copy(b, n, k, (across, down)) if right else None,
    )


def _copied_places(places: Places, left: Copy | None, right: Copy | None) -> Places:
    """The places of factors, of which some are copies."""
    if left is not None:
        places = places._replace(a=(0, 0, 1, left.shape[1]))
    if right is not None:
        places = places._replace(b=(0, 0, right.shape[1], 1))
    return places


def _is_near(step: int, line: int) -> bool:
    """Whether neighbours are ``step`` apart, in lines at multiples of a vector."""
    return step == 1 and line % _VECTOR == 0


def _copy(array: Operand, lines: int, depth: int, steps: tuple[int, ...]) -> Copy:
    """The copy of a factor with so many rows or columns: lines of these, one for each place of the
    inner dimension."""
    own = (0, steps[0], 0, steps[1])
    turned = Operand(array.name, array.value, (1, lines, 1, depth), own, array.dtype)
    return turned_copy(turned, depth, (depth, True), -(-lines // _ALIGN) * _ALIGN)


_ALIGN = 16
"""Elements of a line of a copy are a multiple of this."""


def _as_operand(copy: Copy | None, array: Operand) -> Operand:
    """What a program reads of a factor."""
    if copy is None:
        return array
    return Operand(array.name, None, copy.shape, (copy.shape[1], 1), array.dtype)
