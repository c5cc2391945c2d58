"""Reductions of arrays, written in the dialect: each thread that calls one reads all elements, from
the first to the last in C order, as numba does.

``zero`` and ``one`` are numbers of the type of the result.
"""

# These are read as kernels: what numba's typing needs is spelled out.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
from __future__ import annotations

import operator
from typing import Any

from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.stubs import Stub

element_of = Stub("element_of", "array, index", "An element by its place in C order.")

_EMPTY = "zero-size array to reduction operation not possible"


def total(a: Any, zero: Any) -> Any:
    """The sum."""
    c = zero
    for i in range(a.size):
        c += element_of(a, i)
    return c


def product(a: Any, one: Any) -> Any:
    """The product."""
    c = one
    for i in range(a.size):
        c *= element_of(a, i)
    return c


def every(a: Any) -> Any:
    """Whether all elements are true."""
    for i in range(a.size):  # noqa: SIM110  # the dialect has no generators
        if not element_of(a, i):
            return False
    return True


def some(a: Any) -> Any:
    """Whether an element is true."""
    for i in range(a.size):  # noqa: SIM110  # the dialect has no generators
        if element_of(a, i):
            return True
    return False


def count(a: Any) -> Any:
    """How many elements are true."""
    trues = 0
    for i in range(a.size):
        if element_of(a, i):
            trues += 1
    return trues


def mean(a: Any, zero: Any) -> Any:
    """The mean."""
    c = zero
    for i in range(a.size):
        c += element_of(a, i)
    return c / a.size


def variance(a: Any, middle: Any) -> Any:
    """The mean of the squares of the distances from the mean."""
    c = 0.0
    for i in range(a.size):
        c += (element_of(a, i) - middle) ** 2
    return c / a.size


def variance_of_complex(a: Any, middle: Any) -> Any:
    """The variance of complex numbers."""
    c = 0.0
    for i in range(a.size):
        distance = element_of(a, i) - middle
        c += distance.real * distance.real + distance.imag * distance.imag
    return c / a.size


def _extreme(better: Any) -> Any:
    def extreme(a: Any) -> Any:
        if a.size == 0:
            raise ValueError(_EMPTY)
        best = element_of(a, 0)
        for i in range(1, a.size):
            x = element_of(a, i)
            if better(x, best) or x != x:
                best = x
            if best != best:
                return best
        return best

    return extreme


smallest, largest = _extreme(operator.lt), _extreme(operator.gt)
"""The minimum and the maximum; a NaN where there is one."""


def _place_of(better: Any) -> Any:
    def place_of(a: Any) -> Any:
        if a.size == 0:
            raise ValueError(_EMPTY)
        best, position = element_of(a, 0), 0
        for i in range(1, a.size):
            x = element_of(a, i)
            if best == best and (better(x, best) or x != x):
                best, position = x, i
        return position

    return place_of


place_of_smallest, place_of_largest = _place_of(operator.lt), _place_of(operator.gt)
"""The place of the first minimum or maximum, or of the first NaN."""


# ---- without NaNs


def total_of_numbers(a: Any, zero: Any) -> Any:
    """The sum of all but NaNs."""
    c = zero
    for i in range(a.size):
        x = element_of(a, i)
        if x == x:
            c += x
    return c


def product_of_numbers(a: Any, one: Any) -> Any:
    """The product of all but NaNs."""
    c = one
    for i in range(a.size):
        x = element_of(a, i)
        if x == x:
            c *= x
    return c


def mean_of_numbers(a: Any, zero: Any) -> Any:
    """The mean of all but NaNs; NaN if there are no others."""
    c = zero
    count = 0
    for i in range(a.size):
        x = element_of(a, i)
        if x == x:
            c += x
            count += 1
    return c / count


def variance_of_numbers(a: Any, middle: Any) -> Any:
    """The variance of all but NaNs."""
    c = 0.0
    count = 0
    for i in range(a.size):
        x = element_of(a, i)
        if x == x:
            c += (x - middle) ** 2
            count += 1
    return c / count


def _extreme_number(better: Any) -> Any:
    def extreme_number(a: Any) -> Any:
        if a.size == 0:
            raise ValueError(_EMPTY)
        best = element_of(a, 0)
        for i in range(1, a.size):
            x = element_of(a, i)
            if better(x, best) or best != best:
                best = x
        return best

    return extreme_number


smallest_number, largest_number = _extreme_number(operator.lt), _extreme_number(operator.gt)
"""The minimum and the maximum of all but NaNs; NaN if there are no others."""


# ---- what Python's own functions do with an iterable


def added(a: Any, start: Any) -> Any:
    """``sum(a, start)``."""
    c = start
    for i in range(a.size):
        c = c + element_of(a, i)
    return c


def _first_extreme(better: Any) -> Any:
    def first_extreme(a: Any) -> Any:
        if a.size == 0:
            raise ValueError("the argument of min() or max() is empty")
        best = element_of(a, 0)
        for i in range(1, a.size):
            x = element_of(a, i)
            if better(x, best):
                best = x
        return best

    return first_extreme


least, greatest = _first_extreme(operator.lt), _first_extreme(operator.gt)
"""``min(a)`` and ``max(a)``: a NaN stays where it comes first, and is passed over elsewhere."""


def root(variance: Any) -> Any:
    """The standard deviation."""
    return variance**0.5


FUNCTIONS = {
    each: DeviceFunction(each, is_library=True)
    for each in (
        total,
        product,
        every,
        some,
        count,
        mean,
        variance,
        variance_of_complex,
        smallest,
        largest,
        place_of_smallest,
        place_of_largest,
        total_of_numbers,
        product_of_numbers,
        mean_of_numbers,
        variance_of_numbers,
        smallest_number,
        largest_number,
        root,
        added,
        least,
        greatest,
    )
}
"""What a call of each needs."""
