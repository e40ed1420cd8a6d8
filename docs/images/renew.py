"""Makes this folder's pictures of the page again, at four widths, of any workspace that is indexed.

    python docs/images/renew.py WORKSPACE --query "how to upload files" --read tutorial/request-files.md

Needs the extra test-all and Debian's chromium. Colours are few, so that the files stay small."""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

import structformer
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
COLOURS = 48
SHOTS = {  # width, height, colours of the scheme, what is shown
    "home": (1440, 810, "light", "home"),
    "results": (1440, 810, "light", "results"),
    "search-dark": (1024, 640, "dark", "typed"),
    "read": (768, 900, "light", "read"),
    "phone-dark": (390, 844, "dark", "results"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workspace", type=Path)
    options.add_argument("--query", required=True, help="what is searched for")
    options.add_argument("--read", required=True, help="the id of the document that is read")
    options.add_argument("--output", type=Path, default=Path(__file__).parent)
    chosen = options.parse_args()
    with structformer.serve(chosen.workspace, port=0) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, shot in SHOTS.items():
            picture = taken(browser, served.url, shot, chosen.query, chosen.read)
            picture.save(chosen.output / f"{name}.png", optimize=True)
        browser.close()


def taken(browser: Browser, address: str, shot: tuple[int, int, str, str], query: str, read: str) -> Image.Image:
    """A picture of the page."""
    width, height, scheme, shows = shot
    phone = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=phone,
        is_mobile=phone,
    )
    page = context.new_page()
    show(page, address.rstrip("/"), shows, query, read)
    picture = Image.open(io.BytesIO(page.screenshot()))
    context.close()
    return picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def show(page: Page, address: str, shows: str, query: str, read: str) -> None:
    """Go where a picture is taken."""
    paths = {"home": "/", "typed": "/", "read": f"/read/{read}"}
    page.goto(f"{address}{paths.get(shows, '/')}")
    if shows == "results":
        page.locator("#q").fill(query)
        page.locator("#q").press("Enter")
        page.locator(".results h2").first.wait_for()
    elif shows == "typed":
        page.locator("#q").press_sequentially(query)
        page.get_by_role("option").first.wait_for()
    page.wait_for_timeout(800)  # the search on the pause


if __name__ == "__main__":
    main()
