"""Every collective, with values that say where they come from. Runs with two ranks or more, also on PyTorch."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
ranks = range(size)
F = dist.ReduceOp


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b), (rank, a, b)


def own(r=None, n=3, dtype=torch.float32):
    return (torch.arange(n) + 10 * (rank if r is None else r) + 1).to(dtype)


def everyone(n=3, dtype=torch.float32):
    return [own(r, n, dtype) for r in ranks]


def product(tensors):
    result = tensors[0].clone()
    for t in tensors[1:]:
        result = result * t
    return result


# reductions of every dtype
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8,
        torch.uint8, torch.complex64, torch.complex128):
    x = own(dtype=dtype)
    assert dist.all_reduce(x) is None
    same(x, sum(everyone(dtype=dtype)))
for op, how in ((F.PRODUCT, product), (F.MIN, lambda ts: ts[0]), (F.MAX, lambda ts: ts[-1])):
    for dtype in (torch.float32, torch.int64, torch.bfloat16):
        x = own(dtype=dtype)
        dist.all_reduce(x, op)
        same(x, how(everyone(dtype=dtype)))
for op, how in ((F.BAND, torch.bitwise_and), (F.BOR, torch.bitwise_or), (F.BXOR, torch.bitwise_xor)):
    x = own(dtype=torch.int32)
    dist.all_reduce(x, op=op)
    expected = own(0, dtype=torch.int32)
    for r in ranks[1:]:
        expected = how(expected, own(r, dtype=torch.int32))
    same(x, expected)
x = own()
dist.all_reduce(x, F.AVG)
same(x, sum(everyone()) / size)
x = torch.tensor([rank == 0, False])
dist.all_reduce(x)
same(x, torch.tensor([True, False]))
for shape in ((), (0,), (2, 0, 3), (1,)):
    x = torch.full(shape, rank + 1.0)
    dist.all_reduce(x)
    same(x, torch.full(shape, float(sum(r + 1 for r in ranks))))
x = own(n=6).view(2, 3).t()
dist.all_reduce(x)
same(x, sum(everyone(6)).view(2, 3).t())
x = own()
dist.reduce(x, size - 1)
if rank == size - 1:
    same(x, sum(everyone()))
x, y = own(), own(n=2)
dist.all_reduce_coalesced([x, y])
same(x, sum(everyone()))
same(y, sum(everyone(2)))

# moves
for dtype in (torch.float32, torch.bool, torch.float16, torch.complex64):
    x = own(dtype=dtype)
    dist.broadcast(x, size - 1)
    same(x, own(size - 1, dtype=dtype))
x = own(n=6).view(2, 3).t()
dist.broadcast(x, group_src=0)
same(x, own(0, 6).view(2, 3).t())
parts = [torch.zeros(3) for _ in ranks]
dist.all_gather(parts, own())
for part, expected in zip(parts, everyone(), strict=True):
    same(part, expected)
whole = torch.zeros(3 * size)
dist.all_gather_into_tensor(whole, own())
same(whole, torch.cat(everyone()))
parts = [torch.zeros(3) for _ in ranks] if rank == 0 else None
dist.gather(own(), parts)
if rank == 0:
    same(torch.stack(parts), torch.stack(everyone()))
x = torch.zeros(3)
dist.scatter(x, everyone() if rank == size - 1 else None, src=size - 1)
same(x, own())
x = torch.zeros(3)
dist.reduce_scatter(x, [own() + 100 * r for r in ranks])
same(x, sum(everyone()) + 100 * rank * size)
x = torch.zeros(3)
dist.reduce_scatter_tensor(x, torch.cat([own() + 100 * r for r in ranks]))
same(x, sum(everyone()) + 100 * rank * size)
out = [torch.zeros(2) for _ in ranks]
dist.all_to_all(out, [torch.full((2,), 10.0 * rank + r) for r in ranks])
same(torch.stack(out), torch.stack([torch.full((2,), 10.0 * r + rank) for r in ranks]))
x = torch.zeros(2 * size)
dist.all_to_all_single(x, torch.arange(2.0 * size) + 100 * rank)
same(x, torch.cat([torch.arange(2.0 * rank, 2 * rank + 2) + 100 * r for r in ranks]))
sent = [r + 1 for r in ranks]  # rows for each rank
x = torch.zeros(size * (rank + 1), 2)
dist.all_to_all_single(x, torch.full((sum(sent), 2), float(rank)), [rank + 1] * size, sent)
same(x, torch.cat([torch.full((rank + 1, 2), float(r)) for r in ranks]))
with dist._coalescing_manager() as manager:
    pass

# work and futures
x, y = own(), own()
first, second = dist.all_reduce(x, async_op=True), dist.broadcast(y, 0, async_op=True)
assert first.wait() is True and second.wait() and first.is_completed() and first.is_success()
same(x, sum(everyone()))
same(y, own(0))
same(first.result()[0], x)
x = own()
later = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] / size)
same(later.wait(), sum(everyone()) / size)
dist.barrier()
dist.barrier(async_op=True).wait()

# objects
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank, "text": "x" * (rank * 50)})
assert objects == [{"rank": r, "text": "x" * (r * 50)} for r in ranks]
objects = [None] * size if rank == 1 else None
dist.gather_object((rank, torch.ones(rank)), objects, dst=1)
if rank == 1:
    assert [o[0] for o in objects] == list(ranks) and objects[-1][1].numel() == size - 1
objects = [rank, {"a": own()}] if rank == 0 else [None, None]
dist.broadcast_object_list(objects, src=0)
assert objects[0] == 0 and torch.equal(objects[1]["a"], own(0))
mine = [None]
dist.scatter_object_list(mine, ["x" * (r + 1) for r in ranks] if rank == 0 else None, src=0)
assert mine == ["x" * (rank + 1)]
if rank == 0:
    dist.send_object_list([1, "two"], dst=1)
elif rank == 1:
    objects = [None, None]
    assert dist.recv_object_list(objects, src=0) == 0 and objects == [1, "two"]

# messages
right, left = (rank + 1) % size, (rank - 1) % size
x = torch.zeros(3)
works = dist.batch_isend_irecv([dist.P2POp(dist.isend, own(), right), dist.P2POp(dist.irecv, x, left)])
for work in works:
    work.wait()
same(x, own(left))
if rank == 0:
    for r in ranks[1:]:
        dist.send(own(0) + r, r, tag=7)
    came = {dist.recv(x) for _ in ranks[1:]}
    assert came == set(ranks[1:])
else:
    assert dist.recv(x, 0, tag=7) == 0
    same(x, own(0) + rank)
    dist.isend(own(), 0).wait()

# groups
last = dist.new_group([size - 1, 0])
if rank in (0, size - 1):
    x = own()
    dist.all_reduce(x, group=last)
    same(x, own(0) + own(size - 1))
    assert dist.get_rank(last) == (0 if rank == 0 else 1) and dist.get_world_size(last) == 2
    x = own()
    dist.broadcast(x, size - 1, group=last)
    same(x, own(size - 1))
    x = own()
    dist.broadcast(x, group=last, group_src=0)
    same(x, own(0))
    assert dist.get_process_group_ranks(last) == [0, size - 1] and dist.get_global_rank(last, 1) == size - 1
    assert dist.get_group_rank(last, size - 1) == 1
    dist.destroy_process_group(last)
else:
    assert last == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(last) == -1
single, all_ = dist.new_subgroups(1)
assert len(all_) == size and dist.get_world_size(single) == 1
x = own()
dist.all_reduce(x, group=single)
same(x, own())
dist.monitored_barrier()

dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
print(f"rank {rank} of {size} is done", flush=True)
