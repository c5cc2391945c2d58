"""Malformed array interfaces are refused in words, wherever they come in."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import ArgumentError, DeviceError, GridlaneError, TypingError

ABSENT = object()

CASES = {
    "shape": [ABSENT, -1, (-1,), (8.0,), "8", None, ("8",), (2**70,), (True,)],
    "typestr": [
        ABSENT,
        "<f3",
        "zz",
        5,
        None,
        "",
        "|O",
        b"<f4",
        "<U0",
        ">U2",
        "<f16",
        ">f4",
    ],
    "data": [ABSENT, None, 0, 64, (0, False), (None, False), ("x", False), (64,), (-1, False)]
    + [(2**70, False), (5.5, False)],
    "strides": [(4, 4), (4.5,), ("a",), 4, (), (2**70,)],
    "version": [ABSENT, -1, 99, "3", None, 1.5],
    "stream": ["s", 1.5, (1,)],
}


WORDS = {"strides": "stride", "data": "(data|null address)"}


@cuda.jit
def _first(x):
    x[0] = 1


class _Shown:
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def _capture(value):
    @cuda.jit
    def kernel(out):
        out[0] = value[0]

    out = np.zeros(1, np.float32)
    kernel[1, 1](out)
    return out[0]


USES = {
    "capture": _capture,
    "launch": lambda value: _first[1, 1](value),
    "as_cuda_array": cuda.as_cuda_array,
    "to_device": cuda.to_device,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        # Numbers, as the texts of some values differ between the processes of a run.
        pytest.param(key, value, id=f"{key}-{number}")
        for key, values in CASES.items()
        for number, value in enumerate(values)
    ],
)
def test_a_malformed_field(use, key, value):
    array = cuda.to_device(np.zeros(8, np.float32))
    interface = dict(array.__cuda_array_interface__)
    interface[key] = value
    if value is ABSENT:
        del interface[key]
    refused = TypingError if use == "capture" else ArgumentError
    with pytest.raises(refused, match=rf"interface__ has .*{WORDS.get(key, key)}") as caught:
        USES[use](_Shown(interface))
    assert value is ABSENT or key in ("strides", "data") or repr(value) in str(caught.value)


@pytest.mark.parametrize("interface", [[1], 5, "text", {}])
def test_no_interface_at_all(interface):
    with pytest.raises(ArgumentError, match="__cuda_array_interface__"):
        cuda.as_cuda_array(_Shown(interface))
    with pytest.raises(TypingError, match=r"the captured _Shown 'value': .*__cuda_array_interface"):
        _capture(_Shown(interface))


@pytest.mark.parametrize("use", USES)
def test_memory_of_nobody(use):
    good = cuda.to_device(np.zeros(8, np.float32)).__gridlane_array__
    with pytest.raises(DeviceError, match="INVALID_VALUE") as caught:
        USES[use](_Shown({**good, "data": (4096, False)}))
    assert use != "capture" or "captured _Shown 'value'" in str(caught.value)


def test_captured_memory_ends_with_its_array():
    array = cuda.to_device(np.zeros(8, np.float32))
    good = dict(array.__gridlane_array__)
    with pytest.raises(DeviceError, match="32768 bytes"):
        _capture(_Shown({**good, "shape": (8192,)}))
    with pytest.raises(DeviceError, match="bytes at"):
        _capture((_Shown({**good, "strides": (-4,)}),))


def test_what_is_captured_is_read_again_after_an_error():
    array = cuda.to_device(np.full(8, 5, np.float32))
    good = dict(array.__gridlane_array__)
    value = _Shown({**good, "data": (4096, False)})

    @cuda.jit
    def kernel(out):
        out[0] = value[0]

    out = np.zeros(1, np.float32)
    for _ in range(2):
        with pytest.raises(DeviceError):
            kernel[1, 1](out)
    value = array
    kernel[1, 1](out)
    assert out[0] == 5


class _Raising:
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("gone")

    @property
    def size(self):
        raise RuntimeError("gone")


def test_objects_that_raise():
    with pytest.raises(TypingError, match=r"'value' does not show its memory .*gone"):
        _capture(_Raising())
    with pytest.raises(ArgumentError, match=r"does not show its memory .*gone"):
        _first[1, 1](_Raising())


class _AnswersAll:
    N = 3

    def __getattr__(self, name):
        return 5


class _Refuses:
    N = 3

    def __getattr__(self, name):
        raise KeyError(name)


@pytest.mark.parametrize("cls", [_AnswersAll, _Refuses])
def test_objects_that_answer_to_every_name(cls):
    value = cls()

    @cuda.jit
    def kernel(out):
        out[0] = value.N

    out = np.zeros(1, np.float32)
    kernel[1, 1](out)
    assert out[0] == 3
    with pytest.raises(GridlaneError):
        _capture(value)
    with pytest.raises(GridlaneError):
        _first[1, 1](value)


def test_an_attribute_that_raises():
    value = type("Shape", (), {"size": _Raising.size})()

    @cuda.jit
    def kernel(out):
        out[0] = value.size

    with pytest.raises(TypingError, match="the Shape's attribute size raises RuntimeError: gone"):
        kernel[1, 1](np.zeros(1, np.float32))


def test_a_captured_array_of_bfloat16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert _capture(cuda.to_device(np.full(2, 1.5, bfloat16))) == 1.5


def test_what_is_right_is_taken():
    array = cuda.to_device(np.arange(8, dtype=np.float32))
    good = dict(array.__cuda_array_interface__)
    for change in {}, {"version": 2}, {"shape": [8]}, {"strides": (4,)}, {"stream": None}:
        assert cuda.as_cuda_array(_Shown(good | change)).copy_to_host().sum() == 28
        assert _capture(_Shown(good | change)) == 0
    nothing = cuda.as_cuda_array(_Shown(good | {"shape": (0,), "data": (0, False)}))
    assert nothing.size == 0
