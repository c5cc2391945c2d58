"""The kernels of a Python file by their kind: of numba's dialect, or tile programs."""

from __future__ import annotations

from typing import Any, Protocol

from gridlane.backends.record import Backend
from gridlane.cli.failure import fail
from gridlane.cli.signature_text import argument_types
from gridlane.cli.wording import counted
from gridlane.compiler.programs import block_of
from gridlane.core.argtypes import ArgType
from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.signatures import signature_of
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.ir.source import KernelSource
from gridlane.ir.values import Module
from gridlane.launch.dimensions import Dim3
from gridlane.tiles.autotuning import Autotuner, Heuristics
from gridlane.tiles.jit import JITFunction
from gridlane.tiles.programs import Program
from gridlane.tiles.signatures import program_of, shown


@frozen
class Input:
    """A kernel to compile.

    Attributes:
        types: of the arguments; the source of PTX and IR has none.
        parameters: each with its type, to show.
        number: counts the types of a kernel with several, from 1; 0 for a single one.
        block: the block shape that the source requires.
    """

    name: str
    source: KernelSource
    options: KernelOptions
    types: tuple[ArgType, ...] = ()
    parameters: tuple[str, ...] = ()
    number: int = 0
    block: tuple[int, int, int] | None = None

    @property
    def title(self) -> str:
        """The kernel with its types."""
        return f"{self.name}({', '.join(self.parameters)})"


def programs_block(module: Module, record: Backend) -> Dim3 | None:
    """The block of a backend that runs a tile program; None for other kernels, whose blocks may
    have any shape."""
    return block_of(record, module.program_warps) if module.program_warps else None


class PythonKernel(Protocol):
    """A kernel of a Python file.

    Attributes:
        name: in the file.
        module: the file's, by name.
        parameters: their names.
        example: of a signature.
        instead: how the file itself says the types.
    """

    name: str
    module: str
    parameters: list[str]
    example: str
    instead: str

    def known(self) -> list[Input]:
        """For the types that the file says, or that it was launched with while it was loaded."""
        ...

    def of(self, signature: str, command: str) -> Input:
        """For the types of --sig; fails in words."""
        ...


class DialectKernel:
    """A kernel of numba's dialect."""

    instead = 'or in the file, as in @cuda.jit("void(float32[:], int32)")'

    def __init__(self, name: str, kernel: Dispatcher) -> None:
        self.name, self.kernel = name, kernel
        self.module = kernel.py_func.__module__
        self.parameters = list(signature_of(kernel.py_func).parameters)
        self.example = ", ".join("f32[:]" for _ in self.parameters)

    def known(self) -> list[Input]:
        """For the types that the file says."""
        several = list(self.kernel.overloads) if self.parameters else [()]
        return _numbered([self._input(types) for types in several])

    def of(self, signature: str, command: str) -> Input:
        """For the types of --sig."""
        types = argument_types(signature)
        if len(self.parameters) != len(types):
            fail(
                f"{command}: {self.name}({', '.join(self.parameters)}) has "
                f"{counted(len(self.parameters), 'parameter')}, and --sig has "
                f"{counted(len(types), 'type')}"
            )
        return self._input(types)

    def _input(self, types: tuple[ArgType, ...]) -> Input:
        source = PythonSource(self.kernel.py_func)
        return Input(self.name, source, self.kernel.options, types, tuple(map(str, types)))


class TileKernel:
    """A tile program."""

    instead = "or launch it in the file"

    def __init__(self, name: str, function: JITFunction) -> None:
        self.name, self.function, self.module = name, function, function.fn.__module__
        self.parameters = function.arg_names
        self.example = ", ".join(
            f"{each.name}=128" if each.is_constant else "*fp32" for each in function.parameters
        )

    def known(self) -> list[Input]:
        """For the types that it was launched with."""
        programs = self.function.programs()
        return _numbered([self._input(each) for each in programs])

    def of(self, signature: str, command: str) -> Input:
        """For the types and constants of --sig."""
        try:
            return self._input(program_of(self.function, signature))
        except ArgumentError as error:
            fail(f"{command}: --sig of {self.name}: {error}")

    def _input(self, program: Program) -> Input:
        kernel = program.kernel
        return Input(self.name, program.source, kernel.options, kernel.types, shown(program))


def _numbered(inputs: list[Input]) -> list[Input]:
    if len(inputs) < 2:
        return inputs
    return [
        Input(each.name, each.source, each.options, each.types, each.parameters, number)
        for number, each in enumerate(inputs, 1)
    ]


def kernel_of(name: str, value: Any) -> PythonKernel | None:
    """A kernel by its object in the file; None for any other object."""
    if isinstance(value, Dispatcher):
        return None if value.is_device_function else DialectKernel(name, value)
    if isinstance(value, Autotuner | Heuristics):
        value = base_of(value)
    return TileKernel(name, value) if isinstance(value, JITFunction) else None


def base_of(value: Any) -> Any:
    """The program below its decorators."""
    while isinstance(value, Autotuner | Heuristics):
        value = value.fn
    return value
