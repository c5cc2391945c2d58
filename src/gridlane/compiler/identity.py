"""What a target's code depends on besides the kernel and the target, for the cache key."""

from __future__ import annotations

from gridlane.compiler.libdevice import find_libdevice
from gridlane.core.options import Target


def identity_of(target: Target) -> tuple[str | int, ...]:
    """The processor for the CPU, the library of functions for NVIDIA GPUs."""
    if target.name == "cpu":
        from gridlane.codegen.llvm import machine  # LLVM, which other targets may do without

        name, features = machine.host()
        return target.processor or name, target.features or features
    if target.name == "cuda":
        path = find_libdevice()
        if path is None:
            return ()  # our own functions, which the digest of the compiler covers
        info = path.stat()
        return str(path), info.st_size, info.st_mtime_ns
    return ()
