"""NumPy's functions, ufuncs and protocols with arrays of a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp
from gridlane.xp.info import Information


def test_ufuncs_of_numpy():
    x = xp.asarray([1.0, 2.0, 3.0])
    assert isinstance(np.add(x, 1), xp.Array)
    assert np.multiply.outer(x, x).tolist() == np.multiply.outer([1.0, 2, 3], [1.0, 2, 3]).tolist()
    assert np.add.reduce(x).item() == 6
    assert np.maximum.reduce(xp.reshape(x, (3, 1)), axis=1).tolist() == [1, 2, 3]
    for attempt in (lambda: np.add.at(x, [0], 1), lambda: np.subtract.reduce(x)):
        with pytest.raises(TypeError, match=r"gridlane.xp has no function for it"):
            attempt()


def test_functions_of_numpy():
    host = np.arange(6.0).reshape(2, 3)
    x = xp.asarray(host)
    assert np.concatenate([x, x], axis=1).tolist() == np.concatenate([host, host], axis=1).tolist()
    assert np.sum(x, axis=0).tolist() == host.sum(axis=0).tolist()
    assert np.transpose(x).tolist() == host.T.tolist()
    assert np.where(x > 2, x, 0).tolist() == np.where(host > 2, host, 0).tolist()
    assert np.clip(x, 1, 3).tolist() == host.clip(1, 3).tolist()
    assert x.mean(1).tolist() == host.mean(1).tolist()
    assert np.allclose(np.fft.rfft(x, axis=0), np.fft.rfft(host, axis=0))
    assert np.allclose(np.linalg.svdvals(x), np.linalg.svdvals(host))
    with pytest.raises(TypeError, match=r"np.linalg.lstsq: gridlane.xp has no function for it"):
        np.linalg.lstsq(x, x)
    for decimals in (-1, 0, 1, 2):
        for numbers in (np.array([1.25, -0.35, 25.0, 1.005, 155.5]), np.array([15, 25, -5])):
            rounded = np.round(xp.asarray(numbers), decimals)
            assert rounded.dtype == numbers.dtype
            assert rounded.tolist() == np.round(numbers, decimals).tolist()
    with pytest.raises(TypeError, match="has no parameter 'order'"):
        np.reshape(x, (3, 2), order="F")


@pytest.mark.parametrize("operation", ["add", "matmul", "less", "bitwise_and"])
def test_arrays_of_the_host_are_refused(operation: str):
    host = np.ones((2, 2), int)
    x = xp.asarray(host)
    for operands in ((x, host), (host, x)):
        with pytest.raises(TypeError, match=r"copy it with xp\.asarray"):
            getattr(np, operation)(*operands)
    with pytest.raises(TypeError, match=r"copy it with xp\.asarray"):
        _ = host + x
    with pytest.raises(TypeError, match=r"copy it with xp\.asarray"):
        _ = x < host


def test_methods_of_numpys_arrays():
    host = np.arange(6.0).reshape(2, 3) - 2
    x = xp.asarray(host)
    assert x.dot(x.T).tolist() == host.dot(host.T).tolist()
    assert x.trace().item() == host.trace()
    assert x.std(axis=0).tolist() == host.std(axis=0).tolist()
    assert [each.tolist() for each in divmod(x, 2)] == [each.tolist() for each in divmod(host, 2)]
    assert [each.tolist() for each in divmod(7, x[1])] == [
        each.tolist() for each in divmod(7, host[1])
    ]
    assert 3.0 in x
    assert 9 not in x
    assert None not in x
    z = x * 1j + 2
    assert z.real.tolist() == [[2.0] * 3] * 2
    assert z.imag.tolist() == host.tolist()
    x[1].fill(4)
    assert x.tolist() == [host[0].tolist(), [4.0] * 3]


def test_scalars_of_numpy_have_a_dtype():
    x = xp.asarray([1, 2], dtype="int8")
    assert (x + 1).dtype == np.int8
    assert (x + np.int32(1)).dtype == np.int32
    assert (np.float64(2) * x).tolist() == [2.0, 4.0]
    assert xp.asarray(np.float32(2)).dtype == np.float32


def test_outputs_masks_and_dtypes():
    x, out = xp.asarray([1.0, 2.0, 3.0]), xp.zeros(3)
    assert xp.add(x, 1, out=out) is out
    assert out.tolist() == [2, 3, 4]
    np.multiply(x, 10, out=out, where=xp.asarray([True, False, True]))
    assert out.tolist() == [10, 3, 30]
    assert xp.add(xp.asarray([1], dtype="int8"), 1, dtype="float32").dtype == np.float32
    one, other = xp.zeros(3), xp.zeros(3)
    assert xp.modf(x / 2, out=(one, other)) == (one, other)
    assert one.tolist() == [0.5, 0, 0.5]
    with pytest.raises(TypeError, match=r"Cannot cast add output from float64 to int32"):
        xp.add(x, 1, out=xp.zeros(3, dtype="int32"))
    xp.add(x, 1.5, out=(cut := xp.zeros(3, dtype="int32")), casting="unsafe")
    assert cut.tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match=r"could not be broadcast together with .*\(3,\) \(2,\)"):
        xp.add(x, 1, out=xp.zeros(2))
    with pytest.raises(TypeError, match=r"out is an array of gridlane.xp, not ndarray"):
        xp.add(x, 1, out=np.zeros(3))
    with pytest.raises(TypeError, match="Cannot cast add input from float64 to int8"):
        xp.add(x, 1, dtype="int8")
    xp.add(x, xp.flip(x), out=x)
    assert x.tolist() == [4, 4, 4]


def test_a_store_to_what_an_output_reads():
    x = xp.asarray(np.arange(6.0))
    xp.add(x[1:], x[:-1], out=x[1:])
    assert x.tolist() == [0, 1, 3, 5, 7, 9]


def test_the_namespace():
    x = xp.asarray([1])
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="2099"):
        x.__array_namespace__(api_version="2099.12")
    for name in dir(xp):
        assert getattr(xp, name, ...) is not ..., name


def test_information_of_devices():
    information = xp.__array_namespace_info__()
    assert isinstance(information, Information)
    assert isinstance(information.devices(), tuple)  # since the standard's 2025.12
    assert set(DEVICES) <= set(information.devices())
    assert information.default_device() == xp.asarray([1]).device
    assert information.dtypes(kind="unsigned integer").keys() == {
        "uint8", "uint16", "uint32", "uint64"
    }  # fmt: skip
    assert information.dtypes(kind=("bool", "complex floating")).keys() == {
        "bool", "complex64", "complex128"
    }  # fmt: skip
    with pytest.raises(ValueError, match="no kind 'text'"):
        information.dtypes(kind="text")


class Tensor:
    """An array of another library, in the host's memory."""

    def __init__(self, host: np.ndarray) -> None:
        self.host = host

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.host.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.host.__dlpack_device__()


def test_imported_memory_is_shared():
    host = np.arange(6.0)
    x = xp.from_dlpack(Tensor(host))
    doubled = x * 2
    host[0] = 50.0
    assert x.tolist() == host.tolist()
    assert doubled.tolist() == [0, 2, 4, 6, 8, 10]
    x[1] = -1
    x += 1
    assert host.tolist() == [51, 0, 3, 4, 5, 6]
    apart = xp.from_dlpack(Tensor(host), copy=True)
    apart[0] = 0
    assert host[0] == 51
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        xp.from_dlpack(Tensor(host))[0] = 1
    with pytest.raises(TypeError, match="has no __dlpack__"):
        xp.from_dlpack([1, 2])


def test_exported_memory_is_shared():
    x = xp.asarray(np.arange(6.0))
    before = x[::2] * 2
    host = np.from_dlpack(x[::2])
    after = x + 1
    host[...] = 70.0
    assert before.tolist() == [0, 4, 8]
    assert after.tolist() == [1, 2, 3, 4, 5, 6]
    assert x.tolist() == [70, 1, 70, 3, 70, 5]
    assert xp.from_dlpack(x) is x


@pytest.mark.skipif("cuda" in DEVICES, reason="a GPU: its libraries would take it for theirs")
def test_the_interface_of_cuda():
    x = xp.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    interface = x.mT.__cuda_array_interface__
    assert interface["shape"] == (3, 2)
    assert interface["strides"] == (4, 12)
    assert interface["typestr"] == "<f4"
