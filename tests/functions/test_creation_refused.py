"""Data, devices and ``out=`` that no tensor can be made of."""

from __future__ import annotations

import warnings

import pytest


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ("a", TypeError, "invalid data type 'str'"),
        (["a"], ValueError, "too many dimensions 'str'"),
        ([["a"]], ValueError, "too many dimensions 'str'"),
        ([1, "b"], TypeError, "invalid data type 'str'"),
        ([[1.5], ["b"]], TypeError, "invalid data type 'str'"),
        ([b"a"], TypeError, "invalid data type 'bytes'"),
        ({}, RuntimeError, "Could not infer dtype of dict"),
        ({"a": 1}, RuntimeError, "Could not infer dtype of dict"),
        ([None], RuntimeError, "Could not infer dtype of NoneType"),
    ],
)
def test_data(torch, data, error, text):
    for make in (torch.tensor, torch.as_tensor):
        with pytest.raises(error, match=text):
            make(data)


def test_lists_that_contain_themselves_have_no_end():
    """Every other one ends PyTorch's process."""
    import wengert

    alone: list = []
    alone.append(alone)
    behind: list = [1.0]
    behind.append(behind)
    deep = 1.0
    for _ in range(65):
        deep = [deep]  # type: ignore[assignment]
    for data in (alone, behind, [[1, 2], behind], deep):
        with pytest.raises(ValueError, match="too many dimensions 'list'"):
            wengert.tensor(data)
    assert wengert.tensor(deep[0]).ndim == 64  # type: ignore[index]


@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        ("cuda", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda:0", AssertionError, "Torch not compiled with CUDA enabled"),
        ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
        ("mps", RuntimeError, ""),
    ],
)
def test_devices(torch, device, error, text):
    if device.startswith("cuda") and torch.cuda.is_available():
        pytest.skip("there is a card")
    for make in (lambda: torch.ones(2).to(device), lambda: torch.rand(2, device=device),
            lambda: torch.nn.Linear(2, 2).to(device)):
        with pytest.raises(error, match=text):
            make()


def test_the_missing_backend_is_named(torch):
    with pytest.raises(RuntimeError, match="PyTorch is not linked with support for mps devices"):
        torch.ones(2).to("mps")


def test_numbers_without_an_order_are_not_sorted_into(torch):
    z = torch.tensor([1j, 2j])
    for call, kernel in (
        (lambda: torch.mode(z), "mode_cpu"),
        (lambda: torch.searchsorted(z, z), "searchsorted_out_cpu"),
        (lambda: torch.searchsorted(torch.ones(2), z), "searchsorted_out_cpu"),
        (lambda: torch.bucketize(z, torch.ones(2)), "searchsorted_out_cpu"),
    ):
        with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented for \'ComplexFloat\''):
            call()
    for elements, among in ((torch.tensor([1]), torch.tensor([True])), (torch.tensor([True]), torch.tensor([1]))):
        with pytest.raises(RuntimeError, match=r"Unsupported input type encountered for isin\(\): Bool"):
            torch.isin(elements, among)


@pytest.mark.parametrize("name", ["rand", "randn", "zeros", "ones", "empty"])
def test_a_size_is_needed(torch, name):
    make = getattr(torch, name)
    with pytest.raises(TypeError, match=f"{name}\\(\\) "):
        make(dtype=torch.float64)
    with pytest.raises(TypeError):
        make()
    assert make(size=()).shape == make(()).shape == ()


def test_keywords_that_name_dimensions_are_refused(torch):
    t = torch.ones(2, 2)
    makers = {
        "zeros": (2,), "ones": (2,), "empty": (2,), "full": ((2,), 1.0), "rand": (2,), "randn": (2,),
        "randint": (2, (2,)), "arange": (2,), "eye": (2,), "linspace": (0, 1, 2), "logspace": (0, 1, 2),
        "randperm": (2,), "tensor": ([1.0],), "as_tensor": ([1.0],), "scalar_tensor": (1.0,),
        "normal": (0.0, 1.0, (2,)), "empty_strided": ((2,), (1,)), "empty_permuted": ((2,), (0,)),
        "tril_indices": (2, 2), "triu_indices": (2, 2), "zeros_like": (t,), "empty_like": (t,), "full_like": (t, 1.0),
        "rand_like": (t,), "Tensor": (2,), "FloatTensor": (2,), "from_file": ("no file",),
    }
    own = {"new_zeros": (2,), "new_ones": (2,), "new_empty": (2,), "new_full": ((2,), 1.0), "new_tensor": ([1.0],)}
    for calls, home in ((makers, torch), (own, t)):
        for name, args in calls.items():
            for names in (("N",), [None], None):
                with pytest.raises(TypeError, match="names"):
                    getattr(home, name)(*args, names=names)


def test_constructors_of_old_take_no_other_keywords(torch):
    class Own(torch.Tensor):
        pass

    for kind in (torch.Tensor, torch.FloatTensor, Own):
        for named in ({"requires_grad": True}, {"dtype": torch.float32}, {"size": (2,)}, {"data": [1.0]}):
            with pytest.raises(TypeError, match=r"new\(\) received an invalid combination of arguments - got \(int, "):
                kind(2, **named)
        assert (kind(size=(2,)).shape == (2,) and kind(data=[1.0]).tolist() == [1.0]
            and kind(2, device="cpu").shape == (2,))


OUT = {"zeros": (3,), "ones": (3,), "rand": (3,), "eye": (3,), "arange": (3,), "full": ((3,), 1.0),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3),
       "randint": (3, (3,)), "randperm": (3,)}


@pytest.mark.parametrize("name", OUT)
def test_creation_refuses_an_out_that_requires_grad(torch, name):
    out = torch.full((3,), 7.0, requires_grad=True)
    with pytest.raises(RuntimeError,
            match=rf"{name}\(\): functions with out=... arguments don't support automatic differentiation"):
        getattr(torch, name)(*OUT[name], out=out)
    assert out.tolist() == [7.0] * 3
    with torch.no_grad():
        assert getattr(torch, name)(*OUT[name], out=out) is out


@pytest.mark.parametrize("name", ["randn", "empty"])
def test_creation_refuses_to_resize_an_out_that_requires_grad(torch, name):
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        getattr(torch, name)(3, out=torch.zeros(3, requires_grad=True))


@pytest.mark.parametrize(("use", "kind", "message"), [
    pytest.param(lambda torch: torch.asarray(torch.ones(2, requires_grad=True)), UserWarning,
                 "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False.",
                 id="asarray"),
    pytest.param(lambda torch: torch.set_autocast_cpu_enabled(False), DeprecationWarning,
                 "torch.set_autocast_cpu_enabled(enabled) is deprecated. Please use torch.set_autocast_enabled('cpu', "
                 "enabled) instead.", id="set"),
    pytest.param(lambda torch: torch.is_autocast_cpu_enabled(), DeprecationWarning,
                 "torch.is_autocast_cpu_enabled() is deprecated. Please use torch.is_autocast_enabled('cpu') instead.",
                 id="is"),
])
def test_deprecated_settings_and_asarray_warn(torch, use, kind, message):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # else once in a process
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            use(torch)
    finally:
        torch.set_warn_always(before)
    assert any(issubclass(w.category, kind) and message in str(w.message) for w in caught)
