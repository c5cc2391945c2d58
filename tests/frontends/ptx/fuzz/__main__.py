"""``make fuzz-ptx``: random PTX until the time is over; see docs/ptx-instructions.md.

    python -m tests.frontends.ptx.fuzz [--minutes M] [--seed N] [--case KIND:N] [--out DIR]

Cases run in a process whose memory is limited, and which ends with a case that takes too long. The
text of each finding is written to DIR. The status is 1 where there is one.
"""

from __future__ import annotations

import argparse
import datetime
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

MEMORY = 6 << 30
"""Bytes of address space of the process that runs cases."""
CASE_S = 600.0
"""What a case may take, with its compilation."""
KINDS = ("program", "units", "units-change", "change", "change", "change")
"""In turn."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--case", help="run this one alone, as program:17")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz-ptx"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve()
    if args.case:
        print(run(args.case))
        return 0
    return fuzz(args.minutes, args.seed, args.out)


# --- the process that runs cases


def text_of(case: str) -> str:
    """The PTX of a case."""
    from tests.frontends.ptx.fuzz import changes, programs

    kind, seed = case.split(":")
    if kind.startswith("units"):
        return "\n// the next unit\n".join(units_of(kind, int(seed)))
    if kind == "program":
        return programs.program(int(seed)).text
    texts = [changes.KERNEL.read_text()]
    texts += [programs.program(int(seed) * 7 + n).text for n in range(3)]
    return changes.changed(int(seed), texts)


def units_of(kind: str, seed: int) -> list[str]:
    """The units of a case; one of them is changed where the kind says so."""
    from tests.frontends.ptx.fuzz import changes, units

    texts = units.units(seed).texts
    if kind == "units-change":
        texts[seed % len(texts)] = changes.changed(seed, [texts[seed % len(texts)]])
    return texts


def run(case: str) -> str:
    """Run a case; what came of it.

    Raises:
        Finding: what must not be.
    """
    from tests.frontends.ptx.fuzz import cases, programs, units

    kind, seed = case.split(":")
    if kind == "program":
        return cases.run_program(programs.program(int(seed)))
    if kind == "units":
        return cases.run_units(units.units(int(seed)))
    if kind == "units-change":
        return cases.run_changed_units(units_of(kind, int(seed)))
    return cases.run_text(text_of(case))


def serve() -> int:
    """Run the cases that come in lines, and answer each in a line."""
    from tests.frontends.ptx.fuzz.cases import Finding

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        try:
            told = run(line.strip())
        except Finding as finding:
            told = f"FINDING {str(finding)!r}"
        print(told, flush=True)
    return 0


# --- the process that chooses cases


class Server:
    """A process that runs cases."""

    def __init__(self) -> None:
        env = {**os.environ, "GRIDLANE_CACHE": "0", "GRIDLANE_DEVICE": "cpu"}
        command = [sys.executable, "-m", "tests.frontends.ptx.fuzz", "--serve"]
        pipe = subprocess.PIPE
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True, env=env
        )

    def run(self, case: str) -> str:
        """What came of a case; ends the process if that takes too long."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], CASE_S)[0]:
            self.process.kill()
            self.process.wait()
            return f"FINDING 'no end within {CASE_S:.0f} s'"
        told = self.process.stdout.readline().strip()
        if not told:
            status = self.process.wait()
            self.errors.seek(0)
            return (
                f"FINDING 'the process ended with status {status}: {self.errors.read()[-300:]!r}'"
            )
        return told

    def is_running(self) -> bool:
        """Whether it takes more cases."""
        return self.process.poll() is None

    def close(self) -> None:
        """End it."""
        if self.is_running():
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()


def fuzz(minutes: float, seed: int, out: Path) -> int:
    """Run cases until the time is over; report."""
    print(f"{datetime.date.today()}, seed {seed}, {minutes:g} minutes", flush=True)
    end = time.monotonic() + 60 * minutes
    counts: Counter[str] = Counter()
    findings = number = 0
    server = Server()
    while time.monotonic() < end:
        kind = KINDS[number % len(KINDS)]
        case = f"{kind}:{seed * 1_000_000 + number}"
        number += 1
        told = server.run(case)
        if told.startswith("FINDING"):
            findings += 1
            _report(case, told, out)
            told = "FINDING"
        counts[f"{kind}: {told}"] += 1
        if not server.is_running():
            server = Server()
    server.close()
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(f"{number} cases, {findings} findings")
    return 1 if findings else 0


def _report(case: str, told: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{case.replace(':', '-')}.ptx"
    path.write_text(f"{text_of(case)}\n// {told}\n")
    print(f"{case}: {told}\n  again: python -m tests.frontends.ptx.fuzz --case {case}; {path}")


if __name__ == "__main__":
    sys.exit(main())
