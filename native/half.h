/* float16 and bfloat16 as bits, to float32 and back, rounding to nearest even. */
#ifndef WENGERT_HALF_H
#define WENGERT_HALF_H

#include <stdint.h>
#include <string.h>

static inline float float_from_bits(uint32_t bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static inline uint32_t bits_from_float(float x) { uint32_t bits; memcpy(&bits, &x, sizeof bits); return bits; }

static inline float float_of_brain(uint16_t b) { return float_from_bits((uint32_t)b << 16); }
static inline uint16_t brain_of_float(float x)
{
    uint32_t bits = bits_from_float(x);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (uint16_t)(x != x ? (bits >> 16) | 0x40 : rounded);
}

static inline float float_of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    /* Multiplying by 2^112 moves the exponent and makes subnormals normal; infinities and NaN keep theirs. */
    float magnitude = float_from_bits(rest) * 0x1p112f;
    uint32_t bits = (h & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : bits_from_float(magnitude);
    return float_from_bits(bits | sign);
}
static inline uint16_t half_of_float(float x)
{
    uint32_t bits = bits_from_float(x), sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
    /* Subnormal results: adding a number whose last place is 2^-24 rounds there. */
    uint32_t small = bits_from_float(float_from_bits(size) + 0.5f) - 0x3f000000;
    uint32_t normal = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
    uint32_t value = size < 0x38800000 ? small : size >= 0x477ff000 ? 0x7c00 : normal;
    return (uint16_t)(sign | (size > 0x7f800000 ? 0x7e00 : value));
}

/* Rounded once: what float32 loses is noted in its last bit, where half precision only asks whether there is more. */
static inline uint16_t half_of_double(double value)
{
    uint32_t bits = bits_from_float((float)value);
    if (value == value && (double)(float)value != value && (bits & 0x7f800000) != 0x7f800000) {
        const double magnitude = value > 0 ? value : -value;
        if (magnitude < (double)float_from_bits(bits & 0x7fffffff)) bits--;
        bits |= 1;
    }
    return half_of_float(float_from_bits(bits));
}

#endif
