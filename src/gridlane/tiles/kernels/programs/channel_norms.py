"""Normalisation of sets of an array's elements: rows of one length, some steps apart.

A set is a number (outer, inner); steps are those of outer and inner numbers, of a set's rows, and
of a row's elements. The channel of a row is ``inner * channels[0] + row * channels[1]``.
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def first_element(base, place, inner, steps, INDEX: tl.constexpr):
    """Where a set begins."""
    return base + (place // inner).to(INDEX) * steps[0] + (place % inner).to(INDEX) * steps[1]


@jit
def tile_rows(tile, length, ROWS: tl.constexpr, BLOCK: tl.constexpr, INDEX: tl.constexpr):
    """The rows and the elements of a tile of a set, whose tiles have row-major numbers."""
    across = tl.cdiv(length, BLOCK)
    i = tile // across * ROWS + tl.arange(0, ROWS)
    j = tile % across * BLOCK + tl.arange(0, BLOCK)
    return i.to(INDEX), j.to(INDEX)


@jit
def tile_count(tile, rows, length, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The elements of a tile that are in the set."""
    across = tl.cdiv(length, BLOCK)
    high = tl.minimum(rows - tile // across * ROWS, ROWS)
    return high * tl.minimum(length - tile % across * BLOCK, BLOCK)


@jit
def load_tile(base, i, j, rows, length, steps, SUM: tl.constexpr):
    """Elements j of rows i, and 0 behind the last ones."""
    where = base + i[:, None] * steps[2] + j[None, :] * steps[3]
    inside = (i[:, None] < rows) & (j[None, :] < length)
    return tl.load(where, mask=inside, other=0.0).to(SUM), inside


@jit
def share_of(part, parts, rows, length, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The tiles of a part of a set: the first, and behind the last."""
    tiles = tl.cdiv(rows, ROWS) * tl.cdiv(length, BLOCK)
    share = tl.cdiv(tiles, parts)
    first = tl.minimum(part * share, tiles)
    return first, tl.minimum(first + share, tiles)


@jit(do_not_specialize=("inner", "parts", "rows"))
def part_moments(
    x, moments, inner, parts, rows, length, steps,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The number of elements of a part of a set, their mean, and the sum of their squared distances
    from it: a row of three of ``moments``. Sums are of distances from the mean of the first tile,
    so that they lose nothing where the mean is large."""
    place = tl.program_id(0)
    x = first_element(x, place // parts, inner, steps, INDEX)
    first, last = share_of(place % parts, parts, rows, length, ROWS, BLOCK)
    i, j = tile_rows(first, length, ROWS, BLOCK, INDEX)
    begin, _ = load_tile(x, i, j, rows, length, steps, SUM)
    known = tl.maximum(tile_count(first, rows, length, ROWS, BLOCK), 1)
    start = tl.sum(tl.sum(begin, axis=1), axis=0) / known
    sums = tl.zeros((ROWS, BLOCK), SUM)
    squares = tl.zeros((ROWS, BLOCK), SUM)
    count = tl.zeros((), SUM)
    for tile in range(first, last):
        i, j = tile_rows(tile, length, ROWS, BLOCK, INDEX)
        values, inside = load_tile(x, i, j, rows, length, steps, SUM)
        values = tl.where(inside, values - start, 0.0)
        sums += values
        squares += values * values
        count += tile_count(tile, rows, length, ROWS, BLOCK).to(SUM)
    away = tl.sum(tl.sum(sums, axis=1), axis=0) / tl.where(count == 0, 1.0, count)
    total = tl.sum(tl.sum(squares, axis=1), axis=0) - away * away * count
    moments += place.to(INDEX) * 3
    tl.store(moments, count)
    tl.store(moments + 1, start + away)
    tl.store(moments + 2, tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL))


@jit
def joined_moments(moments, place, parts, PARTS: tl.constexpr, INDEX: tl.constexpr):
    """The mean and the variance of a set, of its parts' moments."""
    p = tl.arange(0, PARTS)
    at = moments + (place.to(INDEX) * parts + p) * 3
    count = tl.load(at, mask=p < parts, other=0.0)
    means = tl.load(at + 1, mask=p < parts, other=0.0)
    squares = tl.load(at + 2, mask=p < parts, other=0.0)
    whole = tl.sum(count, axis=0)
    mean = tl.sum(tl.where(count > 0, means * count, 0.0), axis=0) / whole
    away = tl.where(count > 0, (means - mean) * (means - mean) * count, 0.0)
    return mean, tl.sum(away + squares, axis=0) / whole


@jit
def scaled(values, weight, bias, channel, inside, weight_step, bias_step, SUM: tl.constexpr):
    """Values of rows of some channels, times weights, plus biases."""
    if weight is not None:
        values *= tl.load(weight + channel * weight_step, mask=inside, other=0.0).to(SUM)[:, None]
    if bias is not None:
        values += tl.load(bias + channel * bias_step, mask=inside, other=0.0).to(SUM)[:, None]
    return values


@jit
def store_tile(base, i, j, steps, values, inside):
    """Store elements j of rows i."""
    tl.store(base + i[:, None] * steps[2] + j[None, :] * steps[3], values, inside)


@jit
def norm_by_channels(
    x, weight, bias, mean, variance, out, first, last, rows, length, channel, channel_step, steps,
    out_steps, weight_step, bias_step, mean_step, variance_step, EPS: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some tiles of a set, normalised by means and variances of channels."""
    for tile in range(first, last):
        i, j = tile_rows(tile, length, ROWS, BLOCK, INDEX)
        values, inside = load_tile(x, i, j, rows, length, steps, SUM)
        c, seen = channel + i * channel_step, i < rows
        centre = tl.load(mean + c * mean_step, mask=seen, other=0.0).to(SUM)
        spread = tl.load(variance + c * variance_step, mask=seen, other=1.0).to(SUM)
        values = (values - centre[:, None]) * (1.0 / tl.sqrt(spread + EPS))[:, None]
        values = scaled(values, weight, bias, c, seen, weight_step, bias_step, SUM)
        store_tile(out, i, j, out_steps, values, inside)


@jit
def norm_tiles(
    x, weight, bias, out, first, last, centre, factor, rows, length, channel, channel_step, steps,
    out_steps, weight_step, bias_step, ROWS: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """Some tiles of a set less its mean, times the reciprocal of its deviation."""
    for tile in range(first, last):
        i, j = tile_rows(tile, length, ROWS, BLOCK, INDEX)
        values, inside = load_tile(x, i, j, rows, length, steps, SUM)
        c, seen = channel + i * channel_step, i < rows
        values = (values - centre) * factor
        values = scaled(values, weight, bias, c, seen, weight_step, bias_step, SUM)
        store_tile(out, i, j, out_steps, values, inside)


@jit(do_not_specialize=("inner", "parts", "rows"))
def norm_parts(
    x, weight, bias, mean, variance, moments, out, known, inner, parts, rows, length, channels,
    steps, out_steps, weight_step, bias_step, mean_step, variance_step, EPS: tl.constexpr,
    WHOLE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A part of a set, normalised: by means and variances of channels, if there are any, else by
    the set's moments: those of its only tile (``WHOLE``), or what ``moments`` has of its parts.
    ``known`` receives the mean and the variance of each set, if it is an array."""
    place = tl.program_id(0)
    each = place // parts
    x = first_element(x, each, inner, steps, INDEX)
    out = first_element(out, each, inner, out_steps, INDEX)
    channel = (each % inner).to(INDEX) * channels[0]
    first, last = share_of(place % parts, parts, rows, length, ROWS, BLOCK)
    if mean is not None:
        norm_by_channels(
            x, weight, bias, mean, variance, out, first, last, rows, length, channel, channels[1],
            steps, out_steps, weight_step, bias_step, mean_step, variance_step, EPS, ROWS, BLOCK,
            SUM, INDEX,
        )  # fmt: skip
    else:
        if WHOLE:
            i, j = tile_rows(first, length, ROWS, BLOCK, INDEX)
            values, inside = load_tile(x, i, j, rows, length, steps, SUM)
            count = rows * length
            centre = tl.sum(tl.sum(values, axis=1), axis=0) / count
            values = tl.where(inside, values - centre, 0.0)
            spread = tl.sum(tl.sum(values * values, axis=1), axis=0) / count
            c, seen = channel + i * channels[1], i < rows
            values *= 1.0 / tl.sqrt(spread + EPS)
            values = scaled(values, weight, bias, c, seen, weight_step, bias_step, SUM)
            store_tile(out, i, j, out_steps, values, inside)
        else:
            centre, spread = joined_moments(moments, each, parts, PARTS, INDEX)
            norm_tiles(
                x, weight, bias, out, first, last, centre, 1.0 / tl.sqrt(spread + EPS), rows,
                length, channel, channels[1], steps, out_steps, weight_step, bias_step, ROWS, BLOCK,
                SUM, INDEX,
            )  # fmt: skip
        if known is not None:
            tl.store(known + each.to(INDEX) * 2, centre, mask=place % parts == 0)
            tl.store(known + each.to(INDEX) * 2 + 1, spread, mask=place % parts == 0)


@jit(do_not_specialize=("sets", "channels"))
def keep_statistics(
    known, mean, variance, sets, channels, mean_step, variance_step, correction,
    MOMENTUM: tl.constexpr, SETS: tl.constexpr, CHANNELS: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """Move the means and variances of some channels towards the averages of their sets' ones, of
    which each channel has ``sets``, ``channels`` apart."""
    c = (tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)).to(INDEX)
    s = tl.arange(0, SETS).to(INDEX)
    inside = c < channels
    means = tl.zeros((SETS, CHANNELS), SUM)
    spreads = tl.zeros((SETS, CHANNELS), SUM)
    for begin in range(0, sets, SETS):
        at = s + begin
        seen = (at[:, None] < sets) & inside[None, :]
        where = known + (at[:, None] * channels + c[None, :]) * 2
        means += tl.load(where, mask=seen, other=0.0)
        spreads += tl.load(where + 1, mask=seen, other=0.0)
    centre = tl.sum(means, axis=0) / sets
    spread = tl.sum(spreads, axis=0) / sets * correction
    old = tl.load(mean + c * mean_step, mask=inside, other=0.0).to(SUM)
    tl.store(mean + c * mean_step, old + (centre - old) * MOMENTUM, mask=inside)
    old = tl.load(variance + c * variance_step, mask=inside, other=0.0).to(SUM)
    tl.store(variance + c * variance_step, old + (spread - old) * MOMENTUM, mask=inside)


@jit
def moments_of(
    mean, variance, channel, mean_step, variance_step, EPS: tl.constexpr, SUM: tl.constexpr
):  # fmt: skip
    """A channel's mean, and the reciprocal of its deviation."""
    centre = tl.load(mean + channel * mean_step).to(SUM)
    return centre, 1.0 / tl.sqrt(tl.load(variance + channel * variance_step).to(SUM) + EPS)


@jit
def joined_sums(sums, place, parts, PARTS: tl.constexpr):
    """A set's sums of ``gradient_sums``, of those of its parts."""
    p = tl.arange(0, PARTS)
    at = sums + (place * parts + p) * 2
    plain = tl.sum(tl.load(at, mask=p < parts, other=0.0), axis=0)
    return plain, tl.sum(tl.load(at + 1, mask=p < parts, other=0.0), axis=0)


@jit
def store_gradient(
    out, i, j, steps, inside, g, values, plain, along, count, scale,
    TRAINED: tl.constexpr,
):  # fmt: skip
    """Store a tile's gradients, by the sums of a channel's ones, and of these times elements."""
    if TRAINED:
        g -= plain / count + values * (along / count)
    store_tile(out, i, j, steps, g * scale, inside)


@jit
def gradient_tile(
    grad, x, i, j, rows, length, grad_steps, steps, centre, factor, SUM: tl.constexpr
):  # fmt: skip
    """A tile's gradients, and its elements, normalised."""
    g, inside = load_tile(grad, i, j, rows, length, grad_steps, SUM)
    values, _ = load_tile(x, i, j, rows, length, steps, SUM)
    return g, tl.where(inside, (values - centre) * factor, 0.0), inside


@jit(do_not_specialize=("inner", "parts", "rows"))
def gradient_sums(
    grad, x, mean, variance, sums, inner, parts, rows, length, grad_steps, steps, mean_step,
    variance_step, EPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """The sums of a part's gradients, and of these times normalised elements: a row of two of
    ``sums``. A set is a channel."""
    place = tl.program_id(0)
    each = place // parts
    grad = first_element(grad, each, inner, grad_steps, INDEX)
    x = first_element(x, each, inner, steps, INDEX)
    channel = each.to(INDEX)
    centre, factor = moments_of(mean, variance, channel, mean_step, variance_step, EPS, SUM)
    first, last = share_of(place % parts, parts, rows, length, ROWS, BLOCK)
    plain = tl.zeros((ROWS, BLOCK), SUM)
    along = tl.zeros((ROWS, BLOCK), SUM)
    for tile in range(first, last):
        i, j = tile_rows(tile, length, ROWS, BLOCK, INDEX)
        g, values, _ = gradient_tile(
            grad, x, i, j, rows, length, grad_steps, steps, centre, factor, SUM
        )
        plain += g
        along += g * values
    sums += place.to(INDEX) * 2
    tl.store(sums, tl.sum(tl.sum(plain, axis=1), axis=0))
    tl.store(sums + 1, tl.sum(tl.sum(along, axis=1), axis=0))


@jit(do_not_specialize=("inner", "parts", "rows"))
def gradient_parts(
    grad, x, weight, mean, variance, sums, out, out_weight, out_bias, inner, parts, rows, length,
    grad_steps, steps, out_steps, weight_step, mean_step, variance_step, EPS: tl.constexpr,
    TRAINED: tl.constexpr, WHOLE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    PARTS: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of a part of a channel; and, by its first part's program, those of the
    channel's weight and bias. ``TRAINED``: the mean and the variance depend on the elements."""
    place = tl.program_id(0)
    each = place // parts
    grad = first_element(grad, each, inner, grad_steps, INDEX)
    x = first_element(x, each, inner, steps, INDEX)
    out = first_element(out, each, inner, out_steps, INDEX)
    channel = each.to(INDEX)
    centre, factor = moments_of(mean, variance, channel, mean_step, variance_step, EPS, SUM)
    scale = factor if weight is None else factor * tl.load(weight + channel * weight_step).to(SUM)
    count = rows.to(SUM) * length
    first, last = share_of(place % parts, parts, rows, length, ROWS, BLOCK)
    if WHOLE:
        i, j = tile_rows(first, length, ROWS, BLOCK, INDEX)
        g, values, inside = gradient_tile(
            grad, x, i, j, rows, length, grad_steps, steps, centre, factor, SUM
        )
        plain = tl.sum(tl.sum(g, axis=1), axis=0)
        along = tl.sum(tl.sum(g * values, axis=1), axis=0)
        store_gradient(out, i, j, out_steps, inside, g, values, plain, along, count, scale, TRAINED)
    else:
        plain, along = joined_sums(sums, channel, parts, PARTS)
        for tile in range(first, last):
            i, j = tile_rows(tile, length, ROWS, BLOCK, INDEX)
            g, values, inside = gradient_tile(
                grad, x, i, j, rows, length, grad_steps, steps, centre, factor, SUM
            )
            store_gradient(
                out, i, j, out_steps, inside, g, values, plain, along, count, scale, TRAINED
            )
    if place % parts == 0:
        tl.store(out_weight + channel, along)
        tl.store(out_bias + channel, plain)
