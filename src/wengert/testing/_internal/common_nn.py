"""Test cases for modules, made from rows that say how to make a module and what to call it with."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

from ... import nn
from ...autograd.gradcheck import gradcheck, gradgradcheck
from ...graph import no_grad
from ...nn.modules.module import Module
from ...tensor.surface import PLACES
from ...tensor.tensor import Tensor
from .common_modules import module_db
from .common_utils import TestCase
from .common_utils import freeze_rng_state as freeze_rng_state
from .families import resolve

__all__ = [
    "CriterionTest", "InputVariableMixin", "ModuleTest", "NNTestCase", "NewModuleTest", "TestBase", "criterion_tests", "get_new_module_tests",
    "loss_reference_fns", "module_tests", "single_batch_reference_fn",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


class NNTestCase(TestCase):
    """A test case with the steps of a training loop, one by one."""

    def _forward(self, module: Any, input: Any) -> Any:
        with freeze_rng_state():
            return module(*input) if isinstance(input, tuple) else module(input)

    def _backward(self, module: Any, input: Any, output: Any, grad_output: Any, create_graph: bool = False) -> Any:
        output.backward(grad_output, retain_graph=True, create_graph=create_graph)
        return None if input.grad is None else input.grad.data

    def _forward_criterion(self, criterion: Any, input: Any, target: Any, extra_args: Any = None) -> Any:
        inputs = input if isinstance(input, tuple) else (input,)
        return criterion(*inputs, target, *(extra_args or ()))

    def _backward_criterion(self, criterion: Any, input: Any, output: Any, target: Any, gradOutput: Any = None, extra_args: Any = None) -> Any:
        inputs = input if isinstance(input, tuple) else (input,)
        for i in inputs:
            if i.grad is not None:
                i.grad.data.zero_()
        result = criterion(*inputs, target, *(extra_args or ()))
        result.backward(PLACES["torch"]["ones"](()).type_as(result) if gradOutput is None else gradOutput)
        return tuple(i.grad.data for i in inputs) if isinstance(input, tuple) else input.grad.data

    def _zero_grad_parameters(self, module: Any) -> None:
        for p in module.parameters():
            if p.grad is not None:
                with no_grad():
                    p.grad.zero_()
                p.grad.detach_()

    def _get_parameters(self, module: Any) -> tuple[list[Any], list[Any]]:
        for p in module.parameters():
            if p.grad is None:
                p.grad = PLACES["torch"]["zeros_like"](p)
        return list(module.parameters()), [p.grad for p in module.parameters()]

    def check_jacobian(self, module: Any, input: Any, jacobian_input: bool = True) -> None:
        """The gradients for the inputs and the parameters are the slopes that differences show."""
        inputs = tuple(t for t in (input if isinstance(input, tuple) else (input,)) if t.is_floating_point())
        wanted = [*(t.detach().double().requires_grad_() for t in inputs if jacobian_input)]
        params = list(module.double().parameters())

        def call(*_: Any) -> Any:
            return module(*(wanted if jacobian_input else inputs))

        self.assertTrue(gradcheck(call, (*wanted, *params), check_batched_grad=False))


class TestBase:
    """One test of a module. ``constructor_args``, ``input_size``, ``input_fn``, ``target_fn`` …: what it is made with and called with."""

    _required_arg_names = frozenset({"constructor_args", "input", "extra_args"})

    def __init__(self, constructor: Any, desc: str = "", reference_fn: Any = None, fullname: str | None = None, **kwargs: Any) -> None:
        self.constructor, self.desc, self.reference_fn, self.fullname = constructor, desc, reference_fn, fullname
        for name in ("constructor_args", "extra_args"):
            kwargs.setdefault(name, ())
        self._extra_kwargs = kwargs
        self._arg_cache: dict[str, Any] = {}

    def get_name(self) -> str:
        """The name of the test."""
        if self.fullname is not None:
            return "test_" + self.fullname
        return f"test_{self.constructor.__name__}" + (f"_{self.desc}" if self.desc else "")

    def _get_arg(self, name: str, unpack: bool) -> Any:
        if name not in self._arg_cache:
            given = self._extra_kwargs
            if name + "_fn" in given:
                value = given[name + "_fn"]()
            elif name in given:
                value = given[name]
            elif name + "_size" in given:
                value = _of_sizes(given[name + "_size"])
            else:
                raise ValueError(f"{self.get_name()}: Specify {name} by a value, a function to generate it, or its size!")
            self._arg_cache[name] = value
        value = self._arg_cache[name]
        return tuple(value) if unpack and isinstance(value, (list, tuple)) else (value,) if unpack else value

    def _get_input(self, unpack: bool = True) -> Any:
        return self._get_arg("input", unpack)

    constructor_args = property(lambda self: self._get_arg("constructor_args", True))
    extra_args = property(lambda self: self._get_arg("extra_args", True))

    def _module(self) -> Any:
        return self.constructor(*self.constructor_args, **self._extra_kwargs.get("constructor_kwargs", {}))

    def __call__(self, test_case: Any) -> None:
        raise NotImplementedError


def _of_sizes(sizes: Any) -> Any:
    if isinstance(sizes, list):
        return [_of_sizes(s) for s in sizes]
    return PLACES["torch"]["randn"](tuple(sizes))


class ModuleTest(TestBase):
    """The module's result is the reference's, it survives being saved, and its gradients are right, also the second ones."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.jacobian_input = kwargs.get("jacobian_input", True)
        self.should_test_cuda = self.with_tf32 = self.check_half = self.check_bfloat16 = self.check_complex = False
        self.check_gradgrad, self.check_eval = kwargs.get("check_gradgrad", True), kwargs.get("check_eval", False)
        self.test_cpu, self.default_dtype, self.tf32_precision = kwargs.get("test_cpu", True), kwargs.get("default_dtype"), 0.001

    def __call__(self, test_case: Any) -> None:
        module = self._module().double()
        inputs = tuple(t.detach().double() if isinstance(t, Tensor) and t.is_floating_point() else t for t in self._get_input())
        if self.check_eval:
            module.eval()
        if self.reference_fn is not None:
            out = test_case._forward(module, inputs)
            expected = self.reference_fn(*copy.deepcopy(inputs), [p.detach() for p in module.parameters()], module)
            test_case.assertEqual(out, expected, exact_dtype=False)
        again = pickle.loads(pickle.dumps(module))
        test_case.assertEqual(test_case._forward(again, inputs), test_case._forward(module, inputs))
        self._check_gradients(test_case, module, inputs)

    def _check_gradients(self, test_case: Any, module: Any, inputs: Any) -> None:
        wanted = [t.detach().clone().requires_grad_() for t in inputs if isinstance(t, Tensor) and t.is_floating_point() and self.jacobian_input]
        params = tuple(module.parameters())

        def call(*given: Any) -> Any:
            supply = iter(given)
            row = [next(supply) if isinstance(t, Tensor) and t.is_floating_point() and self.jacobian_input else t for t in inputs]
            with freeze_rng_state():
                out = module(*row)
            return out[0] if isinstance(out, tuple) else out

        test_case.assertTrue(gradcheck(call, (*wanted, *params), check_batched_grad=False, fast_mode=True))
        if self.check_gradgrad:
            test_case.assertTrue(gradgradcheck(call, (*wanted, *params), check_batched_grad=False, fast_mode=True))

    def test_cuda(self, test_case: Any) -> None:
        """Skipped: there is no CUDA device."""
        raise unittest.SkipTest("Excluded from CUDA tests")


class InputVariableMixin:
    """Inputs that require a gradient."""

    def _get_input(self, unpack: bool = True) -> Any:
        inputs = TestBase._get_input(self, unpack)  # type: ignore[arg-type]
        for t in inputs if isinstance(inputs, tuple) else (inputs,):
            if isinstance(t, Tensor) and t.is_floating_point():
                t.requires_grad_()
        return inputs


class NewModuleTest(InputVariableMixin, ModuleTest):  # type: ignore[misc]
    """``ModuleTest`` with inputs that require a gradient."""


class CriterionTest(InputVariableMixin, TestBase):  # type: ignore[misc]
    """The loss is the reference's, and its gradients are right."""

    test_cpu, with_tf32, check_half, check_bfloat16, check_complex, should_test_cuda = True, False, False, False, False, False
    default_dtype: Any = None

    target = property(lambda self: self._get_arg("target", False))

    def __call__(self, test_case: Any) -> None:
        module = self._module().double()
        inputs = tuple(t.detach().double() if t.is_floating_point() else t for t in self._get_input())
        targets = self.target if isinstance(self.target, tuple) else (self.target,)
        if self.reference_fn is not None:
            expected = self.reference_fn(*copy.deepcopy(inputs), *copy.deepcopy(targets), *self.extra_args, module)
            test_case.assertEqual(module(*inputs, *targets, *self.extra_args), expected, exact_dtype=False)
        wanted = tuple(t.requires_grad_() for t in inputs if t.is_floating_point())
        test_case.assertTrue(gradcheck(lambda *given: module(*given, *targets, *self.extra_args), wanted, check_batched_grad=False))

    def test_cuda(self, test_case: Any, dtype: Any = None, extra_args: Any = None) -> None:
        """Skipped: there is no CUDA device."""
        raise unittest.SkipTest("Excluded from CUDA tests")


# -- rows ---------------------------------------------------------------------------------------------------------------

module_tests: list[dict[str, Any]] = [
    {"module_name": "Linear", "constructor_args": (10, 8), "input_size": (4, 10),
     "reference_fn": lambda i, p, _: PLACES["torch"]["mm"](i, p[0].t()) + p[1].view(1, -1).expand(4, 8)},
    {"module_name": "Linear", "constructor_args": (10, 8, False), "input_size": (4, 10), "desc": "no_bias",
     "reference_fn": lambda i, p, _: PLACES["torch"]["mm"](i, p[0].t())},
    {"module_name": "RReLU", "input_size": (1, 2, 2), "check_gradgrad": False, "check_eval": True},
    {"module_name": "Flatten", "input_size": (2, 3, 4, 5), "reference_fn": lambda i, *_: i.reshape(2, -1)},
    {"module_name": "CrossMapLRN2d", "constructor_args": (5, 5e-3, 1e-3, 2), "input_size": (2, 3, 6, 6), "check_gradgrad": False},
]  # fmt: skip
module_tests = [row for row in module_tests if hasattr(nn, row["module_name"])]
criterion_tests: list[dict[str, Any]] = [
    {"module_name": name, "input_size": (5, 4), "target_fn": lambda: PLACES["torch"]["randn"]((5, 4)).double(), "desc": "same_size"}
    for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")
] + [
    {"module_name": "CrossEntropyLoss", "input_size": (5, 4), "target_fn": lambda: PLACES["torch"]["randint"](0, 4, (5,)), "desc": "classes"},
]  # fmt: skip


def get_new_module_tests() -> list[dict[str, Any]]:
    """A row for each module of ``module_db`` that is called with one tensor."""
    from .opinfo.sampling import Spec

    rows = []
    for info in module_db:
        made, called = info._samples[0]
        if len(called.args) == 1 and called.args[0].kind == "any" and not any(isinstance(a, Spec) for a in made.args):
            given = {"constructor": info.module_cls, "constructor_args": made.args, "constructor_kwargs": made.options, "desc": "from_db"}
            rows.append({**given, "input_size": called.args[0].shape, "check_gradgrad": False})
    return rows


def _reduced(values: Any, reduction: str) -> Any:
    return values.mean() if reduction == "mean" else values.sum() if reduction == "sum" else values


def _nll(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """By definition, for a matrix of log-probabilities."""
    found, total = [], 0.0
    for row, k in zip(input, target.tolist()):
        w = 0.0 if k == ignore_index else 1.0 if weight is None else float(weight[k])
        found.append(-w * row[k] if w else row[0] * 0)
        total += w
    values = PLACES["torch"]["stack"](found)
    return values.sum() / total if reduction == "mean" else _reduced(values, reduction)


loss_reference_fns: dict[str, Any] = {
    "KLDivLoss": lambda i, t, reduction="mean", log_target=False: _reduced(
        t.exp() * (t - i) if log_target else PLACES["torch"]["xlogy"](t, t) - t * i, reduction
    ),
    "NLLLoss": _nll,
    "SmoothL1Loss": lambda i, t, reduction="mean", beta=1.0: _reduced(
        PLACES["torch"]["where"]((i - t).abs() < beta, (i - t) ** 2 / (2 * beta), (i - t).abs() - beta / 2), reduction
    ),
    "HuberLoss": lambda i, t, reduction="mean", delta=1.0: _reduced(
        PLACES["torch"]["where"]((i - t).abs() < delta, (i - t) ** 2 / 2, delta * ((i - t).abs() - delta / 2)), reduction
    ),
    "HingeEmbeddingLoss": lambda i, t, margin=1.0, reduction="mean": _reduced(
        PLACES["torch"]["where"](t == 1, i, (margin - i).clamp(min=0)), reduction
    ),
    "MarginRankingLoss": lambda a, b, t, margin=0, reduction="mean": _reduced((-t * (a - b) + margin).clamp(min=0), reduction),
    "CrossEntropyLoss": lambda i, t, **options: _nll(i.log_softmax(1), t, **options),
}  # fmt: skip


def single_batch_reference_fn(input: Any, parameters: Any, module: Any) -> Any:
    """The module's result for one sample, through a batch of one."""

    def batched(x: Any) -> Any:
        return [t.unsqueeze(0) for t in x] if isinstance(x, (list, tuple)) else x.unsqueeze(0)

    with freeze_rng_state():
        return module(*batched(input)).squeeze(0) if isinstance(input, (list, tuple)) else module(batched(input)).squeeze(0)


def _test_module_empty_input(test_case: Any, module: Any, inp: Any, check_size: bool = True, inference: bool = False) -> None:
    """A batch of none goes through, forward and backward."""
    if not inference:
        inp.requires_grad_(True)
    out = module(inp)
    if not inference:
        out.backward(PLACES["torch"]["rand_like"](out))
    if check_size:
        test_case.assertEqual(out.size(), inp.size())
    if not inference:
        for p in module.parameters():
            if p.requires_grad:
                test_case.assertEqual(p.grad, PLACES["torch"]["zeros_like"](p.grad))
        test_case.assertEqual(inp.grad, PLACES["torch"]["zeros_like"](inp))


def _test_bfloat16_ops(test_case: Any, op: Any, device: Any, inp_dims: Any = (), prec: float = 1e-2, scale_factor: Any = None) -> None:
    """The result and the gradient in bfloat16 are those in float32, up to ``prec``."""
    one = PLACES["torch"]["randn"](tuple(inp_dims), device=device)
    if scale_factor is not None:
        one = one * scale_factor
    rows = []
    for x in (one.clone().requires_grad_(), one.bfloat16().requires_grad_()):
        y = op.to(x.dtype)(x)
        y.backward(PLACES["torch"]["ones_like"](y))
        rows.append((y.float(), x.grad.float()))
    for a, b in zip(*rows):
        test_case.assertEqual(a, b, atol=prec, rtol=prec)


def _create_basic_net() -> tuple[Any, Any, Any]:
    """A module in a module in a ``Sequential``: ``(the inner one, the outer one, all)``."""

    class Layer(Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer_dummy_param = nn.Parameter(PLACES["torch"]["empty"]((3, 5)))
            self.register_buffer("layer_dummy_buf", PLACES["torch"]["zeros"]((1, 3, 3, 7)))

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = Layer()
            self.dummy_param = nn.Parameter(PLACES["torch"]["empty"]((3, 5)))
            self.register_buffer("dummy_buf", PLACES["torch"]["zeros"]((7, 3, 3, 1)))

    inner, net = Layer(), Net()
    return inner, net, nn.Sequential(net)


def ctcloss_reference(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean"
) -> Any:  # fmt: skip
    """The loss by its recursion, one sequence at a time, in float64."""
    torch, losses, offset = PLACES["torch"], [], 0
    for i, (steps, length) in enumerate(zip(list(map(int, input_lengths)), list(map(int, target_lengths)))):
        labels = targets[i, :length].tolist() if targets.dim() > 1 else targets[offset : offset + length].tolist()
        offset += length
        path = [blank, *(k for label in labels for k in (label, blank))]
        p = log_probs[:steps, i].double().exp()
        alpha = [p[0, path[s]] if s < 2 else p[0, 0] * 0 for s in range(len(path))]
        for t in range(1, steps):
            before = alpha
            alpha = []
            for s, k in enumerate(path):
                total = before[s] + (before[s - 1] if s > 0 else 0)
                if s > 1 and k != blank and k != path[s - 2]:
                    total = total + before[s - 2]
                alpha.append(total * p[t, k])
        losses.append(-sum(alpha[-2:]).log().unsqueeze(0))
    output = torch["cat"](losses, 0)
    if reduction == "mean":
        counts = torch["ones_like"](output) * 1.0
        for i, length in enumerate(map(int, target_lengths)):
            counts[i] = max(length, 1)
        output = (output / counts).mean()
    elif reduction == "sum":
        output = output.sum()
    return output.to(log_probs.dtype)
