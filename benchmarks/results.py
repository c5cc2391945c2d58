"""Rows of measurements in ``benchmarks/results/``: what a run measured, when, and on what.

A script adds ``option(parser)``, calls ``add`` for each figure that it prints, and ``write`` at its
end. With ``--record`` the row goes into ``benchmarks/results/<name>.json``, in place of the row of
the same command on the same kind of hardware; ``--record FOLDER`` writes there. A file is a list of
rows. A row has

- ``command``: what repeats the run;
- ``date``: of the run, YYYY-MM-DD;
- ``hardware``: ``processor`` (its name), ``architecture`` (LLVM's name), ``cores`` and ``gpu``;
- ``driver``: the GPU's, or the software device's;
- ``versions``: of what took part, by name;
- ``commit``: of gridlane, abbreviated, with a ``+`` where the tree had changes;
- ``conditions``: what else ran on the machine;
- ``figures``: each a ``case``, ``of`` (whose time, or which way), a ``value`` and its ``unit``.

What is not known is null. The unit ``ratio`` is a time divided by that of the peer, or of the other
way: less is better, and ``pairs.py --hold`` compares it with later runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "results"
HOST_DEVICES = "cpu", "interp"
PACKAGES = "llvmlite", "numpy"

if str(ROOT) not in sys.path:  # of a script it is the script's folder
    sys.path.append(str(ROOT))

from benchmarks.timing import cores, processor_name  # noqa: E402


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that was measured."""

    case: str
    of: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a row was measured on; None is not known, or not used."""

    processor: str | None
    architecture: str | None
    cores: int | None
    gpu: str | None

    def like(self, other: Hardware) -> bool:
        """Whether figures may be compared: the same GPU, or the same kind of processor."""
        if self.gpu or other.gpu:
            return self.gpu == other.gpu
        known = None not in (self.architecture, other.architecture)
        same = not known or self.architecture == other.architecture
        return same and (self.processor, self.cores) == (other.processor, other.cores)


@dataclass(frozen=True, slots=True)
class Row:
    """A run of a benchmark."""

    command: str
    date: str | None
    hardware: Hardware
    driver: str | None
    versions: dict[str, str]
    commit: str | None
    conditions: str | None
    figures: list[Figure] = field(default_factory=list)

    def value(self, case: str, of: str, unit: str | None = None) -> float:
        """A figure of this row.

        Raises:
            KeyError: there is none.
        """
        for each in self.figures:
            if (each.case, each.of) == (case, of) and unit in (None, each.unit):
                return each.value
        raise KeyError(f"{self.command}: no figure of {case!r} by {of!r}")


_figures: list[Figure] = []


def option(parser: argparse.ArgumentParser) -> None:
    """Add ``--record`` to a script's options."""
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=FOLDER,
        metavar="FOLDER",
        help="write the figures into benchmarks/results, or into this folder",
    )


def add(case: str, of: str, value: float, unit: str) -> None:
    """Note a figure of this run, to five digits.

    Raises:
        ValueError: it is no number, or a ratio that is not above 0.
    """
    _figures.append(checked(Figure(case, of, float(f"{value:.5g}"), unit)))


def forget() -> None:
    """Begin another row."""
    _figures.clear()


def write(
    name: str, folder: Path | None, device: str = "cpu", versions: dict[str, str] | None = None
) -> None:
    """Write the row of this run, unless ``folder`` is None.

    Args:
        device: gridlane's device, whose hardware and driver the row has.
        versions: of peers.
    """
    if folder is None:
        return
    gpu, driver = (None, None) if device in HOST_DEVICES else gpu_and_driver(device)
    row = Row(
        command=command(),
        date=date.today().isoformat(),
        hardware=Hardware(*processor(), gpu),
        driver=driver,
        versions=own_versions() | (versions or {}),
        commit=commit(),
        conditions=f"load {os.getloadavg()[0]:.1f} at the end",
        figures=list(_figures),
    )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    rows = read(file) if file.exists() else []
    rows = [r for r in rows if r.command != row.command or not r.hardware.like(row.hardware)]
    new = file.with_suffix(".new")  # nothing ends half-way in the file itself
    new.write_text(dumped([*rows, row]), "utf-8")
    new.replace(file)


def read(file: Path) -> list[Row]:
    """The rows of a file.

    Raises:
        ValueError: it is no list of rows; the message has its name. A row lacks a field or has one
            more, a figure is no number or comes twice, or a ratio is not above 0.
    """
    try:
        return [_row(each) for each in _listed(json.loads(file.read_text("utf-8")), "rows")]
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _row(raw: Any) -> Row:
    values = _fields(Row, raw, "row")
    figures = [
        checked(Figure(**_fields(Figure, each, "figure")))
        for each in _listed(values["figures"], "figures")
    ]
    names = Counter((each.case, each.of, each.unit) for each in figures)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice:
        raise ValueError(f"{values['command']}: a figure comes twice: {', '.join(twice)}")
    hardware = Hardware(**_fields(Hardware, values["hardware"], "hardware"))
    return Row(**values | {"hardware": hardware, "figures": figures})


def _listed(raw: Any, what: str) -> list[Any]:
    if not isinstance(raw, list):
        raise ValueError(f"{what} are a list, not {raw!r:.60}")
    return raw


def _fields(cls: type, raw: Any, what: str) -> dict[str, Any]:
    wanted = [each.name for each in fields(cls)]
    if not isinstance(raw, dict) or sorted(raw) != sorted(wanted):
        raise ValueError(f"the fields of a {what} are {', '.join(wanted)}, not {raw!r:.200}")
    return raw


def checked(figure: Figure) -> Figure:
    """A figure that is a number.

    Raises:
        ValueError: it is none.
    """
    value, name = figure.value, f"{figure.case}, {figure.of}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is no number")
    if figure.unit == "ratio" and value <= 0:
        raise ValueError(f"{name}: a ratio of {value}")
    return figure


def dumped(rows: list[Row]) -> str:
    """The text of a file: a line for each field and each figure."""
    texts = []
    for row in rows:
        lines = [
            f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in asdict(row).items()
            if name != "figures"
        ]
        figures = ",\n".join(
            "    " + json.dumps(asdict(each), ensure_ascii=False) for each in row.figures
        )
        lines.append(f'  "figures": [\n{figures}\n  ]')
        texts.append(" {\n" + ",\n".join(lines) + "\n }")
    return "[\n" + ",\n".join(texts) + "\n]\n"


def command() -> str:
    """What repeats this run: the script with its options, without ``--record``."""
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    module = script.parent.as_posix().replace("/", ".")
    start = ["-m", module] if script.name == "__main__.py" else [script.as_posix()]
    words = [each for each in sys.argv[1:] if not each.startswith("--record=")]
    if "--record" in words:
        place = words.index("--record")
        following = words[place + 1 : place + 2]
        taken = 1 if not following or following[0].startswith("-") else 2
        del words[place : place + taken]
    return shlex.join(["python", *start, *words])


def processor() -> tuple[str, str | None, int]:
    """The processor's name, LLVM's name of its kind, and how many cores this process may use."""
    try:
        import llvmlite.binding as llvm

        kind = llvm.get_host_cpu_name()
    except ImportError:
        kind = None
    return processor_name(), kind, cores()


def gpu_and_driver(device: str) -> tuple[str | None, str | None]:
    """The name of a device other than the host, and its driver's version."""
    if device == "cuda" and shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True)
        if done.returncode == 0:
            name, _, driver = done.stdout.splitlines()[0].partition(",")
            return name.strip(), driver.strip()
    from gridlane.launch.devices import get_device

    facts: dict[str, Any] = get_device(device).describe()
    return str(facts["name"]), str(facts["driver"]) if "driver" in facts else None


def own_versions() -> dict[str, str]:
    """Of Python, and of the packages that every device needs."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def commit() -> str | None:
    """The commit of this checkout; None where git does not know it."""
    git = ["git", "-C", str(ROOT)]
    done = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    if done.returncode:
        return None
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True
    )
    return done.stdout.strip() + ("+" if changes.stdout.strip() else "")
