"""``gridlane opt``: passes over IR in text."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from gridlane.backends.passes import by_name, stage_of
from gridlane.cli.optimising import Request, optimise, show_passes, summary
from gridlane.ir.ops.control import Call
from gridlane.ir.values import Module

TEXT = """
device @twice(%x: f32) -> (f32) {
  %y: f32 = add %x, %x
  return (%y)
}
kernel @k(%p: ptr<f32, global>) {
  var $unused: i32
  %x: f32 = load %p
  %n: i32 = bitcast %x
  %y: f32 = call @twice, (%x)
  store %p, %y
}
"""
INLINED = """kernel @k(%p: ptr<f32, global>) {
  %x: f32 = load %p
  %y: f32 = add %x, %x
  store %p, %y
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.ir"
    path.write_text(TEXT)
    return path


def refused(capsys: pytest.CaptureFixture[str], request: Request, status: int) -> str:
    with pytest.raises(SystemExit) as stopped:
        optimise(request)
    assert stopped.value.code == status
    return capsys.readouterr().err


def test_passes_run_in_order(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    optimise(Request(str(file), "inline,promote"))
    assert capsys.readouterr().out == INLINED
    optimise(Request(str(file), "promote"))
    assert "call" in capsys.readouterr().out


def test_stdin_and_an_output_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    optimise(Request("-", "inline, promote", output=str(tmp_path / "out.ir")))
    assert (tmp_path / "out.ir").read_text() == INLINED


def test_a_pass_that_depends_on_the_target(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        "kernel @k(%p: ptr<i32, global>, %n: u32) {\n  %x: i32 = load %p\n"
        "  %y: i32 = bfi %x, %x, %n, %n\n  store %p, %y\n}\n"
    )
    error = refused(capsys, Request(str(file), "expand-ops"), 2)
    assert "expand-ops depends on the target: --target names one of cpu, " in error
    optimise(Request(str(file), "expand-ops", target="interp"))
    assert "bfi %x" in capsys.readouterr().out
    optimise(Request(str(file), "expand-ops", target="webgpu"))
    assert "bfi %x" not in capsys.readouterr().out


@pytest.mark.parametrize("way", ["exact", "narrow"])
def test_the_way_of_float64(file: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    file.write_text(
        "kernel @k(%p: ptr<f32, global>, %n: f32) {\n  %a: f64 = cast %n\n"
        "  %b: f64 = mul %a, %a\n  %c: f32 = cast %b\n  store %p, %c\n}\n"
    )
    optimise(Request(str(file), "float64", fp64=way))
    done = capsys.readouterr()
    assert "f64" not in done.out.replace("f64_", "") and "note:" in done.err
    assert ("u64" in done.out) == (way == "exact")


WRONG = {
    "promot": (2, "there is no pass 'promot' (did you mean 'promote'?); there are: structurize"),
    "": (2, "opt: which passes? --passes names some"),
}


@pytest.mark.parametrize("passes", WRONG)
def test_unknown_passes(file: Path, capsys: pytest.CaptureFixture[str], passes: str) -> None:
    status, message = WRONG[passes]
    assert message in refused(capsys, Request(str(file), passes), status)


def test_wrong_files(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("kernel @k(%p: ptr<f32 global>) {\n}\n")
    error = refused(capsys, Request(str(file), "promote"), 1)
    shown = "    1 | kernel @k(%p: ptr<f32 global>) {\n      |                       ^\n"
    assert f"opt: {file}: line 1, column 23: expected ','" in error and shown in error
    file.write_text("kernel @a() {\n}\nkernel @b() {\n}\n")
    assert "a module has one kernel, not 2" in refused(capsys, Request(str(file), "promote"), 1)
    assert "there is no file 'no.ir'" in refused(capsys, Request("no.ir", "promote"), 2)
    assert "which file?" in refused(capsys, Request("", "promote"), 2)
    assert "no target 'gpu'" in refused(capsys, Request(str(file), "promote", target="gpu"), 2)


def test_invalid_results_name_the_pass(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridlane.passes.optimise import promote

    def broken(module: Module) -> None:
        module.kernel.body.ops.pop(0)

    monkeypatch.setattr(promote, "promote_variables", broken)
    error = refused(capsys, Request(str(file), "inline,promote"), 1)
    assert "after promote: " in error


def test_the_list_has_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    show_passes()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(by_name())
    rooms = {"structure", "optimise", "legalise", "tiles"}
    assert {stage_of(each) for each in by_name().values()} == rooms
    told = [summary(each) for each in by_name().values()]
    assert all(len(text) > 20 and not text.startswith("The same") for text in told)
    assert len(set(told)) >= len(told) - 1  # FRAGMENTS


RECURSIVE = """
device @f(%n: i32) -> (i32) {
  graph {
    block 0 {
      %0: i32 = const 1
      %c: b1 = lt %n, %0
      branch_if %c, 1, 2
    }
    block 1 {
      return (%0)
    }
    block 2 {
      %m: i32 = sub %n, %0
      %r: i32 = call @f, (%m)
      %s: i32 = mul %r, %n
      return (%s)
    }
  }
}
kernel @k(%p: ptr<i32, global>) {
  %x: i32 = load %p
  %y: i32 = call @f, (%x)
  store %p, %y
}
"""


def test_recursion_is_for_passes_to_remove(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(RECURSIVE)
    optimise(Request(str(file), "remove-recursion"))
    assert "call @f, (%m)" not in capsys.readouterr().out


def test_deep_ir(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    depth = sys.getrecursionlimit() * 2
    file.write_text("kernel @k() {\n" + "loop {\n" * depth + "}\n" * (depth + 1))
    optimise(Request(str(file), "promote"))
    assert capsys.readouterr().out.count("loop {") == depth


INVALID = {
    "  return\n  store %p, %p": "a terminator is last in its region (at {file}:2:3)",
    "  %c: b1 = const true\n  if %c {\n    %0: i8 = const 400\n  }": "(at {file}:4:5)",
    "  scope [label=1] {\n  }\n  scope [label=1] {\n  }": "a second scope 1 (at {file}:4:3)",
}


@pytest.mark.parametrize("body", INVALID)
def test_invalid_text_has_a_place(
    file: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    file.write_text("kernel @k(%p: ptr<i32, global>) {\n" + body + "\n}\n")
    assert INVALID[body].format(file=file) in refused(capsys, Request(str(file), "promote"), 1)


def test_a_pass_that_fails(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridlane.passes.optimise import promote

    def broken(module: Module) -> None:
        raise KeyError("no such op")

    monkeypatch.setattr(promote, "promote_variables", broken)
    error = refused(capsys, Request(str(file), "inline,promote"), 1)
    assert "promote cannot process this IR: KeyError: 'no such op' (at " in error
    assert "test_opt.py:" in error


def test_coarsened_launches_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        "kernel @k(%p: ptr<i32, global>, %x: i32) {\n  %i: i32 = thread_idx x\n"
        "  %d: i32 = block_idx x\n  %e: i32 = block_dim x\n  %f: i32 = mul %d, %e\n"
        "  %g: i32 = add %i, %f\n  %q: ptr<i32, global> = offset %p, %g\n  store %q, %x\n}\n"
    )
    optimise(Request(str(file), "coarsen"))
    assert "note: coarsen: launches have 1/4 of the blocks along x" in capsys.readouterr().err


def test_recursion_that_a_pass_makes_is_named(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridlane.passes.optimise import promote

    def broken(module: Module) -> None:
        twice = module.functions["twice"]
        twice.body.ops[0] = Call("twice", tuple(p.value for p in twice.params), twice.results)

    monkeypatch.setattr(promote, "promote_variables", broken)
    text = file.read_text().replace("return (%y)", "return (%x)")
    file.write_text(text)
    error = refused(capsys, Request(str(file), "promote"), 1)
    assert "after promote: recursion: @twice calls @twice" in error
