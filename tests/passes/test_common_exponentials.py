"""Exponentials that are computed together: within their bound, special values included."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane.conformance.functions import ordinals
from gridlane.ir.op import FastMath
from gridlane.ir.ops import math
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.optimise import common_exponentials
from gridlane.passes.optimise.common_exponentials import HIGH, share_ranges

THREADS = 64
HEAD = """kernel @k(%x: ptr<f32, global> [path=("data")], %o: ptr<f32, global> [argument=1, path=("data")]) {
  %t: i32 = thread_idx x
  %n: i32 = const COUNT
  %first: i32 = mul %t, %n
  %xp: ptr<f32, global> = offset %x, %first
  %op: ptr<f32, global> = offset %o, %first
"""  # noqa: E501


def kernel(count: int, fast: str = "", between: str = "%y{n}: f32 = neg %x{n}") -> Module:
    """Exponentials of negated values; each is stored before the next is computed."""
    lines = [HEAD.replace("COUNT", str(count))]
    for n in range(count):
        lines.append(
            f"%i{n}: i32 = const {n}\n%p{n}: ptr<f32, global> = offset %xp, %i{n}\n"
            f"%x{n}: f32 = load %p{n}\n"
        )
    for n in range(count):
        lines.append(
            f"{between.format(n=n)}\n%e{n}: f32 = exp %y{n}{fast}\n"
            f"%r{n}: ptr<f32, global> = offset %op, %i{n}\nstore %r{n}, %e{n}\n"
        )
    module = parse_module("".join(lines) + "}\n")
    verify(module)
    return module


def changed(module: Module) -> tuple[Module, list[str]]:
    """A copy behind the pass, and the names of its ops."""
    copy = parse_module(print_module(module))
    share_ranges(copy)
    verify(copy)
    return copy, [op.name for op in copy.kernel.body.walk()]


def results(module: Module, x: np.ndarray, device: str = "interp") -> np.ndarray:
    arrays = [x.copy(), np.zeros_like(x)]
    return run_on(device, module, (1, 1, 1), (len(x), 1, 1), arrays).arrays[1]


def arguments(count: int) -> np.ndarray:
    """Rows within the bound, of each magnitude, and rows with others, as special values."""
    rng = np.random.default_rng(3)
    near = rng.uniform(-HIGH, HIGH, (THREADS // 4, count))
    small = rng.standard_normal((THREADS // 4, count)) * 2.0 ** rng.integers(-149, 3, count)
    far = rng.uniform(-110, 95, (THREADS // 4, count))
    edges = [np.nextafter(np.float32(HIGH), np.float32(way)) for way in (0, 99)]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3e38, HIGH, -HIGH, *edges]
    mixed = rng.choice(special, (THREADS // 4, count))
    return np.concatenate([near, small, far, mixed]).astype(np.float32)


def exact(x: np.ndarray) -> np.ndarray:
    """The exponentials, rounded to float64 from 60 digits."""
    with mpmath.workdps(60):
        return np.array([float(mpmath.exp(float(each))) for each in x.ravel()]).reshape(x.shape)


def error(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference in units of the last place of normal float32."""
    unit = 2.0 ** (np.floor(np.log2(want)) - 23)
    return float((np.abs(got.astype(np.float64) - want) / unit).max())


@pytest.mark.parametrize("count", [4, 8, 21])
def test_results(count):
    module = kernel(count)
    after, names = changed(module)
    x = arguments(count)
    before, got = results(module, x), results(after, x)
    large = np.abs(x).max(1, initial=0, where=~np.isnan(x)) > HIGH
    assert large.any() and not large.all()
    groups = [range(max(n - 8, 0), n) for n in range(count, 0, -8)]
    for group in groups:
        part = x[:, group]
        is_near = ~(np.abs(np.nan_to_num(part, nan=0)) > HIGH).any(1)
        apart = is_near & (len(group) >= common_exponentials.LEAST)
        others = got[~apart][:, group]
        np.testing.assert_array_equal(others, before[~apart][:, group])
        inner, values = got[apart][:, group], -part[apart]
        number = ~np.isnan(values)
        assert np.isnan(inner[~number]).all()
        assert error(inner[number], exact(values[number])) < 1.1
    whole = sum(len(group) >= common_exponentials.LEAST for group in groups)
    assert names.count("if") == whole and names.count("exp") == count


def test_an_instruction_with_the_error_that_it_may_have():
    """PTX allows ``ex2.approx.ftz`` 2 ulp, which may be 4 of a result below a power of two."""
    x = np.linspace(-HIGH, HIGH, 1 << 20, dtype=np.float32)
    power = x * np.float32(1.4426950408889634)
    binary = power.astype(np.float64)
    high = np.float64(np.float32(0.6931471805599453))
    low = np.float64(np.float32(0.6931471805599453 - high))
    rest = (x - binary * high).astype(np.float32)
    rest = (rest - binary * low).astype(np.float32).astype(np.float64)
    want, unit = np.exp(x.astype(np.float64)), 2.0 ** (np.floor(binary) - 23)
    same = np.floor(np.log2(want)) == np.floor(binary)
    for units in (-2, 2):
        wrong = np.exp2(binary) + units * unit
        got = (wrong * rest + wrong).astype(np.float32)
        assert error(got[same], want[same]) < 2.6
        assert error(got, want) < 4.6


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    module, _ = changed(kernel(8))
    x = arguments(8)[: THREADS // 4]
    assert error(results(module, x, device), exact(-x)) < 4


@pytest.mark.parametrize("fast", ["afn", "fast", "ftz"])
def test_other_exponentials_stay(fast):
    assert "if" not in changed(kernel(8, f" [fast={fast}]"))[1]
    assert "if" in changed(kernel(8, " [fast=contract]"))[1]
    assert "if" not in changed(kernel(3))[1]


def test_exponentials_of_what_is_loaded_between_stay():
    assert "if" not in changed(kernel(8, between="%y{n}: f32 = load %p{n}"))[1]


def test_exponentials_of_exponentials():
    """An argument that depends on another exponential is computed by itself."""
    text = print_module(kernel(8))
    module = parse_module(text)
    last = [op for op in module.kernel.body.ops if isinstance(op, math.Exp)]
    last[-1].value = last[0].results[0]
    verify(module)
    after, names = changed(module)
    assert names.count("exp2") == 7
    x = arguments(8)[: THREADS // 4] * np.float32(0.05)
    got, want = results(after, x), results(module, x)
    assert np.abs(ordinals(got) - ordinals(want)).max() <= 16


def test_the_power_of_two_is_an_instruction():
    after, _ = changed(kernel(4))
    powers = [op for op in after.kernel.body.walk() if isinstance(op, math.Exp2)]
    assert [op.fast for op in powers] == [FastMath.ROUGH | FastMath.FTZ] * 4
