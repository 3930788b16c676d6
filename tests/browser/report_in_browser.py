"""report_in_browser.py --work=DIR (--interlacer=FILE --model=DIR | --page=FILE) [--pictures]

An episode is simulated and predicted, and headless Chromium opens the page from disk: its policy lets the script run, the
view is not blank, keys, mouse, steps and layers change it, with WebGL and without, and nothing is fetched. Without a
script its text stands there. Prints the frame rate of dragging. --pictures also writes pictures of the page, light, dark
and printed. Exit code 77: there is no Chromium.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from chromium import Chromium

VIEW_SCRIPT = """(() => {
  const canvas = document.querySelector('.scene-canvas'), copy = document.createElement('canvas');
  copy.width = canvas.width; copy.height = canvas.height;
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
  let drawn = 0, sum = 0;
  const colors = new Set();
  pixels.forEach((pixel, i) => {
    if (pixel >>> 24 < 128) return;
    ++drawn;
    colors.add(pixel);
    sum = (Math.imul(sum, 31) + pixel + i) | 0;
  });
  return {share: drawn / pixels.length, colors: colors.size, sum};
})()"""
LEAST_SHARE, LEAST_COLORS, MOST_BYTES = 0.05, 100, 4_000_000


def expect(is_so, what):
    if not is_so:
        raise SystemExit("failed: " + what)


def view(browser):
    browser.frames(3)
    return browser.run(VIEW_SCRIPT)


def check_changes(browser, what, change):
    before = view(browser)["sum"]
    change()
    expect(view(browser)["sum"] != before, what + " changes the view")


def middle(browser):
    browser.run("document.querySelector('.scene-canvas').scrollIntoView({block: 'center'})")
    box = browser.run("(({left, top, width, height}) => [left + width / 2, top + height / 2])"
                      "(document.querySelector('.scene-canvas').getBoundingClientRect())")
    return box


def drag(browser, seconds):
    """Frames a second that the page draws while the mouse moves as fast as the browser takes it."""
    x, y = middle(browser)
    browser.mouse("mousePressed", x, y)
    browser.run("(() => {window.drawn = 0; const f = () => {++window.drawn; requestAnimationFrame(f);};"
                " requestAnimationFrame(f);})()")
    start = time.monotonic()
    moves = 0
    while time.monotonic() - start < seconds:
        moves += 1
        browser.mouse("mouseMoved", x + moves % 200, y + moves % 50)
    rate = browser.run("window.drawn") / (time.monotonic() - start)
    browser.mouse("mouseReleased", x, y, held=False)
    return rate


def check_view(browser, page, has_webgl):
    browser.size(1280, 900)
    browser.open(page)
    expect(not browser.problems, "; ".join(browser.problems))
    kind = browser.run("document.querySelector('.scene-canvas').getContext('webgl') ? 'webgl' : '2d'")
    expect(kind == ("webgl" if has_webgl else "2d"), f"drawn by {'webgl' if has_webgl else '2d'}, got {kind}")
    seen = view(browser)
    expect(seen["share"] > LEAST_SHARE and seen["colors"] > LEAST_COLORS, f"{kind} is not blank: {seen}")
    x, y = middle(browser)

    def pull():
        browser.mouse("mousePressed", x, y)
        browser.mouse("mouseMoved", x + 60, y + 10)
        browser.mouse("mouseReleased", x + 60, y + 10, held=False)

    check_changes(browser, "dragging", pull)
    browser.run("document.querySelector('.scene-canvas').focus()")
    for key in ("ArrowLeft", "ArrowUp", "+", "-", "Home"):
        check_changes(browser, key, lambda: browser.key(key))
    check_changes(browser, "Shift and an arrow", lambda: browser.key("ArrowLeft", 8))
    check_changes(browser, "a step", lambda: browser.run(
        "(s => {s.value = s.max; s.dispatchEvent(new Event('input'));})(document.querySelector('.scene-step'))"))
    expect("step" in browser.run("document.querySelector('.scene-now').textContent"), "the step is named")
    names = browser.run("[...document.querySelectorAll('.scene-layers label')].map(label => label.textContent)")
    expect(names == ["prediction", "truth", "kinematic", "robot as commanded", "cameras"], f"layers, got {names}")
    for i, name in enumerate(names):
        check_changes(browser, name, lambda: browser.run(
            f"document.querySelectorAll('.scene-layers input')[{i}].click()"))
    browser.run("document.querySelectorAll('.scene-layers input')[0].click()")
    browser.run("document.querySelector('.scene-canvas').focus()")
    browser.key(" ")
    expect(browser.run("document.querySelector('.scene-play').textContent") == "Pause", "Space plays")
    browser.key(" ")
    rate = drag(browser, 4)
    expect(not browser.problems, "; ".join(browser.problems))
    print(f"{kind}: {100 * seen['share']:.0f} % of the view drawn, {rate:.0f} frames/s while dragging", flush=True)


def take_pictures(browser, page, folder):
    for name, is_dark in (("light", False), ("dark", True)):
        browser.dark(is_dark)
        browser.size(1280, 900)
        browser.open(page)
        browser.run("document.querySelectorAll('.scene-layers input')[3].click()")
        browser.frames(3)
        browser.screenshot(folder / f"{name}.png")
    browser.print(folder / "printed.pdf")


def check_without_script(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    text = browser.run("document.querySelector('noscript').innerText")
    expect("needs JavaScript" in text, f"the text without a script, got {text!r}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--work", required=True, type=Path)
    for name in ("interlacer", "model", "page"):
        parser.add_argument("--" + name, type=Path)
    parser.add_argument("--pictures", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    page = options.page
    try:
        browser = Chromium(options.work / "profile", "--use-angle=swiftshader")
    except FileNotFoundError as error:
        print(f"skipped: no {error}; scripts/setup installs it")
        return 77
    try:
        if page is None:
            subprocess.run([options.interlacer, "simulate", "--task", "push_block", "--split", "test", "--episodes", "1",
                            "--seed", "424246", "--output", options.work / "sim", "--quiet"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([options.interlacer, "predict", options.work / "sim/push_block_test_424246", "--model",
                            options.model, "--start-step", "4", "--steps", "4", "--report", "--output",
                            options.work / "prediction", "--quiet"], check=True, stdout=subprocess.DEVNULL)
            page = options.work / "prediction/report.html"
        size = page.stat().st_size
        print(f"{size / 1e6:.2f} MB of page", flush=True)
        expect(size <= MOST_BYTES, f"at most {MOST_BYTES} bytes")
        check_view(browser, page, has_webgl=True)
        check_without_script(browser, page)
        if options.pictures:
            take_pictures(browser, page, options.work)
    finally:
        browser.close()
    browser = Chromium(options.work / "flat", "--disable-3d-apis")
    try:
        check_view(browser, page, has_webgl=False)
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
