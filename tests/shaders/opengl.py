"""Runs compute shaders of OpenGL on whatever driver this machine has, without a window."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import Any


@cache
def context() -> Any:
    """A context, or None where there is no EGL or no OpenGL 4.3."""
    try:
        import moderngl

        return moderngl.create_standalone_context(backend="egl", require=430)
    except Exception:  # the loader raises whatever it likes; what matters is that there is none
        return None


def validator() -> str | None:
    """Khronos' reference compiler."""
    return shutil.which("glslangValidator")


def complaint(source: str) -> str:
    """What the reference compiler has against a shader, or ""."""
    command = [validator() or "", "--stdin", "-S", "comp"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    return done.stdout + done.stderr if done.returncode else ""


def dispatcher(source: str, grid, shared: int):
    """A function that runs a shader; see ``heap.Dispatch``."""
    gl = context()
    first, _, rest = source.partition("\n")
    with gl:  # another library may have made a context of its own the current one
        shader = gl.compute_shader(f"{first}\n#define DYNAMIC_WORDS {shared // 4}\n{rest}")

    def dispatch(*blocks: bytes) -> bytes:
        with gl:
            return within(*blocks)

    def within(*blocks: bytes) -> bytes:
        buffers = [gl.buffer(block) for block in blocks]
        for binding, buffer in enumerate(buffers):
            buffer.bind_to_storage_buffer(binding)
        shader.run(*grid)
        gl.finish()
        result = buffers[0].read()
        for item in (*buffers, shader):
            item.release()
        return result

    return dispatch
