"""torch's tensors of the host as arguments: a repeated launch reads them as NumPy's arrays."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane.compute
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.cuda.interop.dlpack_read import host_view
from gridlane.launch import current

torch = pytest.importorskip("torch")


def added(x, out, by):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + by


@pytest.fixture(params=["cpu", "interp"])
def launch(request):
    with gridlane.device(request.param):
        yield cuda.jit(added)[1, 32]


@pytest.fixture
def fast(launch, monkeypatch):
    """Forbid the slow path."""

    def forbid():
        cls = type(launch)
        monkeypatch.setattr(cls, "_launch_slowly", lambda *_: pytest.fail("the slow path"))

    return forbid


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int16", "int64", "bool"]
)
def test_repeated_launches(launch, fast, dtype):
    kind = getattr(torch, dtype)
    x = torch.arange(8).to(kind)
    for count in range(3):
        out = torch.zeros(8, dtype=kind)
        launch(x, out, 0)
        assert torch.equal(out, x)
        if count == 1 and current.name() == "cpu":  # interp checks each array
            fast()


def test_other_tensors_of_a_kernel(launch):
    """Each kind of tensors has its own code, in any order of the calls."""
    wide = torch.arange(16, dtype=torch.float32)
    for _ in range(3):
        for x in (wide[:8], wide[::2], wide.double()[:8], wide.int()[3:11], wide.numpy()[:8]):
            for out in (torch.zeros(8), torch.zeros(8, 2)[:, 1], np.zeros(8, np.float32)):
                launch(x, out, 1)
                assert [*map(float, out)] == [float(each) + 1 for each in x]


def test_what_is_no_plain_tensor(launch):
    x, out = torch.arange(4.0), torch.zeros(4)
    for _ in range(2):
        launch(x, out, 2)
    complexes = torch.arange(4).to(torch.complex64)
    for odd in (
        torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True).bfloat16(),
        torch._neg_view(torch.ones(4)), complexes.conj(), complexes.conj().imag,
        torch.zeros(4, device="meta"), torch.eye(4).to_sparse(),
    ):  # fmt: skip
        for _ in range(2):
            with pytest.raises((ArgumentError, BufferError)):
                launch(odd, out, 2)
    launch(complexes.real, out, 2)
    assert out.tolist() == [2.0, 3.0, 4.0, 5.0]
    with pytest.raises(ArgumentError, match="arguments"):
        launch(x, out)


def test_a_tensor_is_as_before_where_launches_are_delayed(launch):
    x, out = torch.arange(4.0), torch.zeros(4)
    for _ in range(3):
        with gridlane.compute.fused():
            launch(x, out, 1)
            launch(out, out, 1)
        assert out.tolist() == [2.0, 3.0, 4.0, 5.0]
        launch(x, out, 1)
        assert out.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_views():
    x = torch.arange(6.0).reshape(2, 3).T
    view = host_view(x)
    assert view is not None and view.strides == (4, 12)
    assert view.ctypes.data == x.data_ptr()
    half = host_view(x.bfloat16())
    assert half is not None and str(half.dtype) == "bfloat16" and half.shape == (3, 2)
    assert host_view(torch.zeros(3, requires_grad=True)) is None
    assert host_view(torch.zeros(3, requires_grad=True).bfloat16()) is None
