"""Kernels and variables of the program's own code: host addresses that stand for those of images.

A compiled program registers its images before ``main``. One is loaded in a context when something
of it is first used there.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass

from gridlane.abi.failure import INVALID_DEVICE_FUNCTION, INVALID_SYMBOL, NOT_FOUND, Failure, fail
from gridlane.abi.state import libraries, modules
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.modules import Function, Module
from gridlane.frontends.ptx import PtxModule
from gridlane.memory.addresses import AddressMap
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

Image = Callable[[Device], PtxModule]
"""Gives the PTX of an image for a device, when it is first needed."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a host address stands for: a kernel or a variable, by its name in an image."""

    image: int
    name: str
    address: int


_lock = threading.RLock()
_numbers = itertools.count(1)
_images: dict[int, Image] = {}
_kernels: dict[int, Symbol] = {}
_variables: AddressMap[Symbol] = AddressMap()


def add_image(image: Image) -> int:
    """Register an image, and return its number."""
    with _lock:
        number = next(_numbers)
        _images[number] = image
        return number


def add_kernel(address: int, image: int, name: str) -> None:
    """Register a host function that stands for a kernel."""
    with _lock:
        _kernels[address] = Symbol(image, name, address)


def add_variable(address: int, size: int, image: int, name: str) -> None:
    """Register a host variable of some bytes that stands for one of the device."""
    with _lock:
        _variables.add(address, max(1, size), Symbol(image, name, address))


def remove_image(image: int) -> None:
    """Forget an image and all that stands for something of it."""
    with _lock:
        _images.pop(image, None)
        for symbol in [each for each in _kernels.values() if each.image == image]:
            del _kernels[symbol.address]
        for symbol in [each for each in _variables.pieces() if each.image == image]:
            _variables.remove(symbol.address)


def _module(image: int, context: Context) -> Module:
    """An image as it is loaded in a context."""
    with _lock:
        loaded: dict[int, Module] = context.kept.setdefault("images", {})
        if image not in loaded:
            loaded[image] = modules.load(context, _images[image](context.device))
        return loaded[image]


def is_kernel(address: int) -> bool:
    """Whether a host address stands for a kernel."""
    return address in _kernels


def function(address: int, context: Context) -> Function:
    """The kernel that a host address stands for, or that has it as its handle.

    Raises:
        Failure: cudaErrorInvalidDeviceFunction, there is none; why its image cannot be loaded.
    """
    symbol = _kernels.get(address)
    if symbol is None:
        return libraries.function_of(address, context, INVALID_DEVICE_FUNCTION)
    try:
        return modules.function(_module(symbol.image, context), symbol.name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_DEVICE_FUNCTION, error.what)


def variable(address: int, context: Context) -> tuple[Buffer, int]:
    """The variable of the device that a host address is in, and the offset of the address there.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none; why its image cannot be loaded.
    """
    found = _variables.find(address, 0)
    if found is None:
        fail(INVALID_SYMBOL, f"no variable of a device is registered for {address:#x}")
    symbol, offset = found
    return image_variable(symbol.image, symbol.name, context), offset


def image_variable(image: int, name: str, context: Context) -> Buffer:
    """A variable of an image.

    Raises:
        Failure: cudaErrorInvalidSymbol, there is none; why the image cannot be loaded.
    """
    try:
        return modules.variable(_module(image, context), name)
    except Failure as error:
        if error.number != NOT_FOUND:
            raise
        fail(INVALID_SYMBOL, error.what)
