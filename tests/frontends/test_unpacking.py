"""Arrays unpack to as many names as they have items."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, device, launch

from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python.stubs import literal_unroll


def test_rows_of_an_array_unpack():
    def kernel(p, out):
        i = cuda.grid(1)
        a, b = p[i]
        out[i] = a - b

    p = np.arange(8, dtype=np.float32).reshape(4, 2) ** 2
    for points in (p, np.asfortranarray(p), np.repeat(p, 2, axis=1)[:, ::2]):
        out = np.zeros(4, np.float32)
        launch(kernel, 1, 4, points, out)
        assert out.tolist() == (p[:, 0] - p[:, 1]).tolist()


def test_columns_unpack_to_views_and_loops_unpack_items():
    def kernel(p, out):
        (a, b), (c, d), rest = p
        out[0] = a + 10 * b + 100 * c + 1000 * d + 10000 * rest[1]
        for x, y in p:
            out[1] += x * y

    p, out = np.arange(1, 7, dtype=np.int64).reshape(3, 2), np.zeros(2, np.int64)
    launch(kernel, 1, 1, p, out)
    assert out.tolist() == [64321, 2 + 12 + 30]


def test_items_are_read_before_names_are_bound():
    def kernel(p):
        p[1], p[0] = p

    p = np.array([3, 5])
    launch(kernel, 1, 1, p)
    assert p.tolist() == [5, 3]


@pytest.mark.parametrize("count", [1, 3])
def test_another_extent_ends_the_thread(count):
    @device
    def total(p):
        a, b = p
        return a + b

    def kernel(p, out):
        out[0] = 1
        a, b = p
        out[0] = a + b

    def calling(p, out):
        out[0] = 1
        out[0] = total(p)

    for function in (kernel, calling):
        out = np.zeros(1)
        _, result = launch(function, 1, 1, np.ones(count), out, options=DEBUG)
        assert out[0] == 1 and result.error is not None
    out = np.zeros(1)
    launch(kernel, 1, 1, np.ones(count), out)
    assert out[0] == 1


def test_a_known_extent_is_checked_while_compiling():
    def kernel(out):
        local = cuda.local.array(3, np.float32)
        a, b = local
        out[0] = a + b

    with pytest.raises(TypingError, match="3 values cannot be unpacked to 2 names"):
        launch(kernel, 1, 1, np.zeros(1))


def test_starred_targets():
    def kernel(out, n):
        a, *b, c = (1, 2, 3.5, n)
        out[0] = a + c + b[0] * b[1] + len(b)
        (*d,) = (5, n)
        e, *f = (n,)
        out[1] = d[1] * 10 + e + len(f)
        (x, *y), *z = (1, 2, n), 4, (5, 6)
        out[2] = x + y[1] + z[1][0]
        for p, *q in ((1, 2, n), (4, 5, 6)):
            out[3] += p * q[0] * q[1]

    out, wanted = np.zeros(4), np.zeros(4)
    kernel(wanted, 7)
    launch(kernel, 1, 1, out, 7)
    assert out.tolist() == wanted.tolist()

    def few(out):
        a, *b, c = (1,)

    def array(out):
        out[0], *_ = out

    with pytest.raises(TypingError, match="1 values cannot be unpacked to 2 names or more"):
        launch(few, 1, 1, out)
    with pytest.raises(UnsupportedError, match="starred target; slice it"):
        launch(array, 1, 1, out)


def test_a_tuple_of_several_types_is_unrolled():
    def kernel(items, out):
        for x in literal_unroll(items):
            out[0] += x
        for n, x in enumerate(literal_unroll(items)):
            if n == 1:
                out[1] = x

    out = np.zeros(2)
    launch(kernel, 1, 1, (1, 2.5, np.int8(3)), out)
    assert out.tolist() == [6.5, 2.5]
    assert literal_unroll((1, 2.5)) == (1, 2.5)

    def wrong(items, out):
        for x in literal_unroll(out):
            out[0] += x

    with pytest.raises(TypingError, match="takes a tuple or a range, not array"):
        launch(wrong, 1, 1, (1, 2), out)


def test_tuples_are_made_of_the_items_of_others():
    @device
    def more(*items):
        return (*items, 9)

    def kernel(a, out):
        i, j = cuda.grid(2)
        place = i, j
        own = cuda.local.array((*(2, 3), 2), np.float64)
        own[*place, 1] = 3
        mixed = (7, *place, *(*place, 0), *more(1, 2), *())
        for n, item in enumerate(mixed):
            out[(*place, n)] = item
        out[*place, 9] = len(mixed)
        cuda.atomic.add(out, (*place, 0), own[i, j, 1])

    a, out = np.zeros((2, 3)), np.zeros((2, 3, 10))
    launch(kernel, 1, (2, 3), a, out)
    for i, j in np.ndindex(2, 3):
        assert out[i, j].tolist() == [7 + 3, i, j, i, j, 0, 1, 2, 9, 9]


def test_an_array_has_no_known_number_of_items():
    def kernel(a):
        a[0] = len((*a, 1))

    with pytest.raises(ConstantError, match=r"(?s)\*array.*; write them one by one.*\(\*a, 1\)"):
        launch(kernel, 1, 1, np.zeros(3))
