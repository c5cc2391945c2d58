"""The self-test: its cases, its verdicts, its table."""

from __future__ import annotations

import numpy as np
import pytest
from tests.effort import NIGHTLY
from tests.on_metal import EMULATED

from gridlane.cli.selftest import case_runner, report
from gridlane.cli.selftest.case_runner import Row, judged, ulps
from gridlane.cli.selftest.cases import every
from gridlane.core.artifact import Artifact
from gridlane.emulation.metal.machine import compiler
from gridlane.launch.devices import get_device

CASES = list(every())
CPU = Artifact("cpu", "object", b"", "", (), 0)
METAL = Artifact("metal", "msl", b"", "", (), 0)


def case(name, source):
    return next(each for each in CASES if each.name == name and each.types[0] == source)


@pytest.mark.parametrize("name", ["division", "warps", "tiles", "report", "grid", "control"])
def test_a_right_device(name):
    devices = get_device("cpu"), get_device("interp")
    for each in CASES:
        # The interpreter takes 18 s for 70000 blocks.
        if each.name == name and (NIGHTLY or each.grid[0] < 70000):
            found = list(case_runner.rows(each, *devices))
            assert [row.row for row in found] == list(each.rows)
            assert {row.verdict for row in found} == {"right"}, found


def test_a_wrong_device(monkeypatch):
    original = case_runner._run

    def wrong(plan, *rest):
        result = original(plan, *rest)
        if plan.device.name == "cpu":
            result.array[2, 100] += 1
        return result

    monkeypatch.setattr(case_runner, "_run", wrong)
    found = case_runner.rows(case("arithmetic", "int16"), get_device("cpu"), get_device("interp"))
    verdicts = {row.row: row for row in found}
    assert verdicts.pop("mul").verdict == "WRONG"
    assert {row.verdict for row in verdicts.values()} == {"right"}


def test_distances():
    values = np.array([0.0, 1, -1, 1e-45, -1e-45, np.inf], np.float32)
    assert not ulps(values, values).any()
    assert (ulps(np.nextafter(values[1:3], 9), values[1:3]) == 1).all()
    assert ulps(values[3:4], values[4:5]) == [3]  # over both zeros
    assert ulps(values[:1], np.array([np.nan], np.float32)) > 1000


def test_verdicts():
    exact = case("arithmetic", "float32")
    wanted = np.ones(4, np.float32)
    inputs = [np.ones(4, np.float32)] * 2
    off = wanted.copy()
    off[2] = np.nextafter(off[2], 2, dtype=np.float32)
    assert judged(wanted, wanted, inputs, exact, CPU) == ("right", "")
    assert judged(off, wanted, inputs, exact, CPU)[0] == "WRONG"
    assert judged(off, wanted, inputs, case("functions", "float32"), CPU)[0] == "close"
    tiny = np.array([1, 1, 1e-40, 1], np.float32)
    assert judged(np.float32([1, 1, 0, 1]), tiny, inputs, exact, CPU)[0] == "but subnormals"
    pairs = case("arithmetic", "float64")
    wide, near, far = np.ones(4), np.full(4, 1 + 2.0**-45), np.full(4, 1 + 2.0**-30)
    assert judged(near, wide, [wide, wide], pairs, METAL)[0] == "close"
    assert judged(far, wide, [wide, wide], pairs, METAL)[0] == "WRONG"
    assert judged(near, wide, [wide, wide], pairs, CPU)[0] == "WRONG"


def test_tables_that_were_changed():
    rows = [Row("a", "b", "int32", "right"), Row("a", "c", "int32", "WRONG", "1, not 2")]
    whole = report.table({"device": "x"}, rows)
    assert report.check(whole) == (True, "total: 2 rows: 1 right, 1 WRONG")
    for changed in (
        whole.replace("WRONG | 1", "right | 1"),
        whole.replace("device: x", "device: y"),
        whole.replace("a | b | int32 | right\n", ""),
        whole.partition("sha256")[0],
        "nothing",
    ):
        assert not report.check(changed)[0]
    lines = whole.replace("1 right, 1 WRONG", "2 right").splitlines()[:-1]
    forged = "\n".join([*lines, "sha256: " + report._digest(lines)])
    assert "the rows say" in report.check(forged)[1]


@pytest.mark.skipif(compiler() is None, reason="no g++ for the stand-in")
def test_the_command(gridlane, tmp_path):
    words = ("selftest", "--device", "metal", "--out", "table.txt", "--only", "warps")
    done = gridlane(*words, "--only", "report", **EMULATED)
    assert done.returncode == 0, done.stderr + done.stdout
    text = (tmp_path / "table.txt").read_text()
    assert done.stdout.endswith(text) and "device: metal (CPU emulation)" in text
    assert "total: 9 rows: 9 right" in text
    assert gridlane("selftest", "--check", "table.txt").stdout.startswith("whole: total: 9")
    (tmp_path / "table.txt").write_text(text.replace("right", "close", 1))
    assert gridlane("selftest", "--check", "table.txt").returncode == 1
    done = gridlane(*words, "--compile-only", **EMULATED)
    assert done.returncode == 0 and "tried: compilation only" in done.stdout


def test_without_the_device(fails):
    assert "part of macOS" in fails("selftest", "--device", "metal", status=1)
    assert "cannot read 'none.txt'" in fails("selftest", "--check", "none.txt")
