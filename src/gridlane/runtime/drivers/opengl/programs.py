"""Compile GLSL to programs, and cache the driver's binaries in files."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_uint
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.core.device_errors import INVALID_IMAGE, OUT_OF_RESOURCES, fail
from gridlane.runtime import driver_cache
from gridlane.runtime.drivers.opengl import api
from gridlane.runtime.drivers.opengl.glsl_sources import complaint, inlined_lines

_MAGIC = b"glglprog"
_FORMAT = struct.Struct("<I")


@cache
def directory() -> Path | None:
    """The directory of the files; None when the cache is off."""
    return driver_cache.directory("opengl")


class Program:
    """A compiled kernel. ``retire`` releases it at the end of its lifetime."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class Compiler:
    """Compiles programs, or loads them from the cache.

    Args:
        identity: the key of the binaries besides the text: the driver.
        longest: the limit on lines of a text with every call inlined, which is the compilers'
            input; None for no limit.
    """

    def __init__(self, gl: api.Functions, identity: str, longest: int | None = None) -> None:
        self._gl, self._identity, self._longest = gl, identity, longest
        self._binaries = gl.integer(api.BINARY_FORMATS) > 0

    def program(self, text: str, name: str) -> int:
        """The program of a text.

        Raises:
            DeviceError: INVALID_IMAGE if the driver's compiler refuses it; OUT_OF_RESOURCES if the
                device lacks the resources of the compiled program, or the text is too long for the
                compiler.
        """
        folder = directory() if self._binaries else None
        path = None
        if folder is not None:
            digest = sha256(f"{self._identity}\0{text}".encode()).hexdigest()
            path = folder / f"{digest[:40]}.program"
            cached = self._from_file(path)
            if cached:
                return cached
        self._check_length(text, name)
        result = self._compiled(text, name)
        if path is not None:
            self._keep(result, path)
        return result

    def _check_length(self, text: str, name: str) -> None:
        lines = inlined_lines(text)
        if self._longest is None or lines <= self._longest:
            return
        fail(
            OUT_OF_RESOURCES,
            f"kernel {name}: its GLSL has {lines} lines with functions in the place of calls, and "
            f"this driver's compiler takes minutes and gigabytes for more than {self._longest}",
            "use float32, or fp64='emulate', or another device",
        )

    def _compiled(self, text: str, name: str) -> int:
        gl = self._gl
        shader, source = gl.glCreateShader(api.COMPUTE_SHADER), text.encode()
        lines, length = (c_char_p * 1)(source), (c_int * 1)(len(source))
        gl.glShaderSource(shader, 1, lines, length)
        gl.glCompileShader(shader)
        if not _asked(gl.glGetShaderiv, shader, api.COMPILE_STATUS):
            said = _log(gl.glGetShaderiv, gl.glGetShaderInfoLog, shader)
            gl.glDeleteShader(shader)
            fail(INVALID_IMAGE, f"kernel {name}: {complaint(text, said)}")
        program = gl.glCreateProgram()
        gl.glProgramParameteri(program, api.BINARY_HINT, 1)
        gl.glAttachShader(program, shader)
        gl.glLinkProgram(program)
        gl.glDeleteShader(shader)
        if not _asked(gl.glGetProgramiv, program, api.LINK_STATUS):
            said = _log(gl.glGetProgramiv, gl.glGetProgramInfoLog, program)
            gl.glDeleteProgram(program)
            fail(OUT_OF_RESOURCES, f"kernel {name}: {complaint(text, said)}")
        return program

    def _from_file(self, path: Path) -> int:
        """Load a program from a file; 0 if the driver refuses it."""
        data = driver_cache.load(path, _MAGIC)
        if len(data) <= _FORMAT.size:
            return 0
        (form,) = _FORMAT.unpack_from(data)
        binary, gl = data[_FORMAT.size :], self._gl
        program = gl.glCreateProgram()
        gl.glProgramBinary(program, form, binary, len(binary))
        good = _asked(gl.glGetProgramiv, program, api.LINK_STATUS)
        if gl.glGetError() == api.NO_ERROR and good:
            return program
        gl.glDeleteProgram(program)
        return 0

    def _keep(self, program: int, path: Path) -> None:
        gl = self._gl
        size = _asked(gl.glGetProgramiv, program, api.BINARY_LENGTH)
        if not 0 < size < driver_cache.LARGEST:
            return
        length, form, memory = c_int(), c_uint(), ctypes.create_string_buffer(size)
        gl.glGetProgramBinary(program, size, length, form, memory)
        if gl.glGetError() == api.NO_ERROR:
            data = _FORMAT.pack(form.value) + memory.raw[: length.value]
            driver_cache.store(path, _MAGIC, data)


def _asked(ask: Callable[..., None], number: int, name: int) -> int:
    value = c_int()
    ask(number, name, value)
    return value.value


def _log(ask: Callable[..., None], read: Callable[..., None], number: int) -> str:
    size = max(1, _asked(ask, number, api.LOG_LENGTH))
    memory = ctypes.create_string_buffer(size)
    read(number, size, None, memory)
    return memory.value.decode(errors="replace")
