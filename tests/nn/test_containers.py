"""Containers: modules and parameters in lists and dicts."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import wengert as torch
from wengert import nn


def layers(n):
    return [nn.Linear(i + 1, i + 2) for i in range(n)]


class TestSequential:
    def test_order_and_names(self):
        a, b, c = layers(3)
        net = nn.Sequential(a, b, c)
        assert net(torch.ones(1, 1)).shape == (1, 4)
        assert list(net) == [a, b, c] and len(net) == 3 and net[-1] is c
        named = nn.Sequential(OrderedDict(x=a, y=b))
        assert list(named._modules) == ["x", "y"] and named.y is b and named[1] is b

    def test_slices(self):
        a, b, c = layers(3)
        net = nn.Sequential(OrderedDict(x=a, y=b, z=c))
        part = net[1:]
        assert isinstance(part, nn.Sequential) and list(part._modules) == ["y", "z"]
        with pytest.raises(IndexError, match="index 3 is out of range"):
            net[3]

    def test_changes(self):
        a, b, c = layers(3)
        net = nn.Sequential(a)
        assert net.append(c) is net
        assert net.insert(1, b) is net
        assert list(net) == [a, b, c] and list(net._modules) == ["0", "1", "2"]
        net.insert(-1, nn.ReLU())
        assert isinstance(net[2], nn.ReLU)
        assert isinstance(net.pop(2), nn.ReLU)
        del net[0]
        assert list(net) == [b, c] and list(net._modules) == ["0", "1"]
        net[0] = a
        assert list(net) == [a, c]
        del net[:]
        assert len(net) == 0
        net.extend([a, b])
        assert list(net) == [a, b]
        with pytest.raises(IndexError, match="Index out of range: 5"):
            net.insert(5, c)
        with pytest.raises(AssertionError, match="module should be of type"):
            net.insert(0, 3)

    def test_arithmetic(self):
        a, b, c = layers(3)
        assert list(nn.Sequential(a) + nn.Sequential(b, c)) == [a, b, c]
        net = nn.Sequential(a)
        net += nn.Sequential(b)
        assert list(net) == [a, b]
        assert list(net * 2) == list(2 * net) == [a, b, a, b]
        net *= 2
        assert list(net._modules) == ["0", "1", "2", "3"]
        with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
            net + [a]
        with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
            net * 0
        with pytest.raises(TypeError, match="unsupported operand"):
            net * 1.5


class TestModuleList:
    def test_as_a_list(self):
        a, b, c = layers(3)
        modules = nn.ModuleList([a, b])
        modules.append(c)
        assert list(modules) == [a, b, c] and modules[-1] is c and len(modules) == 3
        assert isinstance(modules[:2], nn.ModuleList) and list(modules[:2]) == [a, b]
        modules.insert(1, nn.ReLU())
        assert isinstance(modules.pop(1), nn.ReLU)
        modules[0] = c
        assert modules[0] is c
        del modules[0]
        assert list(modules) == [b, c] and list(modules._modules) == ["0", "1"]
        modules += [a]
        assert list(modules + [a]) == [b, c, a, a]
        with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but got int"):
            modules.extend(3)
        with pytest.raises(NotImplementedError, match="missing the required"):
            modules(1)

    def test_repr_counts_equal_neighbours(self):
        modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh()), nn.ReLU()])
        assert repr(modules) == (
            "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n  (3): ReLU()\n)"
        )
        assert repr(nn.ModuleList()) == "ModuleList()"


class TestModuleDict:
    def test_as_a_dict(self):
        a, b, c = layers(3)
        modules = nn.ModuleDict({"a": a, "b": b})
        assert list(modules) == list(modules.keys()) == ["a", "b"] and list(modules.values()) == [a, b]
        assert "a" in modules and len(modules) == 2 and modules["b"] is b and modules.a is a
        modules["c"] = c
        assert modules.pop("c") is c
        modules.update([("c", c)])
        modules.update(nn.ModuleDict({"d": a}))
        assert dict(modules.items()) == {"a": a, "b": b, "c": c, "d": a}
        del modules["a"]
        modules.clear()
        assert len(modules) == 0
        with pytest.raises(KeyError):
            modules["a"]
        with pytest.raises(TypeError, match="ModuleDict.update should be called with an iterable of key/value pairs"):
            modules.update(3)
        with pytest.raises(ValueError, match="ModuleDict update sequence element #0 has length 3; 2 is required"):
            modules.update([(1, 2, 3)])
        with pytest.raises(KeyError, match="attribute 'keys' already exists"):
            modules["keys"] = a


class TestParameters:
    def test_list(self):
        p = nn.ParameterList([torch.zeros(2), nn.Parameter(torch.ones(3))])
        assert [isinstance(x, nn.Parameter) for x in p] == [True, True]
        assert [name for name, _ in p.named_parameters()] == ["0", "1"]
        p.append("text").extend([torch.zeros(1)])
        assert len(p) == 4 and p[2] == "text" and len(list(p.parameters())) == 3
        assert isinstance(p[1:], nn.ParameterList) and len(p[1:]) == 3
        p[0] = torch.ones(5)
        assert p[0].shape == (5,)
        assert repr(nn.ParameterList([torch.zeros(2, 3), 4])) == (
            "ParameterList(\n"
            "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
            "    (1): Object of type: int\n"
            ")"
        )
        with pytest.raises(RuntimeError, match="ParameterList should not be called"):
            p()
        with pytest.raises(TypeError, match="ParameterList.extend should be called with an iterable, but got Tensor"):
            p.extend(torch.zeros(2))

    def test_dict(self):
        p = nn.ParameterDict({"b": torch.zeros(2), "a": torch.ones(1)})
        assert list(p) == ["a", "b"]  # a plain dict comes in sorted
        assert list(nn.ParameterDict(OrderedDict(b=1, a=2))) == ["b", "a"]
        assert isinstance(p["b"], nn.Parameter) and p.b is p["b"]
        assert p.get("x", 3) == 3 and p.setdefault("c", torch.zeros(1)) is p["c"]
        assert list(reversed(p)) == ["c", "b", "a"]
        key, value = p.popitem()
        assert key == "c" and isinstance(value, nn.Parameter) and "c" not in p and not hasattr(p, "c")
        merged = p | nn.ParameterDict({"z": torch.zeros(1)})
        assert list(merged) == ["a", "b", "z"] and list(p) == ["a", "b"]
        p |= {"q": 1}
        assert p.pop("q") == 1
        assert list(p.fromkeys(["x", "y"], 0).items()) == [("x", 0), ("y", 0)]
        assert repr(p) == (
            "ParameterDict(\n"
            "    (a): Parameter containing: [torch.FloatTensor of size 1]\n"
            "    (b): Parameter containing: [torch.FloatTensor of size 2]\n"
            ")"
        )
        p.clear()
        assert len(p) == 0
        with pytest.raises(TypeError, match="Index given to ParameterDict cannot be used as a key"):
            p[3] = 1
        with pytest.raises(KeyError):
            nn.ParameterDict().popitem()


class TestDataParallel:
    def test_the_module_does_the_work(self):
        inner = nn.Linear(2, 1)
        net = nn.DataParallel(inner, device_ids=[0, 1])
        assert (net.module is inner and list(net.state_dict()) == ["module.weight", "module.bias"]
            and net.device_ids == [])
        x = torch.ones(3, 2)
        assert torch.equal(net(x), inner(x)) and torch.equal(nn.parallel.data_parallel(inner, x), inner(x))
        net.load_state_dict({"module.weight": torch.zeros(1, 2), "module.bias": torch.ones(1)})
        assert inner.bias.item() == 1.0
