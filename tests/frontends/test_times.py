"""datetime64 and timedelta64 in kernels, on every device, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import module_of

from gridlane import cuda
from gridlane.core.errors import TypingError
from gridlane.cuda import types
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.launch import current
from gridlane.launch.devices import get_device

NAT = np.iinfo(np.int64).min
DAYS = np.array([0, 5, -7, 11016, -1, NAT, 400, 3], "M8[D]")
OTHERS = np.array([9, 2, NAT, -40000, -3, 1, 0, 3], "M8[D]")
SPANS = np.array([7, -7, 3, 0, -9, NAT, 12345, 25], "m8[h]")
STEPS = np.array([2, 2, NAT, 5, 4, 3, -100, 0], "m8[h]")
FACTORS = np.array([2, -3, 4, 5, 0, 6, 7, -8], np.int32)
MONTHS = np.array([0, 1, 13, -1, -23, NAT, 361, 1202], "M8[M]")
EPOCH = np.datetime64("2000-03-01", "D")


@cuda.jit
def kernel(days, others, spans, steps, factors, months, out, flags, dates, since):
    i = cuda.grid(1)
    out[i, 0] = days[i] - others[i]
    out[i, 1] = (days[i] + spans[i]) - days[i]
    out[i, 2] = -spans[i]
    out[i, 3] = abs(spans[i])
    out[i, 4] = spans[i] * factors[i]
    out[i, 5] = spans[i] / factors[i]
    out[i, 6] = spans[i] // factors[i]
    out[i, 7] = spans[i] % steps[i]
    flags[i, 0] = days[i] == others[i]
    flags[i, 1] = days[i] != others[i]
    flags[i, 2] = days[i] < others[i]
    flags[i, 3] = days[i] >= EPOCH
    flags[i, 4] = np.isnat(days[i])
    flags[i, 5] = spans[i] // steps[i] == 3
    flags[i, 6] = months[i] <= days[i]
    later = days[i] if days[i] > others[i] else others[i]
    dates[i, 0] = later
    dates[i, 1] = months[i]
    dates[i, 2] = since


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_as_in_numpy(name):
    current.choose(get_device(name))
    out, flags = np.zeros((8, 8), "m8[h]"), np.zeros((8, 7), bool)
    dates = np.zeros((8, 3), "M8[h]")
    kernel[1, 8](DAYS, OTHERS, SPANS, STEPS, FACTORS, MONTHS, out, flags, dates, EPOCH)
    with np.errstate(all="ignore"):
        spans = [
            *((DAYS - OTHERS), (DAYS + SPANS) - DAYS, -SPANS, np.abs(SPANS), SPANS * FACTORS),
            *(SPANS / FACTORS, SPANS // FACTORS, SPANS % STEPS),
        ]
        tests = [
            *(DAYS == OTHERS, DAYS != OTHERS, DAYS < OTHERS, DAYS >= EPOCH, np.isnat(DAYS)),
            *(SPANS // STEPS == 3, MONTHS <= DAYS),
        ]
    later = np.where(DAYS > OTHERS, DAYS, OTHERS)
    for number, want in enumerate(spans):
        got = out[:, number].view(np.int64)
        assert list(got) == list(want.astype("m8[h]").view(np.int64)), number
    np.testing.assert_array_equal(flags, np.stack(tests, axis=1))
    for number, want in enumerate((later, MONTHS, np.full(8, EPOCH))):
        np.testing.assert_array_equal(dates[:, number], want.astype("M8[h]"))


@pytest.mark.parametrize("unit", ["D", "h", "s"])
def test_every_month_of_the_calendar(unit):
    current.choose(get_device("cpu"))
    months = np.arange(-3000, 30000).astype("M8[M]")
    found = np.zeros(months.size, f"M8[{unit}]")

    @cuda.jit
    def convert(months, found):
        i = cuda.grid(1)
        if i < found.size:
            found[i] = months[i]

    convert[months.size // 128 + 1, 128](months, found)
    np.testing.assert_array_equal(found, months.astype(found.dtype))


def test_floats_scale_spans():
    current.choose(get_device("cpu"))
    spans = np.array([7, -7, NAT, 9], "m8[s]")
    factors = np.array([1.5, -0.3, 2.0, np.nan])
    out, ratios = np.zeros((4, 2), "m8[s]"), np.zeros(4)

    @cuda.jit
    def scale(spans, factors, out, ratios):
        i = cuda.grid(1)
        out[i, 0] = factors[i] * spans[i]
        out[i, 1] = spans[i] / factors[i]
        ratios[i] = spans[i] / np.timedelta64(2, "m")

    scale[1, 4](spans, factors, out, ratios)
    np.testing.assert_array_equal(out[:, 0], factors * spans)
    np.testing.assert_array_equal(out[:, 1], spans / factors)
    np.testing.assert_array_equal(ratios, spans / np.timedelta64(2, "m"))


def test_times_made_in_kernels():
    current.choose(get_device("interp"))
    out, dates = np.zeros(4, "m8[s]"), np.zeros(3, "M8[s]")

    def kernel(out, dates, n, day):
        out[0] = np.timedelta64(n, "h")
        out[1] = np.timedelta64(n, "25s") * 2
        out[2] = np.timedelta64(np.timedelta64(n, "h"), "m") + np.timedelta64(1)
        out[3] = np.timedelta64("NaT")
        dates[0] = day + np.timedelta64(-3, "D")
        dates[1] = np.datetime64("2000-02-28T12") + np.timedelta64(n, "D")
        dates[2] = np.datetime64(n, "M")

    day = np.datetime64("2024-03-01")
    cuda.jit(kernel)[1, 1](out, dates, 5, day)
    wanted = np.zeros_like(out), np.zeros_like(dates)
    kernel(*wanted, 5, day)
    np.testing.assert_array_equal(out, wanted[0])
    np.testing.assert_array_equal(dates, wanted[1])


def _no_unit(out, a, b):
    a[0] = np.datetime64(7)


def _this_day(out, a, b):
    a[0] = np.datetime64("today")


def _unit_of_an_argument(out, a, b):
    a[0] += np.timedelta64(7, out[0])


def _date_and_number(out, a, b):
    a[0] = a[0] + 7


def _sum_of_dates(out, a, b):
    out[0] = a[0] + a[0]


def _scaled_date(out, a, b):
    out[0] = a[0] * 2


def _coarser(out, a, b):
    a[0] = b[0]


def _number(out, a, b):
    out[0] = a[0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_sum_of_dates, r"datetime64\[D\] \+ datetime64\[D\] is not defined in a kernel"),
        (_no_unit, r"needs a unit"),
        (_this_day, "pass it as an argument"),
        (_unit_of_an_argument, "is a constant text"),
        (_date_and_number, r"int64 is not defined in a kernel; a span is np.timedelta64\(n, 'D'\)"),
        (_scaled_date, r"datetime64\[D\] \* int64 is not defined"),
        (_coarser, r"datetime64\[s\] does not convert to datetime64\[D\]"),
        (_number, r"a number to convert to int64 is required here, not datetime64\[D\]"),
    ],
)
def test_refused(function, words):
    arrays = np.zeros(1, np.int64), np.zeros(1, "M8[D]"), np.zeros(1, "M8[s]")
    with pytest.raises(TypingError, match=words):
        module_of(function, *arrays)


def test_types_by_numbas_names():
    assert types.NPDatetime("25s") == typeof(np.datetime64(0, "25s"))
    assert types.NPTimedelta("ns") == typeof(np.timedelta64(0, "ns"))
    assert types.NPTimedelta() == typeof(np.timedelta64(3))
    assert isinstance(types.NPDatetime("D"), types.NPDatetime)
    assert not isinstance(types.NPDatetime("D"), types.NPTimedelta)
    assert not isinstance(types.int64, types.NPDatetime)


@cuda.jit
def extremes(a, b, few, out, places):
    out[0], out[1] = a.min(), np.max(a)
    out[2], out[3] = few.min(), np.amax(few)
    out[4], out[5] = np.nanmin(a), np.nanmax(a)
    out[6], out[7] = min(a[0], a[1], a[2]), max((a[0], a[1]))
    out[8], out[9] = min(a[0], b[0]), max(b[1], a[1])  # in the finer unit
    out[10], out[11] = max(a), min(few)
    places[0], places[1] = a.argmin(), np.argmax(a)
    places[2], places[3] = few.argmin(), np.argmax(few)
    places[4] = np.count_nonzero(a)
    places[5] = 1 if a[0] else 2
    places[6] = 1 if not few[1] else 2
    places[7] = any(a)


@pytest.mark.parametrize("name", ["interp", *DEVICES])
@pytest.mark.parametrize("letter", ["m8", "M8"])
def test_extremes(name, letter):
    """A NaT is the smallest and the largest of an array, as in numpy and numba, and Python's min
    and max keep a leading one and pass over a later one, as comparisons with it are false."""
    current.choose(get_device(name))
    for values in ([5, -3, NAT, 9], [NAT, 0, 4, 2], [0, 7, 7, -7]):
        a = np.array(values).view(f"{letter}[s]")
        few, b = np.array([3, 0, -2], f"{letter}[s]"), np.array([1, -1], f"{letter}[m]")
        out, places = np.zeros(12, f"{letter}[s]"), np.zeros(8, np.int64)
        extremes[1, 1](a, b, few, out, places)
        seconds = b.astype(a.dtype)
        want = [a.min(), a.max(), few.min(), few.max(), np.nanmin(a), np.nanmax(a)]
        want += [min(a[0], a[1], a[2]), max(a[0], a[1])]
        want += [min(a[0], seconds[0]), max(seconds[1], a[1]), max(a), min(few)]
        np.testing.assert_array_equal(out, np.array(want))
        assert np.isnat(out[0]) == np.isnat(out[1]) == (NAT in values)
        counts = [a.argmin(), a.argmax(), few.argmin(), few.argmax(), np.count_nonzero(a)]
        assert places.tolist() == [*counts, 1 if a[0] else 2, 1, any(a)]


def test_sums_of_spans():
    current.choose(get_device("interp"))

    @cuda.jit
    def sums(a, out):
        out[0], out[1], out[2], out[3] = a.sum(), a.mean(), np.sum(a), np.mean(a)

    for values in ([7, -8, 3], [-7, -8], [1, NAT, 2], []):
        a, out = np.array(values, np.int64).view("m8[ms]"), np.zeros(4, "m8[ms]")
        sums[1, 1](a, out)
        want = np.array([a.sum(), a.mean() if values else "NaT"] * 2, "m8[ms]")
        np.testing.assert_array_equal(out, want)


def date_beside_span(days, spans, out):
    out[0] = max(days[0], spans[0])


def date_beside_number(days, spans, out):
    out[0] = min(days[0], 3)


def sum_of_dates(days, spans, out):
    out[0] = days.sum()


def square_of_spans(days, spans, out):
    out[0] = spans.var()


def product_of_spans(days, spans, out):
    out[0] = spans.prod()


def sum_without_nat(days, spans, out):
    out[0] = np.nansum(spans)


NO_ORDER = [
    (date_beside_span, r"max\(\) of datetime64\[D\] and timedelta64\[h\], which have no order"),
    (date_beside_number, r"min\(\) of datetime64\[D\] and int64, which have no order"),
    (sum_of_dates, "holds no numbers that could be reduced"),
    (square_of_spans, "holds no numbers that could be reduced"),
    (product_of_spans, "holds no numbers that could be reduced"),
    (sum_without_nat, "holds no numbers that could be reduced"),
]


@pytest.mark.parametrize(("function", "words"), NO_ORDER)
def test_what_has_no_order_or_sum(function, words):
    with pytest.raises(TypingError, match=words):
        module_of(function, DAYS, SPANS, np.zeros(1, "m8[s]"))
