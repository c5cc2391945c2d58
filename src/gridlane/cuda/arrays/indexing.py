"""Index a device array: numpy's result, without reading memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.cuda.arrays.description import ArrayDescription
from gridlane.launch import geometry


def dummy_of(array: ArrayDescription) -> np.ndarray:
    """A numpy array of the same shape with the same indexing; its elements must not be read."""
    return np.lib.stride_tricks.as_strided(
        np.empty(1, array.dtype), array.shape, array.strides, subok=False
    )


def has_ellipsis(item: Any) -> bool:
    """Whether an index has an ellipsis, so that it selects an array rather than an element."""
    return item is Ellipsis or (isinstance(item, tuple) and any(i is Ellipsis for i in item))


def pick(array: ArrayDescription, item: Any) -> tuple[np.ndarray, int]:
    """The dummy of the selection of ``item``, and its offset in bytes."""
    items = item if isinstance(item, tuple) else (item,)
    for part in items:
        plain = part is Ellipsis or part is None or isinstance(part, (int, np.integer, slice))
        if not plain and not (isinstance(part, str) and array.dtype.names):
            raise NotImplementedError(
                f"device arrays are indexed by integers and slices, got {part!r}; "
                "use .copy_to_host() for other indices"
            )
    dummy = dummy_of(array)
    # The ellipsis turns an element into a view as well, so that no memory is read.
    if not has_ellipsis(item) and not any(isinstance(part, str) for part in items):
        items = (*items, Ellipsis)
    picked = dummy[items[0] if len(items) == 1 else items]
    return picked, geometry.address_of(picked) - geometry.address_of(dummy) if picked.size else 0
