#define _GNU_SOURCE /* sched_getaffinity */
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

#else

#ifdef __linux__
#include <sched.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MAX_THREADS = 64, CHUNKS_PER_THREAD = 4 };
/* Waking a sleeping thread takes tens of microseconds: hand out only work that is longer than that. */
static const double WORTH_WAKING = 40e3;
static const double SMALLEST_CHUNK = 10e3;

static struct {
    pthread_mutex_t busy;  /* held by the thread whose job is running */
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t wake, done;
    int threads, workers;  /* wanted, including the caller; started */
    int open, inside;      /* whether workers may still join the job; how many are in it */
    unsigned generation;
    pthread_t handles[MAX_THREADS];
#ifdef __linux__
    cpu_set_t allowed;
    int avoided;           /* the processor that workers stay away from */
#endif
    pool_task task;
    void *context;
    size total;
    int chunks;
    atomic_int next;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static void take_chunks(void)
{
    int i;
    while ((i = atomic_fetch_add(&pool.next, 1)) < pool.chunks)
        pool.task(pool.context, chunk_begin(pool.total, i, pool.chunks), chunk_begin(pool.total, i + 1, pool.chunks), i);
}

static void *worker(void *argument)
{
    const int rank = (int)(intptr_t)argument;
    unsigned seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.open || pool.generation == seen || rank >= pool.threads) pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        pool.inside++;
        pthread_mutex_unlock(&pool.lock);
        take_chunks();
        pthread_mutex_lock(&pool.lock);
        if (--pool.inside == 0) pthread_cond_signal(&pool.done);
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
    pool.workers = pool.open = pool.inside = 0;
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

static int default_threads(void)
{
    const char *names[] = {"WENGERT_NUM_THREADS", "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (value && atoi(value) > 0) return atoi(value);
    }
#ifdef __linux__
    if (CPU_COUNT(&pool.allowed)) return CPU_COUNT(&pool.allowed);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void pool_set_threads(int count)
{
    pool.threads = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
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
    pthread_mutex_lock(&pool.lock);
    if (pool.workers < pool.threads - 1) start_workers();
    make_room();
    pool.task = task, pool.context = context, pool.total = total, pool.chunks = chunks;
    atomic_store(&pool.next, 0);
    pool.open = 1;
    pool.generation++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);

    take_chunks();

    pthread_mutex_lock(&pool.lock);
    pool.open = 0; /* who wakes up only now finds nothing to join */
    while (pool.inside) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.busy);
}

#endif
