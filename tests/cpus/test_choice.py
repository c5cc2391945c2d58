"""GRIDLANE_CPU: what it takes, what it refuses, and that the cache tells the choices apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cpus.cases import QUICK, by_op, require

from gridlane.codegen.llvm.machine import host, machine_for
from gridlane.compiler import generate
from gridlane.compiler.cache_codec import from_json, to_json
from gridlane.compiler.identity import identity_of
from gridlane.core import config
from gridlane.core.errors import DeviceError, TargetError
from gridlane.core.options import Target
from gridlane.core.processors import ARM, FEATURES, HOST, PROCESSORS, X86, Choice, parse
from gridlane.launch.devices import get_device
from gridlane.runtime import host_code
from gridlane.runtime.drivers import cpu


@pytest.mark.parametrize(
    "text, words",
    [
        ("haswel", ["'haswel'", "near: haswell"]),
        ("Neoverse-N1", ["'Neoverse-N1'", "near: neoverse-n1"]),
        ("zilog", ["'zilog'", "some are: host, x86-64"]),
        ("x86-64,+avx3", ["no feature 'avx3'", "near: avx"]),
        ("generic,+avx2", ["no feature 'avx2'", "aarch64"]),
        ("host,+nonsense", ["no architecture has 'nonsense'"]),
        ("x86-64,fma", ["'fma' is no change of a feature: +NAME or -NAME"]),
        ("x86-64,", ["'' is no change"]),
        ("x86-64,+", ["'+' is no change"]),
        ("x86-64,-sse2", ["no feature 'sse2'"]),
        (",+fma", ["no processor is called ''"]),
    ],
)
def test_what_is_unknown_is_an_error_in_words(text: str, words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        config.read({"GRIDLANE_CPU": text})
    assert str(caught.value).startswith(f"GRIDLANE_CPU={text!r}: ")
    assert all(word in str(caught.value) for word in words), caught.value
    with pytest.raises(TargetError, match="the cpu target: "):
        name, _, features = text.partition(",")
        machine_for(Target("cpu", processor=name or " ", attributes=features or " "))


def test_a_choice() -> None:
    assert parse("host") == Choice("", HOST)
    assert parse("x86-64-v3, -fma,+avxvnni") == Choice(X86, "x86-64-v3", ("-fma", "+avxvnni"))
    assert parse("neoverse-n1").architecture == ARM
    assert config.read({"GRIDLANE_CPU": "haswell,-fma"}).cpu == "haswell,-fma"
    assert config.read({}).cpu == ""


@pytest.mark.parametrize("architecture, triple", [(X86, "x86_64"), (ARM, "aarch64")])
def test_llvm_knows_every_name(architecture: str, triple: str) -> None:
    program = (
        "import llvmlite.binding as llvm; llvm.initialize_all_targets();"
        "llvm.initialize_all_asmprinters();"
        f"llvm.Target.from_triple('{triple}-unknown-linux-gnu').create_target_machine(cpu='help')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    processors, features = done.stderr.split("Available features")
    known = set(re.findall(r"^ +(\S+) +- ", processors, re.M))
    assert set(PROCESSORS[architecture]) <= known
    assert set(FEATURES[architecture]) <= set(re.findall(r"^ +(\S+) +- ", features, re.M))


def machine(text: str):
    name, _, features = text.partition(",")
    return machine_for(Target("cpu", processor=name, attributes=features))


def test_what_processors_have() -> None:
    base, second, third, fourth = (machine(f"x86-64{level}") for level in ("", "-v2", "-v3", "-v4"))
    assert base.has < second.has < third.has < fourth.has
    assert [m.vector_bytes for m in (base, second, third, fourth)] == [16, 16, 32, 64]
    assert [m.converts_halves for m in (base, second, third)] == [False, False, True]
    assert [m.fuses for m in (base, second, third)] == [False, False, True]
    assert [m.rounds_to_integers for m in (base, second)] == [False, True]
    assert machine("generic").has == {"fp-armv8", "neon"}
    assert machine("neoverse-n1").has >= {"fullfp16", "lse", "neon"}


def test_features_bring_and_take_others_along() -> None:
    assert machine("x86-64,+avx512fp16").has >= {"avx512f", "avx2", "fma", "f16c"}
    assert not machine("haswell,-avx").has & {"avx", "avx2", "fma", "f16c"}
    assert machine("haswell,-avx,+f16c").has >= {"avx", "f16c"}


def test_the_host_by_name_is_the_host() -> None:
    own, named = host(), machine("host")
    assert own.needs == () and named.needs[0] == own.architecture
    assert host_code.missing(named.needs) == []
    assert replace(named, has=own.has, named=False) == own


def test_without_a_choice_it_is_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_for(Target("cpu")) == host()
    chosen = replace(config.config(), cpu="neoverse-n1")
    monkeypatch.setattr("gridlane.codegen.llvm.machine.config", lambda: chosen)
    assert machine_for(Target("cpu")).processor == "neoverse-n1"
    assert machine_for(Target("cpu", processor="haswell")).processor == "haswell"


def test_the_cache_tells_choices_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {identity_of(Target("cpu"))}
    for text in ("host", "x86-64", "x86-64,+fma", "generic"):
        chosen = replace(config.config(), cpu=text)
        monkeypatch.setattr("gridlane.compiler.identity.config", lambda: chosen)
        found.add(identity_of(Target("cpu")))
    assert len(found) == 5


def test_other_architectures_are_refused_here() -> None:
    case = by_op()["add"][0]
    other = "generic" if host().architecture == X86 else "x86-64"
    artifact = generate(case.module, Target("cpu", block=case.block, processor=other), QUICK)
    artifact = from_json(to_json(artifact), artifact.code)
    with pytest.raises(DeviceError) as caught:
        get_device("cpu").load(artifact)
    text = str(caught.value)
    assert "lacks the architecture " + (ARM if other == "generic" else X86) in text
    assert "GRIDLANE_CPU" in text


def test_features_that_the_host_lacks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require("haswell")
    case = by_op()["add"][0]
    target = Target("cpu", block=case.block, processor="haswell")
    artifact = generate(case.module, target, QUICK)
    own = host_code.own_features() - {"avx2", "fma"}
    monkeypatch.setattr(host_code, "own_features", lambda: own)
    with pytest.raises(DeviceError, match="this one lacks avx2, fma"):
        cpu.open_device().load(artifact)


HALVES = """
import numpy as np
from gridlane import cuda

@cuda.jit
def doubled(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i] + a[i]

if __name__ == "__main__":
    a = np.linspace(-9, 9, 100).astype(np.float16)
    b = np.zeros_like(a)
    doubled[1, 128](a, b)
    print(np.array_equal(b, a + a))
"""


def with_cpu(text: str, folder: Path, *words: str) -> subprocess.CompletedProcess:
    """A process with GRIDLANE_CPU."""
    environment = {**os.environ, "GRIDLANE_CPU": text, "GRIDLANE_CACHE_DIR": str(folder)}
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_a_program_runs_as_for_a_plain_processor(tmp_path: Path) -> None:
    require("x86-64")
    file = tmp_path / "halves.py"
    file.write_text(HALVES)
    for _ in range(2):  # cold, then from the cache
        done = with_cpu("x86-64", tmp_path / "kernels", str(file))
        assert done.stdout == "True\n", done.stderr


def test_other_processors_are_compiled_for_and_not_run(tmp_path: Path) -> None:
    file, kernels = tmp_path / "halves.py", tmp_path / "kernels"
    file.write_text(HALVES)
    other = "neoverse-n1" if host().architecture == X86 else "x86-64"
    ran = with_cpu(other, kernels, str(file))
    assert ran.returncode == 1 and "lacks the architecture" in ran.stderr
    words = ("--sig", "f16[::1],f16[::1]", "--target", "asm")
    place = f"{file}:doubled"
    made = with_cpu("neoverse-n1", kernels, "-m", "gridlane", "compile", place, *words)
    assert made.returncode == 0, made.stderr
    assert re.search(r"fadd\s+v\d+\.[48]h", made.stdout), made.stdout


def test_a_wrong_name_ends_the_command(tmp_path: Path) -> None:
    made = with_cpu("haswel", tmp_path, "-m", "gridlane", "devices")
    assert made.returncode == 2 and "near: haswell" in made.stderr
    assert "Traceback" not in made.stderr
