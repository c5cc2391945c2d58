"""gridlane doctor PROGRAM: against the loader's own search, and nvcc's programs."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.abi import fatbins, installed

from gridlane.abi.library import search
from gridlane.abi.library.elf import Elf
from gridlane.cli import program as command

LIBRARY = "int cuInit(unsigned n) { return n; }\n"
USER = "int cuInit(unsigned); int main(void) { return cuInit(0); }\n"


@pytest.fixture(scope="module", autouse=True)
def compiler():
    if not shutil.which("cc"):
        pytest.skip("cc is not installed")


def cc(folder, name, source, *options):
    code = folder / f"{name}.c"
    code.write_text(source)
    made = folder / name
    subprocess.run(["cc", str(code), "-o", str(made), *map(str, options)], check=True, timeout=300)
    return made


def library(folder, name="libcuda.so.1", source=LIBRARY, *options):
    folder.mkdir(exist_ok=True)
    return cc(folder, name, source, "-shared", "-fPIC", f"-Wl,-soname,{name}", *options)


@pytest.fixture
def doctor(capsys, monkeypatch):
    """What the command prints in an environment, and its status."""

    def ask(path, **environment):
        monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        try:
            status = command.show(str(path))
        except SystemExit as stopped:
            status = stopped.code
        told = capsys.readouterr()
        return status, told.out + told.err

    return ask


def loaders(program, **environment):
    """Where the loader itself finds the libraries of a program."""
    told = subprocess.run(
        [str(program)],
        env={"LD_TRACE_LOADED_OBJECTS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout
    rows = re.findall(r"(\S+) => (?:(/\S+)|not found)", told)
    assert rows
    return {name: path or None for name, path in rows}


WAYS = {
    "path": ((), {"LD_LIBRARY_PATH": "{a}:{b}"}, "a", "LD_LIBRARY_PATH"),
    "runpath": (("-Wl,--enable-new-dtags,-rpath,{a}",), {}, "a", "the RUNPATH of"),
    "path before runpath": (
        ("-Wl,--enable-new-dtags,-rpath,{a}",),
        {"LD_LIBRARY_PATH": "{b}"},
        "b",
        "LD_LIBRARY_PATH",
    ),
    "rpath before path": (
        ("-Wl,--disable-new-dtags,-rpath,{a}",),
        {"LD_LIBRARY_PATH": "{b}"},
        "a",
        "the RPATH of",
    ),
    "origin": (("-Wl,--enable-new-dtags,-rpath,$ORIGIN/a",), {}, "a", "the RUNPATH of"),
    "nowhere": ((), {}, None, "no folder where the loader looks"),
}


@pytest.mark.parametrize("way", WAYS)
def test_libraries_are_found_where_the_loader_finds_them(way, tmp_path, doctor):
    options, environment, where, why = WAYS[way]
    folders = {name: str(tmp_path / name) for name in "ab"}
    for name in "ab":
        library(tmp_path / name)
    made = cc(
        *(tmp_path, "program", USER, "-L", tmp_path / "b", "-l:libcuda.so.1", "-lm"),
        *("-Wl,--no-as-needed", *(each.format(**folders) for each in options)),
    )
    environment = {name: value.format(**folders) for name, value in environment.items()}
    expected = loaders(made, **environment)
    assert expected["libcuda.so.1"] == (f"{folders[where]}/libcuda.so.1" if where else None)
    looked = search.Search(environment.get("LD_LIBRARY_PATH", ""), search.cached())
    found = {each.name: each for each in looked.libraries(Elf(made))}
    for name, path in expected.items():
        mine = found[name].path
        assert (mine and mine.resolve()) == (path and type(mine)(path).resolve())
    assert why in found["libcuda.so.1"].why
    status, told = doctor(made, **environment)
    assert why in told
    if where:
        assert f"{folders[where]}/libcuda.so.1 (not gridlane's)" in told
    if way == "rpath before path":  # which no LD_LIBRARY_PATH mends
        assert status == 1 and "link it again with -Wl,--enable-new-dtags" in told
    else:
        assert status == 0 and f"gridlane exec {made}" in told


def test_a_library_of_another_machine_is_passed_over(tmp_path):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc is not installed")
    library(tmp_path / "b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "l.c").write_text(LIBRARY)
    subprocess.run(
        ["aarch64-linux-gnu-gcc", "-shared", "-fPIC", "l.c", "-o", "libcuda.so.1"],
        cwd=tmp_path / "a",
        check=True,
        timeout=300,
    )
    made = cc(tmp_path, "program", USER, "-L", tmp_path / "b", "-l:libcuda.so.1")
    path = f"{tmp_path}/a:{tmp_path}/b"
    assert loaders(made, LD_LIBRARY_PATH=path)["libcuda.so.1"] == f"{tmp_path}/b/libcuda.so.1"
    found = search.Search(path, {}).find("libcuda.so.1", Elf(made), Elf(made))
    assert found.path == tmp_path / "b" / "libcuda.so.1"


def test_gridlane_s_own_library_is_known(tmp_path, doctor):
    from gridlane.abi.library.build import LIBRARIES, build

    built = build(LIBRARIES[0], tmp_path / "own", "-O0")
    made = cc(tmp_path, "program", USER, "-L", tmp_path / "own", "-l:libcuda.so.1")
    status, told = doctor(made, LD_LIBRARY_PATH=tmp_path / "own")
    assert status == 0 and f"{built} (gridlane's), by LD_LIBRARY_PATH" in told


def test_a_driver_in_the_cache(tmp_path, doctor, monkeypatch):
    real = library(tmp_path, "libcuda.so.535.104.05")
    link = tmp_path / "libcuda.so.1"
    link.symlink_to(real)
    monkeypatch.setattr(command, "cached", lambda: {"libcuda.so.1": (link,)})
    linked = cc(tmp_path, "plain", "int main(void) { return 0; }\n")
    status, told = doctor(linked)
    assert status == 0 and f"NVIDIA's at {link}, version 535.104.05" in told
    assert "nothing: no use of CUDA is in it" in told


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """One source of nvcc's by each way of linking."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    return installed.once(tmp_path_factory, "doctor-programs", _build_programs)


def _build_programs(folder):
    folder.mkdir()
    (folder / "p.cu").write_text("__global__ void k() {} int main() { k<<<1, 1>>>(); }\n")
    compiled = "-gencode=arch=compute_80,code=[sm_80,compute_80]"
    builds = [
        ["-c", compiled, "-gencode=arch=compute_90,code=sm_90", "p.cu", "-o", "p.o"],
        ["-arch=sm_80", "-cudart", "shared", "p.o", "-o", "shared"],
        ["-arch=sm_80", "p.o", "-o", "static"],
        ["-gencode=arch=compute_80,code=sm_80", "p.cu", "-o", "machine"],
        ["-arch=sm_80", "-rdc=true", "--compress-mode=none", "p.cu", "-o", "parts"],
    ]
    for words in builds:
        subprocess.run(["nvcc", *words], cwd=folder, check=True, timeout=200)
    shutil.copy(folder / "static", folder / "stripped")
    subprocess.run(["strip", "stripped"], cwd=folder, check=True, timeout=300)


SAID = {
    "shared": (0, ["runtime +shared", "libcudart.so.13 ", "gridlane exec", "SASS for sm_90"]),
    "static": (
        0,
        ["runtime +static", "jump to gridlane's", "PTX for compute_80 compressed by zstd"],
    ),
    "stripped": (1, ["runtime +stripped", "-cudart none ... -lcudart_gridlane, or gridlane cc"]),
    "machine": (1, ["compile with -gencode arch=compute_80,code=compute_80.*SASS for sm_80"]),
    "parts": (0, [r"__nv_relfatbin \(parts of -rdc=true\): PTX for compute_80,", "gridlane exec"]),
}


@pytest.mark.parametrize("name", SAID)
def test_programs_of_nvcc(name, programs, doctor):
    status, told = doctor(programs / name)
    expected, words = SAID[name]
    assert status == expected, told
    for each in words:
        assert re.search(each, told), told
    assert ("it opens it by name" in told) == (name != "shared")


def test_a_library_beside_a_program(tmp_path, doctor):
    """It is the one with the runtime inside."""
    held = fatbins.region(fatbins.image(fatbins.text()))
    numbers = ", ".join(map(str, held))
    source = f"""
        __attribute__((section(".nv_fatbin"), aligned(8)))
        const unsigned char data[] = {{{numbers}}};
        const char error[] = "cudaErrorSoftwareValidityNotEstablished", driver[] = "libcuda.so.1";
        int cudaLaunchKernel(void) {{ return 0; }}
        int work(void) {{ return data[0] + cudaLaunchKernel() + error[0] + driver[0]; }}
    """
    made = library(tmp_path, "libwork.so", source)
    source = "int work(void); int main(void) { return work(); }\n"
    user = cc(tmp_path, "user", source, made, f"-Wl,-rpath,{tmp_path}")
    status, told = doctor(user)
    assert status == 0 and f"{made}: static: NVIDIA's is inside" in told
    assert "jump to gridlane's" in told
    status, told = doctor(made)
    assert "a library for x86-64" in told and "PTX for compute_80" in told
    assert "gridlane exec PROGRAM, one that loads it" in told
    subprocess.run(["strip", str(made)], check=True, timeout=300)
    status, told = doctor(user)
    assert status == 1 and f"{made}: link it again" in told


FILES = {
    "text": (b"words\n", "no ELF file and no script"),
    "empty": (b"", "no ELF file and no script"),
    "script": (b"#!/bin/sh\n./program\n", "is a script of /bin/sh"),
    "python": (b"#!/usr/bin/env python3\n", "gridlane run"),
    "small": (b"\x7fELF\x01\x01" + bytes(60), "no ELF file of a 64-bit little-endian machine"),
    "cut": (b"\x7fELF\x02\x01", "damaged"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_files(name, tmp_path, doctor):
    data, words = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    status, told = doctor(path)
    assert words in told and status == (0 if data.startswith(b"#!") else 1)


def test_what_is_no_file(tmp_path, doctor):
    for path in (tmp_path, tmp_path / "none", "/dev/zero"):
        status, told = doctor(path)
        assert status and f"{path} is no file" in told


def test_programs_that_the_loader_does_not_help(tmp_path, doctor):
    source = "int main(void) { return 0; }\n"
    status, told = doctor(cc(tmp_path, "alone", source, "-static"))
    assert status == 1 and "link it dynamically" in told
    made = cc(tmp_path, "suid", source)
    made.chmod(0o4755)
    status, told = doctor(made)
    assert status == 1 and "set-uid" in told
    bare = bytearray(made.read_bytes())
    bare[0x28:0x30], bare[0x3C:0x3E] = bytes(8), bytes(2)
    (tmp_path / "bare").write_bytes(bare)
    status, told = doctor(tmp_path / "bare")
    assert status == 1 and "keep its section headers" in told


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cut_and_changed_programs_have_words(program_bytes, tmp_path_factory, data):
    whole = bytearray(program_bytes)
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(4, len(whole) - 1)) :]
    else:
        for _ in range(4):
            whole[data.draw(st.integers(4, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "file"
    path.write_bytes(whole)
    try:
        assert command.show(str(path)) in (0, 1)
    except SystemExit as stopped:
        assert stopped.code == 1


@pytest.fixture(scope="module")
def program_bytes(tmp_path_factory):
    """A small library with a fatbin of two images."""
    held = fatbins.region(fatbins.image(b"x" * 40, kind=fatbins.MACHINE), fatbins.image(b"y" * 8))
    numbers = ", ".join(map(str, held))
    source = (
        '__attribute__((section(".nv_fatbin"), aligned(8))) const unsigned char data[] = '
        f"{{{numbers}}};\n"
    )
    made = library(tmp_path_factory.mktemp("held"), "libheld.so", source, "-nostdlib")
    return made.read_bytes()
