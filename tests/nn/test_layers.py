"""What layers promise beyond the function that they apply: settings, state, modes, refusals."""

from __future__ import annotations

import copy
import pickle

import pytest

import wengert as torch
from wengert import nn


def close(a, b, atol=1e-5):
    return a.shape == b.shape and torch.allclose(a, b, atol=atol)


class TestNormalization:
    def test_running_statistics(self):
        torch.manual_seed(0)
        m = nn.BatchNorm1d(3, momentum=0.5)
        x = torch.randn(8, 3) * 2 + 1
        m(x)
        assert close(m.running_mean, 0.5 * x.mean(0)) and close(m.running_var, 0.5 + 0.5 * x.var(0))
        assert m.num_batches_tracked.item() == 1
        before = m.running_mean.clone()
        m.eval()(x + 5)
        assert torch.equal(m.running_mean, before) and m.num_batches_tracked.item() == 1
        m.reset_running_stats()
        assert not m.running_mean.any() and m.num_batches_tracked.item() == 0

    def test_momentum_none_is_the_plain_average(self):
        m = nn.BatchNorm1d(2, momentum=None)
        a, b = torch.ones(4, 2) * torch.arange(4.0)[:, None], torch.ones(4, 2) * 7
        m(a)
        m(b)
        assert close(m.running_mean, (a.mean(0) + b.mean(0)) / 2)

    def test_without_statistics_the_batch_is_used(self):
        m = nn.BatchNorm1d(2, track_running_stats=False).eval()
        y = m(torch.arange(8.0).reshape(4, 2))
        assert m.running_mean is None and abs(y.mean().item()) < 1e-6

    def test_wrong_dimensions(self):
        for module, shape, text in (
            (nn.BatchNorm1d(2), (2,), "expected 2D or 3D input .got 1D input"),
            (nn.BatchNorm2d(2), (2, 2), "expected 4D input .got 2D input"),
            (nn.BatchNorm3d(2), (2, 2), "expected 5D input .got 2D input"),
            (nn.InstanceNorm2d(2), (2, 2), "expected 3D or 4D input .got 2D input"),
            (nn.SyncBatchNorm(2), (2,), "expected at least 2D input .got 1D input"),
        ):
            with pytest.raises(ValueError, match=text):
                module(torch.zeros(shape))
        with pytest.raises(ValueError, match=r"num_channels \(4\) must be divisible by num_groups \(3\)"):
            nn.GroupNorm(3, 4)

    def test_instance_norm_and_channels(self):
        with pytest.raises(ValueError, match=r"expected input's size at dim=1 to match num_features \(3\), but got: 2"):
            nn.InstanceNorm1d(3, affine=True)(torch.zeros(1, 2, 4))
        with pytest.warns(UserWarning, match="does not match num_features"):
            nn.InstanceNorm1d(3)(torch.rand(1, 2, 4))
        m = nn.InstanceNorm1d(2)
        x = torch.rand(2, 4)
        assert close(m(x), m(x.unsqueeze(0)).squeeze(0))

    def test_affine_and_bias(self):
        for m in (nn.BatchNorm1d(2, bias=False), nn.LayerNorm(2, bias=False), nn.GroupNorm(1, 2, bias=False)):
            assert m.weight is not None and m.bias is None and list(m._parameters) == ["weight", "bias"]
        for m in (nn.BatchNorm1d(2, affine=False), nn.LayerNorm(2, elementwise_affine=False)):
            assert list(m.parameters()) == []

    def test_convert_to_synchronized(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        weight = net[1].weight
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        assert type(net[1]) is nn.SyncBatchNorm and net[1].weight is weight
        x = torch.rand(4, 2)
        assert net(x).shape == (4, 3)

    def test_cross_map_lrn(self):
        x = torch.rand(1, 6, 1, 1)
        m = nn.CrossMapLRN2d(3, alpha=2.0, beta=0.5, k=1.0)
        squares = (x * x).flatten()
        sums = [squares[max(c - 1, 0) : c + 2].sum() for c in range(6)]
        want = torch.stack([x.flatten()[c] / (1 + 2.0 / 3 * sums[c]).sqrt() for c in range(6)])
        assert close(m(x).flatten(), want)
        with pytest.raises(ValueError, match="Expected input to be 4D, got 2D instead"):
            m(torch.zeros(2, 2))


class TestConvolutions:
    @pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
    def test_padding_modes(self, mode):
        torch.manual_seed(0)
        m = nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
        x = torch.rand(1, 2, 5, 6)
        want = nn.functional.conv2d(nn.functional.pad(x, (2, 2, 1, 1), mode=mode), m.weight, m.bias)
        assert close(m(x), want)

    def test_same_padding(self):
        m = nn.Conv1d(1, 1, 4, padding="same", dilation=2)
        assert m(torch.rand(1, 1, 9)).shape == (1, 1, 9)
        assert "padding=same" in repr(m)
        circular = nn.Conv1d(1, 1, 4, padding="same", padding_mode="circular")
        assert list(circular._reversed_padding_repeated_twice) == [1, 2]
        assert circular(torch.rand(1, 1, 9)).shape == (1, 1, 9)

    def test_output_size(self):
        m = nn.ConvTranspose1d(1, 1, 3, stride=2)
        x = torch.rand(1, 1, 4)
        assert m(x).shape[-1] == 9 and m(x, output_size=[10]).shape[-1] == 10
        assert m(x, output_size=(1, 1, 10)).shape[-1] == 10
        with pytest.raises(
            ValueError, match=r"requested an output size of \[11\], but valid sizes range from \[9\] to \[10\]"
        ):
            m(x, output_size=[11])
        with pytest.raises(ValueError, match=r"output_size must have 1 or 3 elements \(got 2\)"):
            m(x, output_size=[1, 10])

    def test_refusals(self):
        for arguments, text in (
            (dict(groups=0), "groups must be a positive integer"),
            (dict(groups=3), "in_channels must be divisible by groups"),
            (dict(padding="odd"), "Invalid padding string 'odd'"),
            (dict(padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
            (dict(padding_mode="odd"), "padding_mode must be one of"),
        ):
            with pytest.raises(ValueError, match=text):
                nn.Conv1d(4, 4, 3, **arguments)
        with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for ConvTranspose1d'):
            nn.ConvTranspose1d(1, 1, 1, padding_mode="circular")


class TestEmbeddings:
    def test_padding_row(self):
        m = nn.Embedding(5, 3, padding_idx=-1)
        assert m.padding_idx == 4 and not m.weight[4].any()
        m(torch.tensor([4, 1])).sum().backward()
        assert not m.weight.grad[4].any() and m.weight.grad[1].all()
        with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
            nn.Embedding(5, 3, padding_idx=5)

    def test_from_pretrained(self):
        table = torch.rand(4, 2)
        m = nn.Embedding.from_pretrained(table)
        assert not m.weight.requires_grad and torch.equal(m(torch.tensor(2)), table[2])
        assert nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="sum").weight.requires_grad
        with pytest.raises(AssertionError, match="expected to be 2-dimensional"):
            nn.Embedding.from_pretrained(torch.rand(3))
        with pytest.raises(AssertionError, match="Shape of weight does not match"):
            nn.Embedding(3, 2, _weight=table)


class TestRecurrence:
    def cells(self, kind, m, suffix=""):
        cell = getattr(nn, f"{kind}Cell")(m.input_size, m.hidden_size)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).data = getattr(m, f"{name}_l0{suffix}").data
        return cell

    @pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
    def test_a_layer_is_its_cell_step_by_step(self, kind):
        torch.manual_seed(0)
        m = getattr(nn, kind)(3, 4, bidirectional=True)
        x = torch.rand(5, 2, 3)
        output, last = m(x)
        for direction, suffix in enumerate(("", "_reverse")):
            cell, state, outputs = self.cells(kind, m, suffix), None, []
            for step in reversed(range(5)) if direction else range(5):
                state = cell(x[step], state)
                outputs.append(state[0] if kind == "LSTM" else state)
            outputs = outputs[::-1] if direction else outputs
            assert close(output[..., 4 * direction : 4 * direction + 4], torch.stack(outputs))
            h = (last[0] if kind == "LSTM" else last)[direction]
            assert close(h, outputs[0] if direction else outputs[-1])

    @pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
    @pytest.mark.parametrize("arguments", [dict(), dict(num_layers=2, bidirectional=True), dict(bias=False)])
    def test_packed_is_each_sequence_alone(self, kind, arguments):
        torch.manual_seed(0)
        m = getattr(nn, kind)(3, 4, **arguments)
        parts = [torch.rand(n, 3) for n in (2, 5, 1, 5)]
        packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
        output, last = m(packed)
        for i, (part, rows) in enumerate(zip(parts, nn.utils.rnn.unpack_sequence(output), strict=True)):
            alone, alone_last = m(part)
            assert close(rows, alone)
            if kind == "LSTM":
                assert close(last[0][:, i], alone_last[0]) and close(last[1][:, i], alone_last[1])
            else:
                assert close(last[:, i], alone_last)

    def test_forms_of_input(self):
        torch.manual_seed(0)
        m = nn.LSTM(3, 4, proj_size=2)
        x = torch.rand(5, 2, 3)
        output, (h, c) = m(x)
        assert output.shape == (5, 2, 2) and h.shape == (1, 2, 2) and c.shape == (1, 2, 4)
        first = copy.deepcopy(m)
        first.batch_first = True
        assert close(first(x.transpose(0, 1))[0].transpose(0, 1), output)
        alone, (h1, _) = m(x[:, 1])
        assert close(alone, output[:, 1]) and close(h1, h[:, 1])
        again, _ = m(x[3:], tuple(s.detach() for s in m(x[:3])[1]))
        assert close(again, output[3:])

    def test_dropout_between_layers(self):
        torch.manual_seed(0)
        m = nn.GRU(3, 4, num_layers=2, dropout=0.5)
        x = torch.rand(6, 2, 3)
        assert not torch.equal(m(x)[0], m(x)[0])
        m.eval()
        assert torch.equal(m(x)[0], m(x)[0])
        with pytest.warns(UserWarning, match="dropout option adds dropout after all but last recurrent layer"):
            nn.GRU(3, 4, dropout=0.5)

    def test_weights(self):
        m = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
        assert len(m.all_weights) == 4 and len(m._flat_weights) == 20
        assert m.weight_ih_l1_reverse.shape == (16, 4) and m.weight_hr_l0.shape == (2, 4)
        assert m.flatten_parameters() is None
        twin = pickle.loads(pickle.dumps(m))
        x = torch.rand(2, 1, 3)
        assert torch.equal(twin(x)[0], m(x)[0])

    def test_refusals(self):
        for make, error, text in (
            (lambda: nn.RNN(3, 4, nonlinearity="sin"), ValueError, "Unknown nonlinearity 'sin'"),
            (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "proj_size argument is only supported for LSTM"),
            (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
            (lambda: nn.GRU(3.0, 4), TypeError, "input_size should be of type int, got: float"),
            (lambda: nn.GRU(3, 0), ValueError, "hidden_size must be greater than zero"),
            (lambda: nn.GRU(3, 4, 0), ValueError, "num_layers must be greater than zero"),
            (lambda: nn.GRU(3, 4, dropout=2), ValueError, "dropout should be a number in range"),
            (lambda: nn.GRU(3, 4, bias=1), TypeError, "bias should be of type bool, got: int"),
            (lambda: nn.RNNBase("odd", 3, 4), ValueError, "Unrecognized RNN mode: odd"),
            (
                lambda: nn.GRU(3, 4)(torch.zeros(2, 2, 5)),
                RuntimeError,
                r"must be equal to input_size. Expected 3, got 5",
            ),
            (lambda: nn.GRU(3, 4)(torch.zeros(3)), ValueError, "GRU: Expected input to be 2D or 3D, got 1D"),
            (
                lambda: nn.GRU(3, 4)(torch.zeros(2, 2, 3), torch.zeros(1, 3, 4)),
                RuntimeError,
                r"Expected hidden size \(1, 2, 4\), got \[1, 3, 4\]",
            ),
            (
                lambda: nn.LSTM(3, 4)(torch.zeros(2, 2, 3), (torch.zeros(1, 2, 4), torch.zeros(1, 2, 5))),
                RuntimeError,
                r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 2, 5\]",
            ),
            (
                lambda: nn.GRU(3, 4)(torch.zeros(2, 3), torch.zeros(1, 2, 4)),
                RuntimeError,
                "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor",
            ),
            (
                lambda: nn.GRU(3, 4)(torch.zeros(2, 2, 3).double()),
                ValueError,
                "RNN input dtype .torch.float64. does not",
            ),
            (
                lambda: nn.GRUCell(3, 4)(torch.zeros(2, 2, 2)),
                ValueError,
                "GRUCell: Expected input to be 1D or 2D, got 3D",
            ),
            (lambda: nn.RNNCell(3, 4, nonlinearity="sin")(torch.zeros(3)), RuntimeError, "Unknown nonlinearity: sin"),
        ):
            with pytest.raises(error, match=text):
                make()


class TestLazy:
    def test_becomes_the_ordinary_module(self):
        m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        assert repr(m[3]) == "LazyLinear(in_features=0, out_features=2, bias=True)"
        assert isinstance(m[0].weight, nn.UninitializedParameter) and m[0].has_uninitialized_params()
        y = m(torch.rand(2, 3, 5, 5))
        assert y.shape == (2, 2) and [type(x).__name__ for x in m] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
        assert m[3].in_features == 36 and type(m[3].weight) is nn.Parameter and not m[3]._forward_pre_hooks
        y.sum().backward()
        assert m[0].weight.grad.shape == (4, 3, 3, 3)

    def test_parameters_keep_their_identity(self):
        m = nn.LazyLinear(2)
        weight = m.weight
        m(torch.rand(1, 3))
        assert m.weight is weight

    def test_shape_is_not_known(self):
        m = nn.LazyLinear(2)
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
            m.weight.shape
        assert repr(m.weight) == "<UninitializedParameter>"

    def test_loading(self):
        source = nn.Linear(3, 2)
        m = nn.LazyLinear(2)
        m.load_state_dict(source.state_dict())
        assert torch.equal(m.weight, source.weight) and not m.has_uninitialized_params()
        assert torch.equal(m(torch.ones(1, 3)), source(torch.ones(1, 3))) and type(m) is nn.Linear
        lazy = nn.LazyLinear(2)
        assert list(lazy.state_dict()) == ["weight", "bias"]
        other = nn.LazyLinear(2)
        other.load_state_dict(lazy.state_dict())
        assert other.has_uninitialized_params()

    def test_copies_and_conversions(self):
        m = copy.deepcopy(nn.LazyLinear(2)).double()
        m(torch.rand(1, 3).double())
        assert m.weight.dtype == torch.float64
        assert isinstance(pickle.loads(pickle.dumps(nn.LazyLinear(2))).weight, nn.UninitializedParameter)

    def test_refusals(self):
        with pytest.raises(RuntimeError, match=r"Expected 2D .unbatched. or 3D .batched. input to LazyConv1d"):
            nn.LazyConv1d(2, 1)(torch.zeros(3))

        class Undefined(nn.modules.lazy.LazyModuleMixin, nn.Module):
            pass

        with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Undefined"):
            Undefined()(1)


class TestAttention:
    def test_weights_and_masks(self):
        torch.manual_seed(0)
        m = nn.MultiheadAttention(8, 2, batch_first=True)
        x = torch.rand(3, 5, 8)
        output, weights = m(x, x, x)
        assert weights.shape == (3, 5, 5) and close(weights.sum(-1), torch.ones(3, 5))
        assert close(m(x, x, x, need_weights=False)[0], output) and m(x, x, x, need_weights=False)[1] is None
        assert m(x, x, x, average_attn_weights=False)[1].shape == (3, 2, 5, 5)
        causal = nn.Transformer.generate_square_subsequent_mask(5)
        _, weights = m(x, x, x, attn_mask=causal)
        assert not weights.triu(1).any()
        assert close(m(x, x, x, attn_mask=causal == float("-inf"))[0], m(x, x, x, attn_mask=causal)[0])
        hidden = torch.tensor([[False, False, False, True, True]]).expand(3, 5)
        assert not m(x, x, x, key_padding_mask=hidden)[1][..., 3:].any()
        assert close(m(x[0], x[0], x[0])[0], output[0])
        swapped = copy.deepcopy(m)
        swapped.batch_first = False
        assert close(swapped(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1), output)

    def test_parameters(self):
        assert list(nn.MultiheadAttention(4, 2)._parameters) == [
            "in_proj_weight",
            "q_proj_weight",
            "k_proj_weight",
            "v_proj_weight",
            "in_proj_bias",
        ]
        apart = nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)
        assert list(apart.state_dict()) == [
            "q_proj_weight",
            "k_proj_weight",
            "v_proj_weight",
            "in_proj_bias",
            "bias_k",
            "bias_v",
            "out_proj.weight",
            "out_proj.bias",
        ]
        assert apart(torch.rand(2, 1, 4), torch.rand(6, 1, 3), torch.rand(6, 1, 5))[0].shape == (2, 1, 4)

    def test_refusals(self):
        with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
            nn.MultiheadAttention(5, 2)
        with pytest.raises(ValueError, match="embed_dim and num_heads must be greater than 0"):
            nn.MultiheadAttention(0, 2)
        m, x = nn.MultiheadAttention(4, 2), torch.rand(3, 1, 4)
        with pytest.raises(AssertionError, match="only bool and floating types of attn_mask are supported"):
            m(x, x, x, attn_mask=torch.zeros(3, 3, dtype=torch.int64))

    def test_transformer(self):
        torch.manual_seed(0)
        m = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
        src, tgt = torch.rand(2, 4, 8), torch.rand(2, 3, 8)
        causal = m.generate_square_subsequent_mask(3)
        full = m(src, tgt, tgt_mask=causal)
        assert full.shape == (2, 3, 8)
        assert close(m(src, tgt[:, :2], tgt_mask=causal[:2, :2]), full[:, :2])
        assert close(m(src, tgt, tgt_mask=causal, tgt_is_causal=True), full)
        with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
            m(src[:1], tgt)
        with pytest.raises(RuntimeError, match="the feature number of src and tgt must be equal to d_model"):
            m(src[..., :4], tgt)
        with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
            nn.TransformerEncoderLayer(8, 2, activation="tanh")


class TestOthers:
    def test_dropout(self):
        torch.manual_seed(0)
        m = nn.Dropout(0.25)
        y = m(torch.ones(1000))
        kept = y != 0
        assert torch.equal(y[kept], torch.full_like(y[kept], 1 / 0.75)) and 650 < int(kept.sum()) < 850
        m.p = 0.0
        assert torch.equal(m(torch.ones(5)), torch.ones(5))
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
            nn.Dropout(2)

    def test_losses(self):
        with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
            assert nn.MSELoss(size_average=False).reduction == "sum"
        with pytest.warns(UserWarning, match="please use reduction='none' instead"):
            assert nn.L1Loss(reduce=False).reduction == "none"
        m = nn.CrossEntropyLoss(weight=torch.ones(3))
        assert list(m.state_dict()) == ["weight"] and not list(m.parameters())
        for make, error, text in (
            (lambda: nn.HuberLoss(delta="x"), TypeError, "delta must be a float or int"),
            (lambda: nn.MultiMarginLoss(p=3), ValueError, "only p == 1 and p == 2 supported"),
            (
                lambda: nn.TripletMarginLoss(margin=0),
                ValueError,
                "TripletMarginLoss: expected margin to be greater than 0",
            ),
        ):
            with pytest.raises(error, match=text):
                make()

    def test_adaptive_softmax(self):
        torch.manual_seed(0)
        m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10], div_value=2.0)
        x, target = torch.rand(6, 16), torch.tensor([0, 4, 5, 9, 10, 19])
        full = m.log_prob(x)
        assert close(full.exp().sum(1), torch.ones(6))
        output, loss = m(x, target)
        assert close(output, full.gather(1, target[:, None]).squeeze(1)) and close(loss, -output.mean())
        assert torch.equal(m.predict(x), full.argmax(1))
        with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
            m(x, target + 1)
        with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integers"):
            nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 5])

    def test_unflatten(self):
        with pytest.raises(
            TypeError, match="unflattened_size must be tuple of ints, but found element of type str at pos 1"
        ):
            nn.Unflatten(1, (2, "3"))
        with pytest.raises(TypeError, match="unflattened_size must be a tuple of ints, but found type int"):
            nn.Unflatten(1, 2)

    def test_pools(self):
        with pytest.raises(ValueError, match="only one of output_size and output_ratio may be specified"):
            nn.FractionalMaxPool2d(2, output_size=3, output_ratio=0.5)
        with pytest.raises(ValueError, match="requires specifying either an output size, or a pooling ratio"):
            nn.FractionalMaxPool2d(2)
        pool, unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
        x = torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])
        assert unpool(*pool(x)).tolist() == [[[0.0, 3.0, 2.0, 0.0]]]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("kind", [None, "float", "bool", "float for each head", "bool for each head"])
def test_attention_without_a_history_is_that_with_one(torch, batch_first, cross, kind):
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(12, 3, bias=batch_first, batch_first=batch_first).eval()
    shape = (lambda n: (2, n, 12)) if batch_first else (lambda n: (n, 2, 12))
    query, source = torch.randn(shape(5)), 7 if cross else 5
    key = torch.randn(shape(7)) if cross else query
    size = (6, 5, source) if kind and "each" in kind else (5, source)
    mask = None if kind is None else torch.rand(size) > 0.8 if "bool" in kind else torch.randn(size)
    want = module(query, key, key, attn_mask=mask, need_weights=False)[0]
    with torch.no_grad():
        found = module(query, key, key, attn_mask=mask, need_weights=False)[0]
    assert found.stride() == want.stride() and not found.requires_grad
    torch.testing.assert_close(found, want.detach(), equal_nan=True)
    with torch.no_grad(), pytest.raises((RuntimeError, AssertionError)):
        module(query, key, key, attn_mask=torch.zeros(5, source + 1), need_weights=False)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_an_even_number_of_heads_without_a_history(torch, masked):
    """What is batch by batch stays so in memory, as in PyTorch's prediction; the numbers are those with a history."""
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(12, 4, batch_first=True).eval()
    x, mask = torch.randn(3, 5, 12), torch.randn(5, 5) if masked else None
    want = module(x, x, x, attn_mask=mask, need_weights=False)[0]
    with torch.no_grad():
        found = module(x, x, x, attn_mask=mask, need_weights=False)[0]
    assert found.is_contiguous() is not masked
    torch.testing.assert_close(found, want.detach())
