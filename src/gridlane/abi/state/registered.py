"""Kernels and variables of the program's own code: host addresses that are registered for those of
images.

A compiled program registers its images before ``main``. An image is loaded in a context at the
first use of one of its symbols there.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from gridlane.abi.failure import INVALID_DEVICE_FUNCTION, INVALID_SYMBOL, NOT_FOUND, Failure, fail
from gridlane.abi.state import libraries, modules, notices
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.libraries import Image, Library, LibraryKernel
from gridlane.abi.state.modules import Function
from gridlane.core import epochs
from gridlane.memory.addresses import AddressMap
from gridlane.memory.resource import Buffer


@dataclass(frozen=True, slots=True)
class Symbol:
    """The target of a host address: a kernel or a variable, by its name in an image."""

    image: int
    name: str
    address: int


_lock = threading.RLock()
_numbers = itertools.count(1)
_images: dict[int, Image] = {}
_libraries: dict[int, Library] = {}
_kernels: dict[int, Symbol] = {}
_variables: AddressMap[Symbol] = AddressMap()


def add_image(image: Image) -> int:
    """Register an image, and return its number."""
    with _lock:
        number = next(_numbers)
        _images[number] = image
        return number


def add_kernel(address: int, image: int, name: str) -> None:
    """Register a host function for a kernel."""
    with _lock:
        _kernels[address] = Symbol(image, name, address)
        epochs.code.changed()


def add_variable(address: int, size: int, image: int, name: str) -> None:
    """Register a host variable of some bytes for one of the device."""
    with _lock:
        _variables.add(address, max(1, size), Symbol(image, name, address))


def remove_image(image: int) -> None:
    """Forget an image and all addresses that are registered for its symbols."""
    with _lock:
        _images.pop(image, None)
        library = _libraries.pop(image, None)
        if library is not None:
            library.end()
        for symbol in [each for each in _kernels.values() if each.image == image]:
            del _kernels[symbol.address]
        for symbol in [each for each in _variables.pieces() if each.image == image]:
            _variables.remove(symbol.address)
        epochs.code.changed()


def _library(image: int) -> Library:
    """An image, which is loaded into each context that uses it."""
    with _lock:
        if image not in _libraries:
            _libraries[image] = Library(_images[image])
        return _libraries[image]


def is_kernel(address: int) -> bool:
    """Whether a host address is registered for a kernel."""
    return address in _kernels


def kernel(address: int) -> LibraryKernel:
    """The kernel that is registered for a host address, or that has it as its handle.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none; why its image cannot be loaded.
    """
    symbol = _kernels.get(address)
    if symbol is None:
        kernel_object = libraries.kernels.find(address)
        return kernel_object or fail(INVALID_DEVICE_FUNCTION, f"{address:#x} is no kernel")
    try:
        return _library(symbol.image).kernel(symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_DEVICE_FUNCTION, error.what)


def function(address: int, context: Context) -> Function:
    """The function of a context that is registered for a host address, or that has it as its
    handle, or whose kernel has it.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none; why its image cannot be loaded.
    """
    if address in _kernels:
        with notices.LaunchOf(_kernels[address].name):
            function_object = kernel(address).function(context)
        function_object.host = function_object.host or address
        return function_object
    return libraries.function_of(address, context, INVALID_DEVICE_FUNCTION)


def host_address(function: Function) -> int:
    """The host address that is registered for a function; its handle if it is no kernel of the
    program's own images."""
    return function.host if function.host in _kernels else function.handle


def variable(address: int, context: Context) -> tuple[Buffer, int]:
    """The variable of the device that a host address is in, and the offset of the address there.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none; why its image cannot be loaded.
    """
    variable_object = _variables.find(address, 0)
    if variable_object is None:
        fail(INVALID_SYMBOL, f"no variable of a device is registered for {address:#x}")
    symbol, offset = variable_object
    return image_variable(symbol.image, symbol.name, context), offset


def image_variable(image: int, name: str, context: Context) -> Buffer:
    """A variable of an image.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none; why the image cannot be loaded.
    """
    try:
        return modules.variable(_library(image).module(context), name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_SYMBOL, error.what)
