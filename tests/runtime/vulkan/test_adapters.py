"""Finding devices, their features, failures of the loader, the pipeline cache on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.runtime.arrays import params
from tests.runtime.vulkan.shaders import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.launch import devices
from gridlane.runtime.drivers import vulkan
from gridlane.runtime.drivers.vulkan import adapters, api, features, pipelines


def test_a_device_by_its_name():
    assert devices.device_count("vulkan") >= 1
    opened = devices.get_device("vulkan")
    assert opened is devices.get_device("vulkan:0") and opened.name == "vulkan"
    facts = opened.describe()
    assert facts["name"] and facts["kind"] and facts["driver"]
    if opened.adapter.kind == adapters.SOFTWARE:
        assert facts["kind"] == "software on the CPU"
    with pytest.raises(DeviceError, match=r"INVALID_DEVICE.*this machine has"):
        devices.get_device("vulkan:77")


def test_attributes(device):
    facts = device.attributes()
    assert facts["WARP_SIZE"] == 32 and facts["COOPERATIVE_LAUNCH"] == 1
    assert facts["MAX_THREADS_PER_BLOCK"] == device.limits.max_threads
    free, total = device.memory_info()
    assert 0 < free <= total


@pytest.fixture
def several(monkeypatch):
    """Adapters of each kind, in the wrong order."""
    one = adapters.usable()[0]
    kinds = (4, 0, 1, 3, 2)
    mixed = [replace(one, kind=kind, name=f"kind {kind}") for kind in kinds]
    monkeypatch.setattr(adapters, "_adapter", lambda functions, physical: physical)
    monkeypatch.setattr(adapters, "listed", lambda *args: mixed)
    adapters.all_adapters.cache_clear()
    yield mixed
    adapters.all_adapters.cache_clear()


def test_discrete_devices_come_first(several):
    assert [each.kind for each in adapters.usable()] == [2, 1, 3, 0, 4]
    assert vulkan.device_count() == 5


def test_devices_that_lack_something_are_left_out(several):
    several[:] = [replace(each, missing="" if each.kind == 4 else "int64") for each in several]
    assert [each.kind for each in adapters.usable()] == [4]


def test_no_device_of_use(several):
    several[:] = [replace(several[0], missing="Vulkan 1.3 (it has 1.1)")]
    assert vulkan.device_count() == 0
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*kind 4 lacks Vulkan 1.3 \(it has 1.1\)"):
        vulkan.open_device()
    several.clear()
    adapters.all_adapters.cache_clear()
    with pytest.raises(DeviceError, match="no driver of Vulkan shows a device"):
        vulkan.open_device()


def test_an_older_device(monkeypatch):
    monkeypatch.setattr(adapters, "OLDEST", (9, 9))
    functions = adapters.instance().functions
    old = adapters._adapter(functions, adapters.all_adapters()[0].physical)
    assert old.missing.startswith("Vulkan 9.9 (it has 1.") and old.name


@pytest.mark.parametrize(
    "error, message",
    [(ImportError("no vulkan"), "pip install"), (OSError("Cannot find"), "libvulkan.*not load")],
)
def test_what_is_missing(monkeypatch, error, message):
    def fail(name):
        raise error

    monkeypatch.setattr(api, "import_module", fail)
    api.bindings.cache_clear()
    try:
        with pytest.raises(DeviceError, match=f"(?s)NO_DEVICE.*{message}"):
            api.bindings()
        monkeypatch.setattr(adapters, "instance", api.bindings)
        adapters.all_adapters.cache_clear()
        assert vulkan.device_count() == 0
    finally:
        monkeypatch.undo()
        api.bindings.cache_clear()
        adapters.all_adapters.cache_clear()


def test_a_loader_without_drivers():
    told = subprocess.run(
        [sys.executable, "-c", "import gridlane.launch.devices as d; d.get_device('vulkan')"],
        env={**os.environ, "VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 1 and "VULKAN_NO_DEVICE (100)" in told.stderr
    assert "the loader finds no driver" in told.stderr and "mesa-vulkan-drivers" in told.stderr


def test_failures_have_words():
    for number, (name, cuda) in api.RESULTS.items():
        with pytest.raises(DeviceError, match=f"vkThing.*{name}") as caught:
            api.check(number, "vkThing")
        assert caught.value.number == cuda
    with pytest.raises(DeviceError, match="VkResult -77"):
        api.check(-77, "vkThing")
    api.check(0, "vkThing")
    api.check(5, "vkThing")


def test_structures_know_their_type():
    for name in (
        *features.PROPERTIES,
        *features.structures(frozenset(features.EXTENSIONS.values())),
        "VkMemoryAllocateFlagsInfo",
        "VkTimelineSemaphoreSubmitInfo",
        "VkPhysicalDeviceMemoryBudgetPropertiesEXT",
        "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo",
    ):
        number = api.NEWER[name][1] if name in api.NEWER else api._type_number(name)
        assert number, name
        assert api.struct(name).sType == number


def test_a_function_that_the_driver_lacks(device):
    with pytest.raises(DeviceError, match="the driver has no vkNothingOfTheKind"):
        device.context.vk.vkNothingOfTheKind


def test_each_feature_is_of_its_structure():
    for structure, fields in features.FEATURES.values():
        made = features._fields(api.struct(structure))
        assert all(getattr(made, field) == 0 for field in fields)


@pytest.mark.parametrize(
    "shape, scope, types, known",
    [
        (16, 3, [(0, 0), (0, 1)], {"matrix_halves"}),
        (16, 3, [(0, 0), (0, 1), (1000141000, 1)], {"matrix_halves", "matrix_bfloats"}),
        (16, 3, [(0, 1)], set()),
        (8, 3, [(0, 0), (0, 1)], set()),
        (16, 5, [(0, 0), (0, 1)], set()),
    ],
)
def test_products_of_subgroups(shape, scope, types, known):
    """Of 16x16: the types of factors and sums."""

    class Driver:
        def vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(self, physical, count, items):
            count[0] = len(types)
            for item, (factors, sums) in zip(items or (), types):
                assert item.sType == 1000506001
                item.MSize = item.NSize = item.KSize = shape
                item.AType = item.BType = factors
                item.CType = item.ResultType = sums
                item.scope = scope
            return 0

    assert features._products(Driver(), None) == known


# --- the pipeline cache ---


def used(device):
    """Make a pipeline."""
    artifact = kernel(*ADD_ONE)
    bound = device.load(artifact).bind((8, 1, 1))
    bound.launch(params(artifact, device.allocate(32), 0), 1, 1, 1, 0)
    device.synchronize()


def test_the_pipeline_cache_is_kept(device, tmp_path):
    used(device)
    device.pipeline_cache.save()
    (path,) = (tmp_path / "vulkan").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    data = pipelines._load(path)
    assert data and path.read_bytes()[:8] == b"glvkpipe"
    again = pipelines.PipelineCache(device.context)
    assert again._saved == data
    again.end()


@pytest.mark.parametrize("damage", ["cut", "flip", "other", "empty", "directory", "writable"])
def test_a_damaged_file_is_no_cache(device, tmp_path, damage):
    used(device)
    device.pipeline_cache.save()
    (path,) = (tmp_path / "vulkan").iterdir()
    raw = path.read_bytes()
    bad = {"cut": raw[:-1], "flip": raw[:60] + bytes([raw[60] ^ 1]) + raw[61:], "empty": b""}
    if damage in bad:
        path.write_bytes(bad[damage])
    elif damage == "other":
        path.write_bytes(b"x" * 1000)
    elif damage == "writable":
        path.chmod(0o666)
    else:
        path.unlink()
        path.mkdir()
    assert pipelines._load(path) == b""
    fresh = pipelines.PipelineCache(device.context)
    fresh.changed = True
    fresh.end()
    if damage not in ("directory", "writable"):
        assert pipelines._load(path)


def test_no_place_for_a_cache(device, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(pipelines, "directory", lambda: tmp_path / "file" / "vulkan")
    cache = pipelines.PipelineCache(device.context)
    cache.changed = True
    cache.end()
    monkeypatch.setattr(pipelines, "directory", lambda: None)
    pipelines.PipelineCache(device.context).end()


def test_where_the_cache_is(tmp_path, monkeypatch):
    from gridlane.core import config

    for environment, folder in (
        ({"GRIDLANE_CACHE": "0"}, None),
        ({"GRIDLANE_CACHE_DIR": str(tmp_path)}, tmp_path / "vulkan"),
    ):
        monkeypatch.setattr(config, "config", lambda: config.read(environment))
        pipelines.directory.cache_clear()
        assert pipelines.directory() == folder
    monkeypatch.setattr(config, "config", lambda: config.read({}))
    pipelines.directory.cache_clear()
    assert pipelines.directory().parts[-2:] == ("gridlane", "vulkan")
    pipelines.directory.cache_clear()
