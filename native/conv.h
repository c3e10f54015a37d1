/* Convolutions: what the files conv*.c share. */
#ifndef WENGERT_CONV_H
#define WENGERT_CONV_H

#include "channels.h"

#include "pool.h"

enum {
    AXES = 3,
    GROUP_OF_WINDOWS = 512, /* images are taken together until they have as many windows */
    FEW_PANELS = 16,        /* that meet filters: packing them takes longer than it saves */
    TILES_AT_ONCE = 16,      /* of filters, packed together: they are neighbours in memory */
    BEHIND = 4,             /* panels' widths that may be read behind the images */
    THIN = 3,               /* fewer filters are taken one by one */
    FEW_FILTERS = 2,        /* whose gradients are sums of products, not tiles */
    FRESH_BYTES = 1 << 20,  /* of filters, from which on few windows do not find them packed in memory */
    COLUMNS_FIRST = 64,     /* windows whose transforms for Winograd's products do not pay */
    BETWEEN = 16,           /* planes, between looks at signals */
    SPARE = 16,             /* places to fill up a list of taps to whole tiles */
};

struct axis {
    size size, kernel, stride, pad, dilation, count;
};

/* A call. Axes that are missing come first and have length one; channels, filters and rows are those of one group. */
struct conv {
    struct axis axis[AXES];
    int type;
    size width; /* of a number, in bytes */
    size images, groups, channels, filters, kernel, pixels, results; /* kernel: taps of one channel; pixels of an image */
    struct source source;
    struct lattice *lattice;
    int lattices;
    size *index; /* memory of the offsets */
    const char *from, *weight, *bias;
    char *out, *left, *work;
    size rows, filter_step, bundle; /* of the product; from filter to filter; numbers of a group's filters */
    size together, batches, shares; /* images at a time; how many such; into how many parts the rows are cut */
    size from_image, out_image, out_filter, work_bytes;
    size sums_bytes;
    int fresh;    /* whether filters are packed some taps at a time, as only few windows meet them */
    int in_place; /* whether windows are read where they lie, or packed */
    const struct channel_map *map; /* what results go through, while they are near; NULL: nothing */
    size spare, behind; /* numbers that may be read behind all images, and that the kernels read behind those at hand */
};

/* The map, of the results of an image for filters (of all groups) from `first` on. */
void conv_map(const struct conv *v, size image, size first, size count);

/* Ways to compute a convolution; conv.c has their names. */
enum way { BY_PRODUCT, BY_DEPTHWISE, BY_WINOGRAD, BY_BROAD, BY_COLUMNS, BY_FOLDED, BY_IN_PLACE, BY_PACKED, BY_DOTS, BY_TILES, WAYS };

/* Whether a way is taken: it is, if it takes fewer cycles than the others would, unless a test says which way to go. And what came of
 * a way, which is handed on. Both are noted for `conv_chosen`. */
int conv_pays(enum way way, double cycles, double others);
int conv_took(enum way way, int done);
void conv_forget(void);

static inline size tile_columns(const struct conv *v)
{
    return kernels->gemm_columns_bytes / v->width;
}
/* Whether tiles are of vectors of 32 bytes or fewer, or computed by such, which some costs were measured for apart. */
static inline int are_narrow(void)
{
    return kernels->gemm_columns_bytes <= 64 || halves_vectors;
}
static inline size tiles_of(size count, size tile)
{
    return (count + tile - 1) / tile;
}

/* Fill in the shapes; -1 if they are not for these kernels. `how`: stride, padding, dilation, groups. */
int conv_describe(struct conv *v, PyArrayObject *model, int ndim, const npy_intp *image, const npy_intp *weight, PyObject *const *how);

/* Read the shape of what is to be made; 0 on success. And whether these are gradients of the results. */
int conv_read_shape(PyObject *tuple, int n, npy_intp *shape);
int conv_fits(const struct conv *v, PyArrayObject *g);

/* Memory for offsets and lattices. */
int conv_has_memory(struct conv *v, size numbers, size lattices);
void conv_release(struct conv *v);

/* Whether some window sees the image at this tap of an axis, or only zeros around it. */
int conv_sees(const struct axis *a, size tap);
/* Taps along an axis, and of a channel, that some window sees the image at. */
size conv_seen_along(const struct axis *a);
size conv_seen(const struct conv *v);

/* The padded images of a convolution, columns that meet the same taps side by side if `split`; and its windows: one lattice. */
void conv_pad_images(struct conv *v, int split);
void conv_lattice(struct conv *v);
/* Whether less is computed in vain when a plane is taken as one line than when each row is one. */
int conv_is_flat(const struct conv *v, const struct lattice *l);
/* Whether an image stays in the second cache, beside what else is there. */
int conv_is_near(const struct conv *v);

/* Filters of one tap that see all places of an image see a line. */
void conv_straighten(struct conv *v);
/* The images, or what filters of one tap see of them in steps, which are one then; takes the reference. NULL with an error. */
PyArrayObject *conv_pick(struct conv *v, PyArrayObject *x);

/* Where the windows of a batch of images begin, filled up by SPARE. */
void conv_list_places(const struct conv *v, size *place);
/* Cycles for a panel of windows and a tap, of the better of packing windows and reading them where they lie. */
double conv_cost(const struct conv *v);
double conv_cost_of(const struct conv *v, int in_place);
/* Whether windows that are read where they lie are taken by rows whose last two vectors overlap (conv_lines.inc.h). */
int conv_is_by_lines(const struct conv *v, const struct lattice *l);

/* How many images at a time, and how the work is cut; in how many chunks. */
int conv_share_out(struct conv *v, size windows, size parts);

/* Images of a group where they lie, if they have no padding and enough may be read behind them; else in `padded`, where the batch `ready`
 * is (-1: none yet). And how far apart they are. */
const char *conv_batch(const struct conv *v, char *padded, size *ready, size batch, size group, size first, size images, size *image);
/* Images of a group, into memory that is zero but for others of the same shape; and the memory of a batch. */
void conv_pad_batch(const struct conv *v, char *to, size group, size first, size images);
size conv_batch_bytes(const struct conv *v);

/* The results, or the gradient in the images, by Winograd's products: 1 if that is done, 0 if it is not for this, or some are not
 * finite; -1 with an error. */
int winograd_run(struct conv *v, int backward);
/* Whether results would be computed so, if they are finite. */
int winograd_suits(struct conv *v);
/* The same for the gradient in the filters. */
int winograd_weights(struct conv *v, const char *grad, char *out);

/* The results by vectors of filters: 1 if that is done, 0 if it would take longer; -1 with an error. */
int broad_run(const struct conv *given);
/* For images and results whose channels lie innermost, in one group: whether it takes less time than what turns them, and the results. */
int broad_suits_pixels(const struct conv *v);
int broad_pixels(const struct conv *given);

/* The gradient in the images, and in the filters, where few windows (at most so many) see them: as above. */
int columns_run(const struct conv *given);
int columns_weights(struct conv *v, const char *grad, char *out, size most);

/* The gradient in the images by a product for all taps: as above; and its cost, as of conv_cost, for all panels and taps. */
int folded_run(const struct conv *given);
double folded_cost(const struct conv *v);

/* Whether windows are whole images; then the results and gradients are products of two matrices, the rows of arrays or, turned, their columns,
 * plus a bias (None: without). */
int whole_suits(const struct conv *v, PyArrayObject *given);
PyArrayObject *whole_product(PyObject *left, int left_turned, PyObject *right, int right_turned, PyObject *bias, int ndim, const npy_intp *shape);

int conv_is_finite(const char *numbers, size count, int type);
/* Where all of the first are zeros, as in gradients of gradients of ReLUs, and all others are finite, so is what comes of them: whether
 * that was written. */
int conv_vanishes(PyArrayObject *zeros, size count, PyArrayObject *others, size other_count, PyArrayObject *out);

/* The same for depthwise layers, of the most common shapes. */
int depthwise_run(struct conv *v, int backward);
int depthwise_weights(struct conv *v, const char *grad, char *out);

/* Images as planes, wherever their channels lie: a new reference to the array, or to a copy. Whether results are to lie as these images
 * do, channels innermost; and planes so: takes the reference. */
PyArrayObject *conv_planes(PyObject *array);
int conv_by_pixels(PyArrayObject *given);
PyArrayObject *conv_pixels(PyArrayObject *planes);

/* Depthwise layers of images whose channels lie innermost: whether it is one; the results, or the gradient in the images, and that in the
 * filters, as new arrays. */
int pixels_fit(const struct conv *v, PyArrayObject *given);
PyArrayObject *pixels_run(const struct conv *v, PyArrayObject *given, PyObject *weight, PyObject *bias, const npy_intp *shape, int backward);
PyArrayObject *pixels_weights(const struct conv *v, PyArrayObject *given, PyObject *grad, int ndim, const npy_intp *shape);

/* conv_weight(x, g, filter shape, stride, padding, dilation, groups) */
PyObject *conv_weight(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* conv_chosen(), conv_only(name | None) */
PyObject *conv_chosen(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *conv_only(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
