"""Images that a program registered and that no kernel can be loaded from: stderr says why, once."""

import ctypes
import shutil
import subprocess
import sys

import pytest
from tests.abi import installed
from tests.abi.fatbins import MACHINE, ZSTD, image, needs_nvcc, region, text
from tests.abi.test_images import at, wrapper

from gridlane.abi.failure import NO_BINARY_FOR_GPU, NOT_SUPPORTED, Failure
from gridlane.abi.library import registration

ADVICE = "-gencode arch=compute_80,code=compute_80"


def loaded(whole, device):
    """The errors of three attempts to load a fatbin."""
    held = wrapper(1, at(whole))
    load = registration._loader(at(held))
    for _ in range(3):
        with pytest.raises(Failure) as error:
            load(device)
        yield error.value.number


def test_machine_code_alone(cpu, capsys):
    whole = region(image(b"\x7fELF", 80, MACHINE), image(b"\x7fELF", 90, MACHINE))
    assert set(loaded(whole, cpu)) == {NO_BINARY_FOR_GPU}
    (line,) = capsys.readouterr().err.splitlines()
    assert "sm_80, sm_90" in line and ADVICE in line


def test_what_unpacks_code_is_not_installed(cpu, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    whole = region(image(text(), flags=0x11 | ZSTD, size=200))
    assert set(loaded(whole, cpu)) == {NOT_SUPPORTED}
    (line,) = capsys.readouterr().err.splitlines()
    assert "zstandard is not installed" in line and "gridlane[fatbin]" in line


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the process its memory")
def test_the_file_of_an_address():
    place = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value
    assert "/libc" in registration._file_of(place)
    assert registration._file_of(8) == "this program"


@needs_nvcc
def test_a_program_of_machine_code(tmp_path_factory, tmp_path):
    """It asks for no error: only stderr tells."""
    folder = installed.folder(tmp_path_factory, "machine")
    source, made = tmp_path / "program.cu", tmp_path / "program"
    source.write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); k<<<1, 1>>>(); }\n")
    options = ["-cudart", "shared", "-gencode", "arch=compute_80,code=sm_80"]
    command = [str(shutil.which("nvcc")), *options, str(source), "-o", str(made)]
    subprocess.run(command, check=True, timeout=300)
    found = subprocess.run(
        [str(made)], env={"LD_LIBRARY_PATH": str(folder)}, capture_output=True, text=True
    )
    line, end = found.stderr.splitlines()
    assert end.startswith("gridlane: 2 launches of this program failed")
    assert found.returncode == 0 and str(made) in line and "sm_80" in line and ADVICE in line
