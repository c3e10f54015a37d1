/* Everything that is compiled once for each instruction set: included by loops_*.c after the target is set. */
#include "kernels.h"
#include "pool.h"
#include "special.h"
#include "vecmath.h"
#include "wide.h"

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
#define ENTRY(kernel) .kernel##_narrow = kernel##_narrow_loop,
    NARROW_KERNELS(ENTRY)
#undef ENTRY
    .tame_angles_f32 = tame_angles_f32,
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
