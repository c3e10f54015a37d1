"""The pages of the API: one for each public module, with everything that is public and here.

What is public is what PyTorch has by that name (``names.txt``), and what the modules of our own have in ``__all__``.
What stands in a source file as it is goes to mkdocstrings; functions, methods and properties that are made from the
table of operators are written here, with a link to their rule.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import griffe
import names
from docstrings import markdown
from pymdownx.slugs import slugify

SRC = Path(__file__).resolve().parents[2] / "src"
# Modules of our own, and what of them: all that is public if nothing is said.
OURS = {
    "wengert.curvature": (), "wengert.diagnose": (), "wengert.draw": (), "wengert.tiny": (),
    "wengert.graph.interceptors": ("Interceptor", "Call", "add_field", "install"),
    "wengert.arrays.foreign": ("ForeignArray", "install"),
}
OPTIONS = """    options:
      heading_level: {level}
      show_root_heading: true
      show_root_full_path: false
"""
slug = slugify(case="lower")


def pages() -> dict[str, str]:
    """Every page by its path."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(SRC.parent / "tools"))
    importlib.import_module("operator_page")  # which imports what is loaded at first use
    found, rows = {}, []
    for module, members in places().items():
        text = page(module, members)
        found[f"api/{module}.md"] = text
        rows.append(f"| [{module}]({module}.md) | {summary(module)} | {len(members)} |")
    found["api/torch.Tensor.md"] = tensor_page()
    ours = []
    for module, members in OURS.items():
        if importlib.util.find_spec(module) is None:
            continue
        found[f"api/{module}.md"] = own_page(module, members)
        ours.append(f"| [{module}]({module}.md) | {summary(module)} |")
    found["api/index.md"] = "\n".join([
        "# API", "",
        "Everything public. The names are PyTorch's, so what PyTorch's documentation says of one holds; the "
        "pages say what it does in a line or two, and link to its gradient rule. Write `import wengert as torch`, or "
        "run a script that says `import torch` with `wengert run`. What PyTorch has and this package has not, with "
        "the reasons: [coverage](../coverage.md).", "", "## PyTorch's names", "",
        "[torch.Tensor](torch.Tensor.md): its methods and properties.", "", "| module | | names |", "|---|---|---|",
        *rows, "", "## Names of wengert", "", "| module | |", "|---|---|", *ours, ""])
    return found


def resolve(name: str) -> Any:
    """The object that a program has as ``name``; None if it is not here, or a name alone."""
    from wengert.names.absent import Absent, AbsentModule

    parts = name.split(".")[1:]
    here: Any = importlib.import_module("wengert")
    for i, part in enumerate(parts, 1):
        try:
            here = getattr(here, part)
        except AttributeError:
            try:
                here = importlib.import_module("wengert." + ".".join(parts[:i]))
            except ImportError:
                return None
        except ImportError:  # of a library that is not installed
            return None
    return None if isinstance(here, (Absent, AbsentModule)) else here


@cache
def places() -> dict[str, dict[str, Any]]:
    """The public modules with the objects whose page is theirs: each object is where its path is shortest."""
    found: dict[str, dict[str, Any]] = {}
    seen: set[int] = set()
    listed = names.stored()
    for module in sorted(listed, key=lambda name: (name.count("."), name)):
        if module == "torch.Tensor" or not isinstance(resolve(module), ModuleType):
            continue
        for name in listed[module]:
            value = resolve(f"{module}.{name}")
            if value is None or isinstance(value, ModuleType) or (callable(value) and id(value) in seen):
                continue
            if callable(value):
                seen.add(id(value))
            found.setdefault(module, {})[name] = value
    return dict(sorted(found.items()))


def summary(module: str) -> str:
    """The first sentence of a module's docstring."""
    value = importlib.import_module(module) if module.startswith("wengert") else resolve(module)
    doc = inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].replace("\n", " ").replace("|", r"\|")
    return doc.partition(". ")[0].rstrip(".:") if doc else ""


@cache
def package() -> Any:
    return griffe.load("wengert", search_paths=[str(SRC)])


def documented(value: Any) -> str | None:
    """Where the source has what ``value`` is, with a docstring, as mkdocstrings finds it; None if it was made."""
    path = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if not path.startswith("wengert.") or "<" in path:
        return None
    try:
        found = package()[path.removeprefix("wengert.")]
        if found.is_alias or found.docstring is None or str(found.filepath).endswith(".pyi"):
            return None
    except (KeyError, griffe.AliasResolutionError):
        return None
    return path


def page(module: str, members: dict[str, Any]) -> str:
    classes = {n: v for n, v in members.items() if inspect.isclass(v)}
    functions = {n: v for n, v in members.items() if callable(v) and n not in classes}
    values = {n: v for n, v in members.items() if n not in classes and n not in functions}
    lines = [f"# {module}", "", about(module), ""]
    for title, group in (("Classes", classes), ("Functions", functions)):
        if group:
            lines += [f"## {title}", ""]
            lines += [entry(module, name, value) for name, value in sorted(group.items())]
    if values:
        lines += ["## Values", "", "| name | |", "|---|---|"]
        lines += [f"| `{name}` | `{short(value)}` |" for name, value in sorted(values.items())]
    return "\n".join(lines) + "\n"


def about(module: str) -> str:
    value = importlib.import_module(module) if module.startswith("wengert") else resolve(module)
    return markdown(value.__doc__ or "")


def entry(module: str, name: str, value: Any, level: int = 3) -> str:
    """One object: by mkdocstrings, or as its signature and docstring say."""
    path = documented(value)
    if path is not None and path.rpartition(".")[2] == name:
        return f"::: {path}\n{OPTIONS.format(level=level)}"
    return written(f"{module}.{name}", name, value, level)


def written(full: str, name: str, value: Any, level: int) -> str:
    doc = markdown(inspect.getdoc(value) or "") if not inspect.isclass(value) or "__doc__" in vars(value) else ""
    lines = [f"{'#' * level} `{name}` {{ #{full} }}", ""]
    if (spelled := signature(value)) is not None:
        lines += ["``` { .python .signature }", f"{name}{spelled.replace('(self, ', '(')}", "```", ""]
    lines += [doc, ""]
    if (rule := rule_of(value)) is not None:
        lines += [rule, ""]
    return "\n".join(lines)


@cache
def made() -> dict[int, str]:
    """The operators of functions that are made from declarations."""
    from wengert.tensor.functions import FUNCTIONS

    return {id(f): name for name, f in FUNCTIONS.items()}


def operator(value: Any) -> Any:
    from wengert.ops.operator import TABLE

    name = made().get(id(value)) or getattr(value, "__name__", "")
    return TABLE.get(name.rstrip("_") if name not in TABLE else name)


def signature(value: Any) -> str | None:
    import operator_page

    if isinstance(value, property) or not callable(value):
        return None
    if id(value) in made():
        return f"({operator_page.signature(operator(value))})"
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return None
    op = operator(value)
    if text.replace("self, ", "") == "(*args, **kwargs)" and op is not None:
        text = f"({operator_page.signature(op)})"
    text = re.sub(r": 'Any'( = )?", lambda found: "=" if found[1] else "", text.replace(" -> 'Any'", ""))
    return re.sub(r"(: |-> )'([A-Za-z_][\w.\[\], |]*)'", r"\1\2", text.replace("wengert.", "torch."))


def rule_of(value: Any) -> str | None:
    """The line with the operator's place on its page."""
    import operator_page

    op = operator(value)
    if op is None:
        return None
    heading = f"{op.name}({operator_page.signature(op)})"
    return f"[Gradient rule and edges](../operators/{operator_page.family_of(op)}.md#{slug(heading, '-')})"


def tensor_page() -> str:
    """The members of ``torch.Tensor``, those that are operators by family."""
    import operator_page

    tensor = resolve("torch.Tensor")
    groups: dict[str, list[str]] = {}
    for name in names.stored()["torch.Tensor"]:
        value = inspect.getattr_static(tensor, name, None)
        if value is None:
            continue
        op = operator(value)
        plain = name.rstrip("_")
        is_one = op is not None and plain in (op.name, *getattr(op, "aliases", ()))
        family = operator_page.family_of(op) if is_one else ""
        groups.setdefault(family, []).append(name)
    lines = ["# torch.Tensor", "", markdown(tensor.__doc__ or ""), ""]
    for family in sorted(groups):
        title = f"Operators: {family}" if family else "Attributes and other methods"
        lines += [f"## {title}", ""]
        if family:
            lines += [f"[Rules](../operators/{family}.md).", ""]
        for name in groups[family]:
            value = inspect.getattr_static(tensor, name)
            lines.append(written(f"torch.Tensor.{name}", name, getattr(value, "__func__", value), 3))
    return "\n".join(lines) + "\n"


def own_page(module: str, members: tuple[str, ...]) -> str:
    value = importlib.import_module(module)
    chosen = members or tuple(getattr(value, "__all__", ())) or tuple(name for name, v in vars(value).items()
        if not name.startswith("_") and getattr(v, "__module__", None) == module)
    lines = [f"# {module}", "", about(module), ""]
    if callable(value):  # the module itself
        lines.append(written(f"{module}.call", module, type(value).__call__, 2))
    lines += [entry(module, name, getattr(value, name), 2) for name in chosen if hasattr(value, name)]
    return "\n".join(lines) + "\n"


def short(value: Any) -> str:
    text = " ".join(repr(value).replace("wengert.", "torch.").replace("|", r"\|").split())
    return text if len(text) < 60 else type(value).__name__
