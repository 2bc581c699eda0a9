# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, driven over the pipe of its DevTools protocol (--remote-debugging-pipe).

Messages are JSON, each ended by a zero byte; Chromium reads them from descriptor 3 and writes to 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

DEADLINE: Final = 60.0
"""Seconds that an answer may take."""

_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
    "--no-first-run",
)


class Browser:
    """One browser with one page; ended and reaped at the end of the block."""

    def __init__(self, profile: Path, program: str = "") -> None:
        found = program or shutil.which("chromium")
        assert found, "expected chromium on the PATH; apt-get install chromium"
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._data = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [found, *_FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=lambda: _place(commands, answers),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # it has many processes
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while (answer := self._read(end)).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._data:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"expected an answer of chromium within {DEADLINE:g} s, got silence"
            data = os.read(self._answers, 1 << 20)
            assert data, "expected an answer of chromium, got its end"
            self._data += data
        line, _, self._data = self._data.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window, and the colours that the system prefers."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Load a page from a file, and wait until its data is shown."""
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        self.wait(
            "document.readyState === 'complete' && document.querySelector('#data')"
            " && !document.querySelector('#state:not(.error)')"
        )
        assert not self.run("document.getElementById('state')?.textContent"), self.run(
            "document.body.innerText"
        )

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        made = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made["exceptionDetails"]
        return made["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + DEADLINE
        while not self.run(condition):
            assert time.monotonic() < end, f"expected {condition}; {self.problems()}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until the page has been drawn."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )

    def key(self, name: str, text: str = "") -> None:
        """Press and release a key."""
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=name, code=name)

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """Send an event of the mouse: ``mousePressed``, ``mouseMoved``, ``mouseReleased``, ``mouseWheel``."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as PNG."""
        self.settle()
        made = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))

    def problems(self) -> Sequence[str]:
        """Errors on the console, and requests to anything but files."""
        found = []
        for event in self.events:
            method, what = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(what["exceptionDetails"]))
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning"):
                found.append(str(what["args"]))
            elif method == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:", "about:")):
                    found.append(f"request of {url}")
        return found


def _place(commands: int, answers: int) -> None:
    """Give the two ends their numbers, one of which the other may have now."""
    ends = [fcntl.fcntl(each, fcntl.F_DUPFD, 100) for each in (commands, answers)]
    for number, end in enumerate(ends, 3):
        os.dup2(end, number)
        os.close(end)
