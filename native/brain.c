/* Products of matrices of bfloat16 on processors that multiply pairs of them: sums in float32, rounded once. */
#include "wengert.h"

#include "fast.h"
#include "pool.h"

#if defined(WENGERT_X86_LEVELS) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#include <immintrin.h>

#define PAIRS __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl")))

enum { COLUMNS_OF_PANEL = 32, ROWS_OF_TILE = 12, MOST_DEPTH = 1 << 14 };

struct brain_job {
    const uint16_t *a, *b;
    uint16_t *out;
    uint32_t *panels; /* of b: pairs of rows, 32 columns at a time, zeros beyond the last */
    size rows, columns, pairs;
};

static void pack_task(void *context, size begin, size end, int chunk)
{
    const struct brain_job *job = context;
    (void)chunk;
    for (size panel = begin; panel < end; panel++) {
        const size first = panel * COLUMNS_OF_PANEL, rest = job->columns - first, n = rest < COLUMNS_OF_PANEL ? rest : COLUMNS_OF_PANEL;
        uint32_t *to = job->panels + panel * job->pairs * COLUMNS_OF_PANEL;
        for (size p = 0; p < job->pairs; p++, to += COLUMNS_OF_PANEL) {
            const uint16_t *low = job->b + 2 * p * job->columns + first, *high = low + job->columns;
            if (n == COLUMNS_OF_PANEL)
                for (int c = 0; c < COLUMNS_OF_PANEL; c++) to[c] = low[c] | (uint32_t)high[c] << 16;
            else
                for (int c = 0; c < COLUMNS_OF_PANEL; c++) to[c] = c < n ? low[c] | (uint32_t)high[c] << 16 : 0;
        }
    }
}

/* Some rows of a times a panel; `columns` of the results are there. */
#define DEFINE_TILE(ROWS)                                                                                                       \
    PAIRS static void tile_##ROWS(const struct brain_job *job, size row, const uint32_t *panel, size first, size columns)        \
    {                                                                                                                           \
        const size depth = 2 * job->pairs;                                                                                      \
        const uint16_t *a = job->a + row * depth;                                                                               \
        __m512 sums[ROWS][2];                                                                                                   \
        for (int r = 0; r < ROWS; r++) sums[r][0] = sums[r][1] = _mm512_setzero_ps();                                           \
        for (size p = 0; p < job->pairs; p++) {                                                                                 \
            const __m512bh left = (__m512bh)_mm512_loadu_si512(panel + p * COLUMNS_OF_PANEL);                                   \
            const __m512bh right = (__m512bh)_mm512_loadu_si512(panel + p * COLUMNS_OF_PANEL + 16);                             \
            for (int r = 0; r < ROWS; r++) {                                                                                    \
                int pair;                                                                                                       \
                memcpy(&pair, a + r * depth + 2 * p, sizeof pair);                                                              \
                const __m512bh both = (__m512bh)_mm512_set1_epi32(pair);                                                        \
                sums[r][0] = _mm512_dpbf16_ps(sums[r][0], both, left);                                                          \
                sums[r][1] = _mm512_dpbf16_ps(sums[r][1], both, right);                                                         \
            }                                                                                                                   \
        }                                                                                                                       \
        const uint32_t there = columns < COLUMNS_OF_PANEL ? (1u << columns) - 1 : ~0u;                                          \
        for (int r = 0; r < ROWS; r++) {                                                                                        \
            uint16_t *to = job->out + (row + r) * job->columns + first;                                                         \
            _mm256_mask_storeu_epi16(to, (__mmask16)there, (__m256i)_mm512_cvtneps_pbh(sums[r][0]));                            \
            _mm256_mask_storeu_epi16(to + 16, (__mmask16)(there >> 16), (__m256i)_mm512_cvtneps_pbh(sums[r][1]));               \
        }                                                                                                                       \
    }
DEFINE_TILE(12)
DEFINE_TILE(4)
DEFINE_TILE(1)

static void product_task(void *context, size begin, size end, int chunk)
{
    const struct brain_job *job = context;
    (void)chunk;
    begin *= ROWS_OF_TILE, end *= ROWS_OF_TILE;
    if (end > job->rows) end = job->rows;
    for (size first = 0; first < job->columns; first += COLUMNS_OF_PANEL) {
        const uint32_t *panel = job->panels + first * job->pairs;
        const size columns = job->columns - first;
        if (pool_stopped()) return;
        size row = begin;
        for (; row + 12 <= end; row += 12) tile_12(job, row, panel, first, columns);
        for (; row + 4 <= end; row += 4) tile_4(job, row, panel, first, columns);
        for (; row < end; row++) tile_1(job, row, panel, first, columns);
    }
}

static int is_able(void)
{
    static int known = -1;
    if (known < 0) known = __builtin_cpu_supports("avx512bf16") && !strcmp(kernels->name, "avx512");
    return known;
}

/* brain_product(a, b): of two matrices of bfloat16 whose inner length is even */
static PyObject *brain_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!is_able() || narrow_kind(args[0]) != 2 || narrow_kind(args[1]) != 2) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0) || PyArray_DIM(a, 1) % 2 ||
        PyArray_DIM(a, 1) > MOST_DEPTH || !PyArray_SIZE(a) || !PyArray_SIZE(b))
        NOT_HANDLED();
    npy_intp shape[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    const size panels = (shape[1] + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL, tiles = (shape[0] + ROWS_OF_TILE - 1) / ROWS_OF_TILE;
    struct brain_job job = {.rows = shape[0], .columns = shape[1], .pairs = PyArray_DIM(a, 1) / 2};
    PyArrayObject *left = (PyArrayObject *)(PyArray_ISCARRAY_RO(a) ? Py_NewRef(a) : layout_rows(args[0]));
    PyArrayObject *right = (PyArrayObject *)(PyArray_ISCARRAY_RO(b) ? Py_NewRef(b) : layout_rows(args[1]));
    PyArrayObject *room = left && right ? scratch(panels * COLUMNS_OF_PANEL * job.pairs, sizeof(uint32_t)) : NULL;
    Py_INCREF(PyArray_DESCR(a));
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), 2, shape, NULL, NULL, 0, NULL);
    if (room && out) {
        job.a = PyArray_DATA(left), job.b = PyArray_DATA(right), job.out = PyArray_DATA(out), job.panels = PyArray_DATA(room);
        const double cost = 0.005 * (double)job.pairs;
        int stopped;
        Py_BEGIN_ALLOW_THREADS
        pool_run(pack_task, &job, panels, pool_chunks(panels, 3.0 * job.pairs));
        stopped = pool_run_stoppable(product_task, &job, tiles, pool_chunks(tiles, cost * ROWS_OF_TILE * job.columns));
        Py_END_ALLOW_THREADS
        if (stopped < 0) Py_CLEAR(out);
    } else Py_CLEAR(out);
    Py_XDECREF(left);
    Py_XDECREF(right);
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
