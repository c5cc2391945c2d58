"""Contexts of OpenGL 4.3, by moderngl, and of OpenGL ES 3.1 where there is none, by EGL.

A context is entered (``with``) to be the calling thread's current one, and left again, as it can be
that of one thread at a time and as others may have contexts of theirs.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import TracebackType
from typing import Any

from gridlane.runtime.drivers.opengl.api import egl
from gridlane.runtime.errors import NO_DEVICE, fail

_MOST = 16
"""Devices of EGL that are looked for."""
_PLATFORM_DEVICE = 0x313F
_ES_API = 0x30A0
_ES3_BIT, _RENDERABLE, _SURFACE, _PBUFFER, _NONE = 0x40, 0x3040, 0x3033, 1, 0x3038
_MAJOR, _MINOR = 0x3098, 0x30FB
_DRAW, _READ = 0x3059, 0x305A


class Context:
    """A context that one thread after another enters, as often as it likes.

    Attributes:
        es: it is one of OpenGL ES.
    """

    def __init__(self, made: Any, es: bool) -> None:
        self._made, self.es = made, es
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        if not self._depth:
            try:
                self._made.__enter__()
            except BaseException:
                self._lock.release()
                raise
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        try:
            if not self._depth:
                self._made.__exit__(None, None, None)
        finally:
            self._lock.release()

    def end(self) -> None:
        """Destroy it."""
        with self._lock:
            self._made.release()


@cache
def bindings() -> Any:
    """The module ``moderngl``.

    Raises:
        DeviceError: what is missing, and how to get it.
    """
    try:
        return import_module("moderngl")  # the extra ``opengl``; loaded when asked for
    except ImportError as error:
        told = f"the package moderngl does not load ({error})"
        fail(NO_DEVICE, told, "pip install gridlane[opengl]")


def _desktop(index: int) -> Context:
    made = bindings().create_context(
        standalone=True, backend="egl", require=430, device_index=index
    )
    made.__exit__(None, None, None)  # it is current from the start
    return Context(made, es=False)


def _embedded(index: int) -> Context:
    return Context(EsContext(index), es=True)


@cache
def usable() -> tuple[Callable[[], Context], ...]:
    """What makes a context, of each device of EGL that has one.

    Raises:
        DeviceError: NO_DEVICE, there is none.
    """
    bindings()
    found: list[Callable[[], Context]] = []
    told = ""
    for index in range(min(_MOST, _devices())):
        for make in (_desktop, _embedded):
            try:
                make(index).end()
            except Exception as error:  # the loader raises whatever it likes
                told = told or str(error)
                continue
            found.append(partial(make, index))
            break
    if not found:
        fail(
            NO_DEVICE,
            f"EGL shows no device with OpenGL 4.3 or OpenGL ES 3.1 ({told or 'it has none'})",
            "install a driver (for the CPU: Debian's libegl1 and libgl1-mesa-dri)",
        )
    return tuple(found)


# --- EGL ---


def _function(name: str, returned: Any, *taken: Any) -> Any:
    found = egl().eglGetProcAddress(name.encode())
    if not found:
        raise OSError(f"EGL has no {name}")
    return ctypes.CFUNCTYPE(returned, *taken)(found)


def _listed() -> list[int]:
    query = _function(
        "eglQueryDevicesEXT",
        ctypes.c_uint,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_int),
    )
    devices, count = (ctypes.c_void_p * _MOST)(), ctypes.c_int()
    if not query(_MOST, devices, count):
        return []
    return [devices[n] or 0 for n in range(count.value)]


def _devices() -> int:
    try:
        return len(_listed())
    except OSError:
        return 0


class EsContext:
    """A context of OpenGL ES 3.1 without a surface, with what moderngl's have of methods."""

    def __init__(self, index: int) -> None:
        pointer, number, attributes = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int)
        display_of = _function("eglGetPlatformDisplayEXT", pointer, ctypes.c_uint, pointer, pointer)
        initialize = _function("eglInitialize", ctypes.c_uint, pointer, pointer, pointer)
        choose = _function(
            "eglChooseConfig", ctypes.c_uint, pointer, attributes, pointer, number, attributes
        )
        create = _function("eglCreateContext", pointer, pointer, pointer, pointer, attributes)
        self._make = _function("eglMakeCurrent", ctypes.c_uint, pointer, pointer, pointer, pointer)
        self._destroy = _function("eglDestroyContext", ctypes.c_uint, pointer, pointer)
        self._bind = _function("eglBindAPI", ctypes.c_uint, ctypes.c_uint)
        self._api = _function("eglQueryAPI", ctypes.c_uint)
        self._current = _function("eglGetCurrentContext", pointer)
        self._shown = _function("eglGetCurrentDisplay", pointer)
        self._surface = _function("eglGetCurrentSurface", pointer, number)
        self._display = display_of(_PLATFORM_DEVICE, _listed()[index], None)
        if not self._display or not initialize(self._display, None, None):
            raise OSError("eglInitialize failed")
        before, config, count = self._api(), pointer(), ctypes.c_int()
        wanted = (number * 5)(_SURFACE, _PBUFFER, _RENDERABLE, _ES3_BIT, _NONE)
        chosen = choose(self._display, wanted, ctypes.addressof(config), 1, count)
        self._bind(_ES_API)
        version = (number * 5)(_MAJOR, 3, _MINOR, 1, _NONE)
        made = create(self._display, config if chosen and count.value else None, None, version)
        self._bind(before)
        if not made:
            raise OSError("no OpenGL ES 3.1")
        self._made = made
        self._before: tuple[Any, ...] = ()

    def __enter__(self) -> None:
        surfaces = self._surface(_DRAW), self._surface(_READ)
        self._before = self._api(), self._shown(), surfaces, self._current()
        self._bind(_ES_API)
        if not self._make(self._display, None, None, self._made):
            self._bind(self._before[0])
            raise OSError("eglMakeCurrent failed")

    def __exit__(self, *error: object) -> None:
        api, display, (draw, read), context = self._before
        self._make(self._display, None, None, None)
        self._bind(api)
        if context:
            self._make(display, draw, read, context)

    def release(self) -> None:
        """Destroy it."""
        self._destroy(self._display, self._made)
