"""Programs in the style of the documentation of NVIDIA's bindings."""

import runpy
from pathlib import Path

import pytest
from tests.abi.conftest import forget

import gridlane

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.stem)
def test_program(device, program, capsys):
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out.strip().endswith("right")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.stem)
def test_program_on_the_interpreter(program, capsys):
    forget()
    with gridlane.device("interp"):
        runpy.run_path(str(program), run_name="__main__")
        forget()
    assert capsys.readouterr().out.strip().endswith("right")


def test_the_programs_are_here():
    assert [each.stem for each in PROGRAMS] == ["pipeline", "vector_add", "volume"]
