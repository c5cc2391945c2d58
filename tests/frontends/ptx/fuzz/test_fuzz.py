"""Some cases of ``make fuzz-ptx``, with fixed seeds."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.effort import examples
from tests.frontends.ptx.fuzz import programs, units
from tests.frontends.ptx.fuzz.__main__ import KINDS, run
from tests.frontends.ptx.fuzz.cases import Finding, read, run_program, run_text
from tests.frontends.ptx.linking import HEAD, NVLINK, refused_by_nvlink, refused_by_ptxas

from gridlane.frontends.ptx import parse_ptx
from gridlane.frontends.ptx.linking import link


@pytest.mark.parametrize("seed", range(examples(10, 2000)))
def test_a_random_program(seed):
    assert run(f"program:{seed}") == "equal"


@pytest.mark.parametrize("seed", range(0, examples(100, 20_000), 50))
def test_changed_texts(seed):
    """Fifty at a time."""
    for number in range(seed, seed + 50):
        run(f"change:{number}")


@pytest.mark.parametrize("seed", range(0, examples(60, 6000), 20))
def test_random_units(seed):
    """Twenty at a time."""
    for number in range(seed, seed + 20):
        assert run(f"units:{number}") == "equal"


@pytest.mark.parametrize("seed", range(0, examples(100, 20_000), 50))
def test_changed_units(seed):
    """Fifty at a time."""
    told = Counter(run(f"units-change:{number}") for number in range(seed, seed + 50))
    assert told["linked"] and told["refused"]


@pytest.mark.skipif(not NVLINK, reason="ptxas or nvlink of CUDA is not installed")
def test_nvlink_takes_random_units(tmp_path, monkeypatch):
    """What is defined in all units; their linked text is one that ptxas takes. That of CUDA 13.0
    loses functions that registers of functions in front of them are called as."""
    monkeypatch.setattr(units._Writer, "_hidden", lambda *_: "")
    seen = 0
    for seed in range(60):
        program = units.units(seed)
        if seen == 5 or None in program.results.values():
            continue
        seen += 1
        texts = [text.removeprefix(HEAD) for text in program.texts]
        assert refused_by_nvlink(texts, tmp_path) == "", seed
        made = link([parse_ptx(text) for text in program.texts]).module
        assert refused_by_ptxas(made.text.text, tmp_path) == "", seed
    assert seen == 5


def test_the_programs_use_most_forms():
    spellings = {use.spelling for use in programs.exact_uses()}
    assert len(spellings) > 1000
    assert set(KINDS) == {"program", "change", "units", "units-change"}


def test_what_the_fuzzer_finds(monkeypatch):
    from gridlane.frontends.ptx import source

    program = programs.program(3)
    monkeypatch.setattr(source.PtxSource, "translate", lambda *_: 1 / 0)
    with pytest.raises(Finding, match="ZeroDivisionError"):
        run_program(program)
    with pytest.raises(Finding, match="ZeroDivisionError"):
        run_text(program.text)
    assert read("no PTX") is None


def test_results_that_differ_are_found(monkeypatch):
    from tests.frontends.ptx.fuzz import cases

    launched = cases._launched

    def spoiled(device, module, name, grid, block, args):
        told = launched(device, module, name, grid, block, args)
        if device == "cpu":
            args[1][:] += 1
        return told

    monkeypatch.setattr(cases, "_launched", spoiled)
    with pytest.raises(Finding, match=r"interp 0x.*, cpu 0x"):
        run_program(programs.program(3))
