/* Orthogonal factors, singular values, eigenvalues and least squares of stacks of matrices, by LAPACK as in lapack.c. */
#include "lapack.h"

/* orthogonal(a, mode): q and r; mode 0: of the least size, 1: q square, 2: what geqrf leaves, and the factors of the reflections */
PyObject *orthogonal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    const long mode = PyLong_AsLong(args[1]);
    if (mode < 0 || mode > 2 || !describe_matrices(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n), wide = mode == 1 ? m : k, extent = m * (wide > n ? wide : n), some = (wide > n ? wide : n) * 64;
    PyArrayObject *out[2] = {mode == 2 ? make_like(&a, m, n) : make_like(&a, m, wide), mode == 2 ? make_like(&a, k, -1) : make_like(&a, wide, n)};
    PyArrayObject *work = room_for(extent + k + some, a.item, 0);
    if (out[0] && out[1] && work) {
        char *x = PyArray_DATA(work), *tau = x + extent * a.item, *rest = tau + k * a.item;
        whole info;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count; i++) {
            take_matrix(&a, i, x, m);
            for (size q = 0; q < m * n * a.item; q += a.real) /* no zero is negative, for which LAPACKs take opposite signs */
                put_real(x + q, a.kind, number(x + q, a.kind) + 0.0);
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
    return results_of(0, 2, out);
}

/* One decomposition by singular values; `size` -1 asks how much room it wants. */
static whole call_gesdd(const struct matrices *a, const char *job, void *x, void *s, void *u, void *v, const whole *ldv, void *work, whole size,
                        void *reals, whole *places)
{
    whole info = 0;
    if (a->kind & COMPLEX)
        CALL(a->kind, GESDD, gesdd_complex)(job, &a->rows, &a->columns, x, &a->rows, s, u, &a->rows, v, ldv, work, &size, reals, places, &info, 1);
    else CALL(a->kind, GESDD, gesdd)(job, &a->rows, &a->columns, x, &a->rows, s, u, &a->rows, v, ldv, work, &size, places, &info, 1);
    return info;
}

/* singular(a, job): singular values, and the vectors to the left and right; job 0: no vectors, 1: as many as values, 2: all */
PyObject *singular(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    const long mode = PyLong_AsLong(args[1]);
    if (mode < 0 || mode > 2 || !describe_matrices(args[0], &a)) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = least(m, n), left = mode == 2 ? m : mode ? k : 0, right = mode == 2 ? n : mode ? k : 0;
    const whole ldv = right ? right : 1, high = m > n ? m : n;
    const char *job = mode == 2 ? "A" : mode ? "S" : "N";
    double asked[2] = {0};
    whole unused = 0;
    call_gesdd(&a, job, NULL, NULL, NULL, NULL, &ldv, asked, -1, asked, &unused);
    const whole some = (whole)(number(asked, a.kind) * 1.0001) + 64; /* and the real ones that its documentation wants at most, two to a number */
    const whole reals = !(a.kind & COMPLEX) ? 0 : mode ? k * (high + k) * 5 + 5 * k : 7 * k;
    PyArrayObject *out[3] = {make_real(&a, k, -1), make_like(&a, m, left), make_like(&a, right, n)}, *work = room_for(m * n + some + reals, a.item, 8 * k);
    int refused = 0;
    if (out[0] && out[1] && out[2] && work) {
        whole *places = PyArray_DATA(work);
        char *x = (char *)(places + 8 * k), *rest = x + m * n * a.item, *beside = rest + some * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count && !refused; i++) {
            take_matrix(&a, i, x, m);
            refused = !all_finite(&a, x, m * n) || call_gesdd(&a, job, x, place(out[0], i, k), place(out[1], i, m * left), place(out[2], i, right * n), &ldv,
                                                              rest, some, beside, places) != 0;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(refused, 3, out);
}

/* What an eigenvalue routine for symmetric or Hermitian matrices gets; sizes of -1 ask how much room it wants. */
struct symmetric_call {
    const char *job, *part;
    void *work, *reals;
    whole *places, some, real_size, wholes;
};

static whole call_syevd(const struct matrices *a, struct symmetric_call *c, void *x, void *w)
{
    whole info = 0;
    if (a->kind & COMPLEX)
        CALL(a->kind, SYEVD, heevd)(c->job, c->part, &a->rows, x, &a->rows, w, c->work, &c->some, c->reals, &c->real_size, c->places, &c->wholes, &info, 1, 1);
    else CALL(a->kind, SYEVD, syevd)(c->job, c->part, &a->rows, x, &a->rows, w, c->work, &c->some, c->places, &c->wholes, &info, 1, 1);
    return info;
}

/* symmetric(a, upper, vectors): eigenvalues, and the vectors (or what is left of the matrices), of which one triangle is read */
PyObject *symmetric(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(3);
    struct matrices a;
    if (!describe_matrices(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const whole n = a.rows;
    double asked[2] = {0}, reals = 0;
    whole wholes = 0;
    struct symmetric_call c = {PyObject_IsTrue(args[2]) ? "V" : "N", PyObject_IsTrue(args[1]) ? "U" : "L", asked, &reals, &wholes, -1, -1, -1};
    call_syevd(&a, &c, NULL, NULL);
    c.some = (whole)(number(asked, a.kind) * 1.0001) + 64, c.real_size = (whole)(number(&reals, a.kind) * 1.0001) + 64, c.wholes = wholes;
    PyArrayObject *out[2] = {make_real(&a, n, -1), make_like(&a, n, n)}, *work = room_for(c.some + (a.kind & COMPLEX ? c.real_size : 0), a.item, wholes);
    int refused = 0;
    if (out[0] && out[1] && work) {
        c.places = PyArray_DATA(work), c.work = c.places + wholes, c.reals = (char *)c.work + c.some * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count && !refused; i++) {
            void *x = place(out[1], i, n * n);
            take_matrix(&a, i, x, n);
            refused = !all_finite(&a, x, n * n) || call_syevd(&a, &c, x, place(out[0], i, n)) != 0;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(refused, 2, out);
}

/* One column of eigenvectors of a pair, or of a real eigenvalue where `imaginary` is NULL. */
static void put_vector(void *to, const char *real, const char *imaginary, int kind, whole n, double sign)
{
    const size item = kind & DOUBLE ? 8 : 4;
    for (whole i = 0; i < n; i++) {
        put_real((char *)to + 2 * i * item, kind, number(real + i * item, kind));
        put_real((char *)to + (2 * i + 1) * item, kind, imaginary ? sign * number(imaginary + i * item, kind) : 0);
    }
}

/* The eigenvalues of one real matrix, from their parts, and its vectors. */
static void put_eigen(const struct matrices *a, char *values, char *vectors, const char *real, const char *imaginary, const char *from)
{
    const size n = a->rows, item = a->item;
    for (size j = 0; j < n; j++, from += n * item) {
        const double turn = number(imaginary + j * item, a->kind);
        char *vector = vectors + 2 * j * n * item;
        put_real(values + 2 * j * item, a->kind, number(real + j * item, a->kind)), put_real(values + (2 * j + 1) * item, a->kind, turn);
        if (!vectors) continue;
        if (turn == 0) put_vector(vector, from, NULL, a->kind, n, 0);
        else if (turn > 0) put_vector(vector, from, from + n * item, a->kind, n, 1);
        else put_vector(vector, from - n * item, from, a->kind, n, -1);
    }
}

/* Room of an eigenvalue routine: a matrix, vectors and eigenvalues in parts of real ones, reals of complex ones. */
struct eigen_room {
    char *x, *vectors, *real, *imaginary, *rest;
    whole some;
};

/* The eigenvalues of the matrix in the room, and vectors where there is a place for them. */
static whole call_geev(const struct matrices *a, const struct eigen_room *r, char *values, char *vectors)
{
    const whole n = a->rows, one = 1, ldv = vectors ? n : 1;
    whole info = 0;
    if (a->kind & COMPLEX) {
        CALL(a->kind, GEEV, geev_complex)("N", vectors ? "V" : "N", &n, r->x, &n, values, NULL, &one, vectors, &ldv, r->rest, &r->some, r->real, &info, 1, 1);
        return info;
    }
    CALL(a->kind, GEEV, geev)("N", vectors ? "V" : "N", &n, r->x, &n, r->real, r->imaginary, NULL, &one, r->vectors, &ldv, r->rest, &r->some, &info, 1, 1);
    if (!info && r->some >= 0) put_eigen(a, values, vectors, r->real, r->imaginary, r->vectors);
    return info;
}

/* eigen(a, vectors): complex eigenvalues, and vectors */
PyObject *eigen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(2);
    struct matrices a;
    if (!describe_matrices(args[0], &a) || a.rows != a.columns) NOT_HANDLED();
    const int vectors = PyObject_IsTrue(args[1]), type = a.kind & DOUBLE ? NPY_CDOUBLE : NPY_CFLOAT;
    const whole n = a.rows;
    char asked[2 * sizeof(double)] = {0}, reals[sizeof(double)];
    struct eigen_room r = {.rest = asked, .real = reals, .some = -1};
    call_geev(&a, &r, NULL, vectors ? asked : NULL);
    r.some = (whole)(number(asked, a.kind) * 1.0001) + 64;
    PyArrayObject *out[2] = {make_stack(&a, type, n, -1), make_stack(&a, type, n, vectors ? n : 0)}, *work = room_for(2 * n * n + 2 * n + r.some, a.item, 0);
    int refused = 0;
    if (out[0] && out[1] && work) {
        r.x = PyArray_DATA(work), r.vectors = r.x + n * n * a.item, r.real = r.vectors + n * n * a.item, r.imaginary = r.real + n * a.item;
        r.rest = r.imaginary + n * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * n * n);
        for (size i = 0; i < a.count && !refused; i++) {
            take_matrix(&a, i, r.x, n);
            refused = !all_finite(&a, r.x, n * n) || call_geev(&a, &r, place(out[0], i, n), vectors ? place(out[1], i, n * n) : NULL) != 0;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(refused, 2, out);
}

/* least_squares(a, b, rcond): the solutions of least length, and the ranks, from a factorisation with pivots */
PyObject *least_squares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    EXPECT(3);
    struct matrices a, b;
    const double rcond = PyFloat_AsDouble(args[2]);
    if (rcond == -1 && PyErr_Occurred()) return NULL;
    if (!describe_matrices(args[0], &a) || !describe_matrices(args[1], &b) || !same_stacks(&a, &b) || a.rows != b.rows) NOT_HANDLED();
    const whole m = a.rows, n = a.columns, k = b.columns, high = m > n ? m : n, query = -1;
    const float single = (float)rcond;
    const void *limit = a.kind & DOUBLE ? (const void *)&rcond : (const void *)&single;
    whole info = 0, rank = 0;
    double asked[2] = {0};
    if (a.kind & COMPLEX) CALL(a.kind, GELSY, gelsy_complex)(&m, &n, &k, NULL, &m, NULL, &high, NULL, limit, &rank, asked, &query, NULL, &info);
    else CALL(a.kind, GELSY, gelsy)(&m, &n, &k, NULL, &m, NULL, &high, NULL, limit, &rank, asked, &query, &info);
    const whole some = (whole)(number(asked, a.kind) * 1.0001) + 64, reals = a.kind & COMPLEX ? n : 0; /* two to a number */
    PyArrayObject *out[2] = {make_like(&a, n, k), make_stack(&a, NPY_INT64, -1, -1)}, *work = room_for(m * n + high * k + some + reals, a.item, n);
    int refused = 0;
    if (out[0] && out[1] && work) {
        whole *places = PyArray_DATA(work);
        char *x = (char *)(places + n), *y = x + m * n * a.item, *rest = y + high * k * a.item;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(a.count * m * n);
        for (size i = 0; i < a.count && !refused; i++) {
            memset(places, 0, n * sizeof(whole)), memset(y, 0, high * k * a.item);
            take_matrix(&a, i, x, m), take_matrix(&b, i, y, high);
            refused = !all_finite(&a, x, m * n) || !all_finite(&a, y, high * k);
            if (!refused && a.kind & COMPLEX)
                CALL(a.kind, GELSY, gelsy_complex)(&m, &n, &k, x, &m, y, &high, places, limit, &rank, rest, &some, rest + some * a.item, &info);
            else if (!refused) CALL(a.kind, GELSY, gelsy)(&m, &n, &k, x, &m, y, &high, places, limit, &rank, rest, &some, &info);
            refused |= info != 0;
            for (whole j = 0; j < k && !refused; j++) memcpy((char *)place(out[0], i, n * k) + j * n * a.item, y + j * high * a.item, n * a.item);
            ((int64_t *)PyArray_DATA(out[1]))[i] = rank;
        }
        NPY_END_THREADS
    }
    Py_XDECREF(work);
    return results_of(refused, 2, out);
}
