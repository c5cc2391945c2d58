"""The command line of ``gridlane cc``."""

from pathlib import Path

import pytest

from gridlane.abi.toolchain import option_names as options
from gridlane.abi.toolchain.options import parse
from gridlane.core.errors import ArgumentError


def test_spellings_of_nvcc():
    words = "--gpu-architecture compute_90 --std=c++20 -Ia --include-path b -DN=3 --define-macro M"
    made = parse([*words.split(), "-isystem", "c", "-O3", "--debug", "a.cu", "--output-file=p"])
    assert made.archs == ["compute_90"] and made.output == "p"
    assert made.both == ["-std=c++20", "-Ia", "-Ib", "-DN=3", "-DM", "-isystem", "c"]
    assert made.host == ["-O3", "-g"]
    assert made.inputs == [(Path("a.cu"), "cu")]


def test_options_of_host_and_linker():
    made = parse(
        ["-Xcompiler=-fPIC,-Wall", "-Xcompiler", "-O1 -DK -Wl,-s", "-Xlinker", "-rpath,/x", "-lm"]
        + ["-Llib", "-lineinfo", "x.o", "liby.a", "libz.so.2", "-shared", "-rdc=true", "f.cc"]
    )
    assert made.host == ["-fPIC", "-Wall", "-O1"] and made.both == ["-DK"]
    assert made.linker == ["-Wl,-s", "-Wl,-rpath,/x", "-lm", "-Llib"]
    assert made.device == ["-lineinfo"] and made.is_shared and made.is_relocatable
    assert [language for _, language in made.inputs] == ["", "", "", "c++"]


def test_architectures():
    both = ["-gencode", "arch=compute_80,code=sm_80", "--generate-code=arch=compute_90,code=sm_90"]
    assert parse([*both, "a.cu"]).archs == ["compute_80", "compute_90"]
    assert parse(["-arch=native", "a.cu"]).archs == []


def test_options_of_build_systems(tmp_path):
    """What CMake and Makefiles write: files of options, folders, options of the host's compiler."""
    inner, outer = tmp_path / "inner.rsp", tmp_path / "outer.rsp"
    inner.write_text("-Ia 'b c.cu'")
    outer.write_text(f"-DN=3\n--options-file {inner}\n")
    made = parse(["-optf", str(outer), f"@{inner}", "-odir", "made", "-c"])
    assert made.both == ["-DN=3", "-Ia", "-Ia"] and made.folder == "made"
    assert [path for path, _ in made.inputs] == [Path("b c.cu")] * 2
    with pytest.raises(ArgumentError, match=r"absent\.rsp: No such file"):
        parse(["--options-file=absent.rsp"])
    words = ["-funroll-loops", "-Wl,-s", "-forward-unknown-to-host-compiler", "-Wall", "a.cu"]
    made = parse([*words, "-ftemplate-depth", "512", "-Wno-deprecated-declarations"])
    assert made.host == ["-funroll-loops", "-Wall"] and made.linker == ["-Wl,-s"]
    assert made.both == ["-ftemplate-depth=512", "-Wno-deprecated-declarations"]


def test_what_is_ignored_and_what_is_refused():
    ignored = [word for each in options.IGNORED_WITH_VALUE for word in (each, "1")]
    ignored += [f"-l{name}" for name in options.IGNORED_LIBRARIES]
    plain, made = parse(["a.cu"]), parse([*ignored, *options.IGNORED, "a.cu"])
    assert made == plain
    for name, reason in options.REFUSED.items():
        with pytest.raises(ArgumentError, match=reason[:20]):
            parse([name, "a.cu"])
    for words in (["-Xcompiler", "-O3,-fopenmp"], ["-fopenmp"]):
        assert parse([*words, "a.cu"]).is_parallel


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no input"),
        (["-only", "a.cu"], "does not know the option -only"),
        (["--unknown=3", "a.cu"], "does not know the option --unknown=3"),
        (["-march=native", "a.cu"], "-Xcompiler"),
        (["a.cu", "-o"], "lacks its value"),
        (["a.txt"], "-x cu"),
        (["-x", "fortran", "a.f"], "-x fortran"),
        (["-rdc=maybe", "a.cu"], "true or false"),
        (["-cudart", "hybrid", "a.cu"], "static, shared or none"),
        (["-default-stream", "x", "a.cu"], "per-thread"),
        (["-m32", "a.cu"], "-m32"),
        (["-gencode", "sm_80", "a.cu"], "arch=compute_80"),
        (["-c", "a.cu", "b.cu", "-o", "x.o"], "several inputs"),
    ],
)
def test_what_is_wrong(words, told):
    with pytest.raises(ArgumentError, match=told):
        parse(words)
