/* A small pool of threads. When idle they watch for the next job for a tenth of a millisecond, giving way to whoever else
 * wants the processor (the BLAS library's own threads), and then sleep: to be woken takes longer than many a kernel. A task
 * is a function over a range of chunks; the caller works too. Without POSIX threads (Windows) everything runs in the caller. */
#ifndef WENGERT_POOL_H
#define WENGERT_POOL_H

#include "kernels.h"

/* Work on [begin, end); `chunk` numbers the pieces 0, 1, ... in order. */
typedef void (*pool_task)(void *context, size begin, size end, int chunk);

/* Into how many chunks to cut `total` items so that a chunk is worth handing to another thread: one if it is not.
 * `cost` is the time of an item in nanoseconds. Depends only on its arguments and the number of threads. */
int pool_chunks(size total, double cost);

/* Run the task over [0, total) in `chunks` pieces; returns when all are done. The GIL may be held or not. */
void pool_run(pool_task task, void *context, size total, int chunks);

/* The same for tasks that may take long, which Ctrl-C ends: -1, with the exception of the signal's handler, and not all of it
 * is done. Such a task calls pool_stopped every few microseconds of work, and returns where it says so. */
int pool_run_stoppable(pool_task task, void *context, size total, int chunks);
int pool_stopped(void);

int pool_get_threads(void);
void pool_set_threads(int count);

#endif
