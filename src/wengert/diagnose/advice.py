"""What errors of autograd mean, in a sentence or two, where no diagnosis knows more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: (part of the message, what it means and what to do).
_TABLE: tuple[tuple[str, str], ...] = (
    ("does not require grad and does not have a grad_fn",
        "backward() begins at a tensor without a history: nothing that it was computed from requires a gradient, "
        "or its history was cut on the way (detach(), .data, item(), numpy(), torch.tensor(), no_grad(), "
        "argmax())."),
    ("backward through the graph a second time",
        "A backward() has walked this graph before and freed its saved values. Call backward() once per graph; "
        "detach() what is carried from one iteration to the next; retain_graph=True only if the same graph is to "
        "be walked twice."),
    ("modified by an inplace operation",
        "A value that the backward needs was overwritten after the forward pass had saved it: by an in-place "
        "operation, or by an optimizer's step before the backward()."),
    ("a leaf Variable that requires grad",
        "A parameter is written to in place where operations are recorded. Update it under torch.no_grad(), or "
        "compute a new value instead."),
    ("is a view and is being modified inplace",
        "An in-place write goes to one of several views that one operation made. Use the out-of-place form, or "
        "write to a clone()."),
    ("grad can be implicitly created only for scalar outputs",
        "backward() begins at a tensor of several elements. Reduce it first, with mean() or sum(), or give the "
        "gradient to begin with."),
    ("appears to not have been used in the graph",
        "grad() is asked for the gradient of a tensor that the outputs were not computed from: it may have been "
        "replaced by a copy, detached, or reassigned. allow_unused=True gives None for it."),
    ("Can't call numpy() on Tensor that requires grad",
        "NumPy does not record operations, so the history would end here. Use x.detach().numpy() where no "
        "gradient is needed; what shall be differentiated must stay a tensor."),
    ("can't optimize a non-leaf Tensor",
        "The optimizer was given a tensor that is the result of an operation, as of x.to(...) or x * 2 on one "
        "that requires a gradient. Make the leaf last: x = (...).detach().requires_grad_()."),
    ("can require gradients",
        "Integers and booleans have no gradients. Make the tensor of a floating type first."),
    ("you can only change requires_grad flags of leaf variables",
        "The tensor is the result of an operation. To have its value without its history, use x.detach()."),
    ("Inference tensors cannot be saved",
        "A tensor that was made under torch.inference_mode() goes into a computation that is to be "
        "differentiated. Make it under torch.no_grad() instead, or use a clone() of it."),
    ("inference tensor outside InferenceMode",
        "A tensor that was made under torch.inference_mode() can't be changed outside of it. Make it under "
        "torch.no_grad() instead, or use a clone() of it."),
    ("support the deepcopy protocol",
        "Only leaves can be copied by copy.deepcopy(). Copy x.detach(), or copy before results with a history are "
        "stored in the object."),
    ("A different number of tensors was saved",
        "A checkpointed function did other operations when backward() ran it again. It must not depend on "
        "counters, caches or random numbers from outside."),
    ("different metadata than during the forward pass",
        "A checkpointed function computed values of other shapes or types when backward() ran it again. It must "
        "not depend on counters, caches or random numbers from outside."),
    ("can't retain_grad on Tensor that has requires_grad=False",
        "The tensor has no history, so it will get no gradient."),
    ("cannot register a hook on a tensor that doesn't require gradient",
        "The tensor has no history, so no gradient will arrive at it."),
    ("Trying to use a saved tensor that has been detached in-place",
        "detach_() took a tensor out of its graph that a node has saved. Use detach(), and keep the result under "
        "another name."),
    ("derivative for",
        "The operation has no derivative here. Compute its gradient by another formula, or in a custom "
        "torch.autograd.Function."),
)


def advice(error: BaseException) -> str:
    """What an error means and what to do; empty if it is none of autograd's."""
    text = str(error)
    for part, meaning in _TABLE:
        if part in text and (part != "derivative for" or "is not implemented" in text):
            return meaning
    return ""


def causes(error: BaseException) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or in the handling of."""
    found: BaseException | None = error
    for _ in range(5):
        if found is None:
            return
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
