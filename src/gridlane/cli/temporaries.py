"""Files of ``gridlane compile``: their names, intermediate ones, and LLVM IR that is fed back."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from gridlane.backends import backend
from gridlane.backends.formats import ASM, IR, LLVM, PTX, Format
from gridlane.cli.failure import fail
from gridlane.cli.inputs import Input, Place, text_of
from gridlane.core.errors import CompileError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module

LONGEST = 120
"""Characters of a kernel's name in a file's; mangled names exceed what file systems allow."""


def file_name(input: Input) -> str:
    """The name of a kernel's file, without a suffix."""
    name = input.name
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{sha256(name.encode()).hexdigest()[:8]}"
    return f"{name}.{input.number}" if input.number else name


def write(path: Path, code: str | bytes, command: str = "compile") -> None:
    """Write a file; report errors in words."""
    try:
        path.write_bytes(code.encode() if isinstance(code, str) else code)
    except OSError as error:
        fail(f"{command}: cannot write {str(path)!r}: {error.strerror}")


def make_folder(path: Path) -> None:
    """Make a folder; report errors in words."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"compile: cannot make the folder {str(path)!r}: {error.strerror}")


@frozen
class Temporaries:
    """The folder for the stages in front of the requested one."""

    folder: Path

    def keep(self, name: str, code: str | bytes) -> None:
        """Write one."""
        make_folder(self.folder)
        write(self.folder / name, code)

    def stages(
        self, stem: str, module: Module, stage: Format, target: Target, options: KernelOptions
    ) -> None:
        """Write the IR of a kernel, and its LLVM IR where the target has some."""
        from gridlane import compiler

        if stage is IR:
            return
        self.keep(f"{stem}{IR.suffix}", compiler.text(module, target, IR.name, options))
        if stage is not LLVM and LLVM in backend(target.name).formats:
            self.keep(f"{stem}{LLVM.suffix}", compiler.text(module, target, LLVM.name, options))


def of_llvm(place: Place, stage: Format, target: Target, level: int | None) -> str:
    """Assembly or PTX of LLVM IR in text, as --target llvm writes it.

    Raises:
        CompileError: LLVM does not read the text.
    """
    text = text_of(place)
    has_gpu_code = "nvptx" in text
    wanted = PTX if has_gpu_code else ASM
    if place.kernel or stage is not wanted:
        kind = "a GPU" if has_gpu_code else "the CPU"
        fail(
            f"compile: {place.file} is LLVM IR for {kind}: --target {wanted.name} is what can be "
            "made of it, as a whole"
        )
    optimises = level is None or level > 0
    try:
        if not has_gpu_code:
            from gridlane.codegen.llvm import machine

            return machine.assembly(text, machine.machine_for(target), 2 * optimises)
        from gridlane.codegen.llvm.gpu.nvptx import ptx
        from gridlane.compiler.cuda import machine_of

        generator = machine_of(target)
        return ptx.assembly(text, generator.processor, generator.features, 3 * optimises)
    except RuntimeError as error:  # llvmlite's, with LLVM's message
        raise CompileError(f"compile: {place.file}: {error}") from error
