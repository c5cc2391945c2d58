"""Compile the cases on the path of users' kernels: a source, the compile service, the disk
cache."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from gridlane.compiler import artifact_key, compile_kernel
from gridlane.compiler.cache import DiskCache
from gridlane.core.artifact import Artifact
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.source import KernelSource
from gridlane.ir.values import Module
from gridlane.runtime.protocol import Device


def compiled(
    source: KernelSource,
    types: tuple[Any, ...],
    options: KernelOptions,
    target: Target,
    device: Device,
) -> Artifact:
    """Compile with a cold cache, and again with the warm one, whose artifact runs. A ``Compile`` of
    ``launch.kernel``.

    Raises:
        CompileError: as the compile service.
        AssertionError: the cache returns another artifact, or none.
    """
    kept, once = _cache(), _Once(source)
    kept.clear()
    cold = compile_kernel(once, types, options, target, kept)
    warm = compile_kernel(once, types, options, target, kept)
    assert warm == cold, f"the cache gives back another artifact of {source.name}"
    return warm


def through_cache(
    device: Device, source: KernelSource, target: Target, options: KernelOptions, artifact: Artifact
) -> Artifact:
    """The compile service's result when the artifact is in the cache already."""
    kept, once = _cache(), _Once(source)
    once.translated = True
    key = artifact_key(once, (), options, target)
    assert key is not None, f"{source.name} has no key"
    kept.clear()
    kept.put(key, artifact)
    warm = compile_kernel(once, (), options, target, kept)
    assert warm == artifact, f"the cache gives back another artifact of {source.name}"
    return warm


class _Once:
    """A source that is translated once: afterwards the cache has its code."""

    def __init__(self, source: KernelSource) -> None:
        self.name, self.parameters = source.name, source.parameters
        self.translated = False
        self._source, self._key = source, source.key()

    def key(self) -> bytes:
        """The key of the source."""
        return self._key

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The IR, once."""
        assert not self.translated, f"the cache has lost the code of {self.name}"
        self.translated = True
        return self._source.translate(types, options)


def _cache() -> DiskCache:
    """A cache of this process, removed at its end."""
    return DiskCache(Path(_folder().name, "kernels"))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gridlane-conformance-", ignore_cleanup_errors=True)
