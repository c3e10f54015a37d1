"""Autograd metadata of a tensor: its gradient edge, its leaf accumulator, its history as a view.

Most tensors are plain results and carry only an edge. Leaves that require gradients, tensors with a ``.grad`` or hooks,
and views also have a ``Meta``.
"""

from __future__ import annotations

import weakref
from _thread import RLock  # what threading.RLock is, without importing threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.context import ContextVar
from ..arrays.errors import warn_once
from ..arrays.layouts import copied_in_order, gapless
from ..arrays.lazy import Lazy
from ..graph.modes import modes
from ..graph.node import HookDict, Node, NodeHooks, check_answer, leaf_sequence, registering
from ..ops.errors import broadcast_message
from ..ops.outs import OVERLAP, overlapping
from .namespaces import (
    ARRAY_OPS,
    TRACED_OPS,
    is_uniquely_referenced,
    is_uniquely_referenced_sparse,
    is_uniquely_referenced_tensor,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..functions.geometry import Geometry
    from ..graph.modes import Modes
    from ..graph.node import Edge
    from .tensor import Tensor
    from .views import View


class _Unversioned:
    """The version counter of inference tensors: they have none, so nothing that would need it can be recorded."""

    __slots__ = ()

    def __getitem__(self, i: int) -> int:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )

    def __setitem__(self, i: int, version: int) -> None:
        pass


INFERENCE_VERSION: Any = _Unversioned()


class Released(list):  # type: ignore[type-arg]
    """The version counter of an inference tensor that may be written to outside of inference mode.

    Such is what was detached from one there, and a normal tensor that was given the data of one. Its views are
    inference tensors.
    """

    __slots__ = ()


def new_version() -> list[Any]:
    """The version counter of a new tensor; inside of a ``torch.func`` derivative with its ``GradScope``."""
    m = modes()
    if m.inference:
        return INFERENCE_VERSION  # type: ignore[no-any-return]
    return [0] if m.grad_scope is None else [0, m.grad_scope]


def normal_version() -> list[Any]:
    """The version counter of a new tensor that is no inference tensor, wherever it is made."""
    scope = modes().grad_scope
    return [0] if scope is None else [0, scope]


_weak = weakref.ref


class Meta:
    """What only some tensors have.

    ``requires_grad``: of a leaf. ``grad_dtype``: of a leaf, the dtype that its gradient has; False: as its data; None:
    any. ``accumulator``: weak reference to the AccumulateGrad node in use. ``hooks``: on a leaf; they outlive its
    accumulators. ``retained``: whether the gradient of a non-leaf is kept. ``tangents``: of forward mode, by level.
    """

    __slots__ = ("__weakref__", "accumulator", "grad", "grad_dtype", "hooks", "post_hooks", "requires_grad", "retained",
        "tangents", "view")

    requires_grad: bool
    grad: Tensor | None
    grad_dtype: Any
    accumulator: Any
    hooks: HookDict | None
    post_hooks: HookDict | None
    view: View | None
    retained: bool
    tangents: dict[Any, Any] | None

    def __init__(self) -> None:
        self.grad = self.accumulator = self.hooks = self.post_hooks = self.view = self.tangents = None
        self.requires_grad = self.grad_dtype = self.retained = False


META_DEFAULTS: dict[str, Any] = {name: getattr(Meta(), name) for name in Meta.__slots__[1:]}


def meta_of(t: Tensor) -> Meta:
    """The tensor's Meta, made if it has none."""
    if t._wg_meta is None:
        with registering:
            if t._wg_meta is None:
                t._wg_meta = Meta()
    return t._wg_meta


def requires_grad(t: Geometry) -> bool:
    """Whether operations on ``t`` are recorded."""
    if t._wg_edge is not None:
        return True
    meta = t._wg_meta
    if meta is None:
        return False
    return meta.requires_grad or (meta.view is not None and requires_grad(meta.view.base))


TRACED_OPS.requires_grad = requires_grad


def edge_of(t: Tensor) -> Edge | None:
    """Where the gradient of ``t`` goes: the node that made it, its accumulator if it is a leaf, None if nowhere."""
    meta = t._wg_meta
    if meta is None:
        return t._wg_edge
    if meta.view is not None:
        refresh(t, meta.view)
        if t._wg_edge is not None:
            return t._wg_edge
        if not meta.requires_grad:
            return (_discard_gradient(t), 0) if requires_grad(meta.view.base) else None
    elif not meta.requires_grad:
        return t._wg_edge
    while True:
        alive = meta.accumulator
        node = None if alive is None else alive()
        if node is not None:
            return (node, 0)
        node = AccumulateGrad()
        node.variable, node.seq = t, leaf_sequence()
        array = t._wg_data
        node.shape, node.dtype = array.shape, array.dtype
        if meta.hooks is not None:
            node.hooks = NodeHooks({0: meta.hooks})
        if meta.grad_dtype is not False:
            node.dtype = meta.grad_dtype
        made = _weak(node)
        # Another thread may have made one meanwhile; between this look and the next line none can come in: nothing is
        # called.
        if meta.accumulator is alive:
            meta.accumulator = made
            return (node, 0)


class DiscardGradient(Node):
    """Where the gradient of a view ends that was made under ``no_grad`` and whose base requires one."""

    __slots__ = ()

    def raw(self, g: Any) -> tuple[()]:
        return ()

    def recorded(self, g: Any, needs: Any = None) -> tuple[()]:
        return ()


def _discard_gradient(t: Tensor) -> Node:
    node = DiscardGradient()
    node.edges, node.saved, node.hooks, node.seq = (), None, None, leaf_sequence()
    node.shape, node.dtype = t._wg_data.shape, t._wg_data.dtype
    return node


def all_inference(tensors: Iterable[Tensor | None]) -> bool:
    """Whether no normal tensor is among them: operators of inference tensors alone are not recorded, also outside."""
    return all(t is None or t._wg_vc is INFERENCE_VERSION for t in tensors)


def edge_among(t: Tensor, tensors: tuple[Tensor | None, ...]) -> Edge | None:
    """The edge of an inference tensor as one of the inputs of an operator."""
    return None if all_inference(tensors) else edge_of(t)


def refresh(t: Tensor, view: View) -> None:
    """Bring a view's edge up to date after its base, or another view of it, was written to.

    A base that was detached in place, or given other data, was not written to: the number of its version is the same.
    """
    if not view.version == t._wg_vc[0] and (t._wg_edge is not None or requires_grad(view.base)):  # noqa: SIM201
        record_anew(t, view)


record_anew: Any = None  # set by the module ``views``, which needs this one first


def retain(t: Tensor) -> None:
    """Arrange that the gradient of a non-leaf is kept in its ``.grad``."""
    meta = meta_of(t)
    node, nr = t._wg_edge  # type: ignore[misc]
    meta.retained = True
    me = weakref.ref(t)

    def keep(g: Tensor) -> None:
        tensor = me()
        while tensor is not None:
            meta = meta_of(tensor)
            old = meta.grad
            if old is not None:
                new = old + g
            else:
                # the class of a tensor that dispatches defines how it is copied
                computed = modes().grad or type(g) is not type(g)._wg_plain_class
                new = g.clone() if computed else type(g)._wg_wrap(g._wg_data.copy())
            with _leaf_lock:
                if meta.grad is old:  # no other thread has added its own meanwhile
                    meta.grad = new
                    break

    node._hooks().retain[nr] = keep


def move_retained(t: Tensor, old: Edge | None) -> None:
    """The gradient kept for ``t`` is that of its latest value, no longer the one that flows into ``old``."""
    if old is not None and old[0].hooks is not None:
        old[0].hooks.retain.pop(old[1], None)
    retain(t)


def run_post_accumulate_hooks(hooks: HookDict, leaf: Tensor) -> None:
    """Run a leaf's hooks of after the accumulation, which may change its ``.grad`` but have nothing to answer."""
    for hook in tuple(hooks.values()):
        answer = hook(leaf)
        if answer is not None and answer is not leaf:
            check_answer(hook, answer, leaf)
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


_leaf_lock = RLock()  # whoever comes in again is a finalizer, or the class of a gradient that dispatches


class AccumulateGrad(Node):
    """Adds the gradient to a leaf's ``.grad``.

    Its sequence number is that of the leaf's first use in the graph, so it is reached when the gradient is complete.
    """

    __slots__ = ("variable",)

    variable: Tensor
    edges = ()  # these three stand on the class: a node is made for every first use of a leaf
    saved = None
    hooks: NodeHooks | None = None
    # post-accumulate hooks run for every gradient that arrives, also an undefined one
    wants_undefined = True

    is_leaf = True

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # as PyTorch's

    def _hooks(self) -> NodeHooks:
        hooks = super()._hooks()
        hooks.pre.of_leaf()
        hooks.post.of_leaf()
        return hooks

    def raw(self, g: Any) -> tuple[()]:
        variable = self.variable
        meta = variable._wg_meta or meta_of(variable)
        if g is None:
            return self._run_post_hooks(meta)
        if not meta.requires_grad and not requires_grad(variable):  # any more
            return self._run_post_hooks(meta)
        with _leaf_lock:
            old = meta.grad
            # kept as it is
            if (old is None and type(g) is np.ndarray and g.strides == variable._wg_data.strides
                    and is_uniquely_referenced(g)):
                new = object.__new__(variable._wg_plain_class)
                new._wg_data, new._wg_edge, new._wg_meta, new._wg_vc = g, None, None, new_version()
                meta.grad = new
            elif old is not None:
                if old._wg_vc is INFERENCE_VERSION:
                    meta.grad = _into_inference(old, g)
                elif type(old._wg_data) is np.ndarray and (flags := old._wg_data.flags).writeable:
                    if not flags.forc and overlapping(old._wg_data):
                        raise RuntimeError(OVERLAP)
                    _add_in_place(old._wg_data, g)
                    old._wg_vc[0] += 1
                    if old._wg_data.strides != variable._wg_data.strides:
                        _advise(old._wg_data, variable._wg_data, "in place")
                elif type(old._wg_data) is Lazy:
                    old._wg_data[...] = old._wg_data + g
                    old._wg_vc[0] += 1
                elif old._wg_dispatches:  # its class does it
                    old.add_(ARRAY_OPS.wrap(g))
                elif old.is_sparse and type(g) is not np.ndarray:
                    old._wg_data = old._wg_data + g
                    old._wg_vc[0] += 1
                else:
                    meta.grad = ARRAY_OPS.wrap(old._wg_data + g)
            elif type(g) is np.ndarray:
                if not is_uniquely_referenced(g) or (
                        g.strides != variable._wg_data.strides and not _laid_out_as(g, variable._wg_data)):
                    g = _copied(g, variable._wg_data)
                meta.grad = type(variable)._wg_plain_class._wg_wrap(g)
            else:
                meta.grad = ARRAY_OPS.wrap(g if is_uniquely_referenced_sparse(g) else g.copy())
        if meta.post_hooks is not None:
            run_post_accumulate_hooks(meta.post_hooks, variable)
        return ()

    def _run_post_hooks(self, meta: Meta) -> tuple[()]:
        if meta.post_hooks is not None:
            run_post_accumulate_hooks(meta.post_hooks, self.variable)
        return ()

    def recorded(self, g: Any, needs: Any = None) -> tuple[()]:
        meta = meta_of(self.variable)
        if g is None:
            return self._run_post_hooks(meta)
        if not meta.requires_grad and not requires_grad(self.variable):
            return self._run_post_hooks(meta)
        while True:
            old = meta.grad
            m = modes()
            watched = bool(m.dispatch) or g._wg_dispatches
            plain = not (old is None or old.is_sparse or g.is_sparse)
            if old is None:
                new = g.detach() if watched and self._takes(g) else self._first(g)
            elif not m.grad and (plain or ((watched or old._wg_dispatches) and not old.is_sparse)):
                # in place: also where the backward is recorded, or sees tangents, without a graph of it being asked for
                new = old
                old.add_(g)
            else:
                new = g + old if old.is_sparse and not g.is_sparse else old + g
                if type(new._wg_data) is np.ndarray and new._wg_data.strides != self.variable._wg_data.strides:
                    _advise(new._wg_data, self.variable._wg_data, "recorded")
            with _leaf_lock:
                if meta.grad is old:
                    meta.grad = new
                    break
        return self._run_post_hooks(meta)

    def _takes(self, g: Any) -> bool:
        """Whether ``g``, of a class that dispatches, becomes the leaf's itself: unshared, and laid out as the leaf."""
        return (not modes().grad and is_uniquely_referenced_tensor(g)
            and (g._wg_data.strides == self.variable._wg_data.strides or not gapless(self.variable._wg_data)))

    def _first(self, g: Any) -> Any:
        """A copy of the first gradient, laid out as the leaf is."""
        array = self.variable._wg_data
        if (type(g._wg_data) is not np.ndarray or type(g) is not self.variable._wg_plain_class or self.dtype is None
                or not gapless(array)):
            if type(g)._wg_dispatches and not modes().grad and gapless(array):
                return self._laid(g)  # their class lays it out
            new = g.clone()
            if (new._wg_data.strides != array.strides and type(new._wg_data) is type(array) is np.ndarray
                    and not _laid_out_as(new._wg_data, array)):
                new._wg_data = _copied(new._wg_data, array)
            return new
        m = modes()
        if m.dispatch and not m.grad:
            return self._laid(g)
        new = TRACED_OPS.copy(ARRAY_OPS.wrap(array), g) if m.grad else g.detach()  # either is still the memory of g
        new._wg_data = _copied(new._wg_data, array)
        new._wg_vc = new_version()
        if m.grad:
            new._wg_vc[0] += 1  # it is written once
        return new

    def _laid(self, g: Any) -> Any:
        array = self.variable._wg_data
        return g.new_empty_strided(array.shape, [s // array.itemsize for s in array.strides]).copy_(g)


def _into_inference(old: Tensor, g: Any) -> Any:
    """``old``, an inference tensor, with ``g`` added: in place, which only inference mode allows."""
    check_normal(old, modes())
    return old.add_(ARRAY_OPS.wrap(g))


def _add_in_place(a: np.ndarray, g: Any) -> None:
    try:
        K.add(a, g, a)
    except TypeError:  # the leaf takes gradients of any dtype, and this is another one
        K.add(a, g.astype(a.dtype), a)
    except ValueError:  # .data = has given the leaf another shape since
        raise RuntimeError(broadcast_message([a.shape, g.shape])) from None


layout_enforced: ContextVar[bool] = ContextVar("wengertlayout_enforced", default=True)


def _laid_out_as(g: np.ndarray, a: Any) -> bool:
    """Whether ``g`` may be the gradient of a leaf ``a``: of its strides if that is dense, else contiguous."""
    if g.size == 0 or not layout_enforced.get():
        return True
    if type(a) is np.ndarray and a.shape == g.shape and gapless(a):
        item, mine = g.itemsize, a.itemsize
        return all(n == 1 or s // item == t // mine for s, t, n in zip(g.strides, a.strides, g.shape))
    return g.flags.c_contiguous


def _advise(g: np.ndarray, a: Any, how: str) -> None:
    """Say, once, that a gradient that was added to does not lie in memory as its leaf does."""
    if type(a) is not np.ndarray or _laid_out_as(g, a):
        return
    lines = [f"{name}.sizes() = {list(x.shape)}, strides() = {[s // x.itemsize for s in x.strides]}"
        for name, x in (("grad", g), ("param", a))]
    text = ("grad and param do not obey the gradient layout contract. This is not an error, but may impair "
        "performance.\n" + "\n".join(lines))
    warn_once(text, f"layout contract, {how}")


def _copied(g: np.ndarray, a: Any) -> np.ndarray:
    """A copy of ``g`` in the layout for the leaf ``a``."""
    if type(a) is np.ndarray and not a.flags.c_contiguous and a.shape == g.shape and gapless(a):
        return copied_in_order(g, [s // a.itemsize for s in a.strides])
    return g.copy() if g.flags.c_contiguous else K.in_order(g)


def bump(t: Tensor) -> None:
    """Count one more write to the tensor's memory."""
    if type(t._wg_vc) is list or (t._wg_vc is not INFERENCE_VERSION and not modes().inference):
        t._wg_vc[0] += 1


def check_normal(t: Tensor, m: Modes) -> None:
    """Refuse to change an inference tensor outside of inference mode."""
    if t._wg_vc is INFERENCE_VERSION and not m.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
