"""Gradients of operators, checked sample by sample: what PyTorch's generated tests are built from."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...tensor import device as device_class
from ...tensor.tensor import Tensor
from .common_utils import TestCase, gradcheck, gradgradcheck, is_iterable_of_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TestGradients"]


class TestGradients(TestCase):
    """A test case with checks of an ``OpInfo``'s first and second derivatives."""

    exact_dtype = True

    def _get_safe_inplace(self, inplace_variant: Callable[..., Any]) -> Callable[..., Any]:
        """The in-place function, on a copy: leaves that require a gradient may not be written to."""

        @functools.wraps(inplace_variant)
        def on_copy(t: Any, *args: Any, **kwargs: Any) -> Any:
            return inplace_variant(t.clone(), *args, **kwargs)

        return on_copy

    def _check_helper(
        self, device: Any, dtype: Any, op: Any, variant: Any, check: str, *, check_forward_ad: bool = False, check_backward_ad: bool = True,
        check_batched_grad: bool | None = None, check_batched_forward_grad: bool = False,
    ) -> None:  # fmt: skip
        """Check ``variant`` of ``op`` on all samples.

        ``check``: "gradcheck", "bwgrad_bwgrad" (second derivatives) or "fwgrad_bwgrad" (forward over reverse).
        """
        if check not in ("gradcheck", "bwgrad_bwgrad", "fwgrad_bwgrad"):
            raise AssertionError(f"check must be one of ('gradcheck', 'bwgrad_bwgrad', 'fwgrad_bwgrad'), got {check!r}")
        if variant is None:
            self.skipTest("Skipped! Variant not implemented.")
        if not op.supports_dtype(dtype, device_class(device).type):
            self.skipTest(f"Skipped! {op.name} does not support dtype {dtype}")
        inplace = getattr(variant, "__wrapped__", variant) is op.get_inplace()
        conjugated = op.test_conjugated_samples and dtype.is_complex
        for sample in op.sample_inputs(device, dtype, requires_grad=True, include_conjugated_inputs=conjugated):
            if sample.broadcasts_input and inplace:
                continue
            inputs, fn = _of_tensors(op, variant, sample)
            for t in inputs:
                self.assertIsNone(t.grad, "A sampled input has a gradient before running autograd: is it in two samples?")
            common = {"check_grad_dtypes": True, "nondet_tol": op.gradcheck_nondet_tol, "fast_mode": op.gradcheck_fast_mode}
            if common["fast_mode"] is None:
                del common["fast_mode"]
            if check == "gradcheck":
                batched = op.check_batched_grad if check_batched_grad is None else check_batched_grad
                passed = gradcheck(
                    fn, inputs, check_batched_grad=batched, check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad,
                    check_undefined_grad=True, check_batched_forward_grad=check_batched_forward_grad, **common,
                )  # fmt: skip
                self.assertTrue(passed)
                continue
            self.assertFalse(check_forward_ad, msg="Cannot run forward AD check for gradgradcheck")
            for gaps in (False, True):
                options = {"gen_non_contig_grad_outputs": gaps, "check_batched_grad": op.check_batched_gradgrad, **common}
                if check == "fwgrad_bwgrad":
                    options |= {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_batched_grad": False, "check_undefined_grad": False}
                self.assertTrue(gradgradcheck(fn, inputs, **options))

    def _grad_test_helper(self, device: Any, dtype: Any, op: Any, variant: Any, **options: Any) -> None:
        """``_check_helper`` of the first derivatives."""
        self._check_helper(device, dtype, op, variant, "gradcheck", **options)

    def _skip_helper(self, op: Any, device: Any, dtype: Any) -> None:
        """Skip the test of an operator that has no derivative for that dtype."""
        if dtype not in op.supported_backward_dtypes(device_class(device).type):
            self.skipTest("Skipped! Op doesn't support autograd for this dtype.")
        if not op.supports_autograd and not op.supports_forward_ad:
            self.skipTest("Skipped! autograd not supported.")


def _of_tensors(op: Any, variant: Any, sample: Any) -> tuple[tuple[Any, ...], Callable[..., Any]]:
    """The tensors of a sample that require a gradient, and ``variant`` as a function of these alone."""
    places: list[tuple[Any, ...]] = [(sample.input, None), *((a, None) for a in sample.args), *((v, k) for k, v in sample.kwargs.items())]

    def wanted(t: Any) -> bool:
        return isinstance(t, Tensor) and t.requires_grad

    inputs = tuple(t for value, _ in places for t in (value if is_iterable_of_tensors(value) else (value,)) if wanted(t))

    def fn(*given: Any) -> Any:
        supply = iter(given)
        args, kwargs = [], {}
        for value, name in places:
            if is_iterable_of_tensors(value):
                value = [next(supply) if wanted(t) else t for t in value]
            elif wanted(value):
                value = next(supply)
            if name is None:
                args.append(value)
            else:
                kwargs[name] = value
        output = op.gradcheck_wrapper(variant, *args, **kwargs)
        return output if sample.output_process_fn_grad is None else sample.output_process_fn_grad(output)

    return inputs, fn
