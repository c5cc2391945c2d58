"""Operators and functions of numpy on whole arrays: each kernel runs in numpy as well."""

from __future__ import annotations

import operator
import types

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, device, launch, module_of, returned

from gridlane.core.errors import CompileError, ConstantError, TypingError
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import memory

TYPES = ["i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8"]
A = np.arange(12.0).reshape(3, 4) + 1
ROW, COLUMN = np.array([1.0, -2, 3, -4]), np.array([[0.5], [2], [-3]])


def same(kernel, *args, options=None, rtol=0.0):
    """Compare all arguments after a kernel with those after numpy ran it."""
    ours = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    wanted = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    launch(kernel, 1, 1, *ours, **({} if options is None else {"options": options}))
    plain = {n: getattr(f, "py_func", f) for n, f in kernel.__globals__.items()}
    with np.errstate(all="ignore"):
        types.FunctionType(kernel.__code__, plain)(*wanted)
    for one, two in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=rtol)


def _sum(out, a, b, c):
    out[:] = a + b * 2 - c / 4


def _chain(out, a, b, c):
    out[:] = (-a + abs(b)) * (c > 0) + (a == b) + (a != 5)


def _functions(out, a, b, c):
    out[:] = np.sqrt(np.abs(a)) + np.maximum(b, c) + np.floor(a / 3)


def _named(out, a, b, c):
    x = a * b
    y = x + c
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j] - y[i][j] + y[-1, j]


def _rows(out, a, b, c):
    for row, sums in zip(a + b, out):
        sums[:] = row + c[0]


def _views(out, a, b, c):
    x = a + b
    out[1:, ::2] = x[1:, ::2] + x.T[1, 0]
    out[0] = x[2, ::-1]
    out[:, 1] = x[:, 1] * 2
    out[-1, -1] = x.shape[0] * 10 + x.ndim + x.size + len(x)


def _new_axis(out, a, b, c):
    x = b * 2
    out[:] = x[None, :] + c


def _reduced(out, a, b, c):
    out[0, 0] = (a * b).sum() + np.sum(a + c) + (a + c).mean() + np.max(b - c)
    out[0, 1] = (a > b).any() + np.all(a > b) + (a * c).argmin()


def _into_views(out, a, b, c):
    out += a
    out[1:] -= b
    out[:, 2] *= 3
    out[0, 0] += 1
    out.T[1] += 2


def _own(out, a, b, c):
    out[:] = a
    out[:] = out + b * out
    out[1:] = out[:-1] + 1


def _moved(out, a, b, c):
    out[:] = a
    out[:, 1:] = out[:, :-1] * 2


@pytest.mark.parametrize(
    "kernel",
    [
        *(_sum, _chain, _functions, _named, _rows, _views, _new_axis, _reduced, _into_views, _own),
        _moved,
    ],
)
def test_as_numpy(kernel):
    same(kernel, np.zeros((3, 4)), A, ROW, COLUMN, rtol=1e-15)
    strided = np.asfortranarray(A), np.repeat(ROW, 2)[::2], COLUMN
    same(kernel, np.zeros((3, 4)), *strided, rtol=1e-15)


OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.and_, operator.or_, operator.xor),
    *(operator.eq, operator.lt, operator.ge),
]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("left", TYPES)
def test_result_types(op, left):
    """The elements have numpy's types, and its values."""
    for right in TYPES:
        a = np.array([7, 3, 100, 1, 0]).astype(left)
        b = np.array([2, 3, 9, 5, 1]).astype(right)
        try:
            with np.errstate(all="ignore"):
                wanted = op(a, b)
        except TypeError:
            continue
        if op in (operator.floordiv, operator.mod) and "c" in left + right:
            continue
        if op in (operator.and_, operator.or_, operator.xor) and wanted.dtype.kind not in "iub":
            continue

        def kernel(out, types, a, b, wanted):
            x = op(a, b)
            types[0] = x.dtype == wanted.dtype
            for i in range(len(x)):
                out[i] = x[i]

        out, types = np.zeros_like(wanted), np.zeros(1, np.bool_)
        launch(kernel, 1, 1, out, types, a, b, wanted)
        assert types[0], (left, right, wanted.dtype)
        np.testing.assert_allclose(out, wanted, rtol=1e-3 if wanted.dtype == "f2" else 1e-6)


@pytest.mark.parametrize("left", ["f2", "f4", "f8", "c8", "c16"])
def test_integers_beside_floats(left):
    """They take the type of the floats, as in numpy, in numba whatever their own is."""

    def kernel(out, types, a, n):
        x = 2 * a + 1
        types[0] = (a + n).dtype == a.dtype and (a**2).dtype == a.dtype and (a / 3).dtype == a.dtype
        types[1] = (a == 1).dtype == types.dtype and x.dtype == a.dtype
        a += n
        for i in range(len(x)):
            out[i] = x[i] + a[i]

    a = np.array([0, 0.5, -3]).astype(left)
    out, types, wanted = np.zeros(3, left), np.zeros(2, np.bool_), 2 * a + 1 + a + 7
    launch(kernel, 1, 1, out, types, a, 7)
    assert types.all()
    np.testing.assert_array_equal(out, wanted)


def _bounded(out, a, b, c):
    held = np.zeros(4)
    held[:] = b
    x = held + 1
    held[2] = 99
    out[0] = x
    x[1] = 7
    x += 1
    out[1] = x
    out[2] = held


def _loop_carried(out, a, b, c):
    total = np.zeros(4)
    for row in a:
        total += row + 1
    out[1] = total


def _either(out, a, b, c):
    row = np.ones(4)
    x = row + 1 if a[0, 0] > 0 else row - 1
    if a[0, 1] > 0:
        x = x * 2
    out[0] = x


@device
def change(held):
    held[:] = held + 1
    return int(held[0]) % 3


def _read_twice(out, a, b, c):
    held = np.ones(4)
    x = held + 1
    out[0, 0] = x[0] + (x * 2)[1] + x.sum()
    held[:] = 5
    out[0, 1] = x[0]


def _kept_by_a_walrus(out, a, b, c):
    held = np.ones(4)
    out[0, 0] = (x := held * 3)[1]
    held[1] = 7
    out[0, 1] = x[1]


def _kept_by_two_targets(out, a, b, c):
    held = np.ones(4)
    out[0] = x = held - 4
    held[1] = 7
    out[1] = x


def _kept_in_a_tuple(out, a, b, c):
    held = np.ones(4)
    pair = (held + 2, 1)
    out[0, 0] = pair[0][1]
    held[1] = 7
    out[0, 1] = pair[0][1]


def _kept_by_a_function(out, a, b, c):
    held = np.ones(4)

    def at(x, i):
        return x[i]

    total = (held * 2).sum
    x = held + 2
    out[0, 0] = at(x, 1) + total()
    held[1] = 7
    out[0, 1] = at(x, 1) + total()


def _changed_while_iterated(out, a, b, c):
    held = np.ones(4)
    at = 0
    for value in held + 1:
        held[:] = 9
        out[0, at] = value
        at += 1


def _changed_between(out, a, b, c):
    held = np.ones(4)
    out[0] = (held + 1) * change(held)
    out[1, change(held)] = (held * 2)[change(held)]


@pytest.mark.parametrize(
    "kernel",
    [
        *(_bounded, _loop_carried, _either, _read_twice, _kept_by_a_walrus, _kept_by_two_targets),
        *(_kept_in_a_tuple, _kept_by_a_function, _changed_while_iterated, _changed_between),
    ],
)
def test_memory_of_known_size(kernel):
    """What is changed, or read after its operands change, has memory where its size is known."""
    same(kernel, np.zeros((3, 4)), A, ROW, COLUMN)


def test_no_memory():
    """An expression of arguments that the kernel does not change takes none."""

    def kernel(out, a, b):
        x = a + b
        for i in range(out.shape[0]):
            out[i] = x[i]

    ops = [*module_of(kernel, A[0], A[1], A[2]).kernel.body.walk()]
    assert not any(isinstance(op, memory.LocalArray) for op in ops)


def test_no_check_of_arrays_that_are_apart():
    """Arrays of the kernel's own, of other memory and views of one array raise nothing."""

    def doubles(out, a):
        out[:] = a * 2

    def kernel(out, a):
        held, other = np.ones(4), np.ones(4)
        held[:] = a
        a[1:] = a[:-1]
        other[:] = held
        shared = cuda.shared.array(4, np.float64)
        shared[:] = copied(other, held)
        out[0] = shared[1]

    @device
    def copied(target, source):
        target[:] = source
        return target

    module = module_of(kernel, ROW, ROW)
    assert not [each for each in module.errors if "overlaps" in each.message]
    checked = module_of(doubles, ROW, ROW)
    assert [each for each in checked.errors if "overlaps" in each.message]


def _changed(out, a, b, c):
    x = a + b
    a[0, 0] = 9
    out[0, 0] = x[0, 0]


@device
def writer(a):
    a[0, 0] = 9


def _changed_by_a_call(out, a, b, c):
    x = a + b
    writer(a)
    out[0, 0] = x[0, 0]


def _changed_by_its_reader(out, a, b, c):
    x = a + b
    for i in range(3):
        a[i, 0] = x[i, 1]


def _changed_through_a_view(out, a, b, c):
    x = a + b
    view = a[1:] if b[0] > 0 else a[:2]
    view[0, 0] = 5
    out[0, 0] = x[0, 0]


def _stored_to(out, a, b, c):
    x = a + b
    x[0, 0] = 1


def _passed_on(out, a, b, c):
    x = a + b
    x.fill(0)


def _loop_carried_rows(out, a, b, c):
    total = a[0] * 0
    for row in a:
        total = total + row
    out[1] = total


def _swapped(out, a, b, c):
    x, y = a + 1, a * 2
    for _ in range(3):
        x, y = y, x
    out[:] = x
    out[1] += y[0]


@pytest.mark.parametrize(
    "kernel",
    [
        *(_changed, _changed_by_a_call, _changed_by_its_reader, _changed_through_a_view),
        *(_stored_to, _passed_on, _loop_carried_rows, _swapped),
    ],
)
def test_memory_of_unknown_size(kernel):
    same(kernel, np.zeros((3, 4)), A, ROW, COLUMN)


def test_too_many_elements():
    small = KernelOptions(stack=256)

    def kernel(out, a):
        x = a + 1
        a[0] = 9
        out[0] = x[0]

    for count, wrong in (
        (32, None),
        (33, "an array of more than 32 elements in a thread's memory"),
    ):
        module, result = launch(kernel, 1, 1, np.zeros(1), np.ones(count), options=small)
        assert module.stack is not None and module.stack_bytes == 256
        if wrong is None:
            assert result.error is None
        else:
            assert result.error is not None
            assert wrong in module.errors[result.error[0]].message


@device
def doubled(x):
    return x * 2


@device
def element(x, i):
    return x[i] + x[-1]


def test_through_functions():
    def kernel(out, a, b):
        x = doubled(a + b)
        out[0] = element(x, 1)
        out[1] = element(a, 1)

    out = np.zeros(2)
    launch(kernel, 1, 1, out, ROW, ROW)
    assert out.tolist() == [-8 - 16, -2 - 4]


def test_functions_that_change_what_is_read():
    @device
    def changed(x, a):
        a[0] = 100
        return x[0]

    def kernel(out):
        a = np.ones(3)
        out[0] = changed(a + 1, a)
        out[1] = a[0]

    assert returned(kernel, count=2).tolist() == [2, 100]


def error_of(kernel, *args):
    module, result = launch(kernel, 1, 1, *args, options=DEBUG)
    return module.errors[result.error[0]].message


def test_shapes_that_do_not_broadcast():
    def constant(out):
        out[0] = (np.ones(3) + np.ones(4))[0]

    with pytest.raises(TypingError, match="axes of 3 and 4 elements"):
        module_of(constant, np.zeros(1))

    def kernel(out, a, b):
        out[0] = (a + b)[0]

    message = error_of(kernel, np.zeros(1), np.ones(3), np.ones(4))
    assert message == "arrays do not broadcast to one shape"


def test_index_out_of_bounds():
    def kernel(out, a):
        out[0] = (a + 1)[3]

    assert error_of(kernel, np.zeros(1), np.ones(3)) == "index is out of bounds: axis 0"


def _float_to_int(a, b):
    a += b * 0.5


def _tuples(a, b):
    a[:] = a + (1, 2, 3)


@pytest.mark.parametrize(
    ("kernel", "told"), [(_float_to_int, "does not convert back"), (_tuples, "index other arrays")]
)
def test_refused(kernel, told):
    with pytest.raises(CompileError, match=told):
        module_of(kernel, np.zeros(3, np.int32), np.zeros(3, np.int32))


def _made(out, a, b, c):
    out[0] = np.ones(4) + np.full(4, 2.5)
    out[1] = np.zeros_like(b * 0 + np.ones(4)) + np.full_like(np.ones(4), 3)
    whole = np.zeros((2, 4), dtype=np.int32)
    whole[1] = 7
    out[2] = whole[1] + np.ones(4, np.float32)


def test_creation():
    same(_made, np.zeros((3, 4)), A, ROW, COLUMN)

    def kernel(out, n):
        made = np.full((n, 2), 2.5)
        made[n - 1] += np.ones_like(made)[0]
        kept = made.copy()
        made[0, 0] = 9
        out[0] = kept[0, 0]
        out[1] = kept[n - 1, 1] + np.zeros(n).sum()

    assert returned(kernel, 3, count=2).tolist() == [2.5, 3.5]
    assert error_of(kernel, np.zeros(2), -1) == "negative dimensions are not allowed"

    def negative(out):
        out[:] = np.zeros(-1)

    with pytest.raises(ConstantError, match="negative dimensions"):
        module_of(negative, np.zeros(3))


CONSTANT = np.array([1.0, 2.0, 3.0])


def test_captured_arrays():
    def kernel(out):
        out[:] = CONSTANT * 2 + 1

    assert returned(kernel, count=3).tolist() == [3, 5, 7]


@pytest.mark.parametrize("left", ["i1", "u1", "i2", "u2", "i4", "u8", "f4", "c8"])
@pytest.mark.parametrize("right", ["i1", "u2", "i4", "f4"])
def test_quotients_of_arrays_have_numpys_types(left, right):
    """Those of two numbers in a kernel have numba's, which tests/peers compares."""

    def kernel(types, wanted, a, b):
        types[0] = (a / b).dtype == wanted.dtype
        types[1] = np.true_divide(a, b).dtype == wanted.dtype

    a, b, types = np.ones(3, left), np.ones(3, right), np.zeros(2, np.bool_)
    launch(kernel, 1, 1, types, a / b, a, b)
    assert types.all()
