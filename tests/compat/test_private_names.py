"""Private names of PyTorch that libraries call: on both libraries, what they give."""

from __future__ import annotations

import importlib

import pytest


def module(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def test_the_arguments_of_to(torch):
    parse = module(torch, "_C")._nn._parse_to
    cpu = torch.device("cpu")
    assert parse() == (None, None, False, None)
    assert parse("cpu", non_blocking=True) == (cpu, None, True, None)
    assert parse(torch.float64) == (None, torch.float64, False, None)
    assert parse(cpu, torch.float64, True) == (cpu, torch.float64, True, None)
    assert parse(torch.ones(2, dtype=torch.int8)) == (cpu, torch.int8, False, None)
    assert parse(memory_format=torch.channels_last) == (None, None, False, torch.channels_last)


def test_questions_for_the_core(torch):
    core = module(torch, "_C")
    assert isinstance(torch.Tensor, core._TensorMeta) and isinstance(torch.ones(1), torch.Tensor)
    assert not core._is_tracing() and not core._is_torch_function_mode_enabled()
    assert not core._are_functorch_transforms_active()
    seen = []
    torch.func.vmap(lambda x: seen.append(core._are_functorch_transforms_active()) or x)(torch.ones(2))
    torch.func.grad(lambda x: seen.append(core._are_functorch_transforms_active()) or x)(torch.tensor(1.0))
    assert seen == [True, True]


def test_steps_of_vmap(torch):
    inside = importlib.import_module(f"{torch.__name__}._functorch.vmap") if torch.__name__ == "torch" else module(
        torch, "compat.vmap_helpers")
    core = module(torch, "_C")._functorch
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3)

    def f(row):
        assert core.is_batchedtensor(row) and not core.is_batchedtensor(y)
        assert torch.equal(core.get_unwrapped(row), x)
        again = inside._add_batch_dim(torch.stack([y, 2 * y], 1), 1, 1)
        assert again.shape == (3,)
        whole = inside._maybe_remove_batch_dim("f", again + row, 1, 2, 1)
        assert whole.shape == (3, 2)
        assert inside._maybe_remove_batch_dim("f", y, 1, 2, None) is y
        for value, out_dim, text in ((row, None, "can not return a BatchedTensor when out_dim"), (3, 0, "only return")):
            with pytest.raises(ValueError, match=text):
                inside._maybe_remove_batch_dim("f", value, 1, 2, out_dim)
        return again + row

    found = torch.func.vmap(f)(x)
    assert torch.equal(found, x + torch.tensor([[1.0], [2.0]]))


def test_devices_by_number(torch):
    index = module(torch, "_utils")._get_device_index
    assert index(3) == 3 and index("cpu", allow_cpu=True) == -1
    assert module(torch, "_utils")._get_available_device_type() is None
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        index("cpu")


def test_print_options_in_a_block(torch):
    x = torch.tensor([1.12345])
    with module(torch, "_tensor_str").printoptions(precision=2):
        assert repr(x) == "tensor([1.12])"
    assert repr(x) == "tensor([1.1235])"


def test_lists_as_trees(torch):
    tree = module(torch, "utils._pytree")
    leaves, context = tree._list_flatten([1, [2]])
    assert leaves == [1, [2]] and tree._list_unflatten(leaves, context) == [1, [2]]
    assert [value for _, value in tree._list_flatten_with_keys([3, 4])[0]] == [3, 4]


def test_tensors_by_their_paths(torch):
    members = module(torch, "nn.utils._named_member_accessor" if torch.__name__ == "torch" else "compat.named_members")
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    before, other = model[0].weight, torch.nn.Parameter(torch.ones(1, 1))
    assert members.swap_tensor(model[0], "weight", other) is before and model[0].weight is other
    with pytest.raises(KeyError, match="tensor name can.*t contain"):
        members.swap_tensor(model, "0.weight", other)
    with pytest.raises(AttributeError, match="Linear has no attribute `gone`"):
        members.swap_tensor(model[0], "gone", other)
    assert members.swap_tensor(model[0], "new", torch.ones(1), allow_missing=True) is not model[0].new


def test_what_is_said_to_compilers(torch):
    inside = module(torch, "_jit_internal")
    f = inside._copy_to_script_wrapper(lambda x: x)
    assert f(3) == 3 and not inside.is_scripting() and inside.BroadcastingList2[int] is None
    yes, no = (lambda x, flag=False: "yes"), (lambda x, flag=False: "no")
    choose = inside.boolean_dispatch("flag", 1, False, yes, no, "m", "f")
    assert (choose(0), choose(0, True), choose(0, flag=True)) == ("no", "yes", "yes")
    with torch.jit.optimized_execution(False):
        assert torch.jit._unwrap_optional(2) == 2
    with pytest.raises(AssertionError, match="Unwrapping null optional"):
        torch.jit._unwrap_optional(None)
    assert issubclass(torch.jit.Error, Exception) and issubclass(torch.jit.ScriptWarning, Warning)
    assert torch.Tag.pointwise.name == "pointwise" and issubclass(torch.AcceleratorError, RuntimeError)


def test_operators_of_others(torch):
    assert not hasattr(torch.ops.nobody_has_defined_this, "f")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'nobody_has_defined_this' object has no attribute 'f'"):
        torch.ops.nobody_has_defined_this.f(1)
    with pytest.raises(OSError, match="nothing.so"):
        torch.ops.load_library("/nothing.so")


def test_operators_of_libraries_that_cannot_be_loaded():
    import wengert as torch

    @torch.library.register_fake("library_in_cpp::f")
    def f(x): ...

    torch.library.define("library_in_python::f", "(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="operator library_in_python::g does not exist"):
        torch.library.register_fake("library_in_python::g", lambda x: x)


def test_a_tensor_that_an_operator_writes_to(torch):
    with torch.library._scoped_library("written_without_a_letter", "DEF") as lib:
        lib.define("fill(Tensor x, Tensor! out) -> ()")
        lib.impl("fill", lambda x, out: out.copy_(x) and None, "CompositeExplicitAutograd")
        out = torch.zeros(1)
        torch.ops.written_without_a_letter.fill(torch.ones(1), out)
        assert out.item() == 1


def test_the_names_under_the_alias(tmp_path):
    import subprocess
    import sys

    program = """
import importlib.metadata, importlib.util
from torch._functorch.vmap import _add_batch_dim, _broadcast_to_and_flatten, _process_batched_inputs, tree_flatten
from torch._C._functorch import is_batchedtensor
from torch.nn.utils._named_member_accessor import swap_tensor
from torch._library.infer_schema import infer_schema
from torch.jit.annotations import BroadcastingList2
from torch.utils.data._utils.worker import _generate_state, ManagerWatchdog, _IterableDatasetStopIteration
from torch.utils.data._utils import HAS_NUMPY, MP_STATUS_CHECK_INTERVAL, signal_handling
from torch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn
from torch.nn.functional import ScalingType, scaled_mm
from torch.sparse import SparseSemiStructuredTensor
from torch.onnx import symbolic_opset11
from torch.onnx.symbolic_helper import parse_args
from torch._inductor.decomposition import register_decomposition
import torch, torch.cuda.random, torch.cuda.memory, torch.mtia

def f(): ...

assert parse_args("v")(f) is f and register_decomposition([])(f) is f
assert torch.onnx.register_custom_op_symbolic("a::b", f, 11) is None
assert torch.ops.profiler._record_function_exit._RecordFunction is not None
assert torch.__version__ == importlib.metadata.version("torch") and torch.__version__ >= (2, 13)
assert torch.__version__ < "2.14" and torch.version.cuda is None and torch.version.hip is None
assert importlib.util.find_spec("torch") is not None and importlib.util.find_spec("torch.distributed") is not None
"""
    done = subprocess.run([sys.executable, "-m", "wengert", "run", "-"], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
