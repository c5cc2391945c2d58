"""Divisions by one value share its reciprocal, and no quotient changes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane.core.dtypes import f32, f64, i32
from gridlane.core.source import UNKNOWN
from gridlane.ir.builder import Builder
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith, grid
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.optimise import common_divisors
from gridlane.passes.optimise.common_divisors import HIGH, LOW, share_reciprocals

COUNT = 20
HEAD = """kernel @k(%x: ptr<f32, global> [path=("data")], %s: ptr<f32, global> [argument=1, path=("data")], %o: ptr<f32, global> [argument=2, path=("data")]) {
  %t: i32 = thread_idx x
  %sp: ptr<f32, global> = offset %s, %t
  %d: f32 = load %sp
  %n: i32 = const COUNT
  %first: i32 = mul %t, %n
  %xp: ptr<f32, global> = offset %x, %first
  %op: ptr<f32, global> = offset %o, %first
"""  # noqa: E501


def kernel(count: int, between: str = "", dividend: str = "%x{n}", fast: str = "") -> Module:
    """Quotients of ``count`` values by one; each is stored before the next is computed."""
    lines = [HEAD.replace("COUNT", str(count))]
    for n in range(count):
        lines.append(
            f"%i{n}: i32 = const {n}\n%p{n}: ptr<f32, global> = offset %xp, %i{n}\n"
            f"%x{n}: f32 = load %p{n}\n"
        )
    for n in range(count):
        lines.append(between.format(n=n, before=max(n - 1, 0)))
        lines.append(
            f"%q{n}: f32 = div {dividend.format(n=n)}, %d{fast}\n"
            f"%r{n}: ptr<f32, global> = offset %op, %i{n}\nstore %r{n}, %q{n}\n"
        )
    module = parse_module("".join(lines) + "}\n")
    verify(module)
    return module


def changed(module: Module) -> tuple[Module, list[str]]:
    """A copy behind the pass, and the names of its ops."""
    copy = parse_module(print_module(module))
    share_reciprocals(copy)
    verify(copy)
    return copy, [op.name for op in copy.kernel.body.walk()]


def results(module: Module, x: np.ndarray, s: np.ndarray, device: str = "interp") -> np.ndarray:
    arrays = [x.copy(), s.copy(), np.zeros_like(x)]
    return run_on(device, module, (1, 1, 1), (len(s), 1, 1), arrays).arrays[2]


def operands(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Values of each magnitude, near the bounds, special ones, and some of usual size alone."""
    rng = np.random.default_rng(seed)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 3.0, -7.0, LOW, HIGH, 2 * HIGH, LOW / 2]
    special += [
        np.nextafter(np.float32(each), np.float32(way))
        for each in (LOW, HIGH, 2.0, 2.0**-63)
        for way in (0, 9e30)
    ]
    special += [1e-45, -1e-38, 3.4e38, 2.0**-126]
    usual = rng.standard_normal((96, count)) * 2.0 ** rng.integers(-50, 50, (96, 1))
    small = rng.uniform(0, 2, (64, count)) * 2.0 ** rng.integers(-64, 1, (64, count))
    wide = rng.standard_normal((64, count)) * 2.0 ** rng.integers(-140, 127, (64, count))
    mixed = rng.choice(special, (64, count))
    x = np.concatenate([usual, small, wide, mixed]).astype(np.float32)
    divisors = [rng.standard_normal(96), rng.standard_normal(64) * 2.0 ** rng.integers(-70, 70, 64)]
    divisors += [rng.choice(special, 64), rng.standard_normal(64)]
    return x, np.concatenate(divisors).astype(np.float32)


@pytest.mark.parametrize("count", [4, 16, COUNT])
def test_quotients_are_exact(count):
    module = kernel(count)
    after, names = changed(module)
    x, s = operands(count)
    before = results(module, x, s)
    assert np.array_equal(before, (x.T / s).T, equal_nan=True)
    got = results(after, x, s)
    assert np.array_equal(got, before, equal_nan=True)
    assert (np.signbit(got) == np.signbit(before))[~np.isnan(before)].all()
    groups = -(-count // common_divisors.MOST)
    assert names.count("if") == 2 * groups and names.count("fma") == 2 * count
    assert names.count("div") == count + 1


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    module, _ = changed(kernel(8))
    x, s = operands(8)
    usual = slice(0, 96)
    got = results(module, x[usual], s[usual], device)
    assert np.array_equal(got, (x[usual].T / s[usual]).T, equal_nan=True)


def test_hard_quotients():
    """Those that lie next to the middle of two floats: ``(2 q + 1) s = x 2^k + d``, d small."""
    rng = np.random.default_rng(2)
    pairs: list[tuple[float, float]] = []
    for s in (rng.integers(2**22, 2**23, 4000) * 2 + 1).tolist():
        inverse = pow(s, -1, 2**25)
        for k, d in ((24, 1), (24, -1), (25, 1), (25, -1), (25, 3)):
            m = -d * inverse % 2**k
            m += 2**24 if m < 2**24 else 0
            x, rest = divmod(m * s + d, 2**k)
            if not rest and 2**23 <= x < 2**24:
                pairs.append((x, s))
    assert len(pairs) > 4000
    x, s = np.array(pairs, np.float32).T
    count = len(x) // 32 * 32
    module, _ = changed(kernel(4))
    for begin in range(0, min(count, 4096), 512):
        part = slice(begin, begin + 512)
        many = np.repeat(x[part, None], 4, 1)
        assert np.array_equal(results(module, many, s[part])[:, 0], x[part] / s[part])


def test_dividends_that_are_computed_between_move():
    module = kernel(8, "%y{n}: f32 = mul %x{n}, %x0\n", "%y{n}")
    after, names = changed(module)
    x, s = operands(8)
    with np.errstate(all="ignore"):
        assert names.count("fma") == 16
        assert np.array_equal(results(after, x, s), results(module, x, s), equal_nan=True)


def test_quotients_of_quotients_stay_in_order():
    """A dividend that depends on an earlier quotient is divided by itself."""
    module = kernel(8, "%y{n}: f32 = mul %x{n}, %x{n}\n", "%y{n}")
    text = print_module(module)
    lines = text.splitlines()
    quotient = next(line.split(":")[0].strip() for line in lines if " div " in line)
    last = max(n for n, line in enumerate(lines) if " div " in line)
    value, _, rest = lines[last].partition(" = div ")
    dividend = rest.split(",")[0]
    lines[last] = (
        f"  %again: f32 = add {dividend}, {quotient}\n{value} = div %again,{rest.split(',')[1]}"
    )
    module = parse_module("\n".join(lines))
    verify(module)
    after, names = changed(module)
    assert names.count("fma") == 14
    x, s = operands(8)
    assert np.array_equal(results(after, x, s), results(module, x, s), equal_nan=True)


def test_loads_between_do_not_move():
    load = "%z{n}: f32 = load %p{n}\n"
    after, names = changed(kernel(8, load, "%z{n}"))
    assert "fma" not in names and names.count("div") == 8
    assert after is not None


@pytest.mark.parametrize("fast", ["arcp", "ftz", "afn", "fast"])
def test_other_divisions_stay(fast):
    assert "fma" not in changed(kernel(8, fast=f" [fast={fast}]"))[1]
    assert "fma" in changed(kernel(8, fast=" [fast=contract]"))[1]


def test_few_divisions_and_other_types_stay():
    assert "fma" not in changed(kernel(3))[1]
    module = kernel(1)
    b = Builder(module, module.kernel)
    b.loc, b.fast = UNKNOWN, FastMath.NONE
    wide = b.cast(b.value(grid.ThreadIdx(grid.Axis.X)), f64)
    for n in range(5):
        b.value(arith.Div(b.const(n + 0.5, f64), wide))
        b.value(arith.Div(b.const(n, i32), b.const(3, i32)))
        b.value(arith.Div(b.const(n + 0.5, f32), b.const(3.0, f32)))
    assert "fma" not in changed(module)[1]
