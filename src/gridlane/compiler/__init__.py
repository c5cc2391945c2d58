"""Compile the source of a kernel to an Artifact, by frontends, passes and code generators.

A kernel in the disk cache needs none of them, so they are imported at their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gridlane.backends import backend
from gridlane.compiler.cache import DiskCache, default_cache, make_key
from gridlane.compiler.depth import at_any_depth
from gridlane.compiler.identity import identity_of
from gridlane.compiler.progress import compiling
from gridlane.core import trace
from gridlane.core.argtypes import ArgType
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.device_errors import noted
from gridlane.core.encoding import NotEncodable, encode
from gridlane.core.errors import CompileError
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import UNKNOWN

if TYPE_CHECKING:
    from gridlane.compiler.generation import decisions, generate, text, translate
    from gridlane.ir.source import KernelSource
    from gridlane.ir.values import Module

Make = Callable[["KernelSource", tuple[Any, ...], KernelOptions, Target], Artifact]
"""Makes the artifact of a source."""

__all__ = ["artifact_key", "compile_kernel", "decisions", "generate", "text", "translate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gridlane.compiler import generation

    return getattr(generation, name)


def compile_kernel(
    source: KernelSource,
    arguments: tuple[ArgType, ...],
    options: KernelOptions,
    target: Target,
    cache: DiskCache | None = None,
    make: Make | None = None,
) -> Artifact:
    """Translate and generate, through the disk cache: ``cache``, or the process's own.

    Args:
        make: makes the artifact of a source that does not go through the IR.

    Raises:
        CompileError: the kernel does not compile. The history of errors has it.
    """
    try:
        return _compiled(source, arguments, options, target, cache, make)
    except CompileError as error:
        noted(error, device=target.name, kernel=source.name)
        raise


def _compiled(
    source: KernelSource,
    arguments: tuple[ArgType, ...],
    options: KernelOptions,
    target: Target,
    cache: DiskCache | None,
    make: Make | None,
) -> Artifact:
    cache = cache or default_cache()
    key = None
    if cache is not None:
        key = artifact_key(source, arguments, options, target)
        if key is None and make is None:
            key = translated_key(source, arguments, options, target)
    cached = None if cache is None or key is None else cache.get(key)
    if cached is not None:
        return cached
    with compiling(source.name, target.name):
        artifact = (make or _made)(source, arguments, options, target)
    if cache is not None and key is not None:
        cache.put(key, artifact)
    return artifact


def artifact_key(
    source: KernelSource, arguments: tuple[ArgType, ...], options: KernelOptions, target: Target
) -> str | None:
    """The key of an artifact by its kernel's source, without any IR; None where a dependency cannot
    be encoded."""
    try:
        launch = encode((arguments, options, target))
        return make_key(
            at_any_depth(source.name, UNKNOWN, source.key), launch, encode(identity_of(target))
        )
    except NotEncodable as reason:
        if trace.enabled():
            trace.event("translated", kernel=source.name, reason=f'"{reason}"')
        return None


def translated_key(
    source: KernelSource, arguments: tuple[ArgType, ...], options: KernelOptions, target: Target
) -> str:
    """The key of an artifact by the IR of its kernel, which is all that code is generated from.

    A source without a key may depend on anything: an overload is chosen by a function that the
    program wrote. So it is translated in each process, and only generated once.

    Raises:
        CompileError: as the source's ``translate``.
    """
    from gridlane.ir.source import module_key

    module = _translated(source, arguments, options, target)
    launch = encode(("translated", options, target))
    return make_key(module_key(module), launch, encode(identity_of(target)))


def _made(
    source: KernelSource, arguments: tuple[ArgType, ...], options: KernelOptions, target: Target
) -> Artifact:
    from gridlane.compiler.generation import launchable

    return launchable(_translated(source, arguments, options, target), target, options)


def _translated(
    source: KernelSource, arguments: tuple[ArgType, ...], options: KernelOptions, target: Target
) -> Module:
    """The IR of a kernel, with stacks that the target's threads have room for."""
    from gridlane.compiler.generation import translate

    module, most = translate(source, arguments, options), backend(target.name).stack
    if most and most < module.stack_bytes:
        each = (options.stack or config().stack) * most // module.stack_bytes
        module = translate(source, arguments, replace(options, stack=max(256, each // 4 * 4)))
    return module
