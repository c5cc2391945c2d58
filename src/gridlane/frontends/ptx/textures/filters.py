"""Reads of a texture's level: coordinates, address modes and filters.

CUDA C++ Programming Guide, "Texture Fetching": weights of linear filtering have 8 bits of fraction.
What it leaves open is as on a GPU of compute capability 9.0: coordinates round half up, weights of
several axes are rounded too, and the result to the precision of the texels, or to 16 bits.
"""

from __future__ import annotations

from gridlane.core.dtypes import b1, f16, f32, i32, u32
from gridlane.core.frozen import frozen
from gridlane.core.texture_record import AddressMode, ChannelKind, Flag, LevelWord, Word
from gridlane.frontends.ptx.textures.records import Texels, Texture, limited
from gridlane.ir.expressions import Expression, Local, Writer
from gridlane.ir.ops import math

STEPS = 256
"""Parts of a texel that coordinates are rounded to for linear filtering."""
_SIZES = (LevelWord.WIDTH, LevelWord.HEIGHT, LevelWord.DEPTH)


def floor(w: Writer, x: Expression) -> Expression:
    """The largest integral float not above."""
    return w.wrap(w.builder.unary(math.Floor, x.value))


@frozen
class Axis:
    """A coordinate of a read.

    Attributes:
        size: texels along the axis.
        first: the texel, or the first of two, before the address mode; i32.
        weight: of the second one, in STEPS; 0 of reads of one texel.
    """

    size: Expression
    mode: Expression
    first: Expression
    weight: Expression

    def neighbour(self, w: Writer, second: Expression) -> tuple[Expression, Expression]:
        """The texel at ``first + second`` by the address mode, and whether it is one of the
        texture; if it is none, the read returns the border."""
        size, mode, last = self.size, self.mode, self.size - 1
        index = self.first + second
        wrapped = w.select(index < 0, index + size, index)
        wrapped = w.select(wrapped >= size, wrapped - size, wrapped)
        folded = w.select(index < 0, -1 - index, index)
        folded = w.select(folded >= 2 * size, folded - 2 * size, folded)
        folded = w.select(folded >= size, 2 * size - 1 - folded, folded)
        chosen = w.select(mode.equals(AddressMode.MIRROR), folded, index)
        chosen = w.select(mode.equals(AddressMode.WRAP), wrapped, chosen)
        nearest = limited(w, chosen, last)
        return nearest, mode.differs(AddressMode.BORDER) | nearest.equals(chosen)


def axis_of(w: Writer, texture: Texture, number: int, x: Expression, linear: Expression) -> Axis:
    """An axis of a read at a coordinate."""
    size, mode = texture.of_level(_SIZES[number]), texture.mode(number)
    is_border, is_mirror = (mode.equals(each) for each in (AddressMode.BORDER, AddressMode.MIRROR))
    extent = size.cast(f32)
    in_one = x - floor(w, x)
    in_one = w.select(in_one.equals(1.0), 1.0 - 2.0**-24, in_one)  # of a small negative number
    in_two = x - 2.0 * floor(w, x * 0.5)
    part = w.select(is_mirror, in_two, x)
    part = w.select(mode.equals(AddressMode.WRAP), in_one, part)
    place = w.select(texture.has(Flag.NORMALIZED_COORDINATES), part * extent, x)
    # A texel away all is the edge or the border, which both texels then are; NaN is at 0.
    beyond = w.select(is_border, w.real(1.0), 0.0)
    high = w.select(is_mirror, 2.0 * extent, extent + beyond)
    place = w.select(place.is_nan(), 0.0, place).most(-beyond).least(high)
    halves = floor(w, place * float(2 * STEPS)).cast(i32)  # exact, as the sum of a half is not
    steps = ((halves + 1) >> 1) - STEPS // 2
    first = w.select(linear, steps >> 8, floor(w, place).cast(i32))
    return Axis(size, mode, first, w.select(linear, steps & (STEPS - 1), 0))


def row_of(texture: Texture, indices: list[Expression], layer: Expression) -> Expression:
    """The number of the row, over all slices and layers, of a texel."""
    if len(indices) == 1:
        return layer
    slice_ = indices[2] if len(indices) == 3 else layer
    return slice_ * texture.of_level(LevelWord.HEIGHT) + indices[1]


def sampled(
    w: Writer, handle: Expression, level: Expression, layer: Expression, *coordinates: Expression
) -> list[Expression]:
    """Read a level at float coordinates: the bits of four channels."""
    texture = Texture(w, handle, level)
    linear = texture.has(Flag.LINEAR)
    axes = [axis_of(w, texture, number, x, linear) for number, x in enumerate(coordinates)]
    texels = Texels(texture)
    sums = [w.variable("sum", w.real(0.0)) for _ in texels.channels]
    whole = linear & texture.has(Flag.NORMALIZED_VALUES) & ~texture.has(Flag.SRGB)
    count = w.select(linear, w.const(1 << len(axes), i32), 1)
    turn = w.variable("neighbour", w.const(0, i32))
    with w.builder.loop():
        number = turn.get()
        seconds = [(number >> place) & 1 for place in range(len(axes))]
        weight = _weight(w, axes, seconds)
        share = weight.cast(f32) * (1.0 / STEPS)
        read_or_border(w, texels, axes, seconds, layer, whole)
        with w.when(linear):
            for channel, total in zip(texels.channels, sums, strict=True):
                value = w.select(whole, _number(w, texture, channel), channel.get().reread(f32))
                part = w.select(weight.equals(0), 0.0, value * share)  # also of infinity
                total.set(total.get() + part)
        turn.set(number + 1)
        w.builder.break_if((number + 1 >= count).value)
    with w.when(whole):
        _round_integers(w, texture, sums)
    is_half = texture.part(16, 8).equals(ChannelKind.FLOAT) & texture.bits.equals(16)
    with w.when(linear & is_half):
        for total in sums:
            total.set(total.get().cast(f16).cast(f32))
    return [
        w.select(linear, total.get().reread(u32), channel.get())
        for channel, total in zip(texels.channels, sums, strict=True)
    ]


def _weight(w: Writer, axes: list[Axis], seconds: list[Expression]) -> Expression:
    """The weight of a texel in STEPS, as an H200 rounds it: z divides STEPS, x divides the parts of
    z, and y the parts of x. Those of all texels around a place add up to STEPS."""
    at_second = [second.equals(1) for second in seconds]
    expression = w.const(STEPS, i32)
    if len(axes) == 3:
        expression = w.select(at_second[2], axes[2].weight, STEPS - axes[2].weight)
    right = (expression * axes[0].weight + STEPS // 2) >> 8
    expression = w.select(at_second[0], right, expression - right)
    if len(axes) == 1:
        return expression
    # Of the texels on the left a half is rounded down.
    half = w.select(at_second[0], w.const(STEPS // 2, i32), STEPS // 2 - 1)
    down = (expression * axes[1].weight + half) >> 8
    return w.select(at_second[1], down, expression - down)


def _number(w: Writer, texture: Texture, channel: Local) -> Expression:
    """An integer of a texel as a float."""
    bits = channel.get()
    return w.select(texture.is_signed, bits.reread(i32).cast(f32), bits.cast(f32))


def _round_integers(w: Writer, texture: Texture, sums: list[Local]) -> None:
    """Make floats of sums of integers: multiples of 1 / 65535, or of 1 / 32767 with a sign."""
    full = w.select(texture.is_signed, w.real(32767.0), 65535.0)
    scale = full / texture.largest
    for total in sums:
        steps = floor(w, total.get() * scale + 0.5)
        total.set((steps / full).most(-1.0))


def read_or_border(
    w: Writer,
    texels: Texels,
    axes: list[Axis],
    seconds: list[Expression],
    layer: Expression,
    whole: Expression,
) -> None:
    """Read one of the texels around a place, or the border; ``whole`` as for ``Texels.read``."""
    texture, inside = texels.texture, w.const(True, b1)
    indices: list[Expression] = []
    for axis, second in zip(axes, seconds, strict=True):
        place, known = axis.neighbour(w, second)
        indices.append(place)
        inside = inside & known
    layer = limited(w, layer, texture.word(Word.LAYERS).cast(i32) - 1)
    texels.read(row_of(texture, indices, layer), indices[0], whole)
    with w.when(~inside):
        for number, channel in enumerate(texels.channels):
            border = texture.word(Word.BORDER + number)
            steps = (border.reread(f32) * texture.largest).rint().cast(i32).reread(u32)
            channel.set(w.select(whole, steps, border))


def fetched(
    w: Writer, handle: Expression, level: Expression, layer: Expression, *coordinates: Expression
) -> list[Expression]:
    """Read the texel of a level at integer coordinates, without a filter."""
    texture = Texture(w, handle, level)
    zero = w.const(0, i32)
    axes = [
        Axis(texture.of_level(_SIZES[n]), _edge(w, texture.mode(n)), x, zero)
        for n, x in enumerate(coordinates)
    ]
    texels = Texels(texture)
    read_or_border(w, texels, axes, [zero] * len(axes), layer, ~w.true())
    return [channel.get() for channel in texels.channels]


def _edge(w: Writer, mode: Expression) -> Expression:
    """The address mode of integer coordinates, which do not wrap."""
    return w.select(mode.equals(AddressMode.BORDER), mode, AddressMode.CLAMP)


def gathered(
    w: Writer, handle: Expression, channel: Expression, layer: Expression, *coordinates: Expression
) -> list[Expression]:
    """One channel of the four texels that linear filtering of two axes would use: those at
    (0, 1), (1, 1), (1, 0), (0, 0)."""
    texture = Texture(w, handle)
    always = w.true()
    axes = [axis_of(w, texture, number, x, always) for number, x in enumerate(coordinates)]
    texels = Texels(texture)
    results = [w.variable("gathered", w.const(0, u32)) for _ in range(4)]
    turn = w.variable("neighbour", w.const(0, i32))
    with w.builder.loop():
        number = turn.get()
        right = ((number + 1) >> 1) & 1
        below = 1 - (number >> 1)
        read_or_border(w, texels, axes, [right, below], layer, ~w.true())
        chosen = texels.channels[0].get()
        for place in range(1, 4):
            chosen = w.select(channel.equals(place), texels.channels[place].get(), chosen)
        for place, target in enumerate(results):
            target.set(w.select(number.equals(place), chosen, target.get()))
        turn.set(number + 1)
        w.builder.break_if((number + 1 >= 4).value)
    return [each.get() for each in results]
