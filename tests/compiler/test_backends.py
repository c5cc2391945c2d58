"""The records of backends, and a backend that is made up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from copy import deepcopy
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tests import on_shaders, programs
from tests.compiler import made_up

from gridlane import backends, compiler, cuda
from gridlane.backends.formats import IR, Format
from gridlane.backends.record import Backend, Fact, Pass, loaded
from gridlane.cli import choosing, survey
from gridlane.cli.compiling import stages
from gridlane.compiler import identity
from gridlane.conformance.judging import How, judged
from gridlane.conformance.suite import cases
from gridlane.core.dtypes import DType
from gridlane.core.errors import DeviceError, TargetError, UnsupportedBackend
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module
from gridlane.ir.stages import KERNEL, TILE
from gridlane.launch import current, devices
from gridlane.runtime import driver_cache
from gridlane.runtime.host_driven_kernel import accept

ROOT = Path(__file__).parents[2]
ALL = [*backends.backends(), made_up.BACKEND]


@pytest.mark.parametrize("record", ALL, ids=lambda record: record.name)
def test_what_a_record_names_exists(record: Backend) -> None:
    assert find_spec(record.driver) is not None
    generator = import_module(record.generator)
    assert callable(generator.generate) and callable(generator.text)
    for each in (*record.pipeline, *record.dialects):
        assert callable(loaded(each.path)), each
        assert all(loaded(path) is not None for path in each.arguments), each
        assert set(each.options) <= {field.name for field in fields(KernelOptions)}
        assert all(c in Fact or c in record.features for c in each.needs | each.lacks), each
    assert not record.identity or callable(loaded(record.identity))


@pytest.mark.parametrize("record", ALL, ids=lambda record: record.name)
def test_the_sets_of_a_record_agree(record: Backend) -> None:
    assert record.usual <= record.features
    legal = record.legal_ops(record.legal_with)
    assert legal <= (TILE if record.executes_ir else KERNEL)
    assert not legal & set(record.reasons)
    assert not record.reads_as or record.reads_as in backends.names()
    assert set(record.beneath) <= set(backends.names())
    ranks = [each.rank for each in backends.backends() if each.rank]
    assert len(set(ranks)) == len(ranks)


def test_the_page_has_every_field() -> None:
    """The table of docs/adding-a-backend.md, a row each or several in one."""
    page = (Path(__file__).parents[2] / "docs" / "adding-a-backend.md").read_text()
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(Backend._fields)


def test_lists_of_devices_are_of_the_records(
    added: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    best = added._replace(rank=99, beneath=("opengl", "vulkan"))
    monkeypatch.setitem(backends._known, "made_up", best)
    assert choosing.preferred()[:2] == ["made_up", "cuda"]
    assert "interp" not in choosing.preferred()
    looked = survey.Survey()
    looked._software = {"opengl", "vulkan"}
    if sys.platform == "linux":
        assert looked.look("made_up")["why"] == "opengl and vulkan show software alone"
    monkeypatch.setattr(driver_cache, "directory", lambda name: tmp_path / name)
    assert driver_cache.store(tmp_path / "made_up" / "code", b"magic678", b"code")
    driver_cache.clear(backends.names())
    assert not list((tmp_path / "made_up").iterdir())


def test_a_driver_without_a_function_is_named(
    added: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(backends._known, "made_up", added._replace(driver="tests.programs"))
    with pytest.raises(UnsupportedBackend, match="the driver of made_up, has no"):
        devices.device_count("made_up")


def test_what_a_record_installs_is_an_extra_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    for record in backends.backends():
        assert bool(record.extra) == bool(record.bindings), record.name
        if record.extra:
            (line,) = extras[record.extra]
            assert re.match(r"[\w-]+", line)[0] == record.bindings
            assert (f"sys_platform == '{record.system}'" in line) == bool(record.system)
        assert not record.bench or callable(loaded(record.bench))


def test_names_are_those_of_the_records() -> None:
    assert [each.name for each in backends.backends()] == list(backends.names())
    with pytest.raises(TargetError, match="there is no target 'abacus'; there are cpu, interp"):
        backends.backend("abacus")


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """The made-up backend, known for one test."""
    monkeypatch.setattr(backends, "_known", dict(backends._known))
    monkeypatch.setattr(devices, "_opened", dict(devices._opened))
    backends.register(made_up.BACKEND)
    return made_up.BACKEND


REGISTERS = """
from gridlane import backends
from tests.compiler.made_up import BACKEND

backends.register(BACKEND)
"""


def command(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "src")])
    return programs.run(
        ["-m", "gridlane", *words], folder, {**os.environ, "PYTHONPATH": path, **settings}
    )


def test_commands_know_the_backends_of_other_packages(tmp_path: Path) -> None:
    (tmp_path / "registers.py").write_text(REGISTERS)
    done = command(tmp_path, "opt", "--help", GRIDLANE_BACKENDS="registers")
    assert done.returncode == 0 and "made_up" in done.stdout
    if "webgpu" in on_shaders.found():
        words = "conformance", "--device", "made_up", "--op", "brev"
        done = command(tmp_path, *words, GRIDLANE_BACKENDS="registers")
        assert done.returncode == 0, done.stderr
        assert "made_up: 8 cases" in done.stdout and "none failed" in done.stdout


FAILING = {
    "raise RuntimeError('late')": "RuntimeError: late",
    "import sys\nsys.exit(0)": "SystemExit: 0",
    "def (": "SyntaxError: invalid syntax",
    "from gridlane.backends import register\nregister('mine')": "TypeError: a backend is a",
}


@pytest.mark.parametrize("text", FAILING)
def test_failures_of_a_module_of_backends_are_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_backends.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("GRIDLANE_BACKENDS", " failing_backends ,")
    monkeypatch.delitem(sys.modules, "failing_backends", raising=False)
    backends._load_others.cache_clear()
    with pytest.raises(TargetError, match=f"GRIDLANE_BACKENDS: failing_backends: {FAILING[text]}"):
        backends.names()
    monkeypatch.undo()
    backends._load_others.cache_clear()


@pytest.mark.parametrize("name", ["", "auto", "webgl2", "../x", "a:1", "a b", "cpu", "made_up"])
@pytest.mark.usefixtures("added")
def test_names_of_backends(name: str) -> None:
    with pytest.raises(ValueError, match=f"there is a backend '{name}'|cannot be named '{name}'"):
        backends.register(made_up.BACKEND._replace(name=name, title="another"))
    assert name not in backends.names() or backends.backend(name).title != "another"


def test_the_key_has_the_source_of_a_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a package that names no dependency by ``identity``."""
    package = tmp_path / "other_backends"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(backends, "_known", dict(backends._known))
    record = made_up.BACKEND._replace(name="other", generator="other_backends.generator")
    target = Target("other")

    def key(record: Backend) -> object:
        backends._known["other"] = record
        identity._sources.cache_clear()
        return identity.identity_of(target)

    first = key(record)
    assert key(record) == first
    assert key(record._replace(max_threads=64)) != first
    (package / "generator.py").write_text("# new\n")
    assert key(record) != first
    assert identity.identity_of(Target("webgpu")) == ()


def test_a_driver_that_is_missing_is_named(added: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends._known, "made_up", added._replace(driver="tests.no_driver"))
    with pytest.raises(UnsupportedBackend, match=r"no module tests\.no_driver, the driver of"):
        devices.device_count("made_up")


def test_a_format_that_the_driver_does_not_run_has_a_remedy() -> None:
    artifact = compiler.generate(parse_module(KERNEL_TEXT), Target("webgpu", block=(32, 1, 1)))
    with pytest.raises(DeviceError, match="last of `formats` in the record of webgpu must be 'm'"):
        accept(artifact, "webgpu", "m", "M", "a driver")
    with pytest.raises(DeviceError, match="the metal device runs MSL, not code of webgpu"):
        accept(artifact, "metal", "msl", "MSL", "a driver")


@pytest.mark.parametrize("words", [("devices",), ("run", "program.py")])
def test_a_module_of_backends_that_fails(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "program.py").write_text("")
    done = command(tmp_path, *words, GRIDLANE_BACKENDS="nowhere")
    told = "GRIDLANE_BACKENDS: nowhere: ModuleNotFoundError: No module named 'nowhere'"
    assert done.returncode and done.stderr == f"gridlane: {told}\n"


KERNEL_TEXT = """
kernel @k(%p: ptr<f32, global>) {
  %t: i32 = thread_idx x
  %at: ptr<f32, global> = offset %p, %t
  %x: f32 = load %at
  %y: f32 = mul %x, %x
  store %at, %y
}
"""


@pytest.mark.usefixtures("added")
def test_a_backend_more_is_compiled_for() -> None:
    module, target = parse_module(KERNEL_TEXT), Target("made_up", block=(32, 1, 1))
    artifact = compiler.generate(module, target)
    assert artifact.target == "made_up" and artifact.format == "wgsl"
    assert made_up.MARK in artifact.code.decode()
    assert compiler.text(module, target, "asm") == artifact.code.decode()
    assert made_up.BACKEND in stages()["wgsl"][1]
    with pytest.raises(TargetError, match=r"'fma' is no feature of made-up devices; .* of made_up"):
        compiler.generate(module, Target("made_up", (32, 1, 1), features=frozenset((Feature.FMA,))))
    with pytest.raises(TargetError, match=r"the made_up target has no grid_sync: its blocks need"):
        compiler.generate(next(c for c in cases() if c.op == "grid_sync").module, target)


class Poorer(made_up.MadeUp):
    """A language that cannot reverse bits, with conversions of its own."""

    functions: ClassVar = {
        cls: text for cls, text in made_up.MadeUp.functions.items() if cls is not arith.Brev
    }

    def convert(self, target: DType, text: str) -> str:
        return f"converted_to_{self.types[target]}({text})"


def test_an_op_that_no_function_of_a_language_computes_is_refused(
    added: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the record calls it legal."""
    poorer = added._replace(dialects=(Pass(f"{__name__}.Poorer"),))
    module = next(case for case in cases() if case.op == "brev").module
    compiler.generate(deepcopy(module), Target("made_up", block=(32, 1, 1)))
    monkeypatch.setitem(backends._known, "made_up", poorer)
    with pytest.raises(TargetError, match="cannot do this brev: their language has no"):
        compiler.generate(module, Target("made_up", block=(32, 1, 1)))


def test_conversions_are_the_languages(added: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of indices, which are unsigned in the language."""
    own = added._replace(dialects=(Pass(f"{__name__}.Poorer"),))
    monkeypatch.setitem(backends._known, "made_up", own)
    module, target = parse_module(KERNEL_TEXT), Target("made_up", block=(32, 1, 1))
    code = compiler.generate(module, target).code.decode()
    assert "converted_to_i32(thread_index.x)" in code


def test_an_artifact_has_the_kernels_own_name(
    added: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its language makes of it, and whatever that language is called."""
    other = added._replace(formats=(IR, Format("hlsl", ".hlsl", "//")))
    monkeypatch.setitem(backends._known, "made_up", other)
    for name in backends.names():
        module = parse_module(KERNEL_TEXT.replace("@k", "@my.kernel"))
        artifact = compiler.generate(module, Target(name, block=(32, 1, 1)))
        assert artifact.name == "my.kernel", name


def test_two_of_a_name_are_refused(added: Backend) -> None:
    backends.register(added)
    with pytest.raises(ValueError, match="there is a backend 'made_up' already"):
        backends.register(added._replace(title="another"))


@pytest.mark.usefixtures("added")
@pytest.mark.skipif("webgpu" not in on_shaders.found(), reason="no device of WebGPU")
def test_a_backend_more_runs_kernels() -> None:
    @cuda.jit
    def square(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= x[i] + cuda.threadIdx.x

    x = np.arange(100, dtype=np.float32)
    with current.Using("made_up") as device:
        assert device.name == "made_up"
        square[2, 64](x)
        (code,) = square.inspect_asm().values()
        assert made_up.MARK in code
    i = np.arange(100)
    assert (x == i * (i + i % 64)).all()
    tried = [case for case in cases() if case.op in ("mulhi", "shuffle", "atomic_cas", "grid_sync")]
    found = [judged(case, device) for case in tried[::9]]
    assert not [each for each in found if each.wrong]
    assert {How.LEGALISED, How.REFUSED} <= {each.how for each in found}


@pytest.mark.usefixtures("added")
def test_a_name_that_nobody_has_lists_it() -> None:
    with pytest.raises(Exception, match="webgpu, opengl, made_up"):
        devices.get_device("abacus")
