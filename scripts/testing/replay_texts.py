"""Compile every conformance case and every kernel of the examples for every target, and write the
texts into a zip file: the part of ``replay.py`` that runs once in each tree.

The packages of the tree come from PYTHONPATH, so this uses only what trees have had for long.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import runpy
import sys
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from gridlane import compiler, cuda
from gridlane.backends import backend, names
from gridlane.compiler import generation
from gridlane.conformance.functions import NAMES, function_case, types_of
from gridlane.conformance.suite import cases
from gridlane.core.dtypes import f32, f64
from gridlane.core.errors import GridlaneError
from gridlane.core.options import KernelOptions, Target

LLVM = ("gridlane.compiler.cpu", "gridlane.compiler.cuda")
"""Whose LLVM IR is compared as it is before LLVM sees it."""
WITH_PTX = 16
"""Of so many conformance cases one is compiled to PTX, as are all examples; LLVM takes long."""
BLOCK = (64, 1, 1)
"""Of examples."""

_LOCATION = re.compile(r' (?:from )?loc\("[^"]*", \d+, \d+, \d+, "[^"]*"\)')
_COUNTED = re.compile(r"// callseq \d+")  # LLVM counts the calls of a process
_FACTS = (
    *("entry", "param_bytes", "static_shared", "block", "notes", "uses_dynamic_shared"),
    *("cooperative", "coarse", "buffers", "untraced", "constants"),
)


class _Emitted(BaseException):
    """The LLVM IR of a kernel; no handler of errors may catch it."""


@contextlib.contextmanager
def stopping_at_llvm() -> Generator[None]:
    """Have code generators raise their LLVM IR instead of passing it to LLVM."""
    modules: list[Any] = [import_module(name) for name in LLVM]
    before = [module.emit_kernel for module in modules]

    def only(emit: Callable[..., Any]) -> Callable[..., None]:
        def emit_only(*words: Any) -> None:
            raise _Emitted(emit(*words).text)

        return emit_only

    for module, emit in zip(modules, before, strict=True):
        module.emit_kernel = only(emit)
    try:
        yield
    finally:
        for module, emit in zip(modules, before, strict=True):
            module.emit_kernel = emit


class Texts:
    """The texts of one tree."""

    def __init__(self, folder: Path, archive: zipfile.ZipFile, wanted: re.Pattern[str]) -> None:
        self.folder, self.archive, self.wanted = str(folder.resolve()), archive, wanted
        self.seen: dict[str, int] = {}

    def add(self, name: str, make: Callable[[], str]) -> None:
        """Add what a compilation returns, or how it is refused."""
        if not self.wanted.search(name):
            return
        count = self.seen[name] = self.seen.get(name, 0) + 1
        try:
            text = make()
        except GridlaneError as error:
            text = f"refused: {error}\n"
        except Exception as error:  # a defect of one tree is a difference, and the next text is due
            text = f"failed: {type(error).__name__}: {error}\n"
        text = text.replace(self.folder, "")
        self.archive.writestr(f"{name} #{count}" if count > 1 else name, text)


def text_of(module: Any, target: Target, options: KernelOptions) -> str:
    """The code of a kernel as text, or of its parts, with what an artifact has besides."""
    parts = generation.launched(module, backend(target.name), options)
    return "\n".join(_text(part, target, options) for part in parts)


def _text(module: Any, target: Target, options: KernelOptions) -> str:
    try:
        with stopping_at_llvm():
            artifact = compiler.generate(module, target, options)
    except _Emitted as emitted:
        return str(emitted)
    facts = [f"{name} = {getattr(artifact, name, None)!r}" for name in _FACTS]
    if artifact.format == "spirv":
        from gridlane.codegen.spirv import disassembled

        code = disassembled(artifact.code)
    else:
        code = _COUNTED.sub("// callseq", _LOCATION.sub("", artifact.code.decode()))
    return "\n".join([*facts, code])


def target_of(name: str, block: tuple[int, int, int]) -> Target:
    """A target of default features, for the launches that conformance compares."""
    record = backend(name)
    return Target(name, block if record.shaped else None, variant=record.compared[0])


def conformance(texts: Texts) -> None:
    """Add the cases."""
    options = KernelOptions(fp64="exact")
    for number, case in enumerate(cases()):
        for name in names():
            make = partial(text_of, case.module, target_of(name, case.block), options)
            texts.add(f"{name}/{case}", make)
        if number % WITH_PTX == 0:
            texts.add(f"ptx/{case}", partial(ptx_of, case.module, options))


def ptx_of(module: Any, options: KernelOptions) -> str:
    """PTX, by LLVM."""
    text = compiler.text(module, target_of("cuda", BLOCK), "asm", options)
    return _COUNTED.sub("// callseq", text)


def kernels_of_examples(folder: Path) -> Iterator[tuple[str, Any, Any, KernelOptions]]:
    """(name, source, types, options) of each kernel that the examples launch, which run as small as
    the tests run them."""
    from tests.examples.test_examples import ARGUMENTS

    found: dict[tuple[str, str, str], tuple[str, Any, Any, KernelOptions]] = {}
    example = ""
    compile_kernel = compiler.compile_kernel

    def watched(
        source: Any, types: Any, options: Any, target: Any, *more: Any, **named: Any
    ) -> Any:
        key = example, source.name, str(types)
        found.setdefault(key, (f"{example}/{source.name}", source, types, options))
        return compile_kernel(source, types, options, target, *more, **named)

    compiler.compile_kernel = watched
    cuda.install_as_numba()
    sys.path.insert(0, str(folder))
    for example in sorted(ARGUMENTS):
        path = folder / f"{example}.py"
        sys.argv = [str(path), *ARGUMENTS[example]["interp"].split()]
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(path), run_name="__main__")
    compiler.compile_kernel = compile_kernel
    return iter(list(found.values()))


def functions(texts: Texts) -> None:
    """Add the functions that are inexact, which are no cases of ``conformance``."""
    options = KernelOptions(fp64="exact")
    for function in NAMES:
        for name in names():
            for dtype in types_of(function, name):
                if dtype in (f32, f64):
                    case = function_case(function, dtype, 40)
                    make = partial(text_of, case.module, target_of(name, case.block), options)
                    texts.add(f"{name}/{case}", make)


def examples(texts: Texts, folder: Path) -> None:
    """Add the kernels of the examples."""
    for title, source, types, options in kernels_of_examples(folder):
        plain = replace(options, check=False)
        try:
            module = compiler.translate(source, types, plain)
        except GridlaneError as error:
            texts.add(title, partial(str, f"refused: {error}"))
            continue
        for name in names():
            texts.add(f"{name}/{title}", partial(text_of, module, target_of(name, BLOCK), plain))
        texts.add(f"ptx/{title}", partial(ptx_of, module, plain))


def main() -> None:
    """Write the texts of the tree in the working directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", default="", help="texts whose name has this pattern")
    parser.add_argument("--without-examples", action="store_true")
    chosen = parser.parse_args()
    tree = Path.cwd()
    assert Path(compiler.__file__).is_relative_to(tree), f"{compiler.__file__} is not of {tree}"
    with zipfile.ZipFile(chosen.archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        texts = Texts(tree, archive, re.compile(chosen.only))
        conformance(texts)
        functions(texts)
        if not chosen.without_examples:
            examples(texts, tree / "examples")


if __name__ == "__main__":
    main()
