/* Fourier transforms: the plan of a length, and its passes over the axes of an array. Many lines are transformed side by side, few or long ones
 * one by one, those of an awkward length by way of a longer line. What they do not handle (very long lines) is left to NumPy. */
#include "wengert.h"

#include "pool.h"

enum { LONGEST = 65536, MOST_BESIDE = 2048, MOST_ROWS = 512, MOST_STAGES = 16, PLANS = 32 };
enum { OF_REAL_WHOLE = FOURIER_TO_REAL + 1 }; /* a kind of transform: FOURIER_OF_REAL and its mirror image */

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
    int count = 0;
    for (int r = 4; r <= FOURIER_PRIME && n > 1; r = r == 4 ? 2 : r == 2 ? 3 : r + 2)
        for (; n % r == 0 && count < MOST_STAGES; n /= r) radix[count++] = (unsigned char)r;
    return n == 1 ? count : -1;
}

static void put_turn(void *to, size at, int single, size k, size n)
{
    double re, im;
    turn(k, n, &re, &im);
    if (single) ((float *)to)[2 * at] = (float)re, ((float *)to)[2 * at + 1] = (float)im;
    else ((double *)to)[2 * at] = re, ((double *)to)[2 * at + 1] = im;
}

/* What the stages of a plan take: a 16th of the numbers of a stage of radix 4, whose rows are of FOURIER_LINES numbers. */
static double cost(const struct fourier_plan *f)
{
    double total = 0;
    for (int k = 0; k < f->stages; k++) total += f->radix[k] == 2 ? 0.8 : f->radix[k] == 4 ? 1 : f->radix[k] <= 5 ? 1.3 : 0.8 + 0.15 * f->radix[k];
    return total * (double)f->m;
}

static int plan_of(struct fourier_plan *f, size m)
{
    f->m = m;
    return m >= 1 && (f->stages = factors(m, f->radix)) >= 0;
}

static size blocks_of(size lines) { return (lines + FOURIER_LINES - 1) / FOURIER_LINES; }

/* A single line as the matrix that takes the least time, which is returned; 0 if there is none. */
static double split(struct fourier *f, size m)
{
    double least = 0;
    for (size rows = 2; rows <= m / 2 && rows <= MOST_ROWS; rows++) {
        struct fourier_plan across, along;
        if (m % rows || m / rows > MOST_ROWS || !plan_of(&across, rows) || !plan_of(&along, m / rows)) continue;
        const size downs = blocks_of(along.m), sides = blocks_of(rows);
        const double time = (double)downs * (cost(&across) + 2 * (double)rows) + (double)sides * (cost(&along) + (double)along.m);
        if (!least || time < least) least = time, f->across = across, f->along = along;
    }
    return least;
}

/* The same for a line of any length, as a longer one where that takes less time or is the only way. */
static double choose(struct fourier *f, size m)
{
    struct fourier_plan whole;
    double least = plan_of(&whole, m) ? split(f, m) : 0;
    f->padded = 0;
    if (least && least < 3 * (double)m) return least;
    for (size n = 2 * m - 1; n <= 2 * m + m / 4 + 16 && n <= LONGEST; n++) {
        size rest = n;
        for (int r = 2; r <= 5; r++)
            while (rest % r == 0) rest /= r;
        struct fourier other;
        const double time = rest == 1 ? split(&other, n) : 0;
        if (time && (!least || 2 * time + (double)m < least)) least = 2 * time + (double)m, f->across = other.across, f->along = other.along, f->padded = n;
    }
    return least;
}

/* The numbers of a plan's tables; where they are in `to`, if it is there: twiddles of each stage and roots of one for its primes. */
static size tables(struct fourier_plan *f, char *to, size number, int single)
{
    const size pair = 2 * (single ? sizeof(float) : sizeof(double)), twiddles = number;
    size left = f->m;
    for (int k = 0; k < f->stages; left /= f->radix[k++])
        for (size at = 0; at < left; at++, number++)
            if (to) put_turn(to, number, single, at / f->radix[k] * (at % f->radix[k]), left);
    const size roots = number;
    for (int k = 0; k < f->stages; k++)
        for (size r = 0; f->radix[k] > 5 && r < f->radix[k]; r++, number++)
            if (to) put_turn(to, number, single, r, f->radix[k]);
    f->twiddles = to + twiddles * pair, f->roots = to + roots * pair;
    return number;
}

/* The turns between columns and rows, FOURIER_LINES cosines and as many sines in the order in which they are needed. */
static void put_bends(const struct fourier *f, char *to, int single)
{
    const size rows = f->across.m, columns = f->along.m;
    for (size j = 0; j < columns; j += FOURIER_LINES)
        for (size k = 0; k < rows; k++, to += 2 * FOURIER_LINES * (single ? sizeof(float) : sizeof(double)))
            for (size q = 0; q < FOURIER_LINES; q++) {
                double pair[2] = {0, 0};
                if (j + q < columns) put_turn(pair, 0, 0, k * (j + q), rows * columns);
                for (int part = 0; part < 2; part++)
                    if (single) ((float *)to)[part * FOURIER_LINES + q] = (float)pair[part];
                    else ((double *)to)[part * FOURIER_LINES + q] = pair[part];
            }
}

static int plan(struct fourier *f, size m, int is_lone, int single);

/* The numbers that fourier_line() needs room for. */
static size lone_room(const struct fourier *f)
{
    const size rows = f->across.m, columns = f->along.m, longer = rows > columns ? rows : columns;
    return 6 * (f->plan.m + 16) + 2 * f->padded + FOURIER_LINES * (4 * longer + 2 * FOURIER_LINES * blocks_of(rows) * blocks_of(columns));
}

/* exp(-i pi k^2 / m) of m numbers, and the transform of its conjugate, which is even, over their own number; in double precision first. */
static int put_chirp(const struct fourier *f, void *to, int single)
{
    const size m = f->plan.m, n = f->padded;
    npy_intp numbers = 2 * (m + n), twice = 2 * n;
    PyArrayObject *all = (PyArrayObject *)PyArray_ZEROS(1, &numbers, NPY_DOUBLE, 0), *longer = (PyArrayObject *)PyArray_ZEROS(1, &twice, NPY_DOUBLE, 0);
    struct fourier inner = {.kind = FOURIER_FORWARDS, .lines = 1, .inner = 1, .from_length = n, .to_length = n, .scale = 1 / (double)n};
    PyArrayObject *work = all && longer && plan(&inner, n, 1, 0) == 0 ? scratch(lone_room(&inner) * sizeof(double), 1) : NULL;
    if (work) {
        double *chirp = PyArray_DATA(all), *whole = chirp + 2 * m;
        for (size k = 0; k < m; k++) {
            const size square = (size)((unsigned long long)k * (unsigned long long)k % (unsigned long long)(2 * m));
            turn(square, 2 * m, &chirp[k], &chirp[m + k]);
        }
        double *pairs = PyArray_DATA(longer);
        for (size k = 0; k < m; k++)
            for (int part = 0; part < 2; part++) {
                const double value = part ? -chirp[m + k] : chirp[k];
                pairs[2 * k + part] = value;
                if (k) pairs[2 * (n - k) + part] = value;
            }
        inner.from = inner.to = pairs;
        kernels->fourier_line_f64(&inner, PyArray_DATA(work), 0, 1);
        for (size k = 0; k < n; k++) whole[k] = pairs[2 * k], whole[n + k] = pairs[2 * k + 1];
        if (single) for (size k = 0; k < numbers; k++) ((float *)to)[k] = (float)chirp[k];
        else memcpy(to, chirp, numbers * sizeof *chirp);
    }
    Py_XDECREF((PyObject *)inner.table);
    Py_XDECREF(all);
    Py_XDECREF(longer);
    Py_XDECREF(work);
    return work ? 0 : -1;
}

/* The tables of a length, and the m + 1 turns of a real line of 2 m, made once as arrays that live as long as the process. `is_lone`: of
 * a single line. Needs the GIL. */
static int plan(struct fourier *f, size m, int is_lone, int single)
{
    static struct entry { int single; PyArrayObject *table; struct fourier plans; } plans[PLANS];
    static int next;
    int at = 0;
    while (at < PLANS && !(plans[at].table && plans[at].plans.plan.m == m && plans[at].single == single && !plans[at].plans.across.m == !is_lone)) at++;
    if (at == PLANS) {
        struct fourier made = {0};
        if ((!plan_of(&made.plan, m) && !is_lone) || (is_lone && !choose(&made, m))) return -1;
        struct fourier_plan *parts[] = {is_lone ? &made.across : &made.plan, &made.along};
        const size bends = is_lone ? blocks_of(made.along.m) * made.across.m * FOURIER_LINES : 0;
        size total = m + 1;
        for (int k = 0; k < 1 + is_lone; k++) total = tables(parts[k], NULL, total, single);
        npy_intp numbers = 2 * (total + bends + (made.padded ? m + made.padded : 0));
        PyArrayObject *table = (PyArrayObject *)PyArray_SimpleNew(1, &numbers, single ? NPY_FLOAT : NPY_DOUBLE);
        if (!table) return -1;
        char *to = PyArray_BYTES(table);
        for (size k = 0; k <= m; k++) put_turn(to, k, single, k, 2 * m);
        total = m + 1;
        for (int k = 0; k < 1 + is_lone; k++) total = tables(parts[k], to, total, single);
        made.turns = to, made.bends = to + total * 2 * (single ? sizeof(float) : sizeof(double));
        if (is_lone) put_bends(&made, (char *)made.bends, single);
        made.chirp = (char *)made.bends + bends * 2 * (single ? sizeof(float) : sizeof(double));
        if (made.padded && put_chirp(&made, (void *)made.chirp, single) < 0) {
            Py_DECREF(table);
            return -1;
        }
        at = next, next = (next + 1) % PLANS;
        Py_XDECREF(plans[at].table);
        plans[at] = (struct entry){single, table, made};
    }
    const struct fourier *found = &plans[at].plans;
    f->table = (void *)Py_NewRef((PyObject *)plans[at].table);
    f->plan = found->plan, f->across = found->across, f->along = found->along, f->turns = found->turns, f->bends = found->bends;
    f->padded = found->padded, f->chirp = found->chirp;
    return 0;
}

/* How lines of m complex numbers are transformed: side by side, one by one, or not at all. */
enum { NOT, BESIDE, ALONE };
static int way(size m, size lines, size inner)
{
    static struct { size m; double beside, alone; } known[64]; /* costs; needs the GIL */
    if (m < 1 || lines < 1 || m > LONGEST) return NOT;
    const int at = (int)(m % 64);
    if (known[at].m != m) {
        struct fourier f;
        known[at].m = m, known[at].beside = known[at].alone = 0;
        if (plan_of(&f.plan, m)) known[at].beside = cost(&f.plan);
        known[at].alone = choose(&f, m);
    }
    if (!known[at].beside) return known[at].alone ? ALONE : NOT;
    if (!known[at].alone) return m <= MOST_BESIDE ? BESIDE : NOT;
    /* Lines that are rows are transposed when they are taken side by side; others are gathered when they are taken alone. */
    const double beside = known[at].beside + (inner > 1 ? 2 : 5) * (double)m, alone = 50 + known[at].alone + (inner > 1 ? (double)m : 0);
    return m > MOST_BESIDE || alone * (double)lines < beside * (double)blocks_of(lines) ? ALONE : BESIDE;
}

struct job {
    const struct fourier *f;
    char *work;
    size room;
    void (*kernel)(const struct fourier *, void *, size, size);
};

static void task(void *context, size begin, size end, int chunk)
{
    const struct job *job = context;
    job->kernel(job->f, job->work + chunk * job->room, begin, end);
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
    const size m = kind < FOURIER_OF_REAL || f.odd ? kind == FOURIER_TO_REAL ? real : f.from_length : real / 2, lone = way(m, f.lines, f.inner) == ALONE;
    if (plan(&f, m, lone, single) < 0) return -1;
    const size blocks = lone ? f.lines : blocks_of(f.lines), room = (lone ? lone_room(&f) : 4 * (m + 1) * FOURIER_LINES) * (single ? sizeof(float) : sizeof(double));
    const int chunks = pool_chunks(blocks, 2.0 * (lone ? 1 : FOURIER_LINES) * (double)m);
    PyArrayObject *work = scratch(chunks * room + 64, 1);
    if (work) {
        struct job job = {&f, PyArray_BYTES(work), room, lone ? single ? kernels->fourier_line_f32 : kernels->fourier_line_f64 : single ? kernels->fourier_f32 : kernels->fourier_f64};
        job.work += 64 - (uintptr_t)job.work % 64;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(f.lines * m);
        pool_run(task, &job, blocks, chunks);
        NPY_END_THREADS
    }
    Py_DECREF((PyObject *)f.table);
    Py_XDECREF(work);
    return work ? 0 : -1;
}

/* Lines of n numbers along an axis that are their own mirror images, from their first halves. */
#define DEFINE_MIRROR(T)                                                                                             \
    static void mirror_##T(const T *half, T *y, size outer, size n, size inner)                                      \
    {                                                                                                                \
        const size kept = n / 2 + 1;                                                                                 \
        for (size o = 0; o < outer; o++, half += 2 * kept * inner, y += 2 * n * inner) {                             \
            memcpy(y, half, 2 * kept * inner * sizeof *y);                                                           \
            for (size k = kept; inner == 1 && k < n; k++) y[2 * k] = half[2 * (n - k)], y[2 * k + 1] = -half[2 * (n - k) + 1]; \
            for (size k = kept; inner > 1 && k < n; k++) {                                                           \
                T *to = y + 2 * k * inner;                                                                           \
                const T *from = half + 2 * (n - k) * inner;                                                          \
                for (size i = 0; i < inner; i++) to[2 * i] = from[2 * i], to[2 * i + 1] = -from[2 * i + 1];          \
            }                                                                                                        \
        }                                                                                                            \
    }
DEFINE_MIRROR(float)
DEFINE_MIRROR(double)

/* The whole transform of real lines along an axis from its half; takes the reference. (In place, lines whose length is a power of two
 * would be written where they push each other out of the cache.) */
static PyArrayObject *whole(PyArrayObject *half, int axis, size n, int single)
{
    npy_intp shape[NPY_MAXDIMS];
    size inner = 1;
    memcpy(shape, PyArray_DIMS(half), PyArray_NDIM(half) * sizeof *shape);
    shape[axis] = n;
    for (int d = axis + 1; d < PyArray_NDIM(half); d++) inner *= shape[d];
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(half), shape, single ? NPY_CFLOAT : NPY_CDOUBLE);
    const size outer = y ? PyArray_SIZE(y) / (n * inner) : 0;
    if (single && y) mirror_float(PyArray_DATA(half), PyArray_DATA(y), outer, n, inner);
    else if (y) mirror_double(PyArray_DATA(half), PyArray_DATA(y), outer, n, inner);
    Py_DECREF(half);
    return y;
}

/* fourier(x, axes, kind, size, scale): see wengert.arrays.plain.fourier */
static PyObject *fourier(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "fourier() takes 5 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    const long wanted = PyLong_AsLong(args[2]), kind = wanted == OF_REAL_WHOLE ? FOURIER_OF_REAL : wanted, length = PyLong_AsLong(args[3]);
    const long norm = PyLong_AsLong(args[4]);
    if (PyErr_Occurred()) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_GET_SIZE(args[1]) || !PyArray_ISBEHAVED_RO(x) || !PyArray_SIZE(x)) NOT_HANDLED();
    const int type = PyArray_TYPE(x), of_real = kind == FOURIER_OF_REAL, to_real = kind == FOURIER_TO_REAL, n = (int)PyTuple_GET_SIZE(args[1]);
    const int single = of_real ? type == NPY_FLOAT : type == NPY_CFLOAT, ndim = PyArray_NDIM(x);
    if (kind < 0 || kind > FOURIER_TO_REAL || (!single && type != (of_real ? NPY_DOUBLE : NPY_CDOUBLE)) || n > ndim || (wanted == OF_REAL_WHOLE && n > 1)) NOT_HANDLED();
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
        if ((real && to_real && shape[axis] < along / 2 + 1) || way(real && along % 2 == 0 ? along / 2 : along, PyArray_SIZE(x) / shape[axis], 1) == NOT) NOT_HANDLED();
    }
    PyArrayObject *const rows = PyArray_IS_C_CONTIGUOUS(x) ? (PyArrayObject *)Py_NewRef(args[0]) : (PyArrayObject *)PyArray_NewCopy(x, NPY_CORDER);
    if (!rows) return NULL;
    const double scale = norm == 1 ? 1 / sqrt(numbers) : norm == 2 ? 1 / numbers : 1;
    if (of_real) shape[axes[n - 1]] = shape[axes[n - 1]] / 2 + 1;
    const int pairs = single ? NPY_CFLOAT : NPY_CDOUBLE, first = n - 1;
    PyArrayObject *middle = to_real && n == 1 ? (PyArrayObject *)Py_NewRef((PyObject *)rows) : (PyArrayObject *)PyArray_SimpleNew(ndim, shape, pairs), *out = NULL;
    const PyArrayObject *from = rows;
    int failed = !middle;
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
    const size line = PyArray_DIM(rows, axes[first]);
    Py_DECREF(rows);
    if (failed) Py_CLEAR(out);
    return (PyObject *)(out && wanted == OF_REAL_WHOLE ? whole(out, axes[first], line, single) : out);
}

PyMethodDef fourier_methods[] = {
    {"fourier", (PyCFunction)(void (*)(void))fourier, METH_FASTCALL, "fourier(x, axes, kind, size, scale): a transform of short lines."},
    {NULL, NULL, 0, NULL},
};
