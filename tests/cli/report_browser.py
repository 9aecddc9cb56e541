"""report_browser.py PAGE...: opens pages of --report in Chromium, light and dark, wide and 400 px, and printed: nothing
fails, hover and keys show values, text has a contrast of 4.5, and nothing is wider than the screen. With SHOTS=DIR it
leaves pictures there."""
import base64
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

CONTRAST = """(() => {
  const parse = c => { const m = c.match(/[0-9.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const lum = c => { const f = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
                     return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const behind = e => { for (; e; e = e.parentElement) { const s = getComputedStyle(e), c = parse(s.backgroundColor);
                        if (c[3] > 0) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  let seen = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (!['SCRIPT', 'NOSCRIPT'].includes(e.tagName) && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) {
      const s = getComputedStyle(e), text = parse(e instanceof SVGElement ? s.fill : s.color);
      const [a, b] = [lum(text), lum(behind(e))].sort((x, y) => y - x);
      ++seen;
      if ((a + 0.05) / (b + 0.05) < 4.5) bad.push([e.tagName, e.textContent.slice(0, 40), (a + 0.05) / (b + 0.05)]);
    }
  }
  return {bad, seen};
})()"""


class Browser:
    """Chromium by its debugging protocol, over a WebSocket of its own."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--hide-scrollbars",
             f"--user-data-dir={folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        place = pathlib.Path(folder) / "DevToolsActivePort"
        until = time.monotonic() + 1200
        while not (place.exists() and place.read_text().count("\n")):
            assert time.monotonic() < until and self.process.poll() is None, "chromium does not start"
            time.sleep(0.05)
        port = place.read_text().split()[0]
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        path = next(t for t in targets if t["type"] == "page")["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=1200)
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.number, self.events = 0, []

    def receive(self):
        text = b""
        while True:
            first, size = self.stream.read(2)
            size &= 127
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self.stream.read(2 if size == 126 else 8))[0]
            text += self.stream.read(size)
            if first & 128:
                return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        head = bytes([129]) + (bytes([128 | len(text)]) if len(text) < 126 else bytes([254]) + struct.pack(">H", len(text)))
        self.socket.sendall(head + bytes(4) + text)
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, page):
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(page).absolute().as_uri())
        until = time.monotonic() + 1200
        while self.run("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < until
            time.sleep(0.02)

    def errors(self):
        return [e for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]


def key(browser, name):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            for domain in ("Page", "Runtime", "Log"):
                browser.call(domain + ".enable")
            for page in sys.argv[1:]:
                for scheme in ("light", "dark"):
                    for width in (1100, 400):
                        look(browser, page, scheme, width)
                print_page(browser, page)
        finally:
            browser.process.terminate()
            browser.process.wait()


def print_page(browser, page):
    """Prints on A4. Nothing that stays on one page is taller than half a page, so no page ends with a large gap."""
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.call("Emulation.setDeviceMetricsOverride", width=718, height=1046, deviceScaleFactor=1, mobile=False)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(details => details.open = true)")
    tall = browser.run("""[...document.querySelectorAll('main, main *')].filter(e => {
      const style = getComputedStyle(e);
      return e.clientHeight > 523 && (style.breakInside === 'avoid' || style.overflowX !== 'visible');
    }).map(e => [e.tagName, e.clientHeight, e.textContent.slice(0, 40)])""")
    assert not tall, (page, "it does not continue on the next page", tall)
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 5000, "it does not print"


def look(browser, page, scheme, width):
    what = (page, scheme, width)
    browser.call("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(page)
    contrast = browser.run(CONTRAST)
    assert contrast["seen"] > 10 and not contrast["bad"], (what, contrast)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), (what, "it is wider than the screen")
    charts = browser.run("document.querySelectorAll('svg').length")
    assert charts == browser.run("document.querySelectorAll('figure').length")
    for i in range(charts):
        chart = f"document.querySelectorAll('figure')[{i}]"
        browser.run(f"{chart}.querySelector('svg').scrollIntoView({{block: 'center'}})")
        box = browser.run(f"(b => [b.x, b.y, b.width, b.height])({chart}.querySelector('svg').getBoundingClientRect())")
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * 0.6, y=box[1] + box[3] / 2)
        said = browser.run(f"{chart}.querySelector('.says').textContent")
        assert " s, " in said and ": " in said, (what, "hover says", said)
        browser.run(f"{chart}.querySelector('svg').focus()")
        key(browser, "Home")
        first = browser.run(f"{chart}.querySelector('.says').textContent")
        key(browser, "End")
        last = browser.run(f"{chart}.querySelector('.says').textContent")
        # A job that fails at once has one place to show, or two in the same hundredth of a second.
        several = browser.run("time.length > 2 && time[1].toFixed(2) !== time[time.length - 1].toFixed(2)")
        assert first != last or not several, (what, "keys say", first, last)
    assert not browser.errors(), (what, browser.errors())
    if os.environ.get("SHOTS"):
        browser.run("scrollTo(0, 0)")
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        name = f"{pathlib.Path(page).stem}-{scheme}-{width}.png"
        pathlib.Path(os.environ["SHOTS"], name).write_bytes(base64.b64decode(shot))


main()
