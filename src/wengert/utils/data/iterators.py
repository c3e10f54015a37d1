"""One pass over a loader: what every pass does, the pass that loads each batch in this process, and that over workers.

With workers, task ``i`` is the ``i``-th index of the sampler. Tasks go to the workers in turn, ``prefetch_factor`` of
them ahead for each; whenever a result is handed out, one more task is sent. Results are kept until their turn comes.
"""

from __future__ import annotations

import os
import warnings
from itertools import cycle
from typing import TYPE_CHECKING, Any

from wengert.functions.devices import HOSTED
from wengert.graph.modes import modes

from .fetch import _DatasetKind
from .sampler import draw_seed
from .worker import ExceptionWrapper, Settings, StreamEnded, run

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory:
            _warn_of_pinning(loader.pin_memory_device)
        self._begin(loader)
        # Drawn at every iteration, workers or not, and after the sampler's own start: the order that PyTorch has.
        self._base_seed = draw_seed(loader.generator)

    def _begin(self, loader: DataLoader) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        if modes().watchers:
            from wengert.autograd.profiler import record_function

            with record_function(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
                data = self._next_data()
        else:
            data = self._next_data()
        self._num_yielded += 1
        if self._IterableDataset_len_called is not None and self._num_yielded > self._IterableDataset_len_called:
            self._warn_of_length()
        return data

    def _warn_of_length(self) -> None:
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._IterableDataset_len_called}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        if self._num_workers > 0:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=3)


def _warn_of_pinning(device: str) -> None:
    if device:
        warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
            f"pin_memory_device='{device}'.", stacklevel=6)
    if HOSTED:
        return
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=6,
    )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch when it is requested."""

    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation,
            self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(next(self._sampler_iter))


PATIENCE = 5.0  # seconds that a worker gets to end by itself


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches from worker processes."""

    _closed = True  # until the workers are there

    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        if loader.prefetch_factor is None or loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._ahead = loader.prefetch_factor * self._num_workers
        self._in_order = loader.in_order
        self._epoch = -1
        self._workers: list[Any] = []
        self._task_pipes: list[Any] = []
        self._result_pipes: list[Any] = []
        self._start_workers(loader)
        self._reset(loader)

    def _start_workers(self, loader: DataLoader) -> None:
        context = loader.multiprocessing_context
        if context is None:
            from wengert import multiprocessing as context
        self._stop = context.Event()
        self._home = os.getpid()
        self._closed = False
        settings = Settings(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last,
            self._base_seed, loader.worker_init_fn, self._num_workers)
        for worker_id in range(self._num_workers):
            tasks_there, tasks_here = context.Pipe(duplex=False)
            results_here, results_there = context.Pipe(duplex=False)
            worker = context.Process(target=run, args=(settings, worker_id, tasks_there, results_there, self._stop))
            worker.daemon = True
            try:
                worker.start()
            except Exception as error:
                self._shutdown_workers()
                _explain_pickling(error)
                raise
            tasks_there.close()
            results_there.close()
            self._workers.append(worker)
            self._task_pipes.append(tasks_here)
            self._result_pipes.append(results_here)

    def _reset(self, loader: DataLoader) -> None:
        """Begin an epoch: results of an earlier one that still arrive are dropped by their number."""
        self._begin(loader)
        self._epoch += 1
        self._sent = 0
        self._next = 0  # the task whose result is handed out next
        self._owner: dict[int, int] = {}  # of each task that is not handed out yet, the worker
        self._ready: dict[int, Any] = {}
        self._active = [True] * self._num_workers
        self._load = [0] * self._num_workers
        self._turn = cycle(range(self._num_workers))
        for _ in range(self._ahead):
            self._send_task()

    def _send_task(self) -> None:
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        most = self._ahead if self._in_order else self._ahead // max(1, sum(self._active))
        for _ in range(self._num_workers):
            worker = next(self._turn)
            if self._active[worker] and self._load[worker] < most:
                break
        else:
            return  # every stream has ended
        try:
            self._task_pipes[worker].send((self._epoch, self._sent, index))
        except OSError:
            self._report_death(self._workers[worker])
        self._owner[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            while self._next < self._sent and not self._expected(self._next):
                self._owner.pop(self._next, None)
                self._next += 1
            if self._next == self._sent:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._next in self._ready:
                task = self._next
                return self._hand_out(task, self._ready.pop(task))
            task, result = self._receive()
            if isinstance(result, StreamEnded):
                self._active[self._owner[task]] = False
                self._send_task()
            elif task == self._next or not self._in_order:
                return self._hand_out(task, result)
            else:
                self._ready[task] = result

    def _expected(self, task: int) -> bool:
        """Whether a result of the task is here or will come; not so once its worker's stream has ended."""
        return task in self._ready or (task in self._owner and self._active[self._owner[task]])

    def _hand_out(self, task: int, result: Any) -> Any:
        self._load[self._owner.pop(task)] -= 1
        if task == self._next:
            self._next += 1
        self._send_task()
        if isinstance(result, ExceptionWrapper):
            result.reraise()
        return result

    def _receive(self) -> tuple[int, Any]:
        """The next result of this epoch from any worker that is still active."""
        from multiprocessing.connection import wait

        while True:
            sources = [pipe for pipe, active in zip(self._result_pipes, self._active) if active]
            ready: list[Any] = wait(sources, self._timeout or None)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            pipe = ready[0]
            try:
                epoch, task, result = pipe.recv()
            except (EOFError, ConnectionError):
                self._report_death(self._workers[self._result_pipes.index(pipe)])
            if epoch == self._epoch:
                return task, result

    def _report_death(self, worker: Any) -> None:
        worker.join(PATIENCE)
        code = worker.exitcode
        if code is not None and code < 0:
            from signal import strsignal

            raise RuntimeError(f"DataLoader worker (pid {worker.pid}) is killed by signal: {strsignal(-code)}. ")
        raise RuntimeError(f"DataLoader worker (pid(s) {worker.pid}) exited unexpectedly")

    def _shutdown_workers(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        for pipe in self._task_pipes:
            try:
                pipe.send(None)
            except OSError:
                pass  # it is gone already
            pipe.close()
        for worker in self._workers:
            worker.join(PATIENCE)
            if worker.is_alive():
                worker.terminate()
                worker.join(PATIENCE)
        for pipe in self._result_pipes:
            pipe.close()

    def __del__(self) -> None:
        # A process forked from this one has a copy of the iterator, which must not end our workers.
        if not self._closed and os.getpid() == self._home:
            self._shutdown_workers()


def _explain_pickling(error: Exception) -> None:
    from pickle import PicklingError

    if isinstance(error, (TypeError, AttributeError, PicklingError)):
        warnings.warn("Got pickle error when attempting to start a worker Process. "
            "This might be because the worker Process arguments are not picklable. "
            "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms "
            "to 'forkserver', which requires the worker Process arguments to be picklable. "
            "You can also try multiprocessing.set_start_method('fork').", stacklevel=5)
