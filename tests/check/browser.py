"""browser.py - a headless Chromium, driven through its debugging pipe with the standard
library alone.

    with Browser() as browser:
        page = browser.open("file:///...", width=360, dark=True)
        page.run("document.title")
        page.screenshot("build/page.png")"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 120  # for one answer, on a slow computer under load


class Missing(Exception):
    pass


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if not program:
            raise Missing("no browser: apt-get install chromium-headless-shell")
        self.profile = tempfile.mkdtemp()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        options = [
            "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
            "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-dev-shm-usage", "--no-sandbox"
        ]  # Chromium's own does not work as root and in containers

        # It reads from descriptor 3 and writes to 4. Both are copied to higher numbers
        # first, because either may be 3 or 4 itself.
        def connect():
            high = [
                fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser)
            ]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([program, *options], preexec_fn=connect,
                                        close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        """The next message: an answer or an event."""
        end = time.monotonic() + SECONDS
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [],
                                        max(0, end - time.monotonic()))
            part = os.read(self.input, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        os.write(self.output, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height=900, dark=False):
        return Page(self, url, width, height, dark)


class Page:
    def __init__(self, browser, url, width, height, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call(
            "Emulation.setEmulatedMedia", features=[{
                "name": "prefers-color-scheme", "value": "dark" if dark else "light"
            }])
        browser.events.clear()
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in browser.events):
            browser.events.append(browser.message())

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, script):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails'].get('text')}")
        return result["result"].get("value")

    def key(self, name):
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Tab": 9, "Enter": 13}[name]
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=code)

    def complaints(self):
        """What the console, the log and uncaught errors say."""
        self.run("new Promise(done => setTimeout(done, 50))")
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [e["params"] for e in self.browser.events if e.get("method") in kinds]

    def requests(self):
        """The addresses that were loaded."""
        return [
            e["params"]["request"]["url"] for e in self.browser.events
            if e.get("method") == "Network.requestWillBeSent"
        ]

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 14000),
            "scale": 1
        }
        data = self.call("Page.captureScreenshot", format="png",
                         captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as f:
            f.write(base64.b64decode(data["data"]))

    def pdf(self):
        return base64.b64decode(
            self.call("Page.printToPDF", printBackground=True)["data"])
