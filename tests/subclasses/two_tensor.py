"""A tensor that is two: every operator runs on both. See ``tests.subclasses.load``, which defines ``torch``."""
# ruff: noqa: F821

pytree = torch.utils._pytree
python_dispatch = torch.utils._python_dispatch


class TwoTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, a, b, size=None, stride=None):
        assert (a.shape, a.stride(), a.storage_offset(), a.dtype) == (b.shape, b.stride(), b.storage_offset(), b.dtype)
        return torch.Tensor._make_wrapper_subclass(
            cls, a.shape if size is None else size, strides=a.stride() if stride is None else stride,
            storage_offset=a.storage_offset(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad,
        )

    def __init__(self, a, b, size=None, stride=None):
        self.a, self.b = a, b

    def __repr__(self):
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @classmethod
    def __tensor_unflatten__(cls, parts, context, size, stride):
        return cls(parts["a"], parts["b"], size, stride)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}

        def half(name):
            own_args, own_kwargs = pytree.tree_map_only(cls, lambda t: getattr(t, name), (args, kwargs))
            return pytree.tree_flatten(func(*own_args, **own_kwargs))

        (firsts, spec), (seconds, _) = half("a"), half("b")
        both = [cls(x, y) if isinstance(x, torch.Tensor) else x for x, y in zip(firsts, seconds, strict=True)]
        return python_dispatch.return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(both, spec))


class TwoTensorMode(python_dispatch.TorchDispatchMode):
    """Every tensor that is created is two."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        created = not any(isinstance(v, torch.Tensor) for v in pytree.tree_leaves((args, kwargs)))
        return TwoTensor(made, made.clone()) if created and isinstance(made, torch.Tensor) else made
