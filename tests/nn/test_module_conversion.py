"""``torch.__future__``: the ways in which modules are converted and loaded."""

from __future__ import annotations

import weakref

import pytest


@pytest.fixture
def conversion(torch):
    yield torch.__future__
    torch.__future__.set_swap_module_params_on_conversion(False)
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def used(torch):
    module = torch.nn.Linear(2, 2)
    module(torch.ones(1, 2)).sum().backward()
    return module, module.weight, module.weight.grad


@pytest.mark.parametrize("how", ["in place", "overwrite", "swap"])
def test_ways_to_convert_a_module(torch, conversion, how):
    conversion.set_overwrite_module_params_on_conversion(how == "overwrite")
    conversion.set_swap_module_params_on_conversion(how == "swap")
    module, weight, grad = used(torch)
    module.double()
    now = module.weight
    assert (now is weight, now.grad is grad) == ((how != "overwrite"),) * 2
    assert now.dtype == now.grad.dtype == torch.float64 and now.requires_grad and type(now) is torch.nn.Parameter
    assert weight.dtype == (torch.float32 if how == "overwrite" else torch.float64)
    assert (module.double().weight is now) is (how != "overwrite")


def test_what_somebody_refers_to_weakly_is_not_swapped(torch, conversion):
    conversion.set_swap_module_params_on_conversion(True)
    module, weight, grad = used(torch)
    ref = weakref.ref(weight)
    with pytest.raises(RuntimeError, match=r"_apply\(\): Couldn't swap Linear.weight"):
        module.double()
    assert ref() is weight and weight.dtype == torch.float32 and weight.grad is grad
    with pytest.raises(RuntimeError,
            match='While swapping the parameter named "weight".*has weakref associated with it'):
        module.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)})


@pytest.mark.parametrize("assign", [False, True])
def test_loading_by_swapping(torch, conversion, assign):
    conversion.set_swap_module_params_on_conversion(True)
    module, weight, _ = used(torch)
    state = {"weight": torch.full((2, 2), 3.0, dtype=torch.float64), "bias": torch.ones(2, dtype=torch.float64)}
    module.load_state_dict(state, assign=assign)
    assert module.weight is weight and weight.requires_grad and type(weight) is torch.nn.Parameter
    assert weight.tolist() == [[3.0, 3.0]] * 2
    assert weight.dtype == (torch.float64 if assign else torch.float32)
    assert (weight.data_ptr() == state["weight"].data_ptr()) is assign


def test_what_a_parameter_makes_of_what_is_loaded_into_it(torch, conversion):
    class Half(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.Tensor.module_load:
                return torch.nn.Parameter(args[1].half())
            return super().__torch_function__(func, types, args, kwargs)

    module = torch.nn.Linear(2, 1, bias=False)
    module.weight = torch.nn.Parameter(torch.zeros(1, 2).as_subclass(Half))
    conversion.set_swap_module_params_on_conversion(True)
    module.load_state_dict({"weight": torch.ones(1, 2)})
    assert (module.weight.dtype == torch.float16 and module.weight.tolist() == [[1.0, 1.0]]
        and module.weight.requires_grad)
