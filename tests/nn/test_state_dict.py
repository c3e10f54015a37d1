"""Saving and loading the state of modules."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import wengert as torch
from wengert import nn


def model():
    return nn.Sequential(OrderedDict(a=nn.Linear(2, 3), norm=nn.BatchNorm1d(3)))


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = 1

    def get_extra_state(self):
        return {"value": self.value}

    def set_extra_state(self, state):
        self.value = state["value"]


class TestSaving:
    def test_keys_and_metadata(self):
        state = model().state_dict()
        assert isinstance(state, OrderedDict)
        assert list(state) == [
            "a.weight",
            "a.bias",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
            "norm.num_batches_tracked",
        ]
        assert state._metadata == {"": {"version": 1}, "a": {"version": 1}, "norm": {"version": 2}}

    def test_values_share_memory_and_are_detached(self):
        m = nn.Linear(1, 1)
        state = m.state_dict()
        assert not state["weight"].requires_grad
        state["weight"].fill_(5)
        assert m.weight.item() == 5
        assert m.state_dict(keep_vars=True)["weight"] is m.weight

    def test_prefix_and_destination(self):
        into = OrderedDict(x=1)
        assert nn.Linear(1, 1).state_dict(destination=into, prefix="p.") is into
        assert list(into) == ["x", "p.weight", "p.bias"]
        with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
            assert list(nn.Linear(1, 1).state_dict(None, "q.")) == ["q.weight", "q.bias"]

    def test_extra_state(self):
        net = nn.Sequential(Extra())
        net[0].value = 7
        state = net.state_dict()
        assert state["0._extra_state"] == {"value": 7}
        other = nn.Sequential(Extra())
        other.load_state_dict(state)
        assert other[0].value == 7
        with pytest.raises(RuntimeError, match='Missing key.s. in state_dict: "0._extra_state"'):
            other.load_state_dict({})
        with pytest.raises(RuntimeError, match='Unexpected key.s. in state_dict: "_extra_state"'):
            nn.Linear(1, 1).load_state_dict({**nn.Linear(1, 1).state_dict(), "_extra_state": 1})

    def test_hooks(self):
        m = nn.Linear(1, 1)
        order = []
        m.register_state_dict_pre_hook(lambda mod, prefix, keep_vars: order.append(("pre", prefix, keep_vars)))

        def post(mod, state, prefix, metadata):
            order.append("post")
            state["more"] = 1

        m.register_state_dict_post_hook(post)
        assert list(m.state_dict(prefix="p.")) == ["p.weight", "p.bias", "more"]
        assert order == [("pre", "p.", False), "post"]
        with pytest.raises(RuntimeError, match="Cannot register the same function as the state dict post hook"):
            m._register_state_dict_hook(post)

    def test_post_hook_may_not_return(self):
        m = nn.Linear(1, 1)
        m.register_state_dict_post_hook(lambda *_: 3)
        with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
            m.state_dict()
        m = nn.Linear(1, 1)
        m._register_state_dict_hook(lambda *_: {"other": 1})
        assert m.state_dict() == {"other": 1}


class TestLoading:
    def test_copies_into_the_parameters(self):
        a, b = model(), model()
        before = b.a.weight
        result = b.load_state_dict(a.state_dict())
        assert repr(result) == "<All keys matched successfully>"
        assert result.missing_keys == [] and result.unexpected_keys == []
        assert b.a.weight is before and torch.equal(a.a.weight, b.a.weight)
        a.a.weight.data.fill_(9)
        assert not torch.equal(a.a.weight, b.a.weight)

    def test_strict(self):
        state = nn.Linear(2, 2).state_dict()
        del state["bias"]
        state["other"] = torch.zeros(1)
        state["sub.weight"] = torch.zeros(1)
        m = nn.Linear(2, 2)
        with pytest.raises(RuntimeError) as error:
            m.load_state_dict(state)
        assert str(error.value) == (
            "Error(s) in loading state_dict for Linear:\n\t"
            'Missing key(s) in state_dict: "bias". \n\t'
            'Unexpected key(s) in state_dict: "other", "sub.weight". '
        )
        result = m.load_state_dict(state, strict=False)
        assert result.missing_keys == ["bias"] and result.unexpected_keys == ["other", "sub.weight"]
        assert "missing_keys=['bias']" in repr(result)
        assert tuple(result) == (["bias"], ["other", "sub.weight"])

    def test_sizes_must_agree(self):
        with pytest.raises(RuntimeError) as error:
            nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict(), strict=False)
        assert str(error.value) == (
            "Error(s) in loading state_dict for Linear:\n\tsize mismatch for weight: copying a param with shape "
            "torch.Size([2, 3]) from checkpoint, the shape in current model is torch.Size([2, 2])."
        )

    def test_values_must_be_tensors(self):
        with pytest.raises(RuntimeError, match='While copying the parameter named "weight", expected torch.Tensor'):
            nn.Linear(1, 1).load_state_dict({"weight": [[1.0]], "bias": torch.zeros(1)})
        with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
            nn.Linear(1, 1).load_state_dict([])

    def test_types_are_converted(self):
        m = nn.Linear(1, 1)
        m.load_state_dict(nn.Linear(1, 1).double().state_dict())
        assert m.weight.dtype == torch.float32

    def test_assign(self):
        m = nn.Linear(1, 1)
        m.bias.requires_grad_(False)
        given = nn.Linear(1, 1).double().state_dict()
        m.load_state_dict(given, assign=True)
        assert m.weight.dtype == torch.float64 and isinstance(m.weight, nn.Parameter)
        assert m.weight.requires_grad and not m.bias.requires_grad
        given["weight"].fill_(4)
        assert m.weight.item() == 4

    def test_old_scalars(self):
        m = nn.Module()
        m.register_buffer("x", torch.zeros(()))
        m.load_state_dict({"x": torch.ones(1)})
        assert m.x.shape == () and m.x.item() == 1

    def test_old_batch_norms(self):
        state = nn.BatchNorm1d(2).state_dict()
        del state["num_batches_tracked"]
        del state._metadata
        m = nn.BatchNorm1d(2)
        m.load_state_dict(state)
        assert m.num_batches_tracked.item() == 0

    def test_non_persistent_buffers_stay_out(self):
        m = nn.Module()
        m.register_buffer("x", torch.zeros(1), persistent=False)
        assert not m.state_dict()
        m.load_state_dict({})
        with pytest.raises(RuntimeError, match='Unexpected key.s. in state_dict: "x"'):
            m.load_state_dict({"x": torch.ones(1)})

    def test_hooks(self):
        net = nn.Sequential(nn.Linear(1, 1))
        seen = []
        net[0].register_load_state_dict_pre_hook(lambda mod, state, prefix, *_: seen.append((mod, prefix)))
        net._register_load_state_dict_pre_hook(lambda state, prefix, *_: state.pop("extra", None))
        net.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
        net.load_state_dict({"extra": 1, "0.weight": torch.ones(1, 1)})
        assert seen == [(net[0], "0.")]
        net.register_load_state_dict_post_hook(lambda mod, keys: keys)
        with pytest.raises(AssertionError, match="are not expected to return new values"):
            net.load_state_dict(net.state_dict())

    def test_the_given_dict_is_not_changed(self):
        m = nn.Linear(1, 1)
        state = m.state_dict()
        metadata = {key: dict(value) for key, value in state._metadata.items()}
        m.load_state_dict(state, assign=True)
        assert list(state) == ["weight", "bias"] and state._metadata == metadata

    def test_prefix_is_stripped(self):
        state = nn.Sequential(OrderedDict(module=nn.Linear(1, 1))).state_dict()
        nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        assert list(state) == ["weight", "bias"] and "module" not in state._metadata
        nn.Linear(1, 1).load_state_dict(state)
