"""Kernels and variables of the program's own code: host addresses that stand for those of images.

A compiled program registers its images before ``main``. One is loaded in a context when something
of it is first used there.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass

from gridlane.abi.failure import NOT_FOUND, Failure, fail
from gridlane.abi.images import Units
from gridlane.abi.state import modules
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.libraries import Library, LibraryKernel, function_of, kernels
from gridlane.abi.state.modules import Function
from gridlane.abi.table import enums
from gridlane.memory.resource import Buffer

_ERRORS = enums()["cudaError_t"].values
INVALID_SYMBOL = _ERRORS["cudaErrorInvalidSymbol"]
INVALID_FUNCTION = _ERRORS["cudaErrorInvalidDeviceFunction"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a host address stands for: a kernel or a variable, by its name in an image."""

    image: int
    name: str


_lock = threading.RLock()
_numbers = itertools.count(1)
_images: dict[int, Callable[[], Units]] = {}
_libraries: dict[int, Library] = {}
_kernels: dict[int, Symbol] = {}
_variables: dict[int, Symbol] = {}


def add_image(units: Callable[[], Units]) -> int:
    """Register an image, and return its number.

    Args:
        units: gives what it consists of, when it is first needed.
    """
    with _lock:
        number = next(_numbers)
        _images[number] = units
        return number


def add_kernel(address: int, image: int, name: str) -> None:
    """Register a host function that stands for a kernel."""
    with _lock:
        _kernels[address] = Symbol(image, name)


def add_variable(address: int, image: int, name: str) -> None:
    """Register a host variable that stands for one of the device."""
    with _lock:
        _variables[address] = Symbol(image, name)


def remove_image(image: int) -> None:
    """Forget an image and all that stands for something of it."""
    with _lock:
        _images.pop(image, None)
        library = _libraries.pop(image, None)
        if library is not None:
            library.end()
        for table in (_kernels, _variables):
            for address in [a for a, symbol in table.items() if symbol.image == image]:
                del table[address]


def _library(image: int) -> Library:
    """An image, which is loaded into each context that uses it."""
    with _lock:
        if image not in _libraries:
            _libraries[image] = Library(_images[image]())
        return _libraries[image]


def is_kernel(address: int) -> bool:
    """Whether a host address stands for a kernel."""
    return address in _kernels


def kernel(address: int) -> LibraryKernel:
    """The kernel that a host address stands for, or that has it as its handle.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none.
    """
    symbol = _kernels.get(address)
    if symbol is None:
        found = kernels.find(address)
        return found or fail(INVALID_FUNCTION, f"{address:#x} is no kernel")
    try:
        return _library(symbol.image).kernel(symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_FUNCTION, error.what)


def function(address: int, context: Context) -> Function:
    """The function of a context that a host address stands for, or that has it as its handle, or
    whose kernel has.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none.
    """
    if address in _kernels:
        return kernel(address).function(context)
    return function_of(address, context, INVALID_FUNCTION)


def variable(address: int, context: Context) -> Buffer:
    """The variable of the device that a host address stands for.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none.
    """
    symbol = _variables.get(address)
    if symbol is None:
        fail(INVALID_SYMBOL, f"no variable of a device is registered for {address:#x}")
    try:
        return modules.variable(_library(symbol.image).module(context), symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_SYMBOL, error.what)
