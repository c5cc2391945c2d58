"""LLVM through llvmlite: the machines of the CPU target, optimisation, object code and assembly.

NVIDIA's machines are in gpu/nvptx/ptx.py.
"""

# llvmlite has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from functools import cache

import llvmlite.binding as llvm

from gridlane.codegen.llvm.bit_selects import hidden_choices, is_suspect
from gridlane.core import processors
from gridlane.core.config import config
from gridlane.core.errors import GridlaneError, TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import Target
from gridlane.core.processors import ARM, FAMILIES, LIBMVEC, X86

ONE_LANE = '"one-lane"="true"'
"""The attribute of kernels whose chunks have one lane: LLVM vectorises their loops."""
_TRIPLES = {X86: "x86_64-unknown-linux-gnu", ARM: "aarch64-unknown-linux-gnu"}


@frozen
class Machine:
    """The target machine of code.

    Attributes:
        architecture: a key of ``processors.PROCESSORS``, or LLVM's name of another one.
        processor, features: as LLVM takes them.
        has: its features among ``processors.FEATURES``.
        named: the user asked for it by name, so it need not be the host.
        vector_library: the target has glibc's vector functions; None: as on the host.
    """

    architecture: str
    triple: str
    processor: str
    features: str
    has: frozenset[str]
    named: bool = False
    vector_library: bool | None = None

    @property
    def vector_bytes(self) -> int:
        """Length of the vectors: 64 with AVX-512, 32 with AVX2, else 16."""
        if {"avx512f", "avx512bw", "avx512vl"} <= self.has:
            return 64
        return 32 if "avx2" in self.has else 16

    @property
    def converts_halves(self) -> bool:
        """Whether instructions convert f16 from and to f32."""
        return self.architecture != X86 or "f16c" in self.has

    @property
    def fuses(self) -> bool:
        """Whether the machine has an instruction for fused multiply-add."""
        return self.architecture != X86 or bool(self.has & {"fma", "fma4", "avx512f"})

    @property
    def rounds_to_integers(self) -> bool:
        """Whether instructions round floats to integers as floor, ceil, trunc and rint do."""
        return self.architecture != X86 or "sse4.1" in self.has

    @property
    def moves_16_bytes(self) -> bool:
        """Whether loads and stores of 16 aligned bytes are atomic: as Intel and AMD say of
        processors with AVX, and Arm of those with LSE2."""
        if self.architecture == X86:
            return "avx" in self.has
        asked = (self.triple, self.processor, self.features, ("lse2",))
        return self.architecture == ARM and "lse2" in _features_of(*asked)

    @property
    def needs(self) -> tuple[str, ...]:
        """The features that a host needs to run the code; () for code that is the host's own."""
        return (self.architecture, *sorted(self.has)) if self.named else ()


@cache
def _initialise() -> None:
    """Register the native target, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def initialise_all() -> None:
    """Register the targets of other architectures as well."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def host() -> Machine:
    """The machine of the host."""
    _initialise()
    triple, host_cpu_features = llvm.get_default_triple(), llvm.get_host_cpu_features()
    family = triple.partition("-")[0]
    return Machine(
        FAMILIES.get(family, family),
        triple,
        llvm.get_host_cpu_name(),
        host_cpu_features.flatten(),
        frozenset(name for name, there in host_cpu_features.items() if there),
    )


def machine_for(target: Target) -> Machine:
    """The machine for a target named ``cpu``: the target's own, else the one that GRIDLANE_CPU
    names, else the host.

    Raises:
        TargetError: a name is unknown.
    """
    if not target.processor and not target.attributes:
        return _named(config().cpu) if config().cpu else host()
    parts = (target.processor or processors.HOST, target.attributes)
    return _named(",".join(filter(None, parts)))


@cache
def _named(text: str) -> Machine:
    """The machine that the user chose."""
    try:
        choice = processors.parse(text)
    except ValueError as error:
        raise TargetError(f"the cpu target: {error}") from None
    here = host()
    own = choice.processor == processors.HOST
    architecture = choice.architecture or here.architecture
    changes = [change for change in choice.changes if change[1:] != LIBMVEC]
    if own or architecture == here.architecture:
        triple, library = here.triple, None
    else:
        initialise_all()
        triple, library = _TRIPLES[architecture], False
    if len(changes) != len(choice.changes):
        library = f"+{LIBMVEC}" in choice.changes
    if architecture == X86 and not own:  # all but the first of 64 bits swap 16 bytes at once
        changes.insert(0, "+cx16")
    features = ",".join([here.features, *changes] if own else changes)
    processor = here.processor if own else choice.processor
    asked = processors.FEATURES.get(architecture, ())
    has = _features_of(triple, processor, features, asked)
    return Machine(architecture, triple, processor, features, has, True, library)


@cache
def _features_of(
    triple: str, processor: str, features: str, asked: tuple[str, ...]
) -> frozenset[str]:
    """The features, among some, that LLVM attributes to a processor.

    LLVM's interface does not list them, but its inliner reveals them: it inlines a function that is
    compiled with a feature only into a function that has the feature too.
    """
    attributes = f'"target-cpu"="{processor}" "target-features"="{features}'
    lines = [f'attributes #{len(asked)} = {{ {attributes}" }}']
    calls: list[str] = []
    for n, feature in enumerate(asked):
        comma = "," if features else ""
        lines.append(f'attributes #{n} = {{ {attributes}{comma}+{feature}" }}')
        store = f"store volatile i32 {n}, ptr %p"
        lines.append(f"define internal void @f{n}(ptr %p) #{n} {{\n {store}\n ret void\n}}")
        calls.append(f" call void @f{n}(ptr %p)\n")
    lines.append(f"define void @all(ptr %p) #{len(asked)} {{\n{''.join(calls)} ret void\n}}")
    module = _optimised("\n".join(lines), triple, processor, features, 2)
    left = set(map(int, re.findall(r"call [^\n]*@f(\d+)\(", str(module))))
    return frozenset(feature for n, feature in enumerate(asked) if n not in left)


@cache
def target_machine(triple: str, processor: str, features: str, level: int) -> llvm.TargetMachine:
    """LLVM's machine."""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, features=features, opt=level, reloc="pic", codemodel="default"
    )


def _optimised(text: str, triple: str, processor: str, features: str, level: int) -> llvm.ModuleRef:
    """Parse, verify and optimise a module.

    Raises:
        GridlaneError: LLVM refuses the text: a defect in code generation.
    """
    machine = target_machine(triple, processor, features, level)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise GridlaneError(f"LLVM refuses the generated code: {error}") from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    # Level 0 would take longer, as the code generator then has four times the text to read.
    options = llvm.create_pipeline_tuning_options(speed_level=max(1, min(level, 2)))
    # gridlane has already vectorised what has several lanes; there LLVM's would only cost time.
    options.loop_vectorization = level > 1 and ONE_LANE in text
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _made(text: str, machine: Machine, level: int) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """An optimised module, and LLVM's machine for it."""
    parts = (machine.triple, machine.processor, machine.features, level)
    return _optimised(text, *parts), target_machine(*parts)


def check_text(text: str, original: str) -> None:
    """Parse and verify a module that replaces another.

    Raises:
        GridlaneError: LLVM refuses the text, or it lacks a function that others call, or that has
            other parameters.
    """
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise GridlaneError(f"LLVM refuses it: {error}") from None
    functions = _functions(module)
    for name, parameters in _functions(llvm.parse_assembly(original)).items():
        if functions.get(name) != parameters:
            shown = ", ".join(parameters)
            raise GridlaneError(f"there is no function {name} of ({shown}) in it, which is called")


def _functions(module: llvm.ModuleRef) -> dict[str, list[str]]:
    """The types of the parameters of each function that a module defines for others."""
    return {
        each.name: [str(argument.type) for argument in each.arguments]
        for each in module.functions
        if not each.is_declaration and each.linkage == llvm.Linkage.external
    }


def object_code(text: str, machine: Machine, level: int = 2) -> bytes:
    """Compile to a relocatable object file."""
    module, target = _made(text, machine, level)
    return _emitted(module, target, text, machine, level)


def object_and_text(text: str, machine: Machine, level: int = 2) -> tuple[bytes, str]:
    """The same, and the optimised LLVM IR that it is made of."""
    module, target = _made(text, machine, level)
    optimised = str(module)  # emission changes the module
    return _emitted(module, target, text, machine, level), optimised


def _emitted(
    module: llvm.ModuleRef, target: llvm.TargetMachine, text: str, machine: Machine, level: int
) -> bytes:
    code = target.emit_object(module)
    if machine.architecture == X86 and is_suspect(code):
        code = target.emit_object(_without_merging(text, machine, level))
    return code


def assembly(text: str, machine: Machine, level: int = 2) -> str:
    """Optimised assembly of the code of ``object_code``."""
    module, target = _made(text, machine, level)
    if machine.architecture == X86 and is_suspect(target.emit_object(module)):
        module = _without_merging(text, machine, level)
    else:
        module, _ = _made(text, machine, level)  # emission changes the module
    return target.emit_assembly(module)


def _without_merging(text: str, machine: Machine, level: int) -> llvm.ModuleRef:
    """An optimised module without bit selects folded into selects by lanes; see bit_selects.py."""
    module, _ = _made(text, machine, level)
    return llvm.parse_assembly(hidden_choices(str(module)))


def optimised_text(text: str, machine: Machine, level: int = 2) -> str:
    """Optimised LLVM IR."""
    return str(_made(text, machine, level)[0])
