"""Attributes of tensors: which can be set or deleted, and what they show."""

from __future__ import annotations

from tests.makers import cases, refuses


def _set(name, value):
    return lambda torch: setattr(torch.ones(2, requires_grad=True) * 1, name, value)


def _del(name):
    return lambda torch: delattr(torch.ones(2, requires_grad=True), name)


def _grad(make):
    return lambda torch: setattr(torch.ones(2, 2, requires_grad=True), "grad", make(torch))


@cases([
    *((name, _set(name, 1), AttributeError, f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")
      for name in ("grad_fn", "is_leaf", "output_nr", "retains_grad", "shape", "dtype")),
    ("del grad_fn", _del("grad_fn"), AttributeError,
        "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable"),
    ("del hooks", _del("_post_accumulate_grad_hooks"), RuntimeError,
        "Deletion of _post_accumulate_grad_hooks not allowed!"),
    ("device", _grad(lambda torch: torch.ones(2, 2, device="meta")), RuntimeError,
     "attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'. Please ensure that "
     "the gradient and the tensor are on the same device"),
    ("layout", _grad(lambda torch: torch.ones(2, 2).to_sparse_csr()), RuntimeError,
     "attempting to assign a gradient to a tensor that has data of a different type"),
])
def test_attributes_that_cannot_be_set(torch, run, error, message):
    refuses(torch, run, error, message)


def test_a_sparse_gradient_may_be_assigned_to_a_dense_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2).to_sparse()
    assert x.grad.is_sparse


def test_hooks_after_accumulation_are_seen(torch):
    x = torch.ones(2, requires_grad=True)
    assert x._post_accumulate_grad_hooks is None
    handle = x.register_post_accumulate_grad_hook(lambda p: None)
    assert len(x._post_accumulate_grad_hooks) == 1
    handle.remove()
    assert not x._post_accumulate_grad_hooks
