"""GRIDLANE_DUMP=DIR and GRIDLANE_OVERRIDE=DIR: stages as files, and changed ones fed back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import programs

from gridlane import compiler, cuda
from gridlane.codegen.spirv import assembled, disassembled
from gridlane.compiler.cache import default_cache
from gridlane.core import config
from gridlane.core.artifact import Artifact
from gridlane.core.errors import GridlaneError, ParseError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module
from gridlane.launch import current
from gridlane.runtime import driver_cache

TEXT = """error 0 "IndexError" "out of bounds" loc("made.py", 3, 1, 4, "k")
global @tile: f32 * 32 [space=shared, align=4]
kernel @k(%p: ptr<f32, global>, %n: i32) loc("made.py", 1, 1, 9, "k") {
  %t: i32 = thread_idx x loc("made.py", 2, 1, 9, "k")
  %bad: b1 = ge %t, %n loc("made.py", 3, 1, 9, "k")
  if %bad {
    raise 0 loc("made.py", 3, 1, 9, "k")
  } loc("made.py", 3, 1, 9, "k")
  %at: ptr<f32, global> = offset %p, %t loc("made.py", 4, 1, 9, "k")
  %x: f32 = load %at loc("made.py", 4, 1, 9, "k")
  %y: f32 = sin %x loc("made.py", 4, 1, 9, "k")
  store %at, %y loc("made.py", 4, 1, 9, "k")
}
"""
TARGETS = ("cpu", "interp", "cuda", "vulkan", "webgpu", "opengl", "metal")
LAST = {
    "cpu": "llvm.ll",
    "cuda": "code.ptx",
    "vulkan": "code.spirv",
    "webgpu": "code.wgsl",
    "opengl": "code.comp",
    "metal": "code.metal",
}
Use = Callable[..., None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Use]:
    """Sets the two variables for this process, and a cache of the test's own."""
    monkeypatch.setenv("GRIDLANE_CACHE", "1")
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path / "cache"))

    def change(dump: Path | None = None, override: Path | None = None) -> None:
        for name, folder in (("GRIDLANE_DUMP", dump), ("GRIDLANE_OVERRIDE", override)):
            if folder is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, str(folder))
        _forget()

    change()
    yield change
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    config.config.cache_clear()
    default_cache.cache_clear()


def made(target: str, text: str = TEXT) -> Artifact:
    options = KernelOptions(fp64="exact")
    artifact = compiler.generate(parse_module(text), Target(target, block=(32, 1, 1)), options)
    # LLVM numbers the calls of a process in comments.
    return replace(artifact, code=re.sub(rb"// callseq \d+", b"// callseq", artifact.code))


def stages(folder: Path) -> dict[str, Path]:
    """The files of one compilation, by stage and suffix."""
    return {file.name.partition("-")[2].partition("-")[2]: file for file in folder.iterdir()}


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_written_can_be_fed_back(
    target: str, use: Use, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    use()
    plain = made(target)
    use(dump=tmp_path / "dump")
    dumped = made(target)
    files = stages(tmp_path / "dump")
    assert "sin %x" in files["frontend.ir"].read_text()
    numbers = sorted(file.name.split(".")[2][:2] for file in files.values())
    assert numbers[0] == "00" and len(set(numbers)) == len(numbers)
    assert all(file.name.startswith("k-") for file in files.values())
    assert all(f".{target}." in file.name for file in files.values())
    if target in LAST:
        assert LAST[target] in files
    use(override=tmp_path / "dump")
    fed = made(target)
    told = capfd.readouterr().err
    assert all(told.count(str(file)) == 1 for file in files.values())
    made(target)
    assert not capfd.readouterr().err
    if target in ("webgpu", "opengl", "metal"):  # the text of functions is kept otherwise
        assert fed == dumped and len(fed.code) >= len(plain.code)
    else:
        assert fed == dumped == plain


def changed(files: dict[str, Path], stage: str, folder: Path, old: str, new: str) -> Path:
    """A copy of a stage's file with some text replaced."""
    text = files[stage].read_text()
    assert old in text
    folder.mkdir(exist_ok=True)
    path = folder / files[stage].name
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize("target", ["cuda", "webgpu", "metal"])
def test_a_changed_code_is_the_artifacts(target: str, use: Use, tmp_path: Path) -> None:
    use(dump=tmp_path / "dump")
    made(target)
    files = stages(tmp_path / "dump")
    comment = "// changed by hand\n"
    path = changed(files, LAST[target], tmp_path / "changed", "\n", f"\n{comment}")
    use(override=tmp_path / "changed")
    assert comment in path.read_text()
    numbered = re.sub(r"// callseq \d+", "// callseq", path.read_text())
    assert made(target).code.decode() == numbered


def test_changed_words_of_vulkan(use: Use, tmp_path: Path) -> None:
    use(dump=tmp_path / "dump")
    before = made("vulkan")
    files = stages(tmp_path / "dump")
    changed(files, "code.spirv", tmp_path / "changed", " FAdd ", " FSub ")
    use(override=tmp_path / "changed")
    after = made("vulkan")
    assert disassembled(after.code) == disassembled(before.code).replace(" FAdd ", " FSub ")
    assert assembled(disassembled(after.code)) == after.code != before.code


def test_changed_llvm_ir_of_cuda(use: Use, tmp_path: Path) -> None:
    use(dump=tmp_path / "dump")
    assert "%tid.x" in made("cuda").code.decode()
    files = stages(tmp_path / "dump")
    changed(files, "llvm.ll", tmp_path / "changed", "sreg.tid.x", "sreg.laneid")
    use(override=tmp_path / "changed")
    code = made("cuda").code.decode()
    assert "%laneid" in code and "%tid.x" not in code


def run_once() -> list[int]:
    """The results of a new kernel on the current device."""

    @cuda.jit(device=True)
    def scaled(x: int) -> int:
        return x * 1237

    @cuda.jit
    def scale(x: np.ndarray) -> None:
        i = cuda.grid(1)
        if i < x.size:
            x[i] = scaled(x[i])

    x = np.arange(1, 5, dtype=np.int32)
    scale[1, 32](x)
    return x.tolist()


@pytest.mark.parametrize(
    ("device", "stage"),
    [("interp", "frontend.ir"), ("cpu", "frontend.ir"), ("cpu", "inline.ir"), ("cpu", "llvm.ll")],
)
def test_a_changed_stage_runs_and_stays_out_of_caches(
    device: str, stage: str, use: Use, tmp_path: Path
) -> None:
    before = [1237, 2474, 3711, 4948]
    with current.Using(device):
        use(dump=tmp_path / "dump")
        assert run_once() == before
        files = stages(tmp_path / "dump")
        changed(files, stage, tmp_path / "changed", "1237", "1238")
        use(override=tmp_path / "changed")
        assert default_cache() is None and driver_cache.directory("cpu") is None
        assert run_once() == [1238, 2476, 3714, 4952]
        assert not (tmp_path / "cache").exists()
        use()
        assert run_once() == before
        assert (tmp_path / "cache").exists()


UNREADABLE = {
    ("cpu", "frontend.ir"): ("sin %x", "sin %%x", "line 11, column"),
    ("cpu", "llvm.ll"): ("define void", "define avoid", "LLVM refuses it"),
    ("cuda", "code.ptx"): (".entry k(", ".entry (", "no directive of a module: .entry"),
    ("cuda", "llvm.ll"): ("ret void", "ret i32 0", "LLVM refuses it"),
    ("interp", "frontend.ir"): ("kernel @k(", "kernel @other(", "the kernel is @other, which"),
    ("metal", "frontend.ir"): (", %n: i32)", ", %n: i32, %m: i32)", "stay as they are"),
    ("vulkan", "frontend.ir"): ("  if %bad {\n", "  return\n  if %bad {\n", "return: a terminator"),
    ("webgpu", "code.wgsl"): (
        "fn k_k(",
        "fn other(",
        "there is no k_k in it",
    ),
    ("vulkan", "code.spirv"): ("FAdd", "FAddition", "no instruction of gridlane's: 'FAddition'"),
    ("webgpu", "frontend.ir"): ("sin %x", "sin %t", "sin gives i32, not f32"),
}


@pytest.mark.parametrize(("target", "stage"), UNREADABLE)
def test_what_cannot_be_read_names_its_file(
    target: str, stage: str, use: Use, tmp_path: Path
) -> None:
    old, new, told = UNREADABLE[target, stage]
    use(dump=tmp_path / "dump")
    made(target)
    path = changed(stages(tmp_path / "dump"), stage, tmp_path / "changed", old, new)
    use(override=tmp_path / "changed")
    with pytest.raises(ParseError) as caught:
        made(target)
    assert str(caught.value).startswith(f"GRIDLANE_OVERRIDE: {path}: ")
    assert told in str(caught.value)


ENTRY = {
    "cpu": ('@"k.kernel"(', '@"k.other"(', "there is no function k.kernel of (ptr, ptr, i64, i64"),
    "cuda": ('void @"k"(', 'void @"other"(', "there is no function k of (ptr addrspace(1), i32)"),
}


@pytest.mark.parametrize("target", ENTRY)
def test_llvm_ir_without_the_kernel_is_refused(target: str, use: Use, tmp_path: Path) -> None:
    old, new, reason = ENTRY[target]
    use(dump=tmp_path / "dump")
    made(target)
    path = changed(stages(tmp_path / "dump"), "llvm.ll", tmp_path / "changed", old, new)
    use(override=tmp_path / "changed")
    with pytest.raises(ParseError, match=re.escape(reason)):
        made(target)
    path.write_text("")
    with pytest.raises(ParseError, match=re.escape(reason)):
        made(target)


def test_a_file_that_cannot_be_read_is_named(use: Use, tmp_path: Path) -> None:
    use(dump=tmp_path / "dump")
    made("webgpu")
    name = stages(tmp_path / "dump")["frontend.ir"].name
    (tmp_path / "changed").mkdir()
    os.symlink("/proc/self/mem", tmp_path / "changed" / name)
    use(override=tmp_path / "changed")
    with pytest.raises(ParseError, match=r"k-.* cannot be read: Input/output error"):
        made("webgpu")


@pytest.mark.parametrize("letter", ["\u6838", "\u00df", "a"])
def test_names_of_files_are_short_and_ascii(letter: str, use: Use, tmp_path: Path) -> None:
    text = TEXT.replace("@k(", f'@"{letter * 300}"(')
    use(dump=tmp_path)
    made("interp", text)
    use(override=tmp_path)
    made("interp", text)
    (file,) = tmp_path.iterdir()
    assert file.name.isascii() and len(file.name) < 150
    assert letter * 300 in file.read_bytes().decode()


def test_every_kernel_has_the_text_of_its_functions(use: Use, tmp_path: Path) -> None:
    """Which a process makes once otherwise."""
    use(dump=tmp_path)
    first = made("webgpu").code
    again = made("webgpu", TEXT.replace("@k(", "@other(")).code
    assert len(list(tmp_path.glob("*.wgsl"))) == 2
    assert again.replace(b"other", b"k") == first


def test_settings_that_are_refused(tmp_path: Path) -> None:
    for value in ("ir,ptx", "asm,/tmp"):
        with pytest.raises(ValueError, match=f"GRIDLANE_DUMP='{value}': a folder, or some of ir"):
            config.read({"GRIDLANE_DUMP": value})
    with pytest.raises(ValueError, match="there is no such folder"):
        config.read({"GRIDLANE_OVERRIDE": str(tmp_path / "none")})
    words = config.read({"GRIDLANE_DUMP": "ir,asm"})
    assert words.dump == {"ir", "asm"} and words.dump_folder is None and words.cache
    folder = config.read({"GRIDLANE_DUMP": "stages"})
    assert folder.dump_folder == Path("stages").absolute() and not folder.dump
    assert not folder.cache
    assert not config.read({"GRIDLANE_OVERRIDE": str(tmp_path)}).cache


def test_a_folder_that_cannot_be_made_is_named(use: Use, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    use(dump=tmp_path / "file" / "stages")
    with pytest.raises(GridlaneError, match=r"GRIDLANE_DUMP: .*k-.* cannot be written: Not a dir"):
        made("webgpu")


PROGRAM = """
import numpy as np
from numba import cuda

@cuda.jit
def k(x):
    x[0] = 1

k[1, 1](np.zeros(1, np.float32))
"""


def test_files_that_replace_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(PROGRAM)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "k-0.cpu.00-frontend.ir").write_text("")
    environment = {**os.environ, "GRIDLANE_OVERRIDE": "there"}
    done = programs.run(["-m", "gridlane", "run", "k.py"], tmp_path, environment)
    folder = tmp_path / "there"
    told = f"{folder} has files that replaced nothing here: k-0.cpu.00-frontend.ir\n"
    assert done.returncode == 0 and done.stderr == f"gridlane: GRIDLANE_OVERRIDE: {told}"


def test_a_folder_that_is_removed(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(PROGRAM + "import os\nos.rmdir('there')\n")
    (tmp_path / "there").mkdir()
    environment = {**os.environ, "GRIDLANE_OVERRIDE": "there"}
    done = programs.run(["-m", "gridlane", "run", "k.py"], tmp_path, environment)
    assert done.returncode == 0 and not done.stderr
