"""Types as the user writes them."""

from __future__ import annotations

import pytest

from gridlane.core.argtypes import float32


def test_fixed_shapes_in_the_dialect() -> None:
    assert str(float32[2, 3]) == "nestedarray(float32, (2, 3))"
    assert str(float32[:, ::1]) == "array(float32, 2d, C)"
    for index in (True, (), (2, slice(None)), "x", 0, (2, -1)):
        with pytest.raises(TypeError):
            float32[index]
    with pytest.raises(TypeError, match="one shape"):
        float32[2][3]
