/* One call for a whole optimizer step: update(family, columns, constants) over all parameters, in place. */
#include "wengert.h"

#include "pool.h"

enum { MAX_CONSTANTS = 8, MAX_COLUMNS = 5 };

typedef void (*update_f32)(float *, const float *, float *, float *, float *, const float *, size);
typedef void (*update_f64)(double *, const double *, double *, double *, double *, const double *, size);

struct family {
    const char *name;
    int columns, constants; /* columns: parameter, gradient and state */
    size_t single, twice;   /* where the kernels table has the functions */
};

static const struct family families[] = {
#define FAMILY(name, columns, constants) \
    {#name, columns, constants, offsetof(struct kernels, name##_update_f32), offsetof(struct kernels, name##_update_f64)},
    OPTIMIZER_KERNELS(FAMILY)
#undef FAMILY
};

struct update_job {
    update_f32 single;
    update_f64 twice;
    int narrow, columns; /* 1 for float16, 2 for bfloat16, else 0 */
    void *data[MAX_COLUMNS];
    float constants_f32[MAX_CONSTANTS];
    double constants_f64[MAX_CONSTANTS];
};

/* Numbers of 16 bits, widened by blocks; what is written is rounded once. */
static void update_narrow(const struct update_job *job, size begin, size end)
{
    enum { BLOCK = 1024 };
    float wide[MAX_COLUMNS][BLOCK];
    void (*const widen)(float *, const uint16_t *, size) = job->narrow == 1 ? kernels->widen_half : kernels->widen_brain;
    void (*const narrow)(uint16_t *, const float *, size) = job->narrow == 1 ? kernels->narrow_half : kernels->narrow_brain;
    for (size at = begin; at < end; at += BLOCK) {
        const size n = end - at < BLOCK ? end - at : BLOCK;
        for (int k = 0; k < job->columns; k++) widen(wide[k], (const uint16_t *)job->data[k] + at, n);
        job->single(wide[0], wide[1], wide[2], wide[3], wide[4], job->constants_f32, n);
        for (int k = 0; k < job->columns; k++)
            if (k != 1) narrow((uint16_t *)job->data[k] + at, wide[k], n);
    }
}

static void update_task(void *context, size begin, size end, int chunk)
{
    const struct update_job *job = context;
    (void)chunk;
    if (job->narrow) {
        update_narrow(job, begin, end);
    } else if (job->single) {
        float *at[MAX_COLUMNS];
        for (int k = 0; k < MAX_COLUMNS; k++) at[k] = job->data[k] ? (float *)job->data[k] + begin : NULL;
        job->single(at[0], at[1], at[2], at[3], at[4], job->constants_f32, end - begin);
    } else {
        double *at[MAX_COLUMNS];
        for (int k = 0; k < MAX_COLUMNS; k++) at[k] = job->data[k] ? (double *)job->data[k] + begin : NULL;
        job->twice(at[0], at[1], at[2], at[3], at[4], job->constants_f64, end - begin);
    }
}

/* Whether the arrays of one parameter are of one real type and size, one piece of memory each, and writable. Where the parameter lies
 * with its channels or its first axis innermost, the others do, too. */
static int is_row(PyObject *const *row, int columns)
{
    PyArrayObject *const model = (PyArrayObject *)row[0];
    const int rows = !PyArray_Check(row[0]) || PyArray_IS_C_CONTIGUOUS(model), columnwise = !rows && PyArray_IS_F_CONTIGUOUS(model);
    for (int k = 0; k < columns; k++) {
        if (!PyArray_Check(row[k])) return 0;
        PyArrayObject *array = (PyArrayObject *)row[k], *first = (PyArrayObject *)row[0];
        const int narrow = narrow_kind(row[k]), alike = narrow ? narrow_kind(row[0]) == narrow : is_like(row[k], row[0]);
        const int one_piece = rows ? PyArray_IS_C_CONTIGUOUS(array) : columnwise ? PyArray_IS_F_CONTIGUOUS(array) : lies_innermost(array);
        if (!alike || PyArray_SIZE(array) != PyArray_SIZE(first) || !one_piece || !PyArray_ISALIGNED(array) ||
            (!rows && !PyArray_SAMESHAPE(array, first)) ||
             (k != 1 && !PyArray_ISWRITEABLE(array)))
            return 0;
    }
    return 1;
}

/* update(family, columns, constants) -> bool. `columns` is a list of lists (parameters, gradients, states ...).
 * False, with nothing changed, when some array is not of the plain kind. */
static PyObject *update(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    const struct family *family = NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (PyUnicode_Check(args[0]) && !PyUnicode_CompareWithASCIIString(args[0], families[i].name)) family = &families[i];
    if (!family) return PyErr_Format(PyExc_ValueError, "no optimizer kernel is called %R", args[0]);
    PyObject *outer = PySequence_Fast(args[1], "columns must be a sequence"), *numbers = NULL, *result = NULL;
    PyObject *columns[MAX_COLUMNS] = {NULL};
    struct update_job job = {0};
    if (!outer) return NULL;
    if (!(numbers = PySequence_Fast(args[2], "constants must be a sequence"))) goto done;
    if (PySequence_Fast_GET_SIZE(outer) != family->columns || PySequence_Fast_GET_SIZE(numbers) != family->constants) {
        PyErr_Format(PyExc_ValueError, "%s takes %d columns and %d constants", family->name, family->columns,
                     family->constants);
        goto done;
    }
    for (int k = 0; k < family->constants; k++) {
        job.constants_f64[k] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, k));
        job.constants_f32[k] = (float)job.constants_f64[k];
        if (PyErr_Occurred()) goto done;
    }
    Py_ssize_t rows = 0;
    for (int k = 0; k < family->columns; k++) {
        columns[k] = PySequence_Fast(PySequence_Fast_GET_ITEM(outer, k), "a column must be a sequence");
        if (!columns[k]) goto done;
        if (k && PySequence_Fast_GET_SIZE(columns[k]) != rows) {
            PyErr_SetString(PyExc_ValueError, "columns must be of one length");
            goto done;
        }
        rows = PySequence_Fast_GET_SIZE(columns[k]);
    }
    for (int pass = 0; pass < 2; pass++) /* look at all of them first */
        for (Py_ssize_t r = 0; r < rows; r++) {
            PyObject *row[MAX_COLUMNS];
            for (int k = 0; k < family->columns; k++) row[k] = PySequence_Fast_GET_ITEM(columns[k], r);
            if (!pass) {
                if (is_row(row, family->columns)) continue;
                result = Py_NewRef(Py_False);
                goto done;
            }
            PyArrayObject *p = (PyArrayObject *)row[0];
            const size n = PyArray_SIZE(p);
            job.narrow = narrow_kind(row[0]);
            job.columns = family->columns;
            const int single = job.narrow || PyArray_TYPE(p) == NPY_FLOAT;
            job.single = single ? *(const update_f32 *)((const char *)kernels + family->single) : NULL;
            job.twice = *(const update_f64 *)((const char *)kernels + family->twice);
            for (int k = 0; k < family->columns; k++) job.data[k] = PyArray_DATA((PyArrayObject *)row[k]);
            const int chunks = pool_chunks(n, (single ? 0.15 : 0.3) * family->columns);
            if (n < 4096) {
                update_task(&job, 0, n, 0);
                continue;
            }
            Py_BEGIN_ALLOW_THREADS
            pool_run(update_task, &job, n, chunks);
            Py_END_ALLOW_THREADS
        }
    result = Py_NewRef(Py_True);
done:
    for (int k = 0; k < MAX_COLUMNS; k++) Py_XDECREF(columns[k]);
    Py_XDECREF(numbers);
    Py_DECREF(outer);
    return result;
}

PyMethodDef optimizers_methods[] = {
    {"update", (PyCFunction)(void (*)(void))update, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL},
};
