"""Arrays, views, records and constants, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, launch, module_of, returned

from gridlane.core.argtypes import complex64, float32, float64, int32
from gridlane.core.errors import TypingError, UnsupportedError

ORDERS = {
    "C": lambda a: np.ascontiguousarray(a),
    "F": lambda a: np.asfortranarray(a),
    "A": lambda a: np.ascontiguousarray(np.repeat(a, 2, axis=1))[:, ::2],
}


@pytest.mark.parametrize("order", ORDERS)
def test_every_element(order):
    def kernel(out, a):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                for k in range(a.shape[2]):
                    out[0] = out[0] * 0.5 + a[i, j, k] + a[i][j][k] + a[i, j][k]

    a = ORDERS[order](np.arange(24.0).reshape(2, 3, 4))
    wanted = np.zeros(1)
    kernel(wanted, a)
    assert returned(kernel, a) == wanted[0]


SLICES = [
    lambda a: a[1],
    lambda a: a[-1],
    lambda a: a[:, 2],
    lambda a: a[1:3],
    lambda a: a[1:3, 2],
    lambda a: a[::2, 1:],
    lambda a: a[::-1],
    lambda a: a[3:0:-2, ::-1],
    lambda a: a[-3:-1, :2],
    lambda a: a[5:9],
    lambda a: a[2:1],
    lambda a: a[..., 1],
    lambda a: a[0, ...],
    lambda a: a.T,
    lambda a: a[1:].T[2],
    lambda a: a[None, 1, 1:3],
    lambda a: a[:-1, -2:],
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("number", range(len(SLICES)))
def test_slices(order, number):
    from tests.frontends.running import device

    cut = SLICES[number]
    view = device(cut)

    def kernel(out, a):
        v = view(a)
        out[0] = v.size
        out[1] = v.shape[0]
        out[2] = v.ndim
        if v.size:
            flat = v[0] if v.ndim == 1 else v[0, 0]
            out[3] = flat if v.ndim < 3 else -1

    def kernel_1d(out, a):
        v = view(a)
        out[0] = v.size
        out[1] = v.shape[0]
        out[2] = v.ndim
        if v.size:
            out[3] = v[0]
            out[4] = v[-1]
            out[5] = v.strides[0]

    def kernel_2d(out, a):
        v = view(a)
        out[0] = v.size
        out[1] = v.shape[0]
        out[2] = v.ndim
        if v.size:
            out[3] = v[0, 0]
            out[4] = v[-1, -1]
            out[5] = v.strides[0]

    a = ORDERS[order](np.arange(20.0).reshape(4, 5))
    expected = cut(a)
    wanted = np.zeros(6)
    wanted[:3] = expected.size, expected.shape[0], expected.ndim
    if expected.size:
        wanted[3], wanted[4] = expected.flat[0], expected.flat[-1]
        wanted[5] = expected.strides[0]
    kernels = {1: kernel_1d, 2: kernel_2d}
    found = returned(kernels[expected.ndim], a, count=6)
    if expected.shape[0] <= 1:
        found[5] = wanted[5]
    assert found.tolist() == wanted.tolist()


def test_slices_with_bounds_and_steps_of_any_size():
    bounds = [-(2**63), -12, -10, -1, 0, 4, 10, 2**63 - 1]
    steps = [-(2**63), -11, -3, -1, 1, 2, 12, 2**63 - 1]
    cuts = np.array([(a, b, c) for a in bounds for b in bounds for c in steps])

    def kernel(out, a, cuts):
        for i in range(len(cuts)):
            v = a[cuts[i, 0] : cuts[i, 1] : cuts[i, 2]]
            out[3 * i] = len(v)
            if len(v):
                out[3 * i + 1], out[3 * i + 2] = v[0], v[-1]

    wanted = np.zeros((len(cuts), 3))
    for row, (start, stop, step) in zip(wanted, cuts.tolist(), strict=True):
        v = np.arange(10)[start:stop:step]
        row[0] = len(v)
        row[1:] = (v[0], v[-1]) if len(v) else 0
    found = returned(kernel, np.arange(10), cuts, count=3 * len(cuts))
    assert found.tolist() == wanted.ravel().tolist()


def test_stores_to_views():
    def kernel(a, b):
        a[0] = 7
        a[1:, 1] = b
        a[2, 2:4] = (8, 9)
        a[3:] = a[0:1]

    a, b = np.zeros((4, 5)), np.arange(3.0)
    wanted = a.copy()
    kernel(wanted, b)
    launch(kernel, 1, 1, a, b)
    np.testing.assert_array_equal(a, wanted)


def test_stores_of_other_sizes_end_the_thread():
    """numpy raises a ValueError; what is behind the source or the view is not touched."""
    values = np.arange(12.0)

    def arrays(out, a, n):
        a[2:n] = a[4:8]
        out[0] = 1

    def tuples(out, a, n):
        a[2:n] = (1, 2, 3, 4)
        out[0] = 1

    def columns(out, a, n):
        a.reshape(3, 4)[:, 1:] = values[n:]
        out[0] = 1

    def functions(out, a, n):
        np.sin(a[4:8], a[2:n])
        out[0] = 1

    for kernel in (arrays, tuples, columns, functions):
        for n in (2, 3, 5, 6, 7, 9, 11, 12):
            found, out, wanted = np.arange(12.0), np.zeros(1), np.arange(12.0)
            try:
                kernel(np.zeros(1), wanted, n)
                fails = ""
            except ValueError:
                fails, wanted = "ValueError", np.arange(12.0)
            launch(kernel, 1, 1, out, found, n)
            np.testing.assert_allclose(found, wanted)
            assert out[0] == (not fails)
            module, result = launch(kernel, 1, 1, out, found, n, options=DEBUG)
            named = module.errors[result.error[0]].exception if result.error else ""
            assert named == fails, (kernel, n)


def test_stores_of_overlapping_slices():
    def rows(a, n):
        a[1:] = a[:-1]
        a[:-2] = a[2:]
        a[n:] = a[:-n]
        a[: 6 - n] = a[n:]

    def columns(a, n):
        a[:, 1:] = a[:, :-1]
        a[:, :-2] = a[:, 2:]
        a[n:, n:] = a[:-n, :-n]
        a[1:, :-1] = a[:-1, 1:]
        a[0, n:] = a[0, :-n]
        a[1, : 5 - n] = a[1, n:]

    def turned(a, n):
        b = a[::-1, ::-2]
        b[1:] = b[:-1]
        b[:, n:] = b[:, :-n]
        c = a[::-1]
        c[:, n:] = c[:, :-n]
        c[:-n] = c[n:]
        d = a[:, 1]
        d[n:] = d[:-n]
        d[: 6 - n] = d[n:]

    for kernel in (rows, columns, turned):
        for n, order in itertools.product((1, 2, 3), ORDERS):
            found = ORDERS[order](np.arange(30.0).reshape(6, 5))
            wanted = found.copy()
            kernel(wanted, n)
            launch(kernel, 1, 1, found, n)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{kernel.__name__} {n} {order}")


def test_stores_of_slices_of_three_axes():
    """Along all of them, whatever the order of the axes in memory, and turned around."""

    def kernel(a, p, q, r):
        a[p:, q:, r:] = a[:-p, :-q, :-r]
        a[p:, :-q, r:] = a[:-p, q:, :-r]
        a[:-p, q:, r:] = a[p:, :-q, :-r]
        a[p:, :-q, :-r] = a[:-p, q:, r:]

    for axes in itertools.permutations(range(3)):
        for (p, q, r), step in itertools.product(((1, 1, 1), (3, 2, 2), (1, 2, 1)), (1, -1)):
            whole = np.arange(5.0 * 4 * 3).reshape([(5, 4, 3)[axis] for axis in axes])
            found = whole.transpose(np.argsort(axes))[:, ::step]
            assert found.shape == (5, 4, 3)
            wanted = found.copy()
            kernel(wanted, p, q, r)
            launch(kernel, 1, 1, found, p, q, r)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{axes} {p} {q} {r} {step}")


def test_stores_that_would_need_a_copy():
    """numpy makes one. Without memory for it, registers are one, or the store is refused."""

    def small(out):
        a = cuda.local.array(4, float64)
        b = cuda.local.array((2, 2), float64)
        a[:] = (1, 2, 3, 4)
        a[:] = a[::-1]
        b[:] = ((5, 6), (7, 8))
        b[:] = b.T
        out[:4] = a
        b[:] = (b[1], b[0])
        a[1:] = a[2]
        out[4:8] = b.ravel()
        out[8:12] = a
        b[:] = b[:, 1]
        out[12:16] = b.ravel()
        a[:] = a[1:2].reshape(())
        out[16:] = a

    wanted = [4, 3, 2, 1, 6, 8, 5, 7, 4, 2, 2, 2, 8, 7, 8, 7, 2, 2, 2, 2]
    assert returned(small, count=20).tolist() == wanted

    def turned(a, n):
        a[:] = a[::-1]

    def transposed(a, n):
        a.reshape(n, n)[:] = a.reshape(n, n).T

    def strided(a, n):
        a[:8] = a[::2]

    def swapped(a, n):
        b = a.reshape(n, n)
        b[:2] = (b[1], b[0])

    def column(a, n):
        b = a.reshape(n, n)
        b[:] = b[:, n]

    def row(a, n):
        b = a.reshape(n, n)
        b[:, :-1] = b[n, 1:]

    def function(a, n):
        np.add(a[2:], a[:-2], a[1:-1])

    def inverse(a, n):
        np.sin(a[::-1], a)

    for kernel in (turned, transposed, strided, swapped, column, row, function, inverse):
        with pytest.raises(UnsupportedError, match="numpy copies that first"):
            module_of(kernel, np.zeros(16), 1)


def test_functions_of_overlapping_slices():
    def kernel(a, b, i):
        np.add(a, b, a)
        np.add(a[i], b[0], a[i])
        np.negative(a[0, :-1], a[0, 1:])
        np.add(a[1, 1:], b[1, 1:], a[1, :-1])
        a[:] = a[0]

    found, b = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) * 3
    wanted = found.copy()
    kernel(wanted, b, 2)
    launch(kernel, 1, 1, found, b, 2)
    np.testing.assert_array_equal(found, wanted)


def test_functions_of_rows_and_columns_that_they_store():
    """The first row, column or element is made of itself, and written after what it is part of."""

    def kernel(a, b, one):
        np.add(a[0], 1, a)
        np.multiply(a[:, :1], b, a)
        np.subtract(a, a[:1], a)
        np.add(a[:1, :1], b[0], a)
        np.add(a[:one], a[:, :1], a)
        np.negative(b[0], b)

    found, b = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) * 3 + 1
    wanted, other = found.copy(), b.copy()
    kernel(wanted, other, 1)
    launch(kernel, 1, 1, found, b, 1)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(b, other)

    def column():
        own = cuda.local.array((3, 4), float64)
        np.subtract(own, own[:, 1:2], own)

    with pytest.raises(UnsupportedError, match="numpy copies that first"):
        module_of(column)


def test_stores_of_tuples_broadcast():
    def kernel(a, b):
        a[:] = (1, 2, 3)
        a[1:3] = ((4,), (5,))
        a[3:, :2] = ((6, 7),)
        a[4] = (8,)
        b[0] = (a[0], (9, 9, 9))
        b[1:] = (a[0], a[3])

    found, b = np.zeros((5, 3)), np.ones((3, 2, 3))

    def wanted(a, b):
        a[:] = (1, 2, 3)
        a[1:3] = ((4,), (5,))
        a[3:, :2] = ((6, 7),)
        a[4] = (8,)
        b[0] = np.array((a[0], (9, 9, 9)))
        b[1:] = np.array((a[0], a[3]))

    own, other = found.copy(), b.copy()
    wanted(own, other)
    launch(kernel, 1, 1, found, b)
    assert found.tolist() == own.tolist() and b.tolist() == other.tolist()


def test_stores_that_never_fit():
    def plane(out, a):
        out[:] = a.reshape(2, 2)

    def constant(out, a):
        cuda.local.array(3, float64)[:] = cuda.local.array(2, float64)

    def function(out, a):
        np.sin(a.reshape(2, 2), out)

    for kernel in (plane, constant, function):
        with pytest.raises(TypingError, match=r"does not fit|are stored to"):
            module_of(kernel, np.zeros(4), np.zeros(4))


def test_attributes():
    def kernel(out, a):
        out[0] = a.size + len(a) * 10 + a.ndim * 100
        out[1] = a.shape[1] + a.strides[0] * 10 + a.itemsize * 1000
        out[2] = a.reshape(2, 10)[1, 0] + a.ravel()[7] + a.reshape((5, -1))[4, 3]
        out[3] = a.view(np.int64).size
        out[4] = a.nbytes

    a = np.arange(20.0).reshape(4, 5)
    found = returned(kernel, a, count=5)
    assert found.tolist() == [20 + 40 + 200, 5 + 400 + 8000, 10 + 7 + 19, 20, 160]


def test_conversions_on_store():
    def kernel(i, f, z, b):
        i[0] = 3.9
        i[1] = -3.9
        f[0] = i[0] + True
        z[0] = 2
        z[1] = 1 + 2j
        b[0] = 5
        b[1] = f[0] > 100

    i, f = np.zeros(2, np.int8), np.zeros(1, np.float32)
    z, b = np.zeros(2, np.complex64), np.zeros(2, np.bool_)
    launch(kernel, 1, 1, i, f, z, b)
    assert i.tolist() == [3, -3]
    assert f[0] == 4
    assert z.tolist() == [2, 1 + 2j]
    assert b.tolist() == [True, False]


PARTICLE = np.dtype(
    [("mass", np.float32), ("place", np.float64, (3,)), ("charge", np.complex64), ("id", np.int16)]
)


def test_records():
    def kernel(p):
        i = cuda.grid(1)
        p[i].mass = i * 2
        p[i]["id"] = i + 1
        for k in range(3):
            p[i].place[k] = k + p[i].mass
        p[i].charge = 1j
        if i == 1:
            p[2] = p[i]
        p[i].charge += p[i].id
        names = p["mass"]
        names[i] += 100

    found = np.zeros(3, PARTICLE)
    launch(kernel, 1, 2, found)
    assert found["mass"].tolist() == [100, 102, 2]
    assert found["id"].tolist() == [1, 2, 2]
    assert found["place"][1].tolist() == [2, 3, 4]
    assert found["charge"].tolist() == [1 + 1j, 2 + 1j, 1j]


def test_record_argument():
    def kernel(out, r):
        out[0] = r.mass + r.place[2] + r["id"]

    record = np.zeros(1, PARTICLE)
    record[0] = (1.5, (1, 2, 3), 0, 7)
    assert returned(kernel, record[0]) == 1.5 + 3 + 7


CONSTANT = np.arange(6, dtype=np.float32).reshape(2, 3, order="F")
EMPTY = np.zeros(0)
RECORDS = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", np.int32), ("b", np.float64)])


def test_constant_arrays():
    def kernel(out, i):
        out[0] = CONSTANT[1, i] + len(EMPTY) + RECORDS[i].b
        c = cuda.const.array_like(RECORDS)
        out[1] = c[1]["a"]

    assert returned(kernel, 1, count=2).tolist() == [CONSTANT[1, 1] + 4.5, 3]


def test_shared_and_local_memory():
    def kernel(out):
        tile = cuda.shared.array(8, int32)
        mine = cuda.local.array((2, 2), complex64)
        i = cuda.threadIdx.x
        tile[i] = i * i
        mine[1, 1] = i
        cuda.syncthreads()
        out[i] = tile[7 - i] + mine[1, 1].real

    out = np.zeros(8)
    launch(kernel, 1, 8, out)
    assert out.tolist() == [(7 - i) ** 2 + i for i in range(8)]


def test_dynamic_shared_memory():
    def kernel(out):
        dynamic = cuda.shared.array(0, float32)
        tail = dynamic[2:]
        i = cuda.threadIdx.x
        dynamic[i] = i
        cuda.syncthreads()
        out[0] = len(dynamic) + tail.size * 100 + tail[1] + dynamic[-1]

    out = np.zeros(1)
    launch(kernel, 1, 4, out, shared=16)
    assert out[0] == 4 + 200 + 3 + 3


def test_indices_of_every_type():
    def kernel(out, a, i, j, k):
        out[0] = a[i] + a[j] * 10 + a[k] * 100

    a = np.arange(300.0)
    found = returned(kernel, a, np.uint8(255), np.int8(-2), np.uint64(3))
    assert found == 255 + 2980 + 300


def test_bounds_checks_in_debug_mode():
    def kernel(a, i):
        a[i] = 1

    for index, fails in ((2, False), (3, True), (-3, False), (-4, True)):
        module, result = launch(kernel, 1, 1, np.zeros(3), index, options=DEBUG)
        assert (result.error is not None) is fails
        if result.error:
            site = module.errors[result.error[0]]
            assert (site.exception, site.loc.line) == (
                "IndexError",
                kernel.__code__.co_firstlineno + 1,
            )


def test_atomics():
    def kernel(counts, low, high, bits, data):
        i = cuda.grid(1)
        cuda.atomic.add(counts, data[i] % 3, 1)
        cuda.atomic.min(low, 0, data[i])
        cuda.atomic.max(high, (0, 0), data[i])
        cuda.atomic.xor(bits, 0, data[i])
        cuda.atomic.inc(bits, 1, 5)
        cuda.atomic.cas(bits, 2, 0, 9)
        cuda.atomic.compare_and_swap(bits[3:], 0, 4)
        old = cuda.atomic.exch(bits, 4, i)
        cuda.atomic.sub(bits, 5, old)

    data = np.array([4, 1, 7, 3, 8, 6, 5, 2])
    counts, bits = np.zeros(3, np.int32), np.zeros(6, np.int64)
    low, high = np.full(1, 100), np.zeros((1, 1))
    launch(kernel, 1, 8, counts, low, high, bits, data)
    assert counts.tolist() == [2, 3, 3]
    assert (low[0], high[0, 0]) == (1, 8)
    assert bits[0] == np.bitwise_xor.reduce(data)
    assert bits[1:4].tolist() == [2, 9, 4]
    assert bits[4] - bits[5] == sum(range(8))


def test_warp_functions():
    def kernel(out):
        i = cuda.laneid
        full = 0xFFFFFFFF
        out[i, 0] = cuda.shfl_sync(full, i * 2, 5)
        out[i, 1] = cuda.shfl_down_sync(full, i, 1) + cuda.shfl_up_sync(full, i, 1)
        out[i, 2] = cuda.shfl_xor_sync(full, i, 1)
        out[i, 3] = cuda.ballot_sync(full, i % 2 == 0)
        out[i, 4] = cuda.all_sync(full, i < 32) + 2 * cuda.any_sync(full, i > 31)
        out[i, 5] = cuda.popc(cuda.match_any_sync(full, i // 4))
        same, yes = cuda.match_all_sync(full, 7)
        out[i, 6] = (same == full) + yes
        out[i, 7] = cuda.popc(cuda.lanemask_lt()) + cuda.ffs(i) + cuda.clz(i) + cuda.brev(1 << 31)
        cuda.syncwarp()

    out = np.zeros((32, 8), np.int64)
    launch(kernel, 1, 32, out)
    i = np.arange(32)
    assert (out[:, 0] == 10).all()
    assert out[1:31, 1].tolist() == (2 * i[1:31]).tolist()
    assert out[:, 2].tolist() == (i ^ 1).tolist()
    assert (out[:, 3] == 0x55555555).all()
    assert (out[:, 4] == 1).all()
    assert (out[:, 5] == 4).all()
    assert (out[:, 6] == 2).all()
    assert out[4, 7] == 4 + 3 + 29 + 1


def test_captured_device_array():
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__array_interface__

    data = np.arange(3.0)
    foreign = Foreign(data)

    def kernel(out):
        out[0] = foreign[2] + foreign.shape[0]

    text = str(module_of(kernel, np.zeros(1)).kernel.body.ops)
    assert "FromAddress" in text


def test_ufuncs_on_arrays():
    def kernel(a, b, out):
        np.add(a, b, out)
        np.sqrt(out, out)

    a, b, out = np.arange(6.0).reshape(2, 3), np.arange(3.0), np.zeros((2, 3))
    launch(kernel, 1, 1, a, b, out)
    np.testing.assert_array_equal(out, np.sqrt(a + b))


def test_print():
    def kernel(t, x):
        print("thread", cuda.threadIdx.x, x, t)
        print()
        print(cuda.threadIdx, True)

    _, result = launch(kernel, 1, 1, (1, (2.5,)), 7)
    assert result.prints == ["thread 0 7 (1, (2.5,))\n", "\n", "(0, 0, 0) True\n"]


@pytest.mark.parametrize("i", [0, 1, -1])
def test_an_array_without_axes_is_an_index(i):
    def kernel(out, a, i):
        out[0] = a[i, 1]
        out[1] = a[1, i]
        out[2:4] = a[i]
        a[i, i] = 7
        out[4] = a[i][i]

    a = np.arange(4.0).reshape(2, 2)
    wanted, out = np.zeros(5), np.zeros(5)
    kernel(wanted, a.copy(), np.array(i))
    launch(kernel, 1, 1, out, a, np.array(i))
    assert out.tolist() == wanted.tolist()
    with pytest.raises(TypeError, match="integer index is required here, not float64"):
        launch(kernel, 1, 1, out, a, np.array(1.0))


ONE = 1


def test_constant_indices_that_may_have_been_negative():
    """The bounds of what constants compute are wider than the result."""

    def kernel(out, a, t):
        one = 1
        out[0] = a[(one & 3) - 1]
        out[1] = a[(ONE % 2) - 1]
        out[2] = a[(ONE | 0) - 1] + a[(ONE ^ 1) - 1]
        out[3] = a[ONE // 1 - 2] + a[(one >> 1) - 1]
        a[(ONE & 1) - 1] = 9
        out[4] = a[0] + t[(one & 1) - 1] + a[(one & 1) - 2 :][0]

    a, t = np.arange(1.0, 5.0), (3.0, 5.0)
    wanted, out = np.zeros(5), np.zeros(5)
    kernel(wanted, a.copy(), t)
    launch(kernel, 1, 1, out, a, t)
    assert out.tolist() == wanted.tolist()
