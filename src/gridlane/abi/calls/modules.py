"""Modules: images that are loaded, their kernels and variables."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from gridlane.abi import images
from gridlane.abi.calls import jit
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import FILE_NOT_FOUND, INVALID_VALUE, fail
from gridlane.abi.images import Units
from gridlane.abi.state import contexts, modules


def loaded(units: Units, options: jit.Options, name: str = "") -> int:
    """Load images into the current context; their errors are written to the log as well."""
    context = contexts.current()
    with options.logged() as log:
        module = images.module(units, context.device, name)
        log.extend(module.notes)
        return modules.load(context, module).handle


@implements("cuModuleLoadDataEx")
def load_data_with_options(image: int, count: int, options: int, values: int) -> int:
    """Load an image from memory; see ``jit`` for what the options do."""
    read = jit.Options(count, options, values)
    with read.logged():
        units = images.at(image)
    return loaded(units, read)


@implements("cuModuleLoad")
def load(path: bytes) -> int:
    """Load an image from a file."""
    return loaded((file(path),), jit.Options(), path.decode(errors="replace"))


def file(path: bytes | None) -> bytes:
    """The image in a file.

    Raises:
        Failure: INVALID_VALUE, there is no name; FILE_NOT_FOUND, no such file.
    """
    if not path:
        fail(INVALID_VALUE, "no name of a file")
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except (OSError, ValueError) as error:
        fail(FILE_NOT_FOUND, str(error))


@implements("cuModuleEnumerateFunctions")
def enumerate_functions(count: int, handle: int) -> list[int]:
    """The first kernels of a module."""
    module = modules.modules.get(handle)
    names = itertools.islice(module.code.module.entries, count)
    return [modules.function(module, name).handle for name in names]


@implements("cuModuleGetGlobal_v2")
def get_global(handle: int, name: bytes) -> tuple[int, int]:
    """The address and the bytes of a variable."""
    variable = modules.variable(modules.modules.get(handle), name.decode())
    return variable.address, variable.size
