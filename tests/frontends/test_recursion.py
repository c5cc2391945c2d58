"""Device functions that call themselves, on every device, against Python."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import device, launch, result_type

from gridlane import cuda
from gridlane.backends import backend
from gridlane.core import argtypes
from gridlane.core.errors import KernelError, TargetError, TypingError, UnsupportedError
from gridlane.launch import current
from gridlane.launch.devices import get_device

T = np.arange(32)
WITHOUT = [name for name in DEVICES if backend(name).stack == 0]
STACKED = pytest.mark.parametrize("name", ["interp", *(d for d in DEVICES if d not in WITHOUT)])


@cuda.jit(device=True)
def fibonacci(n):
    if n > 1:
        return fibonacci(n - 1) + fibonacci(n - 2)
    return n


@cuda.jit(device=True)
def is_even(n):
    return n == 0 or is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    return n != 0 and is_even(n - 1)


@cuda.jit(device=True)
def total(numbers, low, high):
    if high - low == 1:
        return numbers[low]
    middle = (low + high) // np.int32(2)
    return total(numbers, low, np.int32(middle)) + total(numbers, np.int32(middle), high)


@cuda.jit(device=True)
def halves(x, y):
    """The result widens from int64 to float64 in the second attempt."""
    while True:
        if x > 1:
            return np.float32(halves(x - 2, y)) * np.float32(0.5)
        return 3


@cuda.jit(device=True)
def tree(width, depth):
    """Whether it calls itself is known in its loop, behind a break."""
    nodes = 0
    for i in range(width):
        if depth == 0:
            break
        nodes += tree(width - i, depth - 1)
    else:
        nodes += 100
    return nodes + 1


@cuda.jit
def kernel(whole, parts, numbers):
    i = np.int32(cuda.grid(1))
    whole[i, 0] = fibonacci(np.int32(i % 9))
    whole[i, 1] = is_even(i)
    whole[i, 2] = tree(i % 4, i % 3)
    parts[i, 0] = total(numbers, np.int32(0), np.int32(i + 1))
    parts[i, 1] = halves(i % 8, i)


@device
def product(n, stack):
    return stack if n <= 0 else product(n - 1, stack * 2 + 0 * addend(n))


@device
def addend(n):
    return 0 if n <= 0 else 1 + addend(n - 1)


@device
def both(n, stack):
    """It has the stacks of two cycles, and one of them that of the other, beside its own."""
    return product(n, stack) + addend(n)


def test_stacks_have_names_of_their_own():
    def recursive(out, n):
        out[0] = both(n, 5)

    out = np.zeros(1)
    launch(recursive, 1, 1, out, 3)  # it verifies the module
    assert out[0] == 5 * 2**3 + 3


@cache
def _fibonacci(n: int) -> int:
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


def _tree(width: int, depth: int) -> int:
    if depth == 0:
        return 1 if width else 101
    return 101 + sum(_tree(width - i, depth - 1) for i in range(width))


@STACKED
def test_every_device(name):
    current.choose(get_device(name))
    whole, parts = np.zeros((32, 3), np.int32), np.zeros((32, 2), np.float32)
    numbers = np.arange(32, dtype=np.float32)
    kernel[1, 32](whole, parts, numbers)
    wanted = [(_fibonacci(i % 9), i % 2 == 0, _tree(i % 4, i % 3)) for i in range(32)]
    np.testing.assert_array_equal(whole, wanted)
    np.testing.assert_array_equal(parts[:, 0], np.cumsum(numbers))
    np.testing.assert_array_equal(parts[:, 1], 3 * 0.5 ** (T % 8 // 2))


@cuda.jit(device=True)
def endless(n):
    return 0 if n == 2**30 else 1 + endless(n + 1)


@cuda.jit
def falls(out):
    i = cuda.grid(1)
    out[i] = endless(i) if i == 3 else i


@STACKED
def test_a_full_stack_ends_the_thread_alone(name):
    current.choose(get_device(name))
    out = np.zeros(32, np.int64)
    with pytest.raises(KernelError, match=r"the stack of a thread is full(.|\n)*endless\(n \+ 1\)"):
        falls[1, 32](out)
        cuda.synchronize()


@pytest.mark.parametrize("name", WITHOUT)
def test_a_device_without_a_stack_says_so(name):
    current.choose(get_device(name))
    with pytest.raises(TargetError, match=r"endless\w* calls itself: WebGPU devices have no stack"):
        falls[1, 32](np.zeros(32, np.int64))


def test_types_are_a_fixpoint():
    kinds = argtypes.int64, argtypes.int64
    assert result_type(halves.py_func, *kinds) == argtypes.float64
    assert result_type(fibonacci.py_func, argtypes.int32) == argtypes.int64


@device
def runaway(n):
    return runaway(n)


@device
def ping(n):
    return pong(n)


@device
def pong(n):
    return ping(n)


@device
def grows(n):
    if n <= 0:
        return None
    return n, grows(n - 1)


@device
def changes(t):
    if len(t) < 0:
        return 0
    return changes((t, 1))


@device
def has_an_array(n):
    a = cuda.local.array(4, np.int32)
    a[n] = n
    return a[n] if n == 0 else has_an_array(n - 1)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (runaway, TypingError, "cannot type infer runaway recursion"),
        (ping, TypingError, "cannot type infer runaway recursion"),
        (grows, TypingError, "Return type of recursive function does not converge"),
        (has_an_array, UnsupportedError, "its local array would be the same one in all"),
    ],
)
def test_refused(function, kind, words):
    def kernel(out):
        function(out[0])

    with pytest.raises(kind, match=words):
        launch(kernel, 1, 1, np.zeros(1, np.int64))


def test_arguments_of_ever_new_types():
    def kernel(out):
        changes((1, 2))

    with pytest.raises(TypingError, match="arguments of ever new types"):
        launch(kernel, 1, 1, np.zeros(1, np.int64))


def test_one_cycle_for_arguments_of_all_signs():
    """Bounds of arguments make no instances of their own, of which each cycle would have a
    stack."""

    @device
    def walk(n, a, b):
        if n <= 0:
            return a - b
        return walk(n - 1, b | 5, 0) + walk(n - 2, 3, a - n) - walk(n // 2, n & 7, b)

    def kernel(out):
        out[0] = walk(5, 1, 2)

    out = np.zeros(1, np.int64)
    module, _ = launch(kernel, 1, 1, out)

    def plain(n: int, a: int, b: int) -> int:
        if n <= 0:
            return a - b
        return plain(n - 1, b | 5, 0) + plain(n - 2, 3, a - n) - plain(n // 2, n & 7, b)

    assert out[0] == plain(5, 1, 2)
    assert module.stack_bytes == 16384
