/* Short rows brought together in a buffer, for one instruction set: rows of `n` elements of `width` bytes, `step` apart, their beginnings
 * `row_step` apart. They are copied by whole chunks where that reads nothing behind `end`; the buffer has a chunk to spare. */

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
#define ROWS(TYPE)                                                                         \
    for (size r = 0; r < rows; r++, from += row_step, to += bytes) {                       \
        if (step == 0) {                                                                   \
            TYPE pattern[GATHER_CHUNK / sizeof(TYPE)];                                     \
            for (size i = 0; i < (size)(sizeof pattern / sizeof(TYPE)); i++) pattern[i] = *(const TYPE *)from; \
            for (size at = 0; at < bytes; at += GATHER_CHUNK) memcpy(to + at, pattern, GATHER_CHUNK); \
        } else {                                                                           \
            for (size i = 0; i < n; i++) ((TYPE *)to)[i] = *(const TYPE *)(from + i * step); \
        }                                                                                  \
    }
    if (width == 1) ROWS(uint8_t)
    else if (width == 2) ROWS(uint16_t)
    else if (width == 4) ROWS(uint32_t)
    else ROWS(uint64_t)
#undef ROWS
}
