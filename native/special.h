/* Special functions in double precision, one value at a time (they branch); see special.c. */
#ifndef WENGERT_SPECIAL_H
#define WENGERT_SPECIAL_H
double special_erfinv(double x);
double special_ndtri(double p);
double special_erfcx(double x);
double special_lgamma(double x);
double special_digamma(double x);
double special_trigamma(double x);
#endif
