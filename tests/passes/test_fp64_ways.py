"""The other ways to compute f64: in pairs of f32, in f32, not at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.passes.legalizing import copied, ops_of, run, types_in, values_of

from gridlane.conformance import cases, effects
from gridlane.conformance.special import grid_of, special
from gridlane.core import config
from gridlane.core.dtypes import INTEGERS, b1, bf16, f16, f32, f64, i32, i64, u64
from gridlane.core.errors import TargetError
from gridlane.core.options import FP64
from gridlane.core.source import Loc
from gridlane.ir.ops import arith, math, memory
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.fp64 import legalize_fp64
from gridlane.passes.legalise.split_aggregates import split_aggregates

EMULATED = 2.0**-44
"""The error of a result in pairs, beside it."""


def in_way(module: Module, mode: str) -> Module:
    changed = copied(module)
    split_aggregates(changed)
    legalize_fp64(changed, mode)
    verify(changed)
    return changed


def through_pairs(build):
    """A builder that takes f64 from pairs of f32, and gives its f64 as pairs."""

    def made(b, *parts):
        pairs = zip(parts[::2], parts[1::2])
        values = [b.add(b.cast(hi, f64), b.cast(lo, f64)) for hi, lo in pairs]
        results = []
        for value in build(b, *values):
            if value.type is not f64:
                results.append(value)
                continue
            hi = b.cast(value, f32)
            results += [hi, b.cast(b.sub(value, b.cast(hi, f64)), f32)]
        return results

    return made


def columns_of(values: list[np.ndarray]) -> list[np.ndarray]:
    """Each column of f64 as two of f32, exact."""
    columns = []
    for column in values:
        hi = column.astype(np.float32)
        with np.errstate(all="ignore"):
            lo = np.where(np.isfinite(hi), column - hi, 0).astype(np.float32)
        columns += [hi, lo]
    return columns


def numbers(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    columns = []
    for _ in range(count):
        plain = rng.uniform(-1, 1, 400) * 2.0 ** rng.integers(-20, 20, 400)
        columns.append(np.concatenate([plain, columns[0] * (1 + 2.0**-40)]) if columns else plain)
    size = min(map(len, columns))
    columns = [column[-size:] for column in columns]
    few = np.array([0.0, -0.0, 1.0, -1.5, 3.0, np.inf, -np.inf, np.nan, 1e30, 2.5, 0.1, 2.0**24])
    edges = grid_of(*[few] * count)
    return [np.concatenate(parts) for parts in zip(columns, edges)]


IN_PAIRS = [arith.Add, arith.Sub, arith.Mul, arith.Div, math.Sqrt, arith.Min, arith.Max, arith.Neg]
IN_PAIRS += [arith.Abs, math.Copysign, arith.Rem, math.Floor, math.Ceil, math.Rint, math.Round]
IN_PAIRS += [math.Exp, math.Log, math.Sin, math.Atan2, math.Trunc]


def outcomes(name: str, count: int, columns, build):
    types = [f32] * (2 * count)
    case = cases.over(name, "", types, columns_of(columns), through_pairs(build))
    wanted = run(case.module, case)
    changed = in_way(case.module, "emulate")
    assert f64 not in types_in(changed)
    return wanted[2 * count : -1], run(changed, case)[2 * count : -1], wanted[: 2 * count]


@pytest.mark.parametrize("cls", IN_PAIRS, ids=lambda cls: cls.name)
def test_pairs_are_near(cls) -> None:
    count = len(cls.OPERAND_FIELDS)
    columns = numbers(count)
    wanted, got, _ = outcomes(cls.name, count, columns, cases.emitting(cls))
    with np.errstate(all="ignore"):
        exact, made = (np.float64(hi) + np.float64(lo) for hi, lo in (wanted, got))
        exact, made = (
            np.where(np.isinf(pair[0]), pair[0], value)
            for pair, value in ((wanted, exact), (got, made))
        )
        special_ = ~np.isfinite(exact) | (exact == 0)
        assert np.array_equal(np.isnan(exact), np.isnan(made))
        same = (exact == made) & (np.signbit(exact) == np.signbit(made)) | np.isnan(exact)
        assert same[special_].all(), (columns[0][special_ & ~same], made[special_ & ~same])
        error = np.abs(made - exact) / np.abs(exact)
    small = np.abs(exact) < 2.0**-70  # the second part has no room there
    assert np.nanmax(error[~special_ & ~small]) <= EMULATED


def close_to_integers() -> list[np.ndarray]:
    """Pairs (first parts, second parts) next to integral numbers and to the middle of two, some
    with more bits than binary64 has."""
    rng = np.random.default_rng(4)
    size = np.concatenate([2.0 ** np.arange(-3, 61), rng.integers(1, 1 << 24, 40) * 1.0])
    size = np.concatenate([size, size + 0.5, size - 1.0, [0.0, 0.75, 2.0**31 - 128]])
    firsts, seconds = [], []
    for hi in np.float32(np.concatenate([size, -size])):
        room = np.spacing(abs(hi)) / 2 / (1 if np.frexp(hi)[0] not in (0.5, -0.5) else 2)
        lows = np.float32(rng.uniform(0.5, 1, 9) * 2.0 ** -rng.integers(0, 45, 9)) * room
        lows = np.concatenate([lows, np.rint(lows), np.rint(lows) + 0.5, [room / 2]])
        lows = np.float32(lows[(lows < room) & (hi != 0)])  # a half of the last place is a tie
        firsts += [hi] * (2 * len(lows) + 1)
        seconds += [0.0, *lows, *-lows]
    return [np.float32(firsts), np.float32(seconds)]


@pytest.mark.parametrize(
    "cls", [math.Floor, math.Ceil, math.Trunc, math.Rint], ids=lambda c: c.name
)
def test_rounding_of_pairs_to_integers_is_that_of_binary64(cls) -> None:
    columns = close_to_integers()
    build = through_pairs(cases.emitting(cls))
    case = cases.over(cls.name, "", [f32, f32], columns, build)
    wanted = run(case.module, case)[2:4]
    made = run(in_way(case.module, "emulate"), case)[2:4]
    for one, other in zip(wanted, made, strict=True):
        same = (one == other) & (np.signbit(one) == np.signbit(other))
        assert same.all(), [column[~same][:5] for column in (*columns, *wanted, *made)]


def to_integers():
    """A case that converts pairs to every integer, some near the ends of one, where the first part
    alone may be beyond."""
    ends = np.float32([end for d in INTEGERS for end in (d.min, 2.0 ** (d.bits - d.is_signed))])
    hi = np.concatenate([np.repeat(np.concatenate([ends, np.nextafter(ends, 0)]), 9), SPECIAL])
    lo = np.float32([0, 0.5, -0.5, 1, -1, 3, -3, 2.0**-9, -(2.0**-9)])
    lo = np.concatenate([np.tile(lo, 2 * len(ends)), np.zeros(len(SPECIAL), np.float32)])
    kept = (hi + lo == hi) | np.isnan(hi)
    pairs = zip(close_to_integers(), (hi[kept], lo[kept]), strict=True)

    def build(b, *parts):
        number = b.add(*[b.cast(part, f64) for part in parts])
        return [b.cast(number, dtype) for dtype in INTEGERS]

    return cases.over("cast", "", [f32, f32], [np.concatenate(each) for each in pairs], build)


def test_pairs_become_integers_as_binary64_does() -> None:
    case = to_integers()
    made = run(in_way(case.module, "emulate"), case)
    for n, (one, other) in enumerate(zip(run(case.module, case)[2:-1], made[2:-1], strict=True)):
        assert np.array_equal(one, other), INTEGERS[n]


def nearest(number: int, bits: int) -> int:
    """The nearest number with so many bits, of two the even one."""
    unit = 1 << max(number.bit_length() - bits, 0)
    return round(Fraction(number, unit)) * unit


def pair_of(number: int) -> tuple[int, int]:
    """The two floats of 24 bits whose sum is nearest to the binary64 of an integer."""
    double = nearest(number, 53)
    first = nearest(double, 24)
    total = first + nearest(double - first, 24)
    first = nearest(total, 24)
    return first, total - first


def from_integers(dtype):
    """A case that converts integers of 64 bits, and the pairs that it must give: next to powers of
    two, to the ends of the type, and to the middle of two floats and of two binary64."""
    rng = np.random.default_rng(6)
    numbers = {0, dtype.min, dtype.max, *(dtype.max - (1 << n) for n in (9, 10, 11, 38, 39, 40))}
    for power in range(64):
        for place in (23, 24, 25, 47, 48, 49, 52, 53, 54):
            part = 1 << max(power - place, 0)
            last = 1 << max(power - 23, 0)
            for number in ((1 << power) + part, (1 << power) - part, (1 << power) + last - part):
                numbers |= {number - 1, number, number + 1}
    for number in rng.integers(0, 2**64, 400, np.uint64):
        size = int(number) >> int(rng.integers(64))
        numbers |= {size, int(number) >> 40 << 40 | (1 << 39) + int(rng.integers(-3000, 3000))}
    numbers |= {-number for number in numbers}
    fitting = sorted(number for number in numbers if dtype.min <= number <= dtype.max)

    def build(b, x):
        wide = b.cast(x, f64)
        hi = b.cast(wide, f32)
        return [hi, b.cast(b.sub(wide, b.cast(hi, f64)), f32)]

    case = cases.over("cast", "", [dtype], [np.array(fitting, dtype.numpy)], build)
    return case, np.float32([pair_of(number) for number in fitting]).T


@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
def test_integers_become_the_pairs_of_their_binary64(dtype) -> None:
    case, wanted = from_integers(dtype)
    made = run(in_way(case.module, "emulate"), case)[1:3]
    assert np.array_equal(made, wanted), [column[(made != wanted).any(0)][:5] for column in made]


SPECIAL = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 3.9, -3.9])


def test_compares_of_pairs() -> None:
    columns = numbers(2)
    classes = (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge)
    build = lambda b, x, y: [b.value(cls(x, y)) for cls in classes]  # noqa: E731
    wanted, got, _ = outcomes("lt", 2, columns, build)
    for one, other in zip(wanted, got, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("dtype", [*INTEGERS, b1, f16, bf16, f32], ids=str)
def test_casts_of_pairs(dtype) -> None:
    build = lambda b, x: [b.cast(x, dtype)]  # noqa: E731
    (wanted,), (got,), _ = outcomes("cast", 1, numbers(1), build)
    same = (wanted == got) | (wanted != wanted) & (got != got)
    assert same.all()

    def back(b, value):
        wide = b.cast(value, f64)
        hi = b.cast(wide, f32)
        return [hi, b.cast(b.sub(wide, b.cast(hi, f64)), f32)]

    values = special(dtype, 30)
    if dtype.bits == 64:
        values = values[abs(values.astype(np.float64)) < 2.0**47]
    case = cases.over("cast", "", [dtype], [values], back)
    one, other = run(case.module, case), run(in_way(case.module, "emulate"), case)
    with np.errstate(all="ignore"):
        for a, b in zip(one[1:-1], other[1:-1]):
            finite = np.isfinite(one[1].astype("f8"))
            assert np.array_equal(a[finite], b[finite])


def test_memory_is_refused_in_pairs() -> None:
    for family in (effects.loads_and_stores, effects.atomics):
        case = next(c for c in family() if "f64" in str(c))
        with pytest.raises(TargetError, match="memory: the target has no float64"):
            in_way(case.module, "emulate")


def test_own_arrays_are_refused_in_pairs() -> None:
    def build(b, x):
        own = b.value(memory.LocalArray(f64, 2))
        b.store(own, b.cast(x, f64))
        return [b.cast(b.load(own), f32)]

    case = cases.over("local_array", "", [f32], [np.ones(3, np.float32)], build)
    with pytest.raises(TargetError, match="'emulate' keeps none in memory"):
        in_way(case.module, "emulate")


@pytest.mark.parametrize("mode", ["emulate", "narrow"])
@pytest.mark.parametrize("number", [1e300, 1e-300])
def test_numbers_beyond_f32_are_refused(mode: str, number: float) -> None:
    build = lambda b, x: [b.cast(b.mul(b.cast(x, f64), b.const(number, f64)), f32)]  # noqa: E731
    case = cases.over("mul", "", [f32], [np.ones(3, np.float32)], build)
    with pytest.raises(TargetError, match="is beyond float32"):
        in_way(case.module, mode)


@pytest.mark.parametrize(
    "cls", [arith.Add, arith.Mul, arith.Div, arith.Fma, arith.Rem, math.Sqrt, arith.Max, math.Exp],
    ids=lambda cls: cls.name,
)  # fmt: skip
def test_narrow_is_f32(cls) -> None:
    """Arrays of f64 give what arrays of f32 give."""
    count = len(cls.OPERAND_FIELDS)
    columns = grid_of(*[special(f32, 3)] * count)
    small = cases.over(cls.name, "", [f32] * count, columns, cases.emitting(cls))
    wide = [column.astype(np.float64) for column in columns]
    case = cases.over(cls.name, "", [f64] * count, wide, cases.emitting(cls))
    changed = in_way(case.module, "narrow")
    assert f64 not in types_in(changed)
    wanted, got = run(small.module, small)[-2], run(changed, case)[-2]
    same = (wanted.astype("f8").view("u8") == got.view("u8")) | np.isnan(wanted) & np.isnan(got)
    assert same.all()


def test_refused_with_its_line() -> None:
    build = lambda b, x: [b.cast(b.mul(b.cast(x, f64), b.const(0.5, f64)), f32)]  # noqa: E731
    case = cases.over("mul", "", [f32], [np.ones(3, np.float32)], build)
    for number, op in enumerate(ops_of(case.module)):
        op.loc = Loc("kernel.py", number + 1)
    doubles = [op for op in ops_of(case.module) if any(v.type is f64 for v in values_of(op))]
    with pytest.raises(TargetError, match="fp64='refuse'") as caught:
        legalize_fp64(copied(case.module), "refuse")
    assert "float32" in str(caught.value)
    (note,) = legalize_fp64(case.module, "emulate")
    line = doubles[0].loc.line
    assert note.startswith(f"kernel.py:{line}: float64 is computed in pairs of float32")


def test_no_note_without_f64() -> None:
    case = cases.over("add", "", [i32] * 2, [np.ones(3, np.int32)] * 2, cases.emitting(arith.Add))
    for mode in FP64:
        assert legalize_fp64(case.module, mode) == ()
    with pytest.raises(ValueError, match="is none of"):
        legalize_fp64(case.module, "fast")


def test_the_option() -> None:
    from gridlane import cuda

    assert cuda.jit(lambda x: None, fp64="exact").options.fp64 == "exact"
    assert config.read({"GRIDLANE_FP64": "narrow"}).fp64 == "narrow"
    with pytest.raises(ValueError, match="GRIDLANE_FP64='off'"):
        config.read({"GRIDLANE_FP64": "off"})
    with pytest.raises(ValueError, match="fp64='off'"):
        cuda.jit(fp64="off")
