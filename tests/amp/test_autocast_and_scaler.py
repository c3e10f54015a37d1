"""Mixed precision: what autocast casts, and what GradScaler scales, skips and remembers."""

from __future__ import annotations

import warnings

import pytest


def test_products_are_cast_and_the_rest_is_not(torch):
    a, f = torch.ones(2, 2), torch.nn.functional
    with torch.autocast("cpu"):
        low = a @ a
        assert low.dtype == torch.bfloat16
        for y in (torch.mm(a, a), f.linear(a, a), torch.einsum("ij,jk->ik", a, a),
                f.conv1d(a[None], torch.ones(2, 2, 1)), low.exp()):
            assert y.dtype == torch.bfloat16
        for y in (a + a, low + a, low.prod(), f.mse_loss(low, a), f.cross_entropy(low, torch.tensor([0, 1])),
                torch.cat([low, a])):
            assert y.dtype == torch.float32
        assert f.binary_cross_entropy_with_logits(low, a).dtype == torch.float32
        assert torch.linalg.inv(low + torch.eye(2).bfloat16()).dtype == torch.float32
        assert (a.double() @ a.double()).dtype == torch.float64
    assert (a @ a).dtype == torch.float32


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", ["", "padding", "causal", "both"])
def test_an_encoder_layer_that_predicts_is_cast_as_one(torch, norm_first, activation, masked):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=True, norm_first=norm_first)
    layer.eval()
    x = torch.randn(3, 5, 8)
    masks = {}
    if masked in ("padding", "both"):
        masks["src_key_padding_mask"] = torch.arange(5).expand(3, 5) > torch.tensor([4, 3, 2])[:, None]
    if masked in ("causal", "both"):
        masks["src_mask"] = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = layer(x, **masks)
    with torch.autocast("cpu"):
        kept = torch.float32
        assert layer(x, **masks).dtype == kept  # its gradient may be asked for
        with torch.no_grad():
            low = layer(x, **masks)
            seen = layer.linear1.register_forward_hook(lambda *_: None)
            assert layer(x, **masks).dtype == kept
            seen.remove()
            assert layer.train()(x, **masks).dtype == kept
    assert low.dtype == torch.bfloat16
    shown = ~masks.get("src_key_padding_mask", torch.zeros(3, 5, dtype=torch.bool))
    torch.testing.assert_close(low.float()[shown], expected[shown], atol=0.06, rtol=0.03)


def test_a_region_can_be_left_and_entered_again(torch):
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.float16):
        assert (a @ a).dtype == torch.float16 and torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            assert (a @ a).dtype == torch.bfloat16 and torch.get_autocast_dtype("cpu") == torch.bfloat16
        assert (a @ a).dtype == torch.float16
    assert not torch.is_autocast_enabled("cpu")


def test_as_a_decorator(torch):
    @torch.autocast("cpu")
    def product(a):
        return a @ a

    assert product(torch.ones(2, 2)).dtype == torch.bfloat16 and product.__name__ == "product"


def test_other_devices_and_dtypes_step_aside(torch):
    a = torch.ones(2, 2)
    with pytest.warns(UserWarning, match="is not available"):
        region = torch.autocast("cuda")
    with region:
        assert (a @ a).dtype == torch.float32
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        torch.autocast("cpu", dtype=torch.float64)
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)


def test_gradients_come_back_in_float32(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.ones(5, 3)
    with torch.autocast("cpu"):
        y = model(x)
        loss = torch.nn.functional.cross_entropy(y, torch.zeros(5, dtype=torch.long))
    loss.backward()
    assert y.dtype == torch.bfloat16 and loss.dtype == torch.float32
    assert all(p.grad.dtype == torch.float32 and p.grad.shape == p.shape for p in model.parameters())
    low = model[0].weight.grad.clone()
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(x), torch.zeros(5, dtype=torch.long)).backward()
    assert torch.allclose(low, model[0].weight.grad, atol=2e-2)


def test_a_weight_used_twice_gets_both_gradients(torch):
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    for cached in (True, False):
        w.grad = None
        with torch.autocast("cpu", cache_enabled=cached):
            y = (x @ w).sum() + (x @ w @ w).sum()
        y.float().backward()
        assert torch.equal(w.grad, torch.full((2, 2), 10.0))


def test_custom_functions_choose_their_precision(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b.T, a.T @ g

    a = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(a, a @ a)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert a.grad.dtype == torch.float32


# -- GradScaler -------------------------------------------------------------------------------------------------------


def setup(torch, **options):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return w, torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", **options)


def test_a_step_is_that_of_the_unscaled_loss(torch):
    w, optimizer, scaler = setup(torch, init_scale=8.0)
    scaler.scale((w * 2).sum()).backward()
    assert w.grad.tolist() == [16.0, 16.0]
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.0, 1.0] and w.grad.tolist() == [2.0, 2.0] and scaler.get_scale() == 8.0


def test_gradients_can_be_clipped(torch):
    w, optimizer, scaler = setup(torch)
    scaler.scale((w * 30).sum()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    assert w.grad.norm() < 1.001
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step"):
        scaler.unscale_(optimizer)
    scaler.update()


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_steps_that_are_not_finite_are_skipped(torch, bad):
    w, optimizer, scaler = setup(torch, init_scale=8.0, backoff_factor=0.25)
    scaler.scale((w * torch.tensor([1.0, bad])).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert w.tolist() == [1.0, 2.0] and scaler.get_scale() == 2.0


def test_the_scale_grows_after_good_steps(torch):
    w, optimizer, scaler = setup(torch, init_scale=8.0, growth_interval=2, growth_factor=4.0)
    scales = []
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale(w.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [8.0, 32.0, 32.0, 128.0]
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0


def test_one_bad_optimizer_shrinks_the_scale_for_all(torch):
    w, first, scaler = setup(torch, init_scale=8.0)
    v = torch.tensor([1.0], requires_grad=True)
    second = torch.optim.SGD([v], lr=0.5)
    for x in scaler.scale([w.sum(), (v * float("inf")).sum()]):
        x.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert w.tolist() == [0.5, 1.5] and v.tolist() == [1.0] and scaler.get_scale() == 4.0


def test_misuse_is_told(torch):
    _, optimizer, scaler = setup(torch)
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.update()
    scaler.scale(torch.ones(1))
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(AssertionError, match="growth factor"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)


def test_unscaling_twice_is_refused(torch):
    w, optimizer, scaler = setup(torch)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(optimizer)


def test_state_dict(torch):
    _, _, scaler = setup(torch, init_scale=16.0, growth_interval=7)
    state = scaler.state_dict()
    assert (state == {"scale": 16.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 7,
        "_growth_tracker": 0})
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict({**state, "scale": 4.0, "_growth_tracker": 3})
    assert other.get_scale() == 4.0 and other.state_dict()["_growth_tracker"] == 3
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict({})


def test_disabled_scalers_do_nothing(torch):
    w, optimizer, scaler = setup(torch, enabled=False)
    loss = w.sum()
    assert (scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
        and not scaler.is_enabled())
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 1.5]
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not torch.cuda.amp.GradScaler().is_enabled()


class TestSettings:
    """What regions set and restore, set by hand."""

    @pytest.fixture(autouse=True)
    def as_before(self, torch):
        yield
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        torch.set_autocast_cache_enabled(True)

    def test_on_and_off(self, torch):
        a = torch.ones(2, 2)
        torch.set_autocast_enabled("cpu", True)
        assert torch.is_autocast_enabled("cpu") and (a @ a).dtype == torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype == torch.float32
        torch.set_autocast_enabled("cpu", False)
        assert not torch.is_autocast_enabled("cpu") and (a @ a).dtype == torch.float32
        with torch.autocast("cpu"):
            torch.set_autocast_enabled("cpu", False)
            assert (a @ a).dtype == torch.float32
            with torch.autocast("cpu"):
                assert (a @ a).dtype == torch.bfloat16
            assert (a @ a).dtype == torch.float32
        assert not torch.is_autocast_enabled("cpu")

    def test_precision(self, torch):
        a = torch.ones(2, 2)
        torch.set_autocast_dtype("cpu", torch.float16)
        with torch.autocast("cpu"):
            assert (a @ a).dtype == torch.float16
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert (a @ a).dtype == torch.bfloat16 == torch.get_autocast_dtype("cpu")
        assert torch.get_autocast_dtype("cpu") == torch.float16 == torch.get_autocast_dtype("cuda")

    def test_cache(self, torch):
        torch.set_autocast_cache_enabled(False)
        with torch.autocast("cpu"):
            assert not torch.is_autocast_cache_enabled()
        with torch.autocast("cpu", cache_enabled=True):
            assert torch.is_autocast_cache_enabled()
        assert not torch.is_autocast_cache_enabled()

    def test_casts_are_shared_by_nested_regions(self, torch):
        def cast(y):
            return y.grad_fn.next_functions[1][0]

        a, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
        with torch.autocast("cpu"):
            first = a @ w
            with torch.autocast("cpu"):
                assert cast(a @ w) is cast(first)
            assert cast(a @ w) is cast(first)
            torch.clear_autocast_cache()
            assert cast(a @ w) is not cast(first)

    def test_nesting(self, torch):
        with torch.autocast("cpu"):
            assert torch.autocast_increment_nesting() == 2 and torch.autocast_decrement_nesting() == 1
        assert torch.autocast_increment_nesting() == 1 and torch.autocast_decrement_nesting() == 0

    def test_devices(self, torch):
        assert torch.amp.is_autocast_available("cpu") and torch.amp.is_autocast_available("cuda")
        assert not torch.amp.is_autocast_available("meta")
        torch.set_autocast_enabled("cuda", True)
        assert (torch.is_autocast_enabled() and torch.is_autocast_enabled("cuda")
            and not torch.is_autocast_enabled("cpu"))
        torch.set_autocast_enabled(False)
        assert not torch.is_autocast_enabled()
        with pytest.raises(RuntimeError, match="unknown device type for autocast"):
            torch.is_autocast_enabled("meta")
        with pytest.raises(TypeError, match="must be str, not int"):
            torch.get_autocast_dtype(3)
        with pytest.raises(TypeError, match="must be torch.dtype, not str"):
            torch.set_autocast_dtype("cpu", "x")

    def test_names_of_old(self, torch):
        with pytest.warns(DeprecationWarning, match="get_autocast_dtype"):
            assert torch.get_autocast_cpu_dtype() == torch.bfloat16
        with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"), torch.cpu.amp.autocast():
            assert torch.is_autocast_enabled("cpu")
        with pytest.warns(FutureWarning, match="custom_fwd"):
            torch.cuda.amp.custom_fwd(lambda ctx, x: x)


def test_results_that_go_somewhere_are_not_cast(torch):
    x, out = torch.ones(2, 2), torch.empty(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(x, x, out=out) is out and out.tolist() == [[2, 2], [2, 2]]
        assert torch.bmm(x[None], x[None], out=torch.empty(1, 2, 2)).dtype is torch.float32


def test_recurrent_layers(torch):
    if torch.__name__ == "torch" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("PyTorch's LSTM of bfloat16 needs a processor with instructions for it")
    x = torch.randn(3, 2, 2)
    with torch.autocast("cpu"):
        types = {name: getattr(torch.nn, name)(2, 2)(x)[0].dtype for name in ("RNN", "LSTM", "GRU")}
        assert torch.nn.GRUCell(2, 2)(x[0]).dtype is torch.float32
    # PyTorch's GRU is one of several operators
    assert types == {"RNN": torch.bfloat16, "LSTM": torch.bfloat16, "GRU": torch.float32}


def test_errors_hooks_and_nodes_inside_are_those_outside(torch):
    w, x = torch.ones(3, 2, requires_grad=True), torch.ones(4, 2)
    seen = []
    with torch.autocast("cpu"):
        y = torch.nn.functional.linear(x, w)
        z = y.float().view(2, 6).clamp(0, 1) * 2
        with pytest.raises(RuntimeError):
            y.view(5)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.dtype) or t, lambda t: t):
            (y * y).sum()
    assert z.grad_fn.name() == "MulBackward0" and y.dtype == torch.bfloat16
    assert seen == [torch.bfloat16] * 2
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    z.sum().backward()
    assert w.grad.dtype == torch.float32


def test_what_is_not_cast_is_recorded_as_outside_and_seen_by_others(torch):
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):  # from the second time on it is known that the operators are not cast
        with torch.autocast("cpu"):
            assert torch.relu(x).requires_grad
            with torch.no_grad():
                assert not torch.relu(x).requires_grad
            with torch.inference_mode():
                assert torch.relu(x).is_inference()
            packed = []
            with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
                torch.tanh(x)
            assert len(packed) == 1
            y = (x * x).clone()
            y.add_(1).mul_(2)
            (y + torch.relu(x)).sum().backward()
        assert x.grad.tolist() == [5.0] * 3
        x.grad = None


def test_modes_inside_a_region_see_what_is_not_cast(torch):
    seen = []

    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with torch.autocast("cpu"):
        for _ in range(2):
            torch.relu(torch.ones(2))
        with Names():
            torch.relu(torch.ones(2))
    assert "relu" in seen


@pytest.mark.parametrize("grad", [False, True])
def test_normalisations_take_16_bits_with_weights_of_float32(torch, grad):
    torch.manual_seed(0)
    n = torch.nn
    for norm, shape in ((n.BatchNorm2d(4).eval(), (2, 4, 3, 3)), (n.BatchNorm2d(4), (2, 4, 3, 3)),
            (n.LayerNorm(8), (5, 8)), (n.GroupNorm(2, 4), (2, 4, 3, 3))):
        with torch.no_grad():
            norm.weight.uniform_(0.5, 2)
            norm.bias.uniform_(-1, 1)
        x = torch.randn(shape).bfloat16().requires_grad_(grad)
        wide = x.detach().float().requires_grad_(grad)
        y = norm(x)
        expected = norm(wide)
        assert y.dtype == torch.bfloat16 and y.requires_grad
        torch.testing.assert_close(y.float(), expected, atol=0.02, rtol=0.02)
        given = [norm.weight, norm.bias, *([x] if grad else [])]
        found = torch.autograd.grad(y.float().pow(2).sum(), given)
        right = torch.autograd.grad(expected.pow(2).sum(), [norm.weight, norm.bias, *([wide] if grad else [])])
        assert [g.dtype for g in found] == [p.dtype for p in given]
        for a, b in zip(found, right):
            torch.testing.assert_close(a.float(), b, atol=0.1, rtol=0.05)


def test_a_weight_cast_without_gradients_is_cast_anew_for_a_graph_and_after_a_write():
    import wengert as torch

    layer, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    with torch.autocast("cpu"):
        with torch.inference_mode():
            low = layer(x)
        with torch.no_grad():
            assert torch.equal(layer(x), low)
            layer.weight.mul_(2)
            layer.bias.mul_(2)
            assert torch.equal(layer(x), low * 2)
        layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3] * 2


def test_a_weight_is_cast_once_without_gradients(torch):
    layer, x = torch.nn.Linear(3, 2, bias=False), torch.ones(1, 3)
    with torch.autocast("cpu"), torch.no_grad(), torch.profiler.profile() as seen:
        for _ in range(3):
            layer(x)
    assert sum(e.count for e in seen.key_averages() if e.key == "aten::copy_") == 4  # x three times


def test_later_calls_are_cast_as_the_first(torch):
    f, x, w = torch.nn.functional, torch.randn(4, 3), torch.randn(2, 3, requires_grad=True)
    low, b = x.bfloat16(), torch.randn(2, requires_grad=True)
    with torch.autocast("cpu"):
        for _ in range(3):
            y = f.linear(x, w, b)
            assert y.dtype == f.linear(low, w[:, :], None).dtype == torch.bfloat16
            assert (x.double() @ x.double().T).dtype == torch.float64
            assert torch.prod(low, 1).dtype == f.mse_loss(y, torch.ones(4, 2)).dtype == torch.float32
            assert torch.zeros(4, 2).addmm_(x, w.detach().T).dtype == torch.float32
            with pytest.raises(RuntimeError):
                f.linear(x, w.T)
        gradients = torch.autograd.grad(y.float().sum(), [w, b])
    assert [g.dtype for g in gradients] == [torch.float32, torch.float32]
    torch.testing.assert_close(gradients[0], x.bfloat16().float().sum(0).expand(2, 3), atol=0.05, rtol=0.02)
