"""Whether the pages of a built site link to what is there, and load nothing from elsewhere.

``python tools/site/links.py FOLDER`` prints what is wrong.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """What a page links to and loads, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value for key, value in attrs if value is not None}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.loads.append(given.get("href", ""))
        if tag in LOADED and LOADED[tag] in given:
            self.loads.append(given[LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """A line for each dead link and each thing that a page would load from another host."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for link in dict.fromkeys(page.links + page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{name} loads {link}"
                continue
            if name.name == "404.html":  # its links are relative to the root of a host
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            if not to.exists():
                yield f"{name}: no {link}"
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors | {"__top"}:
                yield f"{name}: no anchor {link}"


if __name__ == "__main__":
    wrong = list(problems(Path(sys.argv[1])))
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
