/* The operators for one SCALAR type; read by operators.c once for each. */

/* The sum over taps first <= j < last of weights[j * pace] * rows[j * stride], `count` channels of it. */
static inline void NAMED(sum_of_taps)(int64_t first, int64_t last, const float *weights, int64_t pace,
                                      const SCALAR *rows, int64_t stride, SCALAR *out, int64_t count) {
    int64_t c = 0;
    for (; c + LANES <= count; c += LANES) {
        Lanes sum = {0};
        for (int64_t j = first; j < last; j++) sum += weights[j * pace] * NAMED(load)(rows + j * stride + c);
        NAMED(store)(out + c, sum);
    }
    for (; c < count; c++) {
        float sum = 0.0f;
        for (int64_t j = first; j < last; j++) sum += weights[j * pace] * READ(rows[j * stride + c]);
        out[c] = WRITE(sum);
    }
}

static inline float NAMED(dot)(const SCALAR *one, const SCALAR *other, int64_t count) {
    Lanes sums = {0};
    float rest = 0.0f;
    int64_t c = 0;
    for (; c + LANES <= count; c += LANES) sums += NAMED(load)(one + c) * NAMED(load)(other + c);
    for (; c < count; c++) rest += READ(one[c]) * READ(other[c]);
    return total(sums) + rest;
}

/* out[t] = sum over j of softmax(logits[t])[j] * values[t + j - k / 2], per head (ConvBERT eq. 3).
   logits, weights: [batch length heads k]; out: [batch length heads width]; a tap outside the sequence adds nothing. */
void NAMED(dynamic_window_forward)(int64_t batch, int64_t length, int64_t heads, int64_t width, int64_t k,
                                   const SCALAR *values, int64_t stride, const float *logits, float *weights,
                                   SCALAR *out) {
    for (int64_t b = 0; b < batch; b++, logits += length * heads * k, weights += length * heads * k) {
        softmax(logits, weights, length * heads, k);
        for (int64_t t = 0; t < length; t++) {
            int64_t first = largest_of(0, k / 2 - t), last = smallest_of(k, length - t + k / 2);
            for (int64_t h = 0; h < heads; h++, out += width)
                NAMED(sum_of_taps)(first, last, weights + (t * heads + h) * k, 1,
                                   values + (b * length + t - k / 2) * stride + h * width, stride, out, width);
        }
    }
}

/* The gradients of the above: of the values (packed) and of the logits. `gradient` has a stride of its own. */
void NAMED(dynamic_window_backward)(int64_t batch, int64_t length, int64_t heads, int64_t width, int64_t k,
                                    const SCALAR *values, int64_t stride, const float *weights,
                                    const SCALAR *gradient, int64_t gradient_stride, SCALAR *to_values,
                                    float *to_logits) {
    for (int64_t b = 0; b < batch; b++, weights += length * heads * k)
        for (int64_t t = 0; t < length; t++)
            for (int64_t h = 0; h < heads; h++, to_values += width, to_logits += k) {
                int64_t first = largest_of(0, k / 2 - t), last = smallest_of(k, length - t + k / 2);
                const float *taps = weights + (t * heads + h) * k;
                const SCALAR *mine = gradient + (b * length + t) * gradient_stride + h * width;
                const SCALAR *read = values + (b * length + t - k / 2) * stride + h * width;
                float expected = 0.0f;
                for (int64_t j = 0; j < k; j++)
                    to_logits[j] = first <= j && j < last ? NAMED(dot)(mine, read + j * stride, width) : 0.0f;
                for (int64_t j = 0; j < k; j++) expected += taps[j] * to_logits[j];
                for (int64_t j = 0; j < k; j++) to_logits[j] = taps[j] * (to_logits[j] - expected);
                /* the value at t is read by output t + i - k / 2 through its tap k - 1 - i */
                NAMED(sum_of_taps)(first, last, weights + ((t - k / 2) * heads + h) * k + k - 1, heads * k - 1,
                                   gradient + (b * length + t - k / 2) * gradient_stride + h * width,
                                   gradient_stride, to_values, width);
            }
}

/* out[t] = sum over j of kernel[j] * values[t + j - k / 2], per channel. kernel: [k width]; out is packed.
   With `flipped` the taps run the other way, which is the gradient of the values. */
void NAMED(depthwise_window)(int64_t batch, int64_t length, int64_t width, int64_t k, const SCALAR *values,
                             int64_t stride, const float *kernel, int64_t flipped, SCALAR *out) {
    const float *start = flipped ? kernel + (k - 1) * width : kernel;
    int64_t pace = flipped ? -width : width;
    for (int64_t row = 0; row < batch * length; row++, out += width) {
        int64_t t = row % length, c = 0;
        int64_t first = largest_of(0, k / 2 - t), last = smallest_of(k, length - t + k / 2);
        const SCALAR *rows = values + (row - k / 2) * stride;
        for (; c + LANES <= width; c += LANES) {
            Lanes sum = {0};
            for (int64_t j = first; j < last; j++)
                sum += load_float32(start + j * pace + c) * NAMED(load)(rows + j * stride + c);
            NAMED(store)(out + c, sum);
        }
        for (; c < width; c++) {
            float sum = 0.0f;
            for (int64_t j = first; j < last; j++) sum += start[j * pace + c] * READ(rows[j * stride + c]);
            out[c] = WRITE(sum);
        }
    }
}

/* The gradient of the kernel. to_kernel: [k width], starts at zero. */
void NAMED(depthwise_kernel_gradient)(int64_t batch, int64_t length, int64_t width, int64_t k, const SCALAR *values,
                                      int64_t stride, const SCALAR *gradient, int64_t gradient_stride,
                                      float *to_kernel) {
    for (int64_t row = 0; row < batch * length; row++) {
        int64_t t = row % length, c = 0;
        int64_t first = largest_of(0, k / 2 - t), last = smallest_of(k, length - t + k / 2);
        const SCALAR *rows = values + (row - k / 2) * stride, *mine = gradient + row * gradient_stride;
        for (; c + LANES <= width; c += LANES) {
            Lanes factor = NAMED(load)(mine + c);
            for (int64_t j = first; j < last; j++) {
                float *sum = to_kernel + j * width + c;
                store_float32(sum, load_float32(sum) + factor * NAMED(load)(rows + j * stride + c));
            }
        }
        for (; c < width; c++)
            for (int64_t j = first; j < last; j++)
                to_kernel[j * width + c] += READ(mine[c]) * READ(rows[j * stride + c]);
    }
}

/* Add the bias to every row of logits and turn it into the softmax over a vocabulary, in place; losses: the cross-entropy of each row's answer
   in nats. Where `uniforms` is given, samples[row] is drawn from the row: the first word at which the cumulative
   probability passes the uniform number. `row_of_exponentials` has room for `width` numbers. */
void NAMED(vocabulary_softmax)(int64_t rows, int64_t width, SCALAR *logits, const float *bias, const int64_t *answers,
                               float *losses, const float *uniforms, int64_t *samples, float *restrict row_of_exponentials) {
    for (int64_t row = 0; row < rows; row++, logits += width) {
        float largest = -INFINITY, answer = READ(logits[answers[row]]) + bias[answers[row]];
        double total = 0.0;
#pragma omp simd reduction(max : largest)
        for (int64_t word = 0; word < width; word++) {
            float logit = row_of_exponentials[word] = READ(logits[word]) + bias[word];
            largest = logit > largest ? logit : largest;
        }
        for (int64_t start = 0; start < width; start += BLOCK)
            total += exponentials(smallest_of(BLOCK, width - start), row_of_exponentials + start, largest);
        losses[row] = (float)log(total) + largest - answer;
        if (uniforms) samples[row] = drawn(row_of_exponentials, width, uniforms[row] * total);
        float scale = (float)(1.0 / total);
        for (int64_t word = 0; word < width; word++) logits[word] = WRITE(row_of_exponentials[word] * scale);
    }
}
