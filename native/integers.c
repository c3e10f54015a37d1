/* Whole numbers, and truth values, brought down along the middle of (before, n, after): sums as int64, and the largest or least. */
#include "wengert.h"

#include "integers.h"
#include "sixteen.h"

enum { AT_ONCE = 1024 }; /* results beside each other, which stay in the first cache */

/* What lies beside each other is brought down together, so that a compiler makes vectors of it. */
#define DEFINE_SUM(NAME, TARGET, TYPE)                                                                       \
    static TARGET void NAME(int64_t *restrict out, const TYPE *x, size before, size n, size after)           \
    {                                                                                                        \
        for (size b = 0; b < before && after == 1; b++, x += n) {                                            \
            int64_t total = 0;                                                                               \
            for (size i = 0; i < n; i++) total = (int64_t)((uint64_t)total + (uint64_t)x[i]);                \
            out[b] = total;                                                                                  \
        }                                                                                                    \
        for (size b = 0; b < before && after > 1; b++, x += n * after, out += after)                         \
            for (size at = 0; at < after; at += AT_ONCE) {                                                   \
                const size many = after - at < AT_ONCE ? after - at : AT_ONCE;                               \
                for (size k = 0; k < many; k++) out[at + k] = (int64_t)x[at + k];                            \
                for (size i = 1; i < n; i++)                                                                 \
                    for (size k = 0; k < many; k++) out[at + k] = (int64_t)((uint64_t)out[at + k] + (uint64_t)x[i * after + at + k]); \
            }                                                                                                \
    }
#define DEFINE_EXTREME(NAME, TARGET, TYPE)                                                                   \
    static TARGET void NAME(TYPE *restrict out, const TYPE *x, size before, size n, size after, int least)   \
    {                                                                                                        \
        for (size b = 0; b < before && after == 1; b++, x += n) {                                            \
            TYPE best = x[0];                                                                                \
            if (least) for (size i = 1; i < n; i++) best = x[i] < best ? x[i] : best;                        \
            else for (size i = 1; i < n; i++) best = x[i] > best ? x[i] : best;                              \
            out[b] = best;                                                                                   \
        }                                                                                                    \
        for (size b = 0; b < before && after > 1; b++, x += n * after, out += after)                         \
            for (size at = 0; at < after; at += AT_ONCE) {                                                   \
                const size many = after - at < AT_ONCE ? after - at : AT_ONCE;                               \
                memcpy(out + at, x + at, many * sizeof *x);                                                  \
                for (size i = 1; i < n; i++) {                                                               \
                    const TYPE *row = x + i * after + at;                                                    \
                    if (least) for (size k = 0; k < many; k++) out[at + k] = row[k] < out[at + k] ? row[k] : out[at + k]; \
                    else for (size k = 0; k < many; k++) out[at + k] = row[k] > out[at + k] ? row[k] : out[at + k]; \
                }                                                                                            \
            }                                                                                                \
    }
/* With the places of the first ones: of rows a look for what is known to be there, unless they are short. */
#define DEFINE_PLACES(NAME, TARGET, TYPE, EXTREME)                                                           \
    static TARGET void NAME(TYPE *restrict out, int64_t *restrict places, const TYPE *x, size before, size n, size after, int least) \
    {                                                                                                        \
        enum { SHORT = 16 };                                                                                 \
        for (size b = 0; b < before && after == 1; b++, x += n) {                                            \
            size at = 0;                                                                                     \
            if (n > SHORT) {                                                                                 \
                EXTREME(out + b, x, 1, n, 1, least);                                                         \
                while (x[at] != out[b]) at++;                                                                \
            } else {                                                                                         \
                TYPE best = x[0];                                                                            \
                for (size i = 1; i < n; i++) {                                                               \
                    const int more = least ? x[i] < best : x[i] > best;                                      \
                    best = more ? x[i] : best, at = more ? i : at;                                           \
                }                                                                                            \
                out[b] = best;                                                                               \
            }                                                                                                \
            places[b] = at;                                                                                  \
        }                                                                                                    \
        for (size b = 0; b < before && after > 1; b++, x += n * after, out += after, places += after)        \
            for (size at = 0; at < after; at += AT_ONCE) {                                                   \
                const size many = after - at < AT_ONCE ? after - at : AT_ONCE;                               \
                for (size k = 0; k < many; k++) out[at + k] = x[at + k], places[at + k] = 0;                 \
                for (size i = 1; i < n; i++)                                                                 \
                    for (size k = 0; k < many; k++) {                                                        \
                        const TYPE one = x[i * after + at + k];                                              \
                        const int more = least ? one < out[at + k] : one > out[at + k];                      \
                        out[at + k] = more ? one : out[at + k], places[at + k] = more ? i : places[at + k];  \
                    }                                                                                        \
            }                                                                                                \
    }
#define DEFINE(TYPE)                                                                       \
    DEFINE_SUM(sum_##TYPE, , TYPE)                                                         \
    DEFINE_EXTREME(extreme_##TYPE, , TYPE)                                                 \
    DEFINE_PLACES(places_##TYPE, , TYPE, extreme_##TYPE)                                   \
    IF_WIDE(DEFINE_SUM(wide_sum_##TYPE, WITH_AVX2, TYPE))                                  \
    IF_WIDE(DEFINE_EXTREME(wide_extreme_##TYPE, WITH_AVX2, TYPE))                          \
    IF_WIDE(DEFINE_PLACES(wide_places_##TYPE, WITH_AVX2, TYPE, wide_extreme_##TYPE))
#ifdef WITH_AVX2
#define IF_WIDE(definition) definition
#else
#define IF_WIDE(definition)
#endif

#define EVERY_TYPE(X) X(int8_t) X(uint8_t) X(int16_t) X(int32_t) X(int64_t)
EVERY_TYPE(DEFINE)

/* Truth values are bytes of 0 or 1: eight of them at a time, no more than fit into bytes before they are added up. */
static int64_t count_truths(const uint8_t *x, size n)
{
    const uint64_t halves = 0x00ff00ff00ff00ff;
    int64_t total = 0;
    size at = 0;
    while (at + 8 <= n) {
        uint64_t bytes = 0, eight;
        for (size words = 0; words < 255 && at + 8 <= n; words++, at += 8) memcpy(&eight, x + at, 8), bytes += eight;
        total += (int64_t)((((bytes & halves) + (bytes >> 8 & halves)) * 0x0001000100010001u) >> 48);
    }
    for (; at < n; at++) total += x[at];
    return total;
}

int are_integers(PyArrayObject *x)
{
    const int type = PyArray_TYPE(x);
    return PyArray_ISNOTSWAPPED(x) &&
           (type == NPY_BOOL || type == NPY_INT8 || type == NPY_UINT8 || type == NPY_INT16 || type == NPY_INT32 || type == NPY_INT64);
}

#define DISPATCH(type, OF)                            \
    switch (type) {                                   \
    case NPY_INT8: OF(int8_t) break;                  \
    case NPY_INT16: OF(int16_t) break;                \
    case NPY_INT32: OF(int32_t) break;                \
    case NPY_INT64: OF(int64_t) break;                \
    default: OF(uint8_t)                              \
    }

void sum_integers(int type, const void *x, int64_t *out, size before, size n, size after)
{
    if (type == NPY_BOOL && after == 1) {
        for (size b = 0; b < before; b++) out[b] = count_truths((const uint8_t *)x + b * n, n);
        return;
    }
#define OF(TYPE) WIDER(wide_sum_##TYPE, sum_##TYPE)(out, x, before, n, after);
    DISPATCH(type, OF)
#undef OF
}

void extreme_integers(int type, const void *x, void *out, int64_t *places, size before, size n, size after, int least)
{
#define OF(TYPE)                                                                            \
    if (places) WIDER(wide_places_##TYPE, places_##TYPE)(out, places, x, before, n, after, least); \
    else WIDER(wide_extreme_##TYPE, extreme_##TYPE)(out, x, before, n, after, least);
    DISPATCH(type, OF)
#undef OF
}
