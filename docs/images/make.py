"""Makes this folder's pictures of the search page, of this documentation: python docs/images/make.py

Needs the extra test-all and Debian's chromium. Colours are few, so that the files stay small. `made-from.txt` keeps the
digest of the templates and styles that the pictures show; a test fails when those have changed since."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
DIGEST = FOLDER / "made-from.txt"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
COLOURS = 48
QUERY = "what to do when visitors find nothing"
SHOTS = {  # width, height, colours of the scheme, path, steps
    "home": (1440, 810, "light", "/", "nothing"),
    "results": (1440, 810, "light", "/", "ask"),
    "up-words": (1440, 810, "light", "/", "ask by words"),
    "why": (1440, 810, "light", "/", "ask why"),
    "search-dark": (1024, 640, "dark", "/", "type"),
    "read": (768, 900, "light", "/read/quickstart.md", "nothing"),
    "phone-dark": (390, 844, "dark", "/", "ask"),
}


def digest() -> str:
    """Return a digest of the templates and styles of the page, whatever their line ends."""
    folder = ROOT / "plugins" / "structformer_serve"
    files = [*(folder / "templates").glob("*.html"), *(folder / "static").glob("*.css")]
    texts = (f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(files))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def main() -> None:
    """Index the documentation, take the pictures, and keep the digest."""
    import structformer
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as made:
        workspace = Path(made) / "workspace"
        structformer.ingest(ROOT / "docs", workspace, format="markdown")
        structformer.index(workspace, encoders=["structure"])
        with (
            structformer.serve(workspace, port=0, title="structformer") as served,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            for name, shot in SHOTS.items():
                take(browser, served.url.rstrip("/"), FOLDER / f"{name}.png", shot)
            browser.close()
    DIGEST.write_text(f"{digest()}\n", encoding="utf-8")


def take(browser, address: str, target: Path, shot: tuple[int, int, str, str, str]) -> None:  # type: ignore[no-untyped-def]
    """Write one picture of the page."""
    from PIL import Image

    width, height, scheme, path, steps = shot
    phone = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=phone, is_mobile=phone
    )
    page = context.new_page()
    page.goto(address + path)
    if steps == "type":
        page.locator("#q").press_sequentially(QUERY)
        page.get_by_role("option").first.wait_for()
    elif steps != "nothing":
        page.locator("#q").fill(QUERY)
        page.locator("#q").press("Enter")
        page.locator(".results h2").first.wait_for()
    if steps == "ask by words":
        page.get_by_role("link", name="words alone").first.click()
        page.locator(".results h2").first.wait_for()
    elif steps == "ask why":
        page.get_by_text("Why this").first.click()
    page.wait_for_timeout(1200)  # the search on the pause, and the preview
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(target, optimize=True)
    context.close()


if __name__ == "__main__":
    main()
