"""The other commands: devices, doctor, bench, cache, and the help of all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests import on_vulkan
from typer.testing import CliRunner

import gridlane as package
from gridlane import backends
from gridlane.backends import names
from gridlane.cli import bench, doctor, facts, probe
from gridlane.cli.app import app
from gridlane.cli.wording import counted, described, size
from gridlane.compiler import cuda as cuda_target
from gridlane.compiler import libdevice
from gridlane.compiler.cache import default_cache
from gridlane.core.config import config
from gridlane.core.device_errors import no_device
from gridlane.core.extras import install
from gridlane.runtime import driver_cache

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Call the command in this process: ``command(words, **environment)``."""

    def call(*words, **environment):
        for name in [name for name in os.environ if name.startswith("GRIDLANE_")]:
            monkeypatch.delenv(name)
        environment = {"GRIDLANE_CACHE_DIR": str(tmp_path / "kernels"), **environment}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        config.cache_clear()
        default_cache.cache_clear()
        return CliRunner().invoke(app, words, prog_name="gridlane")

    yield call
    monkeypatch.undo()
    config.cache_clear()
    default_cache.cache_clear()


# --- help ---


def test_help(command):
    text = command("--help").output
    for name in ("run", "compile", "devices", "doctor", "selftest", "bench", "cache"):
        assert f"  {name} " in text
        shown = command(name, "--help").output if name != "bench" else ""
        assert name == "bench" or shown.startswith(f"Usage: gridlane {name}")
    assert "..." not in text.split("Commands:")[1], "a summary that does not fit"


def test_version_and_unknown_commands(command):
    assert command("--version").output == f"gridlane {package.__version__}\n"
    done = command("rum")
    assert done.exit_code == 2 and "No such command 'rum'" in done.output


def test_the_installed_command_is_this_one():
    from gridlane.cli import main

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, function = project["scripts"]["gridlane"].split(":")
    assert module == main.__name__ and callable(getattr(main, function))
    assert project["version"] == package.__version__


# --- devices ---


def test_devices(command):
    done = command("devices")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    kinds = [line.lstrip("* ").split()[0] for line in lines[:-2]]
    assert sorted(set(kinds)) == sorted(names())  # a line for each
    assert any(line.startswith("* cpu ") for line in lines)
    chosen = command("devices", GRIDLANE_DEVICE="interp").output
    assert any(line.startswith("* interp ") for line in chosen.splitlines())


def test_limits_of_devices(command):
    done = command("devices", "--limits")
    assert done.exit_code == 0
    assert any("cpu" in line and "1024 threads" in line for line in done.output.splitlines())


def test_a_device_that_is_not_available(command, monkeypatch):
    from gridlane.cli import devices

    def missing(name):
        raise OSError("no [lib] here")

    monkeypatch.setattr(devices, "get_device", missing)
    done = command("devices")
    assert done.exit_code == 0 and "no: no [lib] here" in done.output

    def not_installed(name):
        no_device("vulkan", "the package vulkan does not load (why)", install("vulkan"))

    monkeypatch.setattr(devices, "get_device", not_installed)
    wanted = "no: the package vulkan does not load: pip install 'gridlane[vulkan]'\n"
    assert wanted in command("devices").output


@pytest.mark.parametrize("word", ["devices", "doctor", "cache", "bench"])
def test_an_unknown_device(command, word):
    done = command(word, GRIDLANE_DEVICE="gpu")
    assert done.exit_code == 2
    assert "there is no device 'gpu'; there are: cpu, interp, cuda" in done.stderr


# --- doctor ---


def test_doctor_is_a_line_for_each_device(command):
    done = command("doctor")
    assert done.exit_code == 0, done.output
    first, *lines = done.output.splitlines()
    assert first.startswith(f"gridlane {package.__version__}: Python ") and "LLVM" in first
    found = {line[2:].split()[0]: line for line in lines}
    for device in ("cpu", "interp", *on_vulkan.found()):
        assert " verified " in found[device]
    assert found["cpu"].startswith("* ") and set(names()) <= set(found)
    assert len(lines) <= len(names()) + 2


def test_doctor_verbose(command):
    done = command("doctor", "-v")
    assert done.exit_code == 0, done.output
    shown = reversed([line for line in done.output.splitlines() if line.strip()])
    lines = {line.split()[0]: line for line in shown}  # the first of each word counts
    for device in ("cpu", "interp", *on_vulkan.found()):
        assert lines[device].count("yes") == len(doctor.LADDER)
        assert f"{device} is not" not in done.output
    assert lines["cuda"].count("yes") >= 1  # it compiles, without a GPU too
    for fact in ("Python", "llvmlite", "LLVM", "vector math", "threads", "cache"):
        assert fact in done.output
    for fact in ("NVIDIA driver", "cuda-bindings", "libdevice", "GPU launches", "ptxas"):
        assert fact in done.output


def test_what_there_is_for_gpus(command, monkeypatch, tmp_path):
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    )
    monkeypatch.setattr(facts, "KERNEL_DRIVER", tmp_path / "version")
    monkeypatch.setattr(facts, "PACKAGES", ("no-such-package",))
    for record in backends.backends():
        if record.bindings:
            changed = record._replace(bindings=f"no-such-{record.name}", system="")
            monkeypatch.setitem(backends._known, record.name, changed)
    nowhere = backends.backend("opengl")._replace(system="plan9")
    monkeypatch.setitem(backends._known, "opengl", nowhere)
    monkeypatch.setattr(cuda_target, "find_ptxas", lambda: "/no/ptxas")
    monkeypatch.setitem(sys.modules, "gridlane.launch._native", None)
    config.cache_clear()
    found = dict(facts.facts())
    assert found["NVIDIA driver"] == "580.95.05"
    for name in ("cuda", "vulkan", "webgpu", "metal"):
        assert f"pip install 'gridlane[{name}]'" in found[f"bindings of {name}"]
    assert found["bindings of opengl"] == "not for this system; only plan9 has OpenGL devices"
    assert found["packages"] == "no-such-package MISSING"
    assert found["ptxas"].startswith("/no/ptxas does not run: ")
    assert "slower: the C extension is not built" in found["GPU launches"]
    monkeypatch.setattr(facts, "KERNEL_DRIVER", tmp_path / "none")
    monkeypatch.setattr(cuda_target, "find_ptxas", lambda: None)
    monkeypatch.setattr(libdevice, "find_libdevice", lambda: None)
    monkeypatch.setenv("GRIDLANE_NATIVE", "0")
    config.cache_clear()
    found = dict(facts.facts())
    assert found["NVIDIA driver"].startswith("none seen (")
    assert found["ptxas"].startswith("not found; ")
    assert found["libdevice"].startswith("not found: ") and "our own" in found["libdevice"]
    assert found["GPU launches"] == "by Python (GRIDLANE_NATIVE=0)"
    config.cache_clear()


def test_without_a_gpu_doctor_says_what_to_do(command, monkeypatch):
    def stopped(device):
        steps = [doctor.Step("compiled", True, ""), doctor.Step("available", False, "no driver")]
        return steps if device == "cuda" else [doctor.Step("verified", True, "")]

    monkeypatch.setattr(doctor, "climb", stopped)
    assert "  cuda    not available    no driver\n" in command("doctor").output
    assert "--gpus all" in command("doctor", GRIDLANE_DEVICE="cuda").output  # the one in use
    output = " ".join(command("doctor", "-v").output.split())
    assert "cuda is not available (" in output
    assert "cuda-bindings, pip install 'gridlane[cuda]'" in output and "--gpus all" in output


NOT_AVAILABLE = {
    "without a loader": ("no libvulkan", "Debian: libvulkan1"),
    "without a driver": ("no driver of Vulkan", "Mesa's: mesa-vulkan-drivers"),
    "without the package": ("the package vulkan", "pip install 'gridlane[vulkan]'"),
}


@pytest.mark.parametrize("detail, advice", NOT_AVAILABLE.values(), ids=NOT_AVAILABLE)
def test_without_vulkan_doctor_says_what_to_do(command, monkeypatch, detail, advice):
    def stopped(device):
        steps = [doctor.Step("compiled", True, ""), doctor.Step("available", False, detail)]
        return steps if device == "vulkan" else [doctor.Step("verified", True, "")]

    monkeypatch.setattr(doctor, "climb", stopped)
    output = " ".join(command("doctor", "-v").output.split())
    assert "vulkan is not available (" in output and detail in output and advice in output


@pytest.mark.parametrize("length", [1, 100])  # a long path is folded, not cut
def test_a_terminal_without_unicode(gridlane, length):
    folder = f"{'u' * length}/für"
    done = gridlane("doctor", "-v", GRIDLANE_CACHE_DIR=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    text = re.sub(r"[|\s]+", "", done.stdout)  # of a cell, in several lines
    assert f"{'u' * length}/f?r:0kernels" in text


def climbing(monkeypatch, code):
    """What ``climb`` makes of a process that runs ``code`` instead of the probe."""
    run = subprocess.run

    def instead(words, timeout, **rest):
        """With more time where a busy machine needs it until the first line is there."""
        try:
            return run([words[0], "-c", code], timeout=timeout, **rest)
        except subprocess.TimeoutExpired as stopped:
            if stopped.stdout or timeout > 60:
                raise
        return instead(words, 10 * timeout, **rest)

    monkeypatch.setattr(doctor.subprocess, "run", instead)
    return doctor.climb("cpu")


COMPILED = 'print(\'{"step": "compiled", "ok": true, "detail": "x"}\', flush=True)\n'


def test_a_device_that_takes_its_process_along(monkeypatch):
    steps = climbing(monkeypatch, COMPILED + "import os; os.kill(os.getpid(), 4)")
    assert [(step.name, step.ok) for step in steps] == [("compiled", True), ("available", False)]
    assert steps[-1].detail == f"the process was ended by {signal.Signals(4).name}"


def test_a_device_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.5)
    steps = climbing(monkeypatch, COMPILED + "import signal; signal.pause()")
    assert [(step.name, step.ok) for step in steps] == [("compiled", True), ("available", False)]
    assert "no answer within" in steps[-1].detail


def test_a_probe_that_does_not_start(monkeypatch):
    (step,) = climbing(monkeypatch, "raise ImportError('no numpy')")
    assert (step.name, step.ok) == ("compiled", False)
    assert step.detail == "the process ended with status 1: ImportError: no numpy"


def test_each_missing_step_says_what_to_do(command, monkeypatch):
    for n, name in enumerate(doctor.LADDER):
        steps = [doctor.Step(step, True, "") for step in list(doctor.LADDER)[:n]]
        steps.append(doctor.Step(name, False, "because [of this]"))
        monkeypatch.setattr(doctor, "climb", lambda device: steps)
        done = command("doctor", "-v")
        assert done.exit_code == 1
        assert f"cpu is not {name} (" in done.output and "because [of this]" in done.output
        assert done.output.count("What to do: ") == len(names())


def test_the_steps_are_the_ladder():
    assert tuple(doctor.LADDER) == probe.STEPS


def test_verification_sees_wrong_results():
    for out, total in ((0, 0), (1, 0), (0, 1)):
        ladder = probe.Probe("cpu")
        want, want_total = probe.expected()
        ladder.got = want + np.eye(1, len(want), 7, dtype=np.float32)[0] * out, want_total + total
        result = probe.attempt(ladder.verified)
        assert result["ok"] == (not out and not total)
        assert result["ok"] or "ArithmeticError" in result["detail"]


# --- bench ---


def test_the_built_in_benchmark(command, monkeypatch, tmp_path):
    monkeypatch.setattr(bench.gridlane, "__file__", str(tmp_path / "a" / "b" / "__init__.py"))
    done = command("bench", "--only", "vecadd", "--only", "mandelbrot", "--repeats", "1")
    assert done.exit_code == 0, done.output
    assert "this is no checkout" in done.output
    assert "vecadd" in done.output and "mandelbrot" in done.output and "heat" not in done.output


def test_the_checkouts_benchmarks_get_the_arguments(command, monkeypatch):
    asked = []

    def run(words):
        asked.append((os.path.basename(words[1]), words[2:]))
        return subprocess.CompletedProcess(words, 3)

    monkeypatch.setattr(bench.subprocess, "run", run)
    monkeypatch.setattr(bench.shutil, "which", lambda name: "/usr/bin/gcc")
    assert command("bench", "--only", "vecadd").exit_code == 3
    assert command("bench", "launch", "--help").exit_code == 3
    assert command("bench", "cpu").exit_code == 3
    assert asked == [("cpu.py", ["--only", "vecadd"]), ("launch.py", ["--help"]), ("cpu.py", [])]


def test_without_gcc_the_built_in_one_runs(command, monkeypatch):
    monkeypatch.setattr(bench.shutil, "which", lambda name: None)
    done = command("bench", "--only", "heat", "--repeats", "1")
    assert done.exit_code == 0 and "gcc" in done.output and "heat" in done.output


# --- cache ---


def test_cache(command, gridlane, tmp_path):
    assert "0 kernels, 0 bytes of at most 512 MiB" in command("cache").output
    (tmp_path / "kernel.py").write_text(
        "import numpy as np\nfrom numba import cuda\n"
        "@cuda.jit\ndef k(a):\n    a[0] = 1\n\nk[1, 1](np.zeros(1))\n"
    )
    for _ in range(2):
        assert gridlane("run", "kernel.py").returncode == 0
    assert f"{tmp_path / 'kernels'}\n1 kernel, " in command("cache").output
    verified = tmp_path / "kernels" / "verified" / "key"  # as of --device auto
    assert driver_cache.store(verified, b"gl-verif", b"key")
    assert command("cache", "--clear").output == f"removed 1 kernel from {tmp_path / 'kernels'}\n"
    assert "0 kernels" in command("cache").output and not verified.exists()


def test_a_cache_that_is_off_or_unusable(command, tmp_path):
    assert command("cache", GRIDLANE_CACHE="0").output == "the cache is off (GRIDLANE_CACHE=0)\n"
    (tmp_path / "file").write_text("")
    done = command("cache", GRIDLANE_CACHE_DIR=str(tmp_path / "file"))
    assert "not in use" in done.output and "is not a directory" in done.output


def test_wording():
    assert [size(n) for n in (0, 1023, 1024, 1536, 2**30)] == [
        *("0 bytes", "1023 bytes", "1 KiB", "1.5 KiB", "1 GiB")
    ]
    assert counted(0, "type") == "0 types"
    assert described({"name": "x", "threads": 1, "uuid": "y"}) == "x, 1 thread"
    gpu = {"name": "G", "compute_capability": "9.0", "memory": 1536, "clock_mhz": 3, "uuid": "y"}
    assert described(gpu) == "G, compute capability 9.0, 1.5 KiB"
