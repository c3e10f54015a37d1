"""``flex_attention``: scores changed and hidden by Python functions, against the same written out;
on both libraries.
"""

from __future__ import annotations

import importlib

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def flex(torch):
    return importlib.import_module(f"{torch.__name__}.nn.attention.flex_attention")


def inputs(torch, heads=4):
    torch.manual_seed(0)
    return torch.randn(2, 4, 7, 8), torch.randn(2, heads, 9, 8), torch.randn(2, heads, 9, 8)


def written_out(torch, q, k, v, scores=lambda s: s, scale=8**-0.5):
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    s = scores((q @ k.mT) * scale)
    return torch.nan_to_num(s.softmax(-1)) @ v, s.logsumexp(-1)


def test_plain_scaled_and_grouped(torch, flex):
    q, k, v = inputs(torch)
    assert torch.allclose(flex.flex_attention(q, k, v), written_out(torch, q, k, v)[0], atol=1e-6)
    assert torch.allclose(flex.flex_attention(q, k, v, scale=0.2), written_out(torch, q, k, v, scale=0.2)[0], atol=1e-6)
    q, k, v = inputs(torch, 2)
    assert torch.allclose(flex.flex_attention(q, k, v, enable_gqa=True), written_out(torch, q, k, v)[0], atol=1e-6)
    with pytest.raises(ValueError, match="same number of heads but got Hq=4 and Hkv=2. Try setting enable_gqa=True"):
        flex.flex_attention(q, k, v)
    assert flex.flex_attention(q.half(), k.half(), v.half(), enable_gqa=True).dtype is torch.float16


def test_changed_scores_may_look_at_tensors(torch, flex):
    q, k, v = inputs(torch)
    slope = torch.randn(4)
    away = torch.arange(7)[:, None] - torch.arange(9)
    found = flex.flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + slope[h] * (i - j))
    assert torch.allclose(found, written_out(torch, q, k, v, lambda s: s + slope[:, None, None] * away)[0], atol=1e-5)


def test_masks(torch, flex):
    q, k, v = inputs(torch)
    document = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2])
    mask = flex.create_block_mask(lambda b, h, i, j: (document[i] == document[j]) & (i > 0), 2, 4, 7, 9, device="cpu",
        BLOCK_SIZE=4)
    shown = (document[:7, None] == document) & (torch.arange(7) > 0)[:, None]
    expected, lse = written_out(torch, q, k, v, lambda s: s.masked_fill(~shown, -float("inf")))
    found, sums = flex.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert torch.allclose(found, expected, atol=1e-6) and (found[:, :, 0] == 0).all()
    assert torch.allclose(sums[..., 1:], lse[..., 1:], atol=1e-5)
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex.flex_attention(q[:, :, :5], k, v, block_mask=mask)


def test_blocks(torch, flex):
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 300, 300, device="cpu")
    assert mask.shape == (1, 1, 300, 300) and mask.BLOCK_SIZE == (128, 128) and round(mask.sparsity(), 2) == -9.23
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert (mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]]
        and mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0], [2, 0, 1]]]])
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]] and mask.kv_indices.dtype is torch.int32
    assert "sparsity=-9.23%" in str(mask) and "kv_indices=torch.Size([1, 1, 3, 3])" in repr(mask)
    twin = flex.BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks,
        mask.full_kv_indices)
    assert (twin.q_indices.tolist() == mask.q_indices.tolist() and twin.shape == (1, 1, 384, 384)
        and mask[0].shape == mask.shape)


def test_combined_masks(torch, flex):
    below, late = (lambda b, h, i, j: i >= j), (lambda b, h, i, j: j > 1)
    both = flex.create_mask(flex.and_masks(below, late), None, None, 4, 4, device="cpu")
    either = flex.create_mask(flex.or_masks(below, late), 2, None, 4, 4, device="cpu")
    i, j = torch.arange(4)[:, None], torch.arange(4)
    assert (torch.equal(both[0, 0], (i >= j) & (j > 1)) and either.shape == (2, 1, 4, 4)
        and torch.equal(either[1, 0], (i >= j) | (j > 1)))
    assert flex.create_mask(flex.noop_mask, None, None, 2, 3, device="cpu").all()
    hidden = flex.create_mask(lambda s, b, h, i, j: torch.where(i > j, s, -float("inf")), None, None, 3, 3,
        device="cpu")
    assert torch.equal(hidden[0, 0], i[:3] > j[:3])


def test_gradients():
    """PyTorch has none on a CPU."""
    import wengert as torch
    from wengert.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (t.double().requires_grad_() for t in inputs(torch))
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 7, 9)
    flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * 2, block_mask=mask).sum().backward()
    found = [t.grad.clone() for t in (q, k, v)]
    for t in (q, k, v):
        t.grad = None
    shown = torch.arange(7)[:, None] >= torch.arange(9)
    written_out(torch, q, k, v, lambda s: (s * 2).masked_fill(~shown, -float("inf")))[0].sum().backward()
    assert all(torch.allclose(a, t.grad) for a, t in zip(found, (q, k, v)))
