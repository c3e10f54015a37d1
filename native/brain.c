/* Products of matrices of bfloat16 on processors that multiply pairs of them: sums in float32, rounded once. */
#include "brain.h"

#include "product.h"

#ifdef WENGERT_PAIRS
enum { MOST_DEPTH = 1 << 14 };

/* One operand of a product: its rows and columns are `row` and `step` numbers apart, one of the two next to each other. */
struct side {
    const uint16_t *at;
    size row, step;
};

/* One product. Pairs of numbers along the depth are multiplied at a time; an odd one out has a zero beside it. */
struct brain_job {
    struct side a, b;
    uint16_t *out;
    const float *bias; /* one for each column, to whole panels; or NULL */
    uint32_t *panels;  /* of b: pairs of rows, 32 columns at a time, zeros beyond the last */
    uint16_t *left;    /* of a, where its pairs do not lie together: rows with a zero at the end, or pairs of the rows of a tile */
    size rows, columns, depth, pairs;
};

/* `count` lines of at most 16 pairs, `line` numbers apart, to the rows of `to`. */
PAIRS static void flip_pairs(uint32_t *to, const uint16_t *from, size line, size count, size numbers)
{
    __m512i r[FLIPPED];
    const __mmask32 there = numbers < 2 * FLIPPED ? (1u << numbers) - 1 : ~0u;
    for (int k = 0; k < FLIPPED; k++) r[k] = k < count ? _mm512_maskz_loadu_epi16(there, from + k * line) : _mm512_setzero_si512();
    flip_lines(to, COLUMNS_OF_PANEL, r, (numbers + 1) / 2);
}

/* Pairs of two lines of `count` numbers, the second of which may be missing. */
PAIRS static void interleave(uint32_t *to, const uint16_t *low, const uint16_t *high, size count)
{
    if (high)
        for (size c = 0; c < count; c++) to[c] = low[c] | (uint32_t)high[c] << 16;
    else
        for (size c = 0; c < count; c++) to[c] = low[c];
}

PAIRS static void pack_panel(const struct brain_job *job, size panel)
{
    const size first = panel * COLUMNS_OF_PANEL, rest = job->columns - first, n = rest < COLUMNS_OF_PANEL ? rest : COLUMNS_OF_PANEL;
    uint32_t *to = job->panels + panel * job->pairs * COLUMNS_OF_PANEL;
    if (job->b.step != 1) { /* pairs lie together */
        for (size half = 0; half < COLUMNS_OF_PANEL; half += FLIPPED)
            for (size p = 0; p < job->pairs; p += FLIPPED)
                flip_pairs(to + p * COLUMNS_OF_PANEL + half, job->b.at + (first + half) * job->b.step + 2 * p, job->b.step,
                           n - half < FLIPPED ? n - half : FLIPPED, job->depth - 2 * p);
        return;
    }
    for (size p = 0; p < job->pairs; p++, to += COLUMNS_OF_PANEL) {
        const uint16_t *low = job->b.at + 2 * p * job->b.row + first;
        if (n < COLUMNS_OF_PANEL) memset(to, 0, COLUMNS_OF_PANEL * sizeof *to);
        interleave(to, low, 2 * p + 1 < job->depth ? low + job->b.row : NULL, n);
    }
}

static void pack_task(void *context, size begin, size end, int chunk)
{
    (void)chunk;
    for (size panel = begin; panel < end; panel++) pack_panel(context, panel);
}

/* Whether pairs of a are read where they are. */
static int reads_pairs(const struct brain_job *job) { return job->a.step == 1 && job->depth % 2 == 0; }

static size left_numbers(const struct brain_job *job)
{
    return reads_pairs(job) ? 0 : (job->rows + ROWS_OF_TILE - 1) / ROWS_OF_TILE * ROWS_OF_TILE * job->pairs * 2;
}

static void pack_left(const struct brain_job *job)
{
    if (job->a.step == 1) {
        for (size r = 0; r < job->rows; r++) {
            memcpy(job->left + r * 2 * job->pairs, job->a.at + r * job->a.row, job->depth * sizeof *job->left);
            job->left[r * 2 * job->pairs + job->depth] = 0;
        }
        return;
    }
    for (size row = 0; row < job->rows; row += ROWS_OF_TILE)
        for (size p = 0; p < job->pairs; p++) {
            const uint16_t *low = job->a.at + 2 * p * job->a.step + row;
            const size n = job->rows - row < ROWS_OF_TILE ? job->rows - row : ROWS_OF_TILE;
            interleave((uint32_t *)job->left + (row * job->pairs + p * ROWS_OF_TILE), low, 2 * p + 1 < job->depth ? low + job->a.step : NULL, n);
        }
}

/* Rows from `begin` on, which is a tile's first, to `end`. */
static void multiply_rows(const struct brain_job *job, size begin, size end)
{
    const int flipped = job->a.step != 1, direct = reads_pairs(job);
    const uint16_t *a = direct ? job->a.at : job->left;
    const size line = direct ? job->a.row : flipped ? 2 : 2 * job->pairs, step = flipped ? 2 * ROWS_OF_TILE : 2;
    for (size first = 0; first < job->columns; first += COLUMNS_OF_PANEL) {
        const struct brain_tile tile = {.panel = job->panels + first * job->pairs, .pairs = job->pairs, .row = line, .step = step,
                                        .out_row = job->columns, .columns = job->columns - first, .by_column = job->bias ? job->bias + first : NULL};
        if (pool_stopped()) return;
        if (!flipped) tile_rows(&tile, a, job->out + first, begin, end);
        else
            for (size row = begin; row < end; row += ROWS_OF_TILE)
                tile_rows(&tile, a + row * job->pairs * 2, job->out + row * job->columns + first, 0, end - row < ROWS_OF_TILE ? end - row : ROWS_OF_TILE);
    }
}

static void product_task(void *context, size begin, size end, int chunk)
{
    const struct brain_job *job = context;
    (void)chunk;
    end *= ROWS_OF_TILE;
    multiply_rows(job, begin * ROWS_OF_TILE, end > job->rows ? job->rows : end);
}

/* Products of stacks of matrices, whose other axes broadcast. */
struct brain_stack {
    struct brain_job one;
    struct stack stack;
    char *room;
    size room_bytes; /* of each chunk */
};

static void stack_task(void *context, size begin, size end, int chunk)
{
    const struct brain_stack *stack = context;
    struct brain_job job = stack->one;
    job.panels = (uint32_t *)(stack->room + chunk * stack->room_bytes);
    job.left = (uint16_t *)(job.panels + (job.columns + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL * COLUMNS_OF_PANEL * job.pairs);
    for (size item = begin; item < end && !pool_stopped(); item++) {
        size a, b;
        stack_offsets(&stack->stack, item, &a, &b);
        job.a.at = stack->one.a.at + a / 2, job.b.at = stack->one.b.at + b / 2, job.out = stack->one.out + item * job.rows * job.columns;
        if (!reads_pairs(&job)) pack_left(&job);
        for (size panel = 0; panel * COLUMNS_OF_PANEL < job.columns; panel++) pack_panel(&job, panel);
        multiply_rows(&job, 0, job.rows);
    }
}

int brain_able(void)
{
    static int known = -1;
    if (known < 0) known = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi2") && !strcmp(kernels->name, "avx512");
    return known;
}

size brain_panels_bytes(size depth, size columns)
{
    return (columns + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL * COLUMNS_OF_PANEL * ((depth + 1) / 2) * (size)sizeof(uint32_t);
}

void brain_panels(uint32_t *to, const uint16_t *from, size row, size step, size depth, size columns)
{
    const struct brain_job job = {.b = {from, row, step}, .panels = to, .columns = columns, .depth = depth, .pairs = (depth + 1) / 2};
    for (size panel = 0; panel * COLUMNS_OF_PANEL < columns; panel++) pack_panel(&job, panel);
}

PAIRS static void round_rows(uint16_t *to, const float *from, size row, size rows, size n)
{
    for (size r = 0; r < rows; r++, from += row, to += n + n % 2) {
        for (size i = 0; i < n; i += 16) {
            const __mmask16 there = (__mmask16)(n - i < 16 ? (1 << (n - i)) - 1 : 0xffff);
            _mm256_mask_storeu_epi16(to + i, there, (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(there, from + i)));
        }
        if (n % 2) to[n] = 0;
    }
}

void brain_add(float *to, size to_row, const float *a, size a_row, const void *panels, uint16_t *room, size rows, size columns, size depth)
{
    const size pairs = (depth + 1) / 2;
    round_rows(room, a, a_row, rows, depth);
    for (size first = 0; first < columns; first += COLUMNS_OF_PANEL) {
        const struct brain_tile tile = {.panel = (const uint32_t *)panels + first * pairs, .pairs = pairs, .row = 2 * pairs, .step = 2,
                                        .columns = columns - first, .sum = to + first, .sum_row = to_row};
        tile_rows(&tile, room, NULL, 0, rows);
    }
}

/* The array itself, or a copy where neither its rows nor its columns lie together. */
static PyArrayObject *take_side(struct side *side, PyObject *given)
{
    PyArrayObject *x = (PyArrayObject *)given;
    const int n = PyArray_NDIM(x);
    int fits = PyArray_ISALIGNED(x);
    for (int k = 0; k < n; k++) fits &= PyArray_STRIDE(x, k) % 2 == 0;
    fits &= PyArray_STRIDE(x, n - 1) == 2 || PyArray_STRIDE(x, n - 2) == 2;
    x = (PyArrayObject *)(fits ? Py_NewRef(given) : layout_rows(given));
    if (!x) return NULL;
    const npy_intp *strides = PyArray_STRIDES(x);
    *side = (struct side){PyArray_DATA(x), strides[n - 2] / 2, strides[n - 1] / 2};
    return x;
}

/* The bias as float32, to whole panels; NULL with an error set, or None's place where there is none. */
static PyArrayObject *take_bias(struct brain_job *job, PyObject *bias)
{
    const size whole = (job->columns + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL * COLUMNS_OF_PANEL;
    PyArrayObject *room = scratch(bias == Py_None ? 0 : whole, sizeof(float));
    if (!room || bias == Py_None) return room;
    const char *from = PyArray_BYTES((PyArrayObject *)bias);
    float *to = PyArray_DATA(room);
    for (size c = 0; c < whole; c++, from += PyArray_STRIDE((PyArrayObject *)bias, 0))
        to[c] = c < job->columns ? float_of_brain(*(const uint16_t *)from) : 0;
    job->bias = to;
    return room;
}

/* brain_product(a, b, bias | None): of matrices of bfloat16, or stacks of them; the bias has a number for each column */
static PyObject *brain_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!brain_able() || narrow_kind(args[0]) != 2 || narrow_kind(args[1]) != 2) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1], *bias = (PyArrayObject *)args[2];
    const int na = PyArray_NDIM(a), nb = PyArray_NDIM(b);
    if (na < 2 || nb < 2 || PyArray_DIM(a, na - 1) != PyArray_DIM(b, nb - 2) || PyArray_DIM(a, na - 1) > MOST_DEPTH || !PyArray_SIZE(a) ||
        !PyArray_SIZE(b) || (args[2] != Py_None && (narrow_kind(args[2]) != 2 || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != PyArray_DIM(b, nb - 1))))
        NOT_HANDLED();
    struct brain_stack stack = {.one = {.rows = PyArray_DIM(a, na - 2), .columns = PyArray_DIM(b, nb - 1), .depth = PyArray_DIM(a, na - 1)}};
    struct brain_job *job = &stack.one;
    job->pairs = (job->depth + 1) / 2;
    PyArrayObject *left = take_side(&job->a, args[0]), *right = take_side(&job->b, args[1]), *room = NULL, *out = NULL;
    PyArrayObject *wide = left && right ? take_bias(job, args[2]) : NULL;
    if (!wide) goto done;
    if (!describe_stack(&stack.stack, left, right)) {
        out = (PyArrayObject *)Py_NewRef(Py_NotImplemented);
        goto done;
    }
    npy_intp shape[NPY_MAXDIMS], items = 1;
    const int axes = stack.stack.axes;
    for (int k = 0; k < axes; k++) shape[k] = stack.stack.length[k], items *= shape[k];
    shape[axes] = job->rows, shape[axes + 1] = job->columns;
    const size panels = (job->columns + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL, tiles = (job->rows + ROWS_OF_TILE - 1) / ROWS_OF_TILE;
    const double cost = 0.005 * (double)job->pairs * job->columns;
    int chunks = items > 1 ? pool_chunks(items, cost * job->rows) : 1;
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    stack.room_bytes = (panels * COLUMNS_OF_PANEL * job->pairs * sizeof(uint32_t) + left_numbers(job) * sizeof(uint16_t) + 63) / 64 * 64;
    room = scratch(stack.room_bytes * chunks, 1);
    Py_INCREF(PyArray_DESCR(a));
    out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), axes + 2, shape, NULL, NULL, 0, NULL);
    if (room && out) {
        job->out = PyArray_DATA(out), stack.room = PyArray_BYTES(room);
        job->panels = (uint32_t *)stack.room, job->left = (uint16_t *)(job->panels + panels * COLUMNS_OF_PANEL * job->pairs);
        int stopped;
        Py_BEGIN_ALLOW_THREADS
        if (items == 1) {
            if (!reads_pairs(job)) pack_left(job);
            pool_run(pack_task, job, panels, pool_chunks(panels, 3.0 * job->pairs));
            stopped = pool_run_stoppable(product_task, job, tiles, pool_chunks(tiles, cost * ROWS_OF_TILE));
        } else stopped = pool_run_stoppable(stack_task, &stack, items, chunks);
        Py_END_ALLOW_THREADS
        if (stopped < 0) Py_CLEAR(out);
    } else Py_CLEAR(out);
done:
    Py_XDECREF(left);
    Py_XDECREF(right);
    Py_XDECREF(wide);
    Py_XDECREF(room);
    return (PyObject *)out;
}
#else
static PyObject *brain_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    NOT_HANDLED();
}
#endif

PyMethodDef brain_methods[] = {{"brain_product", (PyCFunction)(void (*)(void))brain_product, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
