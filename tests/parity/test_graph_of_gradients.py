"""The graph of a gradient taken with ``create_graph=True``: the same nodes and edges as PyTorch's, for the operators of PyTorch's own table.

``OTHER_STEPS`` says where ours takes other steps, and why. An entry that is no longer needed fails.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import wengert
from tests.parity.test_error_inputs import ours, torch
from tests.parity.test_graph_shape import OPS, SKIPPED, Leaves, samples, shape, tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.parity

_FIRST = "its own graph is another"
_FEWER = "the same gradient in fewer or cheaper steps"
_STEPS = "the same gradient in other steps"
_STABLE = "other steps, which stay finite where PyTorch's do not"
_HISTORY = "a gradient that has no history in one of both, or cannot be had with one in PyTorch"
OTHER_STEPS: dict[str, str] = {
    **dict.fromkeys(
        ("einsum", "native_group_norm", "nn.functional.l1_loss", "nn.functional.linear_cross_entropy",
         "nn.functional.linear_cross_entropy/chunked", "nn.functional.linear_cross_entropy/chunked_none",
         "nn.functional.multi_head_attention_forward", "nn.functional.rms_norm", "nn.functional.scaled_dot_product_attention"), _FIRST),
    **dict.fromkeys(
        ("linalg.eig", "linalg.eigvals", "linalg.svd", "pca_lowrank", "svd", "svd_lowrank"), _FEWER),
    **dict.fromkeys(
        ("linalg.norm", "linalg.norm/subgradients_at_zero", "linalg.vector_norm", "nn.functional.mish", "norm"), _STABLE),
    **dict.fromkeys(
        ("linalg.det", "linalg.vander", "nn.functional.adaptive_avg_pool1d", "nn.functional.adaptive_avg_pool2d",
         "nn.functional.adaptive_avg_pool3d", "nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d",
         "nn.functional.conv_transpose3d", "nn.functional.ctc_loss", "nn.functional.interpolate/area", "nn.functional.rrelu"), _HISTORY),
    **dict.fromkeys(
        ("cholesky_inverse", "dist", "grid_sampler_2d", "grid_sampler_3d", "index_reduce/prod", "linalg.eigh",
         "linalg.householder_product", "linalg.lstsq", "linalg.lstsq/grad_oriented", "linalg.lu", "linalg.lu_factor",
         "linalg.lu_factor_ex", "linalg.lu_solve", "linalg.pinv/singular", "linalg.qr", "lu", "lu_solve", "masked.normalize",
         "matrix_exp", "nn.functional.adaptive_max_pool1d", "nn.functional.adaptive_max_pool2d", "nn.functional.adaptive_max_pool3d",
         "nn.functional.binary_cross_entropy", "nn.functional.binary_cross_entropy_with_logits", "nn.functional.cross_entropy",
         "nn.functional.grid_sample", "nn.functional.group_norm", "nn.functional.kl_div", "nn.functional.normalize",
         "nn.functional.poisson_nll_loss", "nn.functional.prelu", "nn.functional.soft_margin_loss", "ormqr", "qr", "triangular_solve"), _STEPS),
}  # fmt: skip


def gradients(library: Any, results: Any, arguments: Any) -> list[Any]:
    """Those of all results in all arguments, with their graph."""
    leaves = [t for t in tensors(arguments) if t.requires_grad]
    outs = [t for t in tensors(results) if t.grad_fn is not None and (t.is_floating_point() or t.is_complex())]
    found = library.autograd.grad(outs, leaves, [library.ones_like(t) for t in outs], create_graph=True, allow_unused=True) if outs else []
    return [t for t in found if t is not None and t.grad_fn is not None]


def compared(op: Any) -> Iterator[tuple[str, str]]:
    """For each sample: the graphs of the gradients, as texts. Samples that PyTorch does not differentiate twice are left out."""
    f = ours(op)
    if f is None:
        pytest.skip("absent")
    for sample in samples(op):
        first, args, kwargs = Leaves()((sample.input, sample.args, sample.kwargs))
        torch.manual_seed(1)
        wengert.manual_seed(1)
        try:
            theirs = gradients(torch, op(sample.input, *sample.args, **sample.kwargs), (sample.input, sample.args, sample.kwargs))
        except (RuntimeError, NotImplementedError):
            continue
        mine = gradients(wengert, f(first, *args, **kwargs), (first, args, kwargs))
        texts = []
        for row in (theirs, mine):
            seen: dict[Any, int] = {}
            texts.append("; ".join(shape(t.grad_fn, t.output_nr, seen) for t in row))
        yield texts[0], texts[1]


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.supports_gradgrad])
def test_shape(name: str) -> None:
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(compared(OPS[name]))
    wrong = [f"PyTorch  {theirs}\nwengert  {mine}" for theirs, mine in found if theirs != mine]
    if name in OTHER_STEPS:
        assert wrong, "the same now: take it out of OTHER_STEPS"
    else:
        assert not wrong, "\n".join(wrong)
