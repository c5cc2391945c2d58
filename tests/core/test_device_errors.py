"""The table of device failures, and what a stopped kernel raises."""

from __future__ import annotations

import pytest
from cuda.bindings import driver, runtime

from gridlane.core import device_errors as errors
from gridlane.core.artifact import KernelErrorSite
from gridlane.core.error_table import CATEGORIES, NAMES, TABLE
from gridlane.core.errors import DeviceError, KernelError
from gridlane.core.source import Loc
from gridlane.launch import devices


def names_of(enum):
    return {int(member): name for name, member in enum.__members__.items()}


DRIVER, RUNTIME = names_of(driver.CUresult), names_of(runtime.cudaError_t)


def test_the_table_has_the_driver_s_names_and_no_others():
    table = {number: row.driver for number, row in TABLE.items() if row.driver}
    assert table == DRIVER


def test_the_table_has_the_runtime_s_names_and_no_others():
    table = {number: row.runtime for number, row in TABLE.items() if row.runtime}
    assert table == RUNTIME


@pytest.mark.parametrize("number", sorted(TABLE))
def test_every_row_has_words_of_its_own(number):
    row = TABLE[number]
    assert row.name and row.meaning
    for text in filter(None, (row.meaning, row.advice)):
        assert text == text.strip() and not text.endswith(".") and "\n" not in text
    assert row.meaning not in [other.meaning for other in TABLE.values() if other is not row]


@pytest.mark.parametrize("number", sorted(TABLE))
def test_every_row_has_a_category_and_every_failure_a_remedy(number):
    row = TABLE[number]
    assert row.category in CATEGORIES and (row.category == "none") == (number == 0)
    assert bool(row.advice) == (number != 0)


def test_every_category_has_a_row():
    assert {row.category for row in TABLE.values()} == set(CATEGORIES)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY", "memory"),
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launch"),
        ("CUDA_ERROR_INVALID_PTX", "compile"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "fault"),
        ("CUDA_ERROR_CONTEXT_IS_DESTROYED", "lost"),
        ("CUDA_ERROR_NOT_SUPPORTED", "unsupported"),
        ("CUDA_ERROR_INVALID_VALUE", "use"),
        ("CUDA_ERROR_NO_DEVICE", "system"),
    ],
)
def test_categories_of_failures_that_programs_meet(name, category):
    assert TABLE[NAMES[name]].category == category


@pytest.mark.parametrize("number", [701, 702, 704, 705, 708, 716, 717, 719, 900, 906])
def test_a_user_is_told_what_to_do(number):
    assert TABLE[number].advice in str(errors.device_error(number)) and TABLE[number].advice


def test_both_spellings_have_the_number():
    assert NAMES["CUDA_ERROR_LAUNCH_FAILED"] == NAMES["cudaErrorLaunchFailure"] == 719
    assert NAMES["CUDA_ERROR_KEY_ROTATION"] == 916  # which the runtime has not
    assert NAMES["cudaErrorInvalidPitchValue"] == 12 and "" not in NAMES  # nor the driver


def test_an_error_of_the_runtime_only_has_its_name():
    assert str(errors.device_error(12)).startswith("cudaErrorInvalidPitchValue (12): a pitch")


def test_a_number_that_no_table_has():
    error = errors.device_error(12345, "cuSomething")
    assert (error.name, error.number) == ("CUDA_ERROR_UNKNOWN", 12345)
    assert "no words for: cuSomething" in str(error)


def test_device_error_says_all():
    with pytest.raises(DeviceError) as caught:
        errors.fail(errors.OUT_OF_MEMORY, "8 bytes")
    assert str(caught.value) == (
        "CUDA_ERROR_OUT_OF_MEMORY (2): not enough memory on the device: 8 bytes\n"
        "  free arrays that are no longer used, or work in smaller pieces"
    )


@pytest.mark.parametrize(
    ("name", "builtin"),
    [("IndexError", IndexError), ("ZeroDivisionError", ZeroDivisionError), ("Mine", RuntimeError)],
)
def test_kernel_exception_is_its_builtin_too(name, builtin):
    loc = Loc("kernel.py", 12, 5, function="f")
    error = errors.kernel_exception(KernelErrorSite(name, "what", loc), (1, 2, 3), (4, 5, 6))
    assert isinstance(error, KernelError) and isinstance(error, builtin)
    assert error.exception == name and error.thread == (1, 2, 3)
    assert "tid=[1, 2, 3] ctaid=[4, 5, 6]: what" in str(error)
    assert "In function 'f', file kernel.py, line 12" in str(error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cuda:-1", "INVALID_DEVICE"),
        ("cuda:x", "a number follows the colon"),
        ("cpu:", "a number follows the colon"),
        ("cpu:\u0663", "a number follows the colon"),
        ("cpu:99999999999999999999", "no machine has so many"),
        ("cpu:1", "device 0 only"),
        ("interp:3", "device 0 only"),
        ("nope", "devices are cpu"),
        ("", "devices are cpu"),
    ],
)
def test_names_of_devices_that_are_not(name, words):
    with pytest.raises(DeviceError, match=words):
        devices.get_device(name)
