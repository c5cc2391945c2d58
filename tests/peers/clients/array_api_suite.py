"""Run data-apis' array-api-tests on gridlane.xp, and write what came of them:
``python -m tests.peers.clients.array_api_suite --suite DIR --out docs/array-api.md``.

``DIR`` is a checkout of data-apis/array-api-tests with its submodule. The environment
has pytest, hypothesis, ndindex and pytest-json-report. Each module has a process of its own for
each device, and a limit of time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.peers.clients.array_api_reasons import reason_of
from tests.peers.clients.pytest_runs import outcomes

_HERE = Path(__file__).parent
_TEXT = """# The array API standard

`python -m tests.peers.clients.array_api_suite --suite DIR --out docs/array-api.md` writes this
page. [data-apis' tests](https://github.com/data-apis/array-api-tests) of the standard's version
{version} run unmodified on `gridlane.xp`, at commit {commit}, with {examples} examples for each
property. The suite's own words for what it skips: {skipped}.

| device | pass | skipped | fail |
|---|--:|--:|--:|
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a test on a device. ``kind`` is pytest's word, or "ended"."""

    device: str
    module: str
    test: str
    kind: str
    reason: str


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--raw", type=Path, help="outcomes; modules that have some are not run")
    parser.add_argument("--devices", nargs="+", default=["cpu", "vulkan", "webgpu"])
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--limit", type=int, default=1200, help="seconds for a module")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("modules", nargs="*", help="such as test_dlpack; all without one")
    given = parser.parse_args()
    found = _kept(given.raw)
    ran = {(each.device, each.module) for each in found}
    files = sorted((given.suite / "array_api_tests").glob("test_*.py"))
    modules = given.modules or [each.stem for each in files]

    def add(place: tuple[str, str]) -> None:
        own = run(given.suite.absolute(), *place, given.examples, given.limit)
        counts = Counter(each.kind for each in own)
        print(*place, dict(counts), flush=True)
        found.extend(own)
        if given.raw:
            with given.raw.open("a") as out:
                lines = [[e.device, e.module, e.test, e.kind, e.reason] for e in own]
                out.writelines(json.dumps(each) + "\n" for each in lines)

    places = [(device, module) for device in given.devices for module in modules]
    with ThreadPoolExecutor(given.jobs) as threads:
        list(threads.map(add, [each for each in places if each not in ran]))
    if given.out:
        given.out.write_text(page(found, _commit(given.suite), given.examples))


def _kept(raw: Path | None) -> list[Outcome]:
    if raw is None or not raw.exists():
        return []
    return [Outcome(*json.loads(each)) for each in raw.read_text().splitlines()]


def _commit(suite: Path) -> str:
    command = ["git", "-C", str(suite), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(suite: Path, device: str, module: str, examples: int, limit: int) -> list[Outcome]:
    """What comes of a module's tests on a device."""
    path = os.pathsep.join([str(_HERE), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "gridlane.xp",
        "GRIDLANE_DEVICE": device,
        "PYTHONPATH": path,
    }
    words = ["-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider"]
    words += ["--max-examples", str(examples), "--disable-deadline"]
    command = [sys.executable, *words, f"array_api_tests/{module}.py"]
    rows, _ = outcomes(command, suite, environment, limit, module)
    return [Outcome(device, module, _short(test), kind, why) for kind, test, why in rows]


def _short(test: str) -> str:
    return test.removeprefix("array_api_tests/")


def page(outcomes: list[Outcome], commit: str, examples: int) -> str:
    """The page. A test that fails has its reason in array_api_reasons.py.

    Raises:
        KeyError: a test has none.
    """
    from gridlane import xp

    reasons = sorted({each.reason for each in outcomes if each.kind == "skipped"})
    text = _TEXT.format(
        version=xp.__array_api_version__,
        commit=commit,
        examples=examples,
        skipped=", ".join(f"`{each}`" for each in reasons) or "none",
    )
    failures: dict[tuple[str, str], list[str]] = {}
    for device in dict.fromkeys(each.device for each in outcomes):
        own = [each for each in outcomes if each.device == device]
        counts = Counter(each.kind for each in own)
        bad = [each for each in own if each.kind not in ("passed", "skipped")]
        text += f"| `{device}` | {counts['passed']} | {counts['skipped']} | {len(bad)} |\n"
        for each in bad:
            key = each.test, reason_of(each.test, device)
            failures.setdefault(key, []).append(device)
    if not failures:
        return text
    text += "\n## Failures and their reasons\n\n| test | devices | reason |\n|---|---|---|\n"
    for (test, reason), devices in sorted(failures.items()):
        text += f"| `{test}` | {', '.join(devices)} | {reason} |\n"
    return text


if __name__ == "__main__":
    main()
