/* The kernels of one instruction set, as a table of functions over ranges of contiguous memory. The files loops_*.c
 * compile the same sources (*.inc.h) once for each instruction set; module.c picks a table when it is imported.
 *
 * A kernel knows nothing of Python, strides or threads. Element-wise kernels may work in place. */
#ifndef WENGERT_KERNELS_H
#define WENGERT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t size; /* as npy_intp: signed, of the width of a pointer */

/* name, number of inputs, cost of an element in nanoseconds when vectorised (decides when threads are worth waking) */
#define ELEMENTWISE_KERNELS(X) \
    X(relu, 1, 0.1)            \
    X(relu_grad, 2, 0.15)      \
    X(sigmoid, 1, 0.4)         \
    X(sigmoid_grad, 2, 0.15)   \
    X(tanh_grad, 2, 0.15)      \
    X(gelu, 1, 0.3)            \
    X(gelu_grad, 2, 0.8)       \
    X(gelu_bend, 2, 0.6)       \
    X(gelu_tanh, 1, 0.5)       \
    X(gelu_tanh_grad, 2, 0.6)  \
    X(silu, 1, 0.4)            \
    X(silu_grad, 2, 0.5)       \
    X(softplus, 3, 0.8)        \
    X(softplus_grad, 4, 0.5)   \
    X(log_sigmoid, 1, 0.8)     \
    X(log_sigmoid_grad, 2, 0.4)\
    X(leaky_relu, 2, 0.1)      \
    X(hardshrink, 2, 0.1)      \
    X(softshrink, 2, 0.1)      \
    X(shrink_grad, 3, 0.15)    \
    X(leaky_relu_grad, 3, 0.15)\
    X(hardtanh, 3, 0.1)        \
    X(hardtanh_grad, 4, 0.15)  \
    X(hardsigmoid, 1, 0.1)     \
    X(hardsigmoid_grad, 2, 0.15)\
    X(hardswish, 1, 0.15)      \
    X(hardswish_grad, 2, 0.2)  \
    X(elu, 4, 0.4)             \
    X(elu_grad, 5, 0.5)        \
    X(mish, 1, 0.6)            \
    X(mish_grad, 2, 0.8)       \
    X(rsqrt, 1, 0.2)           \
    X(rsqrt_grad, 2, 0.15)     \
    X(logit_grad, 5, 0.3)      \
    X(cube, 1, 0.1)            \
    X(frac, 1, 0.1)            \
    X(lerp, 3, 0.2)            \
    X(scaled_sum, 3, 0.15)     \
    X(square_difference, 2, 0.15)\
    X(smooth_l1, 3, 0.2)       \
    X(bent_grad, 5, 0.2)       \
    X(nan_to_num, 4, 0.2)      \
    X(gated, 2, 0.4)           \
    X(gated_grad, 3, 0.5)      \
    X(erf, 1, 0.7)             \
    X(erfc, 1, 0.7)            \
    X(erfcx, 1, 1.0)           \
    X(ndtr, 1, 0.7)            \
    X(erfinv, 1, 15.0)         \
    X(lgamma, 1, 20.0)         \
    X(digamma, 1, 15.0)        \
    X(trigamma, 1, 15.0)       \
    X(signum, 1, 0.1)          \
    X(angle, 1, 0.1)           \
    X(threshold, 3, 0.1)       \
    X(threshold_grad, 3, 0.15) \
    X(huber, 3, 0.2)           \
    X(scaled_product, 4, 0.2)  \
    X(scaled_quotient, 4, 0.3) \
    X(logit, 1, 1.0)           \
    X(entr, 1, 1.0)            \
    X(ndtri, 1, 3.0)           \
    X(sinc, 1, 3.0)            \
    X(xlogy, 2, 1.0)           \
    X(xlog1py, 2, 1.0)         \
    X(heaviside, 2, 0.15)

/* What numbers of 16 bits have in the place of a kernel: of float32, and exact enough to be rounded to as many. */
#define NARROW_KERNELS(X) X(gelu)

#define MAX_INPUTS 5

/* What NumPy has too, slower: name, number of inputs. */
#define ARITHMETIC_KERNELS(X) \
    X(remainder, 2)           \
    X(fmod, 2)                \
    X(floor_divide, 2)        \
    X(logaddexp, 2)           \
    X(logaddexp2, 2)          \
    X(nextafter, 2)           \
    X(copysign, 2)            \
    X(hypot, 2)               \
    X(exp2, 1)                \
    X(sign, 1)                \
    X(reciprocal, 1)

/* What NumPy has less exact in float32, by up to 4 ulp; all have one input. */
#define SINGLE_KERNELS(X) X(exp) X(expm1) X(cosh) X(log) X(log2) X(log10) X(arcsin) X(arccos) X(arctan) X(tan)

/* What NumPy computes in vectors only with AVX-512, where these are NULL: both precisions, here; of the former, and tanh,
 * float64; and powers of float32. */
#define SCALAR_KERNELS(X) X(log1p, 1) X(sinh, 1) X(arcsinh, 1) X(arccosh, 1) X(arctanh, 1) X(arctan2, 2)

/* Functions of complex numbers that NumPy takes one by one; besides these the logarithm (complex64) and quotients. */
#define HOLOMORPHIC_KERNELS(X) X(exp) X(sin) X(cos) X(sinh) X(cosh) X(tan) X(tanh) X(sqrt) X(reciprocal)

/* How many columns of a matrix the kernels that go down columns take at a time. */
enum { COLUMNS = 512 };

#define DECLARE_ELEMENTWISE(name, nin, cost)                     \
    void (*name##_f32)(float *out, const float *const *in, size n); \
    void (*name##_f64)(double *out, const double *const *in, size n);

/* Rows of a softmax-like kernel: `rows` rows of `n` elements. */
#define ROW_KERNELS(X)                                                                                             \
    X(softmax, (REAL * out, const REAL *x, size rows, size n))                                                     \
    X(softmax_grad, (REAL * out, const REAL *g, const REAL *y, size rows, size n))                                 \
    X(log_softmax, (REAL * out, const REAL *x, size rows, size n))                                                 \
    X(log_softmax_grad, (REAL * out, const REAL *g, const REAL *y, size rows, size n))                             \
    /* statistics first, then the normalised row; weight and bias may be NULL; mean NULL means RMS normalisation */ \
    X(normalize, (REAL * out, REAL *mean, REAL *rstd, const REAL *x, const REAL *weight, const REAL *bias,         \
                  REAL eps, size rows, size n))                                                                    \
    /* out may be NULL; grad_weight and grad_bias (rows of n, added to) may be NULL */                              \
    X(normalize_grad, (REAL * out, REAL *grad_weight, REAL *grad_bias, const REAL *g, const REAL *x,               \
                       const REAL *mean, const REAL *rstd, const REAL *weight, size rows, size n))                 \
    X(normalize_twice, (REAL * back, REAL *slope, REAL *grad_weight, const REAL *u, const REAL *g, const REAL *x,  \
                        const REAL *weight, const REAL *of_weight, const REAL *of_bias, REAL eps, size rows, size n)) \
    X(moments, (REAL * sum, REAL *square, const REAL *x, REAL centre, size n))                                     \
    X(product_sums, (REAL * sum, REAL *product, const REAL *g, const REAL *x, REAL centre, size n))                \
    X(affine, (REAL * out, const REAL *x, REAL scale, REAL shift, size n))                                         \
    X(affine_relu, (REAL * out, const REAL *x, REAL scale, REAL shift, size n))                                    \
    X(affine_between, (REAL * out, const REAL *x, REAL scale, REAL shift, REAL low, REAL high, size n))                \
    X(affine2, (REAL * out, const REAL *g, const REAL *x, REAL a, REAL b, REAL c, size n))                         \
    X(add, (REAL * out, const REAL *x, size n))                                                                    \
    X(sum_rows, (double *out, const REAL *x, size rows, size n))                                                   \
    /* of rows of n pairs, one pair each; numbers over a divisor, then their root where it is asked for */          \
    X(sum_pairs, (double *out, const REAL *x, size rows, size n))                                                  \
    X(settle, (REAL * out, const double *x, double divisor, int root, size n))                                     \
    /* of `rows` rows, `step` apart, n columns are taken: at most COLUMNS */                                        \
    X(sum_columns, (double *out, const REAL *x, size rows, size step, size n))                                     \
    X(multiply_columns, (double *out, const REAL *x, size rows, size step, size n))                                \
    X(sum_numbers_columns, (double *out, const REAL *x, size rows, size step, size n))                             \
    X(softmax_columns, (REAL * out, const REAL *x, size rows, size step, size n))                                  \
    X(softmax_grad_columns, (REAL * out, const REAL *g, const REAL *y, size rows, size step, size n))              \
    X(log_softmax_columns, (REAL * out, const REAL *x, size rows, size step, size n))                              \
    X(log_softmax_grad_columns, (REAL * out, const REAL *g, const REAL *y, size rows, size step, size n))          \
    /* rest: NULL, or what rounding took from the results */                                                        \
    X(logsumexp_columns, (REAL * out, REAL * rest, const REAL *x, size rows, size step, size n))                    \
    X(logsumexp_grad, (REAL * out, const REAL *g, const REAL *x, const REAL *lse, size rows, size n))              \
    X(logsumexp_grad_columns, (REAL * out, const REAL *g, const REAL *x, const REAL *lse, size rows, size step, size n)) \
    X(square_columns, (double *out, const REAL *x, const REAL *mean, size rows, size step, size n))                \
    X(product_columns, (double *out, const REAL *g, const REAL *x, const REAL *mean, size rows, size step, size n)) \
    X(affine_columns, (REAL * out, const REAL *x, const REAL *scale, const REAL *shift, size rows, size step, size n)) \
    X(affine2_columns, (REAL * out, const REAL *g, const REAL *x, const REAL *a, const REAL *b, const REAL *c,     \
                        size rows, size step, size n))                                                             \
    X(logsumexp, (REAL * out, REAL * rest, const REAL *x, size rows, size n))                                      \
    /* out = scale[r] * (exp(x - lse[r]) - [i == target[r]]) */                                                     \
    X(cross_entropy_grad, (REAL * out, const REAL *x, const REAL *lse, const REAL *scale, const int64_t *target,   \
                           size rows, size n))                                                                     \
    /* runs of 16 uniforms to normals: 8 give the radius, 8 the angle */                                            \
    X(sixteens, (REAL * x, size runs, REAL mean, REAL std))

/* Rows of n elements brought down to one number each; and dropout. */
#define FOLD_KERNELS(X)                                                                        \
    X(fold_product, (double *out, const REAL *x, size rows, size n))                           \
    X(fold_squares, (double *out, const REAL *x, size rows, size n))                           \
    X(fold_largest, (REAL * out, const REAL *x, size rows, size n))                            \
    X(fold_least, (REAL * out, const REAL *x, size rows, size n))                              \
    X(masked_scale, (REAL * out, const REAL *x, const uint8_t *mask, REAL scale, size n))

/* What `rows` rows of n numbers are when an operation is done on them: rows are `..._row` apart, and an operand's steps along a row are
 * zero (one number a row) or one. */
enum { ROWS_NONE, ROWS_ADD, ROWS_SUBTRACT, ROWS_MULTIPLY, ROWS_DIVIDE, ROWS_WANTED };
#define BROADCAST_KERNELS(X)                                                                                       \
    X(broadcast_rows, (int operation, REAL * out, size out_row, const REAL *a, size a_row, int a_step, const REAL *b, \
                       size b_row, int b_step, size rows, size n))

/* One step of an optimizer, in place: name, number of arrays (parameter, gradient, state), number of constants. */
#define OPTIMIZER_KERNELS(X)   \
    X(sgd, 2, 5)               \
    X(sgd_first, 3, 5)         \
    X(sgd_first_nesterov, 3, 5) \
    X(sgd_momentum, 3, 5)      \
    X(sgd_nesterov, 3, 5)      \
    X(adam, 4, 8)              \
    X(adam_amsgrad, 5, 8)      \
    X(adagrad, 3, 4)           \
    X(rmsprop, 3, 7)           \
    X(rmsprop_momentum, 4, 7)  \
    X(adadelta, 4, 6)

/* Numbers of 16 bits to float32 and back. */
#define CAST_KERNELS(X)                                       \
    X(widen_half, (float *to, const uint16_t *from, size n))   \
    X(widen_brain, (float *to, const uint16_t *from, size n))  \
    X(narrow_half, (uint16_t *to, const float *from, size n))  \
    X(narrow_brain, (uint16_t *to, const float *from, size n)) \
    X(combine_narrow, (int operation, int brain, uint16_t *out, const uint16_t *a, const uint16_t *b, size n)) \
    X(sum_narrow, (double *out, int brain, const uint16_t *x, size n))

/* Fourier transforms of `lines` lines, FOURIER_LINES at a time: fourier.inc.h */
enum { FOURIER_LINES = 16, FOURIER_PRIME = 127 }; /* the largest radix */
enum { FOURIER_FORWARDS, FOURIER_INVERSE, FOURIER_OF_REAL, FOURIER_TO_REAL };
struct fourier_plan { /* of m numbers */
    size m;
    int stages;
    unsigned char radix[16];
    const void *twiddles, *roots;
};
struct fourier {
    int kind, odd; /* odd: a real line of odd length, which is a complex one */
    size lines, inner, from_length, to_length; /* the axis has so many numbers there and here */
    struct fourier_plan plan, across, along; /* of a line's complex numbers; of the columns and rows of a single line as a matrix */
    size padded; /* 0, or the length of the longer line that is transformed in place of one of an awkward length */
    const void *from, *turns, *bends, *chirp; /* bends: between columns and rows */
    void *to, *table;
    double scale;
};
#define FOURIER_KERNELS(X)                                                       \
    X(fourier, (const struct fourier *f, void *work, size begin, size end))       /* blocks of lines */ \
    X(fourier_line, (const struct fourier *f, void *work, size begin, size end)) /* single lines: fourier_line.inc.h */

/* The largest or smallest of rows of n, or of columns (at most COLUMNS), with the first place where it is. */
#define EXTREME_KERNELS(X)                                                                                         \
    X(extreme_rows, (REAL * out, int64_t *places, const REAL *x, size rows, size n, int least))                    \
    X(extreme_columns, (REAL * out, int64_t *places, const REAL *x, size rows, size step, size n, int least))

/* Substitution in n rows of half a tile's width: triangles.inc.h */
#define TRIANGLE_KERNELS(X) X(substitute_panel, (const char *a, size row, size column, REAL *x, size n, int unit))

/* Rows of elements of 1, 2, 4, 8 or (copied) 16 bytes, put one behind the other, or copied. */
enum { GATHER_CHUNK = 64 };
struct sixteen { uint64_t half[2]; };
#define GATHER_KERNELS(X)                                                                                              \
    X(gather, (char *to, const char *from, const char *end, size width, size n, size step, size rows, size row_step)) \
    X(scatter, (char *to, size to_step, size to_row, const char *from, size width, size n, size step, size rows, size row_step))

/* Attention of one head. Strides are in elements; rows are contiguous. Results are contiguous, and NULL if not wanted. */
struct attention_head {
    size queries, keys, width, depth, block; /* width of queries and keys, depth of values, queries of a block */
    const void *query, *key, *value, *grad, *mask;
    size query_row, key_row, value_row, grad_row, out_row, mask_row, mask_step;
    int mask_kind, causal; /* no mask, which keys may be looked at, or what is added to the scores */
    double scale;
    void *out, *grad_query, *grad_key, *grad_value;
    void *work; /* keys * (width + depth) + block * (width + 2 keys + 1) numbers */
    void (*rounded)(float *, size); /* to 16 bits, where weights are rounded before they are divided by their sum; else NULL */
};
enum { ATTENTION_BLOCK = 64 }; /* queries at most */
#define ATTENTION_KERNELS(X) X(attention_head) X(attention_grad_head)

/* A convolution. Lengths along axes: depth, height, width; places and steps in numbers. */
struct source { /* images with zeros around; those of one group's channels */
    size channels, size[3], before[3], padded[3], split, plane; /* padded[2] is a multiple of split; plane: of a channel */
};
struct lattice { /* windows, the taps in them, and where their results go; windows are neighbours along the width */
    size count[3], from, step[2], to, to_step[3], depth;
    const size *offset, *tap; /* where each tap lies from its window, and in a filter */
    const void *left; /* filters in panels, a panel's taps one after the other; or as they are, left_row apart */
    size left_row, left_group;
};
struct windows {
    const struct lattice *lattice;
    const void *source, *left; /* padded images, `image` apart; the filters of this group */
    size image, images, first, last; /* first and last filter */
    int bias, flat;                  /* whether the last tap is one; in place: whether a plane is one line */
    int lines;                       /* in place: whether rows are taken by vectors that overlap at the end */
    void *out, *work;
    size out_image, out_filter;
    const void *weight, *filter_bias; /* filters as they are, filter_step apart, to be packed some taps at a time; or NULL */
    size filter_step, filters;
    void *packed;
};
struct broad {
    const void *source, *filters;        /* filters in panels of a tile's width, a row for each tap and one for what is added */
    const size *offset, *place;          /* of taps, of windows (filled up to whole tiles) */
    size depth, windows, results, first, last; /* results of an image; first and last filter */
    const struct reach *reach;           /* what each tile of windows sees; NULL: all taps, of all */
    size deep, high;                     /* taps at one depth of the kernel, and in one line; they follow each other, channels in a line */
    void *out, *work;                    /* work: BROAD_TILES tiles */
    size out_image, out_filter;
};
struct reach { /* depths, lines of the kernel: the first, and the one after the last, that see more than padding */
    int depth[2], line[2], all; /* all: whether it is all lines */
};
enum { BROAD_TILES = 16 };
struct weights {
    const void *source, *grad;
    const size *offset, *place; /* of taps (filled up to whole tiles), of windows */
    const struct lattice *lattice; /* for few filters; and the numbers of an image, and whether a plane is one line */
    size image;
    int flat, threes; /* threes: whether taps come in threes of neighbours */
    size images, pixels, filters, taps, grad_image, sums_row;
    void *sums, *last, *work; /* last: sums of a tile that holds taps from `whole` on, which fill no tile */
    size whole, block; /* block: windows that are summed in registers */
    int add; /* to the sums; without, they are overwritten */
};
/* Products of gradients with columns, for few windows: see conv_columns.inc.h. */
struct columns {
    const void *left, *source;   /* gradients in tiles; padded images, or filters */
    const size *offset, *place;  /* of columns in a padded image, if windows see more than padding there; of windows */
    const size *seen;            /* the columns that see more, whose offsets the others are, and their count */
    size count;
    size windows, results, filters, columns, row, grad_image; /* row: numbers from filter to filter */
    void *out, *work;            /* gradients of filters, or padded images that are added to */
};
/* Products of filters with gradients, whose rows are added to padded images: see conv_folded.inc.h. */
struct folded {
    const void *source, *left;     /* gradients; filters in panels, block after block of channels */
    const struct lattice *lattice; /* of the windows, and where taps lie */
    const struct source *padded;
    size images, results, grad_image, filters, taps, channels; /* taps of a channel */
    size block, first, last, windows; /* channels of a block; the first and the last block; windows at a time */
    void *out, *work; /* work: gradients and sums of so many windows, then padded images */
    size out_image, out_channel;
};
enum { FOLDED_WINDOWS = 512 };
enum { COLUMN_PANELS = 8, COLUMN_SPREAD = 16 }; /* of columns, packed together; vectors that a panel is spread over */
/* Taps at a time: as many as keep a panel in the first cache; where they are more, fewer, so that the sums stay in it, too. */
enum { CONV_WHOLE = 288, CONV_DEPTH = 144, CONV_PANELS = 16, CONV_SUMS = 1 << 16, CONV_WINDOWS = 256, CONV_THIN = 2048, CONV_FRESH = 8, CONV_PLACES = 1024, CONV_LINES = 64, CONV_KEPT = 512 };
/* How many of n terms are summed up before they are added to the sum of the others. Where terms have a mean, the error of one long sum
 * grows with its length; it is least for n to the power of 2/3 of them. To leave the registers so often takes a hundredth of the time.
 * Fewer than one and a half blocks are not cut. */
static inline size sum_block(size n)
{
    return n <= 32 ? 32 : n <= 64 ? (n + 1) / 2 : n <= 192 ? 32 : n <= 2048 ? 48 : CONV_DEPTH;
}
#define CONV_KERNELS(X)                                                                                            \
    X(conv_pad, (REAL * to, const REAL *image, const struct source *v))                                            \
    X(conv_pick, (REAL * to, const REAL *from, const REAL *end, size row, size rows, size step, size n))              \
    X(conv_filters, (REAL * to, const REAL *weight, size row, const size *tap, size depth, const REAL *bias,       \
                     size filters, size first, size last))                                                         \
    X(conv_windows, (const struct windows *w))                                                                     \
    X(conv_thin, (const struct windows *w))                                                                        \
    X(conv_in_place, (const struct windows *w))                                                                    \
    X(conv_broad_filters, (REAL * to, const REAL *weight, size row, const size *tap, const size *where, size depth, \
                           const REAL *bias, size filters))                                                                          \
    X(conv_broad, (const struct broad *w))                                                                         \
    X(conv_columns_left, (REAL * to, const REAL *from, const struct columns *w, int filters_first))                \
    X(conv_columns_weights, (const struct columns *w))                                                             \
    X(conv_columns_images, (const struct columns *w))                                                              \
    X(conv_folded_filters, (REAL * to, const REAL *weight, size row, const size *tap, size taps, size filters))    \
    X(conv_folded, (const struct folded *w))                                                                       \
    X(conv_dots, (const struct weights *w))                                                                        \
    X(conv_weights, (const struct weights *w))                                                                     \
    X(conv_sums, (REAL * to, size to_row, const REAL *from, size from_row, size filters, const size *tap, size taps))

/* A depthwise convolution; sizes are those of an image and of its results. */
struct depthwise {
    size height, width, rows, columns, before[2], kernel, stride, planes, plane_step; /* how many images are summed, and their distance */
    int paired; /* whether two images at a time are half a vector wide */
    const void *zeros, *masks; /* a line of zeros, where a row would begin; depthwise_masks */
};
#define DEPTHWISE_KERNELS(X)                                                                                            \
    X(depthwise_masks, (void *masks, size count, size stride, size first, size taps, size length, int paired))          \
    X(depthwise, (void *const *out, const void *const *image, const void *const *weight, const double *start, const struct depthwise *v)) \
    X(depthwise_spread, (void *out, const void *grad, const void *weight, const struct depthwise *v))                   \
    X(depthwise_sums, (void *sums, const void *const *image, const void *const *grad, const struct depthwise *v))       \
    X(depthwise_totals, (void *out, const void *sums, size count))

/* A run of neighbouring windows of images whose channels lie innermost; steps and offsets in numbers. */
struct pixels {
    size channels, first, last;       /* the vectors of channels: first <= k < last */
    size count, step, out_step;       /* windows, from one to the next in the image and among the results */
    size taps, room;                  /* room: from the sums of one tap to the next */
    const size *offset, *tap;         /* where the first window sees the image, and the number of the tap that does */
};
#define PIXEL_KERNELS(X)                                                                                                \
    X(pixels_turned, (REAL * to, size to_row, const REAL *from, size from_row, size rows, size columns))                \
    X(pixels_sums, (REAL * out, const REAL *source, const REAL *weight, const REAL *bias, const struct pixels *v))      \
    X(pixels_products, (REAL * sums, const REAL *source, const REAL *grad, const struct pixels *v))                     \
    X(pixels_leave, (REAL * out, const REAL *sums, const struct pixels *v, size taps))

/* Maxima of windows; places are numbers of the width of a REAL. */
struct pixel_window { /* the pixels of a window: the first, how many along each axis, how far apart */
    size first, taps[3], steps[3];
};
#define POOLING_KERNELS(X)                                                                                              \
    X(pool_down, (REAL * best, void *places, const REAL *image, size there, size first, const size *taps, const size *steps, size n)) \
    X(pool_nothing, (REAL * best, void *places, size n))                                                                \
    X(pool_raise, (REAL * out, const REAL *x, size stride, size n))                                                     \
    X(pool_across, (REAL * out, void *to_places, const REAL *x, const void *places, size stride, size taps, size dilation, size n)) \
    X(pool_leave, (REAL * best, int64_t *index, const REAL *from, const void *places, size rows, size pitch, size n))   \
    X(pixel_most, (REAL * best, int64_t *index, const REAL *image, const struct pixel_window *w, size n))               \
    X(pixel_total, (REAL * out, const REAL *image, const struct pixel_window *w, REAL divisor, size n))                 \
    X(pixel_spread, (REAL * image, const REAL *g, const struct pixel_window *w, REAL divisor, size n))

/* Images sampled at the places of a grid. */
enum { SAMPLES = 64, SAMPLING_AXES = 3, SAMPLING_TAPS = 16 }; /* places of a block; a tap is a neighbour that counts */
enum { SAMPLING_LINEAR, SAMPLING_NEAREST, SAMPLING_CUBIC };
enum { SAMPLING_ZEROS, SAMPLING_BORDER, SAMPLING_REFLECTION };
struct sampling {
    size axes, length[SAMPLING_AXES], channels, area, count; /* of the image; how many places there are in it */
    size place_step, axis_step; /* between the places of a grid, and between the numbers of one */
    int mode, padding, align;
};
/* Each of `out` lines is a sum of `taps` of the `size` lines of a plane, `inner` numbers long: tables (taps, out), a place of -1 is none. */
struct resampling {
    size size, out, taps, inner;
    int holes; /* whether there is a place of -1 */
    const int32_t *places;
};
#define SAMPLING_KERNELS(X)                                                                                             \
    X(resample, (const struct resampling *v, const REAL *factors, const REAL *x, REAL *out, size planes))               \
    X(sample_image, (const struct sampling *v, const REAL *image, const REAL *grid, REAL *out))                         \
    X(sample_image_grad, (const struct sampling *v, const REAL *image, const REAL *grid, const REAL *g, REAL *grad_image, \
                          REAL *grad_grid))

/* Steps of the recursions over alignments; ALIGNMENT_STATES divides the number of states. */
enum { ALIGNMENT_STATES = 16 };
#define ALIGNMENT_KERNELS(X)                                                                                            \
    X(alignment_step, (REAL * out, const REAL *row, const REAL *one, const REAL *two, const REAL *skip, const REAL *emitted, size n)) \
    X(alignment_share, (REAL * out, const REAL *before, const REAL *after, const REAL *emitted, REAL loss, size n))     \
    X(alignment_slope, (REAL * out, const REAL *x, REAL g, size n))

/* c = a b; steps between rows and columns are in elements, the columns of c contiguous. The blocks fit the caches. */
struct product {
    size rows, columns, depth;
    const void *a, *b;
    void *c;
    size a_row, a_column, b_row, b_column, c_row;
    const void *bias; /* of as many numbers as columns, for every row, or NULL */
    int few;          /* has_few_rows of the whole: parts of it, which threads share out, are added up alike */
};
enum { PRODUCT_ROWS = 96, PRODUCT_COLUMNS = 512, PRODUCT_DEPTH = 256 }; /* of a block; its rows and columns fill whole tiles */
#define PRODUCT_KERNELS(X) X(product)

/* Whether a product with a transposed matrix has so few rows that lanes are added up at its end (few.inc.h): more rows do that more
 * often than packing takes, and without its time need many terms. `bytes`: of a vector, whose number decides how many sums stay in
 * registers. */
static inline int has_few_rows(size rows, size depth, int bytes)
{
    return rows >= 2 && rows <= (bytes < 32 ? 0 : bytes) && depth >= 16 * rows;
}

/* A recurrent layer over packed rows: `count[t]` rows from `first[t]` on belong to step t of the walk. */
struct recurrent {
    size hidden, steps;
    const size *first, *count;
    const void *packed, *bias, *h0, *c0, *grad;
    void *gates, *act, *cells, *output, *own, *h, *c, *work;
    int relu;
    /* Instead of the kernels' own product: brain_add, whose room is `narrow`. */
    void (*by_pairs)(float *to, size to_row, const float *a, size a_row, const void *packed, uint16_t *room, size rows, size columns, size depth);
    void *narrow;
};
enum { TWICE_ARRAYS = 12 };
struct recurrent_twice { /* of a gradient's gradient: `along` is what came in for the weight, packed, or NULL */
    size hidden, steps;
    const size *first, *count;
    const void *packed, *along;
    void *arrays[TWICE_ARRAYS];
    int relu;
};
#define RECURRENT_KERNELS(X)                                              \
    X(lstm_dash, (const struct recurrent_twice *v, size begin, size end)) \
    X(lstm_grad_dash, (const struct recurrent_twice *v, size begin, size end)) \
    X(gru_dash, (const struct recurrent_twice *v, size begin, size end))  \
    X(gru_grad_dash, (const struct recurrent_twice *v, size begin, size end)) \
    X(elman_dash, (const struct recurrent_twice *v, size begin, size end)) \
    X(elman_grad_dash, (const struct recurrent_twice *v, size begin, size end)) \
    X(lstm, (const struct recurrent *v, size begin, size end))            \
    X(lstm_grad, (const struct recurrent *v, size begin, size end))       \
    X(gru, (const struct recurrent *v, size begin, size end))             \
    X(gru_grad, (const struct recurrent *v, size begin, size end))        \
    X(elman, (const struct recurrent *v, size begin, size end))           \
    X(elman_grad, (const struct recurrent *v, size begin, size end))      \
    X(gemm_pack, (REAL * to, const REAL *from, size row, size column, size depth, size columns))

/* Images, or results, that are cut into tiles: see winograd.inc.h and winograd_plan.c. */
struct tiled {
    const void *from, *end; /* the numbers, and where they end */
    void *to;
    size image, plane, size[3], channels; /* numbers of an image and of a channel; lengths of the axes */
    size tiles[3];                        /* of an image */
};
enum { MOST_STREAMS = 24, MOST_PHASES = 4, MOST_SIDE = 16, MOST_TAPS = 160, MOST_SUMS = 320 };
enum { NEGATIVE = 2 };
struct stream { /* along an axis: what numbers of the input and of the filters meet, and in which sum */
    int sum, index;    /* index: among those of the sum */
    int a, b, sign;    /* numbers of the input: a, a + b, a - b, -a */
    int taps, tap[3];  /* of filters */
    double by[3];
};
struct phase { /* results from sums: kind of them, from `first` on */
    int kind, first, place[2];
};
struct pieces { /* an axis; a tile has `results`, and what it reads begins at its number times step, plus start */
    int streams, sums, phases, results, reach;
    ptrdiff_t step, start;
    struct stream stream[MOST_STREAMS];
    struct stream back[MOST_SIDE]; /* of a tap: the streams that it is part of, in the place of taps */
    struct phase phase[MOST_PHASES];
    int count[MOST_STREAMS]; /* streams of a sum */
    int plain;               /* whether it is one piece of three taps */
};
struct plan {
    struct pieces axis[3];
    int streams, sums, taps, kernel[3], plain; /* plain: results are those of one piece of three taps along y and x */
    int first[MOST_SUMS], count[MOST_SUMS]; /* of the streams of a sum */
    struct place {
        int sum, index;
    } place[MOST_SUMS]; /* of a stream: along the axes in turn */
};
enum { WINOGRAD_DEPTH = 16 }; /* channels whose products are summed up at a time: more would be less exact */
#define WINOGRAD_KERNELS(X)                                                                                                             \
    X(winograd_images, (REAL * to, const struct tiled *v, const struct plan *p, size first, size tiles, size room, size depth,          \
                        size block, REAL *strip))                                                                                       \
    X(winograd_few, (REAL * to, const struct tiled *v, const struct plan *p, size first, size tiles, size pitch, size channel,          \
                     size channels, REAL *strip))                                                                                       \
    X(winograd_few_sums, (REAL * sums, const struct plan *p, int sum, const REAL *grads, size second, const REAL *images,               \
                          size channels, size pitch, size tiles, int add))                                                              \
    X(winograd_few_close, (REAL * to, const struct plan *p, size filter, const REAL *sums, size filters, size channels, int *lost))     \
    X(winograd_filters, (REAL * to, const struct plan *p, const REAL *weight, const REAL *end, size filter, size channel, size filters, \
                         size channels, size blocks))                                                                                   \
    X(winograd_products, (REAL * sums, const struct plan *p, const REAL *images, const REAL *filters, size depth, size done,            \
                          size blocks, size channels, size room, size tiles, int narrow))                                               \
    X(winograd_results, (const struct tiled *v, const struct plan *p, size first, size tiles, size room, size filter, const REAL *sums, \
                         const REAL *bias, REAL *strip, int *lost))                                                                     \
    X(winograd_sums, (REAL * sums, const struct plan *p, const REAL *grads, size filters, size filter, const REAL *images,              \
                      size depth, size block, size room, size tiles, int narrow, int add))                                              \
    X(winograd_close, (REAL * to, const struct plan *p, size filter, const REAL *sums, size filters, size channels, int *lost))         \
    X(winograd_even, (const REAL *x, size n, int *even))

#define DECLARE_OPTIMIZER(name, columns, constants)                                                                  \
    void (*name##_update_f32)(float *p, const float *g, float *a, float *b, float *c, const float *k, size n); \
    void (*name##_update_f64)(double *p, const double *g, double *a, double *b, double *c, const double *k, size n);

struct kernels {
    const char *name;
    size gemm_columns_bytes, gemm_rows; /* the width and height of a tile of a matrix product */
    OPTIMIZER_KERNELS(DECLARE_OPTIMIZER)
    ELEMENTWISE_KERNELS(DECLARE_ELEMENTWISE)
#define DECLARE_ARITHMETIC(name, nin) DECLARE_ELEMENTWISE(name, nin, 0)
    ARITHMETIC_KERNELS(DECLARE_ARITHMETIC)
#define DECLARE_SINGLE(name) void (*name##_f32)(float *out, const float *const *in, size n);
    SINGLE_KERNELS(DECLARE_SINGLE)
#undef DECLARE_SINGLE
    SCALAR_KERNELS(DECLARE_ARITHMETIC)
#define DECLARE_DOUBLE(name) void (*name##_f64)(double *out, const double *const *in, size n);
    SINGLE_KERNELS(DECLARE_DOUBLE) DECLARE_DOUBLE(tanh)
#undef DECLARE_DOUBLE
    /* a Chebyshev series at n numbers, by Clenshaw's recurrence */
    void (*series)(double *out, const double *t, const double *coefficients, size count, size n);
    void (*power_f32)(float *out, const float *const *in, size n);
    int (*tame_powers_f32)(const float *const *in, size n);
#define DECLARE_NARROW(name) void (*name##_narrow)(float *out, const float *const *in, size n);
    NARROW_KERNELS(DECLARE_NARROW)
#undef DECLARE_NARROW
    void (*sin_f64)(double *out, const double *const *in, size n), (*cos_f64)(double *out, const double *const *in, size n);
    /* whether the kernels hold for all n arguments */
    int (*tame_quotients_f32)(const float *const *in, size n), (*tame_quotients_f64)(const double *const *in, size n);
    int (*tame_angles_f32)(const float *const *in, size n);
    int (*tame_angles_f64)(const double *const *in, size n);
    /* n complex numbers, at most COLUMNS; 0, and nothing is written, where the kernel does not hold for all of them */
#define DECLARE_COMPLEX(name) int (*complex_##name##_f32)(float *out, const float *in, size n), (*complex_##name##_f64)(double *out, const double *in, size n);
    HOLOMORPHIC_KERNELS(DECLARE_COMPLEX)
#undef DECLARE_COMPLEX
    int (*complex_log_f32)(float *out, const float *in, size n);
    int (*complex_divide_f32)(float *out, const float *a, const float *b, size n), (*complex_divide_f64)(double *out, const double *a, const double *b, size n);
#define DECLARE_CAST(name, arguments) void(*name) arguments;
    CAST_KERNELS(DECLARE_CAST) GATHER_KERNELS(DECLARE_CAST)
#undef DECLARE_CAST
#define DECLARE_ATTENTION(name) void (*name##_f32)(const struct attention_head *h), (*name##_f64)(const struct attention_head *h);
    ATTENTION_KERNELS(DECLARE_ATTENTION)
#undef DECLARE_ATTENTION
#define DECLARE_PRODUCT(name) void (*name##_f32)(const struct product *, void *), (*name##_f64)(const struct product *, void *);
    PRODUCT_KERNELS(DECLARE_PRODUCT)
#undef DECLARE_PRODUCT
#define DECLARE_DEPTHWISE(name, arguments) void(*name##_f32) arguments, (*name##_f64) arguments;
    DEPTHWISE_KERNELS(DECLARE_DEPTHWISE)
#define REAL float
#define DECLARE_ROW(name, arguments) void(*name##_f32) arguments;
    ROW_KERNELS(DECLARE_ROW) CONV_KERNELS(DECLARE_ROW) FOLD_KERNELS(DECLARE_ROW) SAMPLING_KERNELS(DECLARE_ROW)
    ALIGNMENT_KERNELS(DECLARE_ROW) EXTREME_KERNELS(DECLARE_ROW) POOLING_KERNELS(DECLARE_ROW) BROADCAST_KERNELS(DECLARE_ROW) WINOGRAD_KERNELS(DECLARE_ROW)
    TRIANGLE_KERNELS(DECLARE_ROW) PIXEL_KERNELS(DECLARE_ROW)
#undef DECLARE_ROW
#define DECLARE_ROW(name, arguments) void(*name##_rows_f32) arguments;
    RECURRENT_KERNELS(DECLARE_ROW)
#undef DECLARE_ROW
#undef REAL
#define REAL double
#define DECLARE_ROW(name, arguments) void(*name##_f64) arguments;
    ROW_KERNELS(DECLARE_ROW) CONV_KERNELS(DECLARE_ROW) FOLD_KERNELS(DECLARE_ROW) SAMPLING_KERNELS(DECLARE_ROW)
    ALIGNMENT_KERNELS(DECLARE_ROW) EXTREME_KERNELS(DECLARE_ROW) POOLING_KERNELS(DECLARE_ROW) BROADCAST_KERNELS(DECLARE_ROW) WINOGRAD_KERNELS(DECLARE_ROW)
    TRIANGLE_KERNELS(DECLARE_ROW) PIXEL_KERNELS(DECLARE_ROW)
#undef DECLARE_ROW
#define DECLARE_ROW(name, arguments) void(*name##_rows_f64) arguments;
    RECURRENT_KERNELS(DECLARE_ROW)
#undef DECLARE_ROW
#undef REAL
    FOURIER_KERNELS(DECLARE_DEPTHWISE)
#undef DECLARE_DEPTHWISE
};

extern const struct kernels kernels_baseline;
#if defined(__x86_64__) && defined(__GNUC__)
#define WENGERT_X86_LEVELS 1
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

/* The table in use. */
extern const struct kernels *kernels;
/* Whether the processor computes vectors of 64 bytes in two halves, so that they do no more than those of 32. */
extern int halves_vectors;

#endif
