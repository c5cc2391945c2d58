"""PTX for every op: it is generated for each generation of GPU, and NVIDIA's assembler takes it."""

from __future__ import annotations

import re
import subprocess
from math import hypot, sin, sqrt
from pathlib import Path

import numpy as np
import pytest
from tests.effort import NIGHTLY

from gridlane import compiler, cuda
from gridlane.codegen.llvm.gpu.nvptx import emitted
from gridlane.codegen.llvm.gpu.nvptx.overlay import entry_name
from gridlane.compiler.cuda import PROCESSORS, assemble, find_ptxas, machine_of
from gridlane.compiler.libdevice import find_libdevice
from gridlane.conformance.cases import INEXACT, Case, arithmetic, emitting, over
from gridlane.conformance.effects import effects
from gridlane.core.argtypes import float32, float64, int32, int64
from gridlane.core.dtypes import FLOATS, f32, i32, u64
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.python.stubs import (
    cluster_rank,
    cluster_size,
    cluster_sync,
    load_words_anywhere,
    peer_address,
    store_words_anywhere,
)
from gridlane.ir.builder import Builder
from gridlane.ir.families import CHECKS, CLUSTERS
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.integer import PermuteMode
from gridlane.ir.parser import parse_module
from gridlane.ir.stages import MATH

PTXAS = find_ptxas()
# Threads that raise end on GPUs of NVIDIA; `report` is for shaders, whose barriers they would miss.
CASES = [case for case in [*arithmetic(), *effects()] if case.op not in {"report", *CHECKS}]
WITH_PTXAS = pytest.mark.skipif(PTXAS is None, reason="no CUDA toolkit on this machine")
WITH_LIBDEVICE = pytest.mark.skipif(find_libdevice() is None, reason="no libdevice")


def ptx_of(module, processor: str = "sm_90", options: KernelOptions = KernelOptions()) -> str:
    return compiler.generate(module, Target("cuda", processor=processor), options).code.decode()


def kernel_ptx(function, *types, processor: str = "sm_90", **options) -> str:
    chosen = KernelOptions(**options)
    return ptx_of(compiler.translate(function, types, chosen), processor, chosen)


def checked_by_ptxas(texts: list[str], processor: str, folder: Path) -> None:
    """Assemble all kernels in one run, each in a module of its own."""
    for number, text in enumerate(texts):
        (folder / f"{number}.ptx").write_text(text)
    files = [str(folder / f"{number}.ptx") for number in range(len(texts))]
    for file in files:
        command = [str(PTXAS), f"-arch={processor}", "-O0", file, "-o", str(folder / "out.cubin")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.returncode, f"{done.stderr}\n{Path(file).read_text()}"


LEAST = {
    **{"atomic_cas_pair": 90, "mma": 80, "mma-f64-f64-16-8-f64": 90},
    **dict.fromkeys(CLUSTERS, 90),
    **{"warpgroup_mma": 89, "tensor_load": 1000, "tensor_store": 1000, "tensor_reduce": 1000},
    "tensor_multicast": 1000,
}
"""The compute capability that ops, or cases of them, need; 1000: the cases are refused."""


@pytest.mark.parametrize("processor", ["sm_70", "sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("part", range(4))
def test_every_op_is_generated_and_assembles(processor: str, part: int, tmp_path: Path) -> None:
    several = 1 if NIGHTLY else 2 if processor == "sm_90" else 8
    capability = int(processor.removeprefix("sm_"))
    least = {str(case): LEAST.get(str(case), LEAST.get(case.op, 0)) for case in CASES}
    chosen = [case for case in CASES if capability >= least[str(case)]][part :: 4 * several]
    texts = [ptx_of(case.module, processor) for case in chosen]
    assert all(f".target {processor}" in text for text in texts)
    if PTXAS is not None and processor != "sm_70":  # which CUDA 13's assembler has dropped
        checked_by_ptxas(texts if NIGHTLY else texts[::2], processor, tmp_path)


def test_atomics_of_128_bits(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.op == "atomic_cas_pair")
    text = ptx_of(case.module)
    assert ".version 8.4" in text and "atom.relaxed.gpu.global.cas.b128" in text
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)
    with pytest.raises(TargetError, match=r"of 128 bits needs compute capability 9\.0"):
        ptx_of(case.module, "sm_89")


@WITH_LIBDEVICE
@pytest.mark.parametrize("part", range(4))
def test_every_function_assembles(part: int, tmp_path: Path) -> None:
    texts = []
    for cls in sorted(INEXACT, key=lambda cls: cls.name)[part::4]:
        for dtype in FLOATS:
            values = [np.ones(4, dtype.numpy)] * (
                2 if cls.__name__ in ("Pow", "Atan2", "Hypot") else 1
            )
            case: Case = over(cls.name, "", [dtype] * len(values), values, emitting(cls))
            texts.append(ptx_of(case.module))
    if PTXAS is not None:
        checked_by_ptxas(texts, "sm_90", tmp_path)


@pytest.fixture
def no_libdevice(monkeypatch) -> None:
    from gridlane.compiler import cuda as target

    monkeypatch.setattr(target, "find_libdevice", lambda: None)


def math_cases() -> list[Case]:
    """Every mathematical op over every float type, and the float remainder."""
    found = [case for case in CASES if case.op in MATH]
    found += [case for case in CASES if case.op == "rem" and case.label in map(str, FLOATS)]
    for cls in sorted(INEXACT, key=lambda cls: cls.name):
        for dtype in FLOATS:
            count = 2 if issubclass(cls, arith.Binary) else 1
            values = [np.ones(4, dtype.numpy)] * count
            found.append(over(cls.name, str(dtype), [dtype] * count, values, emitting(cls)))
    return found


@pytest.mark.usefixtures("no_libdevice")
@pytest.mark.parametrize("part", range(4))
def test_functions_without_libdevice(part: int, tmp_path: Path) -> None:
    texts = [ptx_of(case.module) for case in math_cases()[part::4]]
    assert len(texts) > 30
    assert not any("__nv_" in text or "call" in text for text in texts)
    if PTXAS is not None:
        checked_by_ptxas(texts, "sm_90", tmp_path)


@pytest.mark.usefixtures("no_libdevice")
def test_our_functions_keep_their_roundings() -> None:
    def distance(x, out):
        out[0] = hypot(x[0], x[1])

    text = kernel_ptx(distance, float32[::1], float32[::1])
    # ptxas contracts a product and a sum that do not say how they round.
    assert "sqrt.rn.f32" in text and "mul.rn.f32" in text
    assert not re.search(r"\b(add|sub|mul)\.f32", text)


@WITH_LIBDEVICE
def test_keys_tell_libdevice_from_our_functions(monkeypatch) -> None:
    from gridlane.compiler import identity as target

    with_library = target.identity_of(Target("cuda"))
    monkeypatch.setattr(target, "find_libdevice", lambda: None)
    assert target.identity_of(Target("cuda")) != with_library


# ---- what is chosen


def saxpy(a, x, y, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a * x[i] + y[i]


TYPES = (float32, float32[::1], float32[::1], float32[::1], int32)


def test_multiplications_and_additions_contract() -> None:
    assert "fma.rn.f32" in kernel_ptx(saxpy, *TYPES)
    strict = kernel_ptx(saxpy, *TYPES, fma=False)
    assert "fma" not in strict and "mul.rn.f32" in strict


def test_launch_bounds_and_registers() -> None:
    text = kernel_ptx(saxpy, *TYPES, launch_bounds=(128, 2), max_registers=40)
    for word in (".maxntid 128", ".minnctapersm 2", ".maxnreg 40"):
        assert word in text


def test_lines() -> None:
    first = saxpy.__code__.co_firstlineno
    text = kernel_ptx(saxpy, *TYPES, lineinfo=True)
    assert re.search(rf"\.loc\s+\d+ {first + 3} ", text)
    assert Path(__file__).name in text
    assert ".loc" not in kernel_ptx(saxpy, *TYPES)


def approximate(x, out):
    i = cuda.grid(1)
    out[i] = float32(1) / x[i] + float32(1) / sqrt(x[i])


def test_fast_math() -> None:
    types = (float32[::1], float32[::1])
    assert "div.rn.f32" in kernel_ptx(approximate, *types) or "rcp.rn.f32" in kernel_ptx(
        approximate, *types
    )
    fast = kernel_ptx(approximate, *types, fastmath=True)
    assert "rcp.approx.ftz.f32" in fast and "rsqrt.approx.ftz.f32" in fast


@WITH_LIBDEVICE
def test_only_what_is_called_is_linked() -> None:
    def sine(x, out):
        out[0] = sin(x[0])

    text = kernel_ptx(sine, float64[::1], float64[::1])
    assert text.count(".func") <= 2 and "__nv_" not in text.replace("__nv_sin", "")


def test_a_kernel_without_reports_has_no_report_block() -> None:
    assert "gridlane_report" not in kernel_ptx(saxpy, *TYPES)


def checks(x, n):
    assert n < 5, "too large"
    print("n", n, x[0])


def test_reports() -> None:
    artifact = compiler.generate(
        compiler.translate(checks, (float32[::1], int64), KernelOptions(debug=True)),
        Target("cuda", processor="sm_90"),
        KernelOptions(debug=True, opt=False),
    )
    text = artifact.code.decode()
    assert ".visible .global .align 8 .u64 gridlane_report" in text
    assert "fence.sc.sys" in text and "exit;" in text
    assert [site.message for site in artifact.errors if site.exception == "AssertionError"]
    assert len(artifact.prints) == 1 and len(artifact.prints[0].dtypes) == 2


@pytest.mark.parametrize("dtype", [i32, u64, f32], ids=str)
@pytest.mark.parametrize("kind", [AtomicKind.ADD, AtomicKind.MAX, AtomicKind.EXCHANGE])
@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_scopes(dtype, kind, space, tmp_path) -> None:
    if dtype.is_float and kind is AtomicKind.MAX:
        return
    module = parse_module(f"kernel @k(%p: ptr<{dtype}, {space}>) {{\n}}")
    b = Builder(module, module.kernel)
    pointer = module.kernel.params[0].value
    with b.inside(module.kernel.body):
        one = b.const(1.0 if dtype.is_float else 1, dtype)
        for scope in (MemoryScope.BLOCK, MemoryScope.DEVICE, MemoryScope.SYSTEM):
            b.emit(Atomic(kind, pointer, one, MemoryOrder.ACQ_REL, scope))
            b.emit(AtomicCas(pointer, one, one, MemoryOrder.SEQ_CST, scope))
    text = ptx_of(module)
    for scope in ("cta", "gpu", "sys"):
        assert f"fence.acq_rel.{scope}" in text and f"fence.sc.{scope}" in text
    assert text.count("atom.relaxed.sys") == 2
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)


def test_what_no_instruction_does_for_the_system() -> None:
    module = parse_module("kernel @k(%p: ptr<f32, global>) {\n}")
    b = Builder(module, module.kernel)
    with b.inside(module.kernel.body):
        one = b.const(1.0, f32)
        pointer = module.kernel.params[0].value
        b.emit(Atomic(AtomicKind.MAX, pointer, one, scope=MemoryScope.SYSTEM))
    with pytest.raises(TargetError, match="max of f32 for the whole system"):
        ptx_of(module)


# ---- asynchronous copies


def stages(x, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    cuda.async_copy(tile, 4 * i, x, 4 * i, 4)
    cuda.async_copy(tile, 2 * i, x, 2 * i, 2)
    cuda.async_commit()
    cuda.async_wait(1)
    out[i] = tile[i]


def test_asynchronous_copies(tmp_path) -> None:
    text = kernel_ptx(stages, float32[::1], float32[::1], processor="sm_80")
    for word in ("ca.shared.global", "cg.shared.global", "commit_group", "wait_group \t1"):
        assert f"cp.async.{word}" in text
    older = kernel_ptx(stages, float32[::1], float32[::1], processor="sm_75")
    assert "cp.async" not in older and "ld.global.v4" in older and "st.shared.v4" in older
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_80", tmp_path)
        checked_by_ptxas([older], "sm_75", tmp_path)


def clustered(out):
    tile = cuda.shared.array(64, int32)
    later = peer_address(tile, (cluster_rank() + 1) % cluster_size())
    store_words_anywhere(later + 16 * cuda.threadIdx.x, 1, 2, 3, 4)
    first, _, _, _ = load_words_anywhere(later)
    cluster_sync()
    out[cuda.threadIdx.x] = tile[cuda.threadIdx.x] + int32(first)


def test_clusters(tmp_path) -> None:
    text = kernel_ptx(clustered, int32[::1])
    for word in ("%cluster_ctarank", "%cluster_nctarank", "mapa.u64", "st.volatile.v4", "ld.vol"):
        assert word in text
    assert text.index("barrier.cluster.arrive;") < text.index("barrier.cluster.wait;")
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)
        named = kernel_ptx(clustered, int32[::1], processor="sm_90a")
        checked_by_ptxas([named], "sm_90a", tmp_path)
    with pytest.raises(TargetError, match=r"a cluster of blocks needs compute capability 9\.0"):
        kernel_ptx(clustered, int32[::1], processor="sm_80")
    with pytest.raises(TargetError, match="the vulkan target has no cluster_sync"):
        module = compiler.translate(clustered, (int32[::1],), KernelOptions())
        compiler.generate(module, Target("vulkan"), KernelOptions())


# ---- barriers


def test_waiting_where_warps_arrive_reduces_nothing() -> None:
    """The ISA leaves open what a barrier of arrivals and reductions does: an H200 ends the kernel
    with an illegal instruction."""
    case = next(case for case in CASES if str(case) == "barrier_arrive-produced")
    text = ptx_of(case.module)
    assert "bar.arrive" in text and "bar.sync" in text and "bar.red" not in text


# ---- grid barriers


def meets(x, n):
    cuda.cg.this_grid().sync()
    assert n < 5, "too large"
    x[0] = 1


def test_grid_sync_is_launched_cooperatively(tmp_path) -> None:
    types = (float32[::1], int64)
    for debug, leaves in ((False, 0), (True, 1)):
        options = KernelOptions(debug=debug)
        module = compiler.translate(meets, types, options)
        made = compiler.generate(module, Target("cuda", processor="sm_90"), options)
        text = made.code.decode()
        assert made.cooperative and text.count("\tbar.sync") == 2
        for word in ("%envreg1", "%envreg2", "atom.add.release.gpu", "ld.acquire.gpu"):
            assert word in text
        # With errors, a thread that waits leaves once another has raised.
        assert text.count("atom.cas.relaxed.gpu") == leaves
        if PTXAS is not None:
            checked_by_ptxas([text], "sm_90", tmp_path)


def test_threads_that_end_apart_meet_by_unaligned_barriers() -> None:
    def early(x, n):
        i = cuda.grid(1)
        if i >= n:
            return
        cuda.cg.this_grid().sync()
        x[i] = 1

    module = compiler.translate(early, (float32[::1], int64), KernelOptions())
    text = compiler.generate(module, Target("cuda", processor="sm_90"), KernelOptions())
    assert text.code.count(b"\tbarrier.sync") == 2 and b"\tbar.sync" not in text.code


# ---- refusals


def test_processors() -> None:
    assert machine_of(Target("cuda", processor="sm_90")).capability == 90
    with pytest.raises(TargetError, match="named like sm_90"):
        machine_of(Target("cuda", processor="gfx90a"))
    with pytest.raises(TargetError, match=r"7\.0 and later.* There are sm_70, .*sm_121$"):
        machine_of(Target("cuda", processor="sm_60"))
    for name in ("sm_73", "sm_99", "sm_80a", "sm_999a"):
        with pytest.raises(TargetError, match=f"there is no NVIDIA processor {name}. There are "):
            machine_of(Target("cuda", processor=name))


def test_a_processor_newer_than_all_here_gets_the_code_of_the_newest() -> None:
    made = machine_of(Target("cuda", processor="sm_999"))
    assert made == machine_of(Target("cuda", processor="sm_121"))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor_has_a_ptx_version(processor: str, tmp_path: Path) -> None:
    text = kernel_ptx(saxpy, *TYPES, processor=processor)  # LLVM ends the process otherwise
    assert f".target {processor}" in text
    if PTXAS is None:
        return
    known = subprocess.run([PTXAS, "--help"], capture_output=True, text=True).stdout
    if f"'{processor}'" in known:
        checked_by_ptxas([text], processor, tmp_path)


def test_no_assembler(monkeypatch) -> None:
    from gridlane.compiler import cuda as target

    monkeypatch.setattr(target, "find_ptxas", lambda: None)
    artifact = compiler.generate(
        compiler.translate(saxpy, TYPES, KernelOptions()), Target("cuda", processor="sm_90")
    )
    with pytest.raises(TargetError, match="PTX needs nothing"):
        assemble(artifact, Target("cuda", processor="sm_90"), KernelOptions())


@WITH_PTXAS
def test_cubin() -> None:
    artifact = compiler.generate(
        compiler.translate(saxpy, TYPES, KernelOptions()), Target("cuda", processor="sm_90")
    )
    made = assemble(artifact, Target("cuda", processor="sm_90"), KernelOptions())
    assert made.format == "cubin" and made.code.startswith(b"\x7fELF")


@WITH_PTXAS
def test_what_ptxas_refuses_is_told() -> None:
    from dataclasses import replace

    artifact = compiler.generate(
        compiler.translate(saxpy, TYPES, KernelOptions()), Target("cuda", processor="sm_90")
    )
    broken = replace(artifact, code=artifact.code.replace(b"fma.rn.f32", b"fmx.rn.f32"))
    with pytest.raises(TargetError, match="ptxas refuses"):
        assemble(broken, Target("cuda", processor="sm_90"), KernelOptions())


def test_names() -> None:
    assert entry_name("f.<locals>.g") == "f__locals__g"
    assert re.fullmatch(r"[A-Za-z_$][\w$]*", entry_name("9 λ"))


def test_classes_of_ops_are_known() -> None:
    assert all(issubclass(cls, Op) for cls in emitted(""))


@pytest.mark.parametrize(
    "op, type_, gone",
    [
        ("neg %v", "i16", "neg.s16"),
        ("abs %v", "i16", "abs.s16"),
        ("abs %v", "i32", "abs.s32"),
        ("abs %v", "i64", "abs.s64"),
        ("select %c, %one, %zero", "f32", "selp.f32"),
        ("select %c, %one, %zero", "f64", "selp.f64"),
    ],
)
def test_instructions_that_ptxas_compiles_wrongly(
    op: str, type_: str, gone: str, tmp_path: Path
) -> None:
    numbers = f"%one: {type_} = const 0x1p0 %zero: {type_} = const -0x0p0" if "f" in type_ else ""
    body = f"""
  %v: {type_} = load %x
  {numbers}
  %c: b1 = lt %v, {"%one" if numbers else "%v"}
  %n: {type_} = {op}
  store %o, %n
"""
    text = ptx_of(
        parse_module(f"kernel @k(%x: ptr<{type_}, global>, %o: ptr<{type_}, global>) {{ {body} }}")
    )
    assert not re.search(rf"{re.escape(gone)}\s+%r", text)
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)


@pytest.mark.parametrize(
    "number, low", [("f32", "u8"), ("f32", "u16"), ("f64", "u32"), ("f16", "u8")]
)
def test_low_bits_of_floats_are_stored_from_registers_without_a_type(
    number: str, low: str, tmp_path: Path
) -> None:
    bits = f"u{number[1:]}"
    text = ptx_of(
        parse_module(f"""
kernel @k(%x: ptr<{number}, global>, %o: ptr<{low}, global>) {{
  %v: {number} = load %x
  %s: {number} = add %v, %v
  %b: {bits} = bitcast %s
  %n: {low} = cast %b
  store %o, %n
}}
""")
    )
    assert not re.search(rf"st\.global\.b{low[1:]}\s+\S+ %r", text)
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)


@pytest.mark.parametrize(
    "op, type_, instruction",
    [
        ("add_sat %x, %y", "i32", "add.sat.s32"),
        ("sub_sat %x, %y", "i32", "sub.sat.s32"),
        ("prmt %x, %y, %z", "u32", "prmt.b32"),
    ],
)
def test_integer_instructions(op: str, type_: str, instruction: str) -> None:
    text = ptx_of(
        parse_module(f"""
kernel @k(%p: ptr<{type_}, global>, %x: {type_}, %y: {type_}, %z: {type_}) {{
  %s: {type_} = {op}
  store %p, %s
}}
""")
    )
    assert re.search(rf"{re.escape(instruction)}\s+%", text), text


@pytest.mark.parametrize("mode", PermuteMode, ids=lambda mode: mode.value)
def test_each_mode_of_prmt_is_its_own_instruction(mode: PermuteMode) -> None:
    case = next(case for case in CASES if str(case) == f"prmt-{mode.value}-u32")
    suffix = "" if mode is PermuteMode.GENERIC else f".{mode.value}"
    assert re.findall(r"prmt\.b32(\S*)", ptx_of(case.module)) == [suffix]
