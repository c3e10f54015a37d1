"""A headless Chromium for tests, driven through the HTTP interface of chromedriver: Debian's packages are enough."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-dev-shm-usage")
KEYS = {"Tab": "\ue004", "Enter": "\ue007", " ": " ", "Home": "\ue011", "End": "\ue010", "PageDown": "\ue00f",
    "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


class Browser:
    """One window. ``run(script)`` gives what the JavaScript returns."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp()
        log = Path(self._folder, "driver.log")
        with log.open("wb") as out:
            self._driver = subprocess.Popen([DRIVER, "--port=0"], stdout=out, stderr=out,
                env={**os.environ, "HOME": self._folder})
        end = time.monotonic() + 60
        while not (found := re.search(r"started successfully on port ([1-9]\d*)", log.read_text())):
            assert time.monotonic() < end and self._driver.poll() is None, log.read_text()
            time.sleep(0.05)
        self._url = f"http://127.0.0.1:{found[1]}/session"
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        options = {"binary": CHROMIUM, "args": [*OPTIONS, f"--user-data-dir={self._folder}/profile"]}
        made = self._ask("", {"capabilities": {"alwaysMatch": {"browserName": "chrome",
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self._url += f"/{made['sessionId']}"

    def _ask(self, path: str, body: object = None, method: str | None = None):
        request = urllib.request.Request(self._url + path, None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"}, method=method)
        try:
            with self._open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None

    def close(self) -> None:
        try:
            self._ask("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait(30)
            shutil.rmtree(self._folder, ignore_errors=True)

    def show(self, path: Path, anchor: str = "") -> None:
        """Open a file, and wait until its script has run."""
        self._ask("/url", {"url": "about:blank"})
        self._ask("/url", {"url": path.as_uri() + anchor})
        assert self.run("return document.documentElement.dataset.ready") == "yes", self.log()

    def run(self, script: str, *args: object):
        return self._ask("/execute/sync", {"script": script, "args": list(args)})

    def wait(self, script: str, *args: object) -> None:
        """Wait until a script gives something true."""
        end = time.monotonic() + 10
        while not self.run(script, *args):
            assert time.monotonic() < end, script
            time.sleep(0.02)

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys, one after the other."""
        actions = [{"type": "keyDown", "value": "\ue008"}] if shift else []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        if shift:
            actions.append({"type": "keyUp", "value": "\ue008"})
        self._ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
        self._ask("/actions", method="DELETE")

    def size(self, width: int, height: int) -> None:
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=False)

    def media(self, **features: str) -> None:
        """Set media features such as ``prefers-color-scheme``."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": k.replace("_", "-"), "value": v}
            for k, v in features.items()])

    def devtools(self, command: str, **params: object):
        return self._ask("/goog/cdp/execute", {"cmd": command, "params": params})

    def screenshot(self, path: Path, **clip: float) -> None:
        """A picture of the window; with ``x``, ``y``, ``width`` and ``height`` of a part of the page."""
        more = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        path.write_bytes(base64.b64decode(self.devtools("Page.captureScreenshot", **more)["data"]))

    def log(self) -> list[str]:
        """What the page has written to its console: errors above all."""
        return [row["message"] for row in self._ask("/se/log", {"type": "browser"})]
