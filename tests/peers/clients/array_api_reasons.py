"""Why tests of array-api-tests do not pass: for the page of array_api_suite.py."""

from __future__ import annotations

_APART = ("cuda", "metal", "opengl", "vulkan", "webgpu")
_ALL = ("cpu", "interp", *_APART)
_TANH = (
    "test_special_cases.py::test_unary[tanh(real(x_i) is +infinity and isfinite(imag(x_i)) and "
    "imag(x_i) > 0) -> 1 + 0j]"
)

REASONS: dict[str, tuple[tuple[str, ...], str]] = {
    "test_dlpack.py::test_dunder_dlpack": (
        _APART,
        "asks for an array in the host's memory with `copy=False`; the device has other memory",
    ),
    "test_dlpack.py::test_dlpack_device": (
        ("webgpu",),
        "the suite's list of DLPack's devices ends before 15, which is WebGPU",
    ),
    "test_data_type_functions.py::test_can_cast": (
        _ALL,
        "the suite compares None with a dtype, and NumPy's float64 equals None; only some examples "
        "cast to float64",
    ),
    _TANH: (
        _ALL,
        "by C's and NumPy's rule the zero has the sign of sin(2 imag), which is negative in some "
        "examples",
    ),
}
"""The devices and the reason for each test that may fail."""


def reason_of(test: str, device: str) -> str:
    """Why a test fails on a device.

    Raises:
        KeyError: it should pass.
    """
    devices, reason = REASONS.get(test, ((), ""))
    if device not in devices:
        raise KeyError(f"{test} fails on {device}, and no reason says why")
    return reason
