/* The logical functions of floating-point numbers, which NumPy computes one number at a time: zeros of either sign are false, NaN is
 * true. Put in the place of NumPy's loops (fast.c). */
#include "wengert.h"

#include "fast.h"

#define TRUTH(REAL, name, nin, expression)                                                                        \
    static void name##_##REAL(char **args, const npy_intp *count, const npy_intp *steps, void *unused)            \
    {                                                                                                             \
        const npy_intp n = *count, width = sizeof(REAL);                                                          \
        const char *first = args[0], *second = args[nin - 1];                                                     \
        const npy_intp step = steps[0], other = steps[nin - 1];                                                   \
        (void)unused;                                                                                             \
        if (step == width && (other == width || !other) && steps[nin] == 1) {                                     \
            const REAL *restrict x = (const REAL *)first, *restrict y = (const REAL *)second;                     \
            npy_bool *restrict to = (npy_bool *)args[nin];                                                        \
            const int b = n && !other && *y != 0;                                                                 \
            if (other) {                                                                                          \
                for (npy_intp i = 0; i < n; i++) { const int a = x[i] != 0, b = y[i] != 0; (void)b, to[i] = (expression); } \
            } else                                                                                                \
                for (npy_intp i = 0; i < n; i++) { const int a = x[i] != 0; (void)b, to[i] = (expression); }      \
            return;                                                                                               \
        }                                                                                                         \
        for (npy_intp i = 0; i < n; i++) {                                                                        \
            const int a = *(const REAL *)(first + i * step) != 0, b = *(const REAL *)(second + i * other) != 0;   \
            (void)b;                                                                                              \
            *(npy_bool *)(args[nin] + i * steps[nin]) = (expression);                                             \
        }                                                                                                         \
    }
#define TRUTHS(X, REAL)                  \
    X(REAL, logical_and, 2, a & b)       \
    X(REAL, logical_or, 2, a | b)        \
    X(REAL, logical_xor, 2, a ^ b)       \
    X(REAL, logical_not, 1, !a)
TRUTHS(TRUTH, float)
TRUTHS(TRUTH, double)

void truths_replace(const char *name, struct loop *single, struct loop *twice)
{
#define REPLACE(REAL, known, nin, expression) \
    if (!strcmp(name, #known)) *(sizeof(REAL) == sizeof(float) ? single : twice) = (struct loop){known##_##REAL, NULL, NPY_BOOL, ROWS_NONE};
    TRUTHS(REPLACE, float)
    TRUTHS(REPLACE, double)
#undef REPLACE
}
