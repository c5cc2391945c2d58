"""Functions that kernels can call, and the lookup from the objects that represent them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from gridlane.core import argtypes
from gridlane.core.options import KernelOptions
from gridlane.core.signatures import signature_of
from gridlane.frontends.python.scope import protocol


@dataclass(eq=False)
class DeviceFunction:
    """A Python function that kernels can call.

    Attributes:
        py_func: the function.
        options: the options that it was decorated with.
        signatures: declared signatures; the arguments of a call convert to the one that fits best.
            A return type of None is open.
        floats: what its Python floats are; None for what they are in the caller.
        is_library: it is gridlane's own, so errors in it and its ops have the place of the call.
        constants: the numbers of parameters whose arguments are compile-time constants in it.
    """

    py_func: Any
    options: KernelOptions = field(default_factory=KernelOptions)
    signatures: tuple[argtypes.Signature, ...] = ()
    floats: str | None = None
    is_library: bool = False
    constants: frozenset[int] = frozenset()

    @property
    def __gridlane_function__(self) -> DeviceFunction:
        return self

    @property
    def __name__(self) -> str:
        return self.py_func.__name__

    @cached_property
    def plain_parameters(self) -> int:
        """The number of parameters, or -1 where *args or keyword-only ones need binding."""
        kinds = [item.kind for item in signature_of(self.py_func).parameters.values()]
        plain = all(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)
        return len(kinds) if plain else -1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{self.py_func.__name__}() is a device function; call it in a kernel, or its Python "
            "function as .py_func(...)"
        )


@dataclass(frozen=True, eq=False)
class ConstantFunction:
    """A function of compile-time objects and constants that runs when the kernel is compiled.

    Attributes:
        py_func: the function. A TypeError or ValueError that it raises is the kernel's error, at
            the line of the call.
        facts: all that its result follows from besides its arguments, for the key of a kernel.
        needs: what its arguments have to be, for the error of one that is known at run time.
    """

    py_func: Any
    facts: Any = ()
    needs: str = ""

    @property
    def name(self) -> str:
        return self.py_func.__name__

    def __call__(self, *args: Any) -> Any:
        """What a kernel gets, on the host."""
        return self.py_func(*args)


def is_from_buffer(target: Any) -> bool:
    """Whether an object is the method ``from_buffer`` of cffi, which gives an array's address."""
    if not isinstance(target, (types.MethodType, types.BuiltinMethodType)):
        return False
    owner = type(target.__self__)
    return target.__name__ == "from_buffer" and owner.__module__ in ("cffi.api", "_cffi_backend")


class Link(Protocol):
    """Code of another language that defines functions.

    Attributes:
        identity: all that its functions follow from.
    """

    @property
    def identity(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True, eq=False)
class ForeignFunction:
    """A function of another language, as it is declared.

    Attributes:
        name: its symbol.
        signature: the types of its result and arguments.
        abi: one of ``abi.ABIS``.
        links: the code that defines it; where it is empty, that of the kernel.
        load: makes one PTX module of links.
        call: translates a call, by the translator, this, the arguments and the keywords.
    """

    name: str
    signature: argtypes.Signature
    abi: str
    links: tuple[Link, ...]
    load: Callable[[tuple[Link, ...]], Any]
    call: Callable[..., Any]

    @property
    def __gridlane_foreign__(self) -> ForeignFunction:
        return self

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def sig(self) -> argtypes.Signature:
        """The signature, by numba's name for it."""
        return self.signature

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name}() is a function of a device; call it in a kernel")


def foreign_of(target: Any) -> ForeignFunction | None:
    """The foreign function that an object declares, or None."""
    foreign = protocol(target, "__gridlane_foreign__")
    return foreign if isinstance(foreign, ForeignFunction) else None


def key_of(links: tuple[Link, ...]) -> tuple[Any, ...]:
    """All that the functions of some code follow from."""
    return tuple([each.identity for each in links])


def device_function_of(target: Any) -> DeviceFunction | None:
    """The device function that an object represents, or None."""
    device_function = protocol(target, "__gridlane_function__")
    return device_function if isinstance(device_function, DeviceFunction) else None
