"""OpenGL's functions by EGL's loader, called with ctypes: functions that OpenGL ES 3.1 has as well,
except the last ones."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_uint, c_uint64, c_void_p
from ctypes.util import find_library
from functools import cache
from typing import Any

from gridlane.core.device_errors import NEWER_DRIVER, fail, no_device

_SIZE = ctypes.c_ssize_t

# Name: its result type, its argument types.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "glGetError": (c_uint, ()),
    "glGetString": (c_char_p, (c_uint,)),
    "glGetIntegerv": (None, (c_uint, POINTER(c_int))),
    "glGetIntegeri_v": (None, (c_uint, c_uint, POINTER(c_int))),
    "glGetInteger64v": (None, (c_uint, POINTER(c_int64))),
    "glGenBuffers": (None, (c_int, POINTER(c_uint))),
    "glDeleteBuffers": (None, (c_int, POINTER(c_uint))),
    "glBindBuffer": (None, (c_uint, c_uint)),
    "glBindBufferRange": (None, (c_uint, c_uint, c_uint, _SIZE, _SIZE)),
    "glBufferData": (None, (c_uint, _SIZE, c_void_p, c_uint)),
    "glBufferSubData": (None, (c_uint, _SIZE, _SIZE, c_void_p)),
    "glCopyBufferSubData": (None, (c_uint, c_uint, _SIZE, _SIZE, _SIZE)),
    "glMapBufferRange": (c_void_p, (c_uint, _SIZE, _SIZE, c_uint)),
    "glUnmapBuffer": (ctypes.c_ubyte, (c_uint,)),
    "glCreateShader": (c_uint, (c_uint,)),
    "glShaderSource": (None, (c_uint, c_int, POINTER(c_char_p), POINTER(c_int))),
    "glCompileShader": (None, (c_uint,)),
    "glGetShaderiv": (None, (c_uint, c_uint, POINTER(c_int))),
    "glGetShaderInfoLog": (None, (c_uint, c_int, POINTER(c_int), c_char_p)),
    "glDeleteShader": (None, (c_uint,)),
    "glCreateProgram": (c_uint, ()),
    "glProgramParameteri": (None, (c_uint, c_uint, c_int)),
    "glAttachShader": (None, (c_uint, c_uint)),
    "glLinkProgram": (None, (c_uint,)),
    "glGetProgramiv": (None, (c_uint, c_uint, POINTER(c_int))),
    "glGetProgramInfoLog": (None, (c_uint, c_int, POINTER(c_int), c_char_p)),
    "glGetProgramBinary": (None, (c_uint, c_int, POINTER(c_int), POINTER(c_uint), c_void_p)),
    "glProgramBinary": (None, (c_uint, c_uint, c_void_p, c_int)),
    "glDeleteProgram": (None, (c_uint,)),
    "glUseProgram": (None, (c_uint,)),
    "glDispatchCompute": (None, (c_uint, c_uint, c_uint)),
    "glMemoryBarrier": (None, (c_uint,)),
    "glFlush": (None, ()),
    "glFinish": (None, ()),
    "glFenceSync": (c_void_p, (c_uint, c_uint)),
    "glClientWaitSync": (c_uint, (c_void_p, c_uint, c_uint64)),
    "glDeleteSync": (None, (c_void_p,)),
    # Not of OpenGL ES.
    "glGenQueries": (None, (c_int, POINTER(c_uint))),
    "glDeleteQueries": (None, (c_int, POINTER(c_uint))),
    "glGetQueryiv": (None, (c_uint, c_uint, POINTER(c_int))),
    "glQueryCounter": (None, (c_uint, c_uint)),
    "glGetQueryObjectui64v": (None, (c_uint, c_uint, POINTER(c_uint64))),
}

NO_ERROR, OUT_OF_MEMORY = 0, 0x0505
ERRORS = {
    0x0500: "GL_INVALID_ENUM",
    0x0501: "GL_INVALID_VALUE",
    0x0502: "GL_INVALID_OPERATION",
    OUT_OF_MEMORY: "GL_OUT_OF_MEMORY",
    0x0507: "GL_CONTEXT_LOST",
}
VENDOR, RENDERER, VERSION, SHADING_LANGUAGE = 0x1F00, 0x1F01, 0x1F02, 0x8B8C
STORAGE, COPY_READ, COPY_WRITE = 0x90D2, 0x8F36, 0x8F37
DYNAMIC_COPY, STREAM_DRAW = 0x88EA, 0x88E0
MAP_READ = 1
COMPUTE_SHADER, COMPILE_STATUS, LINK_STATUS, LOG_LENGTH = 0x91B9, 0x8B81, 0x8B82, 0x8B84
BINARY_HINT, BINARY_LENGTH, BINARY_FORMATS = 0x8257, 0x8741, 0x87FE
ALL_BARRIERS = 0xFFFFFFFF
FENCE, FLUSH_FIRST = 0x9117, 1
TIMEOUT, WAIT_FAILED = 0x911B, 0x911D
TIMESTAMP, COUNTER_BITS, RESULT = 0x8E28, 0x8864, 0x8866
MAX_GROUPS, MAX_BLOCK, MAX_THREADS = 0x91BE, 0x91BF, 0x90EB
MAX_SHARED, MAX_STORAGE, STEP = 0x8262, 0x90DE, 0x90DF
MAX_STORAGES, MAX_BINDINGS = 0x90DB, 0x90DD


@cache
def egl() -> ctypes.CDLL:
    """EGL's library.

    Raises:
        DeviceError: the library is missing.
    """
    name = find_library("EGL")
    try:
        library = ctypes.CDLL(name or "libEGL.so.1")
    except OSError:
        advice = "install it (Debian: libegl1) and a driver (for the CPU: libgl1-mesa-dri)"
        no_device("opengl", "libEGL does not load", advice)
    library.eglGetProcAddress.restype = c_void_p
    library.eglGetProcAddress.argtypes = (c_char_p,)
    return library


class Functions:
    """Functions by name, looked up at their first use."""

    def __getattr__(self, name: str) -> Any:
        address = egl().eglGetProcAddress(name.encode())
        if not address:
            fail(NEWER_DRIVER, f"the driver has no {name}")
        returned, taken = FUNCTIONS[name]
        function = ctypes.CFUNCTYPE(returned, *taken)(address)
        setattr(self, name, function)
        return function

    def integer(self, name: int) -> int:
        """Query an integer of the driver."""
        value = c_int64()
        self.glGetInteger64v(name, value)
        return value.value

    def integers(self, name: int) -> tuple[int, int, int]:
        """Query three integers, along x, y, z."""
        values = [c_int() for _ in range(3)]
        for axis, value in enumerate(values):
            self.glGetIntegeri_v(name, axis, value)
        x, y, z = (value.value for value in values)
        return x, y, z

    def text(self, name: int) -> str:
        """Query a string of the driver."""
        return (self.glGetString(name) or b"").decode(errors="replace")

    def new_buffer(self, size: int, usage: int) -> int:
        """Create a buffer; 0 if memory is short."""
        number = c_uint()
        self.glGetError()
        self.glGenBuffers(1, number)
        self.glBindBuffer(COPY_WRITE, number)
        self.glBufferData(COPY_WRITE, size, None, usage)
        if self.glGetError() == NO_ERROR:
            return number.value
        self.glDeleteBuffers(1, number)
        return 0
