"""CUDA C++ to PTX through the disk cache.

Only the compiler knows which headers it reads. So an entry under the key of the source lists those
that it read; the PTX is kept under a key that covers their content as well. If one of them has
changed, or a folder that is searched earlier has a new file of the same name, the source is
compiled again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from gridlane.compiler.cache import DiskCache, default_cache, make_key
from gridlane.core.artifact import Artifact
from gridlane.core.config import of_others
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp import Compiled, CppCompiler, CppSource, choose, defines, unknown

_TARGET = "cuda_cpp"
_ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "CCC_OVERRIDE_OPTIONS",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
)
"""What compilers take options and folders of headers from."""


def compile_cpp(source: CppSource, backend: str = "", cache: DiskCache | None = None) -> Compiled:
    """The PTX of CUDA C++, through the disk cache: ``cache``, or the process's own.

    Args:
        backend: the compiler: ``clang``, ``nvcc``, ``nvrtc``, or "" for the first that is here.

    Raises:
        ArgumentError: no compiler has this name.
        CompileError: the compiler's own messages, or that there is none.
    """
    compiler = choose(backend)
    return _through(cache or default_cache(), compiler, source, compiler.compile, "")


def compile_units(
    sources: Sequence[CppSource], expressions: tuple[str, ...], backend: str = ""
) -> list[Compiled]:
    """The PTX of each of several sources. A name expression is of the first source that defines
    what it names.

    Raises:
        ArgumentError: no compiler has this name.
        CompileError: the compiler's own messages, that there is none, or that no source has a name.
    """
    compiler = choose(backend)
    products: list[Compiled] = []
    rest = expressions
    for source in sources:
        asked = replace(source, expressions=rest)
        known = partial(_compile_known, compiler)
        products.append(_through(default_cache(), compiler, asked, known, "known names"))
        rest = tuple(each for each in rest if each not in products[-1].names)
    if rest:
        reason = "they declare it alone"
        try:
            compiler.compile(replace(sources[0], expressions=rest[:1]))
        except CompileError as error:
            reason = f"of the first:\n{error}"
        raise CompileError(f"no unit defines what the name expression {rest[0]!r} names; {reason}")
    return products


def _compile_known(compiler: CppCompiler, source: CppSource) -> Compiled:
    """Compile a source with those of its name expressions whose kernels and variables it defines.
    Others would be declared in the PTX, and a kernel not as one."""
    while True:
        try:
            product = compiler.compile(source)
            missing = {
                each for each, name in product.names.items() if not defines(product.ptx, name)
            }
        except CompileError as error:
            product, missing = None, set(unknown(str(error), source.expressions))
            if not missing:
                raise
        if product is not None and not missing:
            return product
        rest = tuple(each for each in source.expressions if each not in missing)
        source = replace(source, expressions=rest)


def _through(
    cache: DiskCache | None,
    compiler: CppCompiler,
    source: CppSource,
    make: Callable[[CppSource], Compiled],
    how: str,
) -> Compiled:
    """The PTX of a source, from the cache or by ``make``; ``how`` names the way of compiling in the
    key, "" for the compiler alone."""
    if cache is None:
        return make(source)
    key = _source_key(source, compiler)
    key = make_key(key, how) if how else key
    product = _find(cache, key)
    if product is None:
        product = make(source)
        _keep(cache, key, product, compiler.searched(source))
    return product


def _source_key(source: CppSource, compiler: CppCompiler) -> str:
    around = of_others(_ENVIRONMENT)
    lists = json.dumps((source.options, source.expressions, os.getcwd(), around))
    return make_key("cuda_cpp", compiler.identity(), source.name, source.code, lists)


def _find(cache: DiskCache, key: str) -> Compiled | None:
    listed = cache.get(key)
    if listed is None or any(map(os.path.lexists, listed.symbols)):
        return None
    artifact = cache.get(_whole_key(key, listed.notes))
    if artifact is None:
        return None
    log, *names = artifact.notes
    return Compiled(artifact.code.decode(), log, dict(zip(names, artifact.symbols)), listed.notes)


def _keep(cache: DiskCache, key: str, product: Compiled, searched: Iterable[str]) -> None:
    if product.headers is None:
        return
    absent = tuple(_absent(product.headers, tuple(searched)))
    cache.put(key, _artifact(b"", absent, product.headers))
    names = tuple(product.names.values())
    whole = _artifact(product.ptx.encode(), names, (product.log, *product.names))
    cache.put(_whole_key(key, product.headers), whole)


def _artifact(code: bytes, symbols: tuple[str, ...], notes: tuple[str, ...]) -> Artifact:
    return Artifact(_TARGET, "ptx", code, "", (), 0, symbols=symbols, notes=notes)


def _whole_key(key: str, headers: Iterable[str]) -> str:
    """The key of a source with the content of its headers."""
    return make_key(key, *(part for each in headers for part in (each, _content(each))))


def _content(path: str) -> bytes | str:
    try:
        return Path(path).read_bytes()
    except OSError:
        return "absent"


def _absent(headers: tuple[str, ...], searched: tuple[str, ...]) -> Iterator[str]:
    """The files that are not there, and would be read in the place of a header if they were."""
    folders = [os.path.abspath(each) for each in dict.fromkeys(searched)]
    read = set(headers)
    for header in headers:
        name = _name(header, folders)
        for folder in folders:
            path = os.path.join(folder, name)
            if path == header:
                break
            if path not in read and not os.path.lexists(path):
                yield path


def _name(header: str, folders: list[str]) -> str:
    """How a header is called in its folder of those that are searched; else its last name."""
    inside = [each for each in folders if header.startswith(each + os.sep)]
    return os.path.relpath(header, max(inside, key=len)) if inside else os.path.basename(header)
