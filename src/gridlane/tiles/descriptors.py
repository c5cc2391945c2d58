"""Tensor descriptors of the host (``triton.tools.tensor_descriptor``)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from gridlane.core.errors import ArgumentError


def _whole(what: str, numbers: Sequence[int]) -> list[int]:
    try:
        return [operator.index(each) for each in numbers]
    except TypeError:
        raise ArgumentError(
            f"the {what} of a descriptor are whole numbers, not {numbers!r}"
        ) from None


class TensorDescriptor:
    """An array with the shape of the blocks that a program reads and writes.

    Args:
        base: the array whose memory it is.
        shape: its extents.
        strides: of its axes in elements; the last is 1.
        block_shape: of the blocks.
        padding: what a block has beyond the array: ``zero`` or ``nan``.

    Raises:
        ArgumentError: these do not fit each other.
    """

    def __init__(
        self,
        base: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        block_shape: Sequence[int],
        padding: str = "zero",
    ) -> None:
        self.base, self.padding = base, padding
        self.shape, self.strides = _whole("extents", shape), _whole("strides", strides)
        self.block_shape = [*block_shape]
        ranks = {len(self.shape), len(self.strides), len(self.block_shape)}
        if len(ranks) != 1:
            raise ArgumentError(
                f"a descriptor of {len(self.shape)} extents, {len(self.strides)} strides and a "
                f"block of {len(self.block_shape)}: give as many of each"
            )
        if not 1 <= len(self.shape) <= 5:
            raise ArgumentError(f"a descriptor has 1 to 5 axes, not {len(self.shape)}")
        if self.strides[-1] != 1:
            raise ArgumentError(f"the last stride of a descriptor is 1, not {self.strides[-1]}")
        if min(self.shape) < 0:
            raise ArgumentError(f"the extents of a descriptor are at least 0, not {self.shape}")
        if padding not in ("zero", "nan"):
            raise ArgumentError(f"padding is 'zero' or 'nan', not {padding!r}")

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: Sequence[int], padding: str = "zero"
    ) -> TensorDescriptor:
        """The descriptor of a whole tensor, by its shape and strides (in elements, as torch has
        them, or in bytes, as numpy does)."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else None
        if strides is None:
            strides = [step // tensor.dtype.itemsize for step in tensor.strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding)

    def over(self, base: Any) -> TensorDescriptor:
        """The same over other memory."""
        return TensorDescriptor(base, self.shape, self.strides, self.block_shape, self.padding)
