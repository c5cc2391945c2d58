"""Dependencies of a target's code besides the kernel and the target, for the cache key."""

from __future__ import annotations

from typing import TypeAlias

from gridlane.backends import backend
from gridlane.backends.record import loaded
from gridlane.compiler.libdevice import find_libdevice
from gridlane.core.config import config
from gridlane.core.options import Target

Facts: TypeAlias = tuple[str | int | bool | None, ...]


def identity_of(target: Target) -> Facts:
    """The result of the function that the target's record names."""
    path = backend(target.name).identity
    return loaded(path)(target) if path else ()


def processor(target: Target) -> Facts:
    """The processor and the vector functions, for code of the CPU."""
    # LLVM, which other targets do not need.
    from gridlane.codegen.llvm.machine import host
    from gridlane.codegen.llvm.vector_library import vector_library

    here, library = host(), vector_library() is not None
    asked = (target.processor, target.attributes, config().cpu)
    return (*asked, here.triple, here.processor, here.features, library)


def libdevice(target: Target) -> Facts:
    """The library of functions, for code of NVIDIA's GPUs."""
    path = find_libdevice()
    if path is None:
        return ()  # gridlane's own functions, which the digest of the compiler covers
    info = path.stat()
    return str(path), info.st_size, info.st_mtime_ns
