"""Neighbours along the last axis of tiles: taken apart, and put together."""

from __future__ import annotations

from gridlane.frontends.triton.shapes import join, reshaped, split
from gridlane.frontends.triton.values import tensor


def lanes_of(value: tensor, pack: int) -> list[tensor]:
    """The first, second, … of each ``pack`` neighbours, a power of two."""
    if pack == 1:
        return [value]
    halves = split(reshaped(value, (*value.shape[:-1], value.shape[-1] // 2, 2)))
    first, second = [lanes_of(half, pack // 2) for half in halves]
    return [lane for pair in zip(first, second, strict=True) for lane in pair]


def joined(lanes: list[tensor]) -> tensor:
    """The inverse of ``lanes_of``."""
    if len(lanes) == 1:
        return lanes[0]
    pair = join(joined(lanes[0::2]), joined(lanes[1::2]))
    return reshaped(pair, (*pair.shape[:-2], 2 * pair.shape[-2]))


def check_pack(pack: int, shape: tuple[int, ...]) -> None:
    """Check that lines are made of whole packs.

    Raises:
        ValueError: they are not.
    """
    if pack < 1 or pack & (pack - 1) or (pack > 1 and (not shape or shape[-1] % pack)):
        line = shape[-1] if shape else 1
        raise ValueError(f"{pack} elements at a time are no part of a line of {line}")
