"""The option by which functions are gridlane's own where the device has a library."""

from __future__ import annotations

import math as host

import numpy as np
import pytest

from gridlane import compiler
from gridlane.conformance.kernels import elementwise
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.ops import math
from gridlane.ir.values import Module
from gridlane.launch.devices import get_device


def module(op: type, dtype: DType) -> Module:
    return elementwise([dtype], lambda b, x: [b.unary(op, x)], 64)[0]


@pytest.mark.parametrize("op", (math.Sin, math.Erf, math.Lgamma))
def test_no_library_is_called_on_the_cpu(op):
    target = get_device("cpu").target((64, 1, 1))
    for dtype in (f32, f64):
        own = compiler.generate(module(op, dtype), target, KernelOptions(own_functions=True))
        library = compiler.generate(module(op, dtype), target, KernelOptions())
        assert not own.symbols
        assert library.symbols


def test_no_library_is_called_on_nvidia_gpus():
    options = KernelOptions(own_functions=True)
    text = compiler.generate(module(math.Sin, f32), Target("cuda"), options).code.decode()
    assert "__nv_" not in text and "sin.approx" not in text


def test_single_precision_lgamma_is_computed_in_double():
    """Near its zeros between negative integers, where one of single precision has few bits."""

    x = np.array([-2.457024738220801, -2.7476827, -3.1435809, 1.9999999, 2.0000002, -15.1], "f4")
    x = np.resize(x, 64)
    result = run_on(
        get_device("cpu"),
        module(math.Lgamma, f32),
        (1, 1, 1),
        (64, 1, 1),
        [x, np.zeros(64, "f4")],
        options=KernelOptions(own_functions=True),
    )

    exact = np.array([host.lgamma(each) for each in x.tolist()])
    error = np.abs(result.arrays[1] - exact) / np.spacing(np.abs(exact.astype("f4")))
    assert error.max() <= 1.0
