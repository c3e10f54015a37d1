#define _GNU_SOURCE /* sched_getaffinity */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pool.h"

#include <stdlib.h>

static size chunk_begin(size total, int chunk, int chunks)
{
    return total / chunks * chunk + (total % chunks) * chunk / chunks;
}

static void run_serially(pool_task task, void *context, size total, int chunks)
{
    for (int i = 0; i < chunks; i++)
        task(context, chunk_begin(total, i, chunks), chunk_begin(total, i + 1, chunks), i);
}

#ifdef _WIN32

int pool_get_threads(void) { return 1; }
void pool_set_threads(int count) { (void)count; }
int pool_chunks(size total, double cost) { (void)total; (void)cost; return 1; }
void pool_run(pool_task task, void *context, size total, int chunks) { run_serially(task, context, total, chunks); }
int pool_stopped(void) { return 0; }
int pool_run_stoppable(pool_task task, void *context, size total, int chunks)
{
    run_serially(task, context, total, chunks);
    return 0;
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, CHUNKS_PER_THREAD = 4 };
/* Handing out work takes a few microseconds, or tens of them where a thread has to be woken: only work longer than that. */
static const double WORTH_WAKING = 25e3;
static const double SMALLEST_CHUNK = 5e3;
/* How long a thread watches for what it waits for before it sleeps, in nanoseconds: about as long as Python takes from
 * one kernel to the next. */
static const int64_t PATIENCE = 100000;
/* How often a job that can be stopped looks for signals, in nanoseconds. */
static const int64_t BETWEEN_SIGNALS = 100000000;

static struct {
    pthread_mutex_t busy;       /* held by the thread whose job is running */
    pthread_mutex_t lock;       /* held to go to sleep, and to wake */
    pthread_cond_t wake, done;
    int workers;                /* started */
    atomic_int threads;         /* wanted, including the caller */
    atomic_uint generation;     /* of jobs */
    atomic_int open, inside;    /* whether workers may still join the job; how many are in it */
    atomic_int sleepers, waits; /* workers that sleep; whether the caller does */
    pthread_t handles[MAX_THREADS];
    int64_t patience;           /* PATIENCE, or none where threads share processors */
#ifdef __linux__
    cpu_set_t allowed;
    int avoided;                /* the processor that workers stay away from */
#endif
    pool_task task;
    void *context;
    size total;
    int chunks;
    atomic_int next;
    atomic_int *stopped;        /* of a job that can be stopped, or NULL */
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The job that can be stopped which this thread works on. */
static _Thread_local struct stoppable {
    atomic_int *stopped;
    int asks; /* whether this is the thread that called, which looks for signals */
    unsigned calls;
    int64_t next;
} mine;

int pool_stopped(void)
{
    if (!mine.stopped) return 0;
    if (atomic_load_explicit(mine.stopped, memory_order_relaxed)) return 1;
    if (!mine.asks || ++mine.calls % 8 || nanoseconds() < mine.next) return 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_CheckSignals() < 0) atomic_store(mine.stopped, 1); /* the handler may run jobs of its own */
    PyGILState_Release(state);
    mine.next = nanoseconds() + BETWEEN_SIGNALS;
    return atomic_load(mine.stopped);
}

static void take_chunks(void)
{
    int i;
    while ((i = atomic_fetch_add(&pool.next, 1)) < pool.chunks && !pool_stopped())
        pool.task(pool.context, chunk_begin(pool.total, i, pool.chunks), chunk_begin(pool.total, i + 1, pool.chunks), i);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Evaluate `condition` until it holds or patience is at an end. Whoever else wants the processor gets it now and then. */
#define WATCH(condition)                                                                                      \
    if (pool.patience)                                                                                        \
        for (const int64_t until = nanoseconds() + pool.patience; !(condition) && nanoseconds() < until; sched_yield()) \
            for (int k = 0; k < 40 && !(condition); k++) relax();

static unsigned next_job(unsigned seen, int patient)
{
    unsigned now = seen;
    if (patient) WATCH((now = atomic_load(&pool.generation)) != seen)
    if (now != seen) return now;
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.sleepers, 1); /* the caller looks at this after it has changed the generation */
    while ((now = atomic_load(&pool.generation)) == seen) pthread_cond_wait(&pool.wake, &pool.lock);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.lock);
    return now;
}

static void *worker(void *argument)
{
    const int rank = (int)(intptr_t)argument;
    for (unsigned seen = 0;;) {
        seen = next_job(seen, rank < atomic_load(&pool.threads));
        if (rank >= atomic_load(&pool.threads)) continue;
        atomic_fetch_add(&pool.inside, 1); /* the caller looks at this after it has closed the job */
        if (atomic_load(&pool.open)) {
            mine = (struct stoppable){.stopped = pool.stopped};
            take_chunks();
        }
        if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.waits)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.done);
            pthread_mutex_unlock(&pool.lock);
        }
    }
    return NULL;
}

/* A forked child has no threads but the one that forked: it starts over. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool.busy, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers = 0;
    atomic_store(&pool.open, 0), atomic_store(&pool.inside, 0), atomic_store(&pool.sleepers, 0), atomic_store(&pool.waits, 0);
}

static void start_workers(void)
{
    sigset_t all, before; /* signals are Python's affair, in its own thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; pool.workers < pool.threads - 1; pool.workers++) {
        pthread_t *handle = &pool.handles[pool.workers];
        if (pthread_create(handle, NULL, worker, (void *)(intptr_t)(pool.workers + 1))) break;
        pthread_detach(*handle);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#ifdef __linux__
    pool.avoided = -1;
#endif
}

/* Keep the workers off the caller's processor. Linux would rather wake them there, to wait for the caller, than on an
 * idle processor: on virtual machines an idle processor looks as if the host had taken it away. */
static void make_room(void)
{
#ifdef __linux__
    const int here = sched_getcpu();
    if (here < 0 || here == pool.avoided || CPU_COUNT(&pool.allowed) < pool.threads || !CPU_ISSET(here, &pool.allowed)) return;
    cpu_set_t others = pool.allowed;
    CPU_CLR(here, &others);
    for (int i = 0; i < pool.workers; i++) pthread_setaffinity_np(pool.handles[i], sizeof others, &others);
    pool.avoided = here;
#endif
}

static int processors(void)
{
#ifdef __linux__
    if (CPU_COUNT(&pool.allowed)) return CPU_COUNT(&pool.allowed);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int default_threads(void)
{
    const char *names[] = {"WENGERT_NUM_THREADS", "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (value && atoi(value) > 0) return atoi(value);
    }
    return processors();
}

void pool_set_threads(int count)
{
    pool.threads = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
    pool.patience = pool.threads <= processors() ? PATIENCE : 0;
}

int pool_get_threads(void)
{
    if (!pool.threads) {
#ifdef __linux__
        sched_getaffinity(0, sizeof pool.allowed, &pool.allowed);
#endif
        pool_set_threads(default_threads());
        pthread_atfork(NULL, NULL, after_fork_in_child);
    }
    return pool.threads;
}

int pool_chunks(size total, double cost)
{
    const double work = (double)total * cost;
    if (work < WORTH_WAKING || pool_get_threads() == 1) return 1;
    const double most = work / SMALLEST_CHUNK < (double)total ? work / SMALLEST_CHUNK : (double)total;
    const int wanted = CHUNKS_PER_THREAD * pool.threads;
    return most < wanted ? (int)most < 1 ? 1 : (int)most : wanted;
}

void pool_run(pool_task task, void *context, size total, int chunks)
{
    /* Another Python thread has the pool: do not wait for it. */
    if (chunks < 2 || pthread_mutex_trylock(&pool.busy)) {
        run_serially(task, context, total, chunks);
        return;
    }
    if (pool.workers < pool.threads - 1) start_workers();
    make_room();
    pool.task = task, pool.context = context, pool.total = total, pool.chunks = chunks, pool.stopped = mine.stopped;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.open, 1);
    atomic_fetch_add(&pool.generation, 1);
    if (atomic_load(&pool.sleepers)) {
        pthread_mutex_lock(&pool.lock); /* whoever counts as a sleeper does sleep after this */
        pthread_mutex_unlock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
    }

    take_chunks();

    atomic_store(&pool.open, 0); /* who wakes up only now finds nothing to join */
    WATCH(!atomic_load(&pool.inside))
    if (atomic_load(&pool.inside)) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.waits, 1);
        while (atomic_load(&pool.inside)) pthread_cond_wait(&pool.done, &pool.lock);
        atomic_store(&pool.waits, 0);
        pthread_mutex_unlock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.busy);
}

int pool_run_stoppable(pool_task task, void *context, size total, int chunks)
{
    atomic_int stopped = 0;
    const struct stoppable before = mine;
    mine = (struct stoppable){&stopped, 1, 0, nanoseconds() + BETWEEN_SIGNALS};
    pool_run(task, context, total, chunks);
    mine = before;
    return stopped ? -1 : 0;
}

#endif
