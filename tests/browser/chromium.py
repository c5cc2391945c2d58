"""A headless Chromium, told what to do by its DevTools protocol over two pipes.

Its WebGPU is SwiftShader's, so no GPU is needed; WGSL goes through Tint.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from typing import Any

from tests.waiting import until

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # containers and root have none
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--remote-debugging-pipe",
)
# Chromium reads commands from 3 and answers on 4, each message ended by a zero byte.
_STARTED = 'exec "$0" "$@" 3<&"$COMMANDS" 4>&"$ANSWERS"'
TIMEOUT = 120.0
"""Seconds for one command; a loaded machine takes several to start."""


def found() -> str | None:
    """Where Chromium is, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class PageError(Exception):
    """What a script of a page threw."""


class Chromium:
    """A browser with one page, for as long as this object is not closed."""

    def __init__(self, folder: Path) -> None:
        commands, self._commands = _high_pipe()
        self._answers, answers = _high_pipe()
        self._log = (folder / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            ["bash", "-c", _STARTED, found(), *FLAGS, f"--user-data-dir={folder / 'profile'}"],
            pass_fds=(commands, answers),
            env={**os.environ, "COMMANDS": str(commands), "ANSWERS": str(answers)},
            stdout=self._log,
            stderr=self._log,
        )
        os.close(commands)
        os.close(answers)
        self._left, self._number, self._session = b"", 0, ""
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.tell("Page.enable")

    def tell(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol, and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        octets = json.dumps(message).encode() + b"\0"
        while octets:
            octets = octets[os.write(self._commands, octets) :]
        answer = self._until(lambda said: said.get("id") == self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def go(self, url: str) -> None:
        """Open a page and wait until it is loaded, with its modules."""
        self.tell("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression, or of the promise that it gives, as JSON has it.

        Raises:
            PageError: with what the script threw.
        """
        found = self.tell(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            thrown = found["exceptionDetails"]
            raise PageError(thrown.get("exception", {}).get("description") or thrown["text"])
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        until(lambda: self.run(condition), TIMEOUT, facts=lambda: condition)

    def picture(self, width: int, height: int) -> bytes:
        """The page as a PNG."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **size)
        return base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        try:
            self.tell("Browser.close")
            self._process.wait(20)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._log.close()

    def _until(self, wanted: Any) -> dict[str, Any]:
        """The next message that is wanted; others are what the browser tells unasked."""
        end = time.monotonic() + TIMEOUT
        while True:
            message, found, rest = self._left.partition(b"\0")
            if found:
                self._left = rest
                said = json.loads(message)
                if wanted(said):
                    return said
                continue
            self._left += self._received(end)

    def _received(self, end: float) -> bytes:
        ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError(f"Chromium has not answered for {TIMEOUT} seconds")
        octets = os.read(self._answers, 1 << 20)
        if not octets:
            raise RuntimeError(
                f"Chromium ended; its log: {Path(self._log.name).read_text()[-2000:]}"
            )
        return octets


def _high_pipe() -> tuple[int, int]:
    """A pipe whose numbers are not those that Chromium's get."""
    low = os.pipe()
    high = fcntl(low[0], F_DUPFD, 10), fcntl(low[1], F_DUPFD, 10)
    for end in low:
        os.close(end)
    return high
