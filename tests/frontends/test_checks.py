"""What was taken without effect, or with another meaning than Python's and numpy's, is refused, and
checked in debug mode where it is known at run time alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, launch

from gridlane.core.errors import ConstantError, TypingError, UnsupportedError


def mask_of_a_constant(a, n, out):
    out[0] = a[True]


def mask_of_a_test(a, n, out):
    out[0] = a[a[0] > 1]


def mask_in_a_tuple(a, n, out):
    b = a.reshape(2, 3)
    out[0] = b[0, a[0] > 1]


def stored_by_a_mask(a, n, out):
    out[a[0] > 1] = 3


def added_by_a_mask(a, n, out):
    cuda.atomic.add(out, a[0] > 1, 3)


def order_of_ravel(a, n, out):
    out[0] = a.reshape(2, 3).ravel("F")[1]


def reshaped(a, n, out):
    own = cuda.local.array(6, np.float32)
    out[0] = own.reshape(4, 2)[0, 0]


def reshaped_with_an_open_extent(a, n, out):
    own = cuda.local.array(6, np.float32)
    out[0] = own.reshape(4, -1)[0, 0]


REFUSED = [
    (mask_of_a_constant, TypingError, "a bool is no index of an array: numpy takes it for a mask"),
    (mask_of_a_test, TypingError, r"write a\[int\(x\)\]"),
    (mask_in_a_tuple, TypingError, "a bool is no index"),
    (stored_by_a_mask, TypingError, "a bool is no index"),
    (added_by_a_mask, TypingError, "a bool is no index"),
    (order_of_ravel, UnsupportedError, r"ravel\(\) takes no order in a kernel"),
    (reshaped, ConstantError, r"the number of elements stays the same \(8, not 6\)"),
    (reshaped_with_an_open_extent, ConstantError, r"stays the same \(4, not 6\)"),
]


@pytest.mark.parametrize(("function", "kind", "words"), REFUSED)
def test_refused_when_compiled(function, kind, words):
    with pytest.raises(kind, match=words):
        launch(function, 1, 1, np.arange(6.0), 2, np.zeros(6))


def run_time(a, n, out):
    if n == 0:
        out[0] = a.reshape(n + 4, 2)[0, 0]
    elif n == 1:
        out[0] = a.reshape(n + 3, -1)[0, 0]
    elif n == 3:
        out[0] = range(n)[n]
    elif n == 4:
        out[0] = range(n)[-5]
    else:
        out[0] = a.reshape(3, n - 3)[1, 1] + a.reshape(-1, 2)[1, 0] + range(0, n, 2)[-1]
        out[1] = a.view(np.complex128)[1].imag + range(n)[n - 1] + range(n, 0, -1)[-n]


FAULTS = {
    0: ("ValueError", "reshape(): the number of elements stays the same"),
    1: ("ValueError", "reshape(): the number of elements stays the same"),
    3: ("IndexError", "range object index out of range"),
    4: ("IndexError", "range object index out of range"),
}


def test_checked_in_debug_mode():
    for case, want in FAULTS.items():
        module, result = launch(run_time, 1, 1, np.arange(6.0), case, np.zeros(6), options=DEBUG)
        assert result.error is not None, case
        site = module.errors[result.error[0]]
        assert (site.exception, site.message) == want
    for options in ({}, {"options": DEBUG}):
        found, wanted = np.zeros(6), np.zeros(6)
        _, result = launch(run_time, 1, 1, np.arange(6.0), 5, found, **options)
        run_time(np.arange(6.0), 5, wanted)
        assert result.error is None and found.tolist() == wanted.tolist()
