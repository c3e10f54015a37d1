/* Decompositions by the LAPACK inside the OpenBLAS that NumPy came with, of stacks of real matrices in their own precision. What NumPy
 * offers of it computes float32 in double, and copies what LAPACK leaves column by column. Where NumPy has another library, or numbers
 * are not finite that an iteration may not end on, the plain definitions do it. */
#include "product.h"

typedef int64_t whole; /* the integers of routines whose names end in 64_ */

/* Numbers are given by address, so that a routine looks alike in both precisions; behind them are the lengths of the texts. */
typedef void getrf_routine(const whole *m, const whole *n, void *a, const whole *lda, whole *pivots, whole *info);
typedef void getrs_routine(const char *turn, const whole *n, const whole *k, const void *a, const whole *lda, const whole *pivots, void *b,
                           const whole *ldb, whole *info, size_t);
typedef void geqrf_routine(const whole *m, const whole *n, void *a, const whole *lda, void *tau, void *work, const whole *size, whole *info);
typedef void orgqr_routine(const whole *m, const whole *n, const whole *k, void *a, const whole *lda, const void *tau, void *work,
                           const whole *size, whole *info);
typedef void potrf_routine(const char *part, const whole *n, void *a, const whole *lda, whole *info, size_t);
typedef void trsm_routine(const char *side, const char *part, const char *turn, const char *unit, const whole *n, const whole *k,
                          const void *factor, const void *a, const whole *lda, void *b, const whole *ldb, size_t, size_t, size_t, size_t);
typedef void gesdd_routine(const char *job, const whole *m, const whole *n, void *a, const whole *lda, void *s, void *u, const whole *ldu,
                           void *v, const whole *ldv, void *work, const whole *size, whole *places, whole *info, size_t);
typedef void syevd_routine(const char *job, const char *part, const whole *n, void *a, const whole *lda, void *w, void *work,
                           const whole *size, whole *places, const whole *count, whole *info, size_t, size_t);
typedef void geev_routine(const char *left, const char *right, const whole *n, void *a, const whole *lda, void *real, void *imaginary,
                          void *vl, const whole *ldvl, void *vr, const whole *ldvr, void *work, const whole *size, whole *info, size_t, size_t);
typedef void gelsy_routine(const whole *m, const whole *n, const whole *k, void *a, const whole *lda, void *b, const whole *ldb,
                           whole *places, const void *rcond, whole *rank, void *work, const whole *size, whole *info);

enum { GETRF, GETRS, GEQRF, ORGQR, POTRF, TRSM, GESDD, SYEVD, GEEV, GELSY, ROUTINES };
static void *routines[2][ROUTINES];

/* Whether the library is there. */
static int have_lapack(void)
{
    static const char *const names[ROUTINES] = {"getrf", "getrs", "geqrf", "orgqr", "potrf", "trsm", "gesdd", "syevd", "geev", "gelsy"};
    static int state = -1;
    if (state < 0) {
        int found = 1;
        for (int i = 0; found && i < 2 * ROUTINES; i++) {
            char name[40];
            snprintf(name, sizeof name, "scipy_%c%s_64_", i % 2 ? 'd' : 's', names[i / 2]);
            if (!(routines[i % 2][i / 2] = blas_routine(name)) && !(routines[i % 2][i / 2] = blas_routine(name + 6))) found = 0;
        }
        state = found;
    }
    return state;
}
#define CALL(kind, NAME, type) ((type##_routine *)routines[kind][NAME])

/* -- stacks ------------------------------------------------------------------------------------------------------------------------ */

/* A stack of matrices as LAPACK wants them; `count` of them, each `rows` by `columns`. */
struct matrices {
    PyArrayObject *array;
    int kind, batches;
    size item, count;
    whole rows, columns;
};

static int describe(PyObject *object, struct matrices *m)
{
    if (!is_real(object)) return 0;
    PyArrayObject *a = m->array = (PyArrayObject *)object;
    m->batches = PyArray_NDIM(a) - 2, m->kind = PyArray_TYPE(a) == NPY_DOUBLE, m->item = PyArray_ITEMSIZE(a);
    if (m->batches < 0 || !PyArray_ISALIGNED(a) || !PyArray_SIZE(a) || !have_lapack()) return 0;
    m->rows = PyArray_DIM(a, m->batches), m->columns = PyArray_DIM(a, m->batches + 1), m->count = PyArray_SIZE(a) / (m->rows * m->columns);
    return 1;
}

/* A new stack beside `like`: its leading axes, then `rows` by `columns`, or `rows` alone where `columns` is negative; each matrix column
 * by column. */
static PyArrayObject *make(const struct matrices *like, int type, whole rows, whole columns)
{
    npy_intp shape[NPY_MAXDIMS], step[NPY_MAXDIMS];
    const int ndim = like->batches + (rows >= 0) + (columns >= 0);
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    npy_intp next = PyDataType_ELSIZE(descr);
    if (rows >= 0) shape[like->batches] = rows, step[like->batches] = next, next *= rows;
    if (columns >= 0) shape[ndim - 1] = columns, step[ndim - 1] = next, next *= columns;
    for (int d = like->batches - 1; d >= 0; d--) shape[d] = PyArray_DIM(like->array, d), step[d] = next, next *= shape[d];
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, step, NULL, 0, NULL);
}
static PyArrayObject *make_real(const struct matrices *like, whole rows, whole columns)
{
    return make(like, PyArray_TYPE(like->array), rows, columns);
}

#define DEFINE_COPY(T)                                                                                                  \
    static void copy_##T(T *to, size height, const char *from, size rows, size columns, npy_intp row, npy_intp column) \
    {                                                                                                                   \
        enum { TILE = 16 };                                                                                             \
        for (size c = 0; c < columns; c += TILE)                                                                        \
            for (size r = 0; r < rows; r += TILE) {                                                                     \
                const size right = columns - c < TILE ? columns : c + TILE, low = rows - r < TILE ? rows : r + TILE;    \
                for (size j = c; j < right; j++)                                                                        \
                    for (size i = r; i < low; i++) to[j * height + i] = *(const T *)(from + i * row + j * column);      \
            }                                                                                                           \
    }
DEFINE_COPY(uint32_t)
DEFINE_COPY(uint64_t)

/* The matrix number `at` of the stack, to columns of `height` numbers. */
static void take(const struct matrices *m, size at, void *to, size height)
{
    const npy_intp *step = PyArray_STRIDES(m->array) + m->batches;
    const char *from = PyArray_BYTES(m->array);
    for (int d = m->batches - 1; d >= 0; d--) from += at % PyArray_DIM(m->array, d) * PyArray_STRIDE(m->array, d), at /= PyArray_DIM(m->array, d);
    if (step[0] == m->item || m->rows == 1)
        for (size j = 0; j < m->columns; j++) memcpy((char *)to + j * height * m->item, from + j * step[1], m->rows * m->item);
    else if (m->kind) copy_uint64_t(to, height, from, m->rows, m->columns, step[0], step[1]);
    else copy_uint32_t(to, height, from, m->rows, m->columns, step[0], step[1]);
}

static inline void *place(PyArrayObject *stack, size at, size numbers)
{
    return PyArray_BYTES(stack) + at * numbers * PyArray_ITEMSIZE(stack);
}
static inline double number(const void *at, int kind) { return kind ? *(const double *)at : *(const float *)at; }
static inline void put(void *at, int kind, double value)
{
    if (kind) *(double *)at = value;
    else *(float *)at = (float)value;
}
static inline whole least(whole a, whole b) { return a < b ? a : b; }

static int is_finite(const void *numbers, int kind, size count)
{
    for (size i = 0; i < count; i++)
        if (!isfinite(number((const char *)numbers + i * (kind ? 8 : 4), kind))) return 0;
    return 1;
}

/* Zeros below the diagonal of a matrix that lies column by column, or above it. */
static void clear_triangle(char *a, size item, whole rows, whole columns, int below)
{
    for (whole j = 0; j < columns; j++) {
        if (below && j + 1 < rows) memset(a + (j * rows + j + 1) * item, 0, (rows - j - 1) * item);
        if (!below) memset(a + j * rows * item, 0, least(j, rows) * item);
    }
}

/* Room for `count` numbers and as many whole ones. */
static PyArrayObject *room(size numbers, size item, size wholes) { return scratch(wholes * (size)sizeof(whole) + numbers * item, 1); }

/* A tuple of new arrays, or NULL with an error; NotImplemented where `refused`. */
static PyObject *found(int refused, int count, PyArrayObject **arrays)
{
    PyObject *result = NULL;
    int complete = 1;
    for (int i = 0; i < count; i++) complete &= arrays[i] != NULL;
    if (complete && !refused && (result = PyTuple_New(count)))
        for (int i = 0; i < count; i++) PyTuple_SET_ITEM(result, i, Py_NewRef(arrays[i]));
    for (int i = 0; i < count; i++) Py_XDECREF(arrays[i]);
    if (complete && refused) NOT_HANDLED();
    return result;
}

#define EXPECT(number)                                                                          \
    (void)module;                                                                               \
    if (count != number) return PyErr_Format(PyExc_TypeError, "expected " #number " arguments")

/* -- systems ----------------------------------------------------------------------------------------------------------------------- */

static void keep_pivots(PyArrayObject *to, size at, whole n, const whole *pivots)
{
    int32_t *p = place(to, at, n);
    for (whole i = 0; i < n; i++) p[i] = (int32_t)pivots[i];
}

/* lu_factor(a): factors, pivots, info */
static PyObject *lu_factor(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(1);
    struct matrices a;
    if (!describe(args[0], &a)) NOT_HANDLED();
    const whole k = least(a.rows, a.columns);
    PyArrayObject *out[3] = {make_real(&a, a.rows, a.columns), make(&a, NPY_INT32, k, -1), make(&a, NPY_INT32, -1, -1)}, *work = room(0, 1, k);
    if (out[0] && out[1] && out[2] && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * a.rows * a.columns);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out[0], i, a.rows * a.columns);
            take(&a, i, x, a.rows);
            CALL(a.kind, GETRF, getrf)(&a.rows, &a.columns, x, &a.rows, pivots, &info);
            keep_pivots(out[1], i, k, pivots);
            ((int32_t *)PyArray_DATA(out[2]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(0, 3, out);
}

static int same_stacks(const struct matrices *a, const struct matrices *b)
{
    if (a->batches != b->batches || a->kind != b->kind) return 0;
    for (int d = 0; d < a->batches; d++)
        if (PyArray_DIM(a->array, d) != PyArray_DIM(b->array, d)) return 0;
    return 1;
}

/* solve_once(a, b): the solutions, NaN where a matrix is singular, factors, pivots, info */
static PyObject *solve_once(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a, b;
    if (!describe(args[0], &a) || !describe(args[1], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows) NOT_HANDLED();
    const whole n = a.rows, k = b.columns;
    PyArrayObject *out[4] = {make_real(&b, n, k), make_real(&a, n, n), make(&a, NPY_INT32, n, -1), make(&a, NPY_INT32, -1, -1)};
    PyArrayObject *work = room(0, 1, n);
    if (out[0] && out[1] && out[2] && out[3] && work) {
        whole *pivots = PyArray_DATA(work), info, unused;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            void *lu = place(out[1], i, n * n), *x = place(out[0], i, n * k);
            take(&a, i, lu, n);
            take(&b, i, x, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, lu, &n, pivots, &info);
            if (!info) CALL(a.kind, GETRS, getrs)("N", &n, &k, lu, &n, pivots, x, &n, &unused, 1);
            else for (whole q = 0; q < n * k; q++) put((char *)x + q * a.item, a.kind, NAN);
            keep_pivots(out[2], i, n, pivots);
            ((int32_t *)PyArray_DATA(out[3]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(0, 4, out);
}

/* Whether each matrix lies column by column, and the matrices one behind the other. */
static int lies_by_columns(const struct matrices *m)
{
    npy_intp next = m->item;
    for (int d = 0; d < m->batches + 2; d++) {
        const int axis = d == 0 ? m->batches : d == 1 ? m->batches + 1 : m->batches + 1 - d;
        if (PyArray_DIM(m->array, axis) != 1 && PyArray_STRIDE(m->array, axis) != next) return 0;
        next *= PyArray_DIM(m->array, axis);
    }
    return 1;
}

/* lu_solve(lu, pivots, b, turned): x with a x = b, or the transpose of a, from the factors */
static PyObject *lu_solve(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(4);
    struct matrices a, b;
    if (!describe(args[0], &a) || !describe(args[2], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows || !lies_by_columns(&a))
        NOT_HANDLED();
    PyArrayObject *given = (PyArrayObject *)args[1];
    if (!PyArray_Check(args[1]) || PyArray_TYPE(given) != NPY_INT32 || PyArray_NDIM(given) != a.batches + 1 || !PyArray_IS_C_CONTIGUOUS(given) ||
        PyArray_SIZE(given) != a.count * a.rows)
        NOT_HANDLED();
    const whole n = a.rows, k = b.columns;
    const int32_t *p = PyArray_DATA(given);
    for (size i = 0; i < a.count * n; i++)
        if (p[i] < 1 || p[i] > n) NOT_HANDLED();
    const char *turn = PyObject_IsTrue(args[3]) ? "T" : "N";
    PyArrayObject *out = make_real(&b, n, k), *work = room(0, 1, n);
    if (out && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * k);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out, i, n * k);
            take(&b, i, x, n);
            for (whole q = 0; q < n; q++) pivots[q] = p[i * n + q];
            CALL(a.kind, GETRS, getrs)(turn, &n, &k, place(a.array, i, n * n), &n, pivots, x, &n, &info, 1);
        }
        NPY_END_THREADS
    } else Py_CLEAR(out);
    Py_XDECREF(work);
    return (PyObject *)out;
}

/* inverse(a): the inverses, NaN where a matrix is singular, and info */
static PyObject *inverse(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(1);
    struct matrices a;
    if (!describe(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const whole n = a.rows;
    PyArrayObject *out[2] = {make_real(&a, n, n), make(&a, NPY_INT32, -1, -1)}, *work = room(n * n, a.item, n);
    if (out[0] && out[1] && work) {
        whole *pivots = PyArray_DATA(work), info, unused;
        void *lu = pivots + n;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            char *x = place(out[0], i, n * n);
            take(&a, i, lu, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, lu, &n, pivots, &info);
            for (whole q = 0; q < n * n; q++) put(x + q * a.item, a.kind, info ? NAN : q % (n + 1) == 0);
            if (!info) CALL(a.kind, GETRS, getrs)("N", &n, &n, lu, &n, pivots, x, &n, &unused, 1);
            ((int32_t *)PyArray_DATA(out[1]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(0, 2, out);
}

/* lu_parts(lu, pivots): p, l and u with a = p l u, row by row */
static PyObject *lu_parts(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    PyArrayObject *given = (PyArrayObject *)args[1];
    if (!describe(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n);
    if (!PyArray_Check(args[1]) || PyArray_TYPE(given) != NPY_INT32 || PyArray_NDIM(given) != a.batches + 1 || !PyArray_IS_C_CONTIGUOUS(given) ||
        PyArray_SIZE(given) != a.count * k)
        NOT_HANDLED();
    const int32_t *p = PyArray_DATA(given);
    for (size i = 0; i < a.count * k; i++)
        if (p[i] < 1 || p[i] > m) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(a.array), a.batches * sizeof *shape);
    PyArrayObject *out[3], *work = room(m * n, a.item, m);
    const whole rows[3] = {m, m, k}, columns[3] = {m, k, n};
    for (int q = 0; q < 3; q++) {
        shape[a.batches] = rows[q], shape[a.batches + 1] = columns[q];
        out[q] = (PyArrayObject *)PyArray_ZEROS(a.batches + 2, shape, PyArray_TYPE(a.array), 0);
    }
    if (out[0] && out[1] && out[2] && work) {
        whole *order = PyArray_DATA(work);
        char *lu = (char *)(order + m);
        for (size i = 0; i < a.count; i++) {
            char *to_p = place(out[0], i, m * m), *to_l = place(out[1], i, m * k), *to_u = place(out[2], i, k * n);
            take(&a, i, lu, m);
            for (whole r = 0; r < m; r++) order[r] = r;
            for (whole c = 0; c < k; c++) {
                const whole other = p[i * k + c] - 1, kept = order[c];
                order[c] = order[other], order[other] = kept;
            }
            for (whole r = 0; r < m; r++) {
                put(to_p + (order[r] * m + r) * a.item, a.kind, 1);
                for (whole c = 0; c < (r < k ? r : k); c++) memcpy(to_l + (r * k + c) * a.item, lu + (c * m + r) * a.item, a.item);
                if (r >= k) continue;
                put(to_l + (r * k + r) * a.item, a.kind, 1);
                for (whole c = r; c < n; c++) memcpy(to_u + (r * n + c) * a.item, lu + (c * m + r) * a.item, a.item);
            }
        }
    }
    Py_XDECREF(work);
    return found(0, 3, out);
}

/* determinants(a): their signs (or zeros) and the logarithms of their sizes, and the determinants */
static PyObject *determinants(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(1);
    struct matrices a;
    if (!describe(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const whole n = a.rows;
    PyArrayObject *out[3] = {make_real(&a, -1, -1), make_real(&a, -1, -1), make_real(&a, -1, -1)}, *work = room(n * n, a.item, n);
    if (out[0] && out[1] && out[2] && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            char *x = (char *)(pivots + n);
            take(&a, i, x, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, x, &n, pivots, &info);
            double sign = 1, sum = 0, product = 1;
            for (whole j = 0; j < n; j++) {
                const double u = number(x + j * (n + 1) * a.item, a.kind);
                sign *= (pivots[j] != j + 1 ? -1 : 1) * (u < 0 ? -1 : u == 0 ? 0 : 1);
                sum += log(fabs(u)), product *= pivots[j] != j + 1 ? -u : u;
            }
            put(place(out[0], i, 1), a.kind, isnan(sum) ? 0 : sign), put(place(out[1], i, 1), a.kind, sum), put(place(out[2], i, 1), a.kind, product);
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(0, 3, out);
}

/* triangular(a, b, upper, unit): x with a x = b for triangles */
static PyObject *triangular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(4);
    struct matrices a, b;
    if (!describe(args[0], &a) || !describe(args[1], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows) NOT_HANDLED();
    const int upper = PyObject_IsTrue(args[2]), unit = PyObject_IsTrue(args[3]);
    const whole n = a.rows, k = b.columns;
    const npy_intp *step = PyArray_STRIDES(a.array) + a.batches;
    const int columns = step[0] == a.item && step[1] >= n * a.item && step[1] % a.item == 0;
    const int rows = !columns && step[1] == a.item && step[0] >= n * a.item && step[0] % a.item == 0;
    const whole height = columns ? step[1] / a.item : rows ? step[0] / a.item : n; /* of a as LAPACK sees it, turned where it lies in rows */
    PyArrayObject *out = make_real(&b, n, k), *work = scratch(columns || rows ? 0 : n * n, a.item);
    if (out && work) {
        const double one = 1;
        const float single = 1;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * k);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out, i, n * k);
            const char *from = PyArray_BYTES(a.array);
            size at = i;
            for (int d = a.batches - 1; d >= 0; d--) from += at % PyArray_DIM(a.array, d) * PyArray_STRIDE(a.array, d), at /= PyArray_DIM(a.array, d);
            if (!columns && !rows) take(&a, i, PyArray_DATA(work), n), from = PyArray_DATA(work);
            take(&b, i, x, n);
            CALL(a.kind, TRSM, trsm)("L", upper != rows ? "U" : "L", rows ? "T" : "N", unit ? "U" : "N", &n, &k,
                                     a.kind ? (const void *)&one : (const void *)&single, from, &height, x, &n, 1, 1, 1, 1);
        }
        NPY_END_THREADS
    } else Py_CLEAR(out);
    Py_XDECREF(work);
    return (PyObject *)out;
}

/* cholesky(a, upper): factors, and info */
static PyObject *cholesky(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    if (!describe(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const int upper = PyObject_IsTrue(args[1]);
    const whole n = a.rows;
    PyArrayObject *out[2] = {make_real(&a, n, n), make(&a, NPY_INT32, -1, -1)};
    if (out[0] && out[1]) {
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            whole info;
            void *x = place(out[0], i, n * n);
            take(&a, i, x, n);
            clear_triangle(x, a.item, n, n, upper);
            CALL(a.kind, POTRF, potrf)(upper ? "U" : "L", &n, x, &n, &info, 1);
            for (whole j = 0; !info && j < n; j++) /* some versions go on with NaN */
                if (isnan(number((char *)x + j * (n + 1) * a.item, a.kind))) info = j + 1;
            ((int32_t *)PyArray_DATA(out[1]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    return found(0, 2, out);
}

/* -- orthogonal factors ------------------------------------------------------------------------------------------------------------ */

/* orthogonal(a, mode): q and r; mode 0: of the least size, 1: q square, 2: what geqrf leaves, and the factors of the reflections */
static PyObject *orthogonal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    const long mode = PyLong_AsLong(args[1]);
    if (mode < 0 || mode > 2 || !describe(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n), wide = mode == 1 ? m : k, extent = m * (wide > n ? wide : n), some = (wide > n ? wide : n) * 64;
    PyArrayObject *out[2] = {mode == 2 ? make_real(&a, m, n) : make_real(&a, m, wide), mode == 2 ? make_real(&a, k, -1) : make_real(&a, wide, n)};
    PyArrayObject *work = room(extent + k + some, a.item, 0);
    if (out[0] && out[1] && work) {
        char *x = PyArray_DATA(work), *tau = x + extent * a.item, *rest = tau + k * a.item;
        whole info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count; i++) {
            take(&a, i, x, m);
            for (whole q = 0; q < m * n; q++) /* no zero is negative, for which LAPACKs take opposite signs */
                put(x + q * a.item, a.kind, number(x + q * a.item, a.kind) + 0.0);
            CALL(a.kind, GEQRF, geqrf)(&m, &n, x, &m, tau, rest, &some, &info);
            char *first = place(out[0], i, mode == 2 ? m * n : m * wide), *second = place(out[1], i, mode == 2 ? k : wide * n);
            if (mode == 2) {
                memcpy(first, x, m * n * a.item), memcpy(second, tau, k * a.item);
                continue;
            }
            for (whole j = 0; j < n; j++) memcpy(second + j * wide * a.item, x + j * m * a.item, wide * a.item);
            clear_triangle(second, a.item, wide, n, 1);
            memcpy(first, x, m * least(wide, n) * a.item); /* columns beyond are the routine's */
            CALL(a.kind, ORGQR, orgqr)(&m, &wide, &k, first, &m, tau, rest, &some, &info);
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(0, 2, out);
}

/* singular(a, job): singular values, and the vectors to the left and right; job 0: no vectors, 1: as many as values, 2: all */
static PyObject *singular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    const long mode = PyLong_AsLong(args[1]);
    if (mode < 0 || mode > 2 || !describe(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n), left = mode == 2 ? m : mode ? k : 0, right = mode == 2 ? n : mode ? k : 0;
    const whole ldv = right ? right : 1, query = -1;
    const char *job = mode == 2 ? "A" : mode ? "S" : "N";
    whole info = 0;
    double asked = 0;
    CALL(a.kind, GESDD, gesdd)(job, &m, &n, NULL, &m, NULL, NULL, &m, NULL, &ldv, &asked, &query, &info, &info, 1);
    const whole some = (whole)(number(&asked, a.kind) * 1.0001) + 64;
    PyArrayObject *out[3] = {make_real(&a, k, -1), make_real(&a, m, left), make_real(&a, right, n)}, *work = room(m * n + some, a.item, 8 * k);
    int refused = 0;
    if (out[0] && out[1] && out[2] && work) {
        whole *places = PyArray_DATA(work);
        char *x = (char *)(places + 8 * k), *rest = x + m * n * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count && !refused; i++) {
            take(&a, i, x, m);
            if (!is_finite(x, a.kind, m * n)) refused = 1;
            else CALL(a.kind, GESDD, gesdd)(job, &m, &n, x, &m, place(out[0], i, k), place(out[1], i, m * left), &m, place(out[2], i, right * n),
                                            &ldv, rest, &some, places, &info, 1);
            refused |= info != 0;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(refused, 3, out);
}

/* symmetric(a, upper, vectors): eigenvalues, and the vectors (or what is left of the matrices), of which one triangle is read */
static PyObject *symmetric(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(3);
    struct matrices a;
    if (!describe(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const char *part = PyObject_IsTrue(args[1]) ? "U" : "L", *job = PyObject_IsTrue(args[2]) ? "V" : "N";
    const whole n = a.rows, query = -1;
    whole info = 0, count_asked = 0;
    double asked = 0;
    CALL(a.kind, SYEVD, syevd)(job, part, &n, NULL, &n, NULL, &asked, &query, &count_asked, &query, &info, 1, 1);
    const whole some = (whole)(number(&asked, a.kind) * 1.0001) + 64, wholes = count_asked;
    PyArrayObject *out[2] = {make_real(&a, n, -1), make_real(&a, n, n)}, *work = room(some, a.item, wholes);
    int refused = 0;
    if (out[0] && out[1] && work) {
        whole *places = PyArray_DATA(work);
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count && !refused; i++) {
            void *x = place(out[1], i, n * n);
            take(&a, i, x, n);
            if (!is_finite(x, a.kind, n * n)) refused = 1;
            else CALL(a.kind, SYEVD, syevd)(job, part, &n, x, &n, place(out[0], i, n), places + wholes, &some, places, &wholes, &info, 1, 1);
            refused |= info != 0;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(refused, 2, out);
}

/* One column of eigenvectors of a pair, or of a real eigenvalue where `imaginary` is NULL. */
static void put_vector(void *to, const char *real, const char *imaginary, int kind, whole n, double sign)
{
    const size item = kind ? 8 : 4;
    for (whole i = 0; i < n; i++) {
        put((char *)to + 2 * i * item, kind, number(real + i * item, kind));
        put((char *)to + (2 * i + 1) * item, kind, imaginary ? sign * number(imaginary + i * item, kind) : 0);
    }
}

/* eigen(a, vectors): complex eigenvalues, and vectors */
static PyObject *eigen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    if (!describe(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const int vectors = PyObject_IsTrue(args[1]), type = a.kind ? NPY_CDOUBLE : NPY_CFLOAT;
    const whole n = a.rows, query = -1, one = 1, ldv = vectors ? n : 1;
    const char *job = vectors ? "V" : "N";
    whole info = 0;
    double asked = 0;
    CALL(a.kind, GEEV, geev)("N", job, &n, NULL, &n, NULL, NULL, NULL, &one, NULL, &ldv, &asked, &query, &info, 1, 1);
    const whole some = (whole)(number(&asked, a.kind) * 1.0001) + 64;
    PyArrayObject *out[2] = {make(&a, type, n, -1), make(&a, type, n, vectors ? n : 0)}, *work = room(2 * n * n + 2 * n + some, a.item, 0);
    int refused = 0;
    if (out[0] && out[1] && work) {
        char *x = PyArray_DATA(work), *v = x + n * n * a.item, *real = v + n * n * a.item, *imaginary = real + n * a.item, *rest = imaginary + n * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count && !refused; i++) {
            take(&a, i, x, n);
            if (!is_finite(x, a.kind, n * n)) refused = 1;
            else CALL(a.kind, GEEV, geev)("N", job, &n, x, &n, real, imaginary, NULL, &one, v, &ldv, rest, &some, &info, 1, 1);
            refused |= info != 0;
            for (whole j = 0; j < n && !refused; j++) {
                const double turn = number(imaginary + j * a.item, a.kind);
                char *value = place(out[0], i * n + j, 1), *vector = place(out[1], i * n + j, n), *from = v + j * n * a.item;
                put(value, a.kind, number(real + j * a.item, a.kind)), put(value + a.item, a.kind, turn);
                if (!vectors) continue;
                if (turn == 0) put_vector(vector, from, NULL, a.kind, n, 0);
                else if (turn > 0) put_vector(vector, from, from + n * a.item, a.kind, n, 1);
                else put_vector(vector, from - n * a.item, from, a.kind, n, -1);
            }
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(refused, 2, out);
}

/* least_squares(a, b, rcond): the solutions of least length, and the ranks, from a factorisation with pivots */
static PyObject *least_squares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(3);
    struct matrices a, b;
    const double rcond = PyFloat_AsDouble(args[2]);
    if (rcond == -1 && PyErr_Occurred()) return NULL;
    if (!describe(args[0], &a) || !describe(args[1], &b) || !same_stacks(&a, &b) || a.rows != b.rows) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = b.columns, high = m > n ? m : n, query = -1;
    const float single = (float)rcond;
    const void *limit = a.kind ? (const void *)&rcond : (const void *)&single;
    whole info = 0, rank = 0;
    double asked = 0;
    CALL(a.kind, GELSY, gelsy)(&m, &n, &k, NULL, &m, NULL, &high, NULL, limit, &rank, &asked, &query, &info);
    const whole some = (whole)(number(&asked, a.kind) * 1.0001) + 64;
    PyArrayObject *out[2] = {make_real(&a, n, k), make(&a, NPY_INT64, -1, -1)}, *work = room(m * n + high * k + some, a.item, n);
    int refused = 0;
    if (out[0] && out[1] && work) {
        whole *places = PyArray_DATA(work);
        char *x = (char *)(places + n), *y = x + m * n * a.item, *rest = y + high * k * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count && !refused; i++) {
            memset(places, 0, n * sizeof(whole)), memset(y, 0, high * k * a.item);
            take(&a, i, x, m), take(&b, i, y, high);
            refused = !is_finite(x, a.kind, m * n) || !is_finite(y, a.kind, high * k);
            if (!refused) CALL(a.kind, GELSY, gelsy)(&m, &n, &k, x, &m, y, &high, places, limit, &rank, rest, &some, &info);
            refused |= info != 0;
            for (whole j = 0; j < k && !refused; j++) memcpy((char *)place(out[0], i, n * k) + j * n * a.item, y + j * high * a.item, n * a.item);
            ((int64_t *)PyArray_DATA(out[1]))[i] = rank;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return found(refused, 2, out);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef lapack_methods[] = {METHOD(lu_factor), METHOD(solve_once), METHOD(lu_solve), METHOD(lu_parts), METHOD(inverse), METHOD(determinants), METHOD(triangular),
                                METHOD(cholesky), METHOD(orthogonal), METHOD(singular), METHOD(symmetric), METHOD(eigen), METHOD(least_squares),
                                {NULL, NULL, 0, NULL}};
