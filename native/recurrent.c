/* LSTM, GRU and Elman layers over packed rows, and their gradients: the sequences of a batch are shared out to the
 * threads, each of which walks all the steps of its own. */
#include "wengert.h"

#include "pool.h"

enum layer { LSTM, LSTM_GRAD, GRU, GRU_GRAD, ELMAN, ELMAN_GRAD };
static const int gates_of[] = {4, 4, 3, 3, 1, 1};

struct recurrent_job {
    enum layer layer;
    int type;
    size batch, grain; /* sequences are shared out by so many */
    struct recurrent v;
};

static void sequences(void *context, size first, size last, int chunk)
{
    const struct recurrent_job *job = context;
    const size begin = first * job->grain, end = last * job->grain < job->batch ? last * job->grain : job->batch;
    (void)chunk;
#define RUN(name)                                                                     \
    if (job->type == NPY_FLOAT) kernels->name##_rows_f32(&job->v, begin, end);        \
    else kernels->name##_rows_f64(&job->v, begin, end);                               \
    break;
    switch (job->layer) {
    case LSTM: RUN(lstm)
    case LSTM_GRAD: RUN(lstm_grad)
    case GRU: RUN(gru)
    case GRU_GRAD: RUN(gru_grad)
    case ELMAN: RUN(elman)
    case ELMAN_GRAD: RUN(elman_grad)
    }
#undef RUN
}

/* walk(layer, gates, w_hh, bias, h0, c0, h, c, act, cells, output, own, grad, sizes, reverse, relu) -> whether it was done
 *
 * All arrays are contiguous and of one real type, or None; `h`, `c` are the states that change; what a layer does not have
 * is None. In a gradient `gates` is the result, and h and c begin as the gradients of the last states. */
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
        if (!is_like(a, args[1]) || !PyArray_ISCARRAY_RO((PyArrayObject *)a)) Py_RETURN_FALSE;
        if (places[k]) *places[k] = PyArray_DATA((PyArrayObject *)a);
    }
    const int gates = gates_of[job.layer], grad = job.layer & 1;
    PyArrayObject *w = (PyArrayObject *)args[2], *h = (PyArrayObject *)args[6];
    const size hidden = v->hidden = PyArray_DIM(w, 1), batch = PyArray_DIM(h, 0);
    job.type = PyArray_TYPE(w);
    v->relu = PyObject_IsTrue(args[15]);
    PyObject *sizes = PySequence_Fast(args[13], "sizes must be a sequence");
    if (!sizes) return NULL;
    const int reverse = PyObject_IsTrue(args[14]);
    const size steps = v->steps = PySequence_Fast_GET_SIZE(sizes), width = PyArray_ITEMSIZE(w);
    const size tile = kernels->gemm_columns_bytes / width, inner = grad ? gates * hidden : hidden;
    const size columns = ((grad ? hidden : gates * hidden) + tile - 1) / tile * tile;
    size *first = malloc((2 * steps + 1) * sizeof *first), *many = first + steps;
    PyArrayObject *memory = scratch(inner * columns + batch * 3 * hidden, width);
    PyObject *result = NULL;
    size total = 0;
    if (!first || !memory) {
        if (!first) PyErr_NoMemory();
        goto done;
    }
    char *packed = PyArray_BYTES(memory), *work = packed + inner * columns * width;
    for (size k = 0; k < steps; k++) {
        const size n = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(sizes, k)), t = reverse ? steps - 1 - k : k;
        if (PyErr_Occurred()) goto done;
        first[t] = total, many[t] = n;
        total += n;
        if (n < 0 || n > batch) {
            PyErr_SetString(PyExc_ValueError, "a step has more rows than the batch");
            goto done;
        }
    }
    if (PyArray_DIM((PyArrayObject *)args[1], 0) != total || PyArray_SIZE((PyArrayObject *)args[1]) != total * gates * hidden) {
        PyErr_SetString(PyExc_ValueError, "gates must have a row for every sequence and step");
        goto done;
    }
    v->first = first, v->count = many, v->packed = packed, v->work = work;
    /* forwards the columns of the product are the gates: w_hh transposed; backwards the hidden units */
    const size row = grad ? hidden : 1, column = grad ? 1 : hidden, wide = grad ? hidden : gates * hidden;
    if (job.type == NPY_FLOAT) kernels->gemm_pack_rows_f32((float *)packed, PyArray_DATA(w), row, column, inner, wide);
    else kernels->gemm_pack_rows_f64((double *)packed, PyArray_DATA(w), row, column, inner, wide);
    const double cost = batch ? (double)total / batch * gates * hidden * (hidden * (width == 4 ? 0.01 : 0.02) + 1) : 0;
    /* Half a tile of the product is the least that keeps the processor busy; every thread gets as much as it can at once,
     * as each walks through all the weights at each step. */
    job.batch = batch, job.grain = kernels->gemm_rows / 2;
    const size grains = (batch + job.grain - 1) / job.grain;
    int chunks = pool_chunks(grains, cost * job.grain), stopped;
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    Py_BEGIN_ALLOW_THREADS
    stopped = pool_run_stoppable(sequences, &job, grains, chunks);
    Py_END_ALLOW_THREADS
    if (!stopped) result = Py_NewRef(Py_True);
done:
    Py_DECREF(sizes);
    free(first);
    Py_XDECREF(memory);
    return result;
}

PyMethodDef recurrent_methods[] = {
    {"recurrent_walk", (PyCFunction)(void (*)(void))recurrent_walk, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL},
};
