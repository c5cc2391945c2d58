"""``gridlane run --device auto``: which devices are tried, and what is remembered."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gridlane.cli import children, choosing, doctor, survey
from gridlane.core.config import config
from gridlane.runtime import driver_cache

OPENED = {
    "cuda": ({"name": "a GPU"}, True),
    "vulkan": ({"name": "llvmpipe", "kind": "software on the CPU"}, True),
    "opengl": ({"name": "llvmpipe", "kind": "software on the CPU"}, True),
    "webgpu": ({"name": "Dawn"}, True),
    "cpu": ({"processor": "x86_64", "threads": 2}, True),
}


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine of ``found``: facts of each kind, and whether it is verified; ``tried`` tells what
    was looked at ("vulkan?") and verified ("vulkan!"). The cache is this test's."""
    found, tried = {}, []
    monkeypatch.setattr(driver_cache, "directory", lambda name: tmp_path / name)
    monkeypatch.setattr(
        survey, "device_count", lambda kind: tried.append(f"{kind}?") or kind in found
    )

    class Device:
        def __init__(self, kind):
            self.kind = kind

        def describe(self):
            facts = found[self.kind][0]
            if isinstance(facts, Exception):
                raise facts
            return facts

    monkeypatch.setattr(survey, "get_device", Device)

    def surveyed(kinds):
        lines, here = [], survey.Survey()
        for kind in kinds:
            lines.append(here.look(kind))
            if lines[-1]["facts"] and not lines[-1]["software"]:
                break
        return lines

    monkeypatch.setattr(choosing, "_survey", surveyed)

    def climb(kind):
        tried.append(f"{kind}!")
        return [doctor.Step("verified", found[kind][1], "")]

    monkeypatch.setattr(doctor, "climb", climb)
    return found, tried


def chosen(capsys) -> tuple[str, str]:
    name = choosing.best_device()
    return name, capsys.readouterr().err


def test_only_the_best_candidate_is_verified(machine, capsys):
    found, tried = machine
    found.update(OPENED)
    assert chosen(capsys) == ("cuda", "gridlane: --device auto: cuda: a GPU\n")
    assert tried == ["cuda?", "cuda!"]


@pytest.mark.skipif(sys.platform != "linux", reason="WebGPU has other drivers under it")
def test_software_is_not_verified_and_webgpu_not_looked_at(machine, capsys):
    found, tried = machine
    found.update(OPENED)
    del found["cuda"]
    assert chosen(capsys)[0] == "cpu"
    assert tried.count("cpu!") == 1 and [each for each in tried if "!" in each] == ["cpu!"]
    assert "webgpu?" not in tried and tried.count("opengl?") == 1
    # With a driver missing below it, WebGPU may have a device that this shows alone.
    for missing in ("vulkan", "opengl"):
        tried.clear()
        kept = found.pop(missing)
        assert chosen(capsys)[0] == "webgpu"
        assert "webgpu?" in tried
        found[missing] = kept


def test_the_next_is_taken_where_one_fails(machine, capsys):
    found, tried = machine
    found.update(OPENED, cuda=(OPENED["cuda"][0], False), vulkan=({"name": "a GPU"}, False))
    assert chosen(capsys)[0] == "webgpu"
    assert [each for each in tried if "!" in each] == ["cuda!", "vulkan!", "webgpu!"]
    found["webgpu"] = (OSError("it does not open"), True)
    found["cpu"] = (OPENED["cpu"][0], False)
    name, told = chosen(capsys)
    assert name == "interp" and "no device is verified here" in told


def test_what_is_verified_is_remembered(machine, capsys, monkeypatch, tmp_path):
    found, tried = machine
    found["cpu"] = (OPENED["cpu"][0], False)
    for _ in range(2):  # a failure is not
        assert chosen(capsys)[0] == "interp"
    assert tried.count("cpu!") == 2
    found["cpu"] = OPENED["cpu"]
    tried.clear()
    told = {chosen(capsys) for _ in range(3)}
    assert told == {("cpu", "gridlane: --device auto: cpu: x86_64, 2 threads\n")}
    assert tried.count("cpu!") == 1
    found["cpu"] = ({**OPENED["cpu"][0], "driver": "another"}, True)
    chosen(capsys)
    assert tried.count("cpu!") == 2
    for each in (tmp_path / "verified").iterdir():
        each.write_bytes(each.read_bytes()[:-1] + b"?")
    chosen(capsys)
    assert tried.count("cpu!") == 3
    monkeypatch.setattr(driver_cache, "directory", lambda name: None)
    chosen(capsys)
    chosen(capsys)
    assert tried.count("cpu!") == 5


def test_the_key_has_all_that_a_verification_depends_on(monkeypatch, tmp_path):
    facts = {"name": "a GPU", "driver": "1.2", "memory_free": 5}
    first = survey._key("vulkan", facts)
    assert survey._key("vulkan", {**facts, "memory_free": 6}) == first
    others = {survey._key("opengl", facts), survey._key("vulkan", {**facts, "driver": "1.3"})}
    for owner, name, value in (
        (platform, "release", lambda: "another kernel"),
        (platform, "node", lambda: "another machine"),
        (sys, "version", "another Python"),
        (survey, "_version", lambda package: "another"),
        (survey, "config", lambda: replace(config(), fp64="narrow")),
        (survey, "identity_of", lambda target: ("another processor",)),
        (survey, "source_digest", lambda package, rooms: b"another source"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            others.add(survey._key("vulkan", facts))
    assert len(others) == 9 and first not in others
    with monkeypatch.context() as patch:  # the choice itself sets the device
        patch.setattr(survey, "config", lambda: replace(config(), device="vulkan", trace=True))
        assert survey._key("vulkan", facts) == first


def test_a_driver_that_ends_its_process_is_passed_by(monkeypatch, tmp_path):
    program = tmp_path / "python"
    line = json.dumps({"kind": "cpu", "facts": "x", "software": False, "key": "k", "why": ""})
    program.write_text(
        f"#!/bin/sh\nfor each; do case $each in cuda|vulkan) kill -9 $$;; cpu) echo '{line}';; "
        'metal|webgpu|opengl) echo "noise"; echo \'{"kind": "\'$each\'", "facts": ""}\';; '
        "esac; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert [each.kind for each in choosing._candidates()] == ["cpu"]


def test_the_process_of_a_survey(tmp_path):
    """Where the program's own folder has modules with names of others."""
    (tmp_path / "json.py").write_text("raise SystemExit('this json is the program's')\n")
    command = children.command("gridlane.cli.survey", "interp", "cpu")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    (line,) = [json.loads(each) for each in done.stdout.splitlines()]
    assert line["kind"] == "interp" and line["facts"] and line["key"] and not line["software"]


def test_a_process_of_a_checkout_that_is_not_installed(tmp_path):
    """It imports the package that this process has."""
    told = (
        "def main():\n    import gridlane\n    print(gridlane.__file__, sys.path[0])\nimport sys\n"
    )
    package = tmp_path / "src" / "gridlane"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "told.py").write_text(told)
    start = children.command("gridlane.told")
    start[3] = start[3].replace(str(Path(children.__file__).parents[2]), str(package.parent))
    done = subprocess.run(start, cwd="/", capture_output=True, text=True, check=True)
    file, first = done.stdout.split()
    assert file == str(package / "__init__.py") and first != str(package.parent)
