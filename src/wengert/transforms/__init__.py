"""Transformations of functions: forward mode, ``vmap``, and what ``func`` needs of autograd; what runs, and refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..graph.modes import Scope, add_field, transforms

if TYPE_CHECKING:
    from ..graph.modes import Modes

add_field("levels")  # the levels of forward differentiation in force, outermost first: see ``forward_mode``

NO_HOOKS = ("torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
    "your use case.")
_INSTEAD = (
    "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to use the "
    "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call"
)
NO_REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
    f"{_INSTEAD} requires_grad_() outside of a function being transformed instead."
)
NO_RETAIN_GRAD = (f"You are attempting to call Tensor.retain_grad() {_INSTEAD} retain_grad() outside of a function "
    "being transformed instead.")
NO_BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms."
)
_REFUSED = {
    "requires_grad_": NO_REQUIRES_GRAD, "retain_grad": NO_RETAIN_GRAD, "backward": NO_BACKWARD,
    "data": "mutating directly with `.data` inside functorch transform is not allowed."}


class Running(NamedTuple):
    """How many transformations are running, and how many of them take gradients."""

    number: int
    reverse: int

    def refuse(self, what: str) -> NoReturn:
        """Say that the user may not call ``what`` of a tensor here."""
        raise RuntimeError(_REFUSED[what])


class transforming(Scope):
    """Inside, a function runs that is transformed by ``torch.func``. ``reverse``: by one that takes gradients.

    Raises:
        RuntimeError: saved tensors are hooked, and gradients would be taken.
    """

    _put = staticmethod(transforms.set)

    def __init__(self, reverse: bool = False) -> None:
        self.reverse = reverse

    def _states(self, now: Modes) -> Any:
        if self.reverse and now.saved_tensor_hooks is not None:
            raise RuntimeError(NO_HOOKS)
        before = transforms.get()
        return Running(before[0] + 1, before[1] + self.reverse), before, None
