"""How much text kernels become whose literals make them float64."""

from __future__ import annotations

import math

import pytest
from benchmarks.literals import TARGETS, TYPES, code, target_for

from gridlane import compiler, cuda
from gridlane.core.compact import ANY, Variant
from gridlane.core.options import KernelOptions

COMPACT = Variant(compact=True)
MOST = [
    ("wgsl", COMPACT, 2, 14.0),
    ("wgsl", COMPACT, 5, 21.0),
    ("wgsl", COMPACT, 16, 48.0),
    ("wgsl", ANY, 2, 20.0),
    ("wgsl", ANY, 5, 30.0),
    ("wgsl", ANY, 16, 66.0),
    ("glsl", COMPACT, 5, 24.0),
    ("glsl", ANY, 5, 32.0),
    ("msl", ANY, 5, 24.0),
]


@pytest.mark.parametrize("name, variant, groups, most", MOST)
def test_literals_do_not_become_long_texts(name, variant, groups: int, most: float) -> None:
    assert len(code(groups, target_for(TARGETS[name], variant))) / 1000 <= most


def scaled_places(x, out):
    """Indices by literals of float64, and the quotient of 64-bit integers."""
    i = cuda.grid(1)
    if i < out.size:
        place = int(x[i] * 0.5 + 1.25) % x.size
        out[i] = place / 3


@pytest.mark.parametrize("variant", [COMPACT, ANY], ids=["compact", "any"])
@pytest.mark.parametrize("name", ["wgsl", "glsl"])
def test_integers_of_64_bits_become_float64_in_a_short_text(name, variant) -> None:
    module = compiler.translate(scaled_places, TYPES, KernelOptions())
    text = compiler.generate(module, target_for(TARGETS[name], variant)).code
    assert len(text) <= 22_000


def remainders(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * 0.5 % 1.25


def exponentials(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.exp(x[i] * 0.5)


def sines(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sin(x[i] * 0.5)


OF_BITS = [(remainders, 24), (exponentials, 32), (sines, 50)]


@pytest.mark.parametrize("name", ["wgsl", "glsl"])
@pytest.mark.parametrize("kernel, most", OF_BITS, ids=lambda item: getattr(item, "__name__", None))
def test_functions_of_the_bits_of_binary64_are_short(kernel, most: int, name: str) -> None:
    module = compiler.translate(kernel, TYPES, KernelOptions())
    assert len(compiler.generate(module, TARGETS[name]).code) / 1000 <= most


@pytest.mark.parametrize("name", ["wgsl", "glsl"])
def test_compact_code_counts_in_32_bits(name: str) -> None:
    """The remainder of an index is one of 64 bits in the code for any launch."""
    compact, others = (code(2, target_for(TARGETS[name], v)).decode() for v in (COMPACT, ANY))
    assert "f_divide_u64(" in others
    assert "f_divide_u64(" not in compact
