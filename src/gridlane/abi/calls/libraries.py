"""Libraries and their kernels, which belong to no context."""

from __future__ import annotations

import itertools

from gridlane.abi import images, raw
from gridlane.abi.calls import jit
from gridlane.abi.calls.function_attributes import Attributes
from gridlane.abi.calls.modules import file
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    INVALID_VALUE,
    NOT_FOUND,
    NOT_SUPPORTED,
    fail,
)
from gridlane.abi.images import Units
from gridlane.abi.state import contexts, devices, libraries, modules
from gridlane.abi.state.libraries import Library, LibraryKernel
from gridlane.core.cuda_table import enums
from gridlane.modules.parameters import placed

_OPTIONS = enums()["CUlibraryOption"].values
_TABLE, _PRESERVED = (
    _OPTIONS[f"CU_LIBRARY_{name}"]
    for name in ("HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE", "BINARY_IS_PRESERVED")
)


def check_options(count: int, numbers: int, values: int) -> None:
    """Raise for an option that does not exist, or that gridlane does not have."""
    if count and not (numbers and values):
        fail(INVALID_VALUE, f"{count} options without their numbers or values")
    if count > len(_OPTIONS):
        fail(INVALID_VALUE, f"{count} options; there are {len(_OPTIONS) - 1}")
    for number in raw.numbers(numbers, count):
        if number == _TABLE:
            fail(NOT_SUPPORTED, "tables of functions with one address on host and device")
        if number != _PRESERVED:  # the code is copied in any case
            fail(INVALID_VALUE, f"no option of a library has the number {number}")


def from_memory(code: int, options: jit.Options) -> int:
    """Load a library from memory."""
    with options.logged():
        units = images.at(code)
    return _loaded(units, options)


def from_file(path: bytes, options: jit.Options) -> int:
    """Load a library from a file."""
    return _loaded((file(path),), options, path.decode(errors="replace"))


def _loaded(units: Units, options: jit.Options, name: str = "") -> int:
    with options.logged() as log:
        library = Library(lambda device: images.module(units, device, name))
        log.extend(library.text(0).notes)
        return library.handle


@implements("cuLibraryUnload", "cudaLibraryUnload")
def unload(handle: int) -> None:
    """End a library, and its modules in all contexts."""
    library = libraries.libraries.find(handle)
    if library is None:
        fail(INVALID_VALUE, f"{handle:#x} is no library")
    library.end()


def library_of(handle: int) -> Library:
    """A library by its handle."""
    return libraries.libraries.get(handle)


def kernel_of(handle: int) -> LibraryKernel:
    """A kernel of a library by its handle."""
    return libraries.kernels.get(handle)


def text_of(name: bytes | None) -> str:
    """A name as text."""
    return name.decode(errors="replace") if name else fail(INVALID_VALUE, "no name")


@implements("cuLibraryEnumerateKernels", "cudaLibraryEnumerateKernels")
def enumerate_kernels(count: int, handle: int) -> list[int]:
    """The first kernels of a library."""
    library = library_of(handle)
    names = itertools.islice(library.text(0).entries, count)
    return [library.kernel(name).handle for name in names]


@implements("cuLibraryGetGlobal", "cudaLibraryGetGlobal")
def get_global(handle: int, name: bytes) -> tuple[int, int]:
    """The address and the bytes of a variable in the current context."""
    variable = modules.variable(library_of(handle).module(contexts.current()), text_of(name))
    return variable.address, variable.size


@implements("cuLibraryGetManaged", "cudaLibraryGetManaged")
def get_managed(handle: int, name: bytes) -> tuple[int, int]:
    """The address and the bytes of a managed variable."""
    library, context = library_of(handle), contexts.current()
    known = libraries.managed(library.text(context.ordinal))
    if text_of(name) not in known:
        message = ", ".join(known) or "none"
        fail(NOT_FOUND, f"there is no managed variable {text_of(name)}; there are: {message}")
    return get_global(handle, name)


@implements("cuLibraryGetUnifiedFunction", "cudaLibraryGetUnifiedFunction")
def get_unified_function(handle: int, name: bytes) -> int:
    """Refuse: no device shares its functions' addresses with the host."""
    if libraries.has_unified(library_of(handle).text(0)):
        fail(NOT_SUPPORTED, "functions with one address on host and device")
    fail(NOT_FOUND, f"there is no unified function {text_of(name)}")


# --- kernels ---


def known_kernel(handle: int) -> LibraryKernel:
    """A kernel for calls whose only error for a wrong handle is INVALID_VALUE."""
    kernel = libraries.kernels.find(handle)
    return kernel if kernel is not None else fail(INVALID_VALUE, f"{handle:#x} is no kernel")


@implements("cuKernelGetParamInfo")
def get_parameter(handle: int, index: int) -> tuple[int, int]:
    """The offset and the size of a parameter."""
    kernel = known_kernel(handle)
    params = placed(kernel.code(0).source.entry.params)
    if index >= len(params):
        message = f"{kernel.name} has {len(params)} parameters, and none of the number {index}"
        fail(INVALID_VALUE, message)
    param, start = params[index]
    return start, param.size


def attributes_of(kernel: LibraryKernel, ordinal: int) -> Attributes:
    """The attributes of a kernel on a device."""
    device = devices.device(ordinal)
    own = kernel.attributes.setdefault(ordinal, {})
    return Attributes(kernel.code(ordinal), device, own)


# --- the runtime's own ---
