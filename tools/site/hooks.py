"""The site: the pages of ``docs`` and of the top folder, and pages that are made from the source. A hook of MkDocs.

``mkdocs build --strict`` builds it into ``site/``; every link is checked. The pages are written for GitHub, so they are
translated where MkDocs' Markdown differs; a link to a file of the source leads to a page that shows it.
"""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import api  # noqa: E402
import coverage_page  # noqa: E402
import links  # noqa: E402
from github import translated  # noqa: E402

log = logging.getLogger("mkdocs.hooks.wengert")
# Pages outside of docs, and where they are on the site.
OUTSIDE = {"README.md": "index.md", **{name: name.lower().replace("_", "-") for name in (
    "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY_NOTICES.md")}}
# Pages that are made by a program: a link to it leads to the page.
MADE = {"tools/site/coverage_page.py": "coverage.md", "tools/site/api.py": "api/index.md"}
# The navigation: patterns below docs; a page is where it is named first, what no pattern names comes last.
NAV = {
    "Start": ("index.md", "getting-started.md", "coming-from-pytorch.md", "examples.md"),
    "Lessons": ("lessons/README.md", "lessons/*.md", "tiny.md", "draw.md", "figures.md"),
    "Mistakes explained": ("explain.md", "field-guide.md"),
    "Reference": ("coverage.md", "operators.md", "subgradients.md", "profiler.md", "memory.md", "curvature.md",
        "cuda.md", "distributed.md", "rpc.md", "multiprocessing.md", "census.md"),
    "API": ("api/index.md", "api/torch.md", "api/torch.Tensor.md", "api/*.md"),
    "Operators": ("operators/*.md",),
    "Performance": ("performance.md", "operators_speed.md", "models_speed.md", "scale.md"),
    "Inside": ("architecture.md", "contributing.md", "changelog.md", "security.md", "third-party-notices.md", "*.md"),
}
# Sections that are shown below another.
BELOW = {"Operators": "Reference", "API": "Reference"}
EXAMPLES = "examples.md"
WORKER = "https://unpkg.com/iframe-worker/shim"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, and lay out the navigation."""
    made = {to: (ROOT / name).read_text(encoding="utf-8") for name, to in OUTSIDE.items() if (ROOT / name).exists()}
    made[EXAMPLES] = examples()
    made |= api.pages()
    made["coverage.md"] = coverage_page.page()
    for path in sorted(linked_sources(files)):
        made[source_page(path)] = source(path)
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    config.nav = navigation([file.src_uri for file in files.documentation_pages() if file.inclusion.is_included()])
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Translate a page that was written for GitHub, and its links."""
    uri = page.file.src_uri
    if uri.startswith(("api/", "source/")) or uri == "coverage.md":
        return markdown
    here = repository_path(uri)
    known = {file.src_uri for file in files}

    def target(link: str) -> str | None:
        path, hash_, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:") or not path:
            return link
        found = site_page(posixpath.normpath(posixpath.join(posixpath.dirname(here), path)))
        return None if found not in known else posixpath.relpath(found, posixpath.dirname(uri) or ".") + hash_ + anchor

    return translated(markdown, target)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same for the page of errors."""
    return output.replace(WORKER, "/assets/worker.js")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The theme loads a help for pages that are opened as files from another host; ours is here."""
    return output.replace(WORKER, posixpath.relpath("assets/worker.js", posixpath.dirname(page.url) or "."))


def on_post_build(config: Any) -> None:
    """Check every link; with ``--strict`` a dead one fails the build."""
    for problem in links.problems(Path(config.site_dir)):
        log.warning(problem)


def repository_path(uri: str) -> str:
    """Where the page ``uri`` comes from, relative to the repository."""
    outside = {to: name for name, to in OUTSIDE.items()}
    return outside.get(uri) or ("examples/README.md" if uri == EXAMPLES else f"docs/{uri}")


def site_page(path: str) -> str:
    """Where on the site is the file ``path`` of the repository."""
    if path in OUTSIDE or path in MADE:
        return (OUTSIDE | MADE)[path]
    if path.startswith("docs/") and not path.endswith(".py"):
        return path.removeprefix("docs/")
    return EXAMPLES if path == "examples" else source_page(path)


def source_page(path: str) -> str:
    return f"source/{path}.md"


def linked_sources(files: Any) -> Iterator[str]:
    """The Python files that pages link to."""
    pages = [*(ROOT / name for name in OUTSIDE), *(Path(file.abs_src_path) for file in files.documentation_pages()
        if file.abs_src_path)]
    found = {str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*.py")}
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+\.py)\b", page.read_text(encoding="utf-8") if page.exists() else ""):
            path = (page.parent / link).resolve()
            if path.is_file() and path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix() not in MADE:
                found.add(path.relative_to(ROOT).as_posix())
    yield from found


def source(path: str) -> str:
    """A page that shows a file of the source; the search leaves it out."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip("\n")
    return (f"---\nsearch:\n  exclude: true\nhide: [toc]\n---\n# {posixpath.basename(path)}\n\n`{path}`\n\n"
        f"~~~~python linenums=\"1\"\n{text}\n~~~~\n")


def examples() -> str:
    """The example programs, with their sources."""
    rows = []
    for path in sorted(ROOT.glob("examples/*.py")):
        doc = (re.search(r'"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL) or [""])[1]
        first, _, rest = doc.partition("\n")
        about = rest.strip().split("\n\n")[0].replace("\n", " ")
        rows.append(f"## {path.stem}\n\n{first} {about}\n\n[{path.name}]({path.name}), "
            f"or `wengert examples {path.stem}` for a copy.\n")
    return ("# Examples\n\nOrdinary PyTorch scripts on real data that is there already: nothing is downloaded. They "
        "print the same losses on both libraries. `wengert examples` lists them, `wengert examples NAME` copies one, "
        "`wengert run NAME.py` runs it.\n\n" + "\n".join(rows))


def navigation(pages: list[str]) -> list[Any]:
    """The tree of pages; sections without a page are left out."""
    left = sorted(pages, key=lambda uri: uri.removesuffix(".md"))
    sections: dict[str, list[Any]] = {}
    hidden = [uri for uri in left if uri.startswith("source/")]
    left = [uri for uri in left if uri not in hidden]
    for section, patterns in NAV.items():
        for pattern in patterns:
            regex = re.compile(re.escape(pattern).replace(r"\*", "[^/]*"))
            if section == "Inside" and pattern == "*.md":
                regex = re.compile(".*")
            # a pattern leaves what other sections name
            others = {p for s, ps in NAV.items() if s != section for p in ps if "*" not in p}
            chosen = [uri for uri in left if regex.fullmatch(uri) and (uri == pattern or uri not in others)]
            sections.setdefault(section, []).extend(chosen)
            left = [uri for uri in left if uri not in chosen]
    for section, above in BELOW.items():
        if sections.get(section):
            sections[above].insert(0, {section: sections[section]})
    return [{name: rows} for name, rows in sections.items() if rows and name not in BELOW]
