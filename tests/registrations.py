"""The registrations of types and functions that programs make, and which hold for a process."""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.cuda.extending import lowers
from gridlane.cuda.kernels.user_types import typeof_impl
from gridlane.frontends.python.extensions import EXTENSIONS


@contextmanager
def restored() -> Generator[None]:
    """Undo the registrations of the block. Those that stayed would take the disk cache from every
    kernel of the process that reads an attribute of such a name."""
    tables = [EXTENSIONS.functions, EXTENSIONS.members, EXTENSIONS.models, EXTENSIONS.known]
    tables += [lowers._FUNCTIONS, lowers._ATTRIBUTES, typeof_impl._functions]
    kept, operators = [copy.copy(each) for each in tables], EXTENSIONS.operators
    lists = [{key: list(value) for key, value in tables[n].items()} for n in (0, 1)]
    try:
        yield
    finally:
        for table, old in zip(tables, kept, strict=True):
            table.clear()
            table.update(old)
        for number, old in enumerate(lists):
            tables[number].update(old)
        EXTENSIONS.operators = operators
