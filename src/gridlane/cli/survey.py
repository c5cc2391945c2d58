"""Search a device of real hardware: ``gridlane run --device auto`` starts one process for it.

Its ``main``, with kinds in ``sys.argv``, prints a line of JSON for each kind of device, in this
order, and ends after the first that is no software on the CPU. It opens the device, and runs no
kernel. It is a process of its own, because a broken driver may crash its process, and because a
driver that is loaded outlives the choice of another device.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import gridlane
from gridlane.backends import backend
from gridlane.cli.wording import described
from gridlane.compiler.cache_key import COMPILER_HALF, make_key, source_digest
from gridlane.compiler.identity import identity_of
from gridlane.core.config import config
from gridlane.core.encoding import encode
from gridlane.core.errors import DeviceError
from gridlane.core.options import Target
from gridlane.launch.devices import device_count, get_device

_SOFTWARE = "software on the CPU", "CPU emulation"
"""Said by a driver that runs shaders on the CPU, where the device cpu is faster."""
_RUNTIME_HALF = ("memory", "runtime", "launch", "modules", "cuda", "cli")


class Survey:
    """What is known so far: the kinds whose best device is software."""

    def __init__(self) -> None:
        self._software: set[str] = set()
        self._seen: dict[str, dict[str, object]] = {}

    def look(self, kind: str) -> dict[str, object]:
        """The line of a kind.

        ``facts`` is "" if there is no device; ``why`` is the reason then. ``key`` identifies the
        device, its driver and all else that a verification depends on.
        """
        if kind not in self._seen:
            self._seen[kind] = self._looked(kind)
        return self._seen[kind]

    def _looked(self, kind: str) -> dict[str, object]:
        nothing: dict[str, object] = {"kind": kind, "facts": "", "software": False, "key": ""}
        if self._no_hardware_beneath(kind):
            others = " and ".join(backend(kind).beneath)
            return {**nothing, "why": f"{others} show software alone"}
        try:
            if not device_count(kind):
                return {**nothing, "why": "there is none"}
            facts = get_device(kind).describe()
        except (ImportError, OSError, DeviceError) as error:
            return {**nothing, "why": f"{type(error).__name__}: {error}"}
        description = described(facts)
        software = any(words in description for words in _SOFTWARE)
        if software:
            self._software.add(kind)
        key = "" if software else _key(kind, facts)
        return {"kind": kind, "facts": description, "software": software, "key": key, "why": ""}

    def _no_hardware_beneath(self, kind: str) -> bool:
        """Whether the drivers by which that of a kind reaches devices on Linux work and have no
        hardware: it cannot have any then, and its library may take longer to load than all
        others."""
        first, *others = backend(kind).beneath or ("",)
        # Where the first ended an earlier process, it is not among the kinds of this one.
        if sys.platform != "linux" or first not in self._software:
            return False
        for each in others:
            self.look(each)
        return self._software.issuperset(others)


def _key(kind: str, facts: dict[str, object]) -> str:
    """The digest of all on which a verification depends: the device and its driver, this machine,
    gridlane's source, the packages between, and the settings."""
    package = Path(gridlane.__file__).parent
    seen = sorted((name, str(value)) for name, value in facts.items() if "memory" not in name)
    machine = platform.node(), platform.machine(), platform.release(), sys.version
    settings = repr(replace(config(), device="", trace=False))
    record = backend(kind)
    bindings = _version(record.bindings) if record.bindings else ""
    parts = repr((kind, seen, machine, settings, bindings, _version("numpy"))).encode()
    source = source_digest(package, (*COMPILER_HALF, *_RUNTIME_HALF))
    return make_key(sha256(parts).hexdigest(), source, encode(identity_of(Target(kind))))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def main() -> None:
    """Print the lines."""
    survey = Survey()
    for kind in sys.argv[1:]:
        line = survey.look(kind)
        print(json.dumps(line), flush=True)
        if line["facts"] and not line["software"]:
            return


if __name__ == "__main__":
    main()
