"""Convolution as an implicit product of matrices (Chetlur et al., "cuDNN", 2014)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels import prepared
from gridlane.tiles.kernels.blocks import product_blocks, record
from gridlane.tiles.kernels.described_convolutions import prepare, prepare_places
from gridlane.tiles.kernels.factors import bias_of, check_options
from gridlane.tiles.kernels.norms import step_of, value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    expect_dtype,
    index_type,
    operand,
    result,
    sum_name,
    sum_type,
)
from gridlane.tiles.kernels.programs.convolutions import convolution_tiles

Numbers = int | tuple[int, ...]


class Walk(NamedTuple):
    """How a kernel goes over an image, for each of its two axes."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    def results(self, extents: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, int]:
        """The extents of the result."""
        y, x = [
            (n + 2 * pad - dilation * (size - 1) - 1) // stride + 1
            for n, size, stride, pad, dilation in zip(extents, kernel, *self, strict=True)
        ]
        return y, x


def convolution(
    x: Any,
    weight: Any,
    bias: Any = None,
    out: Any = None,
    *,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    activation: str | None = None,
    out_dtype: str | None = None,
    precision: str = "ieee",
) -> Any:
    """Sums of the products of a kernel's numbers and the parts of images that it lies on.

    Args:
        x: of shape (images, channels, height, width) or (images, channels, length), float16,
            bfloat16, float32 or float64. Views of other orders of axes, as channels last, are as
            good.
        weight: of shape (filters, channels / groups, kernel's height, kernel's width), or without
            the height, and x's dtype.
        bias: a number for each filter, of any of these dtypes; None for 0.
        out: of shape (images, filters, height, width); a new array by default.
        stride: the places from one result to the next; a number, or one for each axis.
        padding: zeros in front of and behind each axis.
        dilation: the places from one of the kernel's numbers to the next.
        groups: parts of the channels, each of which has as many of the filters.
        activation: as of ``matmul``.
        out_dtype: of the result: that of x by default, or the one in which products are added.
        precision: of float32: ``ieee``, or ``tf32`` where instructions may round factors to 10 bits
            behind the point, as some GPUs' do.

    Returns:
        ``out``. Products are added in float32, or float64 for float64.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> x, weight = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 0.0, -1.0]]])
    >>> convolution(x, weight, padding=1).ravel()
    array([-1., -2., -2., -2.,  3.])
    """
    options = stride, padding, dilation, groups, activation, out_dtype, precision
    key = prepared.key_of((x, weight, bias, out), ("convolution", *map(_kept, options)))
    found = prepared.find(key)
    if found is not None:
        return found.run(x, weight, bias, out)
    source, filters = operand("x", x, FLOATS), operand("weight", weight, FLOATS)
    axes = len(source.shape) - 2
    if axes not in (1, 2) or len(filters.shape) != axes + 2:
        raise ArgumentError(f"{source}, and {filters}: both must have 3 or 4 dimensions")
    _check_channels(source, filters, groups)
    walk = _walk(axes, stride, padding, dilation)
    source, filters = _flat(source), _flat(filters)
    shift = bias_of(bias, filters.shape[0])
    check_options(activation, precision=precision)
    target = _target(source, filters, walk, axes, out, out_dtype)
    if not target.size:
        return target.value
    given = source, filters, shift, _flat(target), walk, groups, activation
    launches = prepare_places(*given) or prepare(*given, precision)
    if launches is None:
        _launch(*given, precision)
        return target.value
    launches.run(source.value, filters.value, value_of(shift), target.value)
    if key is not None:
        prepared.remember(key, launches._replace(shape=target.shape))
    return target.value


def _target(
    x: Operand, weight: Operand, walk: Walk, axes: int, out: Any, out_dtype: str | None
) -> Operand:
    """The array of a result with some axes."""
    extents = walk.results(x.shape[2:], weight.shape[2:])
    if min(extents) < 1:
        raise ArgumentError(f"{x}, and {weight}: the kernel does not lie within the image; pad it")
    known = x.dtype, sum_name(x.dtype)
    if out_dtype is not None and out_dtype not in known:
        raise ArgumentError(f"out_dtype is {out_dtype!r}; it must be {' or '.join(known)}")
    shape = (x.shape[0], weight.shape[0], *extents[2 - axes :])
    return result("out", out, x, shape, out_dtype or x.dtype)


def _kept(option: Any) -> Any:
    """An option as a part of a key."""
    return option if option is None or isinstance(option, int | str) else tuple(option)


def _flat(array: Operand) -> Operand:
    """An array of images with two axes."""
    if len(array.shape) == 4:
        return array
    (one, other, length), (far, near, step) = array.shape, array.strides
    return Operand(
        array.name, array.value, (one, other, 1, length), (far, near, 0, step), array.dtype
    )


def _check_channels(x: Operand, weight: Operand, groups: int) -> None:
    expect_dtype(weight, x)
    if groups < 1 or x.shape[1] % groups or weight.shape[0] % groups:
        raise ArgumentError(
            f"{x}, and {weight}: groups is {groups}, which must divide channels and filters"
        )
    if weight.shape[1] * groups != x.shape[1]:
        raise ArgumentError(
            f"{x}, and {weight}: with {groups} groups the weight must have "
            f"{x.shape[1] // groups} channels"
        )
    if 0 in weight.shape[2:]:
        raise ArgumentError(f"{weight}; its kernel must have numbers")


def _walk(axes: int, stride: Numbers, padding: Numbers, dilation: Numbers) -> Walk:
    pairs: list[tuple[int, int]] = []
    for name, given, least, one in (
        ("stride", stride, 1, 1),
        ("padding", padding, 0, 0),
        ("dilation", dilation, 1, 1),
    ):
        numbers = (given,) * axes if isinstance(given, int) else tuple([int(n) for n in given])
        if len(numbers) != axes or min(numbers) < least:
            raise ArgumentError(
                f"{name} is {given}; it must be a number for each axis, at least {least}"
            )
        pairs.append((one, numbers[0]) if axes == 1 else (numbers[0], numbers[1]))
    return Walk(*pairs)


def _launch(
    x: Operand,
    weight: Operand,
    bias: Operand | None,
    out: Operand,
    walk: Walk,
    groups: int,
    activation: str | None,
    precision: str,
) -> None:
    images, filters, *results = out.shape
    filters //= groups
    count, depth = images * math.prod(results), math.prod(weight.shape[1:])
    tile = product_blocks(count, filters, depth, x.dtype)
    # On processors vectors are of places, where these are neighbours in memory.
    turned = record().on_host and x.strides[1] > x.strides[3]
    whole = weight.strides[1:] == (math.prod(weight.shape[2:]), weight.shape[3], 1)
    convolution_tiles[(groups * -(-count // tile.m) * -(-filters // tile.n),)](
        x.value, weight.value, value_of(bias), out.value, count, groups,
        weight.shape[1], filters, x.shape[2:], tuple(results), *walk,
        x.strides, weight.strides, step_of(bias), out.strides,
        ACTIVATION=activation, M=tile.m, N=tile.n, K=tile.k, num_warps=tile.warps,
        HEIGHT=weight.shape[2], WIDTH=weight.shape[3], SUM=sum_type(x.dtype),
        INDEX=index_type(x, weight, out), TURNED=turned, WHOLE=whole,
        PRECISION=precision,
    )  # fmt: skip
