"""Dependencies of a target's code besides the kernel and the target, for the cache key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast

from gridlane.backends import backend, is_own
from gridlane.backends.record import Backend, loaded
from gridlane.compiler.cache_key import source_digest
from gridlane.compiler.libdevice import find_libdevice
from gridlane.core.config import config
from gridlane.core.options import Target

Facts: TypeAlias = tuple[str | int | bool | None, ...]


def identity_of(target: Target) -> Facts:
    """The result of the function that the target's record names."""
    record = backend(target.name)
    facts: Facts = loaded(record.identity)(target) if record.identity else ()
    return facts if is_own(target.name) else (*facts, _sources(record.name))


@cache
def _sources(name: str) -> str:
    """A digest of the record of another package, and of the source of what it names there."""
    record = backend(name)
    digest = sha256(_text(record).encode())
    for package in sorted(set(_packages(record)) - {"", "gridlane"}):
        module = import_module(package)
        for folder in getattr(module, "__path__", ()):
            digest.update(source_digest(Path(folder).parent, [Path(folder).name]))
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_file():
            info = Path(file).stat()
            digest.update(f"{file}\0{info.st_size}\0{info.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _packages(record: Backend) -> Iterator[str]:
    """The packages, or modules outside any, of the dotted names in a record."""
    paths = [record.generator, record.codegen, record.stage, record.identity]
    for each in (*record.pipeline, *record.dialects):
        paths += (each.path, *each.arguments, *each.facts)
    return (path.partition(".")[0] for path in paths)


def _text(value: Any) -> str:
    """A value of a record as text, the same in every process: sets have no order."""
    if isinstance(value, tuple):
        return f"({','.join(map(_text, cast('tuple[Any, ...]', value)))})"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return f"{{{','.join(sorted(f'{_text(k)}:{_text(v)}' for k, v in pairs))}}}"
    if isinstance(value, Set):
        return f"{{{','.join(sorted(map(_text, cast('Set[Any]', value))))}}}"
    return repr(value)


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
