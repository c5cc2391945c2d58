"""Convolution by tensor descriptors, where a device copies boxes of tensors itself.

Images and filters have their channels last, or are copied so: a copy reads and writes each element
once, where a box reads it once for each tap.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from gridlane.core.tensor_map import MOST_SPAN, fits
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels import described
from gridlane.tiles.kernels.blocks import is_hopper, multiprocessors
from gridlane.tiles.kernels.copies import Copy, turned_copy
from gridlane.tiles.kernels.described import Tile
from gridlane.tiles.kernels.operands import Operand, index_type, sum_type, transposed
from gridlane.tiles.kernels.prepared import Launch, Prepared, empty, over
from gridlane.tiles.kernels.products import prepared_product
from gridlane.tiles.kernels.programs.described_convolutions import described_convolution_tiles

_TILES = (
    Tile(128, 256, 8),
    Tile(256, 128, 8),
    Tile(128, 128, 8),
    Tile(64, 256, 4),
    Tile(256, 64, 8),
    Tile(64, 128, 4),
    Tile(128, 64, 8),
    Tile(64, 64, 4),
)
_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4}
"""Bytes of the elements of factors."""
_DEPTHS = (128, 64, 32)
"""Bytes of the channels of a step: lines of shared memory, and what an instruction multiplies."""
_STEP = 4
"""What a step takes besides, in bytes of channels."""
_BYTES = 16
"""That lines are multiples of."""
_ALIGN = 8
"""The most neighbours that a vector has."""
_COPIED = 64
"""Products of an element of an image that is worth copying first."""
_READ_BYTES, _STRIDED_BYTES = 64, 40
"""That a multiprocessor reads in a cycle: of places that follow each other, and of others."""


class ConvolutionBlocks(NamedTuple):
    """The tile of a convolution.

    Attributes:
        box: images, lines and columns of results.
        filters: of the tile.
        tiles: how many boxes there are.
    """

    box: tuple[int, int, int]
    filters: int
    warps: int
    stages: int
    programs: int
    tiles: int


class PreparedConvolution(NamedTuple):
    """The launches of a convolution.

    Attributes:
        forms: the descriptors of images and filters, over other arrays.
        copies: those of both that are needed.
        result: the descriptor of results; None where the program has the array itself.
        held: the shape of results with the channels last, if they are copied from there.
        last: that copy.
        launch: of the products.
        shape, dtype: of the result.
    """

    forms: tuple[TensorDescriptor, TensorDescriptor]
    copies: tuple[Copy | None, Copy | None]
    result: TensorDescriptor | None
    held: tuple[int, ...]
    last: Copy | None
    launch: Launch
    shape: tuple[int, ...]
    dtype: str

    def run(self, x: Any, weight: Any, bias: Any, out: Any) -> Any:
        """Launch over arrays like those that it was prepared for; ``out`` is new where it is
        None."""
        if out is None:
            out = empty(x, self.shape, self.dtype)
        arrays = [
            over(form, each if copy is None else copy.run(each))
            for form, copy, each in zip(self.forms, self.copies, (x, weight), strict=True)
        ]
        target = out if self.last is None else empty(x, self.held, self.dtype)
        given = target if self.result is None else over(self.result, target)
        self.launch.over(*arrays, bias, given, *self.launch.rest, **self.launch.options)
        if self.last is not None:
            self.last.write(target, out)
        return out


class PreparedPlaces(NamedTuple):
    """The launches of a convolution whose kernel is one tap: a product of matrices.

    Attributes:
        is_turned: filters are the rows of the product, and places its columns.
    """

    product: Prepared
    is_turned: bool
    shape: tuple[int, ...]
    dtype: str

    def run(self, x: Any, weight: Any, bias: Any, out: Any) -> Any:
        """As of ``PreparedConvolution``."""
        if out is None:
            out = empty(x, self.shape, self.dtype)
        a, b = (weight, x) if self.is_turned else (x, weight)
        self.product.run(a, b, out, (None, None, bias, None))
        return out


def prepare_places(
    x: Operand,
    weight: Operand,
    bias: Operand | None,
    out: Operand,
    walk: Any,
    groups: int,
    activation: str | None,
) -> PreparedPlaces | None:
    """The launches of a convolution as a product of matrices; None where it is none, or has no
    tensor maps."""
    plain = (walk.stride, walk.padding) == ((1, 1), (0, 0)) and weight.shape[2:] == (1, 1)
    if not plain or groups > 1 or not (_are_joined(x) and _are_joined(out)):
        return None
    is_turned = out.strides[1] != 1
    if bias is not None and is_turned:  # a product adds its bias to rows alone
        return None
    count, places = x.shape[0], x.shape[2] * x.shape[3]

    def matrices(array: Operand) -> Operand:
        """The places of each image as rows."""
        steps = array.strides[0], array.strides[3 if array.shape[3] > 1 else 2], array.strides[1]
        shape = count, places, array.shape[1]
        return Operand(array.name, array.value, shape, steps, array.dtype)

    filters = Operand("weight", weight.value, weight.shape[1::-1], weight.strides[1::-1], x.dtype)
    factors, target = (matrices(x), filters), matrices(out)
    if is_turned:
        factors, target = (transposed(filters), transposed(factors[0])), transposed(target)
    product = prepared_product(*factors, target, bias, activation)
    return None if product is None else PreparedPlaces(product, is_turned, out.shape, out.dtype)


def _lines_of(
    array: Operand, extents: tuple[int, ...], joined: bool = True
) -> tuple[tuple[int, ...], Copy | None]:
    """The steps of an array with channels last, and its copy where it has to be copied so."""
    steps = _lines(array, extents) if joined else None
    if steps:
        return steps, None
    copy = _copied(array)
    return _steps(extents, copy), copy


def _depth_of(
    x: Operand, walk: Any, groups: int, channels: int, size: int, precision: str
) -> int | None:
    """The channels of a step; None where the device or the image has no tensor maps for them."""
    if size > (4 if precision == "tf32" else 2) or not is_hopper() or channels * size < _DEPTHS[-1]:
        return None
    if any(n % stride for n, stride in zip(x.shape[2:], walk.stride, strict=True)):
        return None  # a line's last column would have those of the next one behind it
    return _depth(channels, size, groups > 1 or walk.stride != (1, 1))


def prepare(
    x: Operand,
    weight: Operand,
    bias: Operand | None,
    out: Operand,
    walk: Any,
    groups: int,
    activation: str | None,
    precision: str,
) -> PreparedConvolution | None:
    """The launches of a convolution; None where the device or the arrays have no tensor maps for
    it.

    Args:
        x, weight, out: of four axes.
        walk: how the kernel goes over an image.
    """
    channels, filters = weight.shape[1], weight.shape[0] // groups
    size, strided, taps = _SIZES.get(x.dtype, 8), walk.stride != (1, 1), math.prod(weight.shape[2:])
    depth = _depth_of(x, walk, groups, channels, size, precision)
    if depth is None or (_lines(x, x.shape[2:]) is None and filters * taps < _COPIED):
        return None
    steps, image_copy = _lines_of(x, x.shape[2:])
    taps_steps, weight_copy = _lines_of(weight, (taps,), _are_joined(weight))
    last, target = _last(out)
    turned = target.strides[1] != 1
    places = out.shape[0], out.shape[2], out.shape[3]
    count = taps * -(-channels // depth)
    tile = convolution_blocks(places, filters, groups, depth * size, count, turned, strided)
    unit, along = _unit(target, filters, turned), 3 if turned else 1
    out_steps = [s if axis == along else s // unit for axis, s in enumerate(target.strides)]
    result = _result(target, tile, turned) if filters % tile.filters == 0 or groups == 1 else None
    extents = (*places[:2], places[2] // unit if turned else places[2])
    count = tile.tiles * groups * -(-filters // tile.filters)
    launch = Launch(
        described_convolution_tiles[(min(count, multiprocessors() * tile.programs),)],
        (count, groups, channels, filters if turned else filters // unit, extents, *walk,
         steps[-1] * size // _BYTES, bias.strides[0] if bias else 0, tuple(out_steps), activation,
         result is not None, strided, turned, unit,
         weight.shape[3], taps, *tile.box, tile.filters, depth, precision, sum_type(x.dtype),
         index_type(target, bias)),
        {"num_warps": tile.warps, "num_stages": tile.stages},
    )  # fmt: skip
    taken = _filters(weight, taps_steps, tile.filters, depth)
    forms = _images(x, steps, walk.stride, tile.box, depth), taken
    copies, held = (image_copy, weight_copy), (math.prod(places), out.shape[1])
    return PreparedConvolution(forms, copies, result, held, last, launch, out.shape, out.dtype)


def _filters(weight: Operand, steps: tuple[int, ...], filters: int, depth: int) -> TensorDescriptor:
    """The descriptor of filters, taps and channels."""
    shape = weight.shape[0], math.prod(weight.shape[2:]), weight.shape[1]
    return TensorDescriptor(weight.value, shape, (*steps, 1), (filters, 1, depth))


def _images(
    x: Operand,
    steps: tuple[int, ...],
    stride: tuple[int, int],
    box: tuple[int, int, int],
    depth: int,
) -> TensorDescriptor:
    """The descriptor of images, of whose places every ``stride``-th is a step of an axis."""
    (count, channels, lines, columns), (far, down, across) = x.shape, steps
    if stride == (1, 1):
        return TensorDescriptor(
            x.value, (count, lines, columns, channels), (far, down, across, 1), (*box, depth)
        )
    wide = (stride[1] - 1) * across + channels
    return TensorDescriptor(
        x.value, (count, lines // stride[0], stride[0], columns // stride[1], wide),
        (far, stride[0] * down, down, stride[1] * across, 1), (*box[:2], 1, box[2], depth),
    )  # fmt: skip


# --- arrays with the channels last


def _lines(array: Operand, extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """The steps of images and places where a tensor map describes them with the channels last;
    those of an axis of one are any. None where none does.

    Args:
        extents: of the places; one axis for joined ones.
    """
    count = len(extents)
    shape = (array.shape[0], *extents)
    given, size = (array.strides[0], *array.strides[4 - count :]), _SIZES[array.dtype]
    steps = [step if n > 1 else _BYTES // size for n, step in zip(shape, given, strict=True)]
    address = described.address_of_array(array.value)
    whole = (*shape, array.shape[1])
    if array.strides[1] != 1 or not fits(address, whole, [each * size for each in steps]):
        return None
    return tuple(steps)


def _are_joined(array: Operand) -> bool:
    """Whether lines of places follow each other."""
    _, _, lines, columns = array.shape
    _, _, down, across = array.strides
    return lines == 1 or (down == columns * across)


def _steps(extents: tuple[int, ...], copy: Copy | None) -> tuple[int, ...]:
    """The steps of a copy."""
    assert copy is not None
    steps = [copy.shape[1]]
    for extent in reversed(extents):
        steps.insert(0, steps[0] * extent)
    return tuple(steps)


def _copied(array: Operand) -> Copy:
    """The copy of an array with the channels last."""
    _, channels, *extents = array.shape
    line = _BYTES // _SIZES[array.dtype]
    step = -(-channels // line) * line
    return turned_copy(array, math.prod(extents), (extents[1], _are_joined(array)), step)


# --- results


def _last(out: Operand) -> tuple[Copy | None, Operand]:
    """The copy of results that are computed with the channels last, as lines of places are too
    short for vectors, and where they are; no copy where they are computed as they are."""
    count, filters, lines, columns = out.shape
    places, size = lines * columns, _SIZES[out.dtype]
    if size == 4 and columns % 2 == 0:  # a lane has as many neighbours
        return None, out
    own = filters * places, places, columns, 1
    if out.strides != own or columns % _ALIGN == 0 or filters % _ALIGN:
        return None, out
    steps = places * filters, 1, columns * filters, filters
    held = Operand("results", out.value, out.shape, steps, out.dtype)
    turned = Operand(
        "results", None, (count, places, 1, filters), (steps[0], filters, 0, 1), out.dtype
    )
    return turned_copy(turned, filters, (filters, True), places), held


def _result(out: Operand, tile: ConvolutionBlocks, turned: bool) -> TensorDescriptor | None:
    """The descriptor of results, whose addresses are known to lie apart from those of factors; None
    if no tensor map describes them."""
    (images, filters, lines, columns), (far, step, down, across) = out.shape, out.strides
    if turned:
        shape, steps = (filters, images, lines, columns), (step, far, down, across)
        block = tile.filters, *tile.box
    else:
        shape, steps = (images, lines, columns, filters), (far, down, across, step)
        block = *tile.box, tile.filters
    known = [s if n > 1 else _BYTES for n, s in zip(shape, steps, strict=True)]
    address = described.address_of_array(out.value)
    size = _SIZES[out.dtype]
    if steps[-1] != 1 or not fits(address, shape, [each * size for each in known[:-1]]):
        return None
    return TensorDescriptor(out.value, shape, (*known[:-1], 1), block)


# --- tiles


def _depth(channels: int, size: int, whole: bool) -> int | None:
    """The channels of a step, of so many bytes each; ``whole``: of which a group has a whole number
    of steps, as what is behind them in memory is no zero."""
    known = [each // size for each in _DEPTHS if not whole or channels * size % each == 0]
    return min(known, key=lambda each: -(-channels // each) * (each * size + _STEP), default=None)


def _unit(out: Operand, filters: int, turned: bool) -> int:
    """The neighbours of a result that a vector may store."""
    along = 3 if turned else 1
    if out.strides[along] != 1:
        return 1
    others = [each for axis, each in enumerate(out.strides) if axis != along]
    return math.gcd(_ALIGN, out.shape[3] if turned else filters, *others)


@lru_cache(4096)
def _box(
    extents: tuple[int, int, int], count: int, turned: bool
) -> tuple[tuple[int, int, int], int]:
    """The box of so many places of which the fewest cover all, and how many: of these that with
    the longest lines."""
    found: list[tuple[int, int, tuple[int, int, int]]] = []
    for images in range(count.bit_length()):
        for lines in range(count.bit_length() - images):
            box = 1 << images, 1 << lines, count >> images + lines
            if max(box) > MOST_SPAN:
                continue
            needed = math.prod(-(-n // each) for n, each in zip(extents, box, strict=True))
            found.append((needed, -box[2], box))
    needed, _, box = min(found)
    return box, needed


def convolution_blocks(
    extents: tuple[int, int, int],
    filters: int,
    groups: int,
    line: int,
    steps: int,
    turned: bool,
    strided: bool = False,
) -> ConvolutionBlocks:
    """The tile of a convolution of the least estimated time.

    Args:
        extents: images, lines and columns of the result.
        filters: of a group.
        line: the bytes of the channels of a step.
        steps: of a tile.
        turned: the rows of the product are filters.
        strided: places that follow each other in the result are apart in the images.
    """
    rate = _STRIDED_BYTES if strided else _READ_BYTES
    busy, best = multiprocessors(), (math.inf, None)
    for tile in _TILES:
        places, wide = (tile.columns, tile.rows) if turned else (tile.rows, tile.columns)
        box, tiles = _box(extents, places, turned)
        count = tiles * groups * -(-filters // wide)
        cycles = described.cycles(tile, count, steps, busy, line // 2, (rate, rate))
        if cycles < best[0]:
            stages = described.stages_of(tile, line // 2)
            found = ConvolutionBlocks(box, wide, tile.warps, stages, tile.programs, tiles)
            best = cycles, found
    assert best[1] is not None
    return best[1]
