/* Polynomials of the elementary functions: minimax fits (Remez exchange, 45 digits), weighted for relative error.
 * Each is written out in Horner form so that every compiler vectorises the loop around it. */
#ifndef WENGERT_POLYNOMIALS_H
#define WENGERT_POLYNOMIALS_H

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2 */
static inline float exp_poly_f32(float x)
{
    float p = 1.3814496e-03f;
    p = p * x + 8.36878e-03f;
    p = p * x + 4.1668393e-02f;
    p = p * x + 1.666652e-01f;
    p = p * x + 4.9999994e-01f;
    return p;
}

static inline double exp_poly_f64(double x)
{
    double p = 2.4999988775310957e-08;
    p = p * x + 2.7630379039924463e-07;
    p = p * x + 2.7557587256957847e-06;
    p = p * x + 2.480149276170725e-05;
    p = p * x + 0.00019841269504878626;
    p = p * x + 0.0013888888943923625;
    p = p * x + 0.00833333333349556;
    p = p * x + 0.041666666666529184;
    p = p * x + 0.1666666666666641;
    p = p * x + 0.5000000000000011;
    return p;
}

/* log2(erfc(x / sqrt(2))) / x for 0 <= x <= 4, and for 0 <= x <= 5.5 */
static inline float tail_slope_4(float x)
{
    float z = x * x, even = 2.78125043e-07f, odd = -5.9157619e-06f;
    even = even * z + 5.17171975e-05f;
    even = even * z - 0.000138860414f;
    even = even * z - 0.0525416508f;
    even = even * z - 1.15110743f;
    odd = odd * z - 0.000205415578f;
    odd = odd * z + 0.00710426783f;
    odd = odd * z - 0.459189802f;
    return odd * x + even;
}
static inline float tail_slope_5(float x)
{
    float z = x * x, even = 2.78522538e-09f, odd = -1.01524044e-07f;
    even = even * z + 1.64885626e-06f;
    even = even * z + 9.21315586e-05f;
    even = even * z + 3.17971826e-05f;
    even = even * z - 0.0524463132f;
    even = even * z - 1.15110493f;
    odd = odd * z - 1.55892667e-05f;
    odd = odd * z - 0.000310367555f;
    odd = odd * z + 0.00693512522f;
    odd = odd * z - 0.459216207f;
    return odd * x + even;
}

/* exp(z^2) erfc(z) (z + 3) as a function of (z - 3) / (z + 3) for 0 <= z <= 10.2 */
static inline float erfcx_poly_f32(float x)
{
    float p = -0.0003253336f;
    p = p * x - 0.00048317757f;
    p = p * x + 0.0030803278f;
    p = p * x - 0.0012264304f;
    p = p * x - 0.026839826f;
    p = p * x + 0.11952907f;
    p = p * x - 0.31046602f;
    p = p * x + 0.5902283f;
    p = p * x - 0.8833945f;
    p = p * x + 1.0740069f;
    return p;
}

/* the same for 0 <= z <= 27.5 with 3.75 in place of 3 */
static inline double erfcx_poly_f64(double x)
{
    double p = -1.1790502332281157e-09;
    p = p * x - 4.3433381908825504e-09;
    p = p * x + 6.027029088588819e-09;
    p = p * x + 3.953303286051454e-08;
    p = p * x - 3.082001206750171e-08;
    p = p * x - 2.6367851172677723e-07;
    p = p * x + 2.829122135177403e-07;
    p = p * x + 1.6563245448472367e-06;
    p = p * x - 3.2909221000943885e-06;
    p = p * x - 8.90413691406991e-06;
    p = p * x + 3.747216740861978e-05;
    p = p * x + 1.059405683174524e-05;
    p = p * x - 0.00034864694678418597;
    p = p * x + 0.00079482308639382;
    p = p * x + 0.000986338091893162;
    p = p * x - 0.012535880039589891;
    p = p * x + 0.04911877861427981;
    p = p * x - 0.13195540117861926;
    p = p * x + 0.27906204903382664;
    p = p * x - 0.4904702912076764;
    p = p * x + 0.7363189252217509;
    p = p * x - 0.9587415766529095;
    p = p * x + 1.0919229095627891;
    return p;
}

/* exp(z^2) erfc(z) (z + 2.5) as a function of (z - 2.5) / (z + 2.5) for 1 <= z <= 6: as exact as 1 - erfc(z) asks */
static inline double erfcx_poly_short_f64(double x)
{
    double p = -1.6731869051407895e-06;
    p = p * x - 2.3051152444356362e-06;
    p = p * x + 6.674958469930139e-06;
    p = p * x + 1.823464215610845e-05;
    p = p * x - 1.952079352141485e-05;
    p = p * x - 0.00011260331646798508;
    p = p * x + 5.830690111800994e-05;
    p = p * x + 0.0007026935969202367;
    p = p * x - 0.0004392082292555929;
    p = p * x - 0.004818785517197209;
    p = p * x + 0.008393044301738106;
    p = p * x + 0.0283615501318361;
    p = p * x - 0.17125114524604215;
    p = p * x + 0.45391411664809794;
    p = p * x - 0.8046518494391489;
    p = p * x + 1.054031820305718;
    return p;
}

/* erf(x) / x - 1 as a function of x^2 for |x| <= 1 */
static inline float erf_poly_f32(float x)
{
    float p = 7.85385e-05f;
    p = p * x - 8.0102024e-04f;
    p = p * x + 5.1883305e-03f;
    p = p * x - 2.6853815e-02f;
    p = p * x + 1.12835854e-01f;
    p = p * x - 3.7612626e-01f;
    p = p * x + 1.28379167e-01f;
    return p;
}

static inline double erf_poly_f64(double x)
{
    double p = 5.945255584223488e-11;
    p = p * x - 1.136567067182716e-09;
    p = p * x + 1.4657883530919653e-08;
    p = p * x - 1.635002619207727e-07;
    p = p * x + 1.6460972954153765e-06;
    p = p * x - 1.4925593518728226e-05;
    p = p * x + 0.00012055331037551108;
    p = p * x - 0.0008548326978765149;
    p = p * x + 0.00522397762478137;
    p = p * x - 0.02686617064507296;
    p = p * x + 0.11283791670954858;
    p = p * x - 0.3761263890318375;
    p = p * x + 0.1283791670955126;
    return p;
}

/* (log(1 + f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2) */
static inline float log_poly_f32(float x)
{
    float p = 6.748678e-02f;
    p = p * x - 1.167802e-01f;
    p = p * x + 1.18885286e-01f;
    p = p * x - 1.2405252e-01f;
    p = p * x + 1.4219467e-01f;
    p = p * x - 1.666801e-01f;
    p = p * x + 2.0002122e-01f;
    p = p * x - 2.500001e-01f;
    p = p * x + 3.3333313e-01f;
    return p;
}

/* (2 atanh(s) - 2 s) / s^3 as a function of s^2, with s = f / (2 + f), for the same f */
static inline double log_poly_f64(double x)
{
    double p = 0.14797766093474174;
    p = p * x + 0.1531387892443136;
    p = p * x + 0.18183570628757598;
    p = p * x + 0.22222198460136688;
    p = p * x + 0.28571428743404065;
    p = p * x + 0.3999999999941052;
    p = p * x + 0.6666666666666735;
    return p;
}

/* (tanh(x) - x) / x^3 as a function of x^2 for |x| <= 0.625 */
static inline float tanh_poly_f32(float x)
{
    float p = -5.7165646e-03f;
    p = p * x + 2.0650275e-02f;
    p = p * x - 5.3743448e-02f;
    p = p * x + 1.3331491e-01f;
    p = p * x - 3.3333284e-01f;
    return p;
}

static inline double tanh_poly_f64(double x)
{
    double p = -1.6104088218366243e-05;
    p = p * x + 7.721213569703002e-05;
    p = p * x - 0.00022862706667762484;
    p = p * x + 0.0005863494376222863;
    p = p * x - 0.001454969547224588;
    p = p * x + 0.0035919913898940377;
    p = p * x - 0.008863221296838694;
    p = p * x + 0.021869487600250252;
    p = p * x - 0.05396825393240715;
    p = p * x + 0.13333333333264752;
    p = p * x - 0.33333333333332876;
    return p;
}

#endif
