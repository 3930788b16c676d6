"""A headless Chromium that is spoken to over a pipe: the DevTools protocol, one JSON text after another, each ended by a
zero byte."""

import base64
import fcntl
import json
import os
import shutil
import subprocess

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")


class Chromium:
    """One page. `flags` are more of the command line."""

    def __init__(self, folder, *flags):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if program is None:
            raise FileNotFoundError("chromium-headless-shell")
        (self._in, to_browser), (from_browser, self._out) = os.pipe(), os.pipe()
        self._write, self._read = os.fdopen(to_browser, "wb", 0), os.fdopen(from_browser, "rb")

        def place_pipes():
            # Above both goals first, so that neither overwrites the other.
            for end, goal in [(fcntl.fcntl(end, fcntl.F_DUPFD, 10), goal) for end, goal in ((self._in, 3), (self._out, 4))]:
                os.dup2(end, goal)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--remote-debugging-pipe", "--hide-scrollbars",
             f"--user-data-dir={folder}", "--enable-unsafe-swiftshader", *flags, "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(self._in)
        os.close(self._out)
        self._count, self._session, self.problems = 0, None, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _next(self):
        text = bytearray()
        while (byte := self._read.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has gone")
            text += byte
        message = json.loads(text)
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            if not params["request"]["url"].startswith(("file:", "data:", "about:")):
                self.problems.append("asks for " + params["request"]["url"])
        return message

    def call(self, method, **params):
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._count:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path):
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def run(self, script):
        """The value of an expression, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def frames(self, count=2):
        self.run(f"new Promise(done => {{let n = {count}; const f = () => n-- ? requestAnimationFrame(f) : done(); f();}})")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      **(text if kind == "keyDown" else {}))

    def mouse(self, kind, x, y, held=True):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(held), clickCount=1)

    def screenshot(self, path, whole=True):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def print(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError, ValueError):
            pass
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

