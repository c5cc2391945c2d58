"""Device arrays as text and as HTML: their values, dtype, shape and device."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

_WHOLE = 1000
"""Elements of the largest array that is shown as a whole, as in numpy."""
_EDGE = 3
_MOST_AXES = 4


def values_of(array: Any) -> str | None:
    """The values of a device array as numpy shows them; None where they cannot be read now, as
    while a graph is captured, or where there are too many axes. Of a large array the edges alone
    are copied."""
    try:
        if array._stream(0).capturing:
            return None
        if array.size <= _WHOLE:
            return np.array2string(array.copy_to_host(), separator=", ")
        if array.ndim > _MOST_AXES or array.dtype.names is not None:
            return None
        with np.printoptions(threshold=0, edgeitems=_EDGE):
            return np.array2string(edges(array, copied), separator=", ")
    except Exception:  # of the device, or of another thread's work: a repr raises nothing
        return None


def copied(array: Any) -> np.ndarray:
    """A device array on the host."""
    return array.copy_to_host()


def edges(array: Any, read: Callable[[Any], np.ndarray]) -> np.ndarray:
    """A small array that numpy shows as it would show a large one: its edges, and in each long axis
    an element between them that is left out. ``read`` copies a part of the large one."""
    parts = [
        [(slice(None), slice(None))]
        if extent <= 2 * _EDGE
        else [(slice(0, _EDGE),) * 2, (slice(-_EDGE, None),) * 2]
        for extent in array.shape
    ]
    shape = [extent if extent <= 2 * _EDGE else 2 * _EDGE + 1 for extent in array.shape]
    result = np.zeros(shape, array.dtype)
    for each in product(*parts):
        there, here = zip(*each)
        result[here] = read(array[there])
    return result


def text_of(array: Any, device: str) -> str:
    """The text of ``repr``."""
    name, values = type(array).__name__, values_of(array)
    if values is None:
        return f"<{name} shape={array.shape} dtype={array.dtype} on {device!r}>"
    indented = values.replace("\n", "\n" + " " * (len(name) + 1))
    large = f"shape={array.shape}, " if array.size > _WHOLE or not array.size else ""
    return f"{name}({indented}, {large}dtype={array.dtype}, device={device!r})"


def html_of(array: Any, device: str) -> str:
    """What a notebook shows."""
    from html import escape  # not at import: a script may be called html.py

    shape = " x ".join(map(str, array.shape)) or "scalar"
    facts = [shape, str(array.dtype), f"on {device}", f"{array.nbytes:,} bytes"]
    values = values_of(array)
    body = "" if values is None else f"<pre>{escape(values)}</pre>"
    title = f"<b>{escape(type(array).__name__)}</b> {escape(', '.join(facts))}"
    return f"<div>{title}{body}</div>"
