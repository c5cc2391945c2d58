"""From a Python function to an Artifact: all that knows frontends, passes and codegen.

A kernel that the disk cache has needs none of these, so they are imported at their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gridlane.compiler.cache import default_cache, make_key
from gridlane.compiler.identity import identity_of
from gridlane.core.argtypes import ArgType
from gridlane.core.artifact import Artifact
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.python.fingerprint import fingerprint

if TYPE_CHECKING:
    from gridlane.compiler.generation import generate, text, translate

__all__ = ["compile_kernel", "generate", "text", "translate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gridlane.compiler import generation

    return getattr(generation, name)


def compile_kernel(
    function: FunctionType,
    arguments: tuple[ArgType, ...],
    options: KernelOptions,
    target: Target,
    finish: Callable[[Artifact], Artifact] = lambda artifact: artifact,
) -> Artifact:
    """Translate and generate, through the disk cache.

    ``finish`` does what is left to do where only the device's driver can; its result is cached.
    """
    cache = default_cache()
    if cache is None:
        return finish(_made(function, arguments, options, target))
    key = make_key(
        fingerprint(function, options),
        repr((arguments, options, target)),
        identity_of(target),
    )
    found = cache.get(key)
    if found is not None:
        return found
    artifact = finish(_made(function, arguments, options, target))
    cache.put(key, artifact)
    return artifact


def _made(
    function: FunctionType, arguments: tuple[ArgType, ...], options: KernelOptions, target: Target
) -> Artifact:
    from gridlane.compiler.generation import generate, translate

    return generate(translate(function, arguments, options), target, options)
