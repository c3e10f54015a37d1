"""What PyTorch does not do, or does wrong, with nested tensors."""

from __future__ import annotations

import pytest

# What PyTorch 2.13 has no gradient for, has a wrong one of, or does not run at all; the same on dense parts is what is
# right.
NOT_ON_PYTORCH = {
    "test_gradcheck": ["softmax"],
    "test_operators_of_both_layouts": ["threshold-strided"],
    "test_operators_of_jagged_tensors": ["ellipsis"],
    "test_reductions_of_each_part": ["sum", "sum keepdim", "mean", "mean keepdim", "prod", "max"],
    "test_reductions_of_everything": ["prod"],
    "test_sums_of_transposed_parts": [""],
    "test_softmax_of_the_ragged_dimension": [""],
    "test_layer_norm_of_the_ragged_dimension": [""],
    "test_batched_products": ["strided"],
    "test_embeddings": ["strided"],
    "test_dense_operands_are_broadcast": ["shape5", "shape7", "shape8"],
}


def pytest_collection_modifyitems(items):
    names = {f"{name}[{'-'.join(filter(None, ('torch', case)))}]" for name, cases in NOT_ON_PYTORCH.items()
        for case in cases}
    for item in items:
        if item.name in names:
            item.add_marker(pytest.mark.xfail(reason="PyTorch does not do this, or does it wrong", strict=True))
