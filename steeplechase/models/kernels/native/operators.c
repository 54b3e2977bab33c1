/* Window sums and the softmax of a vocabulary for processors, one thread, float32 and bfloat16; sums are always made in float32.

   Compiled once by models/operators/native/library.py; models/operators/portable.py says the same in torch.
   Tokens of a tensor lie `stride` elements apart and sequences `length * stride`, so that a slice of a wider
   projection is read where it stands. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16 }; /* channels summed at a time: they stay in a register, or in a few */
enum { BLOCK = 256 }; /* words of a vocabulary that are summed together */
typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

static inline int64_t largest_of(int64_t one, int64_t other) { return one > other ? one : other; }
static inline int64_t smallest_of(int64_t one, int64_t other) { return one < other ? one : other; }

static inline float total(Lanes sums) {
    for (int64_t half = LANES / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half; i++) sums[i] += sums[i + half];
    return sums[0];
}

/* exp(x) for x <= 0, by 2^n * exp(r) with |r| <= ln(2)/2; a least-squares fit, relative error 8e-8 */
static inline float exponential(float x) {
    float present = x < -87.0f ? 0.0f : 1.0f; /* below, the answer is 0 */
    x = x < -87.0f ? -87.0f : x;
    float n = rintf(x * 1.44269504f), r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float sum = 8.374782362e-3f + r * 1.383670384e-3f;
    sum = 4.166822596e-2f + r * sum;
    sum = 1.666642059e-1f + r * sum;
    sum = 4.999999209e-1f + r * sum;
    sum = 1.0f + r * (1.0f + r * sum);
    int32_t power = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &power, sizeof scale);
    return sum * scale * present;
}

/* Turn every row of k logits into weights that sum to one. */
static inline void softmax(const float *logits, float *weights, int64_t rows, int64_t k) {
    for (int64_t row = 0; row < rows; row++) {
        float largest = logits[row * k];
        for (int64_t j = 1; j < k; j++) largest = logits[row * k + j] > largest ? logits[row * k + j] : largest;
        for (int64_t j = 0; j < k; j++) weights[row * k + j] = logits[row * k + j] - largest;
    }
    for (int64_t i = 0; i < rows * k; i++) weights[i] = exponential(weights[i]);
    for (int64_t row = 0; row < rows; row++) {
        float sum = 0.0f;
        for (int64_t j = 0; j < k; j++) sum += weights[row * k + j];
        for (int64_t j = 0; j < k; j++) weights[row * k + j] *= 1.0f / sum;
    }
}

/* Turn logits into exp(logit - largest), in place, and return the sum. */
static inline float exponentials(int64_t count, float *logits, float largest) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        logits[i] = exponential(logits[i] - largest);
        sum += logits[i];
    }
    return sum;
}

/* Return the first word at which the running sum passes `target`; whole blocks are passed over by their sums. */
static inline int64_t drawn(const float *exponentials, int64_t width, double target) {
    double passed = 0.0;
    for (int64_t start = 0; start < width; start += BLOCK) {
        float sum = 0.0f;
        int64_t end = smallest_of(start + BLOCK, width);
#pragma omp simd reduction(+ : sum)
        for (int64_t word = start; word < end; word++) sum += exponentials[word];
        if (passed + sum > target || end == width) {
            for (int64_t word = start; word < end; word++)
                if ((passed += exponentials[word]) > target) return word;
            return end - 1;
        }
        passed += sum;
    }
    return width - 1;
}

static inline float from_float32(float value) { return value; }
static inline float to_float32(float value) { return value; }

static inline Lanes load_float32(const float *place) {
    Lanes lanes;
    memcpy(&lanes, place, sizeof lanes);
    return lanes;
}

static inline void store_float32(float *place, Lanes lanes) { memcpy(place, &lanes, sizeof lanes); }

static inline float from_bfloat16(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

/* Round to nearest, ties to even; not-a-number stays so. */
static inline uint16_t to_bfloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)(value != value ? 0x7fc0u : rounded);
}

static inline Lanes load_bfloat16(const uint16_t *place) {
    Halves halves;
    memcpy(&halves, place, sizeof halves);
    Bits bits = __builtin_convertvector(halves, Bits) << 16;
    Lanes lanes;
    memcpy(&lanes, &bits, sizeof lanes);
    return lanes;
}

static inline void store_bfloat16(uint16_t *place, Lanes lanes) {
    Bits bits, unordered = (Bits)(lanes != lanes);
    memcpy(&bits, &lanes, sizeof bits);
    bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    Halves halves = __builtin_convertvector((bits & ~unordered) | (unordered & 0x7fc0u), Halves);
    memcpy(place, &halves, sizeof halves);
}

#define SCALAR float
#define READ from_float32
#define WRITE to_float32
#define NAMED(name) name##_float32
#include "operators.h"
#undef SCALAR
#undef READ
#undef WRITE
#undef NAMED

#define SCALAR uint16_t
#define READ from_bfloat16
#define WRITE to_bfloat16
#define NAMED(name) name##_bfloat16
#include "operators.h"
