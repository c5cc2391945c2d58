"""Shapes, orders, copies and creation, beside NumPy's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp


def pairs(shape: tuple[int, ...], device: str | None = None) -> tuple[np.ndarray, Any]:
    """The same elements for NumPy and for a device."""
    array = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return array, xp.asarray(array, device=device)


@st.composite
def moves(draw: st.DrawFn) -> list[tuple[str, dict[str, Any], tuple[Any, ...]]]:
    """Functions that change shapes and orders, for an array of shape (2, 3, 4)."""
    rank, listed = 3, list[Any]()
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(["permute_dims", "flip", "roll", "expand", "slice", "repeat"]))
        axis = draw(st.integers(-rank, rank - 1))
        listed.append((name, axis, draw(st.integers(-3, 5)), draw(st.permutations(range(rank)))))
        rank += name == "expand"
    return listed


def moved(there: Any, x: Any, listed: Any) -> Any:
    for name, axis, number, order in listed:
        if name == "permute_dims":
            x = there.permute_dims(x, tuple(order))
        elif name == "flip":
            x = there.flip(x, axis=axis)
        elif name == "roll":
            x = there.roll(x, number, axis=axis)
        elif name == "expand":
            x = there.expand_dims(x, axis=axis)
        elif name == "repeat":
            x = there.repeat(x, abs(number) % 3, axis=axis)
        else:
            x = x[(slice(None),) * (axis % x.ndim) + (slice(None, None, 2),)]
    return x


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(max_examples=examples(30, 300), deadline=None)
@given(moves(), st.data())
def test_moves_and_reshapes_are_numpys(device: str, listed: Any, data: st.DataObject) -> None:
    host, own = pairs((2, 3, 4), device)
    expected, result = moved(np, host, listed), moved(xp, own, listed)
    assert result.shape == expected.shape
    assert np.array_equal(result, expected)
    size = expected.size
    shapes = [(size,), (size, 1), (1, size)]
    shapes += [(each, size // each) for each in (2, 3, 4, 6) if size and size % each == 0]
    shape = data.draw(st.sampled_from(shapes))
    assert np.array_equal(xp.reshape(result, shape), expected.reshape(shape))
    strides = [4 * each for each in result.node.strides]
    alike = np.lib.stride_tricks.as_strided(np.zeros(1, np.int32), expected.shape, strides)
    try:
        np.reshape(alike, shape, copy=False)
    except ValueError:
        with pytest.raises(ValueError, match="needs a copy"):
            xp.reshape(result, shape, copy=False)
    else:
        assert xp.reshape(result, shape, copy=False).node.storage is result.node.storage


def test_views_share_memory():
    host, own = pairs((2, 3, 4))
    view = xp.reshape(xp.flip(own.mT, axis=1)[1], (2, 2, 3))
    view[...] = -1
    np.reshape(np.flip(host.mT, axis=1)[1], (2, 2, 3))[...] = -1
    assert np.array_equal(own, host)
    assert (host == -1).any()


def test_joined_and_repeated():
    host, own = pairs((2, 3))
    for axis in (0, 1, -1, None):
        expected = np.concatenate([host, host * 2.5], axis=axis)
        result = xp.concat([own, own * 2.5], axis=axis)
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
    assert np.array_equal(xp.stack([own, own], axis=-1), np.stack([host, host], axis=-1))
    assert [each.tolist() for each in xp.unstack(own, axis=1)] == host.T.tolist()
    assert np.array_equal(xp.tile(own, (2, 1, 2)), np.tile(host, (2, 1, 2)))
    assert np.array_equal(xp.tile(own, 2), np.tile(host, 2))
    counts = np.array([2, 0, 1])
    assert np.array_equal(xp.repeat(own, xp.asarray(counts), axis=1), host.repeat(counts, axis=1))
    assert np.array_equal(xp.repeat(own, 2), host.repeat(2))
    assert np.array_equal(xp.roll(own, (1, -1), axis=(0, 1)), np.roll(host, (1, -1), axis=(0, 1)))
    assert np.array_equal(xp.roll(own, 4), np.roll(host, 4))
    for one, other in zip(xp.meshgrid(own[0], own[:, 0]), np.meshgrid(host[0], host[:, 0])):
        assert np.array_equal(one, other)
    assert [each.shape for each in xp.broadcast_arrays(own, own[:, :1])] == [(2, 3), (2, 3)]
    wide = own[None]
    assert np.array_equal(
        xp.moveaxis(wide, (0, 2), (2, 0)), np.moveaxis(host[None], (0, 2), (2, 0))
    )
    assert np.array_equal(xp.take(own, xp.asarray([2, 0]), axis=1), host[:, [2, 0]])


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arrays_of_numbers_are_numpys(device: str):
    with_device = {"device": device}
    for arguments in [
        (5,),
        (2, 9, 3),
        (9, 2, -2),
        (0.5, 3),
        (1, 2, 0.3),
        (3, 1),
        (2**62, 2**62 + 3),
    ]:
        for dtype in (None, "float32", "float64"):
            expected, result = (
                np.arange(*arguments, dtype=dtype),
                xp.arange(*arguments, dtype=dtype, **with_device),
            )
            assert result.dtype == expected.dtype
            assert np.array_equal(result, expected), arguments
    assert np.array_equal(xp.arange(250, 260, dtype="int16"), np.arange(250, 260))
    for arguments in [(0, 1, 7), (-3.5, 2, 1), (1, 1, 4), (2, 5, 0), (1j, 2, 3)]:
        for endpoint in (True, False):
            expected = np.linspace(*arguments, endpoint=endpoint)
            result = xp.linspace(*arguments, endpoint=endpoint, **with_device)
            assert result.dtype == expected.dtype
            assert np.array_equal(result, expected), arguments
    for arguments in [(3,), (2, 4), (4, 2)]:
        for k in range(-5, 6):
            assert np.array_equal(xp.eye(*arguments, k=k, **with_device), np.eye(*arguments, k=k))
    assert xp.full((2, 1), 3, **with_device).tolist() == [[3], [3]]
    assert xp.full(2, True, **with_device).dtype == np.bool_
    assert xp.full((), 2 - 1j, dtype="complex64", **with_device).item() == 2 - 1j
    assert xp.zeros_like(xp.ones(3, dtype="int8", **with_device)).dtype == np.int8
    assert xp.ones(2, **with_device).device == device


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex128"])
def test_every_dtype_is_held(dtype: str):
    own = getattr(xp, dtype)
    host = np.asarray([0, 1, 1, 0]).astype(own)
    array = xp.asarray(host)
    assert array.dtype == own
    assert array[::-1].tolist() == host[::-1].tolist()
    assert xp.full(2, 1, dtype=own).tolist() == np.full(2, 1, own).tolist()
    assert pickle.loads(pickle.dumps(array)).tolist() == host.tolist()
    assert xp.astype(array, "complex64").tolist() == host.astype("c8").tolist()


def test_dtypes_of_no_kernels():
    with pytest.raises(TypeError, match="no elements of the dtype <U1"):
        xp.asarray(["a"])
    with pytest.raises(TypeError, match="no elements of the dtype object"):
        xp.asarray([None])
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        xp.zeros(3, dtype=np.longdouble)
    assert xp.asarray(np.array([1, 256], ">i4")).tolist() == [1, 256]


def test_facts_of_dtypes():
    assert xp.float32 == np.dtype("float32")
    assert xp.bfloat16 == np.dtype(ml_dtypes.bfloat16)
    assert xp.finfo(xp.complex64).eps == float(np.finfo("f4").eps)
    assert xp.finfo(xp.bfloat16).bits == 16
    assert xp.iinfo(xp.asarray([1], dtype="uint8")).max == 255
    assert xp.isdtype(xp.bfloat16, "real floating")
    assert not xp.isdtype(xp.bool, "numeric")
    assert xp.result_type(xp.asarray([1], dtype="int8"), xp.uint8, 1.5) == np.float64
    assert xp.result_type(xp.bfloat16, 1.5) == xp.bfloat16
    assert xp.result_type(xp.bfloat16, xp.float16) == np.float32
    assert xp.concat([xp.ones(1, dtype="int64"), xp.ones(1, dtype=xp.bfloat16)]).dtype == np.float64
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.asarray([1.5]), xp.int16)
    with pytest.raises(ValueError, match="no kind 'text'"):
        xp.isdtype(xp.int8, "text")


def test_copies_are_apart():
    own = xp.asarray([1.0, 2.0])
    for other in (
        own.copy(),
        copy.copy(own),
        copy.deepcopy(own),
        xp.asarray(own, copy=True),
        own.flatten(),
    ):
        other[0] = 9
        assert own.tolist() == [1.0, 2.0]
    assert xp.asarray(own) is own
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(own, dtype="int8", copy=False)


@pytest.mark.parametrize(
    ("attempt", "kind", "text"),
    [
        (lambda x: xp.reshape(x, (5,)), ValueError, "cannot reshape array of size 6 into shape"),
        (lambda x: xp.reshape(x, (-1, -1)), ValueError, "one unknown dimension"),
        (lambda x: xp.squeeze(x, 0), ValueError, "size not equal to one"),
        (lambda x: xp.permute_dims(x, (0, 0)), ValueError, "repeated axis"),
        (lambda x: xp.permute_dims(x, (0,)), ValueError, "do not name each of 2"),
        (
            lambda x: xp.flip(x, axis=2),
            IndexError,
            "axis 2 is out of bounds for array of dimension 2",
        ),
        (lambda x: xp.concat([x, x[0]]), ValueError, "must match exactly"),
        (lambda x: xp.concat([]), ValueError, "at least one array"),
        (lambda x: xp.stack([x, x[0]]), ValueError, "must have the same shape"),
        (lambda x: xp.broadcast_to(x, (4,)), ValueError, r"shape \(2, 3\) to shape \(4,\)"),
        (lambda x: xp.repeat(x, -1), ValueError, "negative"),
        (lambda x: x[0].mT, ValueError, "undefined"),
        (lambda x: xp.zeros(-1), ValueError, "negative dimensions"),
        (lambda x: xp.zeros((2**31, 2**31)), ValueError, "too big"),
        (lambda x: xp.arange(1e30), ValueError, "too big"),
        (lambda x: xp.flip([1, 2]), TypeError, r"not list; copy others with xp\.asarray"),
        (lambda x: xp.concat([x, [1]]), TypeError, r"not list; copy others with xp\.asarray"),
        (lambda x: xp.arange(0, 1, 0), ZeroDivisionError, "division"),
    ],
)
def test_what_is_refused(attempt: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        attempt(pairs((2, 3))[1])


@pytest.mark.parametrize("shape", [(1001,), (30, 40), (3, 400), (2, 2, 300), (4,), (0, 3)])
def test_texts_are_numpys(shape: tuple[int, ...]):
    for host in (np.arange(np.prod(shape), dtype=np.float64), np.zeros(np.prod(shape), np.int8)):
        host, own = host.reshape(shape), xp.asarray(host.reshape(shape))
        assert str(own) == str(host)
        if host.size < 1000 or np.lib.NumpyVersion(np.__version__) >= "2.2.0":  # shows the shape
            ours, theirs = repr(own), repr(host)
            assert "".join(ours.split()) == "".join(theirs.split())


def test_the_text_of_a_large_array_copies_its_edges(monkeypatch: pytest.MonkeyPatch):
    from gridlane.xp import transport

    sizes: list[int] = []
    downloaded = transport.downloaded

    def noting(node: Any) -> np.ndarray:
        sizes.append(node.size)
        return downloaded(node)

    monkeypatch.setattr(transport, "downloaded", noting)
    assert "9998, 9999" in repr(xp.arange(10000))
    assert max(sizes) == 3


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_floats_beyond_an_integer_dtype_convert_to_its_limits(dtype: str, device: str) -> None:
    facts = np.iinfo(dtype)
    x = xp.asarray(np.float32([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.5, 2.75]), device=device)
    expected = [0, facts.max, facts.min, facts.max, facts.min, 0, 2]
    assert x.astype(dtype).tolist() == expected
