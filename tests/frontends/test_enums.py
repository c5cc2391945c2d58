"""Members of an IntEnum are numbers; ``is`` tells them apart from other enums and from numbers."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from tests.frontends.running import launch


class Color(IntEnum):
    RED = 1
    BLUE = 2


class Shape(IntEnum):
    CIRCLE = 1
    SQUARE = 2


def test_identity_of_members():
    def kernel(x, member, out):
        one = 1
        chosen = Color.RED if x[0] > 1 else Color.BLUE
        out[0] = Color.RED is Color.RED
        out[1] = Color.RED is not Color.BLUE
        out[2] = Color.RED is Shape.CIRCLE
        out[3] = Color.RED is one
        out[4] = x[0] is Color.BLUE
        out[5] = x[0] + 1 is not Color.BLUE
        out[6] = chosen is Color.RED
        out[7] = member is Color.RED
        out[8] = x[0] == Color.BLUE

    out = np.full(9, 7)
    launch(kernel, 1, 1, np.array([2]), 1, out)
    assert out.tolist() == [1, 1, 0, 0, 0, 1, 1, 1, 1]


def test_members_are_numbers():
    def kernel(x, out):
        out[0] = Color.BLUE + 1
        out[1] = -Color.BLUE
        out[2] = x[Color.RED] * Color.BLUE

    out = np.zeros(3, np.int64)
    launch(kernel, 1, 1, np.array([5, 7]), out)
    assert out.tolist() == [3, -2, 14]
