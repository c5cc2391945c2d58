"""``gridlane compile``: a kernel of a file, as text of one of the compiler's stages."""

from __future__ import annotations

import inspect
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from gridlane.cli.failure import check_settings, fail, likely, one_of
from gridlane.cli.signature_text import argument_types
from gridlane.cli.wording import counted
from gridlane.core.errors import CompileError, LaunchError
from gridlane.core.options import Target
from gridlane.cuda.dimensions import check_shape
from gridlane.cuda.dispatcher import Dispatcher
from gridlane.runtime.protocol import Limits

STAGES = ("ir", "llvm", "asm")


def compile_text(place: str, signature: str, stage: str, block_text: str) -> str:
    """What ``FILE.py:kernel`` compiles to for argument types; fails in words."""
    check_settings()
    one_of("target", stage, STAGES)
    types = argument_types(signature)
    block = _block(block_text)
    kernel = _kernel(place)
    parameters = list(inspect.signature(kernel.py_func).parameters)
    if len(parameters) != len(types):
        fail(
            f"compile: {kernel.py_func.__name__}({', '.join(parameters)}) has "
            f"{counted(len(parameters), 'parameter')}, and --sig has {counted(len(types), 'type')}"
        )
    from gridlane import compiler

    try:
        module = compiler.translate(kernel.py_func, types, kernel.options)
        return compiler.text(module, Target("cpu", block=block), stage, kernel.options)
    except CompileError as error:
        fail(error, 1)


def _block(text: str) -> tuple[int, int, int]:
    words = text.split(",")
    if len(words) > 3 or not all(word.strip().isdecimal() for word in words):
        fail(f"compile: --block {text!r}: one to three numbers, as in 256 or 16,16")
    x, y, z = (*map(int, words), 1, 1)[:3]
    try:
        check_shape(f"--block {text}", (1, 1, 1), (x, y, z), Limits())
    except LaunchError as error:
        fail(f"compile: {error}")
    return x, y, z


# --- the kernel ---


def _kernel(place: str) -> Dispatcher:
    file, colon, name = place.rpartition(":")
    if not colon or not file or file.endswith(":"):
        file, name = place, ""
    path = Path(file)
    if not path.is_file():
        fail(f"compile: there is no file {file!r}")
    module = _load(path)
    kernels = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher) and not value.is_device_function
    }
    found = vars(module).get(name)
    if isinstance(found, Dispatcher) and not found.is_device_function:
        return found
    fail(f"compile: {_not_a_kernel(file, name, found, list(kernels))}")


def _not_a_kernel(file: str, name: str, found: object, kernels: list[str]) -> str:
    """What is wrong with a kernel's name, and what there is instead."""
    if not name:
        text = f"which kernel? name it as in {file}:kernel"
    elif isinstance(found, Dispatcher):
        text = f"{name!r} is a device function; only kernels are compiled on their own"
    elif found is not None:
        text = f"{name!r} in {file} is no kernel but {_described(found)}"
    else:
        text = f"{file} has no kernel {name!r}{likely(name, kernels)}"
    if kernels:
        return f"{text}. It has: {', '.join(kernels)}"
    return f"{text}. It has none at its top level, and those inside functions cannot be reached"


def _described(found: object) -> str:
    if inspect.isfunction(found):
        return "a plain function: write @cuda.jit above it"
    return f"of type {type(found).__name__}"


def _load(path: Path) -> ModuleType:
    """The file as a module, not as the main program; what it raises is shown as its own."""
    from gridlane import cuda

    cuda.install_as_numba()
    sys.path.insert(0, str(path.resolve().parent))
    # A file may be called like a module that is loaded, random.py say, and must not replace it.
    name = f"{path.stem} of gridlane compile" if path.stem in sys.modules else path.stem
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        fail(f"compile: {os.fspath(path)!r} is no Python file: its name should end in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        from gridlane.cli.tracebacks import shown_as_the_programs

        fail(f"compile: {path} failed while it was loaded:\n{shown_as_the_programs(error)}", 1)
    return module
