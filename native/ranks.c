/* Places by rank in the rows of a matrix: the element of one rank, the few largest or least in order. NaN is above all numbers, and
 * of equal elements the first comes first. */
#include "operation.h"

#include "pool.h"

enum { OF_RANK, MEDIAN, MEDIAN_OF_NUMBERS };

struct rank_job {
    const char *x;
    char *room; /* of each chunk */
    int64_t *places;
    size n, rank, count; /* count: how many places of a row are wanted */
    int type, kind, least;
};

/* The value of rank k among n numbers in x, which is overwritten, as is `room`: parted again and again by one of them, without
 * branches, from one array into the other. */
#define DEFINE_SELECT(REAL, S)                                                                          \
    static inline REAL middle_##S(REAL a, REAL b, REAL c)                                               \
    {                                                                                                   \
        return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);                       \
    }                                                                                                   \
    static REAL select_##S(REAL *x, REAL *room, size n, size k)                                         \
    {                                                                                                   \
        uint64_t seed = 1; /* no order of the numbers is bad for long */                                \
        while (n > 16) {                                                                                \
            const size s = n / 9;                                                                       \
            seed = seed * 6364136223846793005u + 1442695040888963407u;                                  \
            const REAL *y = x + (seed >> 33) % s;                                                       \
            const REAL p = middle_##S(middle_##S(y[0], y[s], y[2 * s]), middle_##S(y[3 * s], y[4 * s], y[5 * s]), \
                                      middle_##S(y[6 * s], y[7 * s], y[8 * s]));                        \
            size low = 0, high = n - 1;                                                                 \
            for (size i = 0; i < n; i++) {                                                              \
                const REAL v = x[i];                                                                    \
                const size less = v < p;                                                                \
                room[low] = v, room[high] = v;                                                          \
                low += less, high -= 1 - less;                                                          \
            }                                                                                           \
            REAL *rest = room;                                                                          \
            if (k < low) {                                                                              \
                n = low;                                                                                \
            } else if (low) {                                                                           \
                rest += low, n -= low, k -= low;                                                        \
            } else { /* p is the least: its equals go, too */                                           \
                size others = 0;                                                                        \
                for (size i = 0; i < n; i++) x[others] = room[i], others += room[i] != p;               \
                if (k < n - others) return p;                                                           \
                k -= n - others, n = others;                                                            \
                continue;                                                                               \
            }                                                                                           \
            room = x, x = rest;                                                                         \
        }                                                                                               \
        for (size i = 1; i < n; i++) {                                                                  \
            const REAL v = x[i];                                                                        \
            size at = i;                                                                                \
            for (; at && v < x[at - 1]; at--) x[at] = x[at - 1];                                        \
            x[at] = v;                                                                                  \
        }                                                                                               \
        return x[k];                                                                                    \
    }                                                                                                   \
    static int64_t place_##S(const REAL *x, REAL *room, size n, size rank, int kind)                    \
    {                                                                                                   \
        size numbers = 0, k = rank;                                                                     \
        for (size i = 0; i < n; i++) room[numbers] = x[i], numbers += x[i] == x[i];                     \
        if (kind == MEDIAN) k = numbers == n ? (n - 1) / 2 : numbers;                                   \
        if (kind == MEDIAN_OF_NUMBERS) k = numbers ? (numbers - 1) / 2 : 0;                             \
        if (k >= numbers) {                                                                             \
            k -= numbers;                                                                               \
            for (size i = 0;; i++)                                                                      \
                if (x[i] != x[i] && !k--) return i;                                                     \
        }                                                                                               \
        const REAL v = select_##S(room, room + n, numbers, k);                                          \
        size less = 0;                                                                                  \
        for (size i = 0; i < n; i++) less += x[i] < v;                                                  \
        k -= less;                                                                                      \
        for (size i = 0;; i++)                                                                          \
            if (x[i] == v && !k--) return i;                                                            \
    }                                                                                                   \
    static void top_##S(int64_t *places, REAL *held, const REAL *x, size n, size count, int least)      \
    {                                                                                                   \
        size filled = 0;                                                                                \
        for (size i = 0; i < n; i++) {                                                                  \
            const REAL v = x[i];                                                                        \
            if (filled == count && !BEFORE(v, held[count - 1])) continue;                               \
            size at = filled < count ? filled++ : count - 1;                                            \
            for (; at && BEFORE(v, held[at - 1]); at--) held[at] = held[at - 1], places[at] = places[at - 1]; \
            held[at] = v, places[at] = i;                                                               \
        }                                                                                               \
    }
#define BEFORE(a, b) (least ? (a) < (b) || ((a) == (a) && (b) != (b)) : (a) > (b) || ((a) != (a) && (b) == (b)))
DEFINE_SELECT(float, f32)
DEFINE_SELECT(double, f64)
DEFINE_SELECT(int64_t, i64)

static void rank_task(void *context, size begin, size end, int chunk)
{
    const struct rank_job *job = context;
    const size width = job->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    void *room = job->room + 2 * (job->n + job->count) * width * chunk;
    for (size r = begin; r < end; r++) {
        const void *x = job->x + r * job->n * width;
#define RUN(S)                                                                                                  \
    {                                                                                                           \
        if (!job->count) job->places[r] = place_##S(x, room, job->n, job->rank, job->kind);                     \
        else if (job->least) top_##S(job->places + r * job->count, room, x, job->n, job->count, 1);             \
        else top_##S(job->places + r * job->count, room, x, job->n, job->count, 0);                             \
    }
        if (job->type == NPY_FLOAT) RUN(f32) else if (job->type == NPY_DOUBLE) RUN(f64) else RUN(i64)
#undef RUN
    }
}

static PyObject *ranked(struct rank_job *job, PyObject *array, double cost)
{
    PyArrayObject *x = (PyArrayObject *)array;
    npy_intp shape[] = {PyArray_DIM(x, 0), job->count};
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(job->count ? 2 : 1, shape, NPY_INT64);
    const int chunks = pool_chunks(shape[0], cost * job->n);
    PyArrayObject *room = out ? scratch(2 * chunks * (job->n + job->count), PyArray_ITEMSIZE(x)) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    job->x = PyArray_BYTES(x), job->type = PyArray_TYPE(x), job->room = PyArray_BYTES(room), job->places = PyArray_DATA(out);
    Py_BEGIN_ALLOW_THREADS
    pool_run(rank_task, job, shape[0], chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

static int is_rows(PyObject *x)
{
    return PyArray_CheckExact(x) && (is_real(x) || PyArray_TYPE((PyArrayObject *)x) == NPY_INT64) && PyArray_NDIM((PyArrayObject *)x) == 2 && PyArray_ISCARRAY_RO((PyArrayObject *)x) &&
           PyArray_SIZE((PyArrayObject *)x);
}

/* ranked_places(rows, rank, kind): the place of the element of this rank in each row, or of the median (1), or of the median of what is
 * no NaN (2) */
static PyObject *ranked_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!is_rows(args[0])) NOT_HANDLED();
    struct rank_job job = {.n = PyArray_DIM((PyArrayObject *)args[0], 1), .kind = (int)PyLong_AsLong(args[2])};
    job.rank = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (job.rank < 0 || job.rank >= job.n) NOT_HANDLED();
    return ranked(&job, args[0], 4);
}

enum { FEW = 64 };

/* top_places(rows, count, least): the places of the few largest (or least) elements of each row, in order */
PyObject *top_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!is_rows(args[0])) NOT_HANDLED();
    struct rank_job job = {.n = PyArray_DIM((PyArrayObject *)args[0], 1), .least = PyObject_IsTrue(args[2])};
    job.count = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (job.count < 1 || job.count > job.n || job.count > FEW) NOT_HANDLED();
    return ranked(&job, args[0], 1);
}

/* ---- where values go among rows in order ---- */

struct search_job {
    const char *edges, *values;
    int64_t *out;
    size n, each; /* elements of a row of edges (0 of them between rows: one serves all), values of a row */
    size step;
    int type, right;
};

/* PyTorch's search, step by step: nothing is left of NaN. Where edges ascend every search finds the same, and the quickest is the one whose
 * steps are as long for all values. */
#define DEFINE_SEARCH(T, S)                                                                              \
    static inline int64_t search_##S(const T *edges, size n, T value, int right)                         \
    {                                                                                                    \
        size low = 0;                                                                                    \
        for (size left = n; left > 0;) { /* without a jump that nothing foretells */                     \
            const size half = left / 2;                                                                  \
            const int before = right ? !(edges[low + half] > value) : !(edges[low + half] >= value);     \
            const size all = -(size)before; /* or none */                                                \
            low += (half + 1) & all, left = half + ((left - 2 * half - 1) & all);                        \
        }                                                                                                \
        return low;                                                                                      \
    }                                                                                                    \
    static inline int64_t search_ascending_##S(const T *edges, size n, T value, int right)               \
    {                                                                                                    \
        size low = 0;                                                                                    \
        for (size left = n; left > 1; left -= left / 2) {                                                \
            const T edge = edges[low + left / 2 - 1];                                                    \
            low += (left / 2) & -(size)(right ? !(edge > value) : !(edge >= value));                     \
        }                                                                                                \
        return low + (right ? !(edges[low] > value) : !(edges[low] >= value));                           \
    }                                                                                                    \
    static int ascends_##S(const T *edges, size n)                                                       \
    {                                                                                                    \
        int up = n > 0 && edges[n - 1] == edges[n - 1];                                                  \
        for (size k = 1; k < n; k++) up &= edges[k - 1] <= edges[k];                                     \
        return up;                                                                                       \
    }                                                                                                    \
    static void search_task_##S(void *context, size begin, size end, int chunk)                          \
    {                                                                                                    \
        const struct search_job *job = context;                                                          \
        const T *values = (const T *)job->values;                                                        \
        const size n = job->n, each = job->step ? job->each : end - begin;                               \
        (void)chunk;                                                                                     \
        for (size i = begin, last; i < end; i = last) {                                                  \
            const T *edges = (const T *)job->edges + (job->step ? i / each * job->step : 0);             \
            last = job->step ? (i / each + 1) * each : end;                                              \
            if (last > end) last = end;                                                                  \
            if (n <= 8 * (last - i) && ascends_##S(edges, n))                                            \
                if (job->right) for (; i < last; i++) job->out[i] = search_ascending_##S(edges, n, values[i], 1); \
                else for (; i < last; i++) job->out[i] = search_ascending_##S(edges, n, values[i], 0);   \
            else for (; i < last; i++) job->out[i] = search_##S(edges, n, values[i], job->right);        \
        }                                                                                                \
    }
DEFINE_SEARCH(float, f32)
DEFINE_SEARCH(double, f64)
DEFINE_SEARCH(int64_t, i64)

/* The places of values in the only row of edges, or in the row beside theirs; NULL without an error of arrays that are others. */
static PyObject *searched(PyArrayObject *edges, PyArrayObject *values, int right)
{
    const int type = PyArray_TYPE(edges), last = PyArray_NDIM(edges) - 1;
    if (last < 0 || !PyArray_ISCARRAY_RO(edges) || !PyArray_ISCARRAY_RO(values) || PyArray_TYPE(values) != type ||
        (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64))
        return NULL;
    const size items = PyArray_SIZE(values);
    struct search_job job = {.n = PyArray_DIM(edges, last), .right = right};
    if (PyArray_SIZE(edges) != job.n) {
        if (PyArray_NDIM(values) != last + 1 || !PyArray_CompareLists(PyArray_DIMS(edges), PyArray_DIMS(values), last)) return NULL;
        job.step = job.n, job.each = PyArray_DIM(values, last);
    }
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(values), PyArray_DIMS(values), NPY_INT64);
    if (!out) return NULL;
    job.edges = PyArray_BYTES(edges), job.values = PyArray_BYTES(values), job.out = PyArray_DATA(out);
    double cost = 4;
    for (size n = job.n; n > 1; n /= 2) cost += 2;
    const pool_task task = type == NPY_FLOAT ? search_task_f32 : type == NPY_DOUBLE ? search_task_f64 : search_task_i64;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(items * cost));
    if (items) pool_run(task, &job, items, pool_chunks(items, cost));
    NPY_END_THREADS
    return (PyObject *)out;
}

/* search_rows(edges, values, right): where each value of a matrix would go in the row of edges beside it, or in the only one */
static PyObject *search_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyObject *found = NULL;
    if (PyArray_CheckExact(args[0]) && PyArray_CheckExact(args[1]) && PyArray_NDIM((PyArrayObject *)args[0]) == 2 && PyArray_NDIM((PyArrayObject *)args[1]) == 2)
        found = searched((PyArrayObject *)args[0], (PyArrayObject *)args[1], PyObject_IsTrue(args[2]));
    if (!found && !PyErr_Occurred()) NOT_HANDLED();
    return found;
}

/* Of one row, or of as many as there are of values; with `right` alone. */
static PyObject *everyday_search(PyArrayObject *edges, PyObject *values, PyObject *out_int32, PyObject *right)
{
    if (!PyArray_CheckExact(values) || out_int32 != Py_False || !PyBool_Check(right)) return NULL;
    if (PyArray_NDIM(edges) != 1 && (PyArray_NDIM((PyArrayObject *)values) != PyArray_NDIM(edges) ||
                                     !PyArray_CompareLists(PyArray_DIMS(edges), PyArray_DIMS((PyArrayObject *)values), PyArray_NDIM(edges) - 1)))
        return NULL;
    return searched(edges, (PyArrayObject *)values, right == Py_True);
}
/* searchsorted(sorted_sequence, input, out_int32, right, side, sorter) */
PyObject *search_forward(PyArrayObject *edges, PyObject *const *args)
{
    return args[4] == Py_None && args[5] == Py_None ? everyday_search(edges, args[1], args[2], args[3]) : NULL;
}
/* bucketize(input, boundaries, out_int32, right) */
PyObject *bucket_forward(PyArrayObject *values, PyObject *const *args)
{
    if (!PyArray_CheckExact(args[1]) || PyArray_NDIM((PyArrayObject *)args[1]) != 1) return NULL;
    return everyday_search((PyArrayObject *)args[1], (PyObject *)values, args[2], args[3]);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef ranks_methods[] = {METHOD(ranked_places), METHOD(top_places), METHOD(search_rows), {NULL, NULL, 0, NULL}};
