"""The IR of small kernels."""

from __future__ import annotations

import math

from tests.frontends.running import cuda, device, module_of, text_of

from gridlane.core.argtypes import boolean, float32, float64, int32, int64, none
from gridlane.core.options import KernelOptions


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_flat_parameters():
    def kernel(a, z, t, n):
        pass

    from gridlane.core.argtypes import TupleType, complex64

    pair = TupleType((int32, float32[:, :]))
    params = module_of(kernel, float32[:, ::1], complex64, pair, none).kernel.params
    assert [(param.argument, param.path) for param in params] == [
        (0, ("data",)),
        (0, ("shape", 0)),
        (0, ("shape", 1)),
        (0, ("strides", 0)),
        (0, ("strides", 1)),
        (1, ("real",)),
        (1, ("imag",)),
        (2, (0,)),
        (2, (1, "data")),
        (2, (1, "shape", 0)),
        (2, (1, "shape", 1)),
        (2, (1, "strides", 0)),
        (2, (1, "strides", 1)),
    ]


def test_axpy():
    def axpy(y, x, a):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    text = text_of(axpy, float32[::1], float32[::1], float32)
    body = text[text.index("if ") :]
    assert lines(body)[1:7] == [
        "%9: ptr<f32, global> = offset %x, %7",
        "%10: f32 = load %9",
        "%11: f32 = mul %a, %10 [fast=contract]",
        "%12: ptr<f32, global> = offset %y, %7",
        "%13: f32 = load %12",
        "%14: f32 = add %11, %13 [fast=contract]",
    ]
    assert "select" not in text  # cuda.grid is not negative


def test_fast_math_flags():
    def kernel(x):
        x[0] = math.sin(x[0]) * x[1]

    text = text_of(kernel, float32[::1], options=KernelOptions(fastmath=True))
    assert "sin %2 [fast=nnan|ninf" in text or "[fast=fast]" in text
    plain = text_of(kernel, float32[::1], options=KernelOptions(fma=False))
    assert "fast=" not in plain


def test_c_arrays_read_no_strides():
    def kernel(a):
        i, j = cuda.grid(2)
        a[i, j] = 0

    text = text_of(kernel, float32[:, ::1])
    assert "mul" in text
    assert "%a_strides" not in text[text.index("{") :]
    strided = text_of(kernel, float32[:, :])
    assert "%a_strides1" in strided[strided.index("{") :]
    assert "recast" in strided


def test_negative_indices_wrap_only_where_they_can_be():
    def stencil(a):
        i = cuda.grid(1)
        if 1 <= i < a.size - 1:
            a[i] = a[i - 1] + a[i + 1]

    def unknown(a, i):
        a[i - 1] = a[-1]

    assert "select" not in text_of(stencil, float32[::1])
    assert text_of(unknown, float32[::1], int64).count("select") == 1


def test_early_return_refines():
    def kernel(a):
        i = cuda.grid(1)
        if i < 1 or i >= a.size:
            return
        a[i - 1] = 0

    assert "select" not in text_of(kernel, float32[::1])


def test_loop_counters_are_not_negative():
    def kernel(a, n):
        i = cuda.grid(1)
        while i < n:
            a[i] = 1
            i += cuda.gridsize(1)
        for k in range(2, a.size, 3):
            a[k - 2] = 2
        for k in range(2, n):
            a[k - 2] = 2

    assert "select" not in text_of(kernel, float32[::1], int64)


def test_single_assignment_makes_no_variables():
    def kernel(a):
        x = a[0]
        y = x * 2
        if y > 0:
            z = y + x
            a[1] = z

    assert "var " not in text_of(kernel, float64[::1])


def test_constant_conditions_fold():
    flag = False

    def kernel(a, b):
        if flag:
            a.nonsense = 1
        elif b is None:
            a[0] = 1
        else:
            a[0] = b.nonsense

    text = text_of(kernel, float64[::1], none)
    assert "if" not in text


def test_negated_constant_conditions_fold():
    flag = True

    def kernel(a, b):
        if not flag:
            a.nonsense = 1
        if b is not None:
            a[0] = b.nonsense
        if b is not None and a[0] > 1:
            a[0] = b.nonsense
        if not (b is None or a[0] > 1):
            a[0] = b.nonsense

    text = text_of(kernel, float64[::1], none)
    assert "store" not in text


def test_dead_code_is_dropped():
    def kernel(a):
        a[0] = 1
        return
        a.nonsense = 2

    assert lines(text_of(kernel, float64[::1]))[-2] == "return"


def test_powers_of_two_divide_by_shifts():
    def kernel(a):
        a[0] = cuda.threadIdx.x // 32
        a[1] = cuda.threadIdx.x % 32

    text = text_of(kernel, int64[::1])
    assert "shr" in text
    assert "and" in text
    assert "div" not in text
    assert "rem" not in text


def test_pure_conditions_do_not_branch():
    def kernel(a, n):
        i = cuda.grid(1)
        if i < n and i > 2 and i != 7:
            a[i] = 1

    assert text_of(kernel, float64[::1], int64).count("if ") == 1


def test_loads_in_conditions_are_guarded():
    def kernel(a, n):
        i = cuda.grid(1)
        if i < n and a[i] > 0:
            a[i] = 1

    text = text_of(kernel, float64[::1], int64)
    assert text.count("if ") == 2
    assert text.index("if ") < text.index("load")


def test_device_functions_compile_once_for_a_signature():
    @device
    def twice(x):
        return x * 2

    def kernel(a, b):
        a[0] = twice(a[0]) + twice(a[1])
        b[0] = twice(b[0])

    module = module_of(kernel, float64[::1], int32[::1])
    assert sorted(module.functions) == ["kernel", "twice", "twice_1"]


def test_every_op_has_a_place():
    def kernel(a):
        for i in range(a.size):
            a[i] = math.sqrt(a[i])

    module = module_of(kernel, float64[::1])
    for op in module.kernel.body.walk():
        assert op.loc.file.endswith("test_text.py"), op
        assert op.loc.function == "kernel"
        assert op.loc.column > 0
    (sqrt,) = [op for op in module.kernel.body.walk() if op.name == "sqrt"]
    assert sqrt.loc.end_column - sqrt.loc.column == len("math.sqrt(a[i])")


def test_debug_checks():
    def kernel(a, i):
        a[i] = a[0] / a[1]

    from tests.frontends.running import DEBUG

    module = module_of(kernel, float64[::1], int64, options=DEBUG)
    assert [site.exception for site in module.errors] == [
        "IndexError",
        "IndexError",
        "ZeroDivisionError",
        "IndexError",
    ]
    assert not module_of(kernel, float64[::1], int64).errors


def test_shared_and_constant_globals():
    import numpy as np

    table = np.arange(4, dtype=np.float32)

    def kernel(a):
        tile = cuda.shared.array((4, 8), boolean)
        other = cuda.const.array_like(table)
        tile[0, 1] = True
        a[0] = other[2] + table[3] + tile[1, 1]

    module = module_of(kernel, float32[::1])
    shared, constant = module.globals["shared"], module.globals["constant"]
    assert shared.count == 32
    assert str(shared.element) == "b1"
    assert constant.data == table.tobytes()
