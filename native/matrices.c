/* Small matrices, and sparse ones: what is lost in calls of NumPy's where there is little to compute. */
#include "wengert.h"

enum { SMALL = 64, LARGE = 512, BATCHES = 8 };

#define DEFINE_MATRICES(REAL, SUFFIX)                                                                                  \
    static void add_product_##SUFFIX(REAL *restrict out, const REAL *restrict x, REAL factor, size n)                  \
    {                                                                                                                  \
        for (size k = 0; k < n; k++) out[k] += factor * x[k];                                                          \
    }                                                                                                                  \
    /* x = a^-1 x for a lower triangle; steps are in bytes, the numbers of a row of x beside each other; by panels, for which `work` is */\
    static void substitute_##SUFFIX(const char *a, const npy_intp *step, char *x, npy_intp row, size n, size k, int unit, REAL *work)\
    {                                                                                                                  \
        const size width = kernels->gemm_columns_bytes / 2 / sizeof(REAL);                                             \
        for (size c = 0; c < k; c += width) {                                                                          \
            const size some = k - c < width ? k - c : width;                                                           \
            for (size i = 0; i < n; i++) {                                                                             \
                memcpy(work + i * width, (REAL *)(x + i * row) + c, some * sizeof(REAL));                              \
                for (size l = some; l < width; l++) work[i * width + l] = 0;                                           \
            }                                                                                                          \
            kernels->substitute_panel_##SUFFIX(a, step[0], step[1], work, n, unit);                                    \
            for (size i = 0; i < n; i++) memcpy((REAL *)(x + i * row) + c, work + i * width, some * sizeof(REAL));     \
        }                                                                                                              \
    }                                                                                                                  \
    /* The same of one column whose numbers lie as those of the rows or of the columns of the triangle do, either way round. */ \
    static void substitute_one_##SUFFIX(const char *a, const npy_intp *step, char *x, npy_intp row, size n, int unit)  \
    {                                                                                                                  \
        enum { LANES = 16 };                                                                                           \
        for (size i = 0; i < n; i++) {                                                                                 \
            REAL *to = (REAL *)(x + i * row), lane[LANES] = {0}, sum = 0;                                              \
            if (step[1] == row && i) {                                                                                 \
                const npy_intp begin = row < 0 ? (i - 1) * row : 0;                                                    \
                const REAL *p = (const REAL *)(a + i * step[0] + begin), *q = (const REAL *)(x + begin);               \
                size k = 0;                                                                                            \
                for (; k + LANES <= i; k += LANES)                                                                     \
                    for (size l = 0; l < LANES; l++) lane[l] += p[k + l] * q[k + l];                                   \
                for (; k < i; k++) sum += p[k] * q[k];                                                                 \
                for (size l = 0; l < LANES; l++) sum += lane[l];                                                       \
                *to -= sum;                                                                                            \
            }                                                                                                          \
            if (!unit) *to /= *(const REAL *)(a + i * (step[0] + step[1]));                                            \
            if (step[1] != row) {                                                                                      \
                const npy_intp begin = row < 0 ? (n - 1) * row : (i + 1) * row;                                        \
                add_product_##SUFFIX((REAL *)(x + begin), (const REAL *)(a + i * step[1] + begin), -*to, n - 1 - i);   \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* the lower triangle of `a` to its factor in `out`, whose rows have n numbers; 0 where it is not positive */      \
    static int factor_##SUFFIX(const char *a, const npy_intp *step, REAL *out, size n)                                 \
    {                                                                                                                  \
        for (size i = 0; i < n; i++) {                                                                                 \
            for (size j = 0; j <= i; j++) {                                                                            \
                REAL sum = *(const REAL *)(a + i * step[0] + j * step[1]);                                             \
                for (size k = 0; k < j; k++) sum -= out[i * n + k] * out[j * n + k];                                   \
                if (i == j && !(sum > 0)) return 0;                                                                    \
                out[i * n + j] = i == j ? (REAL)sqrt((double)sum) : sum / out[j * n + j];                              \
            }                                                                                                          \
            for (size j = i + 1; j < n; j++) out[i * n + j] = 0;                                                       \
        }                                                                                                              \
        return 1;                                                                                                      \
    }
DEFINE_MATRICES(float, f32)
DEFINE_MATRICES(double, f64)

/* The next of the places in a stack of matrices, and where it is in two arrays; 0 at the end. */
static int advance(int batches, const npy_intp *shape, npy_intp *at, const npy_intp *first, char **one, const npy_intp *second, char **two)
{
    for (int d = batches - 1; d >= 0; d--) {
        *one += first[d], *two += second[d];
        if (++at[d] < shape[d]) return 1;
        *one -= first[d] * shape[d], *two -= second[d] * shape[d], at[d] = 0;
    }
    return 0;
}

/* substitute(a, x, unit): x = a^-1 x in place, for a stack of lower triangles, or one for all; None */
static PyObject *substitute(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0])) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)args[0], *x = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(x), batches = ndim - 2;
    if (batches < 0 || batches > BATCHES || (PyArray_NDIM(a) != ndim && PyArray_NDIM(a) != 2) || !PyArray_ISWRITEABLE(x) ||
        !PyArray_ISALIGNED(a) || !PyArray_ISALIGNED(x))
        NOT_HANDLED();
    const npy_intp *shape = PyArray_DIMS(x), *step = PyArray_STRIDES(a) + PyArray_NDIM(a) - 2, n = shape[ndim - 2], k = shape[ndim - 1];
    const npy_intp row = PyArray_STRIDE(x, ndim - 2), item = PyArray_ITEMSIZE(x);
    const int one = k == 1 && (row == item || row == -item) && (step[0] == row || step[1] == row);
    if ((n > LARGE && !one) || PyArray_DIM(a, PyArray_NDIM(a) - 1) != n || PyArray_DIM(a, PyArray_NDIM(a) - 2) != n ||
        (k > 1 && PyArray_STRIDE(x, ndim - 1) != PyArray_ITEMSIZE(x)))
        NOT_HANDLED();
    npy_intp of_a[BATCHES] = {0}, at[BATCHES] = {0};
    for (int d = 0; d < batches; d++) {
        if (PyArray_NDIM(a) == ndim && PyArray_DIM(a, d) != shape[d]) NOT_HANDLED();
        of_a[d] = PyArray_NDIM(a) == ndim ? PyArray_STRIDE(a, d) : 0;
    }
    const int unit = PyObject_IsTrue(args[2]), single = PyArray_TYPE(x) == NPY_FLOAT;
    char *from = PyArray_BYTES(a), *to = PyArray_BYTES(x);
    PyArrayObject *memory = scratch(n * kernels->gemm_columns_bytes / 2 / item, item);
    if (!memory) return NULL;
    if (PyArray_SIZE(x)) do {
        if (one) (single ? substitute_one_f32 : substitute_one_f64)(from, step, to, row, n, unit);
        else if (single) substitute_f32(from, step, to, row, n, k, unit, PyArray_DATA(memory));
        else substitute_f64(from, step, to, row, n, k, unit, PyArray_DATA(memory));
    } while (advance(batches, shape, at, of_a, &from, PyArray_STRIDES(x), &to));
    Py_DECREF(memory);
    Py_RETURN_NONE;
}

/* cholesky_lower(a): the factors of a stack of small matrices, of which the lower triangles are read; None where one of them is not
 * positive definite */
static PyObject *cholesky_lower(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    if (!is_real(args[0])) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(a), batches = ndim - 2;
    if (batches < 0 || batches > BATCHES || !PyArray_ISALIGNED(a) || PyArray_DIM(a, ndim - 1) > SMALL ||
        PyArray_DIM(a, ndim - 1) != PyArray_DIM(a, ndim - 2) || !PyArray_SIZE(a))
        NOT_HANDLED();
    PyArrayObject *out = new_like(a, ndim, PyArray_DIMS(a));
    if (!out) return NULL;
    npy_intp at[BATCHES] = {0};
    const npy_intp n = PyArray_DIM(a, ndim - 1), *step = PyArray_STRIDES(a) + ndim - 2;
    char *from = PyArray_BYTES(a), *to = PyArray_BYTES(out);
    int positive = 1;
    do {
        positive = PyArray_TYPE(a) == NPY_FLOAT ? factor_f32(from, step, (float *)to, n) : factor_f64(from, step, (double *)to, n);
    } while (positive && advance(batches, PyArray_DIMS(a), at, PyArray_STRIDES(a), &from, PyArray_STRIDES(out), &to));
    if (positive) return (PyObject *)out;
    Py_DECREF(out);
    Py_RETURN_NONE;
}

/* 0 where a place lies outside. Rows of few numbers have loops of their own. */
#define DEFINE_SPARSE(T, S)                                                                                          \
    static inline int few_##S(T *to, const T *from, const T *value, const int64_t *row, const int64_t *column, size stored, size n, size m, size k) \
    {                                                                                                                \
        T sum[8] = {0};                                                                                              \
        for (size e = 0; e < stored; e++) {                                                                          \
            if ((uint64_t)row[e] >= (uint64_t)n || (uint64_t)column[e] >= (uint64_t)m) return 0;                     \
            const T *restrict x = from + column[e] * k, factor = value[e];                                           \
            for (size i = 0; i < k; i++) sum[i] += factor * x[i];                                                    \
            if (e + 1 < stored && row[e + 1] == row[e]) continue; /* the sum of a row stays in registers */          \
            T *restrict total = to + row[e] * k;                                                                     \
            for (size i = 0; i < k; i++) total[i] += sum[i], sum[i] = 0;                                             \
        }                                                                                                            \
        return 1;                                                                                                    \
    }                                                                                                                \
    static int sparse_##S(T *to, const T *from, const T *value, const int64_t *row, const int64_t *column, size stored, size n, size m, size k) \
    {                                                                                                                \
        switch (k) {                                                                                                 \
        case 1: return few_##S(to, from, value, row, column, stored, n, m, 1);                                       \
        case 2: return few_##S(to, from, value, row, column, stored, n, m, 2);                                       \
        case 3: return few_##S(to, from, value, row, column, stored, n, m, 3);                                       \
        case 4: return few_##S(to, from, value, row, column, stored, n, m, 4);                                       \
        case 5: return few_##S(to, from, value, row, column, stored, n, m, 5);                                       \
        case 6: return few_##S(to, from, value, row, column, stored, n, m, 6);                                       \
        case 7: return few_##S(to, from, value, row, column, stored, n, m, 7);                                       \
        case 8: return few_##S(to, from, value, row, column, stored, n, m, 8);                                       \
        }                                                                                                            \
        for (size e = 0; e < stored; e++) {                                                                          \
            if ((uint64_t)row[e] >= (uint64_t)n || (uint64_t)column[e] >= (uint64_t)m) return 0;                     \
            add_product_##S(to + row[e] * k, from + column[e] * k, value[e], k);                                     \
        }                                                                                                            \
        return 1;                                                                                                    \
    }
DEFINE_SPARSE(float, f32)
DEFINE_SPARSE(double, f64)

/* sparse_product(values, dense, rows, columns, n): the matrix of n rows with the values at these places times a dense one */
static PyObject *sparse_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0])) NOT_HANDLED();
    const npy_intp n = PyArray_NDIM((PyArrayObject *)args[0]) == 1 && PyArray_NDIM((PyArrayObject *)args[1]) == 2 ? PyLong_AsSsize_t(args[4]) : -1;
    if (n < 0) {
        if (PyErr_Occurred()) return NULL;
        NOT_HANDLED();
    }
    const size stored = PyArray_DIM((PyArrayObject *)args[0], 0), k = PyArray_DIM((PyArrayObject *)args[1], 1);
    for (int i = 2; i < 4; i++)
        if (!PyArray_Check(args[i]) || PyArray_TYPE((PyArrayObject *)args[i]) != NPY_INT64 || PyArray_NDIM((PyArrayObject *)args[i]) != 1 ||
            PyArray_DIM((PyArrayObject *)args[i], 0) != stored)
            NOT_HANDLED();
    PyArrayObject *in[4] = {NULL}, *out = NULL;
    int fits = 1;
    for (int i = 0; i < 4; i++)
        if (!(in[i] = contiguous(args[i]))) goto done;
    npy_intp shape[2] = {n, k};
    out = (PyArrayObject *)PyArray_ZEROS(2, shape, PyArray_TYPE(in[0]), 0);
    if (out) {
        const int64_t *row = PyArray_DATA(in[2]), *column = PyArray_DATA(in[3]);
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(stored * k);
        const size m = PyArray_DIM(in[1], 0);
        if (PyArray_TYPE(out) == NPY_FLOAT) fits = sparse_f32(PyArray_DATA(out), PyArray_DATA(in[1]), PyArray_DATA(in[0]), row, column, stored, n, m, k);
        else fits = sparse_f64(PyArray_DATA(out), PyArray_DATA(in[1]), PyArray_DATA(in[0]), row, column, stored, n, m, k);
        NPY_END_THREADS
    }
done:
    for (int i = 0; i < 4; i++) Py_XDECREF(in[i]);
    if (fits) return (PyObject *)out;
    Py_XDECREF(out);
    NOT_HANDLED();
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef matrices_methods[] = {METHOD(substitute), METHOD(cholesky_lower), METHOD(sparse_product), {NULL, NULL, 0, NULL}};
