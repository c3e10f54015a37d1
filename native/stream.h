/* Stores that leave the caches alone, for results that are not read again before they would be pushed out: an ordinary store
 * fetches the line that it overwrites. Loops write to a buffer that stays in the first cache, and the buffer goes out by whole lines. */
#ifndef WENGERT_STREAM_H
#define WENGERT_STREAM_H

#include "wengert.h"

enum { STREAM_BLOCK = 8192, STREAM_LINE = 64 };

#if defined(__SSE2__) && defined(__linux__)
#include <emmintrin.h>
#include <unistd.h>

/* Whether so many bytes, read and written, are more than the last cache holds beside other things. */
static inline int stream_worth(size bytes)
{
    static size most;
    if (!most) {
        long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
        cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        most = (cache > 0 ? (size)cache : (size)1 << 25) / 4 * 3;
    }
    return bytes >= most;
}

/* How many elements lie before the first whole line; -1 where none begins with an element. */
static inline size stream_head(const char *to, size width)
{
    const size before = (size)(-(uintptr_t)to % STREAM_LINE);
    return before % width ? -1 : before / width;
}

/* Bytes to where a line begins. */
static inline void stream_out(char *to, const char *from, size bytes)
{
    size at = 0;
    for (; at + STREAM_LINE <= bytes; at += STREAM_LINE)
        for (int k = 0; k < STREAM_LINE; k += 16)
            _mm_stream_si128((__m128i *)(to + at + k), _mm_loadu_si128((const __m128i *)(from + at + k)));
    memcpy(to + at, from + at, bytes - at);
}

/* Before another thread may look. */
static inline void stream_end(void) { _mm_sfence(); }
#else
static inline int stream_worth(size bytes) { return (void)bytes, 0; }
static inline size stream_head(const char *to, size width) { return (void)to, (void)width, -1; }
static inline void stream_out(char *to, const char *from, size bytes) { memcpy(to, from, bytes); }
static inline void stream_end(void) {}
#endif

/* A copy of memory that does not overlap. */
static inline void stream_copy(char *to, const char *from, size bytes)
{
    const size before = stream_head(to, 1), head = before < 0 || before > bytes ? bytes : before;
    memcpy(to, from, head);
    stream_out(to + head, from + head, bytes - head);
}

#endif
