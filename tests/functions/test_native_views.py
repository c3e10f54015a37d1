"""Views that the extension makes: the same as those of the definitions in Python, in shape, strides and history."""

import numpy as np
import pytest

import wengert
from wengert.functions import indexing
from wengert.functions.composites.call import native_composed
from wengert.ops.operator import TABLE
from wengert.tensor.functions import function
from wengert.tensor.namespaces import TRACED_OPS

pytestmark = pytest.mark.skipif(indexing._window is indexing._not_native, reason="needs the native extension")


def arrays():
    a = np.arange(2 * 3 * 1 * 4.0).reshape(2, 3, 1, 4)
    return [a, a.copy()[:, 1:2], a.transpose(1, 0, 3, 2), a[..., ::2], np.arange(5.0), np.array(3.0), a[:1].copy(),
        np.broadcast_to(np.ones((3, 1), np.float32), (2, 3, 4)), np.zeros((0, 2)), np.arange(6).reshape(2, 3)[:, :1]]


def components(rng, n):
    return [int(rng.integers(-n - 1, n + 1)), slice(None), slice(int(rng.integers(0, 2)), None), None, Ellipsis,
        slice(None, int(rng.integers(-2, n + 2)), int(rng.integers(1, 3))), slice(0, n), slice(2, 1), True]


def keys(rng, a):
    for _ in range(150):
        key = tuple(rng.choice(np.array(components(rng, int(rng.integers(1, 5))), dtype=object))
            for _ in range(int(rng.integers(1, a.ndim + 3))))
        yield key[0] if len(key) == 1 and rng.integers(2) else key


def seen(call):
    try:
        t = call()
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        return type(error), str(error)
    kept = [t.grad_fn(wengert.ones_like(t)).tolist()] if t.grad_fn is not None else []
    return t.shape, t.stride(), t.storage_offset(), t.tolist(), type(t.grad_fn).__name__, t._is_view(), kept


@pytest.mark.parametrize("which", range(len(arrays())))
def test_keys_give_the_views_of_the_definition(which, monkeypatch):
    a = arrays()[which]
    t = wengert.Tensor._wg_wrap(a)
    if a.dtype.kind == "f":
        t = t.as_strided(t.shape, t.stride(), t.storage_offset()) if a.base is not None else t
        t.requires_grad_()
    rows, natively = list(keys(np.random.default_rng(which), a)), 0
    found = [seen(lambda k=key: t[k]) for key in rows]
    natively = sum(indexing._window(a, key) is not NotImplemented for key in rows)
    monkeypatch.setattr(indexing, "native_view", indexing._not_native)
    assert found == [seen(lambda k=key: t[k]) for key in rows]
    assert natively > 10 or not a.size


def layout(a):
    return a.shape, a.strides, a.__array_interface__["data"][0], a.flags.writeable


VALUES = {
    "view": [(24,), (6, 4), (2, -1), (-1, 1, 4), (2, 3, 1, 4), (1, 24), (5, 5), (-1, -1), (1,), (3, 2), (2, 1, 3)],
    "unsqueeze": [0, 1, 2, 4, -1, -2, 7],
    "permute": [(0, 1, 2, 3), (3, -2, 0, 1), (1, 0), (0,), (1, 0, 2), (0, 0), (), (-1, 0, 1)],
    "squeeze": [None, 0, 1, 2, -1, 5],
    "expand": [(2, 3, 1, 4), (5, 2, 3, 6, 4), (2, 3, 7, -1), (1, 1, 2, 3, 4, 4), (3, 4), (2, 2, 3), (2, 1, 3), (4, 5)],
}


@pytest.mark.parametrize("name", VALUES)
def test_forwards_give_the_views_of_the_definition(name):
    count = 0
    for a in arrays():
        for value in VALUES[name]:
            try:
                wanted = layout(TABLE[name].forward(a, value))
            except (RuntimeError, IndexError):
                continue
            call = getattr(wengert.Tensor._wg_wrap(a), name)
            assert layout((call(*value) if isinstance(value, tuple) else call(value))._wg_data) == wanted, layout(a)
            count += 1
    assert count > 10


@pytest.mark.parametrize(("name", "rows"), [
    ("transpose", [(0, 1), (-1, 0), (1, 1), (0, 3), (5, 0)]),
    ("diagonal", [(0, 0, 1), (1, 0, -1), (-1, 1, 0), (2, 1, 3), (-2, 0, 1), (9, 0, 1), (0, 1, 1), (0, 3, 0)]),
])
def test_forwards_of_two_dimensions_give_the_views_of_the_definition(name, rows):
    count = 0
    for a in arrays():
        for values in rows:
            try:
                wanted = layout(TABLE[name].forward(a, *values))
            except (RuntimeError, IndexError):
                continue
            assert layout(getattr(wengert.Tensor._wg_wrap(a), name)(*values)._wg_data) == wanted, layout(a)
            count += 1
    assert count > 10


COMPOSITES = {
    "flatten": [(), (1,), (0, 1), (-2, -1), (1, 1), (2, 1), (0, 9), (2**70,)],
    "unflatten": [(-1, (2, 2)), (0, [1, -1]), (1, (3, 1)), (1, (-1,)), (3, (2, -1, 2)), (0, (5, 5)), (0, (0, -1)),
        (0, (-1, -1)), (1, ()), (0, (2**70,)), (7, (1,)), (0, (-1, 2**40, 2**40))],
    "movedim": [(0, -1), (1, 0), ((0, 1), (1, 0)), ((0, -1), (1, 0)), ((0, 0), (0, 1)), ((0, 1), (2, 2)), ([0], [1]),
        (0, 9), ((0,), (0, 1))],
    "swapaxes": [(0, 1), (-1, -2), (0, 9)],
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_give_the_views_of_their_definitions(name):
    op, count = TABLE[name], 0
    short = native_composed(name, op.params, op.defaults)
    for a in arrays():
        t = wengert.Tensor._wg_wrap(a)
        if a.dtype.kind == "f":
            t = t.as_strided(t.shape, t.stride(), t.storage_offset()) if a.base is not None else t
            t.requires_grad_()
        for values in COMPOSITES[name]:
            wanted = seen(lambda v=values, t=t: op.define(TRACED_OPS, t, *v))
            assert seen(lambda v=values, t=t: getattr(t, name)(*v)) == wanted, values
            named = dict(zip(op.params[1:], values, strict=False))
            assert seen(lambda n=named, t=t: getattr(wengert, name)(t, **n)) == wanted, values
            found = short(t, **named)
            count += found is not NotImplemented and found is not t
    assert count > 10


@pytest.mark.parametrize("name", ["view", "reshape", "expand"])
def test_shapes_of_others(name):
    for a in arrays():
        for other in arrays():
            t, like = wengert.Tensor._wg_wrap(a), wengert.Tensor._wg_wrap(other)
            wanted = seen(lambda t=t, like=like: getattr(t, name)(like.shape))
            assert seen(lambda t=t, like=like: getattr(t, name + "_as")(like)) == wanted
    with pytest.raises(TypeError, match=r"_as\(\): argument 'other' \(position 1\) must be Tensor, not int"):
        getattr(wengert.ones(2), name + "_as")(3)


def test_a_mode_sees_the_composite_and_not_what_it_is_made_of():
    seen = []

    class Mode(wengert.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    def program(x):
        return x.flatten(), x.movedim(0, 1), x.view_as(x)

    x = wengert.ones(2, 3)
    program(x)  # compiled, so that the short cuts are in place
    with Mode():
        program(x)
    assert seen == ["flatten", "movedim", "view_as"]


def test_a_write_by_key_reaches_the_memory():
    x = wengert.zeros(3, 4)
    x[1, 1:3] = 2.0
    x[..., 0] = wengert.tensor([5.0, 6.0, 7.0])
    x[:, None, 3] = wengert.tensor([[1.0], [1.0], [1.0]])
    assert x.tolist() == [[5, 0, 0, 1], [6, 2, 2, 1], [7, 0, 0, 1]]
    assert x._version == 3


def test_a_number_too_large_and_another_type_are_left_to_the_definition():
    x, whole = wengert.zeros(2, 2), wengert.zeros(2, dtype=wengert.int64)
    with pytest.raises(RuntimeError, match="overflow"):
        x[0] = 1e300
    x[0] = float("inf")
    x[1, 0] = 3
    x[1, 1:] = wengert.ones(1, dtype=wengert.float64)
    whole[0] = 7
    assert x.tolist() == [[float("inf")] * 2, [3, 1]] and whole.tolist() == [7, 0]


def test_a_write_of_a_part_of_itself():
    x = wengert.arange(6.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:] = x[:-1]
    x[2:] += 1
    assert x.tolist() == [0, 1, 3, 4, 5, 6] and x._version == 2


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_reductions_of_few_numbers_are_those_of_the_definition(name):
    nan, inf = float("nan"), float("inf")
    whole = TABLE[name + "_all" if name in ("max", "min") else name]
    rows = [[3.0, 1.0, 3.0, 1.0], [nan, 1.0], [1.0, nan, nan, 5.0], [-inf, -inf], [inf, 2.0], [-0.0, 0.0], [4.0]]
    arrays = [np.array(row, kind) for row in rows for kind in (np.float32, np.float64)]
    arrays += [np.array([[3, -1], [7, -1]]), np.arange(6.0).reshape(2, 3).T, np.array(2.0), np.array([3, 1], np.int32)]
    for a in arrays:
        found = getattr(wengert.Tensor._wg_wrap(a), name)()
        wanted = np.asarray(whole.forward(a))
        assert found._wg_data.dtype == wanted.dtype and found.shape == ()
        np.testing.assert_array_equal(found.numpy(), wanted)
    assert getattr(wengert.arange(6.0).reshape(2, 3), name)(keepdim=True).shape == (1, 1) if "arg" in name else True
    x = wengert.tensor([[1.0, 4.0], [4.0, 1.0]], requires_grad=True)
    if "arg" not in name:
        getattr(x, name)().backward()
        assert x.grad.sum() == 1 and (x.grad == 0.5).sum() == 2


@pytest.mark.parametrize("mode", ["recorded", "silent", "inference"])
def test_writes_of_truth_values_whole_numbers_and_rows(torch, mode):
    with {"recorded": torch.enable_grad, "silent": torch.no_grad, "inference": torch.inference_mode}[mode]():
        x, mask = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, dtype=torch.bool)
        whole, small = torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.uint8)
        mask[..., 0] = False
        mask[0, 1] = 0
        mask[:, 2] = torch.tensor([False, True])
        x[0, 0] = True
        x[:, 1:] = torch.tensor([[[7.0], [8.0]]])
        whole[1] = torch.tensor([1, 2, 3])
        whole[0] = -(2**40)
        whole[:, 1] = torch.tensor(5)
        small[0] = 255
        small[1, 1:] = -2
        assert mask.tolist() == [[False, False, False], [False, True, True]]
        assert x.tolist() == [[1, 7, 7], [3, 8, 8]]
        assert whole.tolist() == [[-(2**40), 5, -(2**40)], [1, 5, 3]]
        assert small.tolist() == [[255] * 3, [0, 254, 254]]
        with pytest.raises(RuntimeError):
            small[0] = 300
        with pytest.raises(RuntimeError):
            x[0] = torch.ones(2)
        if mode != "inference":
            assert (x._version, mask._version, whole._version) == (2, 3, 3)


def test_in_inference_mode_writes_to_an_ordinary_tensor_are_counted_and_overlaps_refused(torch):
    x = torch.zeros(4)
    with torch.inference_mode():
        x[0] = 1.0
        y = torch.arange(4.0)
        y[:2] = y[2:]
        with pytest.raises(RuntimeError, match="single memory location"):
            y[1:] = y[:-1]
    assert x._version == 1 and y.tolist() == [2, 3, 2, 3]
    with pytest.raises(RuntimeError, match="nference"):
        y[0] = 1.0


def test_tensors_of_one_number_are_indices_of_views(torch):
    x, two = torch.arange(24.0).reshape(2, 3, 4).clone(), torch.tensor(2)
    seen = x[1, torch.tensor(-1, dtype=torch.int32), two]
    assert seen.item() == 22 and seen._base is x and x[..., two].shape == (2, 3) and x[torch.tensor(1)]._base is x
    x[0, two] = 5.0
    assert x[0, 2].tolist() == [5] * 4 and x._version == 1
    assert x[torch.tensor(True)].shape == (1, 2, 3, 4)
    for key in (two, (0, torch.tensor(3)), (two,) * 4, torch.tensor(1.0)):
        with pytest.raises(IndexError):
            x[key]
    leaf = torch.ones(3, requires_grad=True)
    (leaf * 2)[two].backward()
    assert leaf.grad.tolist() == [0, 0, 2]


NAN, INF = float("nan"), float("inf")
ROWS = [[3.0, 1.0, 3.5], [-0.5, 2.0, 8.0]], [[NAN, 1.0, 2.0], [2.0, INF, NAN]], [[0.0, -0.0, 1.0], [4.0, 3.0, 4.0]]
FEW = [np.array(row, kind) for row in ROWS
    for kind in (np.float32, np.float64)]
ROW, COLUMN = np.zeros((1, 3), np.int64), np.ones((2, 1), np.int64)
CALLS = {
    "var": [dict(dim=-1), dict(dim=0, correction=0, keepdim=True), dict(dim=[1], keepdim=True)],
    "std": [dict(dim=-1), dict(dim=(1,), correction=0, keepdim=True)],
    "amax": [dict(dim=-1), dict(dim=(0,), keepdim=True)], "amin": [dict(dim=1), dict(dim=0, keepdim=True)],
    "flip": [dict(dims=(0,)), dict(dims=(0, -1)), dict(dims=())],
    "roll": [dict(shifts=1, dims=0), dict(shifts=(-4,), dims=(1,)), dict(shifts=0, dims=-1)],
    "gather": [dict(dim=1, index=ROW), dict(dim=0, index=COLUMN)],
    "scatter_value": [dict(dim=1, index=ROW, value=2.5), dict(dim=0, index=COLUMN, value=-1)],
    "all": [dict(), dict(dim=1), dict(dim=0, keepdim=True)], "any": [dict(), dict(dim=-1, keepdim=True)],
    "one_hot": [dict(), dict(num_classes=9)],
    "pad_reflect2": [dict(pad=(1, 2, 0, 1)), dict(pad=(0, 0, 2, 2))], "pad_replicate2": [dict(pad=(1, 2, 0, 3))],
    "clamp": [dict(min=1, max=6), dict(max=2), dict(min=3), dict(min=4, max=-1)],
}


WHOLE, IMAGES = np.array([[0, 5, 2, 1], [3, 3, 0, 7]]), np.arange(36.0).reshape(1, 2, 3, 6)
TRUTH = [np.array(row) for row in ([[True, False], [True, True]], [[False, False]], [[True]])]
GIVEN = {"clamp": [WHOLE], "one_hot": [WHOLE], "all": TRUTH, "any": TRUTH,
    "pad_reflect2": [IMAGES], "pad_replicate2": [IMAGES]}


@pytest.mark.parametrize("name", CALLS)
def test_calls_on_few_numbers_are_those_of_the_definition(name):
    for a in GIVEN.get(name, FEW):
        for given in CALLS[name]:
            wanted = np.asarray(TABLE[name].forward(a, **given))
            named = {k: wengert.Tensor._wg_wrap(v) if type(v) is np.ndarray else v for k, v in given.items()}
            found = function(name)(wengert.Tensor._wg_wrap(a), **named)._wg_data
            assert found.dtype == wanted.dtype and found.flags.c_contiguous and found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_casts_and_products_of_few_numbers():
    kinds = [np.float32, np.float64, np.int64, np.int32, bool]
    for a in (np.array([[0.0, 1.9, -2.5], [3.0, -0.0, 1e6]], k) for k in kinds):
        for d in (wengert.float32, wengert.float64, wengert.int64):
            found = wengert.Tensor._wg_wrap(a).to(d)
            assert found.dtype == d and found.tolist() == a.astype(d.np).tolist()
    for kind in (np.float32, np.float64):
        a = np.arange(24.0).reshape(2, 3, 4).astype(kind)
        for b in (a.swapaxes(1, 2), a.reshape(2, 4, 3), np.asarray(a.swapaxes(1, 2), order="F")[..., ::2]):
            found = wengert.bmm(wengert.Tensor._wg_wrap(a), wengert.Tensor._wg_wrap(b))
            assert found._wg_data.dtype == kind and found.is_contiguous() and found.tolist() == (a @ b).tolist()


@pytest.mark.parametrize("taken",
    [lambda z: z, lambda z: z.t(), lambda z: z[1:, ::2], lambda z: z.conj(), lambda z: z[0, 0]])
def test_parts_of_complex_numbers_are_views(torch, taken):
    leaf = torch.complex(torch.arange(6.0), torch.ones(6)).reshape(2, 3).requires_grad_()
    z = taken(leaf * 1)
    for part, sign in ((z.real, 0), (z.imag, 1)):
        wanted = [v.imag if sign else v.real for v in z.detach().resolve_conj().reshape(-1).tolist()]
        assert part._is_view() and part.resolve_neg().reshape(-1).tolist() == wanted
        assert part.grad_fn.name() == "SelectBackward0" and not part.is_conj()
    z.real.sum().backward()
    assert set(leaf.grad.reshape(-1).tolist()) <= {0j, 1 + 0j}
    w = taken(leaf.detach().clone())
    w.imag.mul_(2)
    assert w.reshape(-1)[0].item().imag == 2 * z.reshape(-1)[0].item().imag and w._version == 1
    pairs = torch.view_as_real(leaf)
    assert torch.view_as_complex(pairs).tolist() == leaf.tolist() and pairs.shape == (2, 3, 2)
    with pytest.raises(RuntimeError):
        torch.view_as_real(leaf.conj())
    with pytest.raises(RuntimeError):
        torch.view_as_complex(torch.ones(2, 3))
