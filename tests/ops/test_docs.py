"""The examples in the operators' docstrings run."""

from __future__ import annotations

import doctest

import pytest

import wengert
from wengert.ops.operator import TABLE

EXAMPLES = sorted(n for n, op in TABLE.items() if ">>>" in op.doc)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    case = doctest.DocTestParser().get_doctest(TABLE[name].doc, {"torch": wengert}, name, None, 0)
    report = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(case, out=report.append)
    assert not failed, "".join(report)
