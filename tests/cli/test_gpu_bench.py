"""``gridlane bench`` for GPUs: its measures run on the CPU device here, and see wrong results."""

from __future__ import annotations

import pytest
from benchmarks.nvidia.cases import cases

from gridlane import cuda
from gridlane.cli.gpu_bench import kernels
from gridlane.cli.gpu_bench.cases import CASES, RIGHT
from gridlane.cli.gpu_bench.show import show

SMALL = 512


def test_the_measures(capsys):
    assert show(["--scale", str(SMALL)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in CASES:
        (line,) = [line for line in lines if f"kernel, {name} " in line]
        assert line.rstrip().endswith("right")
    for what in ("launch, the host's part", "launch and wait", "copy, device to device"):
        assert any(what in line for line in lines)


def test_a_wrong_result(capsys, monkeypatch):
    @cuda.jit
    def wrong(a, b, c, n):
        c[cuda.grid(1)] = a[0]

    monkeypatch.setattr(kernels, "vecadd", wrong)
    assert show(["--scale", str(SMALL), "--only", "vecadd"]) == 1
    said = capsys.readouterr()
    assert "WRONG" in said.out and said.err == "gridlane: wrong results: vecadd\n"


@pytest.mark.parametrize("name", CASES)
def test_what_did_not_run_is_wrong(name):
    assert not RIGHT[name](CASES[name](SMALL).arrays)


@pytest.mark.parametrize("words", [("--scale", "0"), ("--scale", "x"), ("--only", "vec")])
def test_wrong_words(words, capsys):
    with pytest.raises(SystemExit) as left:
        show(list(words))
    assert left.value.code == 2 and f"argument {words[0]}: invalid" in capsys.readouterr().err


def test_the_comparison_has_the_same_kernels():
    compared = cases(SMALL)
    assert set(CASES) < set(compared)
    for name in CASES:
        assert compared[name]().kernel is CASES[name](SMALL).kernel


def test_the_device_is_chosen(gridlane, fails):
    no_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    for words in (("--device", "cuda"), ("--device=cuda",)):
        said = fails("bench", *words, "--only", "launch", status=1, **no_gpu)
        assert said.startswith("CUDA_ERROR_NO_DEVICE (100)")
    assert "NO_DEVICE" in fails("bench", status=1, GRIDLANE_DEVICE="cuda", **no_gpu)
    shown = gridlane("bench", "--device", "cuda", "--help", **no_gpu).stdout
    assert "This is for cuda:" in shown and "python -m benchmarks.nvidia" in shown
    shown = gridlane("bench", "--help", "--device", "cpu", GRIDLANE_DEVICE="cuda").stdout
    assert "This is for cpu:" in shown and "usage: cpu.py" in shown
    assert "--device needs a value" in fails("bench", "--device")
    assert "there is no device 'gpu'" in fails("bench", "--device=gpu")
