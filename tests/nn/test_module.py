"""What `nn.Module` promises: registration, attributes, traversal, conversion, printing, copying."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

import wengert as torch
from wengert import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("hidden", torch.zeros(2), persistent=False)
        self.plain = torch.zeros(4)

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def names(pairs):
    return [name for name, _ in pairs]


class TestRegistration:
    def test_assignment_registers_what_it_is_given(self):
        net = Net()
        assert names(net.named_parameters()) == ["first.weight", "first.bias", "second.1.weight"]
        assert names(net.named_buffers()) == ["scale", "hidden"]
        assert names(net.named_children()) == ["first", "second"]
        assert "plain" in net.__dict__ and "first" not in net.__dict__

    def test_none_reserves_a_parameter(self):
        m = nn.Linear(2, 2, bias=False)
        assert m.bias is None and "bias" in m._parameters
        m.bias = nn.Parameter(torch.zeros(2))
        assert names(m.named_parameters()) == ["weight", "bias"]
        m.bias = None
        assert names(m.named_parameters()) == ["weight"]

    def test_a_parameter_replaces_anything_of_its_name(self):
        m = nn.Module()
        m.x = 5
        m.x = nn.Parameter(torch.zeros(1))
        assert names(m.named_parameters()) == ["x"] and "x" not in m.__dict__
        m.x = None
        assert m.x is None and "x" in m._parameters
        m2 = nn.Module()
        m2.register_buffer("b", torch.zeros(1), persistent=False)
        m2.b = nn.Parameter(torch.zeros(1))
        assert names(m2.named_buffers()) == [] and names(m2.named_parameters()) == ["b"]
        assert m2._non_persistent_buffers_set == set()

    def test_a_module_replaces_buffers_but_not_parameters(self):
        m = nn.Module()
        m.register_buffer("b", torch.zeros(1))
        m.b = nn.Identity()
        assert names(m.named_buffers()) == [] and names(m.named_children()) == ["b"]
        m.p = nn.Parameter(torch.zeros(1))
        with pytest.raises(TypeError, match=r"as parameter 'p' \(torch.nn.Parameter or None expected\)"):
            m.p = nn.Identity()

    def test_wrong_types_are_refused(self):
        net = Net()
        with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'weight'"):
            net.first.weight = torch.zeros(3, 2)
        with pytest.raises(TypeError, match=r"as child module 'first' \(torch.nn.Module or None expected\)"):
            net.first = 3
        with pytest.raises(TypeError, match=r"as buffer 'scale' \(torch.nn.Buffer, torch.Tensor or None expected\)"):
            net.scale = "three"
        with pytest.raises(TypeError, match=r"object to buffer 'b' \(torch Tensor or None required\)"):
            net.register_buffer("b", 3)
        with pytest.raises(TypeError, match=r"object to parameter 'b' \(torch.nn.Parameter or None required\)"):
            net.register_parameter("b", torch.zeros(1))
        with pytest.raises(TypeError, match="int is not a Module subclass"):
            net.add_module("c", 3)
        with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'b'"):
            p = nn.Parameter(torch.zeros(1))
            p.mul(1)
            broken = nn.Parameter(torch.zeros(1)) * 1
            broken.__class__ = nn.Parameter
            net.register_parameter("b", broken)

    @pytest.mark.parametrize("register", ["register_buffer", "register_parameter", "add_module"])
    def test_wrong_names_are_refused(self, register):
        net = Net()
        method = getattr(net, register)
        with pytest.raises(TypeError, match=r"name should be a string. Got int"):
            method(3, None)
        with pytest.raises(KeyError, match="name can.*t contain"):
            method("a.b", None)
        with pytest.raises(KeyError, match="name can.*t be empty string"):
            method("", None)
        with pytest.raises(KeyError, match="attribute 'plain' already exists"):
            method("plain", None)

    def test_before_init(self):
        class Early(nn.Module):
            def __init__(self, what):
                self.x = what

        with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
            Early(nn.Parameter(torch.zeros(1)))
        with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
            Early(nn.Identity())
        assert Early(3).x == 3
        with pytest.raises(AttributeError):
            Early(3)(1)

    def test_constructor_arguments(self):
        with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'foo'"):
            nn.Module(foo=1)
        with pytest.raises(TypeError, match=r"takes 1 positional argument but 2 were given"):
            nn.Sigmoid(1)

    def test_call_super_init(self):
        class Other:
            def __init__(self, value):
                self.value = value

        class Both(nn.Module, Other):
            call_super_init = True

            def __init__(self):
                super().__init__(value=4)

        assert Both().value == 4

    def test_buffer_objects(self):
        m = nn.Module()
        m.a = nn.Buffer(torch.zeros(1))
        m.b = nn.Buffer(torch.zeros(1), persistent=False)
        assert names(m.named_buffers()) == ["a", "b"] and list(m.state_dict()) == ["a"]
        assert type(m.a) is torch.Tensor and isinstance(m.a, nn.Buffer)
        assert not isinstance(torch.zeros(1), nn.Buffer)
        m.b = torch.ones(1)  # stays what it was
        assert list(m.state_dict()) == ["a"]

    def test_overridden_register_buffer(self):
        class Old(nn.Module):
            def register_buffer(self, name, tensor):
                super().register_buffer(name, tensor)

        m = Old()
        m.a = nn.Buffer(torch.zeros(1))
        assert names(m.named_buffers()) == ["a"]
        with pytest.raises(RuntimeError, match="Registering a non-persistent buffer"):
            m.b = nn.Buffer(torch.zeros(1), persistent=False)


class TestAttributes:
    def test_missing(self):
        with pytest.raises(AttributeError, match="'Net' object has no attribute 'nope'"):
            Net().nope
        assert not hasattr(Net(), "nope")

    def test_delete(self):
        net = Net()
        del net.first, net.scale, net.plain, net.hidden
        assert names(net.named_parameters()) == ["second.1.weight"] and names(net.named_buffers()) == []
        assert net._non_persistent_buffers_set == set()
        with pytest.raises(AttributeError):
            del net.first

    def test_dir(self):
        listed = dir(Net())
        assert {"first", "scale", "plain", "forward", "training"} <= set(listed)
        assert "1" not in dir(nn.Sequential(nn.ReLU(), nn.ReLU()))
        assert listed == sorted(listed)

    def test_forward_of_an_instance_can_be_replaced(self):
        m = nn.ReLU()
        m.forward = lambda x: x + 1
        assert m(torch.zeros(1)).item() == 1

    def test_forward_is_required(self):
        with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
            nn.Module()(1)


class TestFinding:
    def test_paths(self):
        net = Net()
        assert net.get_submodule("") is net
        assert net.get_submodule("second.1") is net.second[1]
        assert net.get_parameter("second.1.weight") is net.second[1].weight
        assert net.get_buffer("scale") is net.scale
        with pytest.raises(AttributeError, match="Net has no attribute `third`"):
            net.get_submodule("third")
        with pytest.raises(AttributeError, match="`plain` is not an nn.Module"):
            net.get_submodule("plain")
        with pytest.raises(AttributeError, match="`scale` is not an nn.Parameter"):
            net.get_parameter("scale")
        with pytest.raises(AttributeError, match="`plain` is not a buffer"):
            net.get_buffer("plain")
        with pytest.raises(AttributeError, match="Linear has no attribute `nope`"):
            net.get_parameter("first.nope")

    def test_set_submodule(self):
        net = Net()
        new = nn.Identity()
        net.set_submodule("second.1", new)
        assert net.second[1] is new
        with pytest.raises(ValueError, match="without a target name"):
            net.set_submodule("", new)
        with pytest.raises(ValueError, match="is not an nn.Module"):
            net.set_submodule("first", 3)
        with pytest.raises(AttributeError, match="Net has no attribute `new`"):
            net.set_submodule("new", new, strict=True)
        net.set_submodule("new", new)
        assert net.new is new

    def test_shared_members_appear_once(self):
        shared = nn.Linear(2, 2)
        net = nn.Sequential(shared, shared)
        assert names(net.named_parameters()) == ["0.weight", "0.bias"]
        assert len(names(net.named_parameters(remove_duplicate=False))) == 4
        assert names(net.named_modules()) == ["", "0"]
        assert names(net.named_modules(remove_duplicate=False)) == ["", "0", "1"]
        assert names(net.named_children()) == ["0"]
        assert len(list(net.modules())) == 2

    def test_prefix_and_recurse(self):
        net = Net()
        assert names(net.named_parameters("net"))[0] == "net.first.weight"
        assert names(net.first.named_parameters("x", recurse=False)) == ["x.weight", "x.bias"]
        assert list(net.parameters(recurse=False)) == []
        assert names(net.named_modules(prefix="n")) == ["n", "n.first", "n.second", "n.second.0", "n.second.1"]


class TestChangingEverything:
    def test_apply_runs_children_first(self):
        seen = []
        net = Net()
        assert net.apply(lambda m: seen.append(type(m).__name__)) is net
        assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]

    def test_train_and_eval(self):
        net = Net()
        assert net.training and net.second[1].training
        assert net.eval() is net
        assert not any(m.training for m in net.modules())
        net.train()
        assert all(m.training for m in net.modules())
        with pytest.raises(ValueError, match="training mode is expected to be boolean"):
            net.train("yes")

    def test_conversion_keeps_the_parameters(self):
        net = Net()
        net.register_buffer("count", torch.tensor(3))
        before = dict(net.named_parameters())
        net.first.weight.grad = torch.ones(3, 2)
        assert net.double() is net
        assert all(p is before[name] for name, p in net.named_parameters())
        assert {p.dtype for p in net.parameters()} == {torch.float64}
        assert net.first.weight.grad.dtype == torch.float64
        assert net.scale.dtype == torch.float64 and net.count.dtype == torch.int64
        assert net.first.weight.requires_grad and net.first.weight.is_leaf
        assert net.half().first.bias.dtype == torch.float16
        assert net.float().first.bias.dtype == torch.float32
        assert net.to(torch.float64).scale.dtype == torch.float64
        assert net.to(torch.zeros(1)).scale.dtype == torch.float32
        assert net.to("cpu", torch.float64).scale.dtype == torch.float64
        assert net.to(device="cpu", dtype=torch.float32).scale.dtype == torch.float32
        assert net.type(torch.float64).first.weight.dtype == torch.float64
        assert net.cpu() is net

    def test_to_refuses_integers(self):
        with pytest.raises(TypeError, match="nn.Module.to only accepts floating point or complex dtypes"):
            nn.Linear(1, 1).to(torch.int64)

    def test_no_gpu(self):
        if not torch.cuda.is_available():
            with pytest.raises((RuntimeError, AssertionError)):
                nn.Linear(1, 1).cuda()

    def test_requires_grad_and_zero_grad(self):
        net = Net()
        assert net.requires_grad_(False) is net
        assert not any(p.requires_grad for p in net.parameters())
        net.requires_grad_()
        net(torch.ones(1, 2)).sum().backward()
        kept = net.first.weight.grad
        net.zero_grad(set_to_none=False)
        assert net.first.weight.grad is kept and not kept.any()
        net.zero_grad()
        assert all(p.grad is None for p in net.parameters())

    def test_to_empty(self):
        net = Net().to_empty(device="cpu")
        assert net.first.weight.shape == (3, 2)


class TestPrinting:
    def test_repr(self):
        assert repr(Net()) == (
            "Net(\n"
            "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
            "  (second): Sequential(\n"
            "    (0): ReLU()\n"
            "    (1): Linear(in_features=3, out_features=1, bias=False)\n"
            "  )\n"
            ")"
        )

    def test_extra_repr(self):
        class Extra(nn.Module):
            def extra_repr(self):
                return self.text

        m = Extra()
        m.text = ""
        assert repr(m) == "Extra()"
        m.text = "one"
        assert repr(m) == "Extra(one)"
        m.text = "one\ntwo"
        assert repr(m) == "Extra(\n  one\n  two\n)"
        m.child = nn.ReLU(inplace=True)
        m.text = "one"
        assert repr(m) == "Extra(\n  one\n  (child): ReLU(inplace=True)\n)"
        m.add_module("gone", None)
        assert repr(m).endswith("  (gone): None\n)")


class TestCopies:
    def test_deepcopy(self):
        net = Net()
        twin = copy.deepcopy(net)
        assert type(twin) is Net
        for (name, a), (other, b) in zip(net.named_parameters(), twin.named_parameters(), strict=True):
            assert name == other and a is not b and torch.equal(a, b) and isinstance(b, nn.Parameter)
        with torch.no_grad():
            twin.first.weight.zero_()
        assert net.first.weight.any()

    def test_deepcopy_keeps_sharing(self):
        shared = nn.Linear(1, 1)
        twin = copy.deepcopy(nn.ModuleList([shared, shared]))
        assert twin[0] is twin[1]

    def test_pickle(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.GELU("tanh"))
        twin = pickle.loads(pickle.dumps(net))
        assert repr(twin) == repr(net)
        assert torch.equal(twin[0].weight, net[0].weight) and twin[0].weight.requires_grad
        x = torch.ones(4, 2)
        assert torch.equal(twin.eval()(x), net.eval()(x))

    def test_old_pickles_get_what_they_lack(self):
        m = nn.ReLU()
        state = m.__getstate__()
        for name in ("_forward_pre_hooks", "_backward_pre_hooks", "_load_state_dict_post_hooks"):
            del state[name]
        del state["_non_persistent_buffers_set"]
        twin = nn.ReLU.__new__(nn.ReLU)
        twin.__setstate__(state)
        assert twin._forward_pre_hooks == OrderedDict() and twin._non_persistent_buffers_set == set()
        assert twin(torch.ones(1)).item() == 1

    def test_subclassing_a_declared_module(self):
        class Shifted(nn.ELU):
            def __init__(self):
                super().__init__(alpha=0.5)

            def forward(self, x):
                return super().forward(x) + 1

        assert Shifted()(torch.zeros(1)).item() == 1
        assert repr(Shifted()) == "Shifted(alpha=0.5)"

        class Same(nn.ELU):
            pass

        m = Same(2.0)
        m.alpha = 4.0  # settings are read at the call
        assert abs(m(torch.full((1,), -50.0)).item() + 4) < 1e-6

    @pytest.mark.parametrize("name",
        ["_owner", "_forget", "_overrides", "_check_name", "_choose_kind", "_set_buffer", "_name", "_hooks", "_kind"])
    @pytest.mark.parametrize("make",
        [lambda: nn.Linear(2, 2), lambda: nn.Parameter(torch.ones(2)), lambda: torch.ones(2), lambda: "x"])
    def test_members_have_the_names_that_users_give_them(self, name, make):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(2, 2)
                setattr(self, name, make())
                self.other = nn.Linear(2, 2)
                self.register_buffer("buffer", torch.ones(2))

        m = Named()
        m.register_full_backward_hook(lambda *args: None)
        m.buffer = torch.zeros(2)
        m.get_parameter("linear.weight")
        copy.deepcopy(m).load_state_dict(m.state_dict())
        m.double()
        assert type(getattr(m, name)) is type(make())
