"""Convolution by tensor descriptors, of whose boxes a GPU copies itself.

A tile of results is A images by B lines by C columns. For each of a kernel's taps one box of the
images, moved by the tap, is a left factor; beside the images it has zeros, which are the padding.
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import activated


@jit
def joined(images, lines, columns, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Sums of a number of each image, each line and each column, in the order of places."""
    result = images[:, None, None] + lines[None, :, None] + columns[None, None, :]
    return result.reshape(A * B * C)


@jit
def are_inside(n, y, z, extents, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Whether places are in the result."""
    inside = (n < extents[0])[:, None, None] & (y < extents[1])[None, :, None]
    inside &= (z < extents[2])[None, None, :]
    return inside.reshape(A * B * C)


@jit
def place_of(first, moved, stride, padding):
    """Where ``first * stride + moved - padding`` lies: among every ``stride``-th, and how far
    behind it."""
    ahead = tl.cdiv(padding, stride)
    at = moved - padding + ahead * stride
    return first - ahead + at // stride, at % stride


@jit
def places_of(
    x, n, y, z, top, left, channel, stride, padding, step, STRIDED: tl.constexpr,
    UNIT: tl.constexpr,
):  # fmt: skip
    """The box of a tap, and K channels from one on. ``STRIDED``: the descriptor has an axis more,
    of the lines between those of results, and the channels of all columns from one of these to the
    next, which are ``step`` times ``UNIT`` apart."""
    if STRIDED:
        y, line = place_of(y, top, stride[0], padding[0])
        z, column = place_of(z, left, stride[1], padding[1])
        return x.load([n, y, line, z, column * step * UNIT + channel])
    return x.load([n, y + top - padding[0], z + left - padding[1], channel])


@jit
def convolved_sums(
    x, weight, n, y, z, first, j, channels, stride, padding, dilation, step,
    STRIDED: tl.constexpr, WIDTH: tl.constexpr, TAPS: tl.constexpr,
    TURNED: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """The products of all taps: of the places from (n, y, z) on by the filters from j on.
    ``channels`` are those of a filter, and ``first`` is the first block of K channels that it
    sees."""
    blocks = tl.cdiv(channels, K)
    total = tl.zeros((N, A * B * C) if TURNED else (A * B * C, N), SUM)
    for number in range(0, TAPS * blocks):
        tap, block = number // blocks, number % blocks
        places = places_of(
            x, n, y, z, tap // WIDTH * dilation[0], tap % WIDTH * dilation[1],
            (first + block) * K, stride, padding, step, STRIDED, 128 // x.dtype.primitive_bitwidth,
        ).reshape(A * B * C, K)  # fmt: skip
        taps = weight.load([j, tap, block * K]).reshape(N, K)
        if TURNED:
            total = tl.dot(taps, tl.trans(places), total, PRECISION, out_dtype=SUM)
        else:
            total = tl.dot(places, tl.trans(taps), total, PRECISION, out_dtype=SUM)
    return total


@jit(do_not_specialize=("count", "groups"))
def described_convolution_tiles(
    x, weight, bias, out, count, groups, channels, filters, extents, stride, padding, dilation,
    step, bias_step, out_steps, ACTIVATION: tl.constexpr, DESCRIBED: tl.constexpr,
    STRIDED: tl.constexpr, TURNED: tl.constexpr, UNIT: tl.constexpr, WIDTH: tl.constexpr,
    TAPS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """All tiles of the result, by as many programs as there are. ``x`` has the axes (image, y, x,
    channel), or more (``places_of``), ``weight`` (filter, tap, channel); ``channels`` and
    ``filters`` are those of a group. The rows of the product are places, or filters if it is
    turned. Numbers are in units of ``UNIT`` that decide how many neighbours a vector stores: the
    steps of ``out`` but that along the columns of the product, and the extent along these; they are
    not used where ``out`` is a descriptor, of (image, y, x, filter) or, turned, (filter, image, y,
    x)."""
    across, down = tl.cdiv(extents[2] * (UNIT if TURNED else 1), C), tl.cdiv(extents[1], B)
    filters *= 1 if TURNED else UNIT
    wide = tl.cdiv(filters, N)
    for place in range(tl.program_id(0), count, tl.num_programs(0)):
        tile, group, column = place // wide // groups, place // wide % groups, place % wide
        n, y, z = tile // across // down * A, tile // across % down * B, tile % across * C
        j = group * filters + column * N
        total = convolved_sums(
            x, weight, n, y, z, group * tl.cdiv(channels, K), j, channels, stride, padding,
            dilation, step, STRIDED, WIDTH, TAPS, TURNED, A, B, C, N, K, PRECISION,
            SUM,
        )  # fmt: skip
        own, held = j + tl.arange(0, N), column * N + tl.arange(0, N) < filters
        if bias is not None:
            shift = tl.load(bias + own.to(INDEX) * bias_step, mask=held, other=0.0).to(SUM)
            total += tl.expand_dims(shift, 1 if TURNED else 0)
        total = activated(total, ACTIVATION)
        if not DESCRIBED:
            store_places(
                total, n, y, z, own, held, out, extents, out_steps, TURNED, UNIT, A, B, C, INDEX
            )
        elif TURNED:
            out.store([j, n, y, z], total.to(out.dtype).reshape(N, A, B, C))
        else:
            out.store([n, y, z, j], total.to(out.dtype).reshape(A, B, C, N))


@jit
def store_places(
    total, n, y, z, own, held, out, extents, out_steps, TURNED: tl.constexpr, UNIT: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Store the results of places from (n, y, z) on, of the filters ``own`` of which some are
    ``held``."""
    # Of places, and of filters: where the axis is that is 1.
    PLACE: tl.constexpr = 0 if TURNED else 1
    FILTER: tl.constexpr = 1 if TURNED else 0
    n, y, z = n + tl.arange(0, A), y + tl.arange(0, B), z + tl.arange(0, C)
    width = extents[2] * (UNIT if TURNED else 1)
    inside = are_inside(n, y, z, (extents[0], extents[1], width), A, B, C)
    where = joined(
        n.to(INDEX) * out_steps[0] * UNIT, y.to(INDEX) * out_steps[2] * UNIT,
        z.to(INDEX) * out_steps[3] * (1 if TURNED else UNIT), A, B, C,
    )  # fmt: skip
    filters = own.to(INDEX) * out_steps[1] * (UNIT if TURNED else 1)
    where = tl.expand_dims(where, PLACE) + tl.expand_dims(filters, FILTER)
    known = tl.expand_dims(inside, PLACE) & tl.expand_dims(held, FILTER)
    tl.store(out + where, total, mask=known)


@jit
def channels_last_tiles(
    x, out, channels, places, width, x_steps, out_step, M: tl.constexpr, N: tl.constexpr,
    WHOLE: tl.constexpr, UNIT: tl.constexpr, OUT_UNIT: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some channels of some places of an image, with the channels last: ``out`` has the places of
    all images one behind the other, ``out_step`` apart. ``WHOLE``: so have the images. The number
    of places, and the steps of ``x`` but that of places, are in units of ``UNIT``; the number of
    channels, and ``out_step``, in units of ``OUT_UNIT``."""
    places, channels = places * UNIT, channels * OUT_UNIT
    across, down = tl.cdiv(channels, N), tl.cdiv(places, M)
    tile = tl.program_id(0)
    image = (tile // across // down).to(INDEX)
    i = tile // across % down * M + tl.arange(0, M)
    j = tile % across * N + tl.arange(0, N)
    if WHOLE:
        where = i.to(INDEX) * x_steps[3]
    else:
        where = (i // width).to(INDEX) * x_steps[2] * UNIT + (i % width).to(INDEX) * x_steps[3]
    where = (j.to(INDEX) * x_steps[1] * UNIT)[:, None] + where[None, :]
    inside = (j < channels)[:, None] & (i < places)[None, :]
    values = tl.load(x + image * x_steps[0] * UNIT + where, mask=inside, other=0.0)
    where = ((image * places + i) * out_step * OUT_UNIT)[:, None] + j.to(INDEX)[None, :]
    tl.store(out + where, tl.trans(values), mask=tl.trans(inside))
