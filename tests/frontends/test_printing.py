"""f-strings and arrays in ``print``, on every device, as Python formats them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import launch

from gridlane import cuda
from gridlane.core.errors import TypingError
from gridlane.launch import current
from gridlane.launch.devices import get_device

NAME = "gridlane"
X, N, Z = np.float32(2.71828), -42, np.complex64(0.1 - 2j)


@cuda.jit
def kernel(x, n):
    width = "8"
    print(f"{NAME}: x = {x:.3f}, {n:+5d}|{n:<6}|{n:x}, {x:>{width}.1e} {(n, 1)} {n == 3}")
    print(f"plain {n}", f"{NAME!r:>12}", n)
    own = cuda.local.array((2, 2), np.int32)
    own[0, 0] = own[1, 1] = n
    own[0, 1] = own[1, 0] = 1
    print("own", own, "end")
    print(f"{n!s:6}|{x!r:>10}|{n == 3!s:6}|{n!s:.2}|{x:{10}.{2}f}|{x:{'+'}{9}.1f}")
    z = cuda.local.array(2, np.complex64)
    z[0], z[1] = 0.1 - 2j, 1j
    print(z[0], (z[1], n), z, f"{z[0]} {-z[1]:.1f} {z[0]:*>+14.2e}")


@cuda.jit
def of_any_length(numbers, n):
    print("numbers", numbers[:n], n)


WANTED = [
    f"{NAME}: x = {X:.3f}, {N:+5d}|{N:<6}|{N:x}, {X:>8.1e} {(N, 1)} False",
    f"plain {N} {NAME!r:>12} {N}",
    f"own [[{N} 1] [1 {N}]] end",
    f"{N!s:6}|{X!s:>10}|{N == 3!s:6}|{N!s:.2}|{X:{10}.{2}f}|{X:{'+'}{9}.1f}",
    f"{Z!s} {(1j, N)} [{Z!s} 1j] {Z!s} {-1j:.1f} {Z:*>+14.2e}",
]


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_every_device(name, capfd):
    current.choose(get_device(name))
    kernel[1, 1](X, N)
    cuda.synchronize()
    assert capfd.readouterr().out.splitlines() == WANTED


def saying(number):
    @cuda.jit
    def say():
        print("kernel", number)

    return say


@cuda.jit
def in_turns(x):
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    if i == 1:
        print("first")
    grid.sync()
    x[i] += 1
    grid.sync()
    if i == 0:
        print("then", x[0], x[1])


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_kernels_are_in_order(name, capfd):
    """So are the parts of a kernel that barriers of the grid split."""
    current.choose(get_device(name))
    kernels = [saying(number) for number in range(8)]
    order = [3, 0, 7, 1, 6, 2, 5, 4]
    for number in order:
        kernels[number][1, 1]()
    in_turns[2, 1](cuda.to_device(np.array([4, 8], np.int32)))
    cuda.synchronize()
    lines = [f"kernel {number}" for number in order] + ["first", "then 5 9"]
    assert capfd.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("name", ["interp", "cpu"])
def test_arrays_of_any_length(name, capfd):
    current.choose(get_device(name))
    numbers = np.arange(100, dtype=np.int32)
    for n in (0, 1, 6, 100):
        of_any_length[1, 1](numbers, n)
    cuda.synchronize()
    whole = ["[]", "[0]", "[0 1 2 3 4 5]", "[0 1 2 ... 97 98 99]"]
    lines = [f"numbers {text} {n}" for text, n in zip(whole, (0, 1, 6, 100))]
    assert capfd.readouterr().out.splitlines() == lines


def _wrong(out):
    print(f"{out[0]:d}")


def _as_message(out):
    assert out[0] > 0, f"{out[0]} is negative"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_wrong, "format 'd' of float64: Unknown format code 'd'"),
        (_as_message, "the message of an exception must be constant"),
    ],
)
def test_refused(function, words):
    with pytest.raises(Exception, match=words):
        launch(function, 1, 1, np.zeros(4))


def test_arrays_of_unknown_shapes():
    def kernel(out):
        print(out)

    with pytest.raises(TypingError, match="print its rows in a loop"):
        launch(kernel, 1, 1, np.zeros((2, 2)))
