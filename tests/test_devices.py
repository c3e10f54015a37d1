"""Devices that are not there answer, or refuse, as in a PyTorch that was built without them: xpu, mps, mtia, cuda."""

from __future__ import annotations

import importlib

import pytest

ANSWERS = """
xpu.is_available() xpu.device_count() xpu.is_initialized() xpu.is_bf16_supported() xpu.is_tf32_supported()
xpu.memory_allocated() xpu.max_memory_allocated() xpu.memory_reserved() xpu.max_memory_reserved() xpu.empty_cache()
xpu.memory_stats() xpu.memory_snapshot() xpu.get_arch_list() xpu.get_gencode_flags() xpu.get_rng_state_all()
xpu.set_rng_state_all([]) xpu.seed() xpu.seed_all() xpu.manual_seed(1) xpu.manual_seed_all(1)
xpu.default_generators xpu.set_stream(None)
mtia.is_available() mtia.is_initialized() mtia.device_count() mtia.memory_stats() mtia.max_memory_allocated()
mtia.manual_seed(1) mtia.manual_seed_all(1)
cuda.memory_cached() cuda.max_memory_cached() cuda.default_generators cuda.set_stream(None) cuda._is_compiled()
cuda._lazy_call(None) cuda.host_memory_stats() cuda.memory._set_allocator_settings("") cuda.memory.empty_cache()
cuda.memory.memory_allocated() cuda.random.get_rng_state_all()
cpu._is_amx_tile_supported()
_C._get_accelerator().type _C._GLIBCXX_USE_CXX11_ABI _C._get_privateuse1_backend_name()
"""
REFUSES = """
xpu.current_device() xpu.current_stream() xpu.get_device_capability() xpu.get_device_name() xpu.init()
xpu.get_device_properties() xpu.get_per_process_memory_fraction() xpu.get_rng_state() xpu.initial_seed()
xpu.mem_get_info() xpu.set_device(0) xpu.set_per_process_memory_fraction(.5) xpu.synchronize() xpu.Stream() xpu.Event()
xpu.can_device_access_peer(0,1) xpu.is_current_stream_capturing() xpu.graph_pool_handle() xpu.device(0).__enter__()
mtia.current_device() mtia.synchronize() mtia.set_device(0) mtia.empty_cache() mtia.get_device_capability()
mps.recommended_max_memory() mps.get_rng_state() mps.set_per_process_memory_fraction(.5)
cuda.cudart() cuda.can_device_access_peer(0,1) cuda.set_sync_debug_mode(0) cuda.get_sync_debug_mode() cuda._lazy_init()
cuda.current_blas_handle() cuda.get_per_process_memory_fraction() cuda.is_current_stream_capturing()
cuda.graph_pool_handle() cuda.MemPool()
"""


def outcome(torch, text):
    for module in ("xpu", "mps", "mtia", "cuda.memory"):
        importlib.import_module(f"{torch.__name__}.{module}")
    try:
        return eval(f"torch.{text}", {"torch": torch})
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parity
@pytest.mark.parametrize("text", [*ANSWERS.split(), *REFUSES.split()])
def test_the_same_outcome(text):
    import torch

    import wengert

    ours, theirs = outcome(wengert, text), outcome(torch, text)
    assert ours == theirs or (ours == {} and dict(theirs) == {})
    assert (text in REFUSES.split()) == isinstance(ours, tuple) or ours == ()


def test_types_that_no_tensor_has():
    import wengert as torch

    for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16", "int4", "uint1", "uint7"):
        kind = getattr(torch, name)
        assert isinstance(kind, torch.dtype) and repr(kind) == f"torch.{name}" and {kind: 1}[getattr(torch, name)] == 1
        for use in (lambda: torch.ones(2, dtype=kind), lambda: torch.ones(2).to(kind)):
            with pytest.raises(NotImplementedError, match=f"no tensor holds torch.{name}: n"):
                use()


@pytest.mark.parity
def test_their_properties():
    import torch

    import wengert
    from wengert.arrays.dtypes import UNHELD

    for name in UNHELD:
        ours, theirs = getattr(wengert, name), getattr(torch, name)
        assert (ours.itemsize, ours.is_floating_point, ours.is_complex) == (
            theirs.itemsize, theirs.is_floating_point, theirs.is_complex)
        if name[0] in "iu":
            assert ours.is_signed == theirs.is_signed


def test_assertions_in_the_program(torch):
    torch._assert(torch.tensor(True), "unused")
    for wrong in (False, torch.tensor(0)):
        with pytest.raises(AssertionError, match="^why$"):
            torch._assert(wrong, "why")
    torch._assert_async(torch.tensor(3))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0))
    with pytest.raises(RuntimeError, match="^why$"):
        torch._assert_async(torch.tensor(0), "why")
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        torch._assert_async(torch.tensor([1, 2]))


def test_products_of_small_integers(torch):
    a, b = torch.full((32, 16), 100, dtype=torch.int8), torch.full((16, 8), -100, dtype=torch.int8)
    found = torch._int_mm(a, b)
    assert found.dtype is torch.int32 and found.shape == (32, 8) and found[0, 0].item() == -160000
    with pytest.raises(RuntimeError, match="Expected self dtype to be int8 or uint8"):
        torch._int_mm(a.float(), b)


def test_indices_of_rows(torch):
    rows, columns = torch.tensor([0, 0, 2]), torch.tensor([1, 3, 0])
    begins = torch._convert_indices_from_coo_to_csr(rows, 4)
    assert begins.tolist() == [0, 2, 2, 3, 3]
    assert torch._convert_indices_from_coo_to_csr(rows, 3, out_int32=True).dtype is torch.int32
    for transpose, expected in ((False, [rows, columns]), (True, [columns, rows])):
        found = torch._convert_indices_from_csr_to_coo(begins, columns, transpose=transpose)
        assert found.tolist() == [row.tolist() for row in expected]
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
