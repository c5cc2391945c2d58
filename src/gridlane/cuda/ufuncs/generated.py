"""Functions generated from text, with their source where Python's tools look for it."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

_numbers = itertools.count()


def define(name: str, text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Define the function ``name`` by ``text``, with ``names`` as its globals."""
    file = f"<gridlane generated {next(_numbers)}: {name}>"
    # No modification time, so that linecache.checkcache leaves the entry alone.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]
