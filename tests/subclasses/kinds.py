"""Tensor subclasses of several kinds, and ``KINDS``: how an instance of each is made. See ``tests.subclasses.load``,
which defines ``torch``.
"""
# ruff: noqa: F821

from tests.subclasses import load

Tensor, tree_map = torch.Tensor, torch.utils._pytree.tree_map


def _mapped(kind, change, *trees):
    return tree_map(lambda v: change(v) if isinstance(v, kind) else v, trees)


class Own(Tensor):
    """With numbers of its own, and an attribute that its results take over."""

    @staticmethod
    def __new__(cls, data):
        made = Tensor._make_subclass(cls, data)
        made.last = None
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, cls):
            result.last = func.__name__
        return result

    def new_empty(self, shape):
        return type(self)(torch.empty(shape))


class Redispatching(Tensor):
    """Its handler calls the function again, which then runs without asking it; the result says what made it."""

    @staticmethod
    def __new__(cls, data):
        return Tensor._make_subclass(cls, data)

    def __repr__(self):
        with torch._C.DisableTorchFunctionSubclass():
            return Tensor.__repr__(self, tensor_contents=repr(self.as_subclass(Tensor)))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = torch.overrides.redispatch_function(func, types, args, kwargs or {})
        if func.__name__ in ("__get__", "__set__"):
            return result

        def wrapped(value):
            if isinstance(value, cls):
                return value
            with torch._C.DisableTorchFunctionSubclass():
                made = value.as_subclass(cls)
            made.made_by = func.__name__
            return made

        return _mapped(Tensor, wrapped, result)[0]


class Asked(Tensor):
    """A wrapper that is asked about its sizes."""

    policy = "sizes"

    @staticmethod
    def __new__(cls, t):
        return Tensor._make_wrapper_subclass(
            cls, t.shape, strides=t.stride(), dtype=t.dtype, requires_grad=t.requires_grad,
            dispatch_sizes_strides_policy=cls.policy
        )

    def __init__(self, t):
        self.t = t

    def __repr__(self):
        return Tensor.__repr__(self, tensor_contents=repr(self.t))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        args, kwargs = _mapped(Asked, lambda v: v.t, args, kwargs or {})
        return _mapped(Tensor, cls, func(*args, **kwargs))[0]


class AskedForStrides(Asked):
    """A wrapper that is asked about its strides."""

    policy = "strides"


class Diagonal(Tensor):
    """A matrix that holds its diagonal; a result that is not diagonal is a plain tensor."""

    @staticmethod
    def __new__(cls, diag):
        n = len(diag)
        return Tensor._make_wrapper_subclass(cls, (n, n), strides=(n, 1), dtype=diag.dtype,
            requires_grad=diag.requires_grad)

    def __init__(self, diag):
        self.diag = diag

    def __repr__(self):
        return Tensor.__repr__(self, tensor_contents=repr(self.diag))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        args, kwargs = _mapped(cls, lambda v: v.diag.diag(), args, kwargs or {})
        return _mapped(Tensor, cls.of, func(*args, **kwargs))[0]

    @classmethod
    def of(cls, matrix):
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        return cls(matrix.diagonal().clone()) if square and torch.equal(matrix.diagonal().diag(), matrix) else matrix


class Sparse(Tensor):
    """Holds the places where it is not zero, one row each, and what is there."""

    @staticmethod
    def __new__(cls, size, values, places):
        return Tensor._make_wrapper_subclass(cls, size, dtype=values.dtype, requires_grad=values.requires_grad)

    def __init__(self, size, values, places):
        self.values, self.places = values, places

    def __repr__(self):
        return Tensor.__repr__(self, tensor_contents=f"values={self.values!r}, places={self.places!r}")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func.overloadpacket in (torch.ops.aten.detach, torch.ops.aten.clone):
            return cls(args[0].shape, func(args[0].values), func(args[0].places))
        args, kwargs = _mapped(cls, cls.dense, args, kwargs or {})
        return _mapped(Tensor, cls.of, func(*args, **kwargs))[0]

    def dense(self):
        made = torch.zeros(self.shape, dtype=self.values.dtype)
        return made.index_put(tuple(self.places.unbind(1)), self.values) if len(self.places) else made

    @classmethod
    def of(cls, t):
        places = t.nonzero()
        return cls(t.shape, t[tuple(places.unbind(1))], places)


LoggingTensor = load(torch, "logging_tensor").LoggingTensor


def _with_shape(cls, n):
    made = cls(torch.randn(n))
    made.shape  # an answer about the shape may be kept, before a copy is made
    return made


KINDS = {
    "base": (Tensor, torch.randn),
    "own": (Own, lambda n: Own(torch.randn(n))),
    "logging": (LoggingTensor, lambda n: LoggingTensor(torch.randn(n))),
    "sparse": (Sparse, lambda n: Sparse.of(torch.randn(n).relu())),
    "diagonal": (Diagonal, lambda n: Diagonal(torch.randn(n))),
    "asked for sizes": (Asked, lambda n: _with_shape(Asked, n)),
    "asked for strides": (AskedForStrides, lambda n: _with_shape(AskedForStrides, n)),
    "redispatching": (Redispatching, lambda n: Redispatching(torch.randn(n))),
}
