"""``gridlane conformance``: judgements, the matrix, the command."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane.conformance import judging
from gridlane.conformance.flushing import FLUSHED, flush
from gridlane.conformance.judging import How, Judgement, judged
from gridlane.conformance.matrix import Matrix, as_markdown
from gridlane.conformance.suite import Lack, cases
from gridlane.launch.devices import get_device

CASES = {str(case): case for case in cases()}


def on_cpu(name: str) -> Judgement:
    return judged(CASES[name], get_device("cpu"))


def test_how_is_read_off_the_ir():
    assert on_cpu("add-i16") == Judgement("add", "add-i16", How.NATIVE)
    assert on_cpu("call").how is How.LEGALISED
    assert on_cpu("grid_sync") == Judgement("grid_sync", "grid_sync", How.LEGALISED)
    refused = on_cpu("report")
    assert refused.how is How.REFUSED and "threads that raise" in refused.says and not refused.wrong


def test_wrong_answers(monkeypatch):
    original = judging.run_artifact

    def wrong(*launch):
        outcome = original(*launch)
        outcome.arrays[-1][3] ^= 1
        return outcome

    monkeypatch.setattr(judging, "run_artifact", wrong)
    assert "result 0[3]" in on_cpu("xor-i32").wrong


def test_functions_that_are_far_off(monkeypatch):
    original = judging.run_artifact

    def off(*launch):
        outcome = original(*launch)
        outcome.arrays[-1] += np.float32(1)
        return outcome

    case = judging_case("exp")
    assert not judged(case, get_device("cpu")).wrong
    monkeypatch.setattr(judging, "run_artifact", off)
    assert "ulp off, not 4" in judged(case, get_device("cpu")).wrong


@pytest.mark.parametrize("name", ["add-f32", "mul-bf16-constants", "div-f32", "frexp-f32"])
def test_devices_without_subnormals(monkeypatch, name):
    """Right but for those is said so, where the device's language allows it, and nothing else."""
    original = judging.run_artifact

    def flushing(device, artifact, grid, block, arrays, *rest):
        outcome = original(device, artifact, grid, block, [flush(a) for a in arrays], *rest)
        outcome.arrays = [flush(array) for array in outcome.arrays]
        return outcome

    monkeypatch.setattr(judging, "run_artifact", flushing)
    assert "differ" in on_cpu(name).wrong
    monkeypatch.setattr(judging, "may_flush", lambda target, op: True)
    how = How.LEGALISED if name == "frexp-f32" else How.NATIVE
    assert on_cpu(name) == Judgement(CASES[name].op, name, how, FLUSHED)

    def wrong(*launch):
        outcome = flushing(*launch)
        outcome.arrays[-1] = outcome.arrays[-1][::-1].copy()
        return outcome

    monkeypatch.setattr(judging, "run_artifact", wrong)
    assert "differ" in on_cpu(name).wrong


def judging_case(name: str):
    from gridlane.conformance.functions import function_case
    from gridlane.core.dtypes import f32

    return function_case(name, f32, 100)


def test_refusals_that_should_not_be_or_lack(monkeypatch):
    monkeypatch.setattr(judging, "lack", lambda case, target: None)
    assert "is refused: the cpu target has no report" in on_cpu("report").wrong
    known = Lack(("cpu",), "xor", "no exclusive or")
    monkeypatch.setattr(judging, "lack", lambda case, target: known)
    assert on_cpu("xor-i32").wrong == "is not refused: no exclusive or"
    assert "is refused" in on_cpu("report").wrong  # with other words


def test_the_matrix():
    def column(*hows):
        return [Judgement(op, f"{op}-{n}", how) for n, (op, how) in enumerate(hows)]

    one = column(("a", How.NATIVE), ("b", How.NATIVE), ("c", How.NATIVE), ("c", How.LEGALISED))
    other = [
        *column(("a", How.LEGALISED), ("b", How.LEGALISED)),
        Judgement("c", "c-2", How.REFUSED, "no c"),
        Judgement("c", "c-3", How.NATIVE, wrong="1, not 2"),
    ]
    matrix = Matrix({"x": one, "y": other})
    assert matrix.rows() == [
        ("a, b", "1", ("N", "L")),
        ("c", "2", ("N1, L1", "FAILS 1, N1, R1 (a)")),
    ]
    assert matrix.reasons == {"no c": "a"}
    assert matrix.failures() == ["y: c-3: 1, not 2"]
    text = as_markdown(matrix, ["a fact"])
    assert "- a fact" in text and "| c | 2 | N1, L1 | FAILS 1, N1, R1 (a) |" in text
    assert "- (a) no c" in text and "1 failed" in text
    assert Matrix({"x": one, "y": []}).rows()[0] == ("a, b", "1", ("N", "-"))


def test_the_command(gridlane):
    done = gridlane("conformance", "--device", "cpu", "--op", "vote", "--op", "call", "--markdown")
    assert done.returncode == 0, done.stderr
    assert "| vote | 8 | N |" in done.stdout and "| call | 1 | L |" in done.stdout
    assert "9 cases: 8 native, 1 legalised; none failed" in done.stdout
    shown = gridlane("conformance", "--device", "cpu", "--op", "call")
    assert shown.returncode == 0 and "none failed" in shown.stdout


@pytest.mark.parametrize(
    "words, said", [(("--op", "sine"), "no op 'sine'"), (("--device", "x"), "'x'")]
)
def test_wrong_words(fails, words, said):
    assert said in fails("conformance", "--device", "cpu", *words, status=1)
