"""The forms of a report: text, JSON with its schema, SARIF, annotations."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from wengert.cli.explained import OPTIONS
from wengert.diagnose import Finding, Place, Report
from wengert.diagnose.findings import VERDICTS
from wengert.diagnose.outputs import as_json, github, sarif, terminal, wording, write
from wengert.diagnose.outputs.source import excerpt

SOURCE = """\
def forward(self, x):
    h = self.first(x).detach()
    häßlich = 1; y = self.second(
        h,
        h,
        h, h)
\treturn "漢字", y.item()
"""


@pytest.fixture
def at(tmp_path, monkeypatch):
    """A place in a file."""
    monkeypatch.setattr("wengert.diagnose.places.base", str(tmp_path))
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    path = tmp_path / "a folder" / "train.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")

    def at(line, text="", last=None):
        found = Place(str(path), line, "forward")
        if text:
            row = SOURCE.splitlines()[line - 1]
            begin = len(row[: row.index(text)].encode())
            found.span = (last or line, begin, begin + len(text.encode()) if last is None else 13)
        return found

    return at


@pytest.fixture
def report(at):
    found = Report()
    found.add(Finding("unused", at(3), "It is not used.", "Use it, or remove it.", [f"layer.{i}" for i in range(20)]))
    found.add(Finding("cut-detach", at(2, "self.first(x).detach()"), "100%, cut: here", "Remove detach().", ["w"],
        ["the first\nfact", "the second"]))
    found.add(Finding("slow-node", None, "Slow."))
    found.summary.update(steps=3, backwards=4, optimizers=1, ended="exit", loss=math.nan)
    return found


def check(value, schema):
    """What of JSON Schema ``schema-1.json`` uses."""
    known = {"type", "required", "properties", "additionalProperties", "items", "enum", "const", "minimum", "minLength",
        "pattern", "description", "title", "$schema"}
    assert set(schema) <= known
    kinds = {"object": dict, "array": list, "string": str, "integer": int}
    if "type" in schema:
        assert type(value) is kinds[schema["type"]], value
    assert "const" not in schema or value == schema["const"]
    assert "enum" not in schema or value in schema["enum"]
    assert "minimum" not in schema or value >= schema["minimum"]
    assert "minLength" not in schema or len(value) >= schema["minLength"]
    assert "pattern" not in schema or re.search(schema["pattern"], value)
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value)
        assert schema.get("additionalProperties", True) or set(value) <= set(parts)
        for key, part in parts.items():
            if key in value:
                check(value[key], part)
    if isinstance(value, list):
        for row in value:
            check(row, schema["items"])


def test_json(report, tmp_path):
    write("json", report, str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    schema = json.loads(resources.files("wengert.diagnose.outputs").joinpath("schema-1.json").read_text())
    check(found, schema)
    assert list(found) == ["schema", "findings", "summary"]
    assert found["findings"][0] == {"id": "cut-detach", "severity": "error", "file": "a folder/train.py", "line": 2,
        "parameters": ["w"], "message": "100%, cut: here", "evidence": ["the first\nfact", "the second"],
        "fix": "Remove detach()."}
    assert [f["severity"] for f in found["findings"]] == ["error", "warning", "info"]
    assert len(found["findings"][1]["parameters"]) == 20
    assert (found["findings"][2]["file"], found["findings"][2]["line"]) == ("", 0)
    assert found["summary"] == {"info": 1, "warning": 1, "error": 1, "steps": 3, "backwards": 4, "optimizers": 1,
        "ended": "exit", "loss": None}
    check(json.loads(as_json.text(Report())) | {"summary": found["summary"]}, schema)


def test_to_standard_output(report, capsys):
    write("json", report, "-")
    write("sarif", report, "-")
    out = capsys.readouterr().out
    assert out.startswith('{\n "schema": 1') and '"version": "2.1.0"' in out


def test_sarif(report, tmp_path, monkeypatch):
    write("sarif", report, str(tmp_path / "out.sarif"))
    log = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and len(log["runs"]) == 1
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(VERDICTS)
    assert all("helpUri" not in rule for rule in rules) and "field-guide.md#cut-detach" in rules[0]["help"]["text"]
    assert {rule["defaultConfiguration"]["level"] for rule in rules} == {"error", "warning", "note"}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"
    cut, unused = run["results"]
    assert [r["level"] for r in run["results"]] == ["error", "warning"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
    assert cut["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "a%20folder/train.py",
        "uriBaseId": "SRCROOT"}, "region": {"startLine": 2, "startColumn": 9, "endColumn": 31}}}]
    assert "the second" in cut["message"]["text"] and "Fix: Remove detach()." in cut["message"]["text"]
    assert len(unused["properties"]["parameters"]) == 20
    (slow,) = run["invocations"][0]["toolExecutionNotifications"]
    assert slow["associatedRule"] == {"id": "slow-node", "index": list(VERDICTS).index("slow-node")}
    assert slow["level"] == "note" and slow["message"] == {"text": "Slow."}
    assert cut["partialFingerprints"] != unused["partialFingerprints"]
    report.summary["ended"] = "exception"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "a folder"))
    run = sarif.log(report)["runs"][0]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"


def test_annotations(report):
    assert [github.annotation(f) for f in report] == [
        "::error file=a folder/train.py,line=2,title=wengert cut-detach::100%25, cut: here%0A- the first%0Afact%0A"
        "- the second%0AFix: Remove detach().",
        "::warning file=a folder/train.py,line=3,title=wengert unused::It is not used.%0AFix: Use it, or remove it.",
        "::notice title=wengert slow-node::Slow.",
    ]


def test_plain_text(report):
    assert terminal.plain(report) == """\
wengert: 1 error, 1 warning, 1 info in 4 backward passes and 3 optimizer steps

a folder/train.py:2: error: 100%, cut: here [cut-detach]
     2 | h = self.first(x).detach()
       |     ^^^^^^^^^^^^^^^^^^^^^^
    parameters: w
    - the first
fact
    - the second
    fix: Remove detach().

a folder/train.py:3: warning: It is not used. [unused]
     3 | häßlich = 1; y = self.second(
       | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    parameters: layer.0, layer.1, layer.2, layer.3, layer.4 and 15 more
    fix: Use it, or remove it.

info: Slow. [slow-node]"""
    assert all(len(row) <= 60 for row in terminal.plain(report, 60).splitlines() if not row.startswith("wengert"))
    assert wording.heading(Report()) == "wengert: no findings (there was no backward() and no optimizer step)"


@pytest.mark.parametrize(("line", "text", "last", "lines", "marked"), [
    (2, "self.first(x)", None, ["h = self.first(x).detach()"], "self.first(x)"),
    (3, "häßlich = 1", None, ["häßlich = 1; y = self.second("], "häßlich = 1"),
    (3, "self.second", 6, ["häßlich = 1; y = self.second(", "    h,", "    h, ..."], "self.second("),
    (7, "y.item()", None, ['return "漢字", y.item()'], "y.item()"),
    (7, "", None, ['return "漢字", y.item()'], 'return "漢字", y.item()'),
])
def test_excerpts(at, line, text, last, lines, marked):
    found = excerpt(at(line, text, last))
    assert found.lines == lines and lines[0][found.begin : found.end] == marked
    wide = sum(2 if c in "漢字" else 1 for c in lines[0][: found.begin])
    assert found.marks() == " " * wide + "^" * (len(marked) + 2 * ("漢" in marked))


def test_the_page(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    script, text = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", page, re.DOTALL).groups()
    (tmp_path / "train.py").write_text(script)
    known = {k: v for k, v in os.environ.items() if k not in ("GITHUB_ACTIONS", "FORCE_COLOR")}
    done = subprocess.run([sys.executable, "-m", "wengert", "run", "--explain", "train.py"], cwd=tmp_path,
        capture_output=True, text=True, timeout=120, env={**known, "OMP_NUM_THREADS": "1"})
    assert done.stderr == f"\n{text}"
    for option in re.findall(r"^  (--[\w-]+)", OPTIONS, re.MULTILINE):
        assert f"| `{option}" in page


def test_places_without_source(at):
    assert excerpt(None) is None and excerpt(Place("<stdin>", 3)) is None and excerpt(at(100)) is None
    changed = at(2)
    changed.span = (2, 500, 600)
    assert excerpt(changed).marks() == "^" * len("h = self.first(x).detach()")


def test_in_colours(report):
    pytest.importorskip("rich")
    import io

    from rich.console import Console

    from wengert.diagnose.outputs import coloured

    for width in (60, 80, 200):
        console = Console(file=io.StringIO(), width=width, color_system="truecolor", force_terminal=True,
            highlight=False)
        coloured.draw(report, console)
        text = console.file.getvalue()
        rows = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
        assert "\x1b[1;4;31m" in text and all(len(row) <= width for row in rows)
        whole = " ".join(" ".join(rows).split())
        assert "layer.4 and 15 more" in whole and "cut-detach" in whole
