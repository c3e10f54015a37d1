"""Names that libraries ask for when they are imported: checks, streams, hints for a compiler, annotations."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import typing

import pytest


def test_checks(torch):
    torch._check(True)
    for check, error in (
        (torch._check, RuntimeError), (torch._check_value, ValueError), (torch._check_type, TypeError),
        (torch._check_index, IndexError), (torch._check_not_implemented, NotImplementedError),
    ):
        check(True, lambda: "unused")
        with pytest.raises(error, match="Expected cond to be True, but got False"):
            check(False)
        with pytest.raises(error, match="^what went wrong$"):
            check(False, lambda: "what went wrong")
    with pytest.raises(TypeError, match="cond must be a bool, but got a Tensor"):
        torch._check(torch.tensor(True))
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(RuntimeError, match="some are not"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "some are not")
    with pytest.raises(ValueError, match="other"):
        torch._check_with(ValueError, False, lambda: "other")


def test_devices(torch):
    assert torch.get_device_module("cpu") is torch.cpu and torch.get_device_module(torch.device("cpu")) is torch.cpu
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(torch.OutOfMemoryError, RuntimeError)
    for absent in (torch.cuda.Stream, torch.cuda.Event, torch.cuda.CUDAGraph):
        assert isinstance(absent, type)
    with pytest.raises(RuntimeError):
        torch.cuda.CUDAGraph()
    with torch.cuda.stream(None):
        pass
    assert "device_type=cpu" in repr(torch.Stream(device="cpu")) and torch.Event(device="cpu").query()


def test_annotations(torch):
    assert typing.get_args(torch.LongTensor | None) == (torch.LongTensor, type(None))
    assert typing.get_args(None | torch.FloatTensor) == (type(None), torch.FloatTensor)

    class Mine(torch.nn.Module):
        layer: int

    assert typing.get_type_hints(Mine)["layer"] is int
    for kind in ("Linear", "Conv2d", "LayerNorm", "LSTM", "BatchNorm1d", "Embedding", "MultiheadAttention", "BCELoss"):
        assert typing.get_type_hints(getattr(torch.nn, kind))
    assert typing.get_type_hints(torch.optim.Adam)


def test_hints_for_a_compiler(torch):
    dynamo = importlib.import_module(f"{torch.__name__}._dynamo")
    x = torch.ones(2)
    dynamo.mark_static_address(x)
    dynamo.mark_dynamic(x, 0)
    assert dynamo.disable(len) is not None and not dynamo.is_compiling()
    mode = importlib.import_module(f"{torch.__name__}._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
    table = torch.arange(4) * 2
    with mode():
        assert torch.func.vmap(lambda i: table[i])(torch.tensor([1, 3])).tolist() == [2, 6]


def test_modules_that_nobody_imported_by_name(torch):
    code = (
        f"import {torch.__name__} as torch\n"
        "import sys\n"
        "assert torch.multiprocessing.get_context and torch._ops.OpOverload and torch.nn.grad.conv2d_input\n"
        "assert torch.utils._pytree.tree_map and torch.utils._python_dispatch.TorchDispatchMode and "
        "torch.utils._mode_utils.no_dispatch\nassert torch.nn.utils.fusion.fuse_conv_bn_eval and "
        "torch.nn.utils.init.skip_init\nassert torch.autograd.variable.Variable is torch.autograd.Variable\n"
        "assert torch.utils.data._utils.collate.default_collate([1, 2]).tolist() == [1, 2]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120,
        env={k: v for k, v in os.environ.items() if k != "CI"})
