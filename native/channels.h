/* What is done to numbers channel by channel: an affine map, and a function behind it. */
#ifndef WENGERT_CHANNELS_H
#define WENGERT_CHANNELS_H

#include "wengert.h"

enum { SHORTEST = 8 }; /* stretches of a channel of 16 bits, or behind a convolution; what is shorter is left to NumPy */

enum then { NOTHING, RELU, RELU6, SILU, HARDSWISH };

struct channel_map {
    int type;
    enum then then;
    const void *scale, *shift; /* a number for each channel; NULL: no map */
};

/* The function of that name, "" among them; -1 if there is none. */
int then_of(PyObject *name);

/* n numbers of a channel, in place. */
void channel_map(const struct channel_map *map, void *numbers, size channel, size n);

#endif
