"""The parts of ufuncs: device functions, and functions generated from text, with their source
registered for Python's tools."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_numbers = itertools.count()


def core_of(function: Callable[..., Any], floats: str | None, where: str) -> Dispatcher:
    """The device function that a ufunc is made of."""
    if not isinstance(function, Dispatcher):
        return jit(function, device=True, floats=floats)  # type: ignore[arg-type]  # jit checks it
    if floats is not None:
        raise TypeError(
            f"{where}: floats={floats!r} of {function.__name__}, which is a device function "
            "already; give the option to its cuda.jit"
        )
    return function


def define(name: str, text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Define the function ``name`` by ``text``, with ``names`` as its globals."""
    file = f"<gridlane generated {next(_numbers)}: {name}>"
    # No modification time, so that linecache.checkcache leaves the entry alone.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]
