/* Short rows brought together or copied, for one instruction set: rows of `n` elements of `width` bytes, `step` apart, their beginnings
 * `row_step` apart. */

/* Into a buffer with a chunk to spare, one behind the other: by whole chunks where that reads nothing behind `end`. */
static void gather_loop(char *restrict to, const char *restrict from, const char *end, size width, size n, size step, size rows, size row_step)
{
    const size bytes = n * width;
    if (step == width) {
        const size whole = (bytes + GATHER_CHUNK - 1) / GATHER_CHUNK * GATHER_CHUNK;
        for (size r = 0; r < rows; r++, from += row_step, to += bytes)
            if (from + whole > end) memcpy(to, from, bytes);
            else
                for (size at = 0; at < bytes; at += GATHER_CHUNK) memcpy(to + at, from + at, GATHER_CHUNK);
        return;
    }
    /* steps of a few elements are known to the compiler, which then reads whole vectors */
#define EVERY(TYPE, many)                                                                  \
    else if (step == many * width) for (size i = 0; i < n; i++) ((TYPE *)to)[i] = ((const TYPE *)from)[i * many];
#define ROWS(TYPE)                                                                         \
    for (size r = 0; r < rows; r++, from += row_step, to += bytes) {                       \
        if (step == 0) {                                                                   \
            TYPE pattern[GATHER_CHUNK / sizeof(TYPE)];                                     \
            for (size i = 0; i < (size)(sizeof pattern / sizeof(TYPE)); i++) pattern[i] = *(const TYPE *)from; \
            for (size at = 0; at < bytes; at += GATHER_CHUNK) memcpy(to + at, pattern, GATHER_CHUNK); \
        }                                                                                  \
        EVERY(TYPE, 2)                                                                     \
        EVERY(TYPE, 3)                                                                     \
        EVERY(TYPE, 4)                                                                     \
        else for (size i = 0; i < n; i++) ((TYPE *)to)[i] = *(const TYPE *)(from + i * step); \
    }
    if (width == 1) ROWS(uint8_t)
    else if (width == 2) ROWS(uint16_t)
    else if (width == 4) ROWS(uint32_t)
    else ROWS(uint64_t)
#undef ROWS
#undef EVERY
}

/* To where rows lie `to_row` apart, and elements `to_step`. */
static void scatter_loop(char *restrict to, size to_step, size to_row, const char *restrict from, size width, size n, size step, size rows, size row_step)
{
    const size bytes = n * width;
    if (step == width && to_step == width) {
#define EXACTLY(count)                                                                                        \
    if (bytes == (count)) {                                                                                   \
        for (size r = 0; r < rows; r++, from += row_step, to += to_row) memcpy(to, from, count);              \
        return;                                                                                               \
    }
        EXACTLY(16) EXACTLY(32) EXACTLY(64) EXACTLY(128)
#undef EXACTLY
        for (size r = 0; r < rows; r++, from += row_step, to += to_row) memcpy(to, from, bytes);
        return;
    }
#define ROWS(TYPE)                                                                                            \
    for (size r = 0; r < rows; r++, from += row_step, to += to_row) {                                         \
        TYPE *line = (TYPE *)to;                                                                              \
        const TYPE *first = (const TYPE *)from;                                                               \
        if (to_step == width && !step) {                                                                      \
            size i = 0; /* whole lines of the cache, where some begin with an element */                      \
            const TYPE value = *first;                                                                        \
            if (bytes >= 512 && (uintptr_t)to % sizeof(TYPE) == 0) {                                          \
                for (; (uintptr_t)(line + i) % 64; i++) line[i] = value;                                      \
                for (; i + (size)(64 / sizeof(TYPE)) <= n; i += 64 / sizeof(TYPE))                            \
                    for (size k = 0; k < (size)(64 / sizeof(TYPE)); k++) line[i + k] = value;                 \
            }                                                                                                 \
            for (; i < n; i++) line[i] = value;                                                               \
        }                                                                                                     \
        else if (to_step == width && step == -width) for (size i = 0; i < n; i++) line[i] = first[-i];        \
        else if (to_step == width) for (size i = 0; i < n; i++) line[i] = *(const TYPE *)(from + i * step);   \
        else for (size i = 0; i < n; i++) *(TYPE *)(to + i * to_step) = *(const TYPE *)(from + i * step);     \
    }
    if (width == 1) ROWS(uint8_t)
    else if (width == 2) ROWS(uint16_t)
    else if (width == 4) ROWS(uint32_t)
    else if (width == 8) ROWS(uint64_t)
    else ROWS(struct sixteen)
#undef ROWS
}
