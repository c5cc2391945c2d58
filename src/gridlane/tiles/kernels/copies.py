"""Copies of arrays with another axis last, as tensor maps and instructions need it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gridlane.tiles.kernels.blocks import power_of_2
from gridlane.tiles.kernels.operands import Operand, index_type
from gridlane.tiles.kernels.prepared import Launch, empty
from gridlane.tiles.kernels.programs.described_convolutions import channels_last_tiles

_ALIGN = 8
"""The most neighbours that a vector has."""
_COPY = 64
"""Places, and channels, that a program copies at least, unless there are fewer places."""


class Copy(NamedTuple):
    """A copy of images, or of filters, with the channels last; or of results, whose places are last
    then.

    Attributes:
        shape: of the copy: lines of channels, and the elements from one to the next.
    """

    launch: Launch
    shape: tuple[int, int]
    dtype: str

    def run(self, array: Any) -> Any:
        """The copy of an array like that it was prepared for."""
        made = empty(array, self.shape, self.dtype)
        self.write(array, made)
        return made

    def write(self, array: Any, made: Any) -> None:
        """Copy to an array of that shape, or of as many elements."""
        self.launch.over(array, made, *self.launch.rest, **self.launch.options)


def turned_copy(array: Operand, places: int, lines: tuple[int, bool], step: int) -> Copy:
    """The copy of an array whose lines of channels are ``step`` apart.

    Args:
        lines: places of a line of the array, and whether lines follow each other.
    """
    count, channels = array.shape[:2]
    shape = count * places, step
    far = Operand("copy", None, shape, (step, 1), array.dtype)
    unit, out_unit = math.gcd(_ALIGN, places, *array.strides[:3]), math.gcd(_ALIGN, channels, step)
    steps = (*[each // unit for each in array.strides[:3]], array.strides[3])
    down = min(_COPY, max(16, power_of_2(places)))
    across = min(_COPY * _COPY // down, max(_COPY, power_of_2(channels)))
    grid = count * -(-places // down) * -(-channels // across)
    rest = (
        channels // out_unit, places // unit, lines[0], steps, step // out_unit, down, across,
        lines[1], unit, out_unit, index_type(array, far),
    )  # fmt: skip
    return Copy(Launch(channels_last_tiles[(grid,)], rest, {}), shape, array.dtype)
