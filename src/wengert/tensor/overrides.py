"""``__torch_function__``: tensor subclasses and tensor-likes that take a call into their own hands."""

from __future__ import annotations

from typing import Any

from .call import PLAIN
from .tensor import Tensor


def dispatch(name: str, args: Any, kwargs: Any) -> Any:
    """Ask the arguments' ``__torch_function__``, subclasses first; ``NotImplemented`` if none of them has one."""
    owners = owners_of(args)
    if not owners:
        return NotImplemented
    from .functions import function, inplace_function

    func = inplace_function(name[:-1]) if name.endswith("_") else function(name)
    return ask(func, owners, _trimmed(args, func), kwargs)


def ask(func: Any, owners: list[Any], args: Any, kwargs: Any) -> Any:
    """Let the owners of ``__torch_function__`` answer in order; ``TypeError`` if all decline."""
    types = tuple(type(o) for o in owners)
    for owner in owners:
        answer = type(owner).__torch_function__(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise TypeError(
        f"no implementation found for 'torch.{func.__name__}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def owners_of(args: Any) -> list[Any]:
    """The arguments that override operators, subclasses before their bases, otherwise in order."""
    owners: list[Any] = []
    for v in args:
        for x in v if type(v) in (list, tuple) else (v,):
            kind = type(x)
            if kind in PLAIN or not hasattr(kind, "__torch_function__") or kind in [type(o) for o in owners]:
                continue
            if isinstance(x, type) or (isinstance(x, Tensor) and kind.__torch_function__ is _disabled):
                continue
            at = next((i for i, o in enumerate(owners) if issubclass(kind, type(o))), len(owners))
            owners.insert(at, x)
    return owners


def _trimmed(args: Any, func: Any) -> Any:
    """The arguments without trailing ones that have their default, as the user wrote them."""
    from ..ops.operator import TABLE

    op: Any = TABLE.get(func.__name__.rstrip("_"))
    row = list(args)
    while op is not None and row and len(row) <= len(op.params):
        p = op.params[len(row) - 1]
        if p in op.defaults and row[-1] is op.defaults[p]:
            row.pop()
        else:
            break
    return tuple(row)


def _disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return NotImplemented


class DisableTorchFunctionSubclass:
    """Inside, subclasses of Tensor are treated as plain tensors."""

    def __enter__(self) -> None:
        self.hidden = set(_all_subclasses(Tensor)) - PLAIN
        PLAIN.update(self.hidden)

    def __exit__(self, *exc: object) -> None:
        PLAIN.difference_update(self.hidden)


def _all_subclasses(cls: Any) -> Any:
    for sub in cls.__subclasses__():
        yield sub
        yield from _all_subclasses(sub)


def default_torch_function(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What ``Tensor.__torch_function__`` does: call through, and give results the subclass's type."""
    if types and all(t in PLAIN for t in types):  # our functions never ask plain tensors: another library's has met one
        from .functions import function

        return function(func.__name__)(*args, **kwargs)
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    plain = [_as_plain(a) for a in args]
    answer = func(*plain, **{k: _as_plain(v) for k, v in kwargs.items()})
    if func in _KEEP_PLAIN:
        return answer
    for original, given in zip(args, plain):
        if answer is given and isinstance(original, Tensor):
            return original  # an in-place operation gives its tensor back
    return _converted(answer, cls)


_KEEP_PLAIN: set[Any] = set()


def _as_plain(x: Any) -> Any:
    if isinstance(x, Tensor) and type(x) not in PLAIN:
        t = object.__new__(Tensor)
        from .meta import edge_of

        edge_of(x)
        t._data, t._edge, t._vc = x._data, x._edge, x._vc
        t._meta = x._meta
        return t
    if type(x) in (list, tuple):
        return type(x)(_as_plain(v) for v in x)
    return x


def _converted(answer: Any, cls: Any) -> Any:
    if cls is Tensor:
        return answer
    if isinstance(answer, Tensor) and not isinstance(answer, cls):
        t = object.__new__(cls)
        t._data, t._edge, t._meta, t._vc = answer._data, answer._edge, answer._meta, answer._vc
        return t
    if isinstance(answer, (tuple, list)):
        row = [_converted(v, cls) for v in answer]
        return type(answer)(*row) if hasattr(answer, "_fields") else type(answer)(row)
    return answer


def has_torch_function(args: Any) -> bool:
    """Whether some argument overrides operators."""
    return bool(owners_of(args))


def handle_torch_function(func: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Dispatch ``func`` to the ``__torch_function__`` of ``relevant_args``."""
    return ask(func, owners_of(relevant_args), args, kwargs)


def is_tensor_like(x: Any) -> bool:
    """Whether ``x`` is a tensor or overrides operators."""
    return isinstance(x, Tensor) or hasattr(type(x), "__torch_function__")
