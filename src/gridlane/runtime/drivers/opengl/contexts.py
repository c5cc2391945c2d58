"""Contexts of OpenGL 4.3, by moderngl, or else of OpenGL ES 3.1, by EGL.

Entering a context (``with``) makes it the calling thread's current one; leaving it releases it. A
context is current on one thread at a time, and other libraries may have contexts of their own.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import TracebackType
from typing import Any

from gridlane.core.device_errors import no_device
from gridlane.core.extras import install
from gridlane.runtime.drivers.opengl.api import egl

_MOST = 16
"""The largest number of EGL devices that are queried."""
_PLATFORM_DEVICE = 0x313F
_ES_API = 0x30A0
_ES3_BIT, _RENDERABLE, _SURFACE, _PBUFFER, _NONE = 0x40, 0x3040, 0x3033, 1, 0x3038
_MAJOR, _MINOR = 0x3098, 0x30FB
_DRAW, _READ = 0x3059, 0x305A


class Context:
    """A context that one thread after another enters, nested if it likes. Leaving it restores the
    thread's previous context.

    Args:
        made: moderngl's or an EsContext; entering it makes it current.

    Attributes:
        es: whether it is one of OpenGL ES.
    """

    def __init__(self, made: Any, es: bool) -> None:
        self._made, self.es = made, es
        self._lock = threading.RLock()
        self._depth = 0
        self._before: _Current | None = None
        self._handle: int | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._depth:
            self._depth += 1
            return
        before = _Current()
        try:
            self._made.__enter__()
            self._check()
        except BaseException:
            before.restore()
            self._lock.release()
            raise
        # In one line: a signal handler may enter after it.
        self._before, self._depth = before, 1

    def _check(self) -> None:
        """Refuse to work in another context than this one: moderngl does not report that EGL failed
        to make it current, as it is current on another thread.

        Raises:
            OSError: another context is current.
        """
        current = _egl("eglGetCurrentContext")()
        if current is None or current != (self._handle or current):
            raise OSError("eglMakeCurrent failed: the context is current on another thread")
        self._handle = current

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._depth = self._before, self._depth - 1
        try:
            if not self._depth and before is not None:
                before.restore()
        finally:
            self._lock.release()

    def end(self) -> None:
        """Destroy the context."""
        with self._lock:
            self._made.release()


@cache
def bindings() -> Any:
    """Import the module ``moderngl``.

    Raises:
        DeviceError: what is missing, and how to get it.
    """
    try:
        return import_module("moderngl")  # the extra ``opengl``; loaded when asked for
    except ImportError as error:
        message = f"the package moderngl does not load ({error})"
        no_device("opengl", message, install("opengl"))


def _desktop(index: int) -> Context:
    context = bindings().create_context(
        standalone=True, backend="egl", require=430, device_index=index
    )
    context.__exit__(None, None, None)  # it is current from the start
    return Context(context, es=False)


def _embedded(index: int) -> Context:
    return Context(EsContext(index), es=True)


@cache
def usable() -> tuple[Callable[[], Context], ...]:
    """A context factory for each EGL device that supports one.

    Raises:
        DeviceError: OPENGL_NO_DEVICE, no device supports one.
    """
    bindings()
    factories: list[Callable[[], Context]] = []
    message = ""
    for index in range(min(_MOST, _devices())):
        for make in (_desktop, _embedded):
            try:
                make(index).end()
            except Exception as error:  # the loader raises any exception
                message = message or str(error)
                continue
            factories.append(partial(make, index))
            break
    if not factories:
        no_device(
            "opengl",
            f"EGL shows no device with OpenGL 4.3 or OpenGL ES 3.1 ({message or 'it has none'})",
            "install a driver (for the CPU: Debian's libegl1 and libgl1-mesa-dri)",
        )
    return tuple(factories)


# --- EGL ---

_POINTER, _NUMBER, _NUMBERS = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int)
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "eglQueryDevicesEXT": (ctypes.c_uint, _NUMBER, ctypes.POINTER(_POINTER), _NUMBERS),
    "eglGetPlatformDisplayEXT": (_POINTER, ctypes.c_uint, _POINTER, _POINTER),
    "eglInitialize": (ctypes.c_uint, _POINTER, _POINTER, _POINTER),
    "eglChooseConfig": (ctypes.c_uint, _POINTER, _NUMBERS, _POINTER, _NUMBER, _NUMBERS),
    "eglCreateContext": (_POINTER, _POINTER, _POINTER, _POINTER, _NUMBERS),
    "eglDestroyContext": (ctypes.c_uint, _POINTER, _POINTER),
    "eglMakeCurrent": (ctypes.c_uint, _POINTER, _POINTER, _POINTER, _POINTER),
    "eglBindAPI": (ctypes.c_uint, ctypes.c_uint),
    "eglQueryAPI": (ctypes.c_uint,),
    "eglGetCurrentContext": (_POINTER,),
    "eglGetCurrentDisplay": (_POINTER,),
    "eglGetCurrentSurface": (_POINTER, _NUMBER),
}


@cache
def _egl(name: str) -> Any:
    """A function of EGL; the table has its types."""
    address = egl().eglGetProcAddress(name.encode())
    if not address:
        raise OSError(f"EGL has no {name}")
    return ctypes.CFUNCTYPE(*_FUNCTIONS[name])(address)


class _Current:
    """The calling thread's current context and surfaces."""

    __slots__ = ("api", "context", "display", "draw", "read")

    def __init__(self) -> None:
        self.api, self.context = _egl("eglQueryAPI")(), _egl("eglGetCurrentContext")()
        if self.context:
            surface = _egl("eglGetCurrentSurface")
            self.display = _egl("eglGetCurrentDisplay")()
            self.draw, self.read = surface(_DRAW), surface(_READ)

    def restore(self) -> None:
        """Make them current again."""
        make = _egl("eglMakeCurrent")
        display = _egl("eglGetCurrentDisplay")()
        if display:
            make(display, None, None, None)
        _egl("eglBindAPI")(self.api)
        if self.context:
            make(self.display, self.draw, self.read, self.context)


def _listed() -> list[int]:
    devices, count = (_POINTER * _MOST)(), _NUMBER()
    if not _egl("eglQueryDevicesEXT")(_MOST, devices, count):
        return []
    return [devices[n] or 0 for n in range(count.value)]


def _devices() -> int:
    try:
        return len(_listed())
    except OSError:
        return 0


class EsContext:
    """A context of OpenGL ES 3.1 without a surface."""

    def __init__(self, index: int) -> None:
        self._display = _egl("eglGetPlatformDisplayEXT")(_PLATFORM_DEVICE, _listed()[index], None)
        if not self._display or not _egl("eglInitialize")(self._display, None, None):
            raise OSError("eglInitialize failed")
        config, count = _POINTER(), _NUMBER()
        wanted = (_NUMBER * 5)(_SURFACE, _PBUFFER, _RENDERABLE, _ES3_BIT, _NONE)
        choose = _egl("eglChooseConfig")
        chosen = choose(self._display, wanted, ctypes.addressof(config), 1, count)
        version = (_NUMBER * 5)(_MAJOR, 3, _MINOR, 1, _NONE)
        before = _egl("eglQueryAPI")()
        _egl("eglBindAPI")(_ES_API)
        create = _egl("eglCreateContext")
        used = config if chosen and count.value else None
        self._made = create(self._display, used, None, version)
        _egl("eglBindAPI")(before)
        if not self._made:
            raise OSError("no OpenGL ES 3.1")

    def __enter__(self) -> None:
        _egl("eglBindAPI")(_ES_API)
        if not _egl("eglMakeCurrent")(self._display, None, None, self._made):
            raise OSError("eglMakeCurrent failed")

    def release(self) -> None:
        """Destroy the context."""
        _egl("eglDestroyContext")(self._display, self._made)
