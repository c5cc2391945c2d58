"""Malformed array interfaces are refused in words, wherever they come in."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import ArgumentError

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
        "<U2",
        "S3",
        "<M8[ns]",
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


USES = {
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
    with pytest.raises(ArgumentError, match=rf"interface__ has .*{WORDS.get(key, key)}") as caught:
        USES[use](_Shown(interface))
    assert value is ABSENT or key in ("strides", "data") or repr(value) in str(caught.value)


@pytest.mark.parametrize("interface", [[1], 5, "text", {}])
def test_no_interface_at_all(interface):
    with pytest.raises(ArgumentError, match="__cuda_array_interface__"):
        cuda.as_cuda_array(_Shown(interface))


def test_what_is_right_is_taken():
    array = cuda.to_device(np.arange(8, dtype=np.float32))
    good = dict(array.__cuda_array_interface__)
    for change in {}, {"version": 2}, {"shape": [8]}, {"strides": (4,)}, {"stream": None}:
        assert cuda.as_cuda_array(_Shown(good | change)).copy_to_host().sum() == 28
    nothing = cuda.as_cuda_array(_Shown(good | {"shape": (0,), "data": (0, False)}))
    assert nothing.size == 0
