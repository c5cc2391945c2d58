# ruff: noqa: F821  # extents are names that annotations define
"""Numbers of calls and of the text: what types have is exact, and what they do not is an error."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane.compute import Tensor, compute, f32, f64, grid, i8, i64, u8, u64
from gridlane.core.errors import ArgumentError, TypingError


@compute
def first_ones(x: Tensor[i64, "N"], count: int):
    for i in range(count):
        x[i] = count


@pytest.mark.parametrize("given", [2.0, np.float64(2), "2", None, 2j, np.array(2), np.ones(2)])
def test_what_is_no_whole_number_is_refused_by_name(given) -> None:
    x = np.zeros(3, np.int64)
    with pytest.raises(ArgumentError, match=r"count is i64, a .*number, and"):
        first_ones(x, given)
    assert not x.any()


@pytest.mark.parametrize("given", [2**63, -(2**63) - 1, 2**70])
def test_whole_numbers_of_more_bits_are_refused_by_name(given) -> None:
    with pytest.raises(ArgumentError, match="count is i64, which has no"):
        first_ones(np.zeros(3, np.int64), given)


@pytest.mark.parametrize("given", [2, True, np.int8(2), np.uint64(1), np.bool_(True)])
def test_whole_numbers_of_other_types(given) -> None:
    x = np.zeros(3, np.int64)
    first_ones(x, given)
    assert x.sum() == int(given) ** 2


@compute
def scaled(x: Tensor[f32, "N"], out: Tensor[f32, "N"], wide: Tensor[f64, "N"], by: f32):
    for i in grid(N):
        out[i] = x[i] * by
        wide[i] = by


def test_a_number_has_its_declared_type() -> None:
    x = np.random.default_rng(0).random(999, np.float32)
    out, wide = np.zeros_like(x), np.zeros(999)
    for _ in range(2):
        scaled(x, out, wide, 0.1)
        assert (out == x * np.float32(0.1)).all() and (wide == np.float32(0.1)).all()


@pytest.mark.parametrize("given", ["2", None, 2j, np.array(2.0), [1.0]])
def test_what_is_no_number_is_refused_by_name(given) -> None:
    x = np.zeros(3, np.float32)
    with pytest.raises(ArgumentError, match="by is f32, a number, and"):
        scaled(x, x.copy(), np.zeros(3), given)


@compute
def large_floats(x: Tensor[f64, "N"], by: float):
    for i in grid(N):
        x[i] = by * 3


def test_an_integer_for_a_float_is_one() -> None:
    x = np.zeros(2)
    large_floats(x, 2**62)
    assert x.tolist() == [3 * 2.0**62] * 2


@compute
def placed(x: Tensor[i64, "N"], first: u8, seed: u64):
    for i in range(150):
        x[i + first] = i
        if seed > i:
            x[i] = i + first


def test_indices_are_exact_whatever_the_types_of_numbers_are() -> None:
    x, wanted = np.zeros(400, np.int64), np.zeros(400, np.int64)
    placed(x, 200, 2**64 - 1)
    wanted[200:350] = np.arange(150)
    wanted[:150] = (np.arange(150) + 200) % 256
    assert x.tolist() == wanted.tolist()
    with pytest.raises(ArgumentError, match="first is u8, which has no 300"):
        placed(x, 300, 0)


@compute
def compared(x: Tensor[u8, "N"], wide: Tensor[u64, "N"], out: Tensor[i64, "N", 8]):
    for i in range(N):
        out[i, 0] = x[i] < 300
        out[i, 1] = x[i] > -1
        out[i, 2] = x[i] <= i - 3
        out[i, 3] = min(x[i], N)
        out[i, 4] = wide[i] < 5 - i
        out[i, 5] = i - 5 >= wide[i]
        out[i, 6] = wide[i] != i - 7
        out[i, 7] = max(x[i], i % 200)


def test_numbers_without_a_type_are_compared_by_value() -> None:
    x = np.arange(300).astype(np.uint8)
    wide, out = np.full(300, 2, np.uint64), np.zeros((300, 8), np.int64)
    compared(x, wide, out)
    for i in range(300):
        assert out[i].tolist() == [
            1, 1, int(x[i]) <= i - 3, min(int(x[i]), 300), 2 < 5 - i, i - 5 >= 2, i - 7 != 2,
            max(int(x[i]), i % 200),
        ]  # fmt: skip


def added(x: Tensor[u8, "N"]):
    for i in grid(N):
        x[i] = x[i] + 300


def stored(x: Tensor[u8, "N"]):
    for i in grid(N):
        x[i] = -1


def least(x: Tensor[i8, "N"]):
    for i in grid(N):
        best = 1000
        for k in range(N):
            best = min(best, x[k])
        x[i] = best


def chosen(x: Tensor[u8, "N"]):
    for i in grid(N):
        x[i] = x[i] if i > 3 else 256


@pytest.mark.parametrize("nest", [added, stored, least, chosen])
def test_numbers_that_a_type_does_not_have_are_refused(nest) -> None:
    with pytest.raises(
        TypingError, match=r"is outside of [iu]8, the type of what it meets"
    ) as error:
        compute(nest)(np.zeros(3, np.int8 if nest is least else np.uint8))
    assert "test_numbers.py" in str(error.value)


def test_a_sum_of_two_conditions_is_refused() -> None:
    def nest(x: Tensor[i64, "N"]):
        for i in grid(N):
            x[i] = (x[i] > 1) + (x[i] > 2)

    with pytest.raises(TypingError, match=r"write int\(\.\.\.\)"):
        compute(nest)(np.zeros(3, np.int64))
