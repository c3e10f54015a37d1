/* Loops of our own for functions of NumPy that it computes one number at a time or less exactly, put in the place of NumPy's (fast.c).
 * Where a kernel does not hold (huge quotients and angles), NumPy's loop does that block. */
#include "wengert.h"

#include "fast.h"

enum { BLOCK = 512 };

struct own {
    const char *name;
    int nin;
    void (*single)(float *, const float *const *, size);
    void (*twice)(double *, const double *const *, size);
    int (*tame_single)(const float *const *, size);
    int (*tame_twice)(const double *const *, size);
    struct loop numpy_single, numpy_twice;
    int signed_rest; /* a rest that is zero has the sign of what was divided, as PyTorch's, where NumPy gives it the divisor's */
};

#define DEFINE_LOOP(REAL, which)                                                                                      \
    static void loop_##which(char **args, const npy_intp *count, const npy_intp *steps, void *data)                   \
    {                                                                                                                 \
        const struct own *own = data;                                                                                 \
        const int nin = own->nin;                                                                                     \
        REAL buffer[3][BLOCK];                                                                                        \
        for (npy_intp at = 0; at < *count; at += BLOCK) {                                                             \
            npy_intp n = *count - at < BLOCK ? *count - at : BLOCK;                                                   \
            const REAL *in[2];                                                                                        \
            char *here[3];                                                                                            \
            for (int k = 0; k <= nin; k++) here[k] = args[k] + at * steps[k];                                         \
            for (int k = 0; k < nin; k++) {                                                                           \
                in[k] = steps[k] == sizeof(REAL) ? (const REAL *)here[k] : buffer[k];                                 \
                if (steps[k] != sizeof(REAL) && (!at || steps[k]))                                                    \
                    for (npy_intp i = 0; i < n; i++) buffer[k][i] = *(const REAL *)(here[k] + i * steps[k]);          \
            }                                                                                                         \
            if (own->tame_##which && !own->tame_##which(in, n)) {                                                     \
                REAL divided[BLOCK];                                                                                  \
                if (own->signed_rest) memcpy(divided, in[0], n * sizeof(REAL));                                               \
                own->numpy_##which.function(here, &n, steps, own->numpy_##which.data);                                \
                for (npy_intp i = 0; own->signed_rest && i < n; i++) {                                                \
                    REAL *rest = (REAL *)(here[nin] + i * steps[nin]);                                                \
                    if (*rest == 0) *rest = (REAL)copysign(0.0, divided[i]);                                          \
                }                                                                                                     \
                continue;                                                                                             \
            }                                                                                                         \
            const int straight = steps[nin] == sizeof(REAL);                                                          \
            own->which(straight ? (REAL *)here[nin] : buffer[2], in, n);                                              \
            if (straight) continue;                                                                                   \
            for (npy_intp i = 0; i < n; i++) *(REAL *)(here[nin] + i * steps[nin]) = buffer[2][i];                    \
        }                                                                                                             \
    }
DEFINE_LOOP(float, single)
DEFINE_LOOP(double, twice)

/* The exponential of complex numbers; `data` is NumPy's loop. */
#define DEFINE_COMPLEX_EXP(REAL, SUFFIX)                                                                              \
    static void complex_exp_##SUFFIX(char **args, const npy_intp *count, const npy_intp *steps, void *data)           \
    {                                                                                                                 \
        const struct loop *numpy = data;                                                                              \
        enum { FEW = 128, PAIR = 2 * sizeof(REAL) }; /* few, as one odd number sends a block to NumPy */              \
        REAL buffer[2 * FEW];                                                                                         \
        for (npy_intp at = 0; at < *count; at += FEW) {                                                               \
            npy_intp n = *count - at < FEW ? *count - at : FEW;                                                       \
            char *here[2] = {args[0] + at * steps[0], args[1] + at * steps[1]};                                       \
            const int straight = steps[1] == PAIR;                                                                    \
            if (steps[0] != PAIR)                                                                                     \
                for (npy_intp i = 0; i < n; i++) memcpy(buffer + 2 * i, here[0] + i * steps[0], PAIR);                \
            if (!kernels->complex_exp_##SUFFIX(straight ? (REAL *)here[1] : buffer,                                   \
                                               steps[0] == PAIR ? (const REAL *)here[0] : buffer, n))                 \
                numpy->function(here, &n, steps, numpy->data);                                                        \
            else if (!straight)                                                                                       \
                for (npy_intp i = 0; i < n; i++) memcpy(here[1] + i * steps[1], buffer + 2 * i, PAIR);                \
        }                                                                                                             \
    }
DEFINE_COMPLEX_EXP(float, f32)
DEFINE_COMPLEX_EXP(double, f64)

void arithmetic_replace_complex(const char *name, struct loop *single, struct loop *twice)
{
    static struct loop numpy[2];
    if (strcmp(name, "exp")) return;
    if (!numpy[0].function) numpy[0] = *single, numpy[1] = *twice;
    *single = (struct loop){complex_exp_f32, &numpy[0], NPY_CFLOAT, ROWS_NONE};
    *twice = (struct loop){complex_exp_f64, &numpy[1], NPY_CDOUBLE, ROWS_NONE};
}

void arithmetic_replace(const char *name, struct loop *single, struct loop *twice)
{
    static struct own owns[] = {
#define ENTRY(name, nin) {#name, nin, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}, 0},
        ARITHMETIC_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(name) {#name, 1, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}, 0},
        SINGLE_KERNELS(ENTRY)
#undef ENTRY
        {"sin", 1, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}, 0},
        {"cos", 1, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}, 0},
    };
    static int ready;
    if (!ready) {
        int at = 0;
#define ENTRY(name, nin) owns[at].single = kernels->name##_f32, owns[at++].twice = kernels->name##_f64;
        ARITHMETIC_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(name) owns[at++].single = kernels->name##_f32;
        SINGLE_KERNELS(ENTRY)
#undef ENTRY
        owns[at++].twice = kernels->sin_f64;
        owns[at++].twice = kernels->cos_f64;
        ready = 1;
    }
    for (size k = 0; k < (size)(sizeof owns / sizeof *owns); k++) {
        struct own *own = &owns[k];
        if (strcmp(own->name, name)) continue;
        if (!own->numpy_single.function) {
            own->numpy_single = *single, own->numpy_twice = *twice, own->signed_rest = !strcmp(name, "remainder");
            if (!strcmp(name, "remainder") || !strcmp(name, "fmod") || !strcmp(name, "floor_divide"))
                own->tame_single = kernels->tame_quotients_f32, own->tame_twice = kernels->tame_quotients_f64;
            if (!own->single) own->tame_twice = kernels->tame_angles_f64;
            if (!strcmp(name, "tan")) own->tame_single = kernels->tame_angles_f32;
        }
        if (own->single) *single = (struct loop){loop_single, own, NPY_FLOAT, ROWS_NONE};
        if (own->twice) *twice = (struct loop){loop_twice, own, NPY_DOUBLE, ROWS_NONE};
    }
}
