/* Functions that a training step calls often and that NumPy has a slower form of: where, broadcasting, matrix
 * products and linear layers. */
#include "wengert.h"

#include "fast.h"
#include "half.h"
#include "pool.h"
#include "product.h"

/* ---- choices ---- */

/* All bits of one or of the other, which takes the same time whatever the condition is. */
#define WHERE_LOOP(bits)                                                                                      \
    static inline void choose_##bits(const char *condition, npy_intp step, const char *a, npy_intp a_step,    \
                                     const char *b, npy_intp b_step, char *restrict out, npy_intp out_step, npy_intp n) \
    {                                                                                                         \
        for (npy_intp i = 0; i < n; i++) {                                                                    \
            const uint##bits##_t mask = (uint##bits##_t)(0 - (uint##bits##_t)(condition[i * step] != 0));     \
            const uint##bits##_t x = *(const uint##bits##_t *)(a + i * a_step), y = *(const uint##bits##_t *)(b + i * b_step); \
            *(uint##bits##_t *)(out + i * out_step) = (uint##bits##_t)(y ^ ((x ^ y) & mask));                 \
        }                                                                                                     \
    }                                                                                                         \
    static void where_##bits(char **data, const npy_intp *count, const npy_intp *steps, void *unused)         \
    {                                                                                                         \
        const char *c = data[0], *a = data[1], *b = data[2];                                                  \
        const npy_intp n = *count, w = bits / 8;                                                              \
        (void)unused;                                                                                         \
        if (!steps[0] && n) { /* one condition for the whole line */                                          \
            const int which = *c ? 1 : 2;                                                                     \
            if (steps[which] == w && steps[3] == w) memcpy(data[3], data[which], n * w);                      \
            else                                                                                              \
                for (npy_intp i = 0; i < n; i++)                                                              \
                    *(uint##bits##_t *)(data[3] + i * steps[3]) = *(const uint##bits##_t *)(data[which] + i * steps[which]); \
        } else if (steps[0] == 1 && steps[3] == w) {                                                                 \
            if (steps[1] == w && steps[2] == w) choose_##bits(c, 1, a, w, b, w, data[3], w, n);               \
            else if (steps[1] == w && !steps[2]) choose_##bits(c, 1, a, w, b, 0, data[3], w, n);              \
            else if (!steps[1] && steps[2] == w) choose_##bits(c, 1, a, 0, b, w, data[3], w, n);              \
            else choose_##bits(c, 1, a, steps[1], b, steps[2], data[3], w, n);                                \
        } else choose_##bits(c, steps[0], a, steps[1], b, steps[2], data[3], steps[3], n);                    \
    }
WHERE_LOOP(8)
WHERE_LOOP(16)
WHERE_LOOP(32)
WHERE_LOOP(64)

/* where(condition, a, b): arrays, a and b of one type; one of them may be a Python number */
static PyObject *where(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    static const struct loop loops[] = {{where_8, NULL, 0, ROWS_NONE}, {where_16, NULL, 0, ROWS_NONE},
                                        {where_32, NULL, 0, ROWS_NONE}, {where_64, NULL, 0, ROWS_NONE}};
    union { double d; float f; } number[3];
    struct fast_job job = {.operands = 4};
    PyArrayObject *model = NULL;
    for (int k = 0; k < 3; k++) {
        if (!PyArray_CheckExact(args[k])) {
            if (k == 0) NOT_HANDLED();
            continue;
        }
        PyArrayObject *x = (PyArrayObject *)args[k];
        if (!PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) NOT_HANDLED();
        if (k && model && PyArray_TYPE(x) != PyArray_TYPE(model)) NOT_HANDLED();
        if (k) model = x;
        else if (PyArray_TYPE(x) != NPY_BOOL) NOT_HANDLED();
    }
    if (!model || (PyArray_TYPE(model) >= NPY_OBJECT && !narrow_kind((PyObject *)model))) NOT_HANDLED();
    const int width = PyArray_ITEMSIZE(model), which = width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
    if (width > 8) NOT_HANDLED();
    job.loop = &loops[which];
    for (int k = 0; k < 3; k++) {
        job.data[k] = (char *)&number[k];
        if (PyArray_CheckExact(args[k])) job.data[k] = PyArray_BYTES((PyArrayObject *)args[k]);
        else if (fast_write_number(args[k], PyArray_TYPE(model), &number[k]) < 0) NOT_HANDLED();
    }
    struct layout layout;
    if (fast_lay_out(&job, &layout, args, 3, NULL) < 0) NOT_HANDLED();
    PyArrayObject *out = fast_result(&job, &layout, PyArray_TYPE(model));
    if (!out) return NULL;
    job.data[3] = PyArray_BYTES(out);
    for (int k = 0; k < 4; k++) job.width[k] = k ? width : 1;
    fast_join_axes(&job, layout.ndim, layout.shape);
    fast_run(&job, 0.2, PyArray_SIZE(out), PyArray_NBYTES(out));
    return (PyObject *)out;
}

/* broadcast_to(x, shape): a read-only view */
static PyObject *broadcast_to(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(args[1])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int ndim = (int)PyTuple_GET_SIZE(args[1]), lead = ndim - PyArray_NDIM(x);
    if (lead < 0 || ndim > NPY_MAXDIMS) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int axis = 0; axis < ndim; axis++) {
        shape[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[1], axis));
        if (shape[axis] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            NOT_HANDLED();
        }
        const npy_intp length = axis < lead ? 1 : PyArray_DIM(x, axis - lead);
        if (shape[axis] < 0 || (length != shape[axis] && length != 1)) NOT_HANDLED();
        strides[axis] = length == 1 ? 0 : PyArray_STRIDE(x, axis - lead);
    }
    Py_INCREF(PyArray_DESCR(x));
    PyArrayObject *view = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim, shape, strides,
                                                                PyArray_DATA(x), 0, NULL);
    if (!view) return NULL;
    Py_INCREF(x);
    if (PyArray_SetBaseObject(view, (PyObject *)x) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    PyArray_UpdateFlags(view, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    return (PyObject *)view;
}

/* ---- NaN ---- */

/* has_nan(x): of one real type, in C or Fortran order */
static PyObject *has_nan(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || !is_real(args[0]) || !PyArray_ISONESEGMENT(x) || !PyArray_ISALIGNED(x)) NOT_HANDLED();
    const size n = PyArray_SIZE(x);
    const float *single = PyArray_DATA(x);
    const double *wide = PyArray_DATA(x);
    int found = 0;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    for (size i = 0; i < n && !found; i += 4096) { /* every block without a branch */
        const size end = i + 4096 < n ? i + 4096 : n;
        if (PyArray_TYPE(x) == NPY_FLOAT)
            for (size k = i; k < end; k++) found |= single[k] != single[k];
        else
            for (size k = i; k < end; k++) found |= wide[k] != wide[k];
    }
    NPY_END_THREADS
    return PyBool_FromLong(found);
}

#define ALL_WITHIN(type, low, high)                                  \
    for (size i = 0; i < n && !outside; i += 4096) { /* as above */   \
        const type *v = PyArray_DATA(x);                              \
        const size end = i + 4096 < n ? i + 4096 : n;                 \
        for (size k = i; k < end; k++) outside |= !(v[k] >= low) | !(v[k] <= high); \
    }

/* The same of whole numbers and limits of up to MOST_PLACES: one of the two differences is negative where a number is outside. */
enum { MOST_PLACES = 1 << 30 };
static int places_within(const int64_t *x, size n, int64_t low, int64_t high)
{
    uint64_t outside = 0;
    for (size i = 0; i < n && !(outside >> 63); i += 4096) {
        const size end = i + 4096 < n ? i + 4096 : n;
        for (size k = i; k < end; k++) outside |= ((uint64_t)x[k] - (uint64_t)low) | ((uint64_t)high - (uint64_t)x[k]);
    }
    return !(outside >> 63);
}

/* within(x, low, high): whether all elements are in [low, high], where NaN is not */
static PyObject *within(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || !PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) NOT_HANDLED();
    if (!PyArray_ISONESEGMENT(x)) {
        PyObject *rows[] = {layout_rows(args[0]), args[1], args[2]}, *found = rows[0] ? within(module, rows, count) : NULL;
        Py_XDECREF(rows[0]);
        return found;
    }
    if (!PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2])) NOT_HANDLED();
    int far = 0, farther = 0;
    const int64_t low = PyLong_AsLongLongAndOverflow(args[1], &far), high = PyLong_AsLongLongAndOverflow(args[2], &farther);
    const int64_t held = 1 << 24; /* up to here a float holds every limit */
    const size n = PyArray_SIZE(x);
    const int type = PyArray_TYPE(x);
    int outside = 0;
    if (far || farther || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64 && type != NPY_BOOL)) NOT_HANDLED();
    if (type != NPY_INT64 && (low < -held || low > held || high < -held || high > held)) NOT_HANDLED();
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    if (type == NPY_FLOAT) {
        const float least = (float)low, most = (float)high;
        ALL_WITHIN(float, least, most)
    } else if (type == NPY_DOUBLE) {
        ALL_WITHIN(double, (double)low, (double)high)
    } else if (type == NPY_BOOL) {
        ALL_WITHIN(npy_bool, low, high)
    } else if (llabs(low) <= MOST_PLACES && llabs(high) <= MOST_PLACES) {
        outside = !places_within(PyArray_DATA(x), n, low, high);
    } else {
        ALL_WITHIN(int64_t, low, high)
    }
    NPY_END_THREADS
    return PyBool_FromLong(!outside);
}

/* ---- matrix products ---- */

/* Whether an array goes to BLAS as it is: float or double, at least two axes. */
static int is_matrix(PyObject *object)
{
    return PyArray_CheckExact(object) && is_real(object) && PyArray_NDIM((PyArrayObject *)object) >= 2;
}

/* x as (rows, columns): a view where its layout allows, else a copy. */
static PyArrayObject *as_matrix(PyArrayObject *x)
{
    if (PyArray_NDIM(x) == 2) return (PyArrayObject *)Py_NewRef((PyObject *)x);
    const npy_intp columns = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    npy_intp shape[] = {columns ? PyArray_SIZE(x) / columns : 0, columns};
    if (!columns) {
        shape[0] = 1;
        for (int axis = 0; axis < PyArray_NDIM(x) - 1; axis++) shape[0] *= PyArray_DIM(x, axis);
    }
    PyArray_Dims dims = {shape, 2};
    return (PyArrayObject *)PyArray_Newshape(x, &dims, NPY_CORDER);
}

/* (..., n) @ (n, m), the matrix given as it is or as its transpose, as one product; plus a bias of m where given. */
static PyObject *product(PyArrayObject *x, PyArrayObject *matrix, int transposed, PyObject *bias)
{
    const int ndim = PyArray_NDIM(x);
    PyArrayObject *flat = as_matrix(x), *right = NULL, *out = NULL, *flat_out = NULL;
    if (!flat) return NULL;
    right = transposed ? (PyArrayObject *)PyArray_Transpose(matrix, NULL) : (PyArrayObject *)Py_NewRef((PyObject *)matrix);
    if (!right) goto done;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), ndim * sizeof *shape);
    shape[ndim - 1] = PyArray_DIM(right, 1);
    if (!(out = new_like(x, ndim, shape))) goto done;
    flat_out = as_matrix(out);
    if (!flat_out || product_rows(flat_out, flat, right, (PyArrayObject *)bias) < 0) Py_CLEAR(out);
done:
    Py_XDECREF(flat);
    Py_XDECREF(right);
    Py_XDECREF(flat_out);
    return (PyObject *)out;
}

/* matmul(a, b): a of two axes or more, b of two */
PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    if (!is_matrix(args[0]) || !is_matrix(args[1]) || PyArray_TYPE(a) != PyArray_TYPE(b) || PyArray_NDIM(b) != 2 ||
        PyArray_DIM(a, PyArray_NDIM(a) - 1) != PyArray_DIM(b, 0))
        NOT_HANDLED();
    if (PyArray_NDIM(a) == 2) return product_of(a, b);
    return product(a, b, 0, NULL);
}

/* linear(x, weight, bias | None): x of two axes or more */
static PyObject *linear(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *weight = (PyArrayObject *)args[1], *bias = (PyArrayObject *)args[2];
    if (!is_matrix(args[0]) || !is_matrix(args[1]) || PyArray_TYPE(x) != PyArray_TYPE(weight) ||
        PyArray_NDIM(weight) != 2 || PyArray_DIM(x, PyArray_NDIM(x) - 1) != PyArray_DIM(weight, 1))
        NOT_HANDLED();
    if (args[2] != Py_None && (!PyArray_CheckExact(args[2]) || !is_like(args[2], args[0]) || PyArray_NDIM(bias) != 1 ||
                               PyArray_DIM(bias, 0) != PyArray_DIM(weight, 0) || !PyArray_ISCARRAY_RO(bias)))
        NOT_HANDLED();
    return product(x, weight, 1, args[2] == Py_None ? NULL : args[2]);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef shortcuts_methods[] = {
    METHOD(where), METHOD(broadcast_to), METHOD(matmul), METHOD(linear), METHOD(has_nan), METHOD(within), {NULL, NULL, 0, NULL},
};
