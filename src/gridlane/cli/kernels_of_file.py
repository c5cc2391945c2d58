"""The kernels of a Python file, and the argument types in the file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Collection
from contextlib import redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from gridlane.cli.failure import fail, likely
from gridlane.cli.python_kernels import PythonKernel, kernel_of
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.dispatcher import Dispatcher

CALLED = {"compile": "compile", "explain": "explain", "export": "export --web"}
"""The commands as users type them."""


@frozen
class FileKernels:
    """A loaded file, and its requested kernels by name."""

    file: str
    chosen: dict[str, PythonKernel]
    command: str = "compile"

    @classmethod
    def of(
        cls, place: str, named: bool, command: str = "compile", given: Collection[str] = ()
    ) -> FileKernels:
        """``FILE.py:kernel`` or, for all kernels, ``FILE.py``. Reports errors in words.

        Args:
            named: types are given, so that it must be one kernel.
            command: the command that is run.
            given: the kernels for which types are given by name.
        """
        file, colon, name = place.rpartition(":")
        if not colon or not file or file.endswith(":"):
            file, name = place, ""
        path = Path(file)
        if not path.is_file():
            fail(f"{command}: there is no file {file!r}")
        module = _load(path, command)
        kernels = _kernels(module)
        if not name and kernels and (len(kernels) == 1 or not named):
            return cls(file, kernels, command)._with_types(kernels if named else given)
        named_object = vars(module).get(name)
        kernel = kernel_of(name, named_object)
        if kernel is not None:
            return cls(file, {name: kernel}, command)._with_types([name] if named else given)
        fail(f"{command}: {_not_a_kernel(file, name, named_object, list(kernels))}")

    def _with_types(self, given: Collection[str]) -> FileKernels:
        """Return self; fail if a kernel's types are neither given nor in the file."""
        lacking = [
            kernel
            for name, kernel in self.chosen.items()
            if name not in given and not kernel.known()
        ]
        if lacking:
            first = lacking[0]
            shown = [f"{each.name}({', '.join(each.parameters)})" for each in lacking]
            fail(
                f"{self.command}: the file does not say what types the arguments of "
                f"{', '.join(shown)} have. Give them for one kernel, as in\n"
                f"  gridlane {CALLED[self.command]} {self.file}:{first.name} --sig "
                f'"{first.example}"\n{first.instead}'
            )
        return self


def _kernels(module: ModuleType) -> dict[str, PythonKernel]:
    """The kernels defined in the file, each by its first name."""
    kernels: dict[str, PythonKernel] = {}
    seen: list[object] = []
    for name, value in vars(module).items():
        kernel = kernel_of(name, value)
        if kernel is None or kernel.module != module.__name__:
            continue
        if not any(value is other for other in seen):
            kernels[name] = kernel
            seen.append(value)
    return kernels


def _not_a_kernel(file: str, name: str, named_object: object, kernels: list[str]) -> str:
    """The error of a name that is no kernel's, with the alternatives."""
    if not name:
        text = f"which kernel? name it as in {file}:kernel"
    elif isinstance(named_object, Dispatcher):
        text = f"{name!r} is a device function; only kernels are compiled on their own"
    elif named_object is not None:
        text = f"{name!r} in {file} is no kernel but {_described(named_object)}"
    else:
        text = f"{file} has no kernel {name!r}{likely(name, kernels)}"
    if kernels:
        return f"{text}. It has: {', '.join(kernels)}"
    return f"{text}. It has none at its top level, and those inside functions cannot be reached"


def _described(named_object: object) -> str:
    if inspect.isfunction(named_object):
        return "a plain function: write @cuda.jit above it"
    return f"of type {type(named_object).__name__}"


def _load(path: Path, command: str) -> ModuleType:
    """Load the file as a module, not as the main program; its output is redirected to stderr, and
    its exceptions are shown as its own."""
    from gridlane import cuda
    from gridlane.cuda.triton_compat import install_as_triton

    cuda.install_as_numba()
    install_as_triton()
    sys.path.insert(0, str(path.resolve().parent))
    # A file may have the name of a loaded module, such as random.py, and must not replace it.
    name = f"{path.stem} of gridlane compile" if path.stem in sys.modules else path.stem
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        fail(f"{command}: {os.fspath(path)!r} is no Python file: its name should end in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with redirect_stdout(sys.stderr):  # stdout has the code that is asked for
            spec.loader.exec_module(module)
    except Exception as error:
        from gridlane.cli.tracebacks import shown_as_the_programs

        fail(f"{command}: {path} failed while it was loaded:\n{shown_as_the_programs(error)}", 1)
    return module
