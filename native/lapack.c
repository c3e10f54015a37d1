/* Decompositions and systems by the LAPACK inside the OpenBLAS that NumPy came with, of stacks of matrices in their own precision. What NumPy
 * offers of it computes float32 in double, and copies what LAPACK leaves column by column. Where NumPy has another library, or numbers
 * are not finite that an iteration may not end on, the plain definitions do it. */
#include "lapack.h"

void *lapack_routines[KINDS][ROUTINES];

/* Whether the library is there. */
static int have_lapack(void)
{
    static const char *const names[2][ROUTINES] = {{"getrf", "getrs", "geqrf", "orgqr", "potrf", "trsm", "gesdd", "syevd", "geev", "gelsy"},
                                                   {"getrf", "getrs", "geqrf", "ungqr", "potrf", "trsm", "gesdd", "heevd", "geev", "gelsy"}};
    static int state = -1;
    if (state < 0) {
        int found = 1;
        for (int kind = 0; kind < KINDS; kind++)
            for (int i = 0; found && i < ROUTINES; i++) {
                char name[40];
                snprintf(name, sizeof name, "scipy_%c%s_64_", "sdcz"[kind], names[kind / COMPLEX][i]);
                void **to = &lapack_routines[kind][i];
                if (!(*to = blas_routine(name)) && !(*to = blas_routine(name + 6))) found = 0;
            }
        state = found;
    }
    return state;
}

/* -- stacks ------------------------------------------------------------------------------------------------------------------------ */

int describe_matrices(PyObject *object, struct matrices *m)
{
    if (!PyArray_Check(object) || !PyArray_ISNOTSWAPPED((PyArrayObject *)object)) return 0;
    PyArrayObject *a = m->array = (PyArrayObject *)object;
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT: m->kind = 0; break;
    case NPY_DOUBLE: m->kind = DOUBLE; break;
    case NPY_CFLOAT: m->kind = COMPLEX; break;
    case NPY_CDOUBLE: m->kind = COMPLEX | DOUBLE; break;
    default: return 0;
    }
    m->batches = PyArray_NDIM(a) - 2, m->item = PyArray_ITEMSIZE(a), m->real = m->kind & DOUBLE ? 8 : 4;
    if (m->batches < 0 || !PyArray_ISALIGNED(a) || !PyArray_SIZE(a) || !have_lapack()) return 0;
    m->rows = PyArray_DIM(a, m->batches), m->columns = PyArray_DIM(a, m->batches + 1), m->count = PyArray_SIZE(a) / (m->rows * m->columns);
    return 1;
}

PyArrayObject *make_stack(const struct matrices *like, int type, whole rows, whole columns)
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
PyArrayObject *make_like(const struct matrices *like, whole rows, whole columns)
{
    return make_stack(like, PyArray_TYPE(like->array), rows, columns);
}
PyArrayObject *make_real(const struct matrices *like, whole rows, whole columns)
{
    return make_stack(like, like->kind & DOUBLE ? NPY_DOUBLE : NPY_FLOAT, rows, columns);
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
typedef struct { uint64_t parts[2]; } pair;
DEFINE_COPY(pair)

void take_matrix(const struct matrices *m, size at, void *to, size height)
{
    const npy_intp *step = PyArray_STRIDES(m->array) + m->batches;
    const char *from = PyArray_BYTES(m->array);
    for (int d = m->batches - 1; d >= 0; d--) from += at % PyArray_DIM(m->array, d) * PyArray_STRIDE(m->array, d), at /= PyArray_DIM(m->array, d);
    if (step[0] == m->item || m->rows == 1)
        for (size j = 0; j < m->columns; j++) memcpy((char *)to + j * height * m->item, from + j * step[1], m->rows * m->item);
    else if (m->item == 16) copy_pair(to, height, from, m->rows, m->columns, step[0], step[1]);
    else if (m->item == 8) copy_uint64_t(to, height, from, m->rows, m->columns, step[0], step[1]);
    else copy_uint32_t(to, height, from, m->rows, m->columns, step[0], step[1]);
}

int all_finite(const struct matrices *like, const void *numbers, size count)
{
    for (size i = 0; i < count * like->item; i += like->real)
        if (!isfinite(number((const char *)numbers + i, like->kind))) return 0;
    return 1;
}

int same_stacks(const struct matrices *a, const struct matrices *b)
{
    if (a->batches != b->batches || a->kind != b->kind) return 0;
    for (int d = 0; d < a->batches; d++)
        if (PyArray_DIM(a->array, d) != PyArray_DIM(b->array, d)) return 0;
    return 1;
}

void clear_triangle(char *a, size item, whole rows, whole columns, int below)
{
    for (whole j = 0; j < columns; j++) {
        if (below && j + 1 < rows) memset(a + (j * rows + j + 1) * item, 0, (rows - j - 1) * item);
        if (!below) memset(a + j * rows * item, 0, least(j, rows) * item);
    }
}

PyObject *results_of(int refused, int count, PyArrayObject **arrays)
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
    if (!describe_matrices(args[0], &a)) NOT_HANDLED();
    const whole k = least(a.rows, a.columns);
    PyArrayObject *out[3] = {make_like(&a, a.rows, a.columns), make_stack(&a, NPY_INT32, k, -1), make_stack(&a, NPY_INT32, -1, -1)}, *work = room_for(0, 1, k);
    if (out[0] && out[1] && out[2] && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * a.rows * a.columns);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out[0], i, a.rows * a.columns);
            take_matrix(&a, i, x, a.rows);
            CALL(a.kind, GETRF, getrf)(&a.rows, &a.columns, x, &a.rows, pivots, &info);
            keep_pivots(out[1], i, k, pivots);
            ((int32_t *)PyArray_DATA(out[2]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(0, 3, out);
}

/* solve_once(a, b): the solutions, NaN where a matrix is singular, factors, pivots, info */
static PyObject *solve_once(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a, b;
    if (!describe_matrices(args[0], &a) || !describe_matrices(args[1], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows) NOT_HANDLED();
    const whole n = a.rows, k = b.columns;
    PyArrayObject *out[4] = {make_like(&b, n, k), make_like(&a, n, n), make_stack(&a, NPY_INT32, n, -1), make_stack(&a, NPY_INT32, -1, -1)};
    PyArrayObject *work = room_for(0, 1, n);
    if (out[0] && out[1] && out[2] && out[3] && work) {
        whole *pivots = PyArray_DATA(work), info, unused;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            void *lu = place(out[1], i, n * n), *x = place(out[0], i, n * k);
            take_matrix(&a, i, lu, n);
            take_matrix(&b, i, x, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, lu, &n, pivots, &info);
            if (!info) CALL(a.kind, GETRS, getrs)("N", &n, &k, lu, &n, pivots, x, &n, &unused, 1);
            else for (whole q = 0; q < n * k; q++) put((char *)x + q * a.item, a.kind, NAN);
            keep_pivots(out[2], i, n, pivots);
            ((int32_t *)PyArray_DATA(out[3]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(0, 4, out);
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
    if (!describe_matrices(args[0], &a) || !describe_matrices(args[2], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows)
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
    const int as_given = lies_by_columns(&a);
    PyArrayObject *out = make_like(&b, n, k), *work = room_for(as_given ? 0 : n * n, a.item, n);
    if (out && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * k);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out, i, n * k);
            take_matrix(&b, i, x, n);
            for (whole q = 0; q < n; q++) pivots[q] = p[i * n + q];
            if (!as_given) take_matrix(&a, i, pivots + n, n);
            CALL(a.kind, GETRS, getrs)(turn, &n, &k, as_given ? place(a.array, i, n * n) : (void *)(pivots + n), &n, pivots, x, &n, &info, 1);
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
    if (!describe_matrices(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const whole n = a.rows;
    PyArrayObject *out[2] = {make_like(&a, n, n), make_stack(&a, NPY_INT32, -1, -1)}, *work = room_for(n * n, a.item, n);
    if (out[0] && out[1] && work) {
        whole *pivots = PyArray_DATA(work), info, unused;
        void *lu = pivots + n;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            char *x = place(out[0], i, n * n);
            take_matrix(&a, i, lu, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, lu, &n, pivots, &info);
            for (whole q = 0; q < n * n; q++) put(x + q * a.item, a.kind, info ? NAN : q % (n + 1) == 0);
            if (!info) CALL(a.kind, GETRS, getrs)("N", &n, &n, lu, &n, pivots, x, &n, &unused, 1);
            ((int32_t *)PyArray_DATA(out[1]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(0, 2, out);
}

/* lu_parts(lu, pivots): p, l and u with a = p l u, row by row */
static PyObject *lu_parts(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    PyArrayObject *given = (PyArrayObject *)args[1];
    if (!describe_matrices(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n);
    if (!PyArray_Check(args[1]) || PyArray_TYPE(given) != NPY_INT32 || PyArray_NDIM(given) != a.batches + 1 || !PyArray_IS_C_CONTIGUOUS(given) ||
        PyArray_SIZE(given) != a.count * k)
        NOT_HANDLED();
    const int32_t *p = PyArray_DATA(given);
    for (size i = 0; i < a.count * k; i++)
        if (p[i] < 1 || p[i] > m) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(a.array), a.batches * sizeof *shape);
    PyArrayObject *out[3], *work = room_for(m * n, a.item, m);
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
            take_matrix(&a, i, lu, m);
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
    return results_of(0, 3, out);
}

/* The sign of the determinant in the factors of a matrix (or zero), the logarithm of its size, and itself. Of real numbers, the imaginary
 * parts stay zero. */
static void determinant_of(const struct matrices *a, const char *lu, const whole *pivots, double *sign, double *logarithm, double *product)
{
    sign[0] = product[0] = 1, sign[1] = product[1] = *logarithm = 0;
    for (whole j = 0; j < a->rows; j++) {
        const char *at = lu + j * (a->rows + 1) * a->item;
        const double turn = pivots[j] != j + 1 ? -1 : 1, u = turn * number(at, a->kind), v = a->kind & COMPLEX ? turn * number(at + a->real, a->kind) : 0;
        const double extent = a->kind & COMPLEX ? hypot(u, v) : fabs(u), scale = extent == 0 ? 0 : 1 / extent;
        const double s = a->kind & COMPLEX ? u * scale : u < 0 ? -1 : u == 0 ? 0 : 1, t = v * scale, before = sign[0], was = product[0];
        *logarithm += log(extent);
        if (a->kind & COMPLEX) {
            sign[0] = before * s - sign[1] * t, sign[1] = before * t + sign[1] * s;
            product[0] = was * u - product[1] * v, product[1] = was * v + product[1] * u;
        } else sign[0] *= s, product[0] *= u;
    }
    if (!(a->kind & COMPLEX) && isnan(*logarithm)) sign[0] = 0;
}

static void put_both(char *at, const struct matrices *like, const double *value)
{
    put_real(at, like->kind, value[0]);
    if (like->kind & COMPLEX) put_real(at + like->real, like->kind, value[1]);
}

/* determinants(a): their signs (or zeros) and the logarithms of their sizes, and the determinants */
static PyObject *determinants(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(1);
    struct matrices a;
    if (!describe_matrices(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const whole n = a.rows;
    PyArrayObject *out[3] = {make_like(&a, -1, -1), make_real(&a, -1, -1), make_like(&a, -1, -1)}, *work = room_for(n * n, a.item, n);
    if (out[0] && out[1] && out[2] && work) {
        whole *pivots = PyArray_DATA(work), info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            char *x = (char *)(pivots + n);
            double sign[2], logarithm, product[2];
            take_matrix(&a, i, x, n);
            CALL(a.kind, GETRF, getrf)(&n, &n, x, &n, pivots, &info);
            determinant_of(&a, x, pivots, sign, &logarithm, product);
            put_both(place(out[0], i, 1), &a, sign), put_real(place(out[1], i, 1), a.kind, logarithm), put_both(place(out[2], i, 1), &a, product);
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(0, 3, out);
}

/* What BLAS takes longer to begin than to do: the columns of x one after another, a of a few rows, the steps of its numbers given. */
enum { SMALL_TRIANGLE = 8 };
#define DEFINE_SUBSTITUTION(REAL)                                                                                          \
    static void substitute_##REAL(REAL *x, const REAL *a, whole n, whole k, npy_intp row, npy_intp column, int upper, int unit) \
    {                                                                                                                      \
        for (whole j = 0; j < k; j++, x += n)                                                                              \
            for (whole done = 0; done < n; done++) {                                                                       \
                const whole i = upper ? n - 1 - done : done, first = upper ? i + 1 : 0;                                    \
                REAL rest = x[i];                                                                                          \
                for (whole m = first; m < first + done; m++) rest -= a[i * row + m * column] * x[m];                       \
                x[i] = unit ? rest : rest / a[i * (row + column)];                                                         \
            }                                                                                                              \
    }
DEFINE_SUBSTITUTION(float)
DEFINE_SUBSTITUTION(double)

/* triangular(a, b, upper, unit): x with a x = b for triangles */
static PyObject *triangular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(4);
    struct matrices a, b;
    if (!describe_matrices(args[0], &a) || !describe_matrices(args[1], &b) || !same_stacks(&a, &b) || a.rows != a.columns || a.rows != b.rows) NOT_HANDLED();
    const int upper = PyObject_IsTrue(args[2]), unit = PyObject_IsTrue(args[3]);
    const whole n = a.rows, k = b.columns;
    const npy_intp *step = PyArray_STRIDES(a.array) + a.batches;
    const int columns = step[0] == a.item && step[1] >= n * a.item && step[1] % a.item == 0;
    const int rows = !columns && step[1] == a.item && step[0] >= n * a.item && step[0] % a.item == 0;
    const whole height = columns ? step[1] / a.item : rows ? step[0] / a.item : n; /* of a as LAPACK sees it, turned where it lies in rows */
    PyArrayObject *out = make_like(&b, n, k), *work = scratch(columns || rows ? 0 : n * n, a.item);
    if (out && work) {
        const double one[2] = {1, 0};
        const float single[2] = {1, 0};
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * k);
        for (size i = 0; i < a.count; i++) {
            void *x = place(out, i, n * k);
            const char *from = PyArray_BYTES(a.array);
            size at = i;
            for (int d = a.batches - 1; d >= 0; d--) from += at % PyArray_DIM(a.array, d) * PyArray_STRIDE(a.array, d), at /= PyArray_DIM(a.array, d);
            if (!columns && !rows) take_matrix(&a, i, PyArray_DATA(work), n), from = PyArray_DATA(work);
            take_matrix(&b, i, x, n);
            if (n <= SMALL_TRIANGLE && !(a.kind & COMPLEX)) {
                const npy_intp row = rows ? height : 1, column = rows ? 1 : height;
                if (a.kind & DOUBLE) substitute_double(x, (const double *)from, n, k, row, column, upper, unit);
                else substitute_float(x, (const float *)from, n, k, row, column, upper, unit);
                continue;
            }
            CALL(a.kind, TRSM, trsm)("L", upper != rows ? "U" : "L", rows ? "T" : "N", unit ? "U" : "N", &n, &k,
                                     a.kind & DOUBLE ? (const void *)one : (const void *)single, from, &height, x, &n, 1, 1, 1, 1);
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
    if (!describe_matrices(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const int upper = PyObject_IsTrue(args[1]);
    const whole n = a.rows;
    PyArrayObject *out[2] = {make_like(&a, n, n), make_stack(&a, NPY_INT32, -1, -1)};
    if (out[0] && out[1]) {
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count; i++) {
            whole info;
            void *x = place(out[0], i, n * n);
            take_matrix(&a, i, x, n);
            clear_triangle(x, a.item, n, n, upper);
            CALL(a.kind, POTRF, potrf)(upper ? "U" : "L", &n, x, &n, &info, 1);
            for (whole j = 0; !info && j < n; j++) /* some versions go on with NaN */
                if (isnan(number((char *)x + j * (n + 1) * a.item, a.kind))) info = j + 1;
            ((int32_t *)PyArray_DATA(out[1]))[i] = (int32_t)info;
        }
        NPY_END_THREADS
    }
    return results_of(0, 2, out);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef lapack_methods[] = {METHOD(lu_factor), METHOD(solve_once), METHOD(lu_solve), METHOD(lu_parts), METHOD(inverse), METHOD(determinants), METHOD(triangular),
                                METHOD(cholesky), METHOD(orthogonal), METHOD(singular), METHOD(symmetric), METHOD(eigen), METHOD(least_squares),
                                {NULL, NULL, 0, NULL}};
