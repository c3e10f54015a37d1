/* Products of pairs of bfloat16, for brain.c and brain_conv.c: panels of pairs of 32 columns, tiles of rows times a panel. */
#ifndef WENGERT_BRAIN_H
#define WENGERT_BRAIN_H

#include "wengert.h"

#include "half.h"
#include "pool.h"

#if defined(WENGERT_X86_LEVELS) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#define WENGERT_PAIRS
#include <immintrin.h>

#define PAIRS __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512vbmi2")))

enum { COLUMNS_OF_PANEL = 32, ROWS_OF_TILE = 12, FLIPPED = 16 };

/* In brain.c: whether this processor does it; panels of a matrix whose number (p, c) is at from[p * row + c * step], one of the two steps
 * being 1; and to += a times such panels, for rows of a in float32, which are rounded to `room` (rows of an even depth). */
int brain_able(void);
size brain_panels_bytes(size depth, size columns);
void brain_panels(uint32_t *to, const uint16_t *from, size row, size step, size depth, size columns);
void brain_add(float *to, size to_row, const float *a, size a_row, const void *panels, uint16_t *room, size rows, size columns, size depth);

/* Sixteen lines of sixteen pairs, of which `pairs` are wanted: pair p of line k to to[p * step + k]. */
PAIRS static inline void flip_lines(uint32_t *to, size step, __m512i *r, size pairs)
{
    __m512i t[FLIPPED];
    for (int k = 0; k < FLIPPED; k += 2) t[k] = _mm512_unpacklo_epi32(r[k], r[k + 1]), t[k + 1] = _mm512_unpackhi_epi32(r[k], r[k + 1]);
    for (int k = 0; k < FLIPPED; k += 4)
        for (int j = 0; j < 2; j++) {
            r[k + 2 * j] = _mm512_unpacklo_epi64(t[k + j], t[k + j + 2]);
            r[k + 2 * j + 1] = _mm512_unpackhi_epi64(t[k + j], t[k + j + 2]);
        }
    /* r[4 q + j] has column j of every four, of the lines from 4 q on. */
    for (int j = 0; j < 4; j++) {
        const __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88), b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
        const __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88), d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
        t[j] = _mm512_shuffle_i32x4(a, c, 0x88), t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
        t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88), t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
    for (size p = 0; p < pairs && p < FLIPPED; p++) _mm512_storeu_si512(to + p * step, t[p]);
}

/* Some rows of pairs, `row` numbers apart and each pair `step` after the one before, times a panel of `pairs` pairs; `columns` of the
 * results are wanted. They are rounded to `out`, with what is added to columns (to whole panels) and to rows, or added to `sum`, whose
 * lines are `sum_row` apart. */
struct brain_tile {
    const uint32_t *panel;
    size pairs, row, step, out_row, columns;
    const float *by_column, *by_row;
    float *sum;
    size sum_row;
};
#define DEFINE_TILE(ROWS)                                                                                                       \
    PAIRS static void tile_##ROWS(const struct brain_tile *t, const uint16_t *a, uint16_t *out, size first)                      \
    {                                                                                                                           \
        const size row = t->row, step = t->step;                                                                                \
        __m512 sums[ROWS][2];                                                                                                   \
        for (int r = 0; r < ROWS; r++) sums[r][0] = sums[r][1] = _mm512_setzero_ps();                                           \
        for (size p = 0; p < t->pairs; p++) {                                                                                   \
            const __m512bh left = (__m512bh)_mm512_loadu_si512(t->panel + p * COLUMNS_OF_PANEL);                                \
            const __m512bh right = (__m512bh)_mm512_loadu_si512(t->panel + p * COLUMNS_OF_PANEL + 16);                          \
            for (int r = 0; r < ROWS; r++) {                                                                                    \
                int pair;                                                                                                       \
                memcpy(&pair, a + r * row + p * step, sizeof pair);                                                             \
                const __m512bh both = (__m512bh)_mm512_set1_epi32(pair);                                                        \
                sums[r][0] = _mm512_dpbf16_ps(sums[r][0], both, left);                                                          \
                sums[r][1] = _mm512_dpbf16_ps(sums[r][1], both, right);                                                         \
            }                                                                                                                   \
        }                                                                                                                       \
        const uint32_t there = t->columns < COLUMNS_OF_PANEL ? (1u << t->columns) - 1 : ~0u;                                    \
        if (t->sum) {                                                                                                           \
            for (int r = 0; r < ROWS; r++)                                                                                      \
                for (int k = 0; k < 2; k++) {                                                                                   \
                    const __mmask16 wanted = (__mmask16)(there >> 16 * k);                                                      \
                    float *to = t->sum + (first + r) * t->sum_row + 16 * k;                                                     \
                    _mm512_mask_storeu_ps(to, wanted, _mm512_add_ps(sums[r][k], _mm512_maskz_loadu_ps(wanted, to)));            \
                }                                                                                                               \
            return;                                                                                                             \
        }                                                                                                                       \
        for (int r = 0; r < ROWS; r++, out += t->out_row) {                                                                     \
            if (t->by_column) {                                                                                                 \
                sums[r][0] = _mm512_add_ps(sums[r][0], _mm512_loadu_ps(t->by_column));                                          \
                sums[r][1] = _mm512_add_ps(sums[r][1], _mm512_loadu_ps(t->by_column + 16));                                     \
            }                                                                                                                   \
            if (t->by_row)                                                                                                      \
                for (int k = 0; k < 2; k++) sums[r][k] = _mm512_add_ps(sums[r][k], _mm512_set1_ps(t->by_row[first + r]));        \
            _mm256_mask_storeu_epi16(out, (__mmask16)there, (__m256i)_mm512_cvtneps_pbh(sums[r][0]));                           \
            _mm256_mask_storeu_epi16(out + 16, (__mmask16)(there >> 16), (__m256i)_mm512_cvtneps_pbh(sums[r][1]));              \
        }                                                                                                                       \
    }
DEFINE_TILE(12)
DEFINE_TILE(8)
DEFINE_TILE(4)
DEFINE_TILE(1)

/* The rows from `begin` to `end` of a and of out, whose first are at a and out, by tiles. */
static inline void tile_rows(const struct brain_tile *t, const uint16_t *a, uint16_t *out, size begin, size end)
{
#define TILE(ROWS) tile_##ROWS(t, a + row * t->row, out ? out + row * t->out_row : NULL, row)
    size row = begin;
    for (; row + 12 <= end; row += 12) TILE(12);
    for (; row + 8 <= end; row += 8) TILE(8);
    for (; row + 4 <= end; row += 4) TILE(4);
    for (; row < end; row++) TILE(1);
#undef TILE
}

#endif
#endif
