"""Attention layers on nested tensors: in inference, within each part."""

from __future__ import annotations

import pytest


def example(torch):
    torch.manual_seed(0)
    parts = [torch.randn(n, 4) for n in (2, 3)]
    return parts, torch.nested.nested_tensor(parts)


def test_attention_within_each_part(torch):
    parts, t = example(torch)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    with torch.no_grad():
        output, weights = layer(t, t, t)
        for p, o, w in zip(parts, output.unbind(), weights):
            wanted, of = layer(p[None], p[None], p[None])
            torch.testing.assert_close(o, wanted[0])
            torch.testing.assert_close(w[: len(p), : len(p)], of[0])
        assert weights.shape == (2, 3, 3) and (weights[0, 2] == 0).all() and (weights[0, :, 2] == 0).all()
        assert layer(t, t, t, need_weights=False)[1] is None


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_layers(torch, norm_first):
    parts, t = example(torch)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=norm_first).eval()
    with torch.no_grad():
        for p, o in zip(parts, layer(t).unbind()):
            torch.testing.assert_close(o, layer(p[None])[0])


def test_encoders(torch):
    parts, t = example(torch)
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    with torch.no_grad():
        for p, o in zip(parts, model(t).unbind()):
            torch.testing.assert_close(o, model(p[None])[0])


REFUSED = {
    "training is enabled": lambda torch, t: (torch.nn.MultiheadAttention(4, 2, batch_first=True), t, t),
    "non-self attention was used": lambda torch, t: (torch.nn.MultiheadAttention(4, 2, batch_first=True).eval(), t,
        t.clone()),
    "batch_first was not True": lambda torch, t: (torch.nn.MultiheadAttention(4, 2).eval(), t, t),
    "self.num_heads is not even": lambda torch, t: (torch.nn.MultiheadAttention(4, 1, batch_first=True).eval(), t, t),
    "add_zero_attn was enabled": lambda torch,
    t: (torch.nn.MultiheadAttention(4, 2, batch_first=True, add_zero_attn=True).eval(), t, t),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(torch, why):
    layer, a, b = REFUSED[why](torch, example(torch)[1])
    with torch.no_grad(), pytest.raises(AssertionError,
            match=f"outside of its fast path. The fast path was not hit because {why}"):
        layer(a, b, a)


def test_training_is_refused(torch):
    t = example(torch)[1]
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    with pytest.raises(AssertionError,
            match="grad is enabled and at least one of query or the input/output projection weights or biases"):
        layer(t, t, t)
