/* Orthogonal polynomials of blocks of numbers by their recurrences, as in src/wengert/arrays/plain/orthogonal.py. */
#include "blocks.h"

#include <math.h>

#define EACH for (size i = 0; i < n; i++)

/* The polynomials of degree k + 1 from those of degree k, `p`, and k - 1, `q`; those of degree 1 for k = 0. */
typedef void step(double *restrict to, const double *restrict x, const double *restrict p, const double *restrict q,
                  double k, size n);

static void climb(double *out, const double *from, const double *degrees, size n, step *next)
{
    enum { TOP = 1 << 21, ROWS = 16 }; /* TOP: more than there can be; in place of NaN and infinity, too */
    double x[SPECIAL_BLOCK], row[ROWS][SPECIAL_BLOCK]; /* row: of degree k there is k % ROWS */
    int degree[SPECIAL_BLOCK], least = TOP, most = 0, same = 1, numbers = 1;
    EACH degree[i] = degrees[i] < TOP ? (degrees[i] > -1 ? (int)degrees[i] : -1) : TOP;
    EACH {
        const int low = degree[i] > 0 ? degree[i] : TOP, high = degree[i] < TOP ? degree[i] : 0;
        least = low < least ? low : least, most = high > most ? high : most, same &= degree[i] == degree[0];
    }
    EACH x[i] = from[i], row[0][i] = 1, out[i] = degree[i] < 0 ? 0 : degree[i] == 0 ? 1 : NAN;
    for (int k = 1; k <= most && numbers; k++) {
        next(row[k % ROWS], x, row[(k - 1) % ROWS], row[(k + ROWS - 2) % ROWS], k - 1, n);
        if (k % ROWS != ROWS - 1 && k != most) continue;
        const double *const last = row[k % ROWS];
        if (same && k == most) EACH out[i] = last[i];
        else if (!same && k >= least)
            EACH if (degree[i] >= k - k % ROWS && degree[i] <= k) out[i] = row[degree[i] % ROWS][i];
        numbers = 0;
        EACH numbers |= last[i] == last[i]; /* from all NaN nothing else follows */
    }
}

#define POLYNOMIAL(name, first, following)                                                                \
    static void name##_step(double *restrict to, const double *restrict x_in, const double *restrict p_in, \
                            const double *restrict q_in, double k, size n)                                \
    {                                                                                                     \
        if (k == 0) EACH { const double x = x_in[i]; to[i] = first; }                                     \
        else EACH { const double x = x_in[i], p = p_in[i], q = q_in[i]; to[i] = following; }              \
    }                                                                                                     \
    void block_##name(SPECIAL_ARGUMENTS)                                                                  \
    {                                                                                                     \
        (void)single;                                                                                     \
        climb(out, in[0], in[1], n, name##_step);                                                         \
    }
POLYNOMIAL(chebyshev_t, x, 2 * x * p - q)
POLYNOMIAL(chebyshev_u, 2 * x, 2 * x * p - q)
POLYNOMIAL(chebyshev_v, 2 * x - 1, 2 * x * p - q)
POLYNOMIAL(chebyshev_w, 2 * x + 1, 2 * x * p - q)
POLYNOMIAL(hermite_h, 2 * x, 2 * (x * p - k * q))
POLYNOMIAL(hermite_he, x, x * p - k * q)
POLYNOMIAL(laguerre_l, 1 - x, ((2 * k + 1 - x) * p - k * q) / (k + 1))
POLYNOMIAL(legendre_p, x, ((2 * k + 1) * x * p - k * q) / (k + 1))
