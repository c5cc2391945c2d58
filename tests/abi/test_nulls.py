"""Null pointers where a function of C has to write: each row of the table."""

import ctypes

import pytest
from tests.abi.runtime import good

from gridlane.abi.calls.registry import calls
from gridlane.abi.library import entry
from gridlane.abi.table import ctype, functions
from gridlane.cuda import driver as cu

UNHARMED = {"cuGetProcAddress", "cuGetProcAddress_v2"}
"""Functions that C has itself."""


def words_of(row, given):
    """The words of a call: addresses of zeros where it writes if "given", and for structures."""
    zeros = ctypes.create_string_buffer(1 << 13)
    at = ctypes.addressof(zeros)
    for each in row.parameters:
        by_value = ctype(each.type).kind == "struct"
        yield at if by_value or (given and "*" in each.type) else 0
    yield at  # of the result, where that is a structure
    del zeros


@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_null_results(api):
    """What a function has to write needs a place: nothing is made, and nothing is silent."""
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    tried = 0
    for row in functions(api).values():
        needed = set(row.given) - set(row.optional)
        if not needed or row.result or row.name in UNHARMED or row.name not in calls(api):
            continue
        number = entry.resolve(f"{api}:{row.name}")(*words_of(row, False))
        assert number not in (0, 999), (row.name, number)
        tried += 1
    assert tried > 100


def test_results_that_are_optional():
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    made = int(good(cu.cuMemAlloc(256)))
    size = ctypes.c_size_t()
    call = entry.resolve("driver:cuMemGetAddressRange_v2")
    assert call(0, ctypes.addressof(size), made + 8) == 0 and size.value == 256
    assert call(0, 0, made) == 0
    good(cu.cuMemFree(made))
