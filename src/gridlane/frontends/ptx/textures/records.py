"""Records of textures in memory, and texels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.core.dtypes import f16, f32, i32, i64, u8, u16, u32, u64
from gridlane.core.texture_record import (
    HEAD_WORDS,
    LEVEL_WORDS,
    ChannelKind,
    Flag,
    LevelWord,
    Word,
)
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Local, Writer
from gridlane.ir.ops import memory
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Function, Module, Param, Value

Write = Callable[..., Sequence[Expression]]
"""Writes a function's body, by the writer and the parameters, and returns its results."""


def function(
    module: Module, name: str, params: Sequence[Type], results: Sequence[Type], write: Write
) -> Function:
    """The module's function of a name, written at its first use."""
    known = module.functions.get(name)
    if known is not None:
        return known
    values = [Value(type_, None, f"x{number}") for number, type_ in enumerate(params)]
    new_function = Function(name, [Param(value) for value in values], tuple(results))
    w = Writer(Builder(module, new_function), FORMATS[f32])
    given = [w.wrap(value) for value in values]
    w.builder.return_(tuple(each.value for each in write(w, *given)))
    new_function.body.ops[:0] = list(w.constants.values())
    module.functions[name] = new_function
    return new_function


def called(w: Writer, callee: Function, *arguments: Expression) -> list[Expression]:
    """The results of a call."""
    results = w.builder.call(callee, tuple(each.value for each in arguments))
    return [w.wrap(value) for value in results]


def limited(w: Writer, x: Expression, high: Expression) -> Expression:
    """An integer from 0 to ``high``."""
    return x.least(high).most(0)


class Texture:
    """The record of a texture or surface.

    Args:
        handle: its address.
        level: the mipmap level to read, i32.
    """

    def __init__(self, w: Writer, handle: Expression, level: Expression | None = None) -> None:
        self.w = w
        word_pointer = pointer(u32, Space.GLOBAL)
        self._words = w.builder.value(memory.FromAddress(handle.value, word_pointer))
        start: Value = self._words
        if level is not None:
            start = w.builder.offset(start, (level * LEVEL_WORDS).value)
        self._level = w.builder.offset(start, w.const(HEAD_WORDS, i32).value)
        self.flags = self.word(Word.FLAGS)
        self._form = self.word(Word.FORMAT)

    def word(self, place: int) -> Expression:
        """A word of the head."""
        return self.at(self.w.const(place, i32))

    def at(self, place: Expression) -> Expression:
        """A word of the record by its number."""
        b = self.w.builder
        return self.w.wrap(b.load(b.offset(self._words, place.value)))

    def of_level(self, place: LevelWord) -> Expression:
        """A word of the level."""
        b = self.w.builder
        result = b.load(b.offset(self._level, self.w.const(place, i32).value))
        return self.w.wrap(result).cast(i32)

    def address(self) -> Expression:
        """The address of the level's texels."""
        b = self.w.builder
        return self.w.wrap(b.load(b.recast(self._level, pointer(u64, Space.GLOBAL))))

    def has(self, flag: Flag) -> Expression:
        """Whether a flag is set."""
        return (self.flags & flag).differs(0)

    def mode(self, axis: int) -> Expression:
        """The address mode of an axis."""
        return (self.flags >> self.w.const(8 + 2 * axis, u32)) & 3

    def part(self, low: int, bits: int) -> Expression:
        """Bits of the format."""
        return (self._form >> self.w.const(low, u32)) & ((1 << bits) - 1)

    @property
    def bits(self) -> Expression:
        """Bits of a channel."""
        return self.part(0, 8)

    @property
    def channels(self) -> Expression:
        """How many channels a texel has."""
        return self.part(8, 8)

    @property
    def size(self) -> Expression:
        """Bytes of a texel."""
        return self.part(24, 8)

    @property
    def is_signed(self) -> Expression:
        """Whether channels are signed integers."""
        return self.part(16, 8).equals(ChannelKind.SIGNED)

    @property
    def largest(self) -> Expression:
        """The integer that is read as 1.0."""
        w = self.w
        one = w.const(1, u32)
        return ((one << (self.bits - w.select(self.is_signed, one, 0))) - 1).cast(f32)

    def offset(self, row: Expression, byte: Expression) -> Expression:
        """How far the level's texels a byte of a row is; rows are dense over slices and layers."""
        return row.cast(i64) * self.of_level(LevelWord.PITCH).cast(i64) + byte


class Texels:
    """Reads texels of a level, as the bits of what ``tex`` returns.

    Attributes:
        channels: the bits of the last one read, u32 each; channels that it lacks are 0.
    """

    def __init__(self, texture: Texture) -> None:
        self.w, self.texture = texture.w, texture
        zero = self.w.const(0, u32)
        self.channels = [self.w.variable("channel", zero) for _ in range(4)]
        b = self.w.builder
        bytes_ = pointer(u8, Space.GLOBAL)
        self._start = b.value(memory.FromAddress(texture.address().value, bytes_))

    def read(self, row: Expression, x: Expression, whole: Expression) -> None:
        """Read the texel at a place inside of the level.

        Args:
            whole: where integers stay, which a filter makes floats of.
        """
        w, texture = self.w, self.texture
        b, count, bits = w.builder, texture.channels, texture.bits
        offset = texture.offset(row, x.cast(i64) * texture.size.cast(i64))
        place = b.offset(self._start, offset.value)
        for channel in self.channels:
            channel.set(w.const(0, u32))  # the border may have been read before
        for dtype in (u8, u16, u32):
            with w.when(bits.equals(dtype.bits)):
                first = b.recast(place, pointer(dtype, Space.GLOBAL))
                for number, channel in enumerate(self.channels):
                    self._channel(channel, first, number, count)
        with w.when(~(texture.part(16, 8).equals(ChannelKind.FLOAT) & bits.equals(32))):
            self._convert(whole)

    def _channel(self, target: Local, first: Value, number: int, count: Expression) -> None:
        b = self.w.builder
        if not number:
            target.set(self.w.wrap(b.load(first)).cast(u32))
            return
        with self.w.when(count > number):
            place = b.offset(first, self.w.const(number, i32).value)
            target.set(self.w.wrap(b.load(place)).cast(u32))

    def _convert(self, whole: Expression) -> None:
        """Halves become floats, and integers of 8 and 16 bits are sign-extended, or become floats
        from 0 or -1 to 1."""
        w, texture = self.w, self.texture
        kind, bits = texture.part(16, 8), texture.bits
        with w.when(kind.equals(ChannelKind.FLOAT)):
            for channel in self.channels:
                half = channel.get().cast(u16).reread(f16)
                channel.set(half.cast(f32).reread(u32))
        is_signed = texture.is_signed
        with w.when(is_signed):
            unused = 32 - bits
            for channel in self.channels:
                wide = (channel.get() << unused).reread(i32)
                channel.set((wide >> unused).reread(u32))
        with w.when(texture.has(Flag.NORMALIZED_VALUES) & ~whole):
            self._normalize(is_signed)

    def _normalize(self, is_signed: Expression) -> None:
        w, texture = self.w, self.texture
        scale = texture.largest
        is_srgb = texture.has(Flag.SRGB)
        table = texture.word(Word.TABLE)
        for number, channel in enumerate(self.channels):
            value = channel.get()
            plain = w.select(is_signed, value.reread(i32).cast(f32), value.cast(f32))
            variable = w.variable("normalized", (plain / scale).most(-1.0).reread(u32))
            if number < 3:
                with w.when(is_srgb):
                    variable.set(texture.at((table + (value & 255)).cast(i32)))
            channel.set(variable.get())
