"""Members of enums as arguments of kernels, on every device that has float64 arrays."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from tests.cuda.test_on_devices import device  # noqa: F401  # a fixture

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.cuda.types import float64


class Metal(enum.Enum):
    IRON = 26
    COPPER = 29
    TIN = 50
    SN = 50


class Color(enum.IntEnum):
    RED = 3
    BLUE = 7


class Text(enum.Enum):
    A = "a"
    B = "b"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 2


class Huge(enum.IntEnum):
    FEW = -1
    MANY = 2**63


class Lists(enum.Enum):
    A = [1]


def look(metal, color, pair, out):
    out[0] = metal == Metal.COPPER
    out[1] = metal is Metal.TIN
    out[2] = metal.value
    out[3] = color.value + color
    out[4] = color is Color.RED
    out[5] = pair[0] == Text.B
    out[6] = pair[1] is metal


@pytest.mark.parametrize("signed", [False, True])
def test_members(signed):
    kernel = cuda.jit(look)
    if signed:
        types = typeof(Metal.TIN), typeof(Color.RED), typeof((Text.A, Metal.TIN))
        kernel = cuda.jit((*types, float64[:]))(look)
    for metal in Metal:
        for color in Color:
            for text in Text:
                out = np.zeros(7)
                kernel[1, 1](metal, color, (text, Metal.SN), out)
                assert out.tolist() == [
                    metal is Metal.COPPER,
                    metal is Metal.TIN,
                    metal.value,
                    2 * color,
                    color is Color.RED,
                    text is Text.B,
                    metal is Metal.SN,
                ]
    assert len(kernel.overloads) == 1


def test_a_kernel_is_compiled_for_each_class():
    @cuda.jit
    def kernel(member, out):
        out[0] = member is Metal.IRON

    out = np.zeros(1)
    for member, found in ((Metal.IRON, 1), (Text.A, 0), (Color.RED, 0), (Metal.TIN, 0)):
        kernel[1, 1](member, out)
        assert out[0] == found
    assert len(kernel.overloads) == 3


def test_members_as_numbers():
    @cuda.jit("void(int64, float64, float64[:])")
    def declared(number, other, out):
        out[0] = number + other

    @cuda.jit
    def plain(bits, out):
        out[0] = bits

    out = np.zeros(1)
    declared[1, 1](Color.RED, Color.BLUE, out)
    assert out[0] == 10
    plain[1, 1](Bits.LOW | Bits.HIGH, out)
    assert out[0] == 3
    with pytest.raises(ArgumentError, match=r"Enum\(Metal\)|Metal"):
        declared[1, 1](Metal.IRON, 1.0, out)


def test_flags_one_at_a_time():
    @cuda.jit
    def kernel(right, out):
        out[0] = right is Right.WRITE

    out = np.zeros(1)
    kernel[1, 1](Right.WRITE, out)
    assert out[0] == 1
    for _ in range(2):
        with pytest.raises(ArgumentError, match="combination of flags; pass its value"):
            kernel[1, 1](Right.READ | Right.WRITE, out)


@pytest.mark.parametrize(
    ("member", "words"),
    [(Lists.A, "values have no hash"), (Huge.FEW, r"Huge\.\w+ does not fit into 64 bits")],
)
def test_members_that_kernels_cannot_hold(member, words):
    @cuda.jit
    def kernel(member, out):
        out[0] = 1

    for _ in range(2):
        with pytest.raises(ArgumentError, match=words):
            kernel[1, 1](member, np.zeros(1))


def test_a_class_of_the_same_name_with_other_values(tmp_path, monkeypatch):
    """A warm cache tells the classes apart."""
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path))

    def value(member, out):
        out[0] = member.value

    for number in (1, 2.5, 3):
        made = enum.Enum("Made", {"FIRST": number, "SECOND": 9}, module=__name__)
        out = np.zeros(1)
        cuda.jit(value)[1, 1](made.FIRST, out)
        assert out[0] == number
