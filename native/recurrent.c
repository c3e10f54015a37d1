/* LSTM, GRU and Elman layers over packed rows, and their gradients: the sequences of a batch are shared out to the
 * threads, each of which walks all the steps of its own. */
#include "wengert.h"

#include "brain.h"
#include "half.h"
#include "pool.h"

enum layer { LSTM, LSTM_GRAD, GRU, GRU_GRAD, ELMAN, ELMAN_GRAD };
static const int gates_of[] = {4, 4, 3, 3, 1, 1};

struct recurrent_job {
    enum layer layer;
    int type;
    size batch, grain; /* sequences are shared out by so many */
    struct recurrent v;
    struct recurrent_twice twice;
};

static void sequences(void *context, size first, size last, int chunk)
{
    const struct recurrent_job *job = context;
    const size begin = first * job->grain, end = last * job->grain < job->batch ? last * job->grain : job->batch;
    (void)chunk;
#define RUN(name, v)                                                                  \
    if (job->type == NPY_FLOAT) kernels->name##_rows_f32(&job->v, begin, end);        \
    else kernels->name##_rows_f64(&job->v, begin, end);                               \
    break;
#define RUN_ALL(form, v)                            \
    switch (job->layer) {                           \
    case LSTM: RUN(lstm##form, v)                   \
    case LSTM_GRAD: RUN(lstm_grad##form, v)         \
    case GRU: RUN(gru##form, v)                     \
    case GRU_GRAD: RUN(gru_grad##form, v)           \
    case ELMAN: RUN(elman##form, v)                 \
    case ELMAN_GRAD: RUN(elman_grad##form, v)       \
    }
    if (job->twice.hidden) RUN_ALL(_dash, twice)
    else RUN_ALL(, v)
#undef RUN_ALL
#undef RUN
}

/* The rows of each step, in the order of the walk, and their number in all; -1 with an error. */
static size rows_of_steps(PyObject *sizes, int reverse, size batch, size *first, size *many)
{
    const size steps = PySequence_Fast_GET_SIZE(sizes);
    size total = 0;
    for (size k = 0; k < steps; k++) {
        const size n = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(sizes, k)), t = reverse ? steps - 1 - k : k;
        if (PyErr_Occurred()) return -1;
        first[t] = total, many[t] = n;
        total += n;
        if (n < 0 || n > batch) {
            PyErr_SetString(PyExc_ValueError, "a step has more rows than the batch");
            return -1;
        }
    }
    return total;
}

/* The weight as the products want it: forwards their columns are the gates (w_hh transposed), backwards the hidden units. */
static void pack(int type, void *to, const void *w, int grad, size gates, size hidden)
{
    const size row = grad ? hidden : 1, column = grad ? 1 : hidden, inner = grad ? gates : hidden, wide = grad ? hidden : gates;
    if (type == NPY_FLOAT) kernels->gemm_pack_rows_f32(to, w, row, column, inner, wide);
    else kernels->gemm_pack_rows_f64(to, w, row, column, inner, wide);
}

/* Room for the weight in panels and for `work` numbers beside it, which `v` is told of. A weight of bfloat16 is multiplied by pairs, or in
 * float32 where the processor does not multiply them. */
static PyArrayObject *take_weight(struct recurrent *v, int type, PyArrayObject *w, int grad, size gates, size batch, size work)
{
    const size hidden = v->hidden, inner = grad ? gates : hidden, wide = grad ? hidden : gates;
    const size width = type == NPY_FLOAT ? sizeof(float) : sizeof(double), tile = kernels->gemm_columns_bytes / width;
    const int brain = PyArray_TYPE(w) != type;
    size panels = inner * ((wide + tile - 1) / tile * tile) * width, narrow = brain ? gates * hidden * width : 0;
#ifdef WENGERT_PAIRS
    const int pairs = brain && brain_able();
    if (pairs) panels = brain_panels_bytes(inner, wide), narrow = batch * (inner + 1) * (size)sizeof(uint16_t);
#else
    (void)batch;
#endif
    panels = (panels + 63) / 64 * 64;
    PyArrayObject *memory = scratch(panels + work * width + narrow, 1);
    if (!memory) return NULL;
    char *packed = aligned(memory);
    v->packed = packed, v->work = packed + panels, v->narrow = (char *)v->work + work * width;
#ifdef WENGERT_PAIRS
    if (pairs) {
        v->by_pairs = brain_add;
        brain_panels((uint32_t *)packed, PyArray_DATA(w), grad ? hidden : 1, grad ? 1 : hidden, inner, wide);
        return memory;
    }
#endif
    float *to = v->narrow;
    if (brain)
        for (size k = 0; k < gates * hidden; k++) to[k] = float_of_brain(((const uint16_t *)PyArray_DATA(w))[k]);
    pack(type, packed, brain ? v->narrow : PyArray_DATA(w), grad, gates, hidden);
    return memory;
}

/* Walk all steps of a job; whether that was not interrupted. */
static int walk(struct recurrent_job *job, double cost)
{
    int chunks, stopped;
    /* Half a tile of the product is the least that keeps the processor busy; every thread gets as much as it can at once,
     * as each walks through all the weights at each step. */
    job->grain = kernels->gemm_rows / 2;
    const size grains = (job->batch + job->grain - 1) / job->grain;
    chunks = pool_chunks(grains, cost * job->grain);
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    Py_BEGIN_ALLOW_THREADS
    stopped = pool_run_stoppable(sequences, job, grains, chunks);
    Py_END_ALLOW_THREADS
    return !stopped;
}

static double cost_of(size total, size batch, size gates, size hidden, size width)
{
    return batch ? (double)total / batch * gates * hidden * (hidden * (width == 4 ? 0.01 : 0.02) + 1) : 0;
}

/* walk(layer, gates, w_hh, bias, h0, c0, h, c, act, cells, output, own, grad, sizes, reverse, relu) -> whether it was done
 *
 * All arrays are contiguous and of one real type, or None; `h`, `c` are the states that change; what a layer does not have
 * is None; a layer of float32 may have a weight of bfloat16. In a gradient `gates` is the result, and h and c begin as the gradients of the last states. */
static PyObject *recurrent_walk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 16) return PyErr_Format(PyExc_TypeError, "expected 16 arguments");
    struct recurrent_job job = {.layer = (enum layer)PyLong_AsLong(args[0])};
    if (PyErr_Occurred()) return NULL;
    if (!is_real(args[1]) || (int)job.layer < 0 || (size_t)job.layer >= sizeof gates_of / sizeof *gates_of) Py_RETURN_FALSE;
    struct recurrent *v = &job.v;
    const void **places[] = {(const void **)&v->gates, NULL, &v->bias, &v->h0, &v->c0, (const void **)&v->h, (const void **)&v->c,
                             (const void **)&v->act, (const void **)&v->cells, (const void **)&v->output, (const void **)&v->own, &v->grad};
    for (int k = 0; k < 12; k++) {
        PyObject *a = args[1 + k];
        if (a == Py_None) continue;
        const int brain = k == 1 && narrow_kind(a) == 2 && PyArray_TYPE((PyArrayObject *)args[1]) == NPY_FLOAT;
        if ((!brain && !is_like(a, args[1])) || !PyArray_ISCARRAY_RO((PyArrayObject *)a)) Py_RETURN_FALSE;
        if (places[k]) *places[k] = PyArray_DATA((PyArrayObject *)a);
    }
    const int gates = gates_of[job.layer], grad = job.layer & 1;
    PyArrayObject *w = (PyArrayObject *)args[2], *h = (PyArrayObject *)args[6];
    const size hidden = v->hidden = PyArray_DIM(w, 1), batch = PyArray_DIM(h, 0);
    job.type = PyArray_TYPE((PyArrayObject *)args[1]);
    v->relu = PyObject_IsTrue(args[15]);
    PyObject *sizes = PySequence_Fast(args[13], "sizes must be a sequence");
    if (!sizes) return NULL;
    const int reverse = PyObject_IsTrue(args[14]);
    const size steps = v->steps = PySequence_Fast_GET_SIZE(sizes);
    size *first = malloc((2 * steps + 1) * sizeof *first), *many = first + steps;
    PyArrayObject *memory = take_weight(v, job.type, w, grad, gates * hidden, batch, batch * 3 * hidden);
    PyObject *result = NULL;
    if (!first || !memory) {
        if (!first) PyErr_NoMemory();
        goto done;
    }
    const size total = rows_of_steps(sizes, reverse, batch, first, many);
    if (total < 0) goto done;
    if (PyArray_DIM((PyArrayObject *)args[1], 0) != total || PyArray_SIZE((PyArrayObject *)args[1]) != total * gates * hidden) {
        PyErr_SetString(PyExc_ValueError, "gates must have a row for every sequence and step");
        goto done;
    }
    v->first = first, v->count = many;
    job.batch = batch;
    if (walk(&job, cost_of(total, batch, gates, hidden, PyArray_ITEMSIZE((PyArrayObject *)args[1])))) result = Py_NewRef(Py_True);
done:
    Py_DECREF(sizes);
    free(first);
    Py_XDECREF(memory);
    return result;
}

/* walk_twice(layer, w_hh, along, arrays, h, sizes, reverse, relu) -> whether it was done
 *
 * A walk of a gradient's gradient; `arrays` is the row that its kernel takes, each contiguous and of w_hh's type, `h` one with
 * a row for each sequence, `along` None or like w_hh. */
static PyObject *recurrent_twice_walk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 8) return PyErr_Format(PyExc_TypeError, "expected 8 arguments");
    struct recurrent_job job = {.layer = (enum layer)PyLong_AsLong(args[0])};
    if (PyErr_Occurred()) return NULL;
    if (!is_real(args[1]) || (int)job.layer < 0 || (size_t)job.layer >= sizeof gates_of / sizeof *gates_of) Py_RETURN_FALSE;
    PyArrayObject *w = (PyArrayObject *)args[1], *memory = NULL;
    PyObject *along = args[2], *result = NULL;
    if (!PyArray_ISCARRAY_RO(w) || PyArray_NDIM(w) != 2 || !is_like(args[4], args[1])) Py_RETURN_FALSE;
    if (along != Py_None && (!is_like(along, args[1]) || !PyArray_ISCARRAY_RO((PyArrayObject *)along) || PyArray_SIZE((PyArrayObject *)along) != PyArray_SIZE(w)))
        Py_RETURN_FALSE;
    struct recurrent_twice *v = &job.twice;
    const Py_ssize_t given = PyTuple_Check(args[3]) ? PyTuple_GET_SIZE(args[3]) : TWICE_ARRAYS + 1;
    if (given > TWICE_ARRAYS) return PyErr_Format(PyExc_TypeError, "expected a tuple of at most %d arrays", TWICE_ARRAYS);
    for (Py_ssize_t k = 0; k < given; k++) {
        PyObject *a = PyTuple_GET_ITEM(args[3], k);
        if (!is_like(a, args[1]) || !PyArray_ISCARRAY_RO((PyArrayObject *)a)) Py_RETURN_FALSE;
        v->arrays[k] = PyArray_DATA((PyArrayObject *)a);
    }
    const int gates = gates_of[job.layer], grad = job.layer & 1;
    const size hidden = v->hidden = PyArray_DIM(w, 1), batch = job.batch = PyArray_DIM((PyArrayObject *)args[4], 0), width = PyArray_ITEMSIZE(w);
    job.type = PyArray_TYPE(w), v->relu = PyObject_IsTrue(args[7]);
    if (!hidden) Py_RETURN_FALSE;
    PyObject *sizes = PySequence_Fast(args[5], "sizes must be a sequence");
    if (!sizes) return NULL;
    const size steps = v->steps = PySequence_Fast_GET_SIZE(sizes), tile = kernels->gemm_columns_bytes / width;
    const size wide = ((grad ? hidden : gates * hidden) + tile - 1) / tile * tile, one = (grad ? gates * hidden : hidden) * wide;
    size *first = malloc((2 * steps + 1) * sizeof *first);
    if (!first) {
        PyErr_NoMemory();
        goto done;
    }
    const size total = rows_of_steps(sizes, PyObject_IsTrue(args[6]), batch, first, first + steps);
    if (total < 0) goto done;
    for (Py_ssize_t k = 0; k < given; k++) { /* each has whole rows of the hidden units, for all steps or for all sequences */
        const size many = PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(args[3], k));
        if (many < hidden * (total < batch ? total : batch) || many % hidden) {
            PyErr_SetString(PyExc_ValueError, "an array has too few rows");
            goto done;
        }
    }
    if (!(memory = scratch(2 * one, width))) goto done;
    char *packed = PyArray_BYTES(memory);
    v->first = first, v->count = first + steps, v->packed = packed;
    pack(job.type, packed, PyArray_DATA(w), grad, gates * hidden, hidden);
    if (along != Py_None && grad) {
        v->along = packed + one * width;
        pack(job.type, packed + one * width, PyArray_DATA((PyArrayObject *)along), grad, gates * hidden, hidden);
    }
    if (walk(&job, (grad ? 3 : 1) * cost_of(total, batch, gates, hidden, width))) result = Py_NewRef(Py_True);
done:
    Py_DECREF(sizes);
    free(first);
    Py_XDECREF(memory);
    return result;
}

PyMethodDef recurrent_methods[] = {
    {"recurrent_walk", (PyCFunction)(void (*)(void))recurrent_walk, METH_FASTCALL, NULL},
    {"recurrent_twice_walk", (PyCFunction)(void (*)(void))recurrent_twice_walk, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL},
};
