/* Bessel and Airy functions of blocks of numbers by Chebyshev series: the same approximations, part by part, as in
 * src/wengert/arrays/plain/bessel.py, and the coefficients of special_tables.py, which are taken over at the import. */
#include "wengert.h"

#include "blocks.h"

#include <math.h>

#define PI 3.14159265358979323846
#define EACH for (size i = 0; i < n; i++)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* as if blocks of no numbers were read */
#endif

/* Those of the orders 0 and 1 are neighbours. */
#define SERIES(X)                                                                                                \
    X(I0_NEAR) X(I1_NEAR) X(I0_FAR) X(I1_FAR) X(K0_NEAR) X(K1_NEAR) X(K0_FAR) X(K1_FAR) X(J0_NEAR) X(J1_NEAR)     \
    X(Y0_NEAR) X(Y1_NEAR) X(P0_FAR) X(P1_FAR) X(Q0_FAR) X(Q1_FAR) X(AI_NEAR) X(AI_RIGHT) X(AI_LEFT_F) X(AI_LEFT_G)
enum {
#define NAME(name) name,
    SERIES(NAME) SERIES_COUNT
#undef NAME
};
enum { MOST_TERMS = 64, BLOCK = SPECIAL_BLOCK };
static struct {
    size count[2]; /* of the terms that float64 needs, and float32 */
    double terms[MOST_TERMS];
} tables[SERIES_COUNT];

static void series(double *out, int name, const double *t, size n, int single)
{
    kernels->series(out, t, tables[name].terms, tables[name].count[single], n);
}

#define ELEMENTARY(name)                                              \
    static void name##_of(double *out, const double *x, size n)       \
    {                                                                 \
        if (kernels->name##_f64) kernels->name##_f64(out, &x, n);     \
        else EACH out[i] = name(x[i]);                                \
    }
ELEMENTARY(exp)
ELEMENTARY(log)

static void sines(double *sines, double *cosines, const double *x, size n)
{
    if (kernels->tame_angles_f64(&x, n)) {
        kernels->sin_f64(sines, &x, n);
        kernels->cos_f64(cosines, &x, n);
    } else {
        EACH sines[i] = sin(x[i]), cosines[i] = cos(x[i]);
    }
}

/* A function of numbers of one interval. */
typedef void part(double *out, const double *x, size n, int order, int single);

/* Those up to `at` (and NaN) by `near`, those above by `far`. */
static void split(double *out, const double *x, size n, double at, part *near, part *far, int order, int single)
{
    double from[BLOCK], to[BLOCK];
    short places[BLOCK];
    size low = 0, high = n;
    int some = 0, all = 1;
    EACH some |= x[i] > at, all &= x[i] > at;
    if (some == all) { /* they are of one interval */
        (some ? far : near)(out, x, n, order, single);
        return;
    }
    EACH {
        const int above = x[i] > at;
        places[low] = places[high - 1] = (short)i;
        from[low] = from[high - 1] = x[i];
        low += !above, high -= above;
    }
    near(to, from, low, order, single);
    far(to + low, from + low, n - low, order, single);
    EACH out[places[i]] = to[i];
}

/* A series in 1/x, over the root of x. */
static void far(double *out, const double *x, size n, int name, double scale, int single)
{
    double t[BLOCK], inverse[BLOCK];
    EACH inverse[i] = 1 / x[i], t[i] = scale * inverse[i] - 1;
    series(t, name, t, n, single);
    EACH out[i] = t[i] * sqrt(inverse[i]);
}

/* ---- exp(-x) I(x) for x >= 0 ---- */

static void i_near(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK];
    EACH t[i] = x[i] / 4 - 1;
    series(t, I0_NEAR + order, t, n, single);
    EACH out[i] = order ? t[i] * x[i] : t[i];
}
static void i_far(double *out, const double *x, size n, int order, int single)
{
    far(out, x, n, I0_FAR + order, 16, single);
}
static void modified_i(SPECIAL_ARGUMENTS, int order, int scaled)
{
    const double *x = in[0];
    double size_of[BLOCK], value[BLOCK], half[BLOCK];
    EACH size_of[i] = fabs(x[i]), half[i] = size_of[i] / 2;
    split(value, size_of, n, 8, i_near, i_far, order, single);
    if (!scaled) { /* in two steps, so that nothing overflows before the result does; at infinity as in PyTorch */
        exp_of(half, half, n);
        EACH value[i] = size_of[i] == INFINITY ? NAN : value[i] * half[i] * half[i];
    }
    EACH out[i] = order && x[i] < 0 ? -value[i] : value[i];
}

/* ---- exp(x) K(x) for x >= 0 ---- */

static void k_near(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK], other[BLOCK], half[BLOCK], logs[BLOCK];
    EACH t[i] = x[i] * x[i] / 2 - 1, logs[i] = half[i] = x[i] / 2;
    series(t, K0_NEAR + order, t, n, single);
    i_near(other, x, n, order, single);
    log_of(logs, logs, n);
    exp_of(half, half, n);
    EACH {
        const double grown = half[i] * half[i], more = logs[i] * (other[i] * grown);
        out[i] = x[i] == 0 ? INFINITY : (order ? t[i] / x[i] + more : t[i] - more) * grown;
    }
}
static void k_far(double *out, const double *x, size n, int order, int single)
{
    far(out, x, n, K0_FAR + order, 4, single);
}
static void modified_k(SPECIAL_ARGUMENTS, int order, int scaled)
{
    double x[BLOCK], shrunk[BLOCK];
    EACH x[i] = in[0][i] < 0 ? NAN : in[0][i], shrunk[i] = -x[i];
    split(out, x, n, 2, k_near, k_far, order, single);
    if (scaled) return;
    exp_of(shrunk, shrunk, n);
    EACH out[i] *= shrunk[i];
}

/* ---- J and Y: close to their zeros float32 needs all terms, too ---- */

static void j_near(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK];
    (void)single;
    EACH t[i] = x[i] * x[i] / 32 - 1, t[i] = t[i] > 1 ? 1 : t[i];
    series(t, J0_NEAR + order, t, n, 0);
    EACH out[i] = order ? t[i] * x[i] : t[i];
}
static void y_near(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK], other[BLOCK], logs[BLOCK];
    EACH t[i] = x[i] * x[i] / 32 - 1;
    series(t, Y0_NEAR + order, t, n, 0);
    j_near(other, x, n, order, single);
    log_of(logs, x, n);
    EACH {
        const double more = logs[i] * other[i];
        out[i] = order ? t[i] * x[i] + 2 / PI * (more - 1 / x[i]) : t[i] + 2 / PI * more;
        if (x[i] == 0) out[i] = -INFINITY;
    }
}
/* From modulus and phase; the phase's sine and cosine without its rounding error. */
static void wave(double *out, const double *x, size n, int order, int second)
{
    double p[BLOCK], q[BLOCK], s[BLOCK], c[BLOCK], inverse[BLOCK];
    EACH inverse[i] = 1 / x[i], p[i] = 128 * inverse[i] * inverse[i] - 1;
    series(q, Q0_FAR + order, p, n, 0);
    series(p, P0_FAR + order, p, n, 0);
    sines(s, c, x, n);
    EACH {
        const double phase_cos = order ? s[i] - c[i] : c[i] + s[i], phase_sin = order ? -s[i] - c[i] : s[i] - c[i];
        const double a = second ? phase_sin : phase_cos, b = second ? -phase_cos : phase_sin;
        out[i] = (p[i] * a - q[i] * inverse[i] * b) * sqrt(inverse[i] * (1 / PI));
    }
}
static void j_far(double *out, const double *x, size n, int order, int single)
{
    (void)single;
    wave(out, x, n, order, 0);
}
static void y_far(double *out, const double *x, size n, int order, int single)
{
    (void)single;
    wave(out, x, n, order, 1);
}
static void bessel_j(SPECIAL_ARGUMENTS, int order)
{
    double x[BLOCK], value[BLOCK];
    EACH x[i] = fabs(in[0][i]);
    split(value, x, n, 8, j_near, j_far, order, single);
    EACH out[i] = order && signbit(in[0][i]) ? -value[i] : value[i];
}
static void bessel_y(SPECIAL_ARGUMENTS, int order)
{
    double x[BLOCK];
    EACH x[i] = in[0][i] < 0 ? NAN : in[0][i];
    split(out, x, n, 8, y_near, y_far, order, single);
}

/* ---- Ai ---- */

static void airy_left(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK], z[BLOCK], f[BLOCK], s[BLOCK], c[BLOCK];
    (void)order, (void)single;
    EACH {
        const double ratio = (2 / 3.0 * 14.696938456699069 /* 6^1.5 */) / (z[i] = 2 / 3.0 * -x[i] * sqrt(-x[i]));
        t[i] = 2 * ratio * ratio - 1, f[i] = z[i] + PI / 4;
    }
    sines(s, c, f, n);
    series(f, AI_LEFT_F, t, n, 0);
    series(t, AI_LEFT_G, t, n, 0);
    EACH out[i] = (s[i] * f[i] - c[i] * t[i] / z[i]) / sqrt(sqrt(-x[i]));
}
static void airy_near(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK];
    (void)order, (void)single;
    EACH t[i] = x[i] / 4 + 0.5;
    series(out, AI_NEAR, t, n, 0);
}
static void airy_right(double *out, const double *x, size n, int order, int single)
{
    double t[BLOCK], z[BLOCK];
    (void)order, (void)single;
    EACH {
        z[i] = 2 / 3.0 * x[i] * sqrt(x[i]);
        t[i] = 2 * (2 / 3.0 * 2.8284271247461903 /* 2^1.5 */) / z[i] - 1, z[i] = -z[i];
    }
    series(t, AI_RIGHT, t, n, 0);
    exp_of(z, z, n);
    EACH out[i] = x[i] == INFINITY ? NAN : z[i] * t[i] / sqrt(sqrt(x[i]));
}
static void airy_rest(double *out, const double *x, size n, int order, int single)
{
    split(out, x, n, 2, airy_near, airy_right, order, single);
}
void block_airy_ai(SPECIAL_ARGUMENTS)
{
    split(out, in[0], n, -6, airy_left, airy_rest, 0, single);
}

void block_spherical_j0(SPECIAL_ARGUMENTS)
{
    double s[BLOCK], c[BLOCK];
    const double *x = in[0];
    (void)single;
    sines(s, c, x, n);
    EACH out[i] = x[i] == 0 ? 1 : isinf(x[i]) ? 0 : s[i] / x[i];
}

#define OF_ORDER(order)                                                                                   \
    void block_bessel_j##order(SPECIAL_ARGUMENTS) { bessel_j(out, in, n, single, order); }                \
    void block_bessel_y##order(SPECIAL_ARGUMENTS) { bessel_y(out, in, n, single, order); }                \
    void block_modified_i##order(SPECIAL_ARGUMENTS) { modified_i(out, in, n, single, order, 0); }         \
    void block_scaled_i##order(SPECIAL_ARGUMENTS) { modified_i(out, in, n, single, order, 1); }           \
    void block_modified_k##order(SPECIAL_ARGUMENTS) { modified_k(out, in, n, single, order, 0); }         \
    void block_scaled_k##order(SPECIAL_ARGUMENTS) { modified_k(out, in, n, single, order, 1); }
OF_ORDER(0)
OF_ORDER(1)

/* take_series(names): the coefficients, tuples by name */
static PyObject *take_series(PyObject *module, PyObject *named)
{
    static const char *const names[] = {
#define NAME(name) #name,
        SERIES(NAME)
#undef NAME
    };
    (void)module;
    for (int k = 0; k < SERIES_COUNT; k++) {
        PyObject *found = PyMapping_GetItemString(named, names[k]);
        if (!found) return NULL;
        const size count = PyTuple_Check(found) ? PyTuple_GET_SIZE(found) : 0;
        double largest = 0, rest = 0;
        for (size i = 0; i < count && i < MOST_TERMS; i++) {
            tables[k].terms[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(found, i));
            largest = fmax(largest, fabs(tables[k].terms[i]));
        }
        Py_DECREF(found);
        if (PyErr_Occurred()) return NULL;
        if (!count || count > MOST_TERMS)
            return PyErr_Format(PyExc_ValueError, "a tuple of 1 to %d numbers is expected", MOST_TERMS);
        size few = count;
        while (few > 1 && (rest += fabs(tables[k].terms[few - 1])) < 1e-9 * largest) few--;
        tables[k].count[0] = count, tables[k].count[1] = few;
    }
    Py_RETURN_NONE;
}

PyMethodDef bessel_methods[] = {{"take_series", take_series, METH_O, NULL}, {NULL, NULL, 0, NULL}};
