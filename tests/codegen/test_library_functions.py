"""Functions that passes write for what a language lacks: texts that kernels share."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gridlane.codegen.clike import functions
from gridlane.compiler import generate, pipeline
from gridlane.compiler.clike import dialect_of
from gridlane.core.config import config
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module

KERNEL = """
kernel @mixed(%source: ptr<f32, global>, %target: ptr<f32, global>, %n: i64) {
  %i: i32 = thread_idx x
  %from: ptr<f32, global> = offset %source, %i
  %x: f32 = load %from
  %long: i64 = cast %i
  %a: i64 = div %long, %n
  %b: i64 = rem %a, %n
  %c: f32 = cast %b
  %e: f32 = exp %x
  %p: f32 = pow %e, %x
  %q: f32 = pow %x, %c
  %wide: f64 = cast %p
  %third: f64 = const 0x1.5555555555555p-2
  %power: f64 = exp %wide
  %product: f64 = mul %power, %third
  %sum: f64 = add %product, %third
  %narrow: f32 = cast %sum
  %unused: f32 = sin %x
  %total: f32 = add %narrow, %q
  %to: ptr<f32, global> = offset %target, %i
  store %to, %total
}
"""
LONG = KERNEL.replace(
    "%total: f32 = add %narrow, %q",
    """%folded: f64 = log %sum
  %last: f32 = cast %folded
  %total: f32 = add %last, %q""",
)
TARGETS = {
    "metal": Target("metal"),
    "opengl": Target("opengl", block=(64, 1, 1)),
    "opengl es": Target("opengl", block=(64, 1, 1), features=frozenset((Feature.ES,))),
    "webgpu": Target("webgpu", block=(64, 1, 1)),
}
EXACT = KernelOptions(fp64="exact")


def text(name: str, kernel: str = KERNEL, options: KernelOptions = EXACT) -> str:
    """The program of a kernel."""
    return generate(parse_module(kernel), TARGETS[name], options).code.decode()


@pytest.fixture(autouse=True)
def forget() -> None:
    """As in a new process."""
    functions.forget()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_is_what_is_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified after each pass, where a function is declared alone as well."""
    monkeypatch.setattr(pipeline, "config", lambda: replace(config(), verify=True))
    first = text(name)
    kept = functions.kept_functions(dialect_of(TARGETS[name]), EXACT)
    assert "gridlane.pow.f32" in kept
    assert text(name) == first
    # Other kernels find some of them there, and put those alone in front.
    other = re.sub("pow %e", "add %e", re.sub("pow %x", "mul %x", KERNEL))
    beside = text(name, other)
    functions.forget()
    assert text(name, other) == beside
    assert "f_pow_f32" not in beside


@pytest.mark.parametrize("name", TARGETS)
def test_each_is_there_once_and_before_its_calls(name: str) -> None:
    lines = text(name).splitlines()
    head = re.compile(r"(?:fn |\w+ )(f_\w+)\(.*\{$")
    written = {}
    for n, line in enumerate(lines):
        if found := head.match(line):
            assert found[1] not in written, found[1]
            written[found[1]] = n
        elif line.startswith("    "):
            for callee in re.findall(r"\b(f_\w+)\(", line):
                assert callee in written, f"{callee} is called in line {n}"
    assert {"f_pow_f32", "f_exp_f64", "f_soft_add", "f_soft_mul"} <= set(written)
    assert sum("f_pow_f32(" in line for line in lines) == 3


@pytest.mark.parametrize("name", TARGETS)
def test_what_nothing_needs_is_left_out(name: str) -> None:
    assert "f_sin_f32" not in text(name)


def test_options_choose_other_functions() -> None:
    narrow = text("webgpu", options=KernelOptions(fp64="narrow"))
    assert "f_soft_add" in text("webgpu")
    assert "f_soft_add" not in narrow


@pytest.mark.parametrize("name", ["webgpu", "opengl es"])
def test_floats_are_kept_apart_across_calls(name: str) -> None:
    """Where the compiler may contract, as it inlines the function."""
    made = text(name)
    param = re.search(r"f_exp_f32\((?:float )?(x\d+)", made)
    assert param
    body = made[param.end() :]
    body = body[: body.index("\n}")]
    uses = [line for line in body.splitlines() if re.search(rf"\b{param[1]}\b", line)]
    assert uses
    assert all("^ zero" in line for line in uses), uses
    results = re.findall(r"return (.*);", body)
    assert results
    for result in results:
        (made_so,) = re.findall(rf".*\b{re.escape(result)}\b.* = .*", body) or [result]
        assert "^ zero" in made_so, result


def test_zeros_that_go_into_a_call_are_hidden() -> None:
    """Where functions do not hide what comes in."""
    made = text(
        "opengl",
        KERNEL.replace("pow %e, %x", "pow %e, %zero").replace(
            "  %e: f32", "  %zero: f32 = const 0x0p+0\n  %e: f32"
        ),
    )
    (zero, other) = re.findall(r"= f_pow_f32\(v\d+, (.*)\);\n", made)
    assert re.fullmatch(r"uintBitsToFloat\(floatBitsToUint\(0\.0\) \^ zero\)", zero), made
    assert "zero" in other or re.search(rf"\b{other} = .*\^ zero", made)


@pytest.mark.parametrize("name", ["opengl", "webgpu"])
def test_all_loops_are_in_the_kernel_where_they_are_watched(name: str) -> None:
    """A device that ends loops after some rounds counts those of functions as well."""
    target = TARGETS[name]
    loops = re.compile(r"^ +(?:loop|for \(;;\)) \{", re.MULTILINE)
    short = replace(target, features=frozenset((Feature.SHORT_LOOPS,)))
    for _ in range(2):
        free, watched = (
            generate(parse_module(LONG), at, KernelOptions(fp64="exact")).code.decode()
            for at in (target, short)
        )
        assert "f_divide_u64(" in free
        assert "f_divide_u64(" not in watched
        assert "f_soft_add(" in watched
        # It only calls one with a loop, the soft quotient.
        assert "f_log_f64(" in free
        assert "f_log_f64(" not in watched
        functions_of = watched[: re.search(r"\bvoid main\b|@compute", watched).start()]  # type: ignore[union-attr]  # it is there
        assert loops.search(watched)
        assert not loops.search(functions_of)
