"""What a run by day leaves to the night."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.effort import C_LIKE, ON_SHADERS, alternatives, by_day

ROOT = Path(__file__).parents[2]
NAMES = [f"tests/a/test_b.py::test_{number}" for number in range(400)]


def test_a_test_tries_one_that_it_has():
    for names in (["vulkan", "opengl", "webgpu"], ["opengl", "webgpu"], ["vulkan"]):
        chosen = Counter(by_day(name, names, ON_SHADERS) for name in NAMES)
        assert set(chosen) == set(names)


def test_each_emitter_has_about_half():
    chosen = Counter(by_day(name, {*ON_SHADERS}, ON_SHADERS) for name in NAMES)
    assert 160 < chosen["vulkan"] < 240 and min(chosen[each] for each in C_LIKE) > 60


def test_drivers_and_texts_try_all():
    assert not alternatives("runtime") and not alternatives("codegen")
    assert ON_SHADERS in alternatives("cuda") and C_LIKE in alternatives("ops")


FILE = """
import pytest

@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("device", ["interp", "cpu", "vulkan", "opengl", "webgpu"])
def test_one(device, number):
    pass
"""


def test_every_case_runs_on_the_host_and_on_one_shader_device(tmp_path):
    """By the conftest of all tests, which is copied: it tells folders by its own."""
    for folder in ("cuda", "ops", "runtime"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_some.py").write_text(FILE)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    counts = Counter[tuple[str, str]]()
    for line in done.stdout.splitlines():
        path, _, rest = line.partition("::test_one[")
        if rest:
            device = next(each for each in rest.rstrip("]").split("-") if not each.isdigit())
            counts[Path(path).parent.name, device] += 1
    shaders = ("vulkan", "opengl", "webgpu")
    for folder in ("cuda", "ops", "runtime"):
        assert counts[folder, "interp"] == counts[folder, "cpu"] == 12, done.stdout + done.stderr
    assert sum(counts["cuda", each] for each in shaders) == 12
    assert counts["ops", "vulkan"] == 12 == counts["ops", "opengl"] + counts["ops", "webgpu"]
    assert all(counts["runtime", each] == 12 for each in shaders)
