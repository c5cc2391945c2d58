"""The parameters of Python functions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_UNEVALUATED: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    from annotationlib import Format

    _UNEVALUATED["annotation_format"] = Format.FORWARDREF


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """``inspect.signature`` whatever annotations name: from Python 3.14 on that may be what is
    defined later, or for type checkers alone.

    >>> list(signature_of(lambda x, y=1: x).parameters)
    ['x', 'y']
    """
    return inspect.signature(function, **_UNEVALUATED)
