/* Random numbers of a few elements, drawn while other threads wait: what factories.c asks of random.c. */
#ifndef WENGERT_DRAWS_H
#define WENGERT_DRAWS_H

#include "wengert.h"

#include <numpy/random/bitgen.h>

/* From the fourth on: the numbers below the length in a random order, ones and zeros, times between events; numbers of Cauchy's distribution,
 * exponentials of normal numbers, trials up to a success; ones and zeros, each with a probability of its own. */
enum { DRAW_UNIFORM, DRAW_NORMAL, DRAW_INTEGERS, DRAW_ORDER, DRAW_TRUTHS, DRAW_WAITS, DRAW_CAUCHY, DRAW_LOG_NORMAL, DRAW_TRIALS, DRAW_CHANCES };
enum { DRAWN = 4096 }; /* elements at most */

struct draw {
    int kind, has_spare;
    double mean, std, spare; /* uniform: the lower end, the width; truths, trials: the probability of one; waits: the rate */
    const void *chances;     /* of float32 or float64 (`wide_chances`) */
    int wide_chances;
    uint64_t base, divisor;  /* of integers */
};

/* Fill `n` elements of float32 or float64, of int64 with integers or an order; 0 where the bits are none of NumPy's generators. */
int draw_numbers(PyObject *bits, struct draw *what, void *to, size n, int type);

/* The next words of 32 bits. */
void draw_words(bitgen_t *from, uint32_t *to, size n);

/* twister(seed): a generator of those of twister.c, begun from 32 bits */
PyObject *twister(PyObject *module, PyObject *seed);

#endif
