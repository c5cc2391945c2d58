"""Ranges near the ends of their types, as Python has them; numpy's scalars stand for 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import returned

import gridlane
from gridlane import cuda
from gridlane.core.errors import TypingError

MOST = 2**63 - 1
LEAST = -(2**63)
SIGNED = (
    (MOST - 9, MOST, 4),
    (MOST - 10, MOST, 5),
    (MOST - 1, MOST, 7),
    (MOST - 3, MOST, 1),
    (LEAST, MOST, 2**62),
    (LEAST, MOST, MOST),
    (0, MOST, 2**62),
    (MOST, LEAST, LEAST),
    (MOST, LEAST, -MOST),
    (LEAST + 9, LEAST, -4),
    (LEAST + 3, LEAST, -1),
    (LEAST + 1, LEAST, -4),
    (0, 10, 3),
    (10, 0, -3),
    (5, 5, 2),
    (5, 3, 2),
    (3, 5, -2),
    (0, 5, 0),
)
"""The last has no items here; Python raises ValueError."""
UNSIGNED = (
    (2**64 - 10, 2**64 - 1, 4),
    (0, 2**64 - 1, 2**63),
    (0, 2**64 - 1, 2**64 - 1),
    (1, 2**64 - 1, 2**63 + 5),
    (2**64 - 3, 2**64 - 1, 1),
    (7, 3, 2),
)
ROOM = 8


def items(start, stop, step, out):
    count = 0
    for item in range(start, stop, step):
        out[count] = item
        count += 1
    out[ROOM] = count
    out[ROOM + 1] = len(range(start, stop, step))
    for place, item in enumerate(range(start, stop, step)):
        out[ROOM + 2 + place] = item
        count += 1
    out[2 * ROOM + 2] = count


def wanted(start: int, stop: int, step: int, dtype: type) -> np.ndarray:
    found = list(range(start, stop, step)) if step else []
    rest = [0] * (ROOM - len(found))
    return np.array([*found, *rest, len(found), len(found), *found, *rest, 2 * len(found)], dtype)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_the_items_of_a_range(device: str, dtype: type) -> None:
    kernel = cuda.jit(items)
    with gridlane.device(device):
        for numbers in SIGNED if dtype is np.int64 else UNSIGNED:
            got = np.zeros(2 * ROOM + 3, dtype)
            kernel[1, 1](*map(dtype, numbers), got)
            np.testing.assert_array_equal(got, wanted(*numbers, dtype), f"{numbers}")


def constant_steps(start, stop, out):
    count = 0
    for item in range(start, stop, 4):
        out[count] = item
        count += 1
    for item in range(stop, start, -4):
        out[count] = item
        count += 1
    out[ROOM] = count


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_a_constant_step(device: str) -> None:
    for start, stop in ((MOST - 9, MOST), (LEAST, LEAST + 9), (MOST, MOST - 3), (-3, 3)):
        found = [*range(start, stop, 4), *range(stop, start, -4)]
        got = np.zeros(ROOM + 1, np.int64)
        with gridlane.device(device):
            cuda.jit(constant_steps)[1, 1](start, stop, got)
        np.testing.assert_array_equal(got, found + [0] * (ROOM - len(found)) + [len(found)])


def lengths(start, stop, out):
    out[0] = len(range(start, stop))
    out[1] = len(range(start, stop, -1))
    for place, _ in enumerate(range(start, stop)):
        out[2] = place + 1
        if place == 3:
            break


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_empty_ranges_whose_ends_are_far_apart(device: str) -> None:
    for start, stop in ((MOST, LEAST), (LEAST, -2), (MOST, -3), (2**64 - 1, 1), (2**64 - 5, 0)):
        dtype = np.int64 if start <= MOST else np.uint64
        first, last = (int(np.array([end], dtype).view(np.int64)[0]) for end in (start, stop))
        up = len(range(start, stop))
        got = np.zeros(3, np.int64)
        with gridlane.device(device):
            cuda.jit(lengths)[1, 1](dtype(start), dtype(stop), got)
        down = min(max(first - last, 0), MOST)  # where the len of Python raises
        np.testing.assert_array_equal(got, [up, down, min(up, 4)], f"{start}, {stop}")


def backwards(start, stop, step, out):
    numbers = range(start[0], stop[0], step[0])
    out[ROOM] = len(numbers)
    for place, item in enumerate(reversed(numbers)):
        out[place] = item


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_the_largest_steps_of_32_bits(device: str) -> None:
    most = 2**31 - 1
    cases = (most, -16390, -most - 1), (most, -most - 1, -most - 1), (-most - 1, most, most)
    for start, stop, step in cases:
        found = list(range(start, stop, step))
        got = np.zeros(ROOM + 1, np.int64)
        with gridlane.device(device):
            cuda.jit(backwards)[1, 1](*(np.array([n], np.int32) for n in (start, stop, step)), got)
        np.testing.assert_array_equal(got, found[::-1] + [0] * (ROOM - len(found)) + [len(found)])


def with_a_long_range(start, stop, step, out):
    for count, item in zip(range(start, stop), range(3)):
        out[count] = item + 1
    for count, item in zip(range(start, stop, step), range(3)):
        out[3 + count - start] = item + 1
    out[6] = len(range(start, stop))


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_more_items_than_an_int64_counts(device: str) -> None:
    for dtype, start, stop in ((np.uint64, 0, 2**64 - 1), (np.uint64, 0, 2**63)):
        got = np.zeros(7, dtype)
        with gridlane.device(device):
            cuda.jit(with_a_long_range)[1, 1](dtype(start), dtype(stop), dtype(1), got)
        assert list(got) == [1, 2, 3, 1, 2, 3, 2**63 - 1]


def within(items, ranges, out):
    for i in range(len(items)):
        for k in range(len(ranges)):
            start, stop, step = ranges[k, 0], ranges[k, 1], ranges[k, 2]
            out[i, k] = items[i] in range(start, stop, step)
        out[i, len(ranges)] = items[i] in range(5) or items[i] not in range(-3, 10, 2)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_membership(device: str) -> None:
    ends = [(-(2**63), 2**63 - 1), (2**63 - 1, -(2**63)), (0, 7), (7, 0), (-5, 5), (3, 3)]
    steps = (1, 2, 3, -1, -2, 7, 2**63 - 1, -(2**63))
    ranges = [(start, stop, step) for start, stop in ends for step in steps]
    items = [*range(-8, 9), 2**62, -(2**62), 2**63 - 1, -(2**63), 2**63 - 2, 2**64 - 1, 2**63]
    for dtype in (np.int64, np.int8, np.uint64, np.uint8):
        info = np.iinfo(dtype)
        own = [item for item in items if info.min <= item <= info.max]
        wanted = [
            [*[item in range(*each) for each in ranges], item in range(5) or item not in ODD]
            for item in own
        ]
        got = np.zeros((len(own), len(ranges) + 1), np.int8)
        with gridlane.device(device):
            cuda.jit(within)[1, 1](np.array(own, dtype), np.array(ranges), got)
        np.testing.assert_array_equal(got, wanted)


ODD = range(-3, 10, 2)


@cuda.jit(device=True)
def digits(numbers):
    found = 0
    for item in numbers:
        found = found * 10 + item
    return found


@cuda.jit(device=True)
def counted(n, down):
    if down:
        return range(n - 1, -1, -1)
    return range(n)


@cuda.jit(device=True)
def rising_by_hundreds(n):
    return range(n + 100, n + 301, 100)


@cuda.jit(device=True)
def mine(n):
    return range(cuda.threadIdx.x, n, cuda.blockDim.x)


@cuda.jit(device=True)
def halves(n):
    return mine(n), slice(1, n, 2), (slice(None, 3), 7)


@cuda.jit(device=True)
def numbered(a):
    return enumerate(zip(a, a[1:]))  # noqa: RUF007  # numba lacks pairwise


@cuda.jit(device=True)
def part(a, place):
    return digits(a[place])


@cuda.jit(device=True)
def with_a_range_of_parts(n):
    if n > 2:
        return n, range(n)
    return 2, range(1, n)


def passed(a, out, owners):
    if cuda.threadIdx.x == 0:
        out[0] = digits(range(3, 7)) + digits(range(6, 2, -2))
        out[1] = digits(counted(4, True))
        out[2] = digits(counted(4, False))
        out[3] = digits(reversed(counted(4, True)))
        numbers, odd, (first, seven) = halves(6)
        out[4] = len(numbers) * 1000 + part(a, odd) * 10 + seven
        out[5] = part(a, first)
        out[6] = part(a, slice(3))
        out[7] = part(a, slice(None, None, -3))
        for n, (low, high) in numbered(a[2:6]):
            out[8] += n * (high - low)
        out[9] = digits(rising_by_hundreds(a[0]))
        for n in range(1, 4):
            kept, numbers = with_a_range_of_parts(n)
            out[10] += 100 * kept + len(numbers)
    for item in mine(owners.size):
        owners[item] = cuda.threadIdx.x


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_ranges_and_slices_that_functions_take_and_return(device: str) -> None:
    a = np.array([1, 4, 2, 8, 5, 7, 9, 3], np.int32)
    out, owners = np.zeros(11, np.int64), np.zeros(7, np.int32)
    with gridlane.device(device):
        cuda.jit(passed)[1, 3](a, out, owners)
    steps = sum(n * int(d) for n, d in enumerate(np.diff(a[2:6])))
    assert out.tolist() == [
        3456 + 64,
        *(3210, 123, 123),
        2000 + 487 * 10 + 7,
        *(142, 142, 354),
        steps,
        10100 + 2010 + 301,
        200 + 0 + 200 + 1 + 300 + 3,
    ]
    assert owners.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_what_no_function_returns_or_takes() -> None:
    @cuda.jit(device=True)
    def method(a):
        return a.sum

    def returned(out):
        out[0] = method(out)()

    def taken(out):
        out[0] = digits(out.sum)

    def slices(out):
        out[0] = out[slice(1.5)][0]

    def none(out):
        out[0] = out[slice(1, 2, 3, 4)][0]  # type: ignore[call-overload]  # the error

    for kernel, text in (
        (returned, "method sum of .* cannot be returned; return the values"),
        (taken, "does not take method sum .*; pass its parts"),
        (slices, "an integer in slice"),
        (none, "slice takes 1 to 3 integers, not 4"),
    ):
        with pytest.raises(TypingError, match=text):
            cuda.jit(kernel)[1, 1](np.zeros(3))


def test_the_numbers_of_a_range():
    def kernel(out, n):
        r = range(n) if n > 2 else range(1, 2 * n, -3)
        out[0], out[1], out[2] = r.start, r.stop, r.step
        for i in range(r.start, r.stop + 1, range(0, 9, 2).step):
            out[3] += i

    for n in range(6):
        wanted = np.zeros(4)
        kernel(wanted, n)
        assert returned(kernel, n, count=4).tolist() == wanted.tolist()

    def missing(out, n):
        out[0] = range(n).begin

    with pytest.raises(TypingError, match="no attribute begin; it has start, stop, step"):
        returned(missing, 3)


def test_bounds_that_are_whole_constant_floats():
    """numba truncates floats there; others than whole constants are mistakes."""
    most = 0.0

    def kernel(out):
        for i in range(-most, most + 1, 1):
            out[0] += 10 + i
        for i in range(3.0):
            out[1] += i // 2 + 1

    assert returned(kernel, count=2).tolist() == [10, 4]

    def half(out):
        for i in range(most + 0.5):
            out[0] += i

    def unknown(out, n):
        for i in range(n):
            out[0] += i

    for kernel, values in ((half, ()), (unknown, (2.0,))):
        with pytest.raises(TypingError, match=r"an integer in range\(\) is required here"):
            returned(kernel, *values)
