/* Scaled dot-product attention and its gradient, without an array of queries times keys. */
#include "wengert.h"

#include "pool.h"

enum { LEAD = NPY_MAXDIMS };

/* An operand (..., rows, columns) with contiguous rows: where each head begins. */
struct operand {
    PyArrayObject *array;
    char *data;
    size row; /* in elements */
};

struct attention_job {
    int type, ndim, backward;
    int narrow; /* operands of 16 bits, as narrow_kind has it; heads are widened, and the type is float32 */
    npy_intp lead[LEAD];
    struct operand query, key, value, grad;
    char *work;
    char *out, *grad_query, *grad_key, *grad_value, *mask;
    npy_intp out_strides[LEAD], mask_strides[LEAD];
    struct attention_head head; /* what all heads share */
};

static char *at(const struct attention_job *job, const char *data, const npy_intp *strides, size index)
{
    for (int k = job->ndim - 3; k >= 0; k--) {
        data += index % job->lead[k] * strides[k];
        index /= job->lead[k];
    }
    return (char *)data;
}

static size work_of(const struct attention_head *h)
{
    return h->keys * (h->width + h->depth) + h->block * (h->width + 2 * h->keys + 1);
}

/* Numbers of a head that are widened: its operands and its results. */
static size widened_of(const struct attention_job *job)
{
    const struct attention_head *h = &job->head;
    if (!job->narrow) return 0;
    return h->queries * (h->width + h->depth) + h->keys * (h->width + h->depth) +
           (job->backward ? h->queries * h->width + h->keys * (h->width + h->depth) : 0);
}

/* Rows of a head in float32, one after the other; `to` goes on behind them. */
static const void *widen_rows(const struct attention_job *job, float **to, const void *from, size row, size rows, size columns)
{
    float *const first = *to;
    for (size r = 0; r < rows; r++, *to += columns)
        (job->narrow == 2 ? kernels->widen_brain : kernels->widen_half)(*to, (const uint16_t *)from + r * row, columns);
    return first;
}

static void narrow_rows(const struct attention_job *job, void *to, size row, const float *from, size rows, size columns)
{
    for (size r = 0; r < rows; r++, from += columns)
        (job->narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)((uint16_t *)to + r * row, from, columns);
}

static void rounded_half(float *x, size n)
{
    uint16_t part[256];
    for (size k; n > 0; x += k, n -= k) {
        k = n < 256 ? n : 256;
        kernels->narrow_half(part, x, k), kernels->widen_half(x, part, k);
    }
}
static void rounded_brain(float *x, size n)
{
    uint16_t part[256];
    for (size k; n > 0; x += k, n -= k) {
        k = n < 256 ? n : 256;
        kernels->narrow_brain(part, x, k), kernels->widen_brain(x, part, k);
    }
}

/* A head of 16 bits through float32, in the memory behind its work. */
static void narrow_head(const struct attention_job *job, struct attention_head *h)
{
    float *room = (float *)h->work + work_of(h);
    h->query = widen_rows(job, &room, h->query, h->query_row, h->queries, h->width), h->query_row = h->width;
    h->key = widen_rows(job, &room, h->key, h->key_row, h->keys, h->width), h->key_row = h->width;
    h->value = widen_rows(job, &room, h->value, h->value_row, h->keys, h->depth), h->value_row = h->depth;
    if (!job->backward) {
        void *const out = h->out;
        const size row = h->out_row;
        h->out = room, h->out_row = h->depth;
        h->rounded = job->narrow == 2 ? rounded_brain : rounded_half; /* as in PyTorch's kernel */
        kernels->attention_head_f32(h);
        narrow_rows(job, out, row, room, h->queries, h->depth);
        return;
    }
    h->grad = widen_rows(job, &room, h->grad, h->grad_row, h->queries, h->depth), h->grad_row = h->depth;
    void *const query = h->grad_query, *const key = h->grad_key, *const value = h->grad_value;
    float *const of_query = room, *const of_key = of_query + h->queries * h->width, *const of_value = of_key + h->keys * h->width;
    h->grad_query = query ? of_query : NULL, h->grad_key = key ? of_key : NULL, h->grad_value = value ? of_value : NULL;
    kernels->attention_grad_head_f32(h);
    if (query) narrow_rows(job, query, h->width, of_query, h->queries, h->width);
    if (key) narrow_rows(job, key, h->width, of_key, h->keys, h->width);
    if (value) narrow_rows(job, value, h->depth, of_value, h->keys, h->depth);
}

static void heads(void *context, size begin, size end, int chunk)
{
    struct attention_job *job = context;
    struct attention_head h;
    const size real = job->type == NPY_FLOAT ? sizeof(float) : sizeof(double), width = job->narrow ? (size)sizeof(uint16_t) : real;
    for (size i = begin; i < end && !pool_stopped(); i++) {
        h = job->head;
        h.work = job->work + chunk * (work_of(&h) + widened_of(job)) * real;
#define HEAD(name) at(job, job->name.data, PyArray_STRIDES(job->name.array), i)
        h.query = HEAD(query), h.key = HEAD(key), h.value = HEAD(value);
        if (job->mask) h.mask = at(job, job->mask, job->mask_strides, i);
        if (job->backward) {
            h.grad = HEAD(grad);
            h.grad_query = job->grad_query ? job->grad_query + i * h.queries * h.width * width : NULL;
            h.grad_key = job->grad_key ? job->grad_key + i * h.keys * h.width * width : NULL;
            h.grad_value = job->grad_value ? job->grad_value + i * h.keys * h.depth * width : NULL;
            if (job->narrow) narrow_head(job, &h);
            else if (job->type == NPY_FLOAT) kernels->attention_grad_head_f32(&h);
            else kernels->attention_grad_head_f64(&h);
        } else {
            h.out = at(job, job->out, job->out_strides, i);
            if (job->narrow) narrow_head(job, &h);
            else if (job->type == NPY_FLOAT) kernels->attention_head_f32(&h);
            else kernels->attention_head_f64(&h);
        }
#undef HEAD
    }
}

/* The array itself where its rows are contiguous, else a copy. */
static int take(struct operand *operand, PyObject *given)
{
    PyArrayObject *a = (PyArrayObject *)given;
    const int n = PyArray_NDIM(a);
    const npy_intp item = PyArray_ITEMSIZE(a);
    int plain = PyArray_ISALIGNED(a) && PyArray_STRIDE(a, n - 1) == item && PyArray_STRIDE(a, n - 2) >= 0;
    for (int k = 0; k < n; k++) plain &= PyArray_STRIDE(a, k) % item == 0;
    if (plain) Py_INCREF(a);
    else if (!(a = contiguous(given))) return -1;
    operand->array = a;
    operand->data = PyArray_BYTES(a);
    operand->row = PyArray_STRIDE(a, n - 2) / item;
    return 0;
}

/* Whether `a` is an array of the model's type and number of dimensions, with the same leading dimensions. */
static int is_beside(PyObject *a, PyObject *model)
{
    if (!(is_real(model) ? is_like(a, model) : narrow_kind(a) && narrow_kind(a) == narrow_kind(model))) return 0;
    const int n = PyArray_NDIM((PyArrayObject *)model);
    if (n < 2 || PyArray_NDIM((PyArrayObject *)a) != n) return 0;
    for (int k = 0; k < n - 2; k++)
        if (PyArray_DIM((PyArrayObject *)a, k) != PyArray_DIM((PyArrayObject *)model, k)) return 0;
    return 1;
}

/* Read the mask: broadcast to the scores, boolean or of the type that is computed in. */
static int take_mask(struct attention_job *job, PyObject *mask, PyObject *query)
{
    if (mask == Py_None) return 1;
    if (!PyArray_Check(mask)) return 0;
    PyArrayObject *m = (PyArrayObject *)mask;
    const int truth = PyArray_TYPE(m) == NPY_BOOL;
    const int fits = job->narrow ? PyArray_TYPE(m) == NPY_FLOAT : is_like(mask, query);
    if ((!truth && !fits) || !PyArray_ISALIGNED(m) || PyArray_NDIM(m) > job->ndim) return 0;
    const npy_intp item = PyArray_ITEMSIZE(m);
    npy_intp strides[LEAD] = {0};
    for (int k = 0; k < PyArray_NDIM(m); k++) {
        const int to = job->ndim - PyArray_NDIM(m) + k;
        const npy_intp wanted = to < job->ndim - 2 ? job->lead[to] : to == job->ndim - 2 ? job->head.queries : job->head.keys;
        if (PyArray_DIM(m, k) != wanted && PyArray_DIM(m, k) != 1) return 0;
        if (PyArray_STRIDE(m, k) % item) return 0;
        strides[to] = PyArray_DIM(m, k) == 1 ? 0 : PyArray_STRIDE(m, k);
    }
    job->mask = PyArray_BYTES(m);
    memcpy(job->mask_strides, strides, sizeof strides);
    job->head.mask_kind = truth ? 1 : 2;
    job->head.mask_row = strides[job->ndim - 2] / item;
    job->head.mask_step = strides[job->ndim - 1] / item;
    return 1;
}

static int prepare(struct attention_job *job, PyObject *query, PyObject *key, PyObject *value, PyObject *mask,
                   PyObject *causal, PyObject *scale)
{
    job->narrow = narrow_kind(query);
    if ((!job->narrow && !is_real(query)) || !is_beside(query, query) || !is_beside(key, query) || !is_beside(value, query)) return 0;
    PyArrayObject *q = (PyArrayObject *)query, *k = (PyArrayObject *)key, *v = (PyArrayObject *)value;
    const int n = job->ndim = PyArray_NDIM(q);
    job->type = job->narrow ? NPY_FLOAT : PyArray_TYPE(q);
    job->head.queries = PyArray_DIM(q, n - 2), job->head.width = PyArray_DIM(q, n - 1);
    job->head.keys = PyArray_DIM(k, n - 2), job->head.depth = PyArray_DIM(v, n - 1);
    if (PyArray_DIM(k, n - 1) != job->head.width || PyArray_DIM(v, n - 2) != job->head.keys) return 0;
    if (PyArray_SIZE(q) == 0 || PyArray_SIZE(k) == 0 || PyArray_SIZE(v) == 0) return 0;
    for (int i = 0; i < n - 2; i++) job->lead[i] = PyArray_DIM(q, i);
    job->head.causal = PyObject_IsTrue(causal);
    job->head.scale = PyFloat_AsDouble(scale);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    /* Scores of a block fill about 128 KiB, so that they stay in the second-level cache. */
    size block = 131072 / (job->head.keys * (size)(job->type == NPY_FLOAT ? sizeof(float) : sizeof(double))) / 8 * 8;
    job->head.block = block < 8 ? 8 : block > ATTENTION_BLOCK ? ATTENTION_BLOCK : block;
    return take_mask(job, mask, query);
}

static int run(struct attention_job *job)
{
    size count = 1;
    for (int k = 0; k < job->ndim - 2; k++) count *= job->lead[k];
    const struct attention_head *h = &job->head;
    const double work = (double)h->queries * h->keys * (h->width + h->depth) * (job->backward ? 2.5 : 1);
    const int chunks = pool_chunks(count, work * (job->type == NPY_FLOAT ? 0.01 : 0.02));
    PyArrayObject *memory = scratch(chunks * (work_of(h) + widened_of(job)), job->type == NPY_FLOAT ? sizeof(float) : sizeof(double));
    if (!memory) return -1;
    job->work = PyArray_BYTES(memory);
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(heads, job, count, chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(memory);
    return result;
}

static PyArrayObject *result_like(PyArrayObject *model, npy_intp rows, npy_intp columns)
{
    npy_intp shape[LEAD];
    const int n = PyArray_NDIM(model);
    memcpy(shape, PyArray_DIMS(model), n * sizeof *shape);
    shape[n - 2] = rows, shape[n - 1] = columns;
    return new_like(model, n, shape);
}

/* The result of four dimensions in the order in which those of the query lie in memory, rows being contiguous. */
static PyArrayObject *result_beside(PyArrayObject *query, npy_intp rows, npy_intp columns)
{
    enum { HEADS = 4 };
    npy_intp shape[HEADS];
    const npy_intp *strides = PyArray_STRIDES(query);
    int order[HEADS - 1] = {0, 1, 2};
    if (PyArray_NDIM(query) != HEADS || PyArray_IS_C_CONTIGUOUS(query)) return result_like(query, rows, columns);
    for (int i = 1; i < HEADS - 1; i++)
        for (int k = i; k && strides[order[k]] > strides[order[k - 1]]; k--) {
            const int other = order[k];
            order[k] = order[k - 1], order[k - 1] = other;
        }
    for (int i = 0; i < HEADS - 1; i++) {
        if (strides[order[i]] <= strides[HEADS - 1]) return result_like(query, rows, columns);
        shape[i] = order[i] == HEADS - 2 ? rows : PyArray_DIM(query, order[i]);
    }
    shape[HEADS - 1] = columns;
    PyArrayObject *whole = new_like(query, HEADS, shape);
    if (!whole) return NULL;
    npy_intp places[HEADS] = {0, 0, 0, HEADS - 1};
    for (int i = 0; i < HEADS - 1; i++) places[order[i]] = i;
    PyArray_Dims axes = {places, HEADS};
    PyArrayObject *out = (PyArrayObject *)PyArray_Transpose(whole, &axes);
    Py_DECREF(whole);
    return out;
}

/* attention(query, key, value, mask | None, causal, scale) */
static PyObject *attention(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    struct attention_job job = {0};
    if (!prepare(&job, args[0], args[1], args[2], args[3], args[4], args[5])) NOT_HANDLED();
    PyArrayObject *out = NULL;
    if (take(&job.query, args[0]) == 0 && take(&job.key, args[1]) == 0 && take(&job.value, args[2]) == 0 &&
        (out = result_beside((PyArrayObject *)args[0], job.head.queries, job.head.depth))) {
        job.out = PyArray_BYTES(out);
        memcpy(job.out_strides, PyArray_STRIDES(out), job.ndim * sizeof *job.out_strides);
        job.head.out_row = PyArray_STRIDE(out, job.ndim - 2) / PyArray_ITEMSIZE(out);
        job.head.query_row = job.query.row, job.head.key_row = job.key.row, job.head.value_row = job.value.row;
        if (run(&job) < 0) Py_CLEAR(out);
    }
    Py_XDECREF(job.query.array);
    Py_XDECREF(job.key.array);
    Py_XDECREF(job.value.array);
    return (PyObject *)out;
}

/* attention_grad(g, query, key, value, mask | None, causal, scale, need_query, need_key, need_value) -> three, or None each */
static PyObject *attention_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 10) return PyErr_Format(PyExc_TypeError, "expected 10 arguments");
    struct attention_job job = {.backward = 1};
    if (!prepare(&job, args[1], args[2], args[3], args[4], args[5], args[6]) || !is_beside(args[0], args[1])) NOT_HANDLED();
    PyArrayObject *g = (PyArrayObject *)args[0], *made[3] = {NULL};
    if (PyArray_DIM(g, job.ndim - 2) != job.head.queries || PyArray_DIM(g, job.ndim - 1) != job.head.depth) NOT_HANDLED();
    PyObject *result = NULL;
    char **places[3] = {&job.grad_query, &job.grad_key, &job.grad_value};
    if (take(&job.grad, args[0]) || take(&job.query, args[1]) || take(&job.key, args[2]) || take(&job.value, args[3])) goto done;
    for (int k = 0; k < 3; k++) {
        if (!PyObject_IsTrue(args[7 + k])) continue;
        made[k] = result_like((PyArrayObject *)args[1], k ? job.head.keys : job.head.queries, k == 2 ? job.head.depth : job.head.width);
        if (!made[k]) goto done;
        *places[k] = PyArray_BYTES(made[k]);
    }
    job.head.query_row = job.query.row, job.head.key_row = job.key.row, job.head.value_row = job.value.row;
    job.head.grad_row = job.grad.row;
    if (run(&job) == 0)
        result = PyTuple_Pack(3, made[0] ? (PyObject *)made[0] : Py_None, made[1] ? (PyObject *)made[1] : Py_None,
                              made[2] ? (PyObject *)made[2] : Py_None);
done:
    for (int k = 0; k < 3; k++) Py_XDECREF(made[k]);
    Py_XDECREF(job.query.array);
    Py_XDECREF(job.key.array);
    Py_XDECREF(job.value.array);
    Py_XDECREF(job.grad.array);
    return result;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef attention_methods[] = {METHOD(attention), METHOD(attention_grad), {NULL, NULL, 0, NULL}};
