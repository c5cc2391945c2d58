"""The types that are told to cffi are those that it would parse."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gridlane.runtime.drivers.webgpu.adapters import bindings
from gridlane.runtime.drivers.webgpu.c_types import tell_types

TEXTS = [
    "WGPULimits *",
    "WGPUChainedStruct * ",
    "WGPUAdapter[]",
    "WGPUBindGroupEntry[]",
    "WGPUFeatureName[]",
    "WGPUDeviceDescriptor *",
    "char []",
    "uint8_t *",
    "uint8_t []",
    "uint32_t []",
    "uintptr_t",
    "void *",
    "void(WGPUDevice const *, WGPUErrorType, WGPUStringView, void *, void *)",
    "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)",
    "void(WGPUQueueWorkDoneStatus, WGPUStringView, void *, void *)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_type_is_that_which_cffi_parses(text: str) -> None:
    ffi = bindings().backends.wgpu_native.ffi
    told, is_function = ffi._parsed_types[text]
    with ffi._lock:
        parsed = ffi._parser.parse_type(text)
        assert is_function == parsed.is_raw_function
        pointer = parsed.as_function_pointer() if is_function else parsed
        assert told is ffi._get_cached_btype(pointer)


def test_types_are_told_once() -> None:
    ffi = bindings().backends.wgpu_native.ffi
    before = len(ffi._parsed_types)
    assert before > 500
    assert tell_types(ffi) == 0
    assert len(ffi._parsed_types) == before


def test_another_cffi_or_header_parses_as_ever() -> None:
    from cffi import FFI

    assert tell_types(SimpleNamespace()) == 0
    empty = FFI()
    assert tell_types(empty) == 0
    assert str(empty.typeof("int *")) == "<ctype 'int *'>"
