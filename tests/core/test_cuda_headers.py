"""The headers that are made from the table of CUDA's interface, as files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridlane.core.cuda_table import enums, functions
from gridlane.core.cuda_table.forwards import forwards
from gridlane.core.cuda_table.headers import NAMES, headers
from gridlane.frontends.cuda_cpp.clang import INCLUDE

PROGRAM = """
import sys
from gridlane.core.cuda_table import written
print(written.folder())
"""


def folder_of(cache: Path, temporary: Path, **variables: str) -> Path:
    """The folder that another process writes."""
    environment = {"GRIDLANE_CACHE_DIR": str(cache), "TMPDIR": str(temporary), **variables}
    run = [sys.executable, "-c", PROGRAM]
    return Path(subprocess.check_output(run, env=os.environ | environment, text=True).strip())


def test_each_name_of_the_table_is_in_one_header():
    texts = headers()
    assert tuple(texts) == NAMES
    for each in enums().values():
        for name in (*each.values, *each.later):
            assert (
                sum(f"    {name}," in text or f"    {name} =" in text for text in texts.values())
                == 1
            )
    assert "cudaMalloc(" in texts["cuda_runtime_api.h"] and "cuMemAlloc_v2(" in texts["cuda.h"]
    newest = [row.name for row in functions("runtime").values() if row.until is None]
    assert len(newest) > 300
    assert all(f" {name}(" in texts["cuda_runtime_api.h"] for name in newest)


def test_types_of_the_driver_are_not_in_those_of_the_runtime():
    texts = headers()
    for name in ("CUresult", "CUdeviceptr", "CU_STREAM_LEGACY", "nvrtcResult"):
        assert f" {name}" not in texts["gridlane_types.h"] + texts["gridlane_shapes.h"]
    assert "typedef enum cudaError_enum CUresult;" in texts["gridlane_driver_types.h"]


def test_files_are_kept_in_the_cache_and_written_again_when_one_is_missing(tmp_path):
    cache = tmp_path / "cache"
    made = folder_of(cache, tmp_path)
    texts = headers() | forwards()
    files = {made / name for name in texts}
    assert made.parent == cache and {each for each in made.rglob("*") if each.is_file()} == files
    before = {each: each.stat().st_ino for each in files}
    assert folder_of(cache, tmp_path) == made
    assert {each: each.stat().st_ino for each in files} == before
    for name in ("cuda.h", "cub/block/block_scan.cuh"):
        (made / name).unlink()
        assert folder_of(cache, tmp_path) == made
        assert (made / name).read_text() == texts[name]


def test_headers_that_forward_include_what_they_name():
    texts = forwards()
    assert texts["thrust/sort.h"] == '#pragma once\n#include "thrust/gridlane_algorithms.h"\n'
    assert texts["cub/warp/warp_scan.cuh"] == '#pragma once\n#include "cub/warp_scan.cuh"\n'
    array = '#pragma once\n#include <array>\n#include "gridlane/cuda_std.h"\n'
    assert texts["cuda/std/array"] == array
    for text in texts.values():
        names = [line.split('"')[1] for line in text.splitlines() if '"' in line]
        assert all((INCLUDE / name).is_file() for name in names)


def test_without_a_cache_a_process_has_its_own_and_removes_it(tmp_path):
    made = folder_of(tmp_path / "cache", tmp_path, GRIDLANE_CACHE="0")
    assert made.parent == tmp_path and not made.exists() and not (tmp_path / "cache").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    cache = tmp_path / "cache"
    kept = folder_of(cache, tmp_path)
    kept.chmod(0o777)
    made = folder_of(cache, tmp_path)
    assert made != kept and made.parent == tmp_path
