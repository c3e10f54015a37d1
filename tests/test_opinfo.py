"""``op_db``: operators as generated tests go through them."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import wengert as torch
from wengert.testing._internal import common_methods_invocations as invocations
from wengert.testing._internal.common_methods_invocations import op_db
from wengert.testing._internal.opinfo.core import BinaryUfuncInfo, DecorateInfo, OpInfo, SampleInput, UnaryUfuncInfo
from wengert.testing._internal.opinfo.table import _METHODS

LABELS = [op.full_name for op in op_db]
# Not compared with PyTorch: vectors up to a phase, no values, constants rounded to float32.
OTHER_VALUES = {"linalg.svd", "svd", "qr", "linalg.eig", "linalg.eigh", "geqrf", "linalg.qr", "empty_like", "nn.functional.poisson_nll_loss"}


def values(result):
    if isinstance(result, (list, tuple)):
        return [v for r in result for v in values(r)]
    if not hasattr(result, "detach"):
        return [np.asarray(result)]
    result = result.detach().resolve_conj().resolve_neg()
    return [(result.float() if "bfloat16" in str(result.dtype) else result).numpy()]


@pytest.mark.parity
def test_names_are_pytorch_s_and_unique():
    theirs = importlib.import_module("torch.testing._internal.common_methods_invocations")
    kinds = {op.full_name: type(op).__name__ for op in theirs.op_db}
    assert len(set(LABELS)) == len(LABELS) > 500
    assert {op.full_name: type(op).__name__ for op in op_db} == {name: kinds[name] for name in LABELS}


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=LABELS)
def test_samples_are_calls_that_pytorch_takes(op):
    theirs = importlib.import_module("torch")
    f = theirs
    samples = list(op.sample_inputs("cpu", torch.float64))
    assert samples and op.dtypes, "no sample can be called"
    if op.has_nondeterministic_output or op.name in OTHER_VALUES or torch.float64 not in op.dtypes:
        return
    if op.name in _METHODS:
        f = theirs.Tensor
    if op.name in ("H", "T", "mH", "mT"):

        def f(x):
            return getattr(x, op.name)
    else:
        for part in op.name.split("."):
            f = getattr(f, part)

    def converted(t):
        if isinstance(t, torch.Tensor):
            return theirs.from_numpy(t.detach().numpy().copy())
        return getattr(theirs, str(t).removeprefix("torch.")) if isinstance(t, torch.dtype) else t

    for sample in samples:
        other = sample.transform(converted)
        try:
            expected = f(other.input, *other.args, **other.kwargs)
        except RuntimeError as error:
            assert "MKL" in str(error)
            continue
        for a, b in zip(values(op(sample.input, *sample.args, **sample.kwargs)), values(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_what_samples_show():
    by_name = dict(zip(LABELS, op_db))
    assert by_name["sin"].dtypes >= {torch.float32, torch.complex128, torch.int64} and torch.int64 not in by_name["sin"].backward_dtypes
    assert torch.complex64 not in by_name["floor"].dtypes and by_name["linalg.det"].dtypes == {
        torch.float32, torch.float64, torch.complex64, torch.complex128
    }  # fmt: skip
    assert by_name["mul"].supports_out and not by_name["T"].supports_out and not by_name["floor_divide"].supported_backward_dtypes("cpu")
    assert by_name["nn.functional.relu"].formatted_name == "nn_functional_relu" and by_name["add"].get_inplace() is torch.Tensor.add_
    assert [s.broadcasts_input for s in by_name["add"].sample_inputs("cpu", torch.float32)][:2] == [False, True]
    sample = next(by_name["matmul"].sample_inputs("cpu", torch.complex128, requires_grad=True))
    assert sample.input.requires_grad and sample.input.dtype == torch.complex128 and not sample.noncontiguous().input.is_contiguous()


def test_samples_and_decorators():
    sample = SampleInput(torch.ones(2), [torch.ones(1), 3], a=torch.zeros(1)).with_metadata(name="x")
    assert isinstance(sample.numpy().args[0][0], np.ndarray) and sample.numpy().args[0][1] == 3 and "size=(2,)" in repr(sample)
    with pytest.raises(AssertionError):
        SampleInput(torch.ones(2), 1, args=(2,))
    marks = [
        DecorateInfo("a", "TestA"),
        DecorateInfo(["b", "c"], "TestA", "test_x", dtypes=(torch.float32,)),
        DecorateInfo("d", active_if=False),
        "e",
    ]
    op = OpInfo("sin", decorators=marks)
    assert op.get_decorators("TestA", "test_x", "cpu", torch.float32) == ["a", "b", "c", "e"]
    assert op.get_decorators("TestB", "test_x", "cpu", torch.float32) == ["e"]


@pytest.mark.parametrize("name", [n for n in dir(invocations) if n.startswith("generate_elementwise")])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int64", "uint8", "bool"])
def test_inputs_for_single_elements(name, dtype):
    op = (UnaryUfuncInfo if "unary" in name else BinaryUfuncInfo)("sin" if "unary" in name else "eq")
    samples = list(getattr(invocations, name)(op, device="cpu", dtype=getattr(torch, dtype)))
    assert all(s.input.dtype == getattr(torch, dtype) for s in samples) and (samples or dtype in ("int64", "uint8", "bool"))
    for s in samples:
        op(s.input, *s.args)


GENERATED = """
from functools import partial
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, OpDTypes, ops
from torch.testing._internal.common_methods_invocations import op_db, unary_ufuncs
from torch.testing._internal.common_utils import run_tests, TestGradients, unMarkDynamoStrictTest

chosen = [op for op in op_db if op.name in ("addmm", "cumprod", "sort", "linalg.inv", "nn.functional.gelu", "unique", "logit")]
gradcheck_ops = partial(ops, dtypes=OpDTypes.supported, allowed_dtypes=[torch.double, torch.cdouble])

@unMarkDynamoStrictTest
class TestIt(TestGradients):
    @gradcheck_ops(chosen)
    def test_fn_grad(self, device, dtype, op):
        if dtype not in op.supported_backward_dtypes(device):
            self.skipTest("no gradient")
        self._grad_test_helper(device, dtype, op, op.get_op())

    @gradcheck_ops(chosen)
    def test_fn_gradgrad(self, device, dtype, op):
        self._skip_helper(op, device, dtype)
        self._check_helper(device, dtype, op, op.get_op(), "bwgrad_bwgrad")

    @gradcheck_ops([op for op in chosen if op.name != "logit"])
    def test_forward_mode(self, device, dtype, op):
        self._skip_helper(op, device, dtype)
        self._grad_test_helper(device, dtype, op, op.get_op(), check_forward_ad=True, check_backward_ad=False, check_batched_grad=False)

    @ops(unary_ufuncs[:2], dtypes=OpDTypes.any_one)
    def test_any(self, device, dtype, op):
        assert dtype is torch.float32

    @ops(unary_ufuncs[:2], dtypes=OpDTypes.none)
    def test_none(self, device, op):
        pass

instantiate_device_type_tests(TestIt, globals())
run_tests()
"""


def test_a_generated_file_runs(tmp_path):
    path = tmp_path / "test_generated.py"
    path.write_text(GENERATED)
    done = subprocess.run([sys.executable, "-m", "wengert", "run", str(path), "-v"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in (
        "test_fn_grad_addmm_cpu_complex128",
        "test_fn_gradgrad_nn_functional_gelu_cpu_float64",
        "test_any_abs_cpu_float32",
        "test_none_abs_cpu ",
    ):
        assert name in done.stderr
    assert "test_fn_grad_unique_cpu_float64 (__main__.TestItCPU.test_fn_grad_unique_cpu_float64) ... skipped 'no gradient'" in done.stderr
