"""torch.testing.FileCheck."""

from __future__ import annotations

import importlib

import pytest

TEXT = "one two\nthree two\nfour\nfive two six\n"


@pytest.fixture
def check(torch):
    return importlib.import_module(f"{torch.__name__}.testing").FileCheck


@pytest.mark.parametrize(
    "wishes",
    [
        "check('one').check('four')", "check_count('two', 2)", "check_count('two', 3, exactly=True)",
        "check_not('six').check('four')", "check_not('zzz')", "check('three').check_next('four')",
        "check('one').check_same('two')", "check_dag('four').check_dag('one')", "check_regex('f[io][vu][er]')",
        "check('one').check_not('three').check('two')", "check('two').check('two').check('two')",
        "check_dag('two').check_dag('four').check_not('three').check('six')",
    ],
)
def test_what_is_there(check, wishes):
    assert eval(f"FileCheck().{wishes}", {"FileCheck": check}).run(TEXT) is None


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ("check('four').check('one')", 'Expected to find "one" but did not find it'),
        ("check_count('two', 4)", 'Expected to find "two" but did not find it(.|\n)*CHECK-COUNT-4: two'),
        ("check_count('two', 2, exactly=True)", 'Expected to not find "two" but found it'),
        ("check('four').check_not('six')",
            'Expected to not find "six" but found it\n(.|\n)*five two six\n *~~~ <--- HERE\nFrom CHECK-NOT: six'),
        ("check('one').check_next('four')", "From CHECK-NEXT: four"),
        ("check('one').check_same('three')", "From CHECK-SAME: three"),
        ("check_dag('four').check_dag('zone')", "From CHECK-DAG: zone"), ("check_regex('^zz')", 'regex "\\^zz"'),
        ("check('one').check_not('four').check('five')", "From CHECK-NOT: four"),
        ("check_source_highlighted('one')", "highlighted but it is not"),
    ],
)
def test_what_is_not(check, wishes, message):
    with pytest.raises(RuntimeError, match=message):
        eval(f"FileCheck().{wishes}", {"FileCheck": check}).run(TEXT)


def test_wishes_in_a_text(check):
    check().run("# CHECK: one\n# CHECK-NOT: zz\n# CHECK: four", TEXT)
    with pytest.raises(RuntimeError, match="From CHECK-NEXT: zz"):
        check().run("# CHECK: one\n# CHECK-NEXT: zz", TEXT)
    with pytest.raises(RuntimeError, match="No checks"):
        check().run(TEXT)
