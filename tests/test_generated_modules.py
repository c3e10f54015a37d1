"""``module_db``, ``optim_db`` and the rows of ``common_nn``: generated tests of modules and optimizers run."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

import wengert as torch
from wengert.testing._internal import common_nn
from wengert.testing._internal.common_modules import module_db
from wengert.testing._internal.common_optimizers import optim_db
from wengert.testing._internal.common_utils import freeze_rng_state

FILE = """
import unittest
from copy import deepcopy
import torch
from torch import nn
from torch.testing._internal.common_device_type import instantiate_device_type_tests, onlyCPU
from torch.testing._internal.common_modules import module_db, modules, TrainEvalMode
from torch.testing._internal.common_nn import NNTestCase, NewModuleTest, CriterionTest, module_tests, criterion_tests, get_new_module_tests
from torch.testing._internal.common_nn import _test_module_empty_input, _test_bfloat16_ops, ctcloss_reference, loss_reference_fns
from torch.testing._internal.common_optimizers import optim_db, optims, TensorTracker, OptimizerErrorEnum
from torch.testing._internal.common_optimizers import _get_optim_inputs_including_global_cliquey_kwargs
from torch.testing._internal.common_utils import TestCase, run_tests, parametrize, get_function_arglist
from torch.testing._internal.jit_utils import JitTestCase

class TestModules(TestCase):
    @modules([m for m in module_db if m.name in ("nn.Linear", "nn.BatchNorm1d")])
    def test_forward(self, device, dtype, module_info, training):
        for given in module_info.module_inputs_func(module_info, device=device, dtype=dtype, requires_grad=True, training=training):
            m = module_info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).to(dtype)
            m.train(training)
            out = m(*given.forward_input.args, **given.forward_input.kwargs)
            self.assertEqual(out.dtype, dtype)
            out.sum().backward()

    @modules([m for m in module_db if m.name == "nn.Linear"], train_eval_mode=TrainEvalMode.eval_only, allowed_dtypes=[torch.double])
    def test_eval(self, device, dtype, module_info, training):
        self.assertFalse(training)

class TestOptim(TestCase):
    @parametrize("flag", [True, False])
    @optims(optim_db, dtypes=[torch.float32])
    def test_steps(self, device, dtype, optim_info, flag):
        tracker = TensorTracker()
        for run in range(2):
            for given in _get_optim_inputs_including_global_cliquey_kwargs(device, dtype, optim_info, skip=("differentiable",)):
                p = nn.Parameter(torch.ones(2, 3, device=device, dtype=dtype))
                o = optim_info.optim_cls([p], **given.kwargs)
                def closure():
                    if optim_info.only_supports_sparse_grads:
                        p.grad = torch.sparse_coo_tensor([[0]], torch.ones(1, 3), (2, 3))
                        return torch.tensor(0.0)
                    o.zero_grad()
                    loss = p.pow(2).sum()
                    loss.backward()
                    return loss.detach()
                if optim_info.step_requires_closure:
                    o.step(closure)
                else:
                    closure()
                    o.step()
                tracker.add(p) if run == 0 else tracker.pop_check_set(p, self)
        self.assertTrue(tracker.all_popped())

    @onlyCPU
    @optims(optim_db)
    def test_errors(self, device, optim_info):
        for given in optim_info.optim_error_inputs_func(device=device, dtype=torch.float32):
            params, kwargs = given.optimizer_error_input.params, given.optimizer_error_input.kwargs
            params = [nn.Parameter(torch.ones(2, 3))] if params is None else params
            if given.error_type is UserWarning:
                with self.assertWarnsRegex(given.error_type, given.error_regex):
                    optim_info.optim_cls(params, **kwargs)
            else:
                with self.assertRaisesRegex(given.error_type, given.error_regex):
                    optim_info.optim_cls(params, **kwargs)

class TestNN(NNTestCase):
    def test_empty(self):
        _test_module_empty_input(self, nn.ReLU(), torch.randn(0, 3))
        _test_module_empty_input(self, nn.Linear(3, 2), torch.randn(0, 3), check_size=False)
        _test_bfloat16_ops(self, nn.Softmax(dim=1), "cpu", inp_dims=(4, 5), prec=1e-2)

    def test_ctc(self):
        torch.manual_seed(0)
        p = torch.randn(6, 3, 5, dtype=torch.double).log_softmax(-1)
        targets, lengths = torch.randint(1, 5, (3, 3)), (torch.tensor([6, 5, 6]), torch.tensor([2, 3, 1]))
        for reduction in ("none", "sum", "mean"):
            ours = nn.functional.ctc_loss(p, targets, *lengths, reduction=reduction)
            self.assertEqual(ours, ctcloss_reference(p, targets, *lengths, reduction=reduction))

    def test_references(self):
        x, y = torch.randn(4, 3, dtype=torch.double), torch.randn(4, 3, dtype=torch.double)
        for name in ("SmoothL1Loss", "HuberLoss", "KLDivLoss"):
            y = y.abs() if name == "KLDivLoss" else y
            for reduction in ("none", "sum", "mean"):
                expected = loss_reference_fns[name](x, y, reduction=reduction)
                self.assertEqual(getattr(nn, name)(reduction=reduction)(x, y), expected)
        k = torch.tensor([0, 2, 1, 0])
        self.assertEqual(nn.CrossEntropyLoss(ignore_index=2)(x, k), loss_reference_fns["CrossEntropyLoss"](x, k, ignore_index=2))

    def test_steps(self):
        m, x = nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
        y = self._forward(m, x)
        self.assertEqual(self._backward(m, x, y, torch.ones_like(y)), m.weight.sum(0).expand(4, 3).detach())
        self.assertEqual(self._get_parameters(m)[1][1], torch.full((2,), 4.0))
        self._zero_grad_parameters(m)
        self.assertEqual(m.bias.grad, torch.zeros(2))
        self.check_jacobian(m, torch.randn(4, 3, dtype=torch.double))

class TestScripted(JitTestCase):
    def test_script(self):
        torch.jit.script(lambda x: x)

def add(test):
    assert not hasattr(TestNN, test.get_name())
    get_function_arglist(test.test_cuda)
    setattr(TestNN, test.get_name(), lambda self, test=test: test(self))
    setattr(TestNN, test.get_name() + "_cuda", lambda self, test=test: test.test_cuda(self))

for kind, rows in ((NewModuleTest, module_tests + get_new_module_tests()), (CriterionTest, criterion_tests)):
    for row in rows:
        if "constructor" not in row:
            row["constructor"] = getattr(nn, row.pop("module_name"))
        add(kind(**row))
instantiate_device_type_tests(TestModules, globals())
instantiate_device_type_tests(TestOptim, globals())
if __name__ == "__main__":
    run_tests()
"""


def test_a_file_of_generated_tests(tmp_path):
    path = tmp_path / "test_file.py"
    path.write_text(FILE)
    done = subprocess.run([sys.executable, "-m", "wengert", "run", str(path), "-v"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    for name in ("test_forward_nn_BatchNorm1d_eval_mode_cpu_float64", "test_forward_nn_Linear_cpu_float32", "test_eval_nn_Linear_cpu_float64",
                 "test_steps_flag_True_Adam_cpu_float32",
                 "test_errors_SGD_cpu ", "test_L1Loss_same_size "):  # fmt: skip
        assert re.search(name, done.stderr), name
    assert re.search("test_script .*skipped 'programs are not compiled", done.stderr)
    assert re.search(r"test_Linear_cuda .*skipped 'Excluded from CUDA tests'", done.stderr)


@pytest.mark.parity
@pytest.mark.parametrize("info", module_db, ids=lambda m: m.name)
def test_modules_are_called_as_on_pytorch(info):
    theirs = importlib.import_module("torch")
    for training in (True, False):
        for given in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training):
            m = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).double().train(training)
            out = m(*given.forward_input.args, **given.forward_input.kwargs)
            other = getattr(theirs.nn, info.name[3:])(*given.constructor_input.args, **given.constructor_input.kwargs).double().train(training)
            other.load_state_dict({k: theirs.from_numpy(v.numpy().copy()) for k, v in m.state_dict().items()})
            args = [theirs.from_numpy(a.detach().numpy()) if isinstance(a, torch.Tensor) else a for a in given.forward_input.args]
            if info.train_and_eval_differ and training and m.state_dict():  # the buffers have been updated already
                continue
            for a, b in zip(out if isinstance(out, tuple) else [out], other(*args) if isinstance(out, tuple) else [other(*args)]):
                if isinstance(a, torch.Tensor):
                    assert a.shape == tuple(b.shape) and theirs.allclose(theirs.from_numpy(a.detach().numpy()).to(b.dtype), b)


@pytest.mark.parity
def test_optimizers_have_pytorch_s_facts():
    theirs = importlib.import_module("torch.testing._internal.common_optimizers")
    facts = ("supported_impls", "supports_sparse", "only_supports_sparse_grads", "has_capturable_arg", "step_requires_closure",
             "supports_param_groups", "supports_complex")  # fmt: skip
    known = {info.name: info for info in theirs.optim_db}
    for info in optim_db:
        assert {f: getattr(info, f) for f in facts} == {f: getattr(known[info.name], f) for f in facts}, info.name
    assert {*known} - {info.name for info in optim_db} == {"Muon"}  # which takes matrices alone


def test_single_samples():
    torch.manual_seed(0)
    m, x = torch.nn.Linear(3, 2), torch.randn(3)
    assert torch.allclose(common_nn.single_batch_reference_fn(x, None, m), m(x))
    inner, _, whole = common_nn._create_basic_net()
    assert [n for n, _ in whole.named_parameters()] == ["0.dummy_param", "0.l1.layer_dummy_param"] and len(list(inner.buffers())) == 1
    with freeze_rng_state():
        a = torch.randn(2)
    assert torch.equal(a, torch.randn(2))
