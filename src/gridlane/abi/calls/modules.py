"""Modules: PTX that is loaded, its kernels and variables."""

from __future__ import annotations

import itertools
from pathlib import Path

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    FILE_NOT_FOUND,
    INVALID_IMAGE,
    INVALID_VALUE,
    NO_BINARY_FOR_GPU,
    fail,
)
from gridlane.abi.state import contexts, modules

_ELF = b"\x7fELF"
_FATBIN = b"\x50\xed\x55\xba"


def text_of(image: bytes) -> str:
    """The PTX of an image.

    Raises:
        Failure: NO_BINARY_FOR_GPU for machine code; INVALID_IMAGE for what is no text.
    """
    if image.startswith(_ELF):
        fail(
            NO_BINARY_FOR_GPU,
            "the image is machine code of one NVIDIA GPU (a cubin): compile with "
            "-gencode arch=compute_80,code=compute_80, so that it holds PTX",
        )
    if image.startswith(_FATBIN):
        fail(INVALID_IMAGE, "the image is a fatbin, which this version does not read: pass the PTX")
    try:
        return image.rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        fail(INVALID_IMAGE, f"the image is no text: {error}")


def at(address: int) -> bytes:
    """The image at an address: up to a NUL for text."""
    if not address:
        fail(INVALID_VALUE, "no image")
    start = bytes(raw.view(address, 4))
    return start if start in (_ELF, _FATBIN) else raw.text(address)


@implements("cuModuleLoadData")
def load_data(image: int) -> int:
    """Load an image from memory."""
    return modules.load(contexts.current(), text_of(at(image))).handle


@implements("cuModuleLoadDataEx")
def load_data_with_options(image: int, count: int, options: int, values: int) -> int:
    """Load an image from memory; options of the vendor's compiler have no meaning here."""
    if count and not (options and values):
        fail(INVALID_VALUE, f"{count} options without their values")
    return load_data(image)


@implements("cuModuleLoad")
def load(path: bytes) -> int:
    """Load an image from a file."""
    try:
        image = Path(path.decode()).read_bytes()
    except OSError as error:
        fail(FILE_NOT_FOUND, str(error))
    return modules.load(contexts.current(), text_of(image), path.decode()).handle


@implements("cuModuleUnload")
def unload(handle: int) -> None:
    """End a module."""
    contexts.current()
    modules.unload(handle)


@implements("cuModuleGetFunction")
def get_function(handle: int, name: bytes) -> int:
    """A kernel by its name."""
    contexts.current()
    return modules.function(modules.modules.get(handle), name.decode()).handle


@implements("cuModuleGetFunctionCount")
def function_count(handle: int) -> int:
    """The number of kernels."""
    return len(modules.modules.get(handle).code.module.entries)


@implements("cuModuleEnumerateFunctions")
def enumerate_functions(count: int, handle: int) -> list[int]:
    """The first kernels of a module."""
    module = modules.modules.get(handle)
    names = itertools.islice(module.code.module.entries, count)
    return [modules.function(module, name).handle for name in names]


@implements("cuModuleGetGlobal_v2")
def get_global(handle: int, name: bytes) -> tuple[int, int]:
    """The address and the bytes of a variable."""
    found = modules.variable(modules.modules.get(handle), name.decode())
    return found.address, found.size


@implements("cuModuleGetLoadingMode")
def loading_mode() -> int:
    """Lazy: nothing is compiled before it is needed."""
    return 2
