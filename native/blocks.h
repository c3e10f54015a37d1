/* Special functions in double precision of blocks of at most SPECIAL_BLOCK numbers, which may be written where they
 * were read: special.c, gammas.c, bessel.c and orthogonal.c. `single`: the results will be rounded to float32. */
#ifndef WENGERT_BLOCKS_H
#define WENGERT_BLOCKS_H
#include "kernels.h"

/* name, number of inputs, cost of an element in nanoseconds */
#define SPECIAL_KERNELS(X)                                                                                             \
    X(log_ndtr, 1, 30.0) X(gammainc, 2, 100.0) X(gammaincc, 2, 100.0) X(zeta, 2, 200.0) X(derived_digamma, 2, 200.0)   \
    X(log_multigamma, 2, 100.0)                                                                                        \
    X(bessel_j0, 1, 10.0) X(bessel_j1, 1, 10.0) X(bessel_y0, 1, 15.0) X(bessel_y1, 1, 15.0)                            \
    X(modified_i0, 1, 10.0) X(modified_i1, 1, 10.0) X(scaled_i0, 1, 8.0) X(scaled_i1, 1, 8.0)                          \
    X(modified_k0, 1, 15.0) X(modified_k1, 1, 15.0) X(scaled_k0, 1, 15.0) X(scaled_k1, 1, 15.0)                        \
    X(airy_ai, 1, 15.0) X(spherical_j0, 1, 5.0) ORTHOGONAL_KERNELS(X)
#define ORTHOGONAL_KERNELS(X)                                                                                          \
    X(chebyshev_t, 2, 10.0) X(chebyshev_u, 2, 10.0) X(chebyshev_v, 2, 10.0) X(chebyshev_w, 2, 10.0)                    \
    X(hermite_h, 2, 10.0) X(hermite_he, 2, 10.0) X(laguerre_l, 2, 20.0) X(legendre_p, 2, 20.0)

enum { SPECIAL_BLOCK = 256 };
#define SPECIAL_ARGUMENTS double *out, const double *const *in, size n, int single
#define DECLARE_SPECIAL(name, nin, cost) void block_##name(SPECIAL_ARGUMENTS);
SPECIAL_KERNELS(DECLARE_SPECIAL)
/* A kernel that takes one number after the other: a function of x, and of y where there are two inputs. */
#define BY_ELEMENT(name, y_in, value)                                  \
    void block_##name(SPECIAL_ARGUMENTS)                               \
    {                                                                  \
        (void)single;                                                  \
        for (size i = 0; i < n; i++) {                                 \
            const double x = in[0][i], y = in[y_in][i];                \
            (void)y;                                                   \
            out[i] = value;                                            \
        }                                                              \
    }
#endif
