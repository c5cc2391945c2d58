"""The standard output of a program in C, for what kernels print."""

from __future__ import annotations

import ctypes
import io
import sys


class _Output(io.TextIOBase):
    """A stream of C, which buffers and flushes."""

    def __init__(self, name: str) -> None:
        self._library = ctypes.CDLL(None)
        self._library.fwrite.argtypes = (
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_size_t,
            ctypes.c_void_p,
        )
        self._library.fflush.argtypes = (ctypes.c_void_p,)
        self._stream = ctypes.c_void_p.in_dll(self._library, name)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str, /) -> int:
        """Append a text to the stream."""
        data = text.encode("utf-8", "surrogateescape")
        self._library.fwrite(data, 1, len(data), self._stream)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the program, or its end, flushes the stream."""


def take() -> None:
    """Redirect what Python prints to the program's own stream."""
    sys.stdout = _Output("stdout")
