"""numba's transpose of 2-D arrays, on every device here."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.cuda.ufuncs.transposition import transpose
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_transposes(name):
    current.choose(get_device(name))
    for shape, dtype in [
        ((5, 17), "f4"),
        ((33, 16), "i4"),
        ((1, 40), "c8"),
        ((20, 3), "f8"),
        ((0, 3), "f4"),
    ]:
        host = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        assert (transpose(cuda.to_device(host)).copy_to_host() == host.T).all()
    given, into = cuda.to_device(np.ones((2, 3))[:, ::-1].copy()), cuda.device_array((3, 2))
    assert transpose(given, into) is into and (into.copy_to_host() == 1).all()


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="2-D"):
        transpose(cuda.device_array(4))
    with pytest.raises(ValueError, match=r"has the shape \(3, 2\)"):
        transpose(cuda.device_array((2, 3)), cuda.device_array((2, 3)))


def test_an_array_without_a_transposed_one_has_no_attribute_of_it():
    assert not hasattr(cuda.device_array((2, 3, 4)), "T")
    assert hasattr(cuda.device_array((2, 3)), "T")
    with pytest.raises(NotImplementedError, match="non-2D"):  # numba's error
        cuda.device_array((2, 3, 4)).T
