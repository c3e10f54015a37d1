/* Everything that is compiled once for each instruction set: included by loops_*.c after the target is set. */
#include "kernels.h"
#include "pool.h"
#include "special.h"
#include "vecmath.h"
#include "wide.h"
#include "doubles.h"

#ifndef VECTOR_BYTES
#define VECTOR_BYTES 16
#define GEMM_ROWS 4
#endif

#include "casts.inc.h"
#include "gather.inc.h"

#define REAL float
#define F(name) name##_f32
#define SINGLE 1
#include "reals.inc.h"

#define REAL double
#define F(name) name##_f64
#define SINGLE 0
#include "reals.inc.h"

static void sin_loop_f64(double *out, const double *const *in, size n)
{
    for (size i = 0; i < n; i++) out[i] = sine_f64(in[0][i], 0);
}
static void cos_loop_f64(double *out, const double *const *in, size n)
{
    for (size i = 0; i < n; i++) out[i] = sine_f64(in[0][i], 1);
}
static int tame_angles_f32(const float *const *in, size n)
{
    int tame = 1;
    for (size i = 0; i < n; i++) tame &= tame_angle_f32(in[0][i]);
    return tame;
}
static int tame_angles_f64(const double *const *in, size n)
{
    int tame = 1;
    for (size i = 0; i < n; i++) tame &= tame_angle_f64(in[0][i]);
    return tame;
}

static void series_loop(double *out, const double *t, const double *coefficients, size count, size n)
{
    enum { VECTORS = 4, LANES = sizeof(vector_f64) / sizeof(double), WIDTH = VECTORS * LANES };
    double numbers[WIDTH] = {0};
    for (size at = 0; at < n; at += WIDTH) {
        const size width = (n - at < WIDTH ? n - at : WIDTH) * (size)sizeof(double);
        vector_f64 x[VECTORS], a[VECTORS], b[VECTORS];
        memcpy(numbers, t + at, (size_t)width);
        for (int v = 0; v < VECTORS; v++) {
            x[v] = *(const vector_f64 *)(numbers + v * LANES);
            a[v] = b[v] = (vector_f64){0};
        }
        for (size k = count - 1; k > 0; k--)
            for (int v = 0; v < VECTORS; v++) {
                const vector_f64 next = (x[v] + x[v]) * a[v] + (coefficients[k] - b[v]);
                b[v] = a[v], a[v] = next;
            }
        for (int v = 0; v < VECTORS; v++)
            *(vector_f64 *)(numbers + v * LANES) = x[v] * a[v] + (coefficients[0] - b[v]);
        memcpy(out + at, numbers, (size_t)width);
    }
}
#if VECTOR_BYTES < 64
static int tame_powers_f32(const float *const *in, size n)
{
    int tame = 1;
    for (size i = 0; i < n; i++) tame &= bits_f32(in[0][i]) >= 0;
    return tame;
}
#endif

#define PASTE(a, b) a##b
#define TABLE(isa) PASTE(kernels_, isa)
#define NAME(isa) NAME_(isa)
#define NAME_(isa) #isa

const struct kernels TABLE(ISA) = {
    .name = NAME(ISA),
    .gemm_columns_bytes = 2 * VECTOR_BYTES, .gemm_rows = GEMM_ROWS,
#define ENTRY(kernel, nin, cost) .kernel##_f32 = kernel##_loop_f32, .kernel##_f64 = kernel##_loop_f64,
    ELEMENTWISE_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, nin) .kernel##_f32 = kernel##_loop_f32, .kernel##_f64 = kernel##_loop_f64,
    ARITHMETIC_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel) .kernel##_f32 = kernel##_loop_f32,
    SINGLE_KERNELS(ENTRY)
#undef ENTRY
#if VECTOR_BYTES < 64
#define ENTRY(kernel, nin) .kernel##_f32 = kernel##_loop_f32, .kernel##_f64 = kernel##_loop_f64,
    SCALAR_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel) .kernel##_f64 = kernel##_loop_f64,
    SINGLE_KERNELS(ENTRY) ENTRY(tanh)
#undef ENTRY
    .power_f32 = power_loop_f32, .tame_powers_f32 = tame_powers_f32,
#endif
#define ENTRY(kernel) .kernel##_narrow = kernel##_narrow_loop,
    NARROW_KERNELS(ENTRY)
#undef ENTRY
    .tame_angles_f32 = tame_angles_f32, .series = series_loop,
    .sin_f64 = sin_loop_f64, .cos_f64 = cos_loop_f64, .tame_angles_f64 = tame_angles_f64,
#define ENTRY(kernel) .complex_##kernel##_f32 = complex_##kernel##_f32,
    HOLOMORPHIC_KERNELS(ENTRY) .complex_log_f32 = complex_log_f32, .complex_divide_f32 = complex_divide_f32,
#undef ENTRY
#define ENTRY(kernel) .complex_##kernel##_f64 = complex_##kernel##_f64,
    HOLOMORPHIC_KERNELS(ENTRY) .complex_divide_f64 = complex_divide_f64,
#undef ENTRY
    .tame_quotients_f32 = tame_quotients_f32, .tame_quotients_f64 = tame_quotients_f64,
#define ENTRY(kernel, arguments) .kernel##_f32 = kernel##_rows_f32, .kernel##_f64 = kernel##_rows_f64,
    ROW_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, columns, constants) .kernel##_update_f32 = kernel##_update_f32, .kernel##_update_f64 = kernel##_update_f64,
    OPTIMIZER_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel) .kernel##_f32 = kernel##_f32, .kernel##_f64 = kernel##_f64,
    ATTENTION_KERNELS(ENTRY) PRODUCT_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, arguments) .kernel##_f32 = kernel##_f32, .kernel##_f64 = kernel##_f64,
    DEPTHWISE_KERNELS(ENTRY) PIXEL_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, arguments) .kernel##_f32 = kernel##_f32, .kernel##_f64 = kernel##_f64,
    CONV_KERNELS(ENTRY) FOLD_KERNELS(ENTRY) SAMPLING_KERNELS(ENTRY) ALIGNMENT_KERNELS(ENTRY) POOLING_KERNELS(ENTRY) EXTREME_KERNELS(ENTRY)
    WINOGRAD_KERNELS(ENTRY) BROADCAST_KERNELS(ENTRY) FOURIER_KERNELS(ENTRY) TRIANGLE_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, arguments) .kernel = kernel##_loop,
    CAST_KERNELS(ENTRY) GATHER_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(kernel, arguments) .kernel##_rows_f32 = kernel##_rows_f32, .kernel##_rows_f64 = kernel##_rows_f64,
    RECURRENT_KERNELS(ENTRY)
#undef ENTRY
};
