/* The kernels for the instruction set that the compiler targets by itself. */
#define ISA baseline
#include "loops.inc.h"
