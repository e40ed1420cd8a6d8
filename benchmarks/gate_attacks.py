"""Attacks on the gates: what a stranger's folder may name, and what a page of another site may ask. For `--attack`.

The tests hold each rule once; here its parts are drawn and put together at random, as often as a night allows.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

from attacks import Tried, free_port, indexed, served, structformer
from structformer.corpus import Corpus

_HIDDEN = (".env", ".keys/id", "deep/.ssh/id_rsa", "built/out", "../outside/secret", "internal/plan")
_FORMS = {
    "md": ('--8<-- "@"', "{{#include @}}", '{% include "@" %}', "![[@]]", "```{include} @\n```", "[!INCLUDE [x](@)]"),
    "tex": (r"\input{@}", r"\include{@}", r"\lstinputlisting{@}", r"\import{./}{@}", r"\bibliography{@}"),
    "rst": (".. include:: @", ".. literalinclude:: @", ".. csv-table:: t\n   :file: @", ".. raw:: html\n   :file: @"),
    "adoc": ("include::@[]", "include::@[lines=1..9]", "----\ninclude::@[]\n----"),
    "org": ("#+INCLUDE: @", '#+INCLUDE: "@" src text', "#+SETUPFILE: @"),
    "xml": ('<xi:include href="@" parse="text" xmlns:xi="http://www.w3.org/2001/XInclude"/>', '<include file="@"/>'),
}
_PATHS = ("@", "./@", "x/../@", "./x/.././@", "%2e/@", "@?raw", "@#part", "file:@", "{root}/@", "\\@", "@ ")
_DOORS = (
    'cors = ["https://evil.example"]',
    'host = "0.0.0.0"',
    'host-name = ["evil.example"]',
    'tokens = "tokens.toml"',
    "rate = 0",
    'proxy = ["10.0.0.0/8"]',
    "feedback = true",
    "log-queries = true",
)


def includes(documents: Path, pages: int = 600) -> Tried:
    """Pages of six formats that take in hidden, ignored, excluded and outside files by paths written in odd ways."""
    tried, choice = Tried(), random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "docs"
        for name in _HIDDEN:
            for suffix in ("", ".md", ".txt", ".tex", ".rst", ".csv", ".xml"):
                file = (root / name).with_name((root / name).name + suffix)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("# Quokka\n\nquokkasecret, quokkasecret\n")
        (root / "x").mkdir()
        (root / ".gitignore").write_text("built/\n")
        for number in range(pages):
            suffix = choice.choice(list(_FORMS))
            path = choice.choice(_PATHS).replace("{root}", str(root))
            path = path.replace("@", choice.choice(_HIDDEN) + choice.choice(("", f".{suffix}", ".txt", ".csv")))
            form = choice.choice(_FORMS[suffix]).replace("@", path)
            text = f"<doc><p>Open.</p>{form}</doc>" if suffix == "xml" else f"Open\n\n{form}\n\nAfter it.\n"
            (root / f"p{number}.{suffix}").write_text(text)
        done = structformer("ingest", root, "-w", Path(place) / "w", "--exclude", "internal/*")
        read = {each.id: each for each in Corpus.open(Path(place) / "w").documents()}
        tried.check(done.returncode in (0, 1) and len(read) >= pages * 0.9, f"{len(read)} read: {done.stderr[-200:]}")
        for name, document in read.items():
            text = " ".join(f"{section.title} {section.text}" for section in document.sections())
            tried.check("quokkasecret" not in text, f"{name}: {(root / name).read_text()[:120]!r}")
    return tried


def askers(documents: Path, requests: int = 3000) -> Tried:
    """Requests with each mix of Fetch Metadata, origin, method and prefetch: another site's page gets no answer."""
    tried, choice = Tried(), random.Random(0)
    paths = ("/api/search?q=install&pipeline=words", "/?q=install", "/llms.txt", "/api/status", "/api/documents")
    with indexed(documents) as workspace, served(workspace) as (port, _):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(requests):
            site = choice.choice(("cross-site", "same-site", "same-origin", "none", "Cross-Site", "odd"))
            mode = choice.choice(("navigate", "no-cors", "cors", "websocket", ""))
            dest = choice.choice(("document", "iframe", "frame", "script", "image", "empty", "object", ""))
            more = choice.choice(({}, {"sec-purpose": "prefetch"}, {"purpose": "prefetch"}))
            origin = choice.choice(("", "", "null", "https://evil.example", f"http://127.0.0.1:{port + 1}"))
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest, "origin": origin, **more}
            headers = {name: value for name, value in headers.items() if value}
            connection.request(choice.choice(("GET", "GET", "HEAD")), choice.choice(paths), headers=headers)
            answer = connection.getresponse()
            answer.read()
            opens = mode == "navigate" and dest == "document" and not more
            may = not origin and (site in ("same-origin", "none") or opens)
            tried.check(answer.status == 403 or may, f"{headers}: {answer.status}")
            tried.check(answer.status != 403 or not may, f"refused {headers}")
            tried.check(answer.getheader("cross-origin-resource-policy") == "same-origin", f"policy of {headers}")
        connection.close()
    return tried


def planted(documents: Path) -> Tried:
    """Options that open doors in a file of options that is only found in the folder: none is taken, each is named."""
    tried = Tried()
    with indexed(documents) as workspace:
        for line in _DOORS:
            folder = workspace.parent / line.partition(" ")[0]
            folder.mkdir()
            (folder / "structformer.toml").write_text(f"[serve]\n{line}\n")
            (folder / "tokens.toml").write_text("")
            port, remarks = free_port(), folder / "remarks"
            command = [sys.executable, "-m", "structformer", "serve", "-w", str(workspace), "--port", str(port)]
            with remarks.open("w") as file:
                process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=file, text=True)
            address = process.stdout.readline() if process.stdout else ""
            process.kill()
            process.wait()
            said = re.search(rf"{line.partition(' ')[0]}\b.*is not taken", remarks.read_text())
            tried.check(f"127.0.0.1:{port}/" in address and said is not None, f"{line}: {remarks.read_text()[-200:]}")
    return tried


ATTACKS: dict[str, tuple[str, Callable[[Path], Tried]]] = {
    "includes": ("no page takes in a file that the walk does not open", includes),
    "askers": ("another site's page gets no answer", askers),
    "planted": ("no option that opens a door is found in a folder", planted),
}
