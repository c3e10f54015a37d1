/* Loops that NumPy has in vectors of 16 bytes, or for one number at a time, where the processor has AVX2, `narrow` ones where it has no more:
 * put in the place of NumPy's (fast.c), which does what does not lie in a row. */
#include "wengert.h"

#include "fast.h"
#include "sixteen.h"

#ifndef WITH_AVX2
#define WITH_AVX2
#endif

/* A second operand that is the same number everywhere has a loop of its own. */
#define LANES_OF_ONE(name, T, expression)                                                          \
    static WITH_AVX2 void name##_row(T *to, const T *x, size n)                                    \
    {                                                                                              \
        for (size i = 0; i < n; i++) { const T a = x[i]; to[i] = (expression); }                   \
    }                                                                                              \
    static void name##_lanes(char **args, const npy_intp *count, const npy_intp *steps, void *data) \
    {                                                                                              \
        const struct loop *numpy = data;                                                           \
        const npy_intp w = sizeof(T);                                                              \
        if (steps[0] == w && steps[1] == w) name##_row((T *)args[1], (const T *)args[0], *count);  \
        else numpy->function(args, count, steps, numpy->data);                                     \
    }
#define LANES_OF_TWO(name, T, expression)                                                          \
    static WITH_AVX2 void name##_row(T *to, const T *x, const T *y, size n)                        \
    {                                                                                              \
        for (size i = 0; i < n; i++) { const T a = x[i], b = y[i]; to[i] = (expression); }         \
    }                                                                                              \
    static WITH_AVX2 void name##_number(T *to, const T *x, const T *y, size n)                     \
    {                                                                                              \
        const T b = *y;                                                                            \
        for (size i = 0; i < n; i++) { const T a = x[i]; to[i] = (expression); }                   \
    }                                                                                              \
    static void name##_lanes(char **args, const npy_intp *count, const npy_intp *steps, void *data) \
    {                                                                                              \
        const struct loop *numpy = data;                                                           \
        const npy_intp w = sizeof(T);                                                              \
        const int one = !steps[1];                                                                 \
        if (steps[0] == w && (one || steps[1] == w) && steps[2] == w && *count)                    \
            (one ? name##_number : name##_row)((T *)args[2], (const T *)args[0], (const T *)args[1], *count); \
        else numpy->function(args, count, steps, numpy->data);                                     \
    }
LANES_OF_ONE(sqrt, float, __builtin_sqrtf(a))
LANES_OF_ONE(absolute, float, __builtin_fabsf(a))
LANES_OF_ONE(floor, float, __builtin_floorf(a))
LANES_OF_ONE(ceil, float, __builtin_ceilf(a))
LANES_OF_ONE(rint, float, __builtin_rintf(a))
LANES_OF_ONE(trunc, float, __builtin_truncf(a))
LANES_OF_TWO(maximum, npy_int64, a > b ? a : b)
LANES_OF_TWO(minimum, npy_int64, a < b ? a : b)

void lanes_replace(const char *name, struct loop *loops)
{
    static struct {
        const char *name;
        int type;
        PyUFuncGenericFunction function;
        int narrow;
        struct loop numpy;
    } owns[] = {
#define OWN(name, type, narrow) {#name, type, name##_lanes, narrow, {NULL, NULL, 0, ROWS_NONE}},
        OWN(sqrt, NPY_FLOAT, 0) OWN(absolute, NPY_FLOAT, 0) OWN(floor, NPY_FLOAT, 0) OWN(ceil, NPY_FLOAT, 0) OWN(rint, NPY_FLOAT, 0)
        OWN(trunc, NPY_FLOAT, 0) OWN(maximum, NPY_INT64, 1) OWN(minimum, NPY_INT64, 1)
#undef OWN
    };
    const int wide = strcmp(kernels->name, "avx2");
    if (!strcmp(kernels->name, "baseline")) return;
    for (size k = 0; k < (size)(sizeof owns / sizeof *owns); k++) {
        struct loop *known = &loops[owns[k].type];
        if (strcmp(owns[k].name, name) || !known->function || (wide && owns[k].narrow)) continue;
        if (!owns[k].numpy.function) owns[k].numpy = *known;
        *known = (struct loop){owns[k].function, &owns[k].numpy, known->out_type, ROWS_NONE};
    }
}
