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


def test_names_of_the_core(torch):
    assert torch._C._TensorMeta is type(torch.Tensor)
    assert not torch._C._are_functorch_transforms_active()
    seen = []
    torch.func.vmap(lambda x: seen.append(torch._C._are_functorch_transforms_active()) or x)(torch.ones(2))
    torch.func.grad(lambda x: seen.append(torch._C._are_functorch_transforms_active()) or x)(torch.tensor(1.0))
    assert seen == [True, True] and not torch._C._are_functorch_transforms_active()
    assert torch.distributed.autograd.is_available() in (True, False)
    parse = torch._C._nn._parse_to
    assert parse("cpu") == parse(device="cpu") == (torch.device("cpu"), None, False, None)
    assert parse(torch.float64, True) == (None, torch.float64, True, None)
    assert parse(torch.ones(1), memory_format=torch.preserve_format) == (
        torch.device("cpu"), torch.float32, False, torch.preserve_format)
    with pytest.raises(TypeError):
        parse(1.5, "what")


def test_mapping_by_its_old_names(torch):
    old = importlib.import_module(f"{torch.__name__}._vmap_internals")
    x = torch.arange(6.0).view(2, 3)
    assert old._vmap(torch.sum)(x).tolist() == old._vmap(torch.sum, 0, 0, allow_none_pass_through=True)(x).tolist()


def test_rows_of_parallel_lists_by_type(torch):
    group = importlib.import_module(f"{torch.__name__}.utils._foreach_utils")._group_tensors_by_device_and_dtype
    a, b, c = torch.ones(1), torch.ones(2, dtype=torch.float64), torch.ones(3)
    found = group([[a, b, c], [c, None, a]], with_indices=True)
    cpu = torch.device("cpu")
    assert list(found) == [(cpu, torch.float32), (cpu, torch.float64)] or len(found) == 2
    lists, indices = found[cpu, torch.float32]
    assert [list(map(id, row)) for row in lists] == [[id(a), id(c)], [id(c), id(a)]] and list(indices) == [0, 2]
    lists, indices = found[cpu, torch.float64]
    assert lists[0][0] is b and lists[1][0] is None and list(indices) == [1]


def test_types_of_arguments_per_dimension(torch):
    kinds = importlib.import_module(f"{torch.__name__}.nn.common_types")
    assert set(typing.get_args(kinds._size_2_t)) == {int, tuple[int, int]}
    assert set(typing.get_args(kinds._size_any_t)) == {int, tuple[int, ...]}
    assert set(typing.get_args(kinds._size_any_opt_t)) == {int, type(None), tuple[int | None, ...]}
    assert set(typing.get_args(kinds._ratio_3_t)) == {float, tuple[float, float, float]}
    assert set(typing.get_args(kinds._tensor_list_t)) == {torch.Tensor, tuple[torch.Tensor, ...]}


def test_kinds_of_parameters_and_of_a_trace(torch):
    assert type(torch.nn.Parameter) is torch.nn.parameter._ParameterMeta
    core = importlib.import_module(f"{torch.__name__}._C")
    for kind in (core.Graph, core.Value, core._distributed_rpc.PyRRef):
        assert not isinstance(torch.ones(1), kind)


def test_limits_of_the_number_classes_of_python(torch):
    assert torch.finfo(float).eps == torch.finfo(torch.float64).eps
    assert torch.finfo(complex).bits == torch.finfo(torch.complex128).bits
    assert torch.iinfo(int).max == torch.iinfo(torch.int64).max
    for ask, kind in ((torch.finfo, int), (torch.iinfo, bool), (torch.iinfo, float), (torch.finfo, str)):
        with pytest.raises(TypeError):
            ask(kind)


def test_progress_of_a_scaler(torch):
    states = importlib.import_module(f"{torch.__name__}.amp.grad_scaler").OptState
    assert [(s.name, s.value) for s in states] == [("READY", 0), ("UNSCALED", 1), ("STEPPED", 2)]


def test_clipped_sigmoid(torch):
    from_both_ends = torch.distributions.transforms._clipped_sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])).tolist()
    info = torch.finfo(torch.float32)
    assert from_both_ends == [info.tiny, 0.5, 1 - info.eps]


def test_scope_that_allows_what_is_set(torch):
    flags = torch.backends.cudnn
    with getattr(torch.backends, "__allow_nonbracketed_mutation")():
        before, flags.deterministic = flags.deterministic, True
        assert flags.deterministic is True
        flags.deterministic = before


def test_a_class_of_named_tuples_is_registered_as_one(torch):
    tree = importlib.import_module(f"{torch.__name__}.utils._pytree")

    class State(typing.NamedTuple):
        v: object
        i: object

    class Neuron(State):
        pass

    tree.register_pytree_node(Neuron, tree._namedtuple_flatten, tree._namedtuple_unflatten)
    doubled = tree.tree_map(lambda x: 2 * x, Neuron(torch.ones(2), 3.0))
    assert type(doubled) is Neuron and doubled.v.tolist() == [2.0, 2.0] and doubled.i == 6.0


def test_initial_values_by_private_names(torch):
    init = torch.nn.init
    x = torch.empty(3)
    assert init._no_grad_fill_(x, 2.0) is x and x.tolist() == [2.0] * 3 and init._no_grad_zero_(x).tolist() == [0.0] * 3
    for private, public, args in (("normal", "normal_", (1.0, 2.0)), ("uniform", "uniform_", (1.0, 2.0)),
            ("trunc_normal", "trunc_normal_", (0.0, 1.0, -1.0, 1.0))):
        torch.manual_seed(0)
        expected = getattr(init, public)(torch.empty(4), *args)
        torch.manual_seed(0)
        leaf = torch.empty(4, requires_grad=True)
        assert torch.equal(getattr(init, f"_no_grad_{private}_")(leaf, *args), expected) and leaf.is_leaf
