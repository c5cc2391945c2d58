"""Tile programs: sums of whole arrays, moments of rows, scans of rows, distances of rows."""

from __future__ import annotations

from gridlane import tiles

tl = tiles.language


@tiles.jit
def element(x, y, i, inside, period, KIND: tl.constexpr):
    """What is added for the elements at places: of one array, or of two."""
    a = tl.load(x + i, mask=inside, other=0.0)
    if KIND == "square":
        return a * a
    if KIND == "hinge":
        b = tl.load(y + i % period, mask=inside, other=0.0)
        return tl.where(inside, tl.maximum(1.0 - a * b, 0.0), 0.0)
    b = tl.load(y + i, mask=inside, other=0.0)
    if KIND == "divergence":
        return tl.where(b > 0.0, b * (tl.log(b) - tl.log(a)), 0.0)
    difference = a - b
    if KIND == "huber":
        far = tl.abs(difference)
        return tl.where(far < 1.0, 0.5 * far * far, far - 0.5)
    return difference * difference


@tiles.jit
def shares(x, y, out, count, share, period, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """The sum of a share of an array for each program; shares are multiples of blocks."""
    first = tl.program_id(0).to(tl.int64) * share
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, share, BLOCK):
        place = first + at + i
        total += element(x, y, place, place < count, period, KIND)
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))


@tiles.jit
def sum_of_all(x, out, count, scale, BLOCK: tl.constexpr):
    """A number times the sum of an array, by one program."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, count, BLOCK):
        total += tl.load(x + at + i, mask=at + i < count, other=0.0)
    tl.store(out, tl.sum(total, axis=0) * scale)


@tiles.jit
def divided_by_root(x, square, out, count, BLOCK: tl.constexpr):
    """Elements divided by the root of one number."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    root = tl.sqrt(tl.load(square))
    tl.store(out + i, tl.load(x + i, mask=i < count, other=0.0) / root, mask=i < count)


@tiles.jit
def divided_rows(x, out, length, SQUARES: tl.constexpr, BLOCK: tl.constexpr):
    """Rows divided by the root of the sum of their squares, or by their mean magnitude."""
    row = tl.program_id(0).to(tl.int64) * length
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, length, BLOCK):
        a = tl.load(x + row + at + i, mask=at + i < length, other=0.0)
        total += a * a if SQUARES else tl.abs(a)
    whole = tl.sum(total, axis=0)
    whole = tl.sqrt(whole) if SQUARES else whole / length
    for at in range(0, length, BLOCK):
        inside = at + i < length
        a = tl.load(x + row + at + i, mask=inside, other=0.0)
        tl.store(out + row + at + i, a / whole, mask=inside)


@tiles.jit
def divided_columns(
    x, out, channels, places, eps, CHANNELS: tl.constexpr, PLACES: tl.constexpr
):  # fmt: skip
    """Each place's channels divided by the root of their mean square: whole tiles of channels by
    places, which are read once."""
    across = tl.cdiv(places, PLACES)
    image, block = tl.program_id(0) // across, tl.program_id(0) % across
    c = tl.arange(0, CHANNELS)[:, None]
    p = (block * PLACES + tl.arange(0, PLACES))[None, :]
    inside = (c < channels) & (p < places)
    where = image.to(tl.int64) * channels * places + c.to(tl.int64) * places + p
    a = tl.load(x + where, mask=inside, other=0.0)
    square = tl.sum(a * a, axis=0) / channels
    tl.store(out + where, a / tl.sqrt(square + eps)[None, :], mask=inside)


@tiles.jit
def moments(x, means, squares, length, share, chunks, BLOCK: tl.constexpr):
    """The mean, and the sum of squared differences from it, of a chunk of a row for each program.
    Differences from the chunk's first element are added, which loses nothing where means are large.
    """
    program = tl.program_id(0)
    row, first = (program // chunks).to(tl.int64) * length, (program % chunks) * share
    last = tl.minimum(first + share, length)
    i = tl.arange(0, BLOCK)
    start = tl.load(x + row + first).to(tl.float32)
    total, square = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for at in range(0, share, BLOCK):
        place = first + at + i
        a = tl.load(x + row + place, mask=place < last, other=0.0).to(tl.float32)
        a = tl.where(place < last, a - start, 0.0)
        total += a
        square += a * a
    count = (last - first).to(tl.float32)
    mean = tl.sum(total, axis=0) / count
    tl.store(means + program, mean + start)
    tl.store(squares + program, tl.sum(square, axis=0) - mean * mean * count)


@tiles.jit
def normalised(
    x, weight, bias, means, squares, out, length, share, chunks, rows, stride, period, channels,
    eps, ELEMENTS: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A chunk of a row for each program, normalised by the moments of a group of rows.

    The group of a row is ``rows`` of them, ``stride`` apart; it begins at ``row // period * period
    * rows + row % period`` where groups are interleaved with a period, which is the stride. A
    weight is one for each channel, the rows modulo ``channels``, or for each element of a row.
    """
    program = tl.program_id(0)
    row, first = program // chunks, (program % chunks) * share
    last = tl.minimum(first + share, length)
    begin = row // (period * rows) * (period * rows) + row % period
    j = tl.arange(0, PARTS)
    known = j < rows * chunks
    part = (begin + j // chunks * stride) * chunks + j % chunks
    count = tl.minimum(share, length - j % chunks * share).to(tl.float32)
    each = tl.load(means + part, mask=known, other=0.0)
    whole = rows * length.to(tl.float32)
    mean = tl.sum(tl.where(known, each * count, 0.0), axis=0) / whole
    away = tl.where(known, (each - mean) * (each - mean) * count, 0.0)
    away += tl.load(squares + part, mask=known, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(away, axis=0) / whole + eps)
    shift = -mean * scale
    if weight is not None and not ELEMENTS:
        factor = tl.load(weight + row % channels).to(tl.float32)
        scale *= factor
        shift = shift * factor + tl.load(bias + row % channels).to(tl.float32)
    base = row.to(tl.int64) * length
    i = tl.arange(0, BLOCK)
    for at in range(0, share, BLOCK):
        place = first + at + i
        inside = place < last
        a = tl.load(x + base + place, mask=inside, other=0.0).to(tl.float32) * scale + shift
        if ELEMENTS:
            a = a * tl.load(weight + place, mask=inside, other=0.0)
            a += tl.load(bias + place, mask=inside, other=0.0)
        tl.store(out + base + place, a, mask=inside)


@tiles.jit
def multiply(a, b):
    """The operator of products."""
    return a * b


@tiles.jit
def block_of_row(
    x, mask, at, length, LINES: tl.constexpr, WIDTH: tl.constexpr, PRODUCTS: tl.constexpr,
    BACKWARD: tl.constexpr, BEFORE: tl.constexpr,
):  # fmt: skip
    """Lines of elements of a row from a place on, in the order of the scan."""
    place = at + tl.arange(0, LINES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    neutral: tl.constexpr = 1.0 if PRODUCTS else 0.0
    known = place < length
    where = length - 1 - place if BACKWARD else place
    if BEFORE:
        where, known = where - 1, known & (where > 0)
    a = tl.load(x + where, mask=known, other=neutral)
    if mask is not None:
        a = tl.where(tl.load(mask + where, mask=known, other=0) != 0, a, neutral)
    return a


@tiles.jit
def scanned_rows(
    x, mask, out, length, PRODUCTS: tl.constexpr, BACKWARD: tl.constexpr, BEFORE: tl.constexpr,
    LINES: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Running sums or products of a row for each program. ``BACKWARD``: from its end; ``BEFORE``:
    without the element itself."""
    row = tl.program_id(0).to(tl.int64) * length
    x, out = x + row, out + row
    if mask is not None:
        mask += row
    i, j = tl.arange(0, LINES)[:, None], tl.arange(0, WIDTH)[None, :]
    m = tl.arange(0, LINES)[None, :]
    neutral: tl.constexpr = 1.0 if PRODUCTS else 0.0
    carried = tl.full((), neutral, tl.float32)
    for at in range(0, length, LINES * WIDTH):
        a = block_of_row(x, mask, at, length, LINES, WIDTH, PRODUCTS, BACKWARD, BEFORE)
        if PRODUCTS:
            lines = tl.reduce(a, 1, multiply)
            front = tl.reduce(tl.where(m < i, lines[None, :], 1.0), 1, multiply) * carried
            shown = tl.cumprod(a, 1) * front[:, None]
            carried *= tl.reduce(lines, 0, multiply)
        else:
            lines = tl.sum(a, 1)
            front = tl.sum(tl.where(m < i, lines[None, :], 0.0), 1) + carried
            shown = tl.cumsum(a, 1) + front[:, None]
            carried += tl.sum(lines, 0)
        place = at + i * WIDTH + j
        where = length - 1 - place if BACKWARD else place
        tl.store(out + where, shown, mask=place < length)


@tiles.jit
def triplet_rows(anchor, near, far, out, length, margin, eps, BLOCK: tl.constexpr):
    """How much the distance of a row from its near one exceeds that from its far one."""
    row = tl.program_id(0).to(tl.int64) * length
    i = tl.arange(0, BLOCK)
    one, other = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for at in range(0, length, BLOCK):
        inside = at + i < length
        a = tl.load(anchor + row + at + i, mask=inside, other=0.0) + eps
        b = a - tl.load(near + row + at + i, mask=inside, other=0.0)
        c = a - tl.load(far + row + at + i, mask=inside, other=0.0)
        one += tl.where(inside, b * b, 0.0)
        other += tl.where(inside, c * c, 0.0)
    excess = tl.sqrt(tl.sum(one, axis=0)) - tl.sqrt(tl.sum(other, axis=0)) + margin
    tl.store(out + tl.program_id(0), tl.maximum(excess, 0.0))


@tiles.jit
def row_products(a, b, out, length, BLOCK: tl.constexpr):
    """The sum of the products of a row and a vector for each program."""
    row = tl.program_id(0).to(tl.int64) * length
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, length, BLOCK):
        inside = at + i < length
        x = tl.load(a + row + at + i, mask=inside, other=0.0)
        total += x * tl.load(b + at + i, mask=inside, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))
