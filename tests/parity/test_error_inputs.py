"""Bad input: what PyTorch's own table of operators says must be refused is refused, with its exception and its words.

Each operator of the table lists calls that are errors, the exception they raise and a pattern of its message. The
arguments are rebuilt here with the memory they share (an ``out`` that overlaps an input, say), and the same call must
fail alike.
"""

from __future__ import annotations

import os
import re
import warnings

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

from tests.exceptions import excused
from tests.parity.twins import Twin, label, ours

for place in (common_utils, core):
    # for every operator it looks through the whole stack for a unittest: there is none
    place.extract_test_fn = lambda: None

pytestmark = pytest.mark.parity

# Operators that we do not have, on purpose; every other one of the table that lists calls that are errors is tested.
ABSENT = {
    "_chunk_cat": "a kernel that PyTorch shows only to its own code, for sharded parameters",
    "jiterator_binary": "compiles for GPUs only",
    "jiterator_binary_return_by_ref": "compiles for GPUs only",
}
# Calls that cannot fail alike: (operator, number of the call) -> why.
DIFFERENT: dict[tuple[str, int], str] = {
    ("clamp_max", 0): "PyTorch accepts a number there; only its references in Python do not",
    ("clamp_min", 0): "PyTorch accepts a number there; only its references in Python do not",
    **{(f"__r{name}__", 0): "a method of a number: the short cut does not ask whose method it is"
        for name in ("add", "mul", "and", "or", "xor")},
}
# Nothing to compare: the reason holds for the arguments themselves.
NOT_EXPRESSIBLE = {
    **{("gradient", i): "the spacing is a tensor of another device" for i in (3, 10, 17)},
    **{(name, i): "arrays have at most 64 dimensions" for name in ("amax", "amin", "aminmax") for i in (1, 2)},
}


LISTED = {label(op): op for op in op_db if op.error_inputs_func is not None}
OPS = {name: op for name, op in LISTED.items() if op.name not in ABSENT}


@pytest.mark.parametrize("name", OPS)
def test_refused_alike(name: str) -> None:
    op = OPS[name]
    f = ours(op)
    assert f is not None, "absent"
    torch.manual_seed(0)
    wrong = []
    for i, error in enumerate(op.error_inputs("cpu")):
        sample = error.sample_input
        shown = f"call {i}: {sample.summary() if hasattr(sample, 'summary') else sample}"[:300]
        found = len(wrong)
        try:
            first, args, kwargs = Twin()((sample.input, sample.args, sample.kwargs))
            f(first, *args, **kwargs)
        except error.error_type as e:
            if not re.search(error.error_regex, str(e)):
                wrong.append(f"{shown}\n  says  {e}\n  not   {error.error_regex}")
        except Exception as e:
            wrong.append(f"{shown}\n  raises {type(e).__name__}: {e}\n  not    {error.error_type.__name__}: "
                f"{error.error_regex}")
        else:
            wrong.append(f"{shown}\n  is no error\n  but {error.error_type.__name__}: {error.error_regex}")
        with excused(DIFFERENT.get((name, i)) or NOT_EXPRESSIBLE.get((name, i))):
            assert len(wrong) == found, wrong.pop()
    assert not wrong, "\n".join(wrong)


def test_tables_are_of_use() -> None:
    """No reason is given for a call that does not exist."""
    for name, i in (*DIFFERENT, *NOT_EXPRESSIBLE):
        assert i < len(list(OPS[name].error_inputs("cpu"))), (name, i)
    for name in ABSENT:
        assert ours(LISTED[name]) is None, name
