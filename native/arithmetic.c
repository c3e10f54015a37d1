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

/* Functions of complex numbers, of one or two operands. */
struct own_complex {
    const char *name;
    int nin;
    int (*single)(float *, const float *, size), (*pair_single)(float *, const float *, const float *, size);
    int (*twice)(double *, const double *, size), (*pair_twice)(double *, const double *, const double *, size);
    struct loop numpy_single, numpy_twice;
};

#define DEFINE_COMPLEX(REAL, which)                                                                                   \
    static void complex_loop_##which(char **args, const npy_intp *count, const npy_intp *steps, void *data)           \
    {                                                                                                                 \
        const struct own_complex *own = data;                                                                         \
        enum { FEW = 128, PAIR = 2 * sizeof(REAL) }; /* few, as one odd number sends a block to NumPy */              \
        REAL buffer[3][2 * FEW];                                                                                      \
        const int nin = own->nin, straight = steps[nin] == PAIR;                                                      \
        for (npy_intp at = 0; at < *count; at += FEW) {                                                               \
            npy_intp n = *count - at < FEW ? *count - at : FEW;                                                       \
            const REAL *in[2] = {NULL, NULL};                                                                         \
            char *here[3] = {NULL};                                                                                   \
            for (int k = 0; k <= nin; k++) here[k] = args[k] + at * steps[k];                                         \
            for (int k = 0; k < nin; k++) {                                                                           \
                in[k] = steps[k] == PAIR ? (const REAL *)here[k] : buffer[k];                                         \
                if (steps[k] != PAIR && (!at || steps[k]))                                                            \
                    for (npy_intp i = 0; i < n; i++) memcpy(buffer[k] + 2 * i, here[k] + i * steps[k], PAIR);         \
            }                                                                                                         \
            REAL *to = straight ? (REAL *)here[nin] : buffer[2];                                                      \
            if (!(nin == 1 ? own->which(to, in[0], n) : own->pair_##which(to, in[0], in[1], n)))                      \
                own->numpy_##which.function(here, &n, steps, own->numpy_##which.data);                                \
            else if (!straight)                                                                                       \
                for (npy_intp i = 0; i < n; i++) memcpy(here[nin] + i * steps[nin], buffer[2] + 2 * i, PAIR);         \
        }                                                                                                             \
    }
DEFINE_COMPLEX(float, single)
DEFINE_COMPLEX(double, twice)

void arithmetic_replace_complex(const char *name, struct loop *single, struct loop *twice)
{
    static struct own_complex owns[] = {
#define ENTRY(name) {#name, 1, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}},
        HOLOMORPHIC_KERNELS(ENTRY) ENTRY(log)
#undef ENTRY
        {"divide", 2, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}},
    };
    static int ready;
    if (!ready) {
        struct own_complex *own = owns;
#define ENTRY(name) own->single = kernels->complex_##name##_f32, own++->twice = kernels->complex_##name##_f64;
        HOLOMORPHIC_KERNELS(ENTRY)
#undef ENTRY
        own++->single = kernels->complex_log_f32;
        own->pair_single = kernels->complex_divide_f32, own->pair_twice = kernels->complex_divide_f64;
        ready = 1;
    }
    for (size k = 0; k < (size)(sizeof owns / sizeof *owns); k++) {
        struct own_complex *own = &owns[k];
        if (strcmp(own->name, name)) continue;
        if (!own->numpy_single.function) own->numpy_single = *single, own->numpy_twice = *twice;
        *single = (struct loop){complex_loop_single, own, NPY_CFLOAT, ROWS_NONE};
        if (own->twice || own->pair_twice) *twice = (struct loop){complex_loop_twice, own, NPY_CDOUBLE, ROWS_NONE};
    }
}

void arithmetic_replace(const char *name, struct loop *single, struct loop *twice)
{
    static struct own owns[] = {
#define ENTRY(name, nin) {#name, nin, NULL, NULL, NULL, NULL, {NULL, NULL, 0, ROWS_NONE}, {NULL, NULL, 0, ROWS_NONE}, 0},
#define OF_ONE(name) ENTRY(name, 1)
        ARITHMETIC_KERNELS(ENTRY) SINGLE_KERNELS(OF_ONE) SCALAR_KERNELS(ENTRY)
        ENTRY(sin, 1) ENTRY(cos, 1) ENTRY(tanh, 1) ENTRY(power, 2)
#undef OF_ONE
#undef ENTRY
    };
    static int ready;
    if (!ready) {
        struct own *own = owns;
#define ENTRY(name, nin) own->single = kernels->name##_f32, own++->twice = kernels->name##_f64;
#define OF_ONE(name) ENTRY(name, 1)
        ARITHMETIC_KERNELS(ENTRY) SINGLE_KERNELS(OF_ONE) SCALAR_KERNELS(ENTRY)
#undef OF_ONE
#undef ENTRY
        own++->twice = kernels->sin_f64;
        own++->twice = kernels->cos_f64;
        own++->twice = kernels->tanh_f64;
        own->single = kernels->power_f32;
        ready = 1;
    }
    for (size k = 0; k < (size)(sizeof owns / sizeof *owns); k++) {
        struct own *own = &owns[k];
        if (strcmp(own->name, name)) continue;
        if (!own->numpy_single.function) {
            own->numpy_single = *single, own->numpy_twice = *twice, own->signed_rest = !strcmp(name, "remainder");
            if (!strcmp(name, "remainder") || !strcmp(name, "fmod") || !strcmp(name, "floor_divide"))
                own->tame_single = kernels->tame_quotients_f32, own->tame_twice = kernels->tame_quotients_f64;
            if (!strcmp(name, "sin") || !strcmp(name, "cos") || !strcmp(name, "tan"))
                own->tame_single = kernels->tame_angles_f32, own->tame_twice = kernels->tame_angles_f64;
            if (!strcmp(name, "power")) own->tame_single = kernels->tame_powers_f32;
        }
        if (own->single) *single = (struct loop){loop_single, own, NPY_FLOAT, ROWS_NONE};
        if (own->twice) *twice = (struct loop){loop_twice, own, NPY_DOUBLE, ROWS_NONE};
    }
}
