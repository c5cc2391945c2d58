"""Targets whose code is text in a C-like language, which a driver's compiler reads."""

from __future__ import annotations

from gridlane.backends import backend
from gridlane.backends.record import Backend, loaded
from gridlane.codegen.clike import KernelText, emit_kernel, kept_functions
from gridlane.codegen.clike.emission import Dialect, Functions
from gridlane.compiler import pipeline, recording
from gridlane.compiler.constant_tables import place_tables
from gridlane.compiler.layout import lay_out
from gridlane.compiler.nesting import check_nesting
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.errors import TargetError
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """The program text of a kernel. Changes the module.

    Raises:
        TargetError: the target does not support an op of the kernel; located.
    """
    slots, size = lay_out(module.kernel)
    own = len(module.errors)
    code, notes, tables = _emit(module, target, options)
    # Passes add arrays of their own.
    static_shared = sum(-(-item.size // 16) * 16 for item in module.static_shared())
    record = backend(target.name)
    replaced_text = _recorded(code, record)
    return Artifact(
        target=target.name,
        format=record.formats[-1].name,
        code=replaced_text.encode(),
        entry=code.entry,
        kernel=module.kernel.name,
        params=slots,
        param_bytes=size,
        static_shared=static_shared + code.extra_shared,
        block=target.block if record.shaped else None,
        errors=error_sites(module, own),
        prints=print_sites(code.prints),
        notes=notes,
        uses_dynamic_shared=code.uses_dynamic_shared,
        buffers=module.buffers,
        untraced=module.untraced,
        constants=tables,
    )


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """The program text, the only stage after the IR. Changes the module.

    Raises:
        TargetError: there is no such stage.
    """
    if stage != "asm":
        raise TargetError(f"target {target.name} has no stage {stage!r}; it has ir and asm")
    return _recorded(_emit(module, target, options)[0], backend(target.name))


def _recorded(code: KernelText, record: Backend) -> str:
    # In GLSL it is main.
    check = recording.names_entry(code.entry if code.entry in code.text else "main")
    return recording.record_text("code", record.formats[-1].suffix, code.text, check)


def dialect_of(target: Target) -> type[Dialect]:
    """The language of a target, as its record names it for the device's features."""
    given = pipeline.features_of(target)
    dialects = backend(target.name).dialects
    return loaded(next(each.path for each in dialects if each.applies(given)))


def prepare(module: Module, target: Target, options: KernelOptions) -> Functions:
    """Set what passes read of a module about its target; the functions whose text is kept."""
    dialect, features = dialect_of(target), pipeline.features_of(target)
    module.gathers_loops = Feature.SHORT_LOOPS in features
    module.hides_bit_selects = Feature.SWAPS_SELECTS in features
    module.hides_units = Feature.MISREADS_UNITS in features
    module.buffers = target.variant.buffers if dialect.numbers_buffers else ()
    # A function whose text is kept may come from a file, or would be missing in one.
    known: Functions = {} if recording.active() else kept_functions(dialect, options, module)
    module.known = known
    return known


def _emit(
    module: Module, target: Target, options: KernelOptions
) -> tuple[KernelText, tuple[str, ...], bytes]:
    """The text, notes for the user, and the tables behind the parameters."""
    record, dialect = backend(target.name), dialect_of(target)
    if record.shaped and target.block is None:
        raise TargetError(
            f"the {target.name} target has the block shape in its code: name one, as "
            f'Target("{target.name}", block=(128, 1, 1))'
        )
    given = pipeline.conditions(target, options)
    known = prepare(module, target, options)
    notes = pipeline.run(module, record, given, options)
    if module.gathers_loops:
        check_nesting(module)
    slots, size = lay_out(module.kernel)
    tables = place_tables(module, size) if dialect.tables_in_memory else b""
    offsets = tuple(slot.offset for slot in slots)
    code = emit_kernel(module, dialect(), options, offsets, target.block, known)
    return code, notes, tables
