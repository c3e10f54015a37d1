"""The base of all transforms, and the inverse of one."""

from __future__ import annotations

from typing import Any, ClassVar

from . import constraints

__all__ = ["Transform"]


class Transform:
    """Base class. ``domain``, ``codomain``: constraints; ``bijective``; ``sign``: of the derivative, if constant."""

    bijective: Any = False
    domain: Any
    codomain: Any
    _arguments: ClassVar[tuple[str, ...]] = ()  # what the constructor takes: copies are made from these
    _alike: ClassVar[bool] = False  # whether all of the class are equal

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_inv": None}

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has, before and after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, a transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, remembering its last ``cache_size`` pairs."""
        if self._cache_size == cache_size:
            return self
        if not self._arguments and type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        kind: Any = type(self)
        return kind(*(getattr(self, name) for name in self._arguments), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other or (self._alike and isinstance(other, type(self)))

    def __call__(self, x: Any) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = (x, self._call(x))
        return self._cached_x_y[1]

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = (self._inverse(y), y)
        return self._cached_x_y[0]

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |dy/dx|`` for each event."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of ``t(x)`` for ``x`` of ``shape``."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of ``t.inv(y)`` for ``y`` of ``shape``."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """A transform the other way round."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = constraints.dependent_property(is_discrete=False)(lambda self: self._inv.codomain)
    codomain = constraints.dependent_property(is_discrete=False)(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"
