"""A test of the reader's, for ``pytest --gridlane``."""

from program import cuda, kernel, np


def test_kernel():
    x = np.zeros(8, np.float32)
    kernel[1, 8](x, 4)
    assert x.tolist() == [1] * 4 + [0] * 4 and cuda.is_available()
