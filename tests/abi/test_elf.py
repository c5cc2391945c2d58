"""ELF files: real ones against nm and readelf, cut and changed ones for their errors."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridlane.abi.library.elf import Elf, runtime_in
from gridlane.core.errors import ArgumentError


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("cc") or not shutil.which("nm"):
        pytest.skip("cc and nm are not installed")
    folder = tmp_path_factory.mktemp("elf")
    source = folder / "small.c"
    source.write_text(
        "#include <math.h>\nint f(int n) { return n; } int main(int n, char **v)"
        " { return (int)cos(f(n)) + !v; }\n"
    )
    made = folder / "small"
    subprocess.run(
        ["cc", str(source), "-o", str(made), "-lm", "-lpthread"], check=True, timeout=300
    )
    return made


def test_symbols_are_those_of_nm(program):
    told = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in told.splitlines())
    expected = {(row[2], int(row[0], 16)) for row in rows if len(row) == 3}
    found = {(each.name, each.address) for each in Elf(program).symbols}
    assert {name for name, _ in expected} >= {"main", "f"}
    assert {each for each in expected if "@" not in each[0]} <= found


def test_libraries_are_those_of_readelf(program):
    told = subprocess.run(["readelf", "-d", str(program)], capture_output=True, text=True).stdout
    expected = [line.split("[")[1].rstrip("]") for line in told.splitlines() if "(NEEDED)" in line]
    assert list(Elf(program).needed) == expected != []
    assert runtime_in(program) == "none"


def test_what_is_no_elf_file(tmp_path):
    for data in (
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF\x01\x01" + bytes(60),
        b"\x7fELF\x02\x02" + bytes(60),
    ):
        path = tmp_path / "file"
        path.write_bytes(data)
        with pytest.raises(ArgumentError, match="no ELF file"):
            Elf(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_cut_and_changed_files_have_errors_in_words(program, tmp_path_factory, data):
    whole = bytearray(program.read_bytes())
    table = int.from_bytes(whole[0x28:0x30], "little")
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(6, len(whole) - 1)) :]
    else:
        for _ in range(3):
            place = data.draw(st.one_of(st.integers(6, 63), st.integers(table, len(whole) - 1)))
            whole[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("cut") / "file"
    path.write_bytes(whole)
    try:
        elf = Elf(path)
        elf.symbols, elf.needed, runtime_in(path)
    except ArgumentError:
        pass


def test_python_itself():
    assert runtime_in(Path(sys.executable).resolve()) == "none"
