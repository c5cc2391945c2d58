"""LLVM through llvmlite: target machines, optimisation, object code and assembly.

The host's machine has the functions ``object_code``, ``assembly``, ``optimised_text``; NVIDIA's is
in ptx.py.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from gridlane.codegen.llvm.bit_selects import hidden_choices, is_suspect
from gridlane.core.errors import GridlaneError


@cache
def _initialise() -> None:
    """Register the native target; once a process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # of what bit_selects.py writes


@cache
def host() -> tuple[str, str]:
    """(processor name, feature string) of this machine."""
    _initialise()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def target_machine(processor: str, features: str, level: int) -> llvm.TargetMachine:
    """The target machine; "" is the host's."""
    _initialise()
    name, own = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=processor or name,
        features=features or own,
        opt=level,
        reloc="pic",
        codemodel="default",
    )


def vector_bytes(features: str = "") -> int:
    """Length of the machine's vectors: 64 with AVX-512, 32 with AVX2, else 16."""
    enabled = (features or host()[1]).split(",")
    if "+avx512f" in enabled and "+avx512bw" in enabled and "+avx512vl" in enabled:
        return 64
    return 32 if "+avx2" in enabled else 16


def optimise(text: str, processor: str, features: str, level: int) -> llvm.ModuleRef:
    """Parse, verify and optimise a module.

    Raises:
        GridlaneError: LLVM refuses the text: a defect in code generation.
    """
    machine = target_machine(processor, features, level)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise GridlaneError(f"LLVM refuses the generated code: {error}") from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=min(level, 2))
    # The vectoriser has done this; what is left to them would only cost time.
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def object_code(text: str, processor: str = "", features: str = "", level: int = 2) -> bytes:
    """A relocatable object file."""
    machine = target_machine(processor, features, level)
    code = machine.emit_object(optimise(text, processor, features, level))
    if _is_x86(machine) and is_suspect(code):
        code = machine.emit_object(_without_merging(text, processor, features, level))
    return code


def assembly(text: str, processor: str = "", features: str = "", level: int = 2) -> str:
    """Optimised assembly, of what ``object_code`` gives."""
    machine = target_machine(processor, features, level)
    module = optimise(text, processor, features, level)
    if _is_x86(machine) and is_suspect(machine.emit_object(module)):
        module = _without_merging(text, processor, features, level)
    else:
        module = optimise(text, processor, features, level)  # what is emitted is changed by that
    return machine.emit_assembly(module)


def _is_x86(machine: llvm.TargetMachine) -> bool:
    return machine.triple.startswith(("x86_64", "i386", "i686"))


def _without_merging(text: str, processor: str, features: str, level: int) -> llvm.ModuleRef:
    """An optimised module in which no bit select is merged into a choice; see bit_selects.py."""
    module = optimise(text, processor, features, level)
    return llvm.parse_assembly(hidden_choices(str(module)))


def optimised_text(text: str, processor: str = "", features: str = "", level: int = 2) -> str:
    """Optimised LLVM IR."""
    return str(optimise(text, processor, features, level))
