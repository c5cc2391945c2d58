"""Convolution as a product of matrices that are never in memory."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import finish


@jit(do_not_specialize=("count", "groups"))
def convolution_tiles(
    x, weight, bias, out, count, groups, channels, filters, extents, results,
    stride, padding, dilation, x_steps, weight_steps, bias_step, out_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some places of the result, of all images, by some filters of one group. The rows of the
    product are places, its inner dimension is (channel, y, x) of the kernel."""
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
    depth = channels * HEIGHT * WIDTH
    total = tl.zeros((M, N), SUM)
    for at in range(0, depth, K):
        k = at + tl.arange(0, K).to(INDEX)
        channel = k // (HEIGHT * WIDTH)
        kernel_y = k // WIDTH % HEIGHT
        kernel_x = k % WIDTH
        y = top[:, None] + kernel_y[None, :] * dilation[0]
        z = left[:, None] + kernel_x[None, :] * dilation[1]
        inside = (y >= 0) & (y < extents[0]) & (z >= 0) & (z < extents[1])
        inside &= (i[:, None] < count) & (k[None, :] < depth)
        where = x + image[:, None] * x_steps[0] + channel[None, :] * x_steps[1]
        pixels = tl.load(where + y * x_steps[2] + z * x_steps[3], mask=inside, other=0.0)
        where = kernel_y * weight_steps[2] + kernel_x * weight_steps[3] + channel * weight_steps[1]
        where = weight + where[:, None] + j[None, :] * weight_steps[0]
        taps = tl.load(where, mask=(k[:, None] < depth) & (j[None, :] < filters), other=0.0)
        total = tl.dot(pixels, taps, total, input_precision="ieee", out_dtype=SUM)
    if bias is not None:
        bias += group * filters * bias_step
    total = finish(
        total, i, j, count, filters, None, None, bias, None, 0, 0, bias_step, 0, 0, ACTIVATION
    )
    out += group * filters * out_steps[1]
    where = image * out_steps[0] + out_y * out_steps[2] + out_x * out_steps[3]
    where = out + where[:, None] + j[None, :] * out_steps[1]
    tl.store(where, total, mask=(i[:, None] < count) & (j[None, :] < filters))
