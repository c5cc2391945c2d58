"""``gridlane bench --device cuda`` on the fake driver, which launches and copies."""

from __future__ import annotations

from gridlane import cuda
from gridlane.cli.gpu_bench import launching, timing
from gridlane.cli.gpu_bench.show import show


def test_launches_and_copies(machine, monkeypatch, capsys):
    # What was compiled for the machine of another test is of no use on this one.
    monkeypatch.setattr(launching, "add", cuda.jit(launching.add.py_func))
    monkeypatch.setattr(timing, "LAUNCHES", 20)  # the fake writes each down
    monkeypatch.setattr(timing, "ROUND_TRIPS", 20)
    assert show(["--scale", "4096", "--only", "launch", "--only", "copies"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("cuda: Fake GPU 0, compute capability 9.0, ")
    assert shown.count(" us") == 2 and shown.count(" GB/s") == 3
    assert {ran.grid for ran in machine.launches} == {(4, 1, 1)}
