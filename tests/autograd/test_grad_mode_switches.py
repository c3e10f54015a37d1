"""The switches of autograd used again, as decorators, and with what is no boolean; what they keep
in their attributes.
"""

from __future__ import annotations

import importlib
import threading
import warnings

import pytest


@pytest.fixture
def modes(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.grad_mode")


def test_multithreading_is_switched_for_one_thread(torch, modes):
    asked = torch.autograd.is_multithreading_enabled
    with modes.set_multithreading_enabled(False) as given:
        assert given is None and not asked()
        seen = []
        other = threading.Thread(target=lambda: seen.append(asked()))
        other.start()
        other.join()
        assert seen == [True]
    assert asked()
    switch = modes.set_multithreading_enabled(mode=False)
    assert (switch.mode, switch.prev, asked()) == (False, True, False)
    modes.set_multithreading_enabled(True)
    with switch:  # it acts when it is made, and is undone at the end
        assert asked()


def test_as_a_decorator_multithreading_stays_as_it_was_set(torch, modes):
    asked = torch.autograd.is_multithreading_enabled
    try:

        @modes.set_multithreading_enabled(False)
        def f():
            return asked()

        assert (asked(), f(), asked()) == (False, False, False)
    finally:
        modes.set_multithreading_enabled(True)


def test_view_replay_is_set_again_on_entering(torch, modes):
    asked = torch.autograd.is_view_replay_enabled
    switch = modes._force_original_view_tracking(True)
    modes._force_original_view_tracking(False)
    with switch:
        assert asked()
    assert not asked()

    @modes._force_original_view_tracking(True)
    def f():
        return asked()

    assert (asked(), f(), asked()) == (False, True, False)


def test_the_layout_policy_and_its_default(torch, modes):
    asked = torch._C._is_grad_layout_enforcement_enabled
    with modes.enforce_grad_layout_policy(enable=False) as given:
        assert given is None and not asked()
        assert modes.enforce_grad_layout_policy().mode is True and asked()
    assert asked()

    @modes.enforce_grad_layout_policy(False)
    def f():
        return asked()

    assert (asked(), f(), asked()) == (True, False, True)


@pytest.mark.parametrize(
    ("name", "core"),
    [("set_multithreading_enabled",) * 2, ("_force_original_view_tracking", "set_view_replay_enabled"),
     ("enforce_grad_layout_policy", "set_grad_layout_enforcement_enabled"), ("set_grad_enabled",) * 2],
)
@pytest.mark.parametrize("value", [3, None, "yes"])
def test_switches_take_booleans(torch, modes, name, core, value):
    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"{core}\(\): argument 'enabled' \(position 1\) must be bool, not {kind}"):
        getattr(modes, name)(value)


def test_every_switch_can_be_cloned(torch, modes):
    kinds = (torch.no_grad, torch.enable_grad, torch.inference_mode, modes.enforce_grad_layout_policy)
    made = ([kind() for kind in kinds] + [modes.set_multithreading_enabled(True),
        modes._force_original_view_tracking(False)])
    made.append(torch.set_grad_enabled(True))
    for switch in made:
        clone = switch.clone()
        assert type(clone) is type(switch) and clone is not switch
        assert getattr(clone, "mode", None) == getattr(switch, "mode", None)


def test_versions_are_kept_of_tensors_and_tuples(torch):
    preserve = torch.autograd._unsafe_preserve_version_counter
    x, y = torch.ones(2), torch.ones(2)
    x.add_(1)
    context = preserve((x, y))
    assert context.tensors == (x, y) and context.prev_versions == (1, 0)
    with context as given:
        x.add_(1)
        y.add_(1)
    assert given is None and (x._version, y._version) == (1, 0)
    with preserve(()):
        pass
    for wrong in ([x], None):
        with pytest.raises(AssertionError, match="Expected tensors to be a tuple"):
            preserve(wrong)


def test_anomaly_mode_remembers_what_was_before(torch):
    switch = torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        assert (switch.prev, switch.prev_check_nan) == (False, True)
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inner = torch.autograd.detect_anomaly()
        assert (inner.prev, inner.prev_check_nan, inner.check_nan) == (True, False, True)
        with inner as given:
            assert given is None and torch.is_anomaly_check_nan_enabled()
        assert not torch.is_anomaly_check_nan_enabled()
    finally:
        torch.autograd.set_detect_anomaly(False)


@pytest.mark.parametrize(("args", "argument"),
    [((3,), "'enabled' (position 1)"), ((True, 3), "'check_nan' (position 2)")], ids=["mode", "check_nan"])
def test_anomaly_mode_takes_booleans(torch, args, argument):
    with pytest.raises(TypeError) as error:
        torch.autograd.set_detect_anomaly(*args)
    assert f"set_anomaly_enabled(): argument {argument} must be bool, not int" in str(error.value)
    assert not torch.is_anomaly_enabled()


def test_levels_of_forward_mode_by_number(torch, forward_ad):
    x, t = torch.ones(2), torch.ones(2)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        forward_ad.exit_dual_level(level=-1)
    assert forward_ad.enter_dual_level() == 0 and forward_ad.exit_dual_level(level=0) is None
    with forward_ad.dual_level() as level:
        dual = forward_ad.make_dual(x, t, level=level)
        assert forward_ad.unpack_dual(dual, level=level).tangent.tolist() == [1.0, 1.0]
        assert forward_ad.unpack_dual(dual, level=-3) == (dual, None)
        with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
            forward_ad.make_dual(x, t, level=-3)
        with pytest.raises(TypeError, match=r"argument 'dual' \(position 1\) must be Tensor, not int"):
            forward_ad.unpack_dual(3)
        with pytest.raises(TypeError):
            forward_ad.make_dual(x, t, 0)
    assert forward_ad.unpack_dual(3) == (3, None)  # outside there is nothing to unpack
