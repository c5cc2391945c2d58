"""Products by addresses: launches that are known, and factors in another order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.tiles.kernels import exact

from gridlane import cuda
from gridlane.backends import backend
from gridlane.tiles import kernels
from gridlane.tiles.kernels import addressed, prepared


@pytest.fixture
def known() -> Iterator[None]:
    """No launches are known at first."""
    prepared.forget()
    yield
    prepared.forget()


@pytest.fixture
def turned(known, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shapes of copies, of products of any size, as on an NVIDIA GPU."""
    shapes: list[tuple[int, int]] = []
    own = addressed._copy

    def copy(*args):
        made = own(*args)
        shapes.append(made.shape)
        return made

    monkeypatch.setattr(addressed, "record", lambda: backend("cuda"))
    monkeypatch.setattr(addressed, "_LARGE", 0)
    monkeypatch.setattr(addressed, "_FAR", 1)
    monkeypatch.setattr(addressed, "_copy", copy)
    return shapes


@pytest.mark.parametrize("split", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_known_launches(device, rng, known, split, dtype):
    """The second call has other arrays of the same kind, and arrays of the epilogue."""
    for _ in range(2):
        a, b = (rng.integers(-3, 4, each).astype(dtype) for each in ((40, 50), (50, 30)))
        bias, more = (rng.integers(-9, 9, each).astype("float32") for each in (30, (40, 30)))
        there = [cuda.to_device(each) for each in (a, b, bias, more)]
        options = {"bias": there[2], "residual": there[3], "split_k": split}
        got = kernels.matmul(*there[:2], **options).copy_to_host()
        np.testing.assert_array_equal(got, exact.wide(a) @ exact.wide(b) + bias + more)
    assert len(prepared._known) == 1


def test_repeated_factors_are_not_known(device, rng, known):
    """Batches of more than two steps are copied, at each call."""
    for number in range(2):
        given = [rng.integers(-3, 4, (2, 5, 7, 16, 16)).astype("float16") for _ in range(2)]
        there = [cuda.to_device(each) for each in given]
        a, b = (each[:, :2, 1:4] for each in there)
        wide = [exact.wide(each)[:, :2, 1:4] for each in given]
        out = cuda.to_device(np.zeros((2, 2, 3, 16, 16), np.float32))
        got = kernels.matmul(a, b, out, out_dtype="float32").copy_to_host()
        np.testing.assert_array_equal(got, wide[0] @ wide[1], err_msg=str(number))


@pytest.mark.parametrize("turns", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("extents", [(48, 64, 32), (33, 70, 19)])
def test_factors_in_another_order(device, rng, turned, turns, extents):
    """Rows of the left factor and columns of the right one are neighbours in what is read, in lines
    of which each begins at a multiple of 16 bytes."""
    m, n, k = extents
    a, b = (rng.integers(-3, 4, each).astype(np.float32) for each in ((m, k), (k, n)))
    given = [np.ascontiguousarray(x.T).T if t else x for x, t in zip((a, b), turns, strict=True)]
    for split in (1, 2):
        np.testing.assert_array_equal(kernels.matmul(*given, split_k=split), a @ b)
    right = -(-n // 16) * 16
    wanted = [] if turns[0] and not m % 4 else [(k, -(-m // 16) * 16)]
    wanted += [(k, right)] if turns[1] or n % 4 else []
    assert turned == 2 * wanted
