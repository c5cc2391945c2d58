"""The part of ``import objc`` that gridlane uses, with the accounting of ownership.

An object of Metal lives while its retain count is above 0. Python's proxy of it holds one. The
result of a method ``new…`` carries another, which the caller owns, and pyobjc never releases that
unless it is told that the result is ``already_retained``. Results of other methods are in the
innermost autorelease pool, and leak without one.
"""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from gridlane.runtime.drivers.metal.selectors import SELECTORS, types_of

living: Counter[str] = Counter()
"""Objects with a retain count above 0, by class."""
unpooled: Counter[str] = Counter()
"""Objects that were autoreleased with no pool in place, by class: they leak."""
called: set[tuple[str, str]] = set()
"""(class, selector) of each method that was called."""

_metadata: dict[bytes, dict[str, Any]] = {}
_pools = threading.local()


class MetalAssertion(AssertionError):
    """A violation for which Metal's validation ends the process."""


def require(holds: object, text: str) -> None:
    """Raise MetalAssertion unless a condition holds."""
    if not holds:
        raise MetalAssertion(text)


@contextmanager
def autorelease_pool() -> Generator[None]:
    """Like pyobjc's: release autoreleased objects at the end of the with block."""
    before = getattr(_pools, "top", None)
    _pools.top = mine = []
    try:
        yield
    finally:
        _pools.top = before
        for ownership in mine:
            ownership.release()


def registerMetaDataForSelector(  # pyobjc's name
    class_: bytes, selector: bytes, metadata: dict[str, Any]
) -> None:
    """Like pyobjc's: set the metadata of a selector from now on."""
    require(class_ == b"NSObject", "protocols' methods are registered for NSObject")
    _metadata[selector] = metadata


class Ownership:
    """The retain count of an object, separate from its proxy."""

    def __init__(self, kind: str, end: Callable[[], object] | None) -> None:
        self.kind, self.count, self._end = kind, 0, end
        self._lock = threading.RLock()

    def retain(self) -> None:
        """Add an owner."""
        with self._lock:
            self.count += 1
            if self.count == 1:
                living[self.kind] += 1

    def release(self) -> None:
        """Remove an owner; the last one ends the object."""
        with self._lock:
            self.count -= 1
            if self.count:
                return
            living[self.kind] -= 1
        if self._end is not None:
            self._end()


class Object:
    """Base of the classes: looks up methods by selector, and checks their calls."""

    def __init__(self, end: Callable[[], object] | None = None) -> None:
        self._ownership = Ownership(type(self).__name__, end)
        self._ownership.retain()  # the proxy's
        weakref.finalize(self, self._ownership.release).atexit = False

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        kind = type(self).__name__
        selector = name.replace("_", ":")
        signature = SELECTORS[kind].get(selector)
        if signature is None or selector.count(":") != len(types_of(signature)) - 1:
            raise AttributeError(f"{kind}: the selector {selector!r} does not exist in Metal")
        called.add((kind, selector))
        method = object.__getattribute__(self, name)
        return lambda *arguments: _checked(kind, selector, signature, method, arguments)

    def __setattr__(self, name: str, value: object) -> None:
        require(name.startswith("_"), f"{type(self).__name__} has no attribute {name} to set")
        object.__setattr__(self, name, value)


def _checked(
    kind: str, selector: str, signature: str, method: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    _, *wanted = types_of(signature)
    what = f"-[{kind} {selector}]"
    require(len(arguments) == len(wanted), f"{what} takes {len(wanted)} arguments")
    for number, (argument, letter) in enumerate(zip(arguments, wanted)):
        require(_fits(argument, letter), f"{what}: argument {number} is {argument!r:.60}")
    result = method(*arguments)
    own = result[0] if wanted and wanted[-1] == "^@" else result
    if isinstance(own, Object):
        _hand_over(own, selector)
    if own is not result and isinstance(result[1], Object):
        autorelease(result[1]._ownership)
    return result


def _fits(argument: Any, letter: str) -> bool:
    if letter in ("Q", "q"):
        least, most = (0, 2**64) if letter == "Q" else (-(2**63), 2**63)
        return isinstance(argument, int) and least <= argument < most
    if letter == "S":
        return isinstance(argument, tuple) and len(argument) == 3
    if letter in ("^@", "0"):
        return argument is None
    if letter == "^v":
        return isinstance(argument, bytes | bytearray | memoryview)
    if isinstance(argument, list):
        return all(isinstance(each, Object) for each in argument)
    return isinstance(argument, Object | str)


def _hand_over(proxy: Object, selector: str) -> None:
    """Record the owner of a method's result besides the proxy."""
    ownership = proxy._ownership
    if selector.startswith("new"):
        known = _metadata.get(selector.encode(), {})
        if not known.get("retval", {}).get("already_retained"):
            ownership.retain()  # the caller's, which pyobjc forgets
        return
    autorelease(ownership)


def autorelease(ownership: Ownership) -> None:
    """Retain an object until the innermost pool ends."""
    ownership.retain()
    pool = getattr(_pools, "top", None)
    if pool is None:
        unpooled[ownership.kind] += 1
    else:
        pool.append(ownership)
