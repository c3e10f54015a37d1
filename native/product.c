/* Matrix products: all that are not thin where the OpenBLAS that NumPy came with uses narrower vectors than this processor
 * has (OPENBLAS_CORETYPE asks for it, or the library is older than the processor), or as wide ones that it computes in halves;
 * those of moderate size where else its vectors are as long as ours. After a product on several threads those of OpenBLAS
 * keep turning on their processors for tens of milliseconds, where the threads of our other kernels then have to wait. Other
 * libraries do their products themselves. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "product.h"

#include "pool.h"

#ifdef __linux__
#include <dlfcn.h>
#include <limits.h>
#include <link.h>

static int find_library(struct dl_phdr_info *info, size_t bytes, void *path)
{
    (void)bytes;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "openblas") || strlen(info->dlpi_name) >= PATH_MAX) return 0;
    strcpy(path, info->dlpi_name);
    return 1;
}

void *blas_routine(const char *name)
{
    char path[PATH_MAX];
    void *library = dl_iterate_phdr(find_library, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *routine = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library); /* NumPy keeps it */
    return routine;
}

/* The kind of processor that OpenBLAS works for; NULL if NumPy has another BLAS. */
static const char *blas_core(void)
{
    static const char *const names[] = {"scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename64_",
                                        "openblas_get_corename"};
    const char *core = NULL;
    for (size_t i = 0; !core && i < sizeof names / sizeof *names; i++) {
        char *(*ask)(void) = (char *(*)(void))blas_routine(names[i]);
        if (ask) core = ask();
    }
    return core;
}

/* By how many bytes the vectors of our kernels are longer than those of OpenBLAS; negative where they are not ours to compare. */
static int longer_vectors(void)
{
    static const struct {
        const char *core;
        int bytes;
    } known[] = {{"SkylakeX", 64}, {"Cooperlake", 64}, {"SapphireRapids", 64}, {"Haswell", 32}, {"Zen", 32}, {"Excavator", 32},
                 {"Steamroller", 32}, {"Piledriver", 32}, {"Bulldozer", 32}, {"Sandybridge", 32}, {"Nehalem", 16},
                 {"Barcelona", 16}, {"Core2", 16}, {"Prescott", 16}};
    static int difference = INT_MIN;
    if (difference == INT_MIN) {
        const int ours = (int)kernels->gemm_columns_bytes / 2;
        const char *core = ours > 16 ? blas_core() : NULL;
        int found = -1;
        for (size_t k = 0; core && k < sizeof known / sizeof *known; k++)
            if (!strcmp(core, known[k].core)) found = ours - known[k].bytes;
        difference = found;
    }
    return difference;
}
#else
void *blas_routine(const char *name)
{
    (void)name;
    return NULL;
}
static int longer_vectors(void)
{
    return -1;
}
#endif

/* With fewer rows or columns a product is limited by memory, or by what does not fill a tile; with few rows also by the time
 * that packing a transposed matrix takes. MODERATE: in multiplications. */
static const size THIN = 10, THIN_AND_TRANSPOSED = 16, SHALLOW = 8, PACKED = 24; /* PACKED: of a transposed one in a stack */
static const double MODERATE = 1 << 28;
/* Vectors of 32 bytes have tiles for few rows (gemm_next), and OpenBLAS with the same is slower from two on: not where columns are so
 * few that many rows leave most of a tile empty, nor with four or eight rows, its own tile, and much to add up. */
static const size FEW = 2, NARROW = 3, ROWS_OF_NARROW = 64, DEPTH_OF_NARROW = 32; /* the last in a stack */

/* OpenBLAS with vectors of 64 bytes multiplies small matrices from where they lie; by a transposed one only for few results. Measured where
 * such vectors are computed in halves; elsewhere tiles take them from THIN rows on. */
static const double SMALL_MATRICES = 1e6; /* multiplications */
static const size RESULTS_OF_TRANSPOSED = 1200, ROWS_OF_TRANSPOSED = 24, DEPTH_OF_TRANSPOSED = 32;

static int are_small(size rows, size columns, size depth, int turned)
{
    return (double)rows * columns * depth <= SMALL_MATRICES &&
           (!turned || (rows * columns <= RESULTS_OF_TRANSPOSED && rows <= ROWS_OF_TRANSPOSED && depth >= DEPTH_OF_TRANSPOSED));
}

static int has_few(size rows, size depth)
{
    return has_few_rows(rows, depth, (int)kernels->gemm_columns_bytes / 2);
}

/* Whether a product is better done here; `turned`: the rows of b are not contiguous; `high`, `wide`: how many rows and columns it takes
 * with other vectors. */
static int is_ours(size rows, size columns, size depth, int turned, size width, size high, size wide)
{
    const int longer = longer_vectors(), bytes = (int)kernels->gemm_columns_bytes / 2;
    const int few = turned && columns >= NARROW && has_few(rows, depth);
    if (longer < 0 || (longer == 0 && !few && !halves_vectors && (double)rows * columns * depth > MODERATE)) return 0;
    if (longer == 0 && bytes == 64 && (halves_vectors || rows < THIN) && are_small(rows, columns, depth, turned)) return 0;
    if (longer > 0 || bytes == 64) return few || (rows >= (longer || !halves_vectors ? high : FEW) && columns >= wide && depth >= SHALLOW);
    if (rows < FEW || !depth || columns < NARROW || (columns < THIN && rows > ROWS_OF_NARROW)) return 0;
    if (rows >= THIN || rows % 4 || depth == 1) return 1;
    return turned ? few || width == sizeof(float) : depth <= PRODUCT_DEPTH; /* few.inc.h, or tiles */
}

/* Nanoseconds of a product in a stack, however small: packing, edges. */
static const double SMALL = 120;

struct product_job {
    struct product v;
    int by_rows; /* what the threads share out: the rows, or the columns, by tiles */
    size tile;
    char *work;
    size work_bytes, width;
};

/* The bytes that blocks of both sides take at most, packed. */
static size packed_bytes(size rows, size columns, size depth, size width)
{
    const size high = kernels->gemm_rows, wide = kernels->gemm_columns_bytes / width;
    const size down = (rows + high - 1) / high * high, across = (columns + wide - 1) / wide * wide;
    const size numbers = (down < PRODUCT_ROWS ? down : PRODUCT_ROWS) + (across < PRODUCT_COLUMNS ? across : PRODUCT_COLUMNS);
    return (numbers * (depth < PRODUCT_DEPTH ? depth : PRODUCT_DEPTH) * width + 63) / 64 * 64;
}

static void some_tiles(void *context, size begin, size end, int chunk)
{
    const struct product_job *job = context;
    struct product part = job->v;
    const size first = begin * job->tile, last = end * job->tile;
    if (job->by_rows) {
        part.rows = (last < part.rows ? last : part.rows) - first;
        part.a = (const char *)part.a + first * part.a_row * job->width;
        part.c = (char *)part.c + first * part.c_row * job->width;
    } else {
        part.columns = (last < part.columns ? last : part.columns) - first;
        part.b = (const char *)part.b + first * part.b_column * job->width;
        part.c = (char *)part.c + first * job->width;
        if (part.bias) part.bias = (const char *)part.bias + first * job->width;
    }
    char *work = job->work + chunk * job->work_bytes;
    if (job->width == sizeof(float)) kernels->product_f32(&part, work);
    else kernels->product_f64(&part, work);
}

static int by_tiles(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b, PyArrayObject *bias)
{
    const size width = PyArray_ITEMSIZE(a), rows = PyArray_DIM(a, 0), columns = PyArray_DIM(b, 1), depth = PyArray_DIM(a, 1);
    PyArrayObject *operands[] = {a, b, out};
    for (int k = 0; k < 3; k++)
        for (int axis = 0; axis < 2; axis++)
            if (PyArray_STRIDE(operands[k], axis) % width || !PyArray_ISALIGNED(operands[k])) return 0;
    if (PyArray_STRIDE(out, 1) != width) return 0;
    struct product_job job = {.v = {rows, columns, depth, PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(out), PyArray_STRIDE(a, 0) / width,
                               PyArray_STRIDE(a, 1) / width, PyArray_STRIDE(b, 0) / width, PyArray_STRIDE(b, 1) / width,
                               PyArray_STRIDE(out, 0) / width, bias ? PyArray_DATA(bias) : NULL, has_few(rows, depth)}};
    job.width = width;
    job.by_rows = rows > columns; /* each thread packs the whole of the other side */
    const size high = kernels->gemm_rows, wide = kernels->gemm_columns_bytes / width;
    const size down = (rows + high - 1) / high, across = (columns + wide - 1) / wide, tiles = job.by_rows ? down : across;
    job.tile = job.by_rows ? high : wide;
    job.work_bytes = packed_bytes(rows, columns, depth, width);
    int chunks = pool_chunks(tiles, (double)down * high * across * wide * depth / tiles * (width == sizeof(float) ? 0.01 : 0.02));
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    PyArrayObject *memory = scratch(job.work_bytes / width * chunks, width);
    if (!memory) return -1;
    job.work = aligned(memory);
    Py_BEGIN_ALLOW_THREADS
    pool_run(some_tiles, &job, tiles, chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(memory);
    return 1;
}

static int with_bias(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b, PyArrayObject *bias)
{
    const size rows = PyArray_DIM(a, 0), columns = PyArray_DIM(b, 1), depth = PyArray_DIM(a, 1), width = PyArray_ITEMSIZE(b);
    const int turned = PyArray_STRIDE(b, 1) != width;
    return is_ours(rows, columns, depth, turned, width, turned ? THIN_AND_TRANSPOSED : THIN, THIN) ? by_tiles(out, a, b, bias) : 0;
}

int product_into(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b)
{
    return with_bias(out, a, b, NULL);
}

int product_rows(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b, PyArrayObject *bias)
{
    const int made = with_bias(out, a, b, bias);
    PyObject *result = made ? NULL : PyArray_MatrixProduct2((PyObject *)a, (PyObject *)b, out);
    if (made < 0 || !(made || result)) return -1;
    Py_XDECREF(result);
    if (made || !bias) return 0;
    const size rows = PyArray_DIM(out, 0), columns = PyArray_DIM(out, 1);
    char *data = PyArray_BYTES(out);
    const char *add = PyArray_BYTES(bias);
    Py_BEGIN_ALLOW_THREADS
    for (size r = 0; r < rows; r++)
        if (PyArray_TYPE(out) == NPY_FLOAT) kernels->add_f32((float *)data + r * columns, (const float *)add, columns);
        else kernels->add_f64((double *)data + r * columns, (const double *)add, columns);
    Py_END_ALLOW_THREADS
    return 0;
}

static PyObject *product(PyArrayObject *a, PyArrayObject *b, int (*way)(PyArrayObject *, PyArrayObject *, PyArrayObject *))
{
    npy_intp shape[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    PyArrayObject *out = new_like(a, 2, shape);
    const int done = out ? way(out, a, b) : -1;
    if (done > 0) return (PyObject *)out;
    PyObject *result = done < 0 ? NULL : PyArray_MatrixProduct2((PyObject *)a, (PyObject *)b, out);
    Py_XDECREF(out);
    return result;
}

PyObject *product_of(PyArrayObject *a, PyArrayObject *b)
{
    return product(a, b, product_into);
}

/* ---- stacks of products ---- */

struct stack_job {
    struct product one; /* without the operands */
    struct stack stack;
    const char *a, *b;
    char *c, *work;
    size work_bytes, width;
};

static void some_products(void *context, size begin, size end, int chunk)
{
    const struct stack_job *job = context;
    char *work = job->work + chunk * job->work_bytes;
    for (size item = begin; item < end; item++) {
        struct product part = job->one;
        size a, b;
        stack_offsets(&job->stack, item, &a, &b);
        part.a = job->a + a, part.b = job->b + b, part.c = job->c + item * part.rows * part.c_row * job->width;
        if (job->width == sizeof(float)) kernels->product_f32(&part, work);
        else kernels->product_f64(&part, work);
    }
}

int describe_stack(struct stack *stack, PyArrayObject *a, PyArrayObject *b)
{
    const int na = PyArray_NDIM(a) - 2, nb = PyArray_NDIM(b) - 2;
    stack->axes = na > nb ? na : nb;
    for (int k = 0; k < stack->axes; k++) {
        const int i = k - stack->axes + na, j = k - stack->axes + nb;
        const npy_intp of_a = i < 0 ? 1 : PyArray_DIM(a, i), of_b = j < 0 ? 1 : PyArray_DIM(b, j);
        if (of_a != of_b && of_a != 1 && of_b != 1) return 0;
        stack->length[k] = of_a == 1 ? of_b : of_a;
        stack->a_step[k] = of_a == 1 ? 0 : PyArray_STRIDE(a, i), stack->b_step[k] = of_b == 1 ? 0 : PyArray_STRIDE(b, j);
    }
    return 1;
}

/* stacked(a, b): a @ b of stacks of matrices that are worth it, as for single products */
PyObject *stacked(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) || !is_real(args[0]) || !is_like(args[1], args[0])) NOT_HANDLED();
    PyArrayObject *in[] = {(PyArrayObject *)args[0], (PyArrayObject *)args[1]};
    const int na = PyArray_NDIM(in[0]), nb = PyArray_NDIM(in[1]);
    if (na < 2 || nb < 2) NOT_HANDLED();
    const size width = PyArray_ITEMSIZE(in[0]), rows = PyArray_DIM(in[0], na - 2), columns = PyArray_DIM(in[1], nb - 1), depth = PyArray_DIM(in[0], na - 1);
    const int turned = PyArray_STRIDE(in[1], nb - 1) != width, half_empty = columns < THIN && depth > DEPTH_OF_NARROW;
    const size least = turned ? PACKED : THIN;
    if (PyArray_DIM(in[1], nb - 2) != depth || half_empty || !is_ours(rows, columns, depth, turned, width, least, least)) NOT_HANDLED();
    struct stack_job job = {.width = width};
    size steps[2][2];
    for (int k = 0; k < 2; k++) {
        const int n = PyArray_NDIM(in[k]);
        for (int axis = 0; axis < 2; axis++) {
            if (PyArray_STRIDE(in[k], n - 2 + axis) % width || !PyArray_ISALIGNED(in[k])) NOT_HANDLED();
            steps[k][axis] = PyArray_STRIDE(in[k], n - 2 + axis) / width;
        }
    }
    if (!describe_stack(&job.stack, in[0], in[1])) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS], items = 1;
    const int axes = job.stack.axes;
    for (int k = 0; k < axes; k++) shape[k] = job.stack.length[k], items *= shape[k];
    shape[axes] = rows, shape[axes + 1] = columns;
    job.one = (struct product){.rows = rows, .columns = columns, .depth = depth, .a_row = steps[0][0], .a_column = steps[0][1],
                               .b_row = steps[1][0], .b_column = steps[1][1], .c_row = columns, .few = has_few(rows, depth)};
    PyArrayObject *out = new_like(in[0], axes + 2, shape);
    if (!out || !items) return (PyObject *)out;
    job.work_bytes = packed_bytes(rows, columns, depth, width);
    int chunks = pool_chunks(items, SMALL + (double)rows * columns * depth * (width == sizeof(float) ? 0.01 : 0.02));
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    PyArrayObject *memory = scratch(job.work_bytes / width * chunks, width);
    if (memory) {
        job.a = PyArray_BYTES(in[0]), job.b = PyArray_BYTES(in[1]), job.c = PyArray_BYTES(out), job.work = aligned(memory);
        Py_BEGIN_ALLOW_THREADS
        pool_run(some_products, &job, items, chunks);
        Py_END_ALLOW_THREADS
        Py_DECREF(memory);
    } else Py_CLEAR(out);
    return (PyObject *)out;
}

/* Two matrices of one real type that fit, and have something to add up. */
static int are_matrices(PyObject *const *args)
{
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) || !is_real(args[0]) || !is_like(args[1], args[0])) return 0;
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    return PyArray_NDIM(a) == 2 && PyArray_NDIM(b) == 2 && PyArray_DIM(a, 1) == PyArray_DIM(b, 0) && PyArray_DIM(a, 1);
}

/* dot(a, b): as numpy.dot */
static PyObject *dot(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (are_matrices(args)) return product_of((PyArrayObject *)args[0], (PyArrayObject *)args[1]);
    return PyArray_Return((PyArrayObject *)PyArray_MatrixProduct2(args[0], args[1], NULL));
}

static int without_bias(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b)
{
    return by_tiles(out, a, b, NULL);
}

/* tiled_product(a, b): by the kernels here, whatever BLAS is like; for tests and measurements */
static PyObject *tiled_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!are_matrices(args)) NOT_HANDLED();
    return product((PyArrayObject *)args[0], (PyArrayObject *)args[1], without_bias);
}

PyMethodDef product_methods[] = {
    {"dot", (PyCFunction)(void (*)(void))dot, METH_FASTCALL, NULL},
    {"stacked", (PyCFunction)(void (*)(void))stacked, METH_FASTCALL, NULL},
    {"tiled_product", (PyCFunction)(void (*)(void))tiled_product, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
