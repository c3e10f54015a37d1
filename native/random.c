/* Numbers from a bit generator of NumPy's (a Mersenne Twister), as PyTorch makes them of its words. */
#include "draws.h"

enum { LANES = 16, PIECE = 64 * LANES };

static bitgen_t *generator_of(PyObject *bits)
{
    static PyObject *last; /* whose generator was looked up last; it stays */
    static bitgen_t *found;
    if (bits == last) return found;
    PyObject *capsule = PyObject_GetAttrString(bits, "capsule");
    bitgen_t *generator = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    Py_XDECREF(capsule); /* `bits` keeps it */
    if (generator) {
        Py_XSETREF(last, Py_NewRef(bits));
        found = generator;
    }
    return generator;
}

static inline int64_t joined(uint32_t high, uint32_t low) { return (int64_t)((uint64_t)(high & 0x1fffff) << 32 | low); }
static inline int64_t mantissa(bitgen_t *from)
{
    const uint32_t high = from->next_uint32(from->state);
    return joined(high, from->next_uint32(from->state));
}

/* Uniform numbers in [0, 1), times the width plus the lower end, rounded once; or the numerators of float64. */
static void between(bitgen_t *from, void *to, size n, int type, double low, double width)
{
    const int one = type == NPY_FLOAT, plain = low == 0 && width == 1;
    uint32_t words[2 * PIECE];
    for (size at = 0; at < n; at += PIECE) {
        const size some = n - at < PIECE ? n - at : PIECE;
        draw_words(from, words, one ? some : 2 * some);
        float *single = (float *)to + at;
        double *wide = (double *)to + at;
        int64_t *whole = (int64_t *)to + at;
        if (one && plain)
            for (size i = 0; i < some; i++) single[i] = (float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f;
        else if (one)
            for (size i = 0; i < some; i++)
                single[i] = fmaf((float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f, (float)width, (float)low);
        else if (type == NPY_DOUBLE && plain)
            for (size i = 0; i < some; i++) wide[i] = (double)joined(words[2 * i], words[2 * i + 1]) * 0x1p-53;
        else if (type == NPY_DOUBLE)
            for (size i = 0; i < some; i++) wide[i] = fma((double)joined(words[2 * i], words[2 * i + 1]) * 0x1p-53, width, low);
        else
            for (size i = 0; i < some; i++) whole[i] = joined(words[2 * i], words[2 * i + 1]);
    }
}

static void draw(bitgen_t *from, void *to, size n, int type) { between(from, to, n, type, 0, 1); }

static int read_target(PyObject *const *args, Py_ssize_t count, Py_ssize_t expected, int integers)
{
    if (count != expected) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments", expected);
        return -1;
    }
    PyArrayObject *out = (PyArrayObject *)args[1];
    return PyArray_CheckExact(args[1]) && PyArray_ISCARRAY(out) &&
           (is_real(args[1]) || (integers && PyArray_TYPE(out) == NPY_INT64));
}

/* fill_uniform(bits, out): float32 of one word, float64 of two, or int64: the numerators of float64 */
static PyObject *fill_uniform(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 2, 1);
    if (fits < 0) return NULL;
    if (!fits) NOT_HANDLED();
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out));
    draw(from, PyArray_DATA(out), PyArray_SIZE(out), PyArray_TYPE(out));
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

/* fill_between(bits, out, low, width): as `between` */
static PyObject *fill_between(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 4, 0);
    if (fits < 0) return NULL;
    if (!fits) NOT_HANDLED();
    const double low = PyFloat_AsDouble(args[2]), width = PyFloat_AsDouble(args[3]);
    bitgen_t *from = PyErr_Occurred() ? NULL : generator_of(args[0]);
    if (!from) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    between(from, PyArray_DATA(out), n, PyArray_TYPE(out), low, width);
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

/* ---- normal numbers in pairs, and what is made of them ---- */

static inline double uniform(bitgen_t *from) { return (double)mantissa(from) * 0x1p-53; }

/* A standard normal number: the one of the last pair that is left, or of a new pair (Box and Muller). */
static double normal(bitgen_t *from, double *spare, int *has_spare)
{
    if (*has_spare) {
        *has_spare = 0;
        return *spare;
    }
    const double angle = 2 * NPY_PI * uniform(from), radius = sqrt(-2 * log1p(-uniform(from)));
    *spare = radius * sin(angle);
    *has_spare = 1;
    return radius * cos(angle);
}

static int read_spare(PyObject *object, double *spare)
{
    *spare = object == Py_None ? 0 : PyFloat_AsDouble(object);
    return object != Py_None;
}

static PyObject *spare_of(double spare, int has_spare) { return has_spare ? PyFloat_FromDouble(spare) : Py_NewRef(Py_None); }

/* fill_pairs(bits, out, spare): standard normal numbers in double precision, the first of them `spare` unless that is None; what
 * is left of the last pair, or None */
static PyObject *fill_pairs(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 3, 0);
    if (fits < 0) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!fits || PyArray_TYPE(out) != NPY_DOUBLE) NOT_HANDLED();
    double spare, *to = PyArray_DATA(out);
    int has_spare = read_spare(args[2], &spare);
    bitgen_t *from = PyErr_Occurred() ? NULL : generator_of(args[0]);
    if (!from) return NULL;
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    for (size i = 0; i < n; i++) to[i] = normal(from, &spare, &has_spare);
    NPY_END_THREADS
    return spare_of(spare, has_spare);
}

/* As PyTorch, whose constants are in single precision, and whose parameter is in its own (Marsaglia and Tsang, 2000). */
static double gamma_number(bitgen_t *from, double shape, int single_precision, double *spare, int *has_spare)
{
#define HELD(value) (single_precision ? (double)(float)(value) : (value))
    if (!(shape >= 0)) return NAN;
    double scale = 1;
    if (shape < 1) {
        if (shape == 0) return 0;
        scale = pow(1 - uniform(from), HELD(1 / shape));
        shape = HELD(shape + 1);
    }
    const double d = HELD(shape - (double)(1.0f / 3.0f)), c = 1 / sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = normal(from, spare, has_spare);
            y = 1 + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - uniform(from), xx = x * x;
        if (u < 1 - (double)0.0331f * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
    }
#undef HELD
}

/* gammas(bits, shapes, single, spare): a gamma number of unit scale for each of the shapes, in double precision; and the spare */
static PyObject *gammas(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 4, 0);
    if (fits < 0) return NULL;
    PyArrayObject *shapes = (PyArrayObject *)args[1];
    if (!fits || PyArray_TYPE(shapes) != NPY_DOUBLE) NOT_HANDLED();
    double spare;
    const int single_precision = PyObject_IsTrue(args[2]);
    int has_spare = read_spare(args[3], &spare);
    bitgen_t *from = PyErr_Occurred() ? NULL : generator_of(args[0]);
    PyArrayObject *out = from ? new_like(shapes, PyArray_NDIM(shapes), PyArray_DIMS(shapes)) : NULL;
    if (!out) return NULL;
    const double *shape = PyArray_DATA(shapes);
    double *to = PyArray_DATA(out);
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    for (size i = 0; i < n; i++) to[i] = gamma_number(from, shape[i], single_precision, &spare, &has_spare);
    NPY_END_THREADS
    return Py_BuildValue("NN", out, spare_of(spare, has_spare));
}

/* Which of the next numbers of 53 bits are below the bound. */
static void below(bitgen_t *from, npy_bool *to, size n, int64_t bound)
{
    uint32_t words[2 * PIECE];
    for (size at = 0; at < n; at += PIECE) {
        const size some = n - at < PIECE ? n - at : PIECE;
        draw_words(from, words, 2 * some);
        for (size i = 0; i < some; i++) to[at + i] = joined(words[2 * i], words[2 * i + 1]) < bound;
    }
}

/* fill_below(bits, out, bound): which of the next numbers of 53 bits are below the bound, as truth values */
static PyObject *fill_below(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[1]) || !PyArray_ISCARRAY(out) || PyArray_TYPE(out) != NPY_BOOL) NOT_HANDLED();
    const int64_t bound = PyLong_AsLongLong(args[2]);
    if (bound == -1 && PyErr_Occurred()) return NULL;
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    npy_bool *to = PyArray_DATA(out);
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    below(from, to, n, bound);
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

/* The numbers below the length in a random order, by the exchanges of Fisher and Yates: each place with one at or after it, of 32 bits;
 * wide: with one at or before it, of 64 */
static void permutation(bitgen_t *from, int64_t *to, size n, int wide)
{
    for (size i = 0; i < n; i++) to[i] = i;
    for (size i = 0; i < n - !wide; i++) {
        size other;
        if (wide) {
            const uint64_t high = from->next_uint32(from->state);
            other = (size)((high << 32 | from->next_uint32(from->state)) % ((uint64_t)i + 1));
        } else other = i + from->next_uint32(from->state) % (uint32_t)(n - i);
        const int64_t held = to[i];
        to[i] = to[other], to[other] = held;
    }
}

/* fill_permutation(bits, out, wide): as `permutation` */
static PyObject *fill_permutation(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[1]) || !PyArray_ISCARRAY(out) || PyArray_TYPE(out) != NPY_INT64) NOT_HANDLED();
    const int wide = PyObject_IsTrue(args[2]);
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    int64_t *to = PyArray_DATA(out);
    const size n = PyArray_SIZE(out);
    if (!wide && n > UINT32_MAX) NOT_HANDLED();
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    permutation(from, to, n, wide);
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

/* Remainders of 32 bits by one divisor, without divisions (Lemire, Kaser and Kurz, 2019). */
static void remainders(uint64_t *to, const uint32_t *words, size n, uint32_t divisor, uint64_t base)
{
#ifdef __SIZEOF_INT128__
    const uint64_t inverse = UINT64_MAX / divisor + 1; /* of 1 it wraps to 0, and so are its remainders */
    for (size i = 0; i < n; i++) to[i] = base + (uint64_t)((unsigned __int128)(inverse * words[i]) * divisor >> 64);
#else
    for (size i = 0; i < n; i++) to[i] = base + words[i] % divisor;
#endif
}

static void integers(bitgen_t *from, uint64_t *to, size n, uint64_t divisor, uint64_t base, int wide)
{
    if (wide)
        for (size i = 0; i < n; i++) {
            const uint64_t high = from->next_uint32(from->state), word = high << 32 | from->next_uint32(from->state);
            to[i] = base + (divisor ? word % divisor : word);
        }
    else
        for (size at = 0; at < n; at += PIECE) {
            uint32_t words[PIECE];
            const size some = n - at < PIECE ? n - at : PIECE;
            draw_words(from, words, some);
            if (divisor && divisor <= UINT32_MAX) remainders(to + at, words, some, (uint32_t)divisor, base);
            else
                for (size i = 0; i < some; i++) to[at + i] = base + words[i];
        }
}

/* fill_integers(bits, out, divisor, base, wide): the base plus remainders of the next words (wide: of 64 bits, the high one first), which
 * wrap; by 0: the words */
static PyObject *fill_integers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[1]) || !PyArray_ISCARRAY(out) || PyArray_TYPE(out) != NPY_INT64) NOT_HANDLED();
    const uint64_t divisor = PyLong_AsUnsignedLongLong(args[2]), base = PyLong_AsUnsignedLongLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    const int wide = PyObject_IsTrue(args[4]);
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    integers(from, PyArray_DATA(out), n, divisor, base, wide);
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

static void sixteens(bitgen_t *from, void *to, size n, int type, double mean, double std)
{
    const size width = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (size at = 0; at < n; at += PIECE) {
        const size count = n - at < PIECE ? n - at : PIECE;
        char *piece = (char *)to + at * width;
        draw(from, piece, count, type);
        if (type == NPY_FLOAT) kernels->sixteens_f32((float *)piece, count / LANES, (float)mean, (float)std);
        else kernels->sixteens_f64((double *)piece, count / LANES, mean, std);
    }
}

/* At least 16 normal numbers; the last 16 are made anew where 16 does not divide them. */
static void normals(bitgen_t *from, void *to, size n, int type, double mean, double std)
{
    const size whole = n - n % LANES, width = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    sixteens(from, to, whole, type, mean, std);
    if (n > whole) {
        draw(from, (char *)to + whole * width, n - whole, type); /* passed over */
        sixteens(from, (char *)to + (n - LANES) * width, LANES, type, mean, std);
    }
}

/* fill_normal(bits, out, mean, std): as `normals` */
static PyObject *fill_normal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 4, 0);
    if (fits < 0) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!fits || PyArray_SIZE(out) < LANES) NOT_HANDLED();
    const double mean = PyFloat_AsDouble(args[2]), std = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    const int type = PyArray_TYPE(out);
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    normals(from, PyArray_DATA(out), n, type, mean, std);
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

#define EACH_AS(TYPE, value)                                      \
    {                                                             \
        for (size i = 0; i < n; i++) ((TYPE *)to)[i] = (TYPE)(value); \
        break;                                                    \
    }
#define EACH_AS_TYPE(value)                  \
    switch (type) {                          \
    case NPY_FLOAT: EACH_AS(float, value)    \
    case NPY_DOUBLE: EACH_AS(double, value)  \
    default: EACH_AS(int64_t, value)         \
    }

static void draw_integers(bitgen_t *from, const struct draw *what, void *to, size n, int type)
{
    enum { WIDE = 1 << 28 }; /* from as many numbers on, 64 bits are drawn for each */
    int64_t found[DRAWN], *whole = type == NPY_INT64 ? to : found;
    integers(from, (uint64_t *)whole, n, what->divisor, what->base, what->divisor >= WIDE);
    if (whole == found) EACH_AS_TYPE(found[i])
}

static void draw_truths(bitgen_t *from, double probability, void *to, size n, int type)
{
    npy_bool found[DRAWN];
    below(from, found, n, (int64_t)ceil(probability * 0x1p53));
    EACH_AS_TYPE(found[i])
}

static void draw_normal(bitgen_t *from, struct draw *what, void *to, size n, int type)
{
    if (n >= LANES) normals(from, to, n, type, what->mean, what->std);
    else EACH_AS_TYPE(fma(normal(from, &what->spare, &what->has_spare), what->std, what->mean))
}

static void draw_chances(bitgen_t *from, const struct draw *what, void *to, size n, int type)
{
    double wide[DRAWN];
    float *single = (float *)wide;
    draw(from, wide, n, what->wide_chances ? NPY_DOUBLE : NPY_FLOAT);
    if (what->wide_chances) EACH_AS_TYPE(wide[i] < ((const double *)what->chances)[i])
    else EACH_AS_TYPE(single[i] < ((const float *)what->chances)[i])
}

int draw_numbers(PyObject *bits, struct draw *what, void *to, size n, int type)
{
    bitgen_t *from = generator_of(bits);
    if (!from) return 0;
    switch (what->kind) {
    case DRAW_UNIFORM: between(from, to, n, type, what->mean, what->std); break;
    case DRAW_NORMAL: draw_normal(from, what, to, n, type); break;
    case DRAW_INTEGERS: draw_integers(from, what, to, n, type); break;
    case DRAW_ORDER: permutation(from, to, n, 0); break;
    case DRAW_TRUTHS: draw_truths(from, what->mean, to, n, type); break;
    case DRAW_WAITS: EACH_AS_TYPE(-1.0 / what->mean * log1p(-uniform(from))) break;
    case DRAW_CAUCHY: EACH_AS_TYPE(fma(tan(NPY_PI * (uniform(from) - 0.5)), what->std, what->mean)) break;
    case DRAW_LOG_NORMAL: EACH_AS_TYPE(exp(fma(normal(from, &what->spare, &what->has_spare), what->std, what->mean))) break;
    case DRAW_TRIALS: EACH_AS_TYPE(ceil(log(uniform(from)) / log1p(-what->mean))) break;
    case DRAW_CHANCES: draw_chances(from, what, to, n, type); break;
    default: return 0;
    }
    return 1;
}

/* A Poisson number: by products of uniform numbers (Knuth) below rate 10, by PTRS (Hoermann, 1993) from there on. */
static double poisson_number(bitgen_t *from, double rate)
{
    if (rate == 0 || rate == INFINITY) return rate;
    if (rate < 10) {
        const double limit = exp(-rate);
        double number = 0;
        for (double product = uniform(from); product > limit; number++) product *= uniform(from);
        return number;
    }
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform(from) - 0.5, v = uniform(from), us = 0.5 - fabs(u);
        const double k = us > 0 ? floor((2 * a / us + b) * u + rate + 0.43) : -1;
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1)) return k;
    }
}

/* poissons(bits, rates): a Poisson number for each of the rates, in double precision */
static PyObject *poissons(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 2, 0);
    if (fits < 0) return NULL;
    PyArrayObject *rates = (PyArrayObject *)args[1];
    if (!fits || PyArray_TYPE(rates) != NPY_DOUBLE) NOT_HANDLED();
    bitgen_t *from = generator_of(args[0]);
    PyArrayObject *out = from ? new_like(rates, PyArray_NDIM(rates), PyArray_DIMS(rates)) : NULL;
    if (!out) return NULL;
    const double *rate = PyArray_DATA(rates);
    double *to = PyArray_DATA(out);
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    for (size i = 0; i < n; i++) to[i] = poisson_number(from, rate[i]);
    NPY_END_THREADS
    return (PyObject *)out;
}

/* Rows of weights, cumulated and over their sums: 0 where one is negative or none, or a sum is none or too large. */
#define DEFINE_LEVELS(TYPE)                                                                     \
    static int levels_##TYPE(TYPE *to, const TYPE *weights, size n)                             \
    {                                                                                           \
        TYPE total = 0;                                                                         \
        int fine = 1;                                                                           \
        for (size i = 0; i < n; i++) to[i] = total += weights[i], fine &= weights[i] >= 0;      \
        for (size i = 0; i < n; i++) to[i] /= total;                                            \
        to[n - 1] = 1;                                                                          \
        return fine && total > 0 && total < INFINITY;                                           \
    }                                                                                           \
    static void look_up_##TYPE(bitgen_t *from, int64_t *to, size samples, const TYPE *levels, size n) \
    {                                                                                           \
        for (size k = 0; k < samples; k++) {                                                    \
            const double u = uniform(from);                                                     \
            size low = 0, left = n;                                                             \
            while (left > 1) { /* of which one is the first that is not below */                \
                const size half = left / 2;                                                     \
                low += (double)levels[low + half - 1] < u ? half : 0, left -= half;             \
            }                                                                                   \
            to[k] = low;                                                                        \
        }                                                                                       \
    }
DEFINE_LEVELS(float)
DEFINE_LEVELS(double)

/* choices(bits, rows, samples): places drawn in proportion to the weights in each row of a matrix, as many as samples; NotImplemented, with
 * nothing drawn, where the weights are none */
static PyObject *choices(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *rows = (PyArrayObject *)args[1];
    const Py_ssize_t samples = PyLong_AsSsize_t(args[2]);
    if (samples == -1 && PyErr_Occurred()) return NULL;
    if (!is_real(args[1]) || PyArray_NDIM(rows) != 2 || !PyArray_ISCARRAY_RO(rows) || !PyArray_SIZE(rows) || samples < 1) NOT_HANDLED();
    const size n = PyArray_DIM(rows, 1);
    const npy_intp shape[2] = {PyArray_DIM(rows, 0), samples};
    bitgen_t *from = generator_of(args[0]);
    PyArrayObject *out = from ? (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INT64) : NULL, *levels = out ? new_like(rows, 2, PyArray_DIMS(rows)) : NULL;
    int fine = 1;
    if (levels) {
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(rows) + PyArray_SIZE(out));
#define RUN(TYPE)                                                                                               \
    {                                                                                                           \
        const TYPE *weights = PyArray_DATA(rows);                                                               \
        TYPE *level = PyArray_DATA(levels);                                                                     \
        for (size r = 0; r < shape[0] && fine; r++) fine = levels_##TYPE(level + r * n, weights + r * n, n);    \
        for (size r = 0; r < shape[0] && fine; r++)                                                             \
            look_up_##TYPE(from, (int64_t *)PyArray_DATA(out) + r * samples, samples, level + r * n, n);        \
    }
        if (PyArray_TYPE(rows) == NPY_FLOAT) RUN(float) else RUN(double)
#undef RUN
        NPY_END_THREADS
    }
    const int made = levels != NULL;
    Py_XDECREF(levels);
    if (made && fine) return (PyObject *)out;
    Py_XDECREF(out);
    if (!made) return NULL;
    NOT_HANDLED();
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef random_methods[] = {METHOD(fill_uniform), METHOD(fill_below), METHOD(fill_normal), METHOD(fill_between),
                                METHOD(fill_pairs), METHOD(fill_permutation), METHOD(fill_integers), METHOD(gammas),
                                METHOD(poissons), METHOD(choices), {"twister", twister, METH_O, NULL}, {NULL, NULL, 0, NULL}};
