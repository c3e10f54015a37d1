"""PyTorch's private modules that are here have its names, wherever they are, and are loaded once."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import wengert
from wengert.names.homes import MOVED, their_module

BELOW = {f"_dynamo.{n}": f"compat._dynamo.{n}" for n in ("config", "eval_frame", "exc")}


@pytest.mark.parametrize(("name", "place"), (MOVED | BELOW).items())
def test_a_private_module_is_the_one_at_its_place(name, place):
    module = importlib.import_module(f"wengert.{name}")
    assert module is importlib.import_module(f"wengert.{place}")
    assert module.__name__ == module.__spec__.name == f"wengert.{place}"
    assert their_module(module.__name__, "anything") == f"torch.{name}"


@pytest.mark.parametrize("name", MOVED)
def test_it_is_an_attribute(name):
    found = wengert
    for part in name.split("."):
        found = getattr(found, part)
    assert found is importlib.import_module(f"wengert.{name}")


@pytest.mark.parametrize("name", ["associative_scan", "cond", "map", "scan", "while_loop"])
def test_each_function_of_control_flow_has_a_module(name):
    module = importlib.import_module(f"wengert._higher_order_ops.{name}")
    assert getattr(module, name) is getattr(wengert._higher_order_ops, name)


def test_importing_a_module_below_leaves_the_function_of_that_name():
    code = "import wengert as t, wengert._higher_order_ops.cond; assert t._higher_order_ops.cond is t.cond"
    subprocess.run([sys.executable, "-c", code], check=True)


NOWHERE = ("_C.nothing", "_dynamo.nothing", "_utils.nothing", "_nothing", "_lowlevel", "_version.nothing")


@pytest.mark.parametrize("name", NOWHERE)
def test_what_is_nowhere_is_not_found(name):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"wengert.{name}")
    assert caught.value.name == f"wengert.{name}"


def test_errors_say_the_name_that_programs_know():
    for name in ("_C", "_utils", "_functorch"):
        with pytest.raises(AttributeError, match=f"module '(wengert|torch).{name}' has no attribute 'nothing'"):
            importlib.import_module(f"wengert.{name}").nothing


def test_packages_that_only_we_have_are_not_offered():
    assert not {"arrays", "compat", "dispatch", "functions", "graph", "names", "ops"} & set(dir(wengert))
    assert "tensor" in dir(wengert)
    with pytest.raises(AttributeError) as caught:
        wengert.functionz
    assert "'functional'" in str(caught.value) and "'functions'" not in str(caught.value)


def test_libraries_import_them_under_pytorchs_name():
    code = (
        "from wengert.cli import alias; alias.install()\n"
        "import torch, torch._C, torch._C._functorch, torch._utils, torch._higher_order_ops.cond\n"
        "import torch._dynamo.config as config, torch._subclasses.fake_tensor as fake, wengert\n"
        "assert torch._C is wengert._C and config is wengert.compat._dynamo.config and torch._dynamo.config is config\n"
        "assert torch._higher_order_ops.cond is torch.cond and torch._subclasses.fake_tensor is fake\n"
        "assert fake.FakeTensor.__module__ == 'torch._subclasses.fake_tensor'\n"
        "assert torch._dynamo.exc.InvalidBackend.__module__ == 'torch._dynamo.exc'\n"
        "assert torch.Stream.__module__ == torch._check.__module__ == torch.is_tensor.__module__ == 'torch'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
