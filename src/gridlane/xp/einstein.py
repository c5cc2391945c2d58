"""Einstein's sums: products of arrays along named dimensions."""

from __future__ import annotations

import math
from collections import Counter

from gridlane.xp import dtypes, manipulation, products
from gridlane.xp.arrays import Array
from gridlane.xp.reductions import functions as reductions

Labelled = tuple[Array, str]
"""An array, with a letter for each dimension."""


def einsum(subscripts: str, /, *operands: Array) -> Array:
    """The sums of products of elements with equal indices, as ``"ij,jk->ik"`` names them.

    Operands are multiplied from the left to the right; two of them by ``matmul``.

    Raises:
        ValueError: the letters do not fit the operands.
        TypeError: an operand is no array of this package.
    """
    for each in operands:
        if not isinstance(each, Array):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"einsum: operands are arrays of gridlane.xp, not {type(each).__name__}; copy "
                "others with xp.asarray"
            )
    inputs, output = _parsed(subscripts, operands)
    # Sums before the last product are in the dtype of the result too.
    dtype = dtypes.result_type(*operands)
    terms = [
        _without_repeats(each.astype(dtype, copy=False), letters)
        for each, letters in zip(operands, inputs, strict=True)
    ]
    _check_extents(terms)
    result = terms[0]
    for number, other in enumerate(terms[1:], 1):
        later = output + "".join(letters for _, letters in terms[number + 1 :])
        result = _multiplied(result, other, later)
    array, letters = _summed(result, output)
    order = tuple([letters.index(each) for each in output])
    return manipulation.permute_dims(array, order) if order else array


def _parsed(subscripts: str, operands: tuple[Array, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters in the place of ``...``."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise ValueError(f"einsum: {len(inputs)} terms for {len(operands)} operands")
    if not set(left + right) - set(".,") <= set(map(chr, range(65, 91))) | set(
        map(chr, range(97, 123))
    ):
        raise ValueError(f"einsum: invalid characters in {subscripts!r}")
    unused = [chr(each) for each in range(0x391, 0x3FF)]
    most = 0
    full: list[str] = []
    for term, each in zip(inputs, operands, strict=True):
        hidden = each.ndim - len(term.replace("...", ""))
        if hidden < 0 or (hidden and "..." not in term):
            raise ValueError(f"einsum: the term {term!r} has not {each.ndim} dimensions")
        most = max(most, hidden)
        full.append(term.replace("...", "".join(unused[:hidden][::-1])))
    broadcast = "".join(unused[:most][::-1])
    if arrow:
        if most and "..." not in right:
            raise ValueError(f"einsum: the result {right!r} has no '...' for those of the operands")
        output = right.replace("...", broadcast)
    else:
        counts = Counter("".join(full))
        named = sorted(each for each in counts if counts[each] == 1 and each not in broadcast)
        output = broadcast + "".join(named)
    if len(set(output)) != len(output) or not set(output) <= set("".join(full)):
        raise ValueError(f"einsum: the result {right!r} has letters twice, or of no operand")
    return full, output


def _without_repeats(array: Array, letters: str) -> Labelled:
    """Diagonals in the place of dimensions with one letter."""
    from gridlane.xp.linalg import diagonal

    while len(set(letters)) < len(letters):
        letter = next(each for each in letters if letters.count(each) > 1)
        first = letters.index(letter)
        second = letters.index(letter, first + 1)
        if array.shape[first] != array.shape[second]:
            raise ValueError(f"einsum: dimensions {letter!r} have different extents")
        array = diagonal(manipulation.moveaxis(array, (first, second), (-2, -1)))
        letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return array, letters


def _check_extents(terms: list[Labelled]) -> None:
    extents: dict[str, int] = {}
    for array, letters in terms:
        for letter, extent in zip(letters, array.shape, strict=True):
            if extent != 1 and extents.setdefault(letter, extent) != extent:
                raise ValueError(
                    f"einsum: dimensions {letter!r} have the extents {extents[letter]} and {extent}"
                )


def _summed(term: Labelled, kept: str) -> Labelled:
    """A term without the letters that nothing else has."""
    array, letters = term
    gone = tuple([place for place, each in enumerate(letters) if each not in kept])
    if not gone:
        return term
    if array.dtype.kind == "b":
        return reductions.any(array, axis=gone), _left(letters, kept)
    return reductions.sum(array, axis=gone, dtype=array.dtype), _left(letters, kept)


def _left(letters: str, kept: str) -> str:
    return "".join(each for each in letters if each in kept)


def _multiplied(one: Labelled, other: Labelled, later: str) -> Labelled:
    """The product of two terms, summed along the letters that nothing later has."""
    one = _summed(one, later + other[1])
    other = _summed(other, later + one[1])
    (a, first), (b, second) = one, other
    pairs = {
        each: (a.shape[first.index(each)], b.shape[second.index(each)])
        for each in first
        if each in second
    }
    wide = {each: other if own == 1 else own for each, (own, other) in pairs.items()}
    if 1 in (a.shape[first.index(e)] for e in wide) or 1 in (
        b.shape[second.index(e)] for e in wide
    ):
        a, b = _stretched(a, first, wide), _stretched(b, second, wide)
    stack = "".join(each for each in first if each in second and each in later)
    inner = "".join(each for each in first if each in second and each not in later)
    rows = "".join(each for each in first if each not in second)
    columns = "".join(each for each in second if each not in first)
    left = _arranged(a, first, stack, rows, inner)
    right = _arranged(b, second, stack, inner, columns)
    extents = [*a.shape, *b.shape]
    shape = tuple([extents[(first + second).index(each)] for each in stack + rows + columns])
    return manipulation.reshape(products.matmul(left, right), shape), stack + rows + columns


def _stretched(array: Array, letters: str, wide: dict[str, int]) -> Array:
    shape = [wide.get(each, extent) for each, extent in zip(letters, array.shape, strict=True)]
    return manipulation.broadcast_to(array, tuple(shape))


def _arranged(array: Array, letters: str, *parts: str) -> Array:
    """An array with a dimension for each part of its letters but the first, which keeps its own."""
    order = tuple([letters.index(each) for each in "".join(parts)])
    moved = manipulation.permute_dims(array, order) if order else array
    stack = moved.shape[: len(parts[0])]
    middle = len(parts[0]) + len(parts[1])
    rows, columns = math.prod(moved.shape[len(parts[0]) : middle]), math.prod(moved.shape[middle:])
    return manipulation.reshape(moved, (*stack, rows, columns))
