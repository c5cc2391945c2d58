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
from gridlane.abi.state import modules
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.modules import Function, Module
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
_images: dict[int, Callable[[], str]] = {}
_kernels: dict[int, Symbol] = {}
_variables: dict[int, Symbol] = {}


def add_image(text: Callable[[], str]) -> int:
    """Register an image, and return its number.

    Args:
        text: gives its PTX, when it is first needed.
    """
    with _lock:
        number = next(_numbers)
        _images[number] = text
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
        for table in (_kernels, _variables):
            for address in [a for a, symbol in table.items() if symbol.image == image]:
                del table[address]


def _module(image: int, context: Context) -> Module:
    """An image as it is loaded in a context."""
    with _lock:
        loaded: dict[int, Module] = context.kept.setdefault("images", {})
        if image not in loaded:
            loaded[image] = modules.load(context, _images[image]())
        return loaded[image]


def is_kernel(address: int) -> bool:
    """Whether a host address stands for a kernel."""
    return address in _kernels


def function(address: int, context: Context) -> Function:
    """The kernel that a host address stands for, or that has it as its handle.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none.
    """
    symbol = _kernels.get(address)
    if symbol is None:
        found = modules.functions.find(address)
        return found or fail(INVALID_FUNCTION, f"{address:#x} is no kernel")
    try:
        return modules.function(_module(symbol.image, context), symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_FUNCTION, error.what)


def variable(address: int, context: Context) -> Buffer:
    """The variable of the device that a host address stands for.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none.
    """
    symbol = _variables.get(address)
    if symbol is None:
        fail(INVALID_SYMBOL, f"no variable of a device is registered for {address:#x}")
    try:
        return modules.variable(_module(symbol.image, context), symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_SYMBOL, error.what)
