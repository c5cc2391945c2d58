"""Convolution as a product of matrices that are never in memory."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import activated


@jit
def convolution_sums(
    x, weight, i, j, image, top, left, count, channels, filters, extents, dilation, x_steps,
    weight_steps, PLACE: tl.constexpr, INNER: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The sums of products of places i and filters j of one group, where images' first numbers are
    at ``top`` and ``left``. ``PLACE``, ``INNER``: as of ``convolution_tiles``."""
    depth = channels * HEIGHT * WIDTH
    total = tl.zeros((N, M) if INNER == 1 else (M, N), SUM)
    for at in range(0, depth, K):
        k = at + tl.arange(0, K).to(INDEX)
        channel = k // (HEIGHT * WIDTH)
        kernel_y = k // WIDTH % HEIGHT
        kernel_x = k % WIDTH
        y = tl.expand_dims(top, PLACE) + tl.expand_dims(kernel_y * dilation[0], INNER)
        z = tl.expand_dims(left, PLACE) + tl.expand_dims(kernel_x * dilation[1], INNER)
        inside = (y >= 0) & (y < extents[0]) & (z >= 0) & (z < extents[1])
        inside &= tl.expand_dims(i < count, PLACE) & tl.expand_dims(k < depth, INNER)
        where = image * x_steps[0] + top * x_steps[2] + left * x_steps[3]
        where = tl.expand_dims(where, PLACE)
        ahead = kernel_y * (dilation[0] * x_steps[2]) + kernel_x * (dilation[1] * x_steps[3])
        where += tl.expand_dims(channel * x_steps[1] + ahead, INNER)
        pixels = tl.load(x + where, mask=inside, other=0.0)
        where = k
        if not WHOLE:
            where = kernel_y * weight_steps[2] + kernel_x * weight_steps[3]
            where += channel * weight_steps[1]
        where = weight + tl.expand_dims(j * weight_steps[0], INNER) + tl.expand_dims(where, PLACE)
        inside = tl.expand_dims(k < depth, PLACE) & tl.expand_dims(j < filters, INNER)
        taps = tl.load(where, mask=inside, other=0.0)
        if INNER == 1:
            total = tl.dot(taps, pixels, total, input_precision=PRECISION, out_dtype=SUM)
        else:
            total = tl.dot(pixels, taps, total, input_precision=PRECISION, out_dtype=SUM)
    return total


@jit(do_not_specialize=("count", "groups"))
def convolution_tiles(
    x, weight, bias, out, count, groups, channels, filters, extents, results,
    stride, padding, dilation, x_steps, weight_steps, bias_step, out_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
    TURNED: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Some places of the result, of all images, by some filters of one group. The rows of the
    product are places, or filters if it is turned; its inner dimension is (channel, y, x) of the
    kernel. ``WHOLE``: so are the numbers of a filter in memory, one behind the other."""
    across = tl.cdiv(filters, N)
    down = tl.cdiv(count, M)
    place = tl.program_id(0)
    group = (place // across // down).to(INDEX)
    i = (place // across % down * M + tl.arange(0, M)).to(INDEX)
    j = (place % across * N + tl.arange(0, N)).to(INDEX)
    image = i // (results[0] * results[1])
    out_y = i // results[1] % results[0]
    out_x = i % results[1]
    top = out_y * stride[0] - padding[0]
    left = out_x * stride[1] - padding[1]
    x += group * channels * x_steps[1]
    weight += group * filters * weight_steps[0]
    # Of axes of places, and of axes behind or in front of these, the ones that are 1.
    PLACE: tl.constexpr = 0 if TURNED else 1
    INNER: tl.constexpr = 1 if TURNED else 0
    total = convolution_sums(
        x, weight, i, j, image, top, left, count, channels, filters, extents, dilation, x_steps,
        weight_steps, PLACE, INNER, M, N, K, HEIGHT, WIDTH, SUM, INDEX, WHOLE, PRECISION,
    )  # fmt: skip
    if bias is not None:
        bias += (group * filters + j) * bias_step
        shift = tl.load(bias, mask=j < filters, other=0.0).to(SUM)
        total += tl.expand_dims(shift, INNER)
    total = activated(total, ACTIVATION)
    out += group * filters * out_steps[1]
    where = image * out_steps[0] + out_y * out_steps[2] + out_x * out_steps[3]
    where = tl.expand_dims(where, PLACE) + tl.expand_dims(j * out_steps[1], INNER)
    inside = tl.expand_dims(i < count, PLACE) & tl.expand_dims(j < filters, INNER)
    tl.store(out + where, total, mask=inside)
