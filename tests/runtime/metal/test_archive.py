"""Machine code that is kept in a file between processes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.effort import NIGHTLY
from tests.on_metal import EMULATED
from tests.runtime.arrays import params, to_device, words
from tests.runtime.metal.kernels import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import machine
from gridlane.emulation.metal.machine import Program
from gridlane.runtime import driver_cache
from gridlane.runtime.drivers.metal import adapters, archive

OTHER = "values: ulong, n: uint", "if (i < n) at(values, i) += 2;"


@pytest.fixture
def process(opening, monkeypatch, tmp_path):
    """Launches kernels on a device, as a process of its own does that closes it at its end; says
    how many texts were compiled to machine code."""
    monkeypatch.setattr(machine, "_library_ahead", lambda: None)

    def run(*sources):
        folder = tmp_path / f"process {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        monkeypatch.setattr(machine, "folder", lambda: folder)
        before, device = Program.compilations, opening()
        for source in sources:
            artifact, data = kernel(*source), to_device(device, np.zeros(64, np.uint32))
            bound = device.load(artifact).bind((64, 1, 1))
            bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
            assert (words(device, data) == (2 if source is OTHER else 1)).all()
        device.close()
        return Program.compilations - before

    return run


@pytest.fixture
def kept(tmp_path):
    """The one file, as a function."""

    def find():
        (found,) = (tmp_path / "metal").glob("*.pipelines")
        return found

    return find


def test_the_next_process_does_not_compile(process):
    assert process(ADD_ONE) == 1
    assert process(ADD_ONE) == 0
    assert process(ADD_ONE, OTHER) == 1
    assert process(OTHER, ADD_ONE) == 0


def test_a_process_without_anything_new_writes_nothing(process, kept):
    process(ADD_ONE, OTHER)
    before = kept().stat()
    process(ADD_ONE)
    assert (kept().stat().st_mtime_ns, kept().stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_the_file_is_written_when_the_device_is_closed(opening, tmp_path, kept):
    device = opening()
    device.load(kernel(*ADD_ONE))
    assert not (tmp_path / "metal").exists()
    device.close()
    first = kept().read_bytes()
    device.load(kernel(*OTHER))  # which goes on without the archive
    device.close()
    assert kept().read_bytes() == first


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def changed(path):
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def emptied(path):
    path.write_bytes(b"")


def foreign(path):
    """Bytes that are ours, and nothing that Metal takes."""
    driver_cache.store(path, archive._MAGIC, b"no archive")


def cut_before_it_was_kept(path):
    driver_cache.store(path, archive._MAGIC, driver_cache.load(path, archive._MAGIC)[:-100])


@pytest.mark.parametrize("damage", [truncated, changed, emptied, foreign, cut_before_it_was_kept])
def test_a_damaged_file_is_replaced(process, kept, damage):
    process(ADD_ONE)
    damage(kept())
    assert process(ADD_ONE) == 1
    assert process(ADD_ONE) == 0


def test_a_file_that_others_may_write_is_not_believed(process, kept):
    process(ADD_ONE)
    kept().chmod(0o666)
    assert process(ADD_ONE) == 1
    kept().chmod(0o600)
    assert process(ADD_ONE) == 0


def test_another_system_has_another_file(process, monkeypatch, tmp_path):
    process(ADD_ONE)
    monkeypatch.setattr("platform.version", lambda: "another build")
    assert process(ADD_ONE) == 1
    assert len(list((tmp_path / "metal").iterdir())) == 2


def test_a_device_of_another_name_has_another_file(process, metal, monkeypatch):
    process(ADD_ONE)
    monkeypatch.setattr(type(metal), "name", lambda self: "another CPU emulation")
    adapters.all_adapters.cache_clear()
    assert process(ADD_ONE) == 1


def test_without_a_place_for_files(process, monkeypatch, tmp_path):
    monkeypatch.setattr(archive, "directory", lambda: None)
    assert process(ADD_ONE) == process(ADD_ONE) == 1
    assert not (tmp_path / "metal").exists()


def test_without_a_place_for_copies(process, monkeypatch, tmp_path):
    def refuse(**options):
        raise OSError("no space left on device")

    monkeypatch.setattr(archive.tempfile, "mkdtemp", refuse)
    assert process(ADD_ONE) == process(ADD_ONE) == 1
    assert not (tmp_path / "metal").exists()


def test_a_device_that_makes_no_archives(process, metal, monkeypatch, tmp_path):
    refused = "newBinaryArchiveWithDescriptor_error_"
    monkeypatch.setattr(type(metal), refused, lambda self, descriptor, error: (None, None))
    assert process(ADD_ONE) == process(ADD_ONE) == 1
    assert not (tmp_path / "metal").exists()


@pytest.mark.parametrize("refused", ["addComputePipelineFunctionsWithDescriptor", "serializeToURL"])
def test_an_archive_that_takes_nothing(process, monkeypatch, tmp_path, refused):
    from gridlane.emulation.metal.archive import MTLBinaryArchive

    name = f"{refused}_error_"
    monkeypatch.setattr(MTLBinaryArchive, name, lambda self, argument, error: (False, None))
    assert process(ADD_ONE) == process(ADD_ONE) == 1
    assert not (tmp_path / "metal").exists()


def test_what_metal_refuses_is_not_kept(opening, tmp_path):
    device = opening()
    with pytest.raises(DeviceError, match="INVALID_IMAGE"):
        device.load(kernel("values: ulong", "at(values, i) = nothing;"))
    device.close()
    assert not (tmp_path / "metal").exists()


PROGRAM = """
import numpy as np
from gridlane import cuda
from gridlane.emulation.metal.machine import Program

@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] = values[i] * 2

values = cuda.to_device(np.arange(64, dtype=np.float32))
double[2, 32](values)
assert (values.copy_to_host() == np.arange(64) * 2).all()
print(Program.compilations)
"""


def test_two_processes(tmp_path):
    """What counts are processes that end as users' do."""

    def run(**more):
        environment = {**os.environ, **EMULATED, "GRIDLANE_CACHE_DIR": str(tmp_path), **more}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    if NIGHTLY:
        assert run(GRIDLANE_CACHE="0") == 1 and not (tmp_path / "metal").exists()
    assert [run(), run()] == [1, 0]
    (file,) = (tmp_path / "metal").iterdir()
    truncated(file)
    assert [run(), run()] == [1, 0]
