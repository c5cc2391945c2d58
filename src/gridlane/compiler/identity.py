"""What a target's code depends on besides the kernel and the target, for the cache key."""

from __future__ import annotations

from gridlane.compiler.libdevice import find_libdevice
from gridlane.core.config import config
from gridlane.core.options import Target


def identity_of(target: Target) -> tuple[str | int | bool | None, ...]:
    """The processor and the vector functions for the CPU, the library of functions for NVIDIA's."""
    if target.name == "cpu":
        # LLVM, which other targets may do without.
        from gridlane.codegen.llvm.machine import host
        from gridlane.codegen.llvm.vector_library import vector_library

        here, library = host(), vector_library() is not None
        asked = (target.processor, target.features, config().cpu)
        return (*asked, here.triple, here.processor, here.features, library)
    if target.name == "cuda":
        path = find_libdevice()
        if path is None:
            return ()  # our own functions, which the digest of the compiler covers
        info = path.stat()
        return str(path), info.st_size, info.st_mtime_ns
    return ()
