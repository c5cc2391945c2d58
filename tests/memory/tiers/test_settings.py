"""The tiers that the environment sets."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gridlane.core.byte_sizes import byte_size
from gridlane.core.tier_settings import tier_settings


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("17", 17), ("1k", 1000), ("1KiB", 1024), ("0.5 GiB", 1 << 29), ("2TB", 2 * 10**12)],
)
def test_sizes(text, size):
    assert byte_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1e3", "1 2", "1XB", "0x10"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="no size"):
        byte_size(text)


def test_own_names():
    settings = tier_settings(
        {
            "GRIDLANE_TIERS_HOST": "2MiB",
            "GRIDLANE_TIERS_DEVICE": "1MB",
            "GRIDLANE_TIERS_DISK": "/a=3KiB,/b",
            "GRIDLANE_TIERS_CODEC": "zstd",
            "GRIDLANE_TIERS_LEVEL": "-1",
            "GRIDLANE_TIERS_BLOCK": "64KiB",
        }
    )
    assert (settings.host, settings.device, settings.block) == (2 << 20, 10**6, 64 << 10)
    assert settings.disk == (("/a", 3072), ("/b", None))
    assert (settings.codec, settings.level, settings.aliases) == ("zstd", -1, ())


def test_metaxudas_names():
    mx = {
        "MX_DISK_SPILL_ENABLED": "1",
        "MX_TIER3_EXTERNAL_DEVICES": "0:/x,1:/y",
        "MX_DATASTORE_COMPRESSION_TYPE": "zstd",
        "MX_DATASTORE_COMPRESSION_LEVEL": "7",
    }
    settings = tier_settings(mx)
    assert settings.disk == (("/x", None), ("/y", None))
    assert (settings.codec, settings.level) == ("zstd", 7)
    assert set(settings.aliases) == mx.keys()
    assert tier_settings(mx | {"GRIDLANE_TIERS_DISK": "/z"}).disk == (("/z", None),)
    inner = mx | {"MX_TIER3_STRATEGY": "prefer_internal", "MX_TIER3_INTERNAL_PATH": "/in"}
    assert tier_settings(inner).disk == (("/in", None),)
    assert tier_settings({"MX_TIER3_INTERNAL_PATH": "/in"}).disk == ()
    raw = tier_settings({"MX_ENABLE_DATASTORE_COMPRESSION": "0"} | mx)
    assert (raw.codec, raw.level) == ("raw", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GRIDLANE_TIERS_HOST", "much"),
        ("GRIDLANE_TIERS_DEVICE", "-3"),
        ("GRIDLANE_TIERS_DISK", "/a=x"),
        ("GRIDLANE_TIERS_DISK", "=3"),
        ("GRIDLANE_TIERS_CODEC", "rar"),
        ("GRIDLANE_TIERS_LEVEL", "high"),
        ("GRIDLANE_TIERS_BLOCK", "0"),
    ],
)
def test_bad_values_name_their_variable(name, value):
    with pytest.raises(ValueError, match=name):
        tier_settings({name: value})


def test_arrays_without_tiers_have_those_of_the_environment(tmp_path):
    program = """
import warnings
import numpy as np
from gridlane.memory.tiers import tiered

with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    array = tiered(1 << 20, np.uint8)
    other = tiered(3, np.uint8)
assert len(heard) == 1 and "MX_ENABLE_DATASTORE_COMPRESSION" in str(heard[0].message)
assert "MX_DISK_PARALLELISM_LEVEL have no effect" in str(heard[0].message)
array[...] = np.arange(1 << 20) % 253
assert array.tiers is other.tiers and array.block_bytes == 65536
array.tiers.wait()
facts = array.tiers.statistics()
assert facts.host_peak <= 1 << 18 and facts.to_disk > 0
out = array.copy_to_host(np.empty(1 << 20, np.uint8))
assert (out == np.arange(1 << 20) % 253).all()
"""
    environment = {
        "GRIDLANE_TIERS_HOST": "256KiB",
        "GRIDLANE_TIERS_BLOCK": "64KiB",
        "GRIDLANE_TIERS_DISK": f"{tmp_path}=8MiB",
        "MX_ENABLE_DATASTORE_COMPRESSION": "0",
        "MX_DISK_PARALLELISM_LEVEL": "auto",
    }
    subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, check=True, timeout=120
    )
    assert not [each for each in tmp_path.rglob("*.spill")]
