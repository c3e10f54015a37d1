"""Gradient checks of objects that are like tensors, and are none."""

import operator

import pytest


def likes(torch):
    def plain(v):
        if type(v) in (tuple, list):
            return type(v)(map(plain, v))
        return v.inner if isinstance(v, Like) else v

    def like(v):
        if type(v) in (tuple, list):
            return type(v)(map(like, v))
        return Like(v) if isinstance(v, torch.Tensor) else v

    class Like:
        """Whatever is asked of it is asked of the tensor inside, and noted."""

        def __init__(self, inner):
            self.__dict__.update(inner=inner, asked=set())

        def __getattr__(self, name):
            self.asked.add(name)
            value = getattr(self.inner, name)
            if callable(value) and not isinstance(value, (torch.Tensor, torch.dtype, torch.device)):
                return lambda *args, **kwargs: like(value(*plain(args), **{k: plain(v) for k, v in kwargs.items()}))
            return like(value)

        def __setattr__(self, name, value):
            setattr(self.inner, name, plain(value))

        def __getitem__(self, key):
            return like(self.inner[plain(key)])

        def __setitem__(self, key, value):
            self.inner[plain(key)] = plain(value)

        def __bool__(self):
            return bool(self.inner)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return like(func(*plain(tuple(args)), **{k: plain(v) for k, v in (kwargs or {}).items()}))

    def by(op):
        return lambda self, other: like(op(plain(self), plain(other)))

    for name in ("add", "sub", "mul", "truediv", "gt", "lt", "ge", "le"):
        setattr(Like, f"__{name}__", by(getattr(operator, name)))
    return like, plain


@pytest.fixture
def kinds(torch):
    return likes(torch)


def leaf(torch, kinds, *values):
    x = kinds[0](torch.tensor(values, dtype=torch.float64))
    x.requires_grad = True
    return x


@pytest.mark.parametrize("fast", [False, True])
def test_only_common_attributes_are_asked_for(torch, kinds, fast):
    a, b = leaf(torch, kinds, 5.0), leaf(torch, kinds, 6.0)
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    check(torch.add, (a, b), raise_exception=False, check_batched_grad=False, fast_mode=fast)
    second(torch.add, (a, b), raise_exception=False, check_batched_grad=False, fast_mode=fast)
    expected = {
        "data", "dtype", "is_floating_point", "is_sparse", "layout", "new_zeros", "numel", "requires_grad",
        "requires_grad_", "size", "stride",
    }
    assert a.asked | b.asked == expected | ({"device", "is_complex"} if fast else set())


def test_gradients_of_likes_are_asked_of_them(torch, kinds):
    a = leaf(torch, kinds, 1.0, 2.0)
    (g,) = torch.autograd.grad(torch.mul(a, a).sum(), a)
    assert type(g) is type(a) and kinds[1](g).tolist() == [2, 4]


def test_right_and_wrong_gradients():
    import wengert as torch

    kinds = likes(torch)

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    a, b = leaf(torch, kinds, 1.0, 2.0, 3.0), leaf(torch, kinds, 0.5, 0.25, 4.0)
    assert torch.autograd.gradcheck(torch.mul, (a, b)) and torch.autograd.gradgradcheck(torch.mul, (a, b))
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(lambda x: kinds[0](Half.apply(kinds[1](x))), (a,))
