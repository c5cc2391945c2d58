"""Random kernels in Python beside plain Python, for some time, on devices in turns.

    python -m tests.property.many_python SECONDS PROCESSES FIRST_SEED DEVICE[,DEVICE...]

Process n begins with the seed FIRST_SEED + 1,000,000 n. It prints each seed that was wrong, and how
many kernels each device ran.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter

Job = tuple[str, int, float]
PARTS = 4
"""Programs in a kernel that has statements of all kinds."""


def run(job: Job) -> tuple[str, int, list[str]]:
    """(device, kernels, what was wrong) of one process: kernels with numbers of all types and such
    with statements of all kinds, in turns."""
    from tests.property.python_check import check, check_statements

    from gridlane.launch import current
    from gridlane.launch.devices import get_device

    device, seed, seconds = job
    current.choose(get_device(device))
    end, count, wrong = time.monotonic() + seconds, 0, []
    while time.monotonic() < end:
        number = seed + count // 2
        try:
            if count % 2:
                check_statements(number, device, PARTS)
            else:
                check(number, device)
        except Exception as error:  # a wrong answer, a refusal, a crash: each is one
            line = str(error).partition("\n")[0]
            kind = "check_statements" if count % 2 else "check"
            wrong.append(f"{kind}, seed {number}: {type(error).__name__}: {line}")
        count += 1
    return device, count, wrong


def main() -> None:
    seconds, processes, first = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    devices = sys.argv[4].split(",")
    jobs = [(devices[n % len(devices)], first + 1_000_000 * n, seconds) for n in range(processes)]
    kernels: Counter[str] = Counter()
    mistakes: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for device, count, wrong in pool.imap_unordered(run, jobs):
            kernels[device] += count
            mistakes[device] += len(wrong)
            for line in wrong:
                print(f"{device}: {line}", flush=True)
    for device, count in kernels.items():
        print(f"{device}: {mistakes[device]} of {count} wrong")


if __name__ == "__main__":
    main()
