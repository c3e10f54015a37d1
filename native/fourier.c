/* Fourier transforms of many short lines: the plan of a length, and its passes over the axes of an array. What they do not handle (other
 * lengths than products of small primes, long lines) is left to NumPy. */
#include "wengert.h"

#include "pool.h"

enum { LONGEST = 2048, MOST_STAGES = 16, PLANS = 16 };

/* exp(-2 pi i k / n), exact in the octants' corners */
static void turn(size k, size n, double *re, double *im)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    size a = 8 * (k % n);
    const size octant = a / n;
    a -= octant * n;
    if (octant & 1) a = n - a;
    const long double angle = pi * a / (4.0L * n), c = cosl(angle), s = sinl(angle);
    const int swap = ((octant + 1) >> 1) & 1;
    const long double x = swap ? s : c, y = swap ? c : s;
    *re = (double)(octant >= 2 && octant < 6 ? -x : x), *im = (double)(octant < 4 ? -y : y);
}

/* Radices of a length; their number, -1 if it has others. */
static int factors(size n, unsigned char *radix)
{
    static const unsigned char known[] = {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, FOURIER_PRIME};
    int count = 0;
    for (int k = 0; k < (int)sizeof known; k++)
        for (; n % known[k] == 0 && count < MOST_STAGES; n /= known[k]) radix[count++] = known[k];
    return n == 1 ? count : -1;
}

static void put_turn(void *to, size at, int single, size k, size n)
{
    double re, im;
    turn(k, n, &re, &im);
    if (single) ((float *)to)[2 * at] = (float)re, ((float *)to)[2 * at + 1] = (float)im;
    else ((double *)to)[2 * at] = re, ((double *)to)[2 * at + 1] = im;
}

/* Twiddles of each stage, roots of one for its prime, and the m + 1 turns of a real line of 2 m; made once for each length, as arrays that live as long as the process.
 * Needs the GIL. */
static int plan(struct fourier *f, int single)
{
    static struct { size m; int single; PyArrayObject *table; } plans[PLANS];
    static int next;
    if ((f->stages = factors(f->m, f->radix)) < 0) return -1;
    size total = f->m + 1, left = f->m;
    const size before = total;
    for (int k = 0; k < f->stages; k++) total += left, left /= f->radix[k];
    const size roots = total;
    for (int k = 0; k < f->stages; k++) total += f->radix[k] > 5 ? f->radix[k] : 0;
    int at = 0;
    while (at < PLANS && !(plans[at].table && plans[at].m == f->m && plans[at].single == single)) at++;
    if (at == PLANS) {
        npy_intp numbers = 2 * total;
        PyArrayObject *table = (PyArrayObject *)PyArray_SimpleNew(1, &numbers, single ? NPY_FLOAT : NPY_DOUBLE);
        if (!table) return -1;
        void *to = PyArray_DATA(table);
        size number = 0;
        for (size k = 0; k <= f->m; k++) put_turn(to, number++, single, k, 2 * f->m);
        left = f->m;
        for (int k = 0; k < f->stages; k++) {
            for (size p = 0; p < left / f->radix[k]; p++)
                for (size r = 0; r < f->radix[k]; r++) put_turn(to, number++, single, p * r, left);
            left /= f->radix[k];
        }
        for (int k = 0; k < f->stages; k++)
            for (size r = 0; f->radix[k] > 5 && r < f->radix[k]; r++) put_turn(to, number++, single, r, f->radix[k]);
        at = next, next = (next + 1) % PLANS;
        Py_XDECREF(plans[at].table);
        plans[at].m = f->m, plans[at].single = single, plans[at].table = table;
    }
    f->table = (void *)Py_NewRef((PyObject *)plans[at].table);
    f->turns = PyArray_DATA(plans[at].table);
    const size pair = 2 * (single ? sizeof(float) : sizeof(double));
    f->twiddles = (const char *)f->turns + before * pair, f->roots = (const char *)f->turns + roots * pair;
    return 0;
}

struct job {
    const struct fourier *f;
    char *work;
    size room;
    int single;
};

static void task(void *context, size begin, size end, int chunk)
{
    const struct job *job = context;
    (job->single ? kernels->fourier_f32 : kernels->fourier_f64)(job->f, job->work + chunk * job->room, begin, end);
}

/* One pass along one axis; -1 where it is not handled. */
static int pass(PyArrayObject *from, PyArrayObject *to, int axis, int kind, double scale, int single)
{
    struct fourier f = {.kind = kind, .from = PyArray_DATA(from), .to = PyArray_DATA(to), .scale = scale, .inner = 1, .lines = 1};
    const int ndim = PyArray_NDIM(from);
    f.from_length = PyArray_DIM(from, axis), f.to_length = PyArray_DIM(to, axis);
    for (int d = 0; d < ndim; d++)
        if (d != axis) f.lines *= PyArray_DIM(from, d);
    for (int d = axis + 1; d < ndim; d++) f.inner *= PyArray_DIM(from, d);
    const size real = kind == FOURIER_OF_REAL ? f.from_length : f.to_length;
    f.odd = kind >= FOURIER_OF_REAL && real % 2;
    f.m = kind < FOURIER_OF_REAL || f.odd ? kind == FOURIER_TO_REAL ? real : f.from_length : real / 2;
    if (plan(&f, single) < 0) return -1;
    const size blocks = (f.lines + FOURIER_LINES - 1) / FOURIER_LINES, room = 4 * (f.m + 1) * FOURIER_LINES * (single ? sizeof(float) : sizeof(double));
    const int chunks = pool_chunks(blocks, 2.0 * FOURIER_LINES * (double)f.m);
    PyArrayObject *work = scratch(chunks * room + 64, 1);
    if (work) {
        struct job job = {&f, PyArray_BYTES(work), room, single};
        job.work += 64 - (uintptr_t)job.work % 64;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(f.lines * f.m);
        pool_run(task, &job, blocks, chunks);
        NPY_END_THREADS
    }
    Py_DECREF((PyObject *)f.table);
    Py_XDECREF(work);
    return work ? 0 : -1;
}

/* Whether lines of this length are handled, and worth it: a block is computed for FOURIER_LINES of them. */
static int is_handled(size m, size lines)
{
    unsigned char radix[MOST_STAGES];
    const int enough = lines >= FOURIER_LINES / 2 || m <= 64 || (lines >= 3 && m <= 1024);
    return m >= 1 && m <= LONGEST && lines >= 1 && enough && factors(m, radix) >= 0;
}

/* fourier(x, axes, kind, size, scale): see wengert.arrays.plain.fourier */
static PyObject *fourier(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "fourier() takes 5 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    const long kind = PyLong_AsLong(args[2]), length = PyLong_AsLong(args[3]);
    const long norm = PyLong_AsLong(args[4]);
    if (PyErr_Occurred()) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_GET_SIZE(args[1]) || !PyArray_ISCARRAY_RO(x) || !PyArray_SIZE(x)) NOT_HANDLED();
    const int type = PyArray_TYPE(x), of_real = kind == FOURIER_OF_REAL, to_real = kind == FOURIER_TO_REAL, n = (int)PyTuple_GET_SIZE(args[1]);
    const int single = of_real ? type == NPY_FLOAT : type == NPY_CFLOAT, ndim = PyArray_NDIM(x);
    if (kind < 0 || kind > FOURIER_TO_REAL || (!single && type != (of_real ? NPY_DOUBLE : NPY_CDOUBLE)) || n > ndim) NOT_HANDLED();
    int axes[NPY_MAXDIMS];
    double numbers = 1;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) shape[d] = PyArray_DIM(x, d);
    for (int k = 0; k < n; k++) {
        const long axis = PyLong_AsLong(PyTuple_GET_ITEM(args[1], k));
        if (axis < 0 || axis >= ndim || PyErr_Occurred()) {
            if (PyErr_Occurred()) return NULL;
            NOT_HANDLED();
        }
        axes[k] = (int)axis;
        const int real = k == n - 1 && (of_real || to_real);
        const npy_intp along = real && to_real ? length : shape[axis];
        numbers *= (double)along;
        if ((real && to_real && shape[axis] < along / 2 + 1) || !is_handled(real && along % 2 == 0 ? along / 2 : along, PyArray_SIZE(x) / shape[axis])) NOT_HANDLED();
    }
    const double scale = norm == 1 ? 1 / sqrt(numbers) : norm == 2 ? 1 / numbers : 1;
    if (of_real) shape[axes[n - 1]] = shape[axes[n - 1]] / 2 + 1;
    const int pairs = single ? NPY_CFLOAT : NPY_CDOUBLE, first = n - 1;
    PyArrayObject *middle = to_real && n == 1 ? (PyArrayObject *)Py_NewRef((PyObject *)x) : (PyArrayObject *)PyArray_SimpleNew(ndim, shape, pairs), *out = NULL;
    if (!middle) return NULL;
    const PyArrayObject *from = x;
    int failed = 0;
    for (int k = first; k >= 0 && !failed; k--) { /* the last axis first; one of real results at the end */
        if (to_real && k == first) continue;
        const double factor = !to_real && k == 0 ? scale : 1;
        failed = pass((PyArrayObject *)from, middle, axes[k], of_real ? k == first ? FOURIER_OF_REAL : FOURIER_FORWARDS : to_real ? FOURIER_INVERSE : (int)kind, factor, single);
        from = middle;
    }
    if (to_real && !failed) {
        shape[axes[first]] = length;
        if ((out = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, single ? NPY_FLOAT : NPY_DOUBLE))) failed = pass(middle, out, axes[first], FOURIER_TO_REAL, scale, single);
        Py_DECREF(middle);
    } else out = middle;
    if (failed) Py_CLEAR(out);
    return (PyObject *)out;
}

PyMethodDef fourier_methods[] = {
    {"fourier", (PyCFunction)(void (*)(void))fourier, METH_FASTCALL, "fourier(x, axes, kind, size, scale): a transform of short lines."},
    {NULL, NULL, 0, NULL},
};
