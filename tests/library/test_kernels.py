"""Kernels of the user's: in all threads, taken as objects, left to what is there; and functions that redispatch
themselves.
"""

import importlib
import threading

import pytest


@pytest.fixture
def library(torch):
    return importlib.import_module(f"{torch.__name__}.library")


def in_thread(run):
    found = []
    thread = threading.Thread(target=lambda: found.append(run()))
    thread.start()
    thread.join()
    return found[0]


def test_an_override_holds_in_every_thread(torch, library):
    x = torch.ones(2)
    with library._scoped_library("aten", "IMPL") as lib:
        lib.impl("neg", lambda x: x * 5, "CPU")
        assert torch.equal(-x, x * 5) and torch.equal(in_thread(lambda: -x), x * 5)
        assert torch.equal(in_thread(x.neg), x * 5) and torch.equal(in_thread(lambda: torch.neg(x)), x * 5)
        assert torch.equal(in_thread(lambda: x * 2), torch.full((2,), 2.0))
    assert torch.equal(-x, torch.full((2,), -1.0)) and torch.equal(in_thread(lambda: -x), torch.full((2,), -1.0))


def test_an_override_of_another_thread(torch, library):
    x, made = torch.ones(2), []

    def register():
        made.append(library.Library("aten", "IMPL"))
        made[0].impl("mul.Tensor", lambda x, y: x + 100, "CPU")

    in_thread(register)
    assert (x * x).tolist() == [101, 101] and (x * 2).tolist() == [101, 101]
    made[0]._destroy()
    assert (x * x).tolist() == [1, 1]


def test_an_override_in_a_thread_is_recorded_around(torch, library):
    def gradient():
        x = torch.ones(2, requires_grad=True)
        y = x.sin()
        y.sum().backward()
        return y.tolist(), x.grad

    with library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", lambda x: x * 0 + 7, "CPU")
        value, grad = in_thread(gradient)
    assert value == [7, 7] and torch.allclose(grad, torch.ones(2).cos())


def test_a_kernel_as_an_object(torch, library):
    x, keys = torch.ones(2), torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    kernel = library.get_kernel("aten::sin", "CPU")
    assert torch.equal(kernel.call_boxed(keys, x), x.sin())
    assert torch.equal(library.get_kernel(torch.ops.aten.neg.default, torch._C.DispatchKey.CPU).call_boxed(keys, x), -x)
    with pytest.raises(RuntimeError, match="operator aten::nosuch does not exist"):
        library.get_kernel("aten::nosuch", "CPU")
    with pytest.raises(ValueError, match="Invalid dispatch key: Foo"):
        library.get_kernel("aten::sin", "Foo")
    with library._scoped_library("wengert_kernels", "FRAGMENT") as lib:
        lib.define("seven(Tensor x) -> Tensor")
        lib.impl("seven", lambda x: x * 7, "CPU")
        assert library.get_kernel("wengert_kernels::seven", "CPU").call_boxed(keys, x).tolist() == [7, 7]


def test_a_kernel_that_leaves_cases_to_the_one_that_was_there(torch, library):
    kernel = library.get_kernel("aten::neg", "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    with library._scoped_library("aten", "IMPL") as lib:
        lib.impl("neg", lambda x: x.clone() if x.numel() == 1 else kernel.call_boxed(keys, x), "CPU")
        assert torch.neg(torch.ones(1)).tolist() == [1] and torch.neg(torch.ones(2)).tolist() == [-1, -1]


def test_falling_through(torch, library):
    x = torch.ones(2)
    with pytest.raises(NotImplementedError, match="should never be called"):
        library.fallthrough_kernel()
    with library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", library.fallthrough_kernel, "AutogradCPU")
        assert torch.equal(x.sin(), torch.sin(torch.ones(2)))
    with library._scoped_library("wengert_kernels", "FRAGMENT") as lib:
        lib.define("five(Tensor x) -> Tensor")
        lib.impl("five", library.fallthrough_kernel, "AutogradCPU")
        lib.impl("five", lambda x: x * 5, "CPU")
        assert torch.ops.wengert_kernels.five(x).tolist() == [5, 5]


def test_an_operator_for_triton(torch, library):
    @library.triton_op("wengert_kernels::twice", mutates_args={})
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert type(twice).__name__ == "CustomOpDef" and twice(torch.ones(2)).tolist() == [2, 2]
    twice.register_autograd(lambda ctx, g: g * 2)
    x = torch.ones(2, requires_grad=True)
    twice(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(ModuleNotFoundError, match="triton"):
        library.wrap_triton(lambda x: x)


def test_the_context_of_a_fake_kernel(torch, library):
    assert library.get_ctx() is None

    @library.custom_op("wengert_kernels::places", mutates_args=())
    def places(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    @places.register_fake
    def _(x):
        return x.new_empty([library.get_ctx().new_dynamic_size(), x.dim()], dtype=torch.long)

    with pytest.raises(RuntimeError,
            match="Meta Tensors don't support operators with outputs that have data-dependent shapes"):
        places(torch.ones(3, device="meta"))


def test_keys(torch):
    key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet
    both = keys(key.CPU) | keys(key.AutogradCPU)
    assert both.has(key.CPU) and not both.has(key.Meta) and both.highestPriorityTypeId() == key.AutogradCPU
    assert (both - keys(key.AutogradCPU)) == keys(key.CPU) and both.remove(key.CPU) == keys(key.AutogradCPU)
    assert str(key.CPU) == "DispatchKey.CPU" and torch._C._parse_dispatch_key("CPU") == key.CPU
    found = torch._C._dispatch_keys(torch.ones(2))
    assert found.has(key.CPU) and found.has(key.AutogradCPU) and not found.has(key.Python)
    assert torch._C._dispatch_keys(torch.ones(2, device="meta")).has(key.Meta)


def test_redispatching_to_the_function_itself(torch):
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    log = []

    class Logs(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return overrides.redispatch_function(func, types, args, kwargs)

    def scaled_mul(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled_mul, (a, b), a, b)
        return a * b + 1

    x = torch.tensor([3.0]).as_subclass(Logs)
    y = torch.tensor([4.0]).as_subclass(Logs)
    log.clear()
    found = scaled_mul(x, y)
    assert log == ["scaled_mul", "mul"] and type(found) is torch.Tensor and found.item() == 13


def test_redispatching_in_a_mode(torch):
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    log = []

    class Logs(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    def scaled_mul(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled_mul, (a, b), a, b)
        return a * b + 1

    a, b = torch.tensor([3.0]), torch.tensor([4.0])
    with Logs():
        found = scaled_mul(a, b)
    assert log == ["scaled_mul", "mul", "add"] and found.item() == 13


def test_an_override_of_a_selection(torch, library):
    x = torch.arange(3.0)
    assert x[1].tolist() == 1
    with library._scoped_library("aten", "IMPL") as lib:
        lib.impl("select.int", lambda x, *where: x.sum(0), "CPU")
        assert x[1].tolist() == 3
    assert x[1].tolist() == 1
