// Products of float32 matrices, and layers of a perceptron, for a core of a CPU.
//
// A general library packs the matrices before it multiplies them, transposes what it meets the wrong way round, and writes the product to
// memory before an activation reads it again. With a few hundred points and layers of 64 units that takes a third of a training step. Here
// a tile of the product stays in registers while both matrices are read as they lie, the rows of the weights by whole vectors, and an
// activation follows on the few rows that the first cache still has.
//
// All matrices are dense and row by row. What is called from XLA is at the end.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "xla/ffi/api/c_api.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

// Numbers in a vector, and the tile of the product that registers have room for: rows, and vectors in each row.
#if defined(__AVX512F__)
constexpr size_t LANES = 16, ROWS = 6, VECTORS = 4;
#elif defined(__AVX__)
constexpr size_t LANES = 8, ROWS = 6, VECTORS = 2;
#elif defined(__aarch64__)
constexpr size_t LANES = 4, ROWS = 6, VECTORS = 4;
#else
constexpr size_t LANES = 4, ROWS = 6, VECTORS = 2;
#endif

constexpr size_t MOST = 4096;  // numbers in a matrix of weights with fewer columns than a vector has lanes

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef int32_t Bits __attribute__((vector_size(LANES * sizeof(int32_t))));

INLINE Vector all(float value) { return Vector{} + value; }
INLINE Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
INLINE void store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }

// A matrix that may lie down its columns.
struct Matrix {
  const float* first;
  size_t down, right;  // numbers to the next row, and to the next column
};

// R rows and C vectors of a b, on top of a row of biases if there is one. The vectors lie side by side but for the last, which is `last`
// numbers after the first.
template <size_t R, size_t C>
static void tile(Matrix a, const float* b, size_t columns, size_t length, const float* biases, float* out, ptrdiff_t last) {
  auto place = [=](size_t j) { return j + 1 < C ? ptrdiff_t(j * LANES) : last; };
  Vector sums[R][C];
  UNROLLED for (size_t j = 0; j < C; j++) {
    Vector start = biases ? load(biases + place(j)) : Vector{};
    UNROLLED for (size_t i = 0; i < R; i++) sums[i][j] = start;
  }
  for (size_t k = 0; k < length; k++) {
    Vector row[C];
    UNROLLED for (size_t j = 0; j < C; j++) row[j] = load(b + k * columns + place(j));
    UNROLLED for (size_t i = 0; i < R; i++) {
      Vector factor = all(a.first[i * a.down + k * a.right]);
      UNROLLED for (size_t j = 0; j < C; j++) sums[i][j] += factor * row[j];
    }
  }
  UNROLLED for (size_t i = 0; i < R; i++) {
    UNROLLED for (size_t j = 0; j < C; j++) store(out + i * columns + place(j), sums[i][j]);
  }
}

// R whole rows of a b. The last vector of a row may overlap the one before: it has the same numbers there.
template <size_t R>
static void band(Matrix a, const float* b, size_t columns, size_t length, const float* biases, float* out) {
  for (size_t j = 0, taken; j < columns; j += taken * LANES) {
    size_t vectors = (columns - j + LANES - 1) / LANES;
    taken = vectors < VECTORS ? vectors : VECTORS;
    auto* compute = taken == 1 ? tile<R, 1> : taken == 2 ? tile<R, 2> : taken == 3 ? tile<R, 3> : tile<R, VECTORS>;
    ptrdiff_t whole = (taken - 1) * LANES, end = ptrdiff_t(columns - j) - ptrdiff_t(LANES);
    compute(a, b + j, columns, length, biases ? biases + j : nullptr, out + j, end < whole ? end : whole);
  }
}

// a b, on top of biases, where b has at least one vector in a row; a few rows at a time, each between `before` and `after` (row, count).
template <class Before, class After>
INLINE void multiply(Matrix a, const float* b, size_t rows, size_t columns, size_t length, const float* biases, float* out, Before before,
                     After after) {
  for (size_t i = 0, taken; i < rows; i += taken) {
    size_t left = rows - i;
    taken = left >= ROWS ? ROWS : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    auto* compute = taken == ROWS ? band<ROWS> : taken == 4 ? band<4> : taken == 2 ? band<2> : band<1>;
    before(i, taken);
    compute({a.first + i * a.down, a.down, a.right}, b, columns, length, biases, out + i * columns);
    after(i, taken);
  }
}

INLINE void nothing(size_t, size_t) {}

INLINE float sum(Vector of) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(of);
#else
  float total = 0;
  UNROLLED for (size_t i = 0; i < LANES; i++) total += of[i];
  return total;
#endif
}

// Any matrices, number by number.
static void plainly(Matrix a, Matrix b, size_t rows, size_t columns, size_t length, float* out) {
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) {
      float total = 0;
      for (size_t k = 0; k < length; k++) total += a.first[i * a.down + k * a.right] * b.first[k * b.down + j * b.right];
      out[i * columns + j] = total;
    }
  }
}

// x w, where w has few columns: each of them as one row, times the rows of x.
static void to_few(const float* x, const float* w, size_t rows, size_t columns, size_t length, float* out) {
  if (length < LANES || columns * length > MOST) return plainly({x, length, 1}, {w, columns, 1}, rows, columns, length, out);
  float turned[MOST];
  for (size_t j = 0; j < columns; j++) {
    for (size_t k = 0; k < length; k++) turned[j * length + k] = w[k * columns + j];
  }
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) {
      const float *left = x + i * length, *right = turned + j * length;
      Vector sums = {};
      size_t k = 0;
      for (; k + LANES <= length; k += LANES) sums += load(left + k) * load(right + k);
      float total = sum(sums);
      for (; k < length; k++) total += left[k] * right[k];
      out[i * columns + j] = total;
    }
  }
}

static void rows_times(const float* x, const float* w, size_t rows, size_t columns, size_t length, float* out) {
  if (columns < LANES) return to_few(x, w, rows, columns, length, out);
  multiply({x, length, 1}, w, rows, columns, length, nullptr, out, nothing, nothing);
}

// The transpose of x times y; both have `length` rows.
static void columns_times(const float* x, const float* y, size_t rows, size_t columns, size_t length, float* out) {
  if (columns >= LANES) return multiply({x, 1, rows}, y, rows, columns, length, nullptr, out, nothing, nothing);
  if (rows < LANES || rows * columns > MOST) return plainly({x, 1, rows}, {y, columns, 1}, rows, columns, length, out);
  float turned[MOST];
  multiply({y, 1, columns}, x, columns, rows, length, nullptr, turned, nothing, nothing);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) out[i * columns + j] = turned[j * rows + i];
  }
}

// a / b. A processor that has an estimate of 1 / b to 14 bits is faster with a step of Newton's than with its division.
INLINE Vector quotient(Vector a, Vector b) {
#if defined(__AVX512F__)
  Vector estimate = _mm512_maskz_rcp14_ps(0xffff, b);
  return a * (estimate * (2.0f - b * estimate));
#else
  return a / b;
#endif
}

// z within ±end; NaN stays NaN.
INLINE Vector within(Vector z, float end) {
#if defined(__AVX512F__)
  return _mm512_max_ps(all(-end), _mm512_min_ps(all(end), z));
#else
  z = z > all(end) ? all(end) : z;
  return z < all(-end) ? all(-end) : z;
#endif
}

// An odd polynomial over an even one, as Eigen and XLA have it.
INLINE Vector tanh(Vector z) {
  const float odd[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
                       1.48572235717979e-05f,  6.37261928875436e-04f, 4.89352455891786e-03f};
  const float even[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f};
  Vector x = within(z, 7.90531110763549805f), s = x * x, top = all(odd[0]), bottom = all(even[0]);
  UNROLLED for (size_t i = 1; i < 7; i++) top = top * s + odd[i];
  UNROLLED for (size_t i = 1; i < 4; i++) bottom = bottom * s + even[i];
  return quotient(x * top, bottom);
}

// 1 / (1 + exp(-z)), at least 1e-38. With -z = (n + r) log 2, |r| <= 1/2, the power of two is put together from a polynomial for 2^r and n as its exponent.
INLINE Vector logistic(Vector z) {
  const float powers[] = {1.535336188319500e-4f, 1.339887440266574e-3f, 9.618437357674640e-3f,
                          5.550332471162809e-2f, 2.402264791363012e-1f, 6.931472028550421e-1f, 1.0f};
  const float round = 12582912.0f;  // 1.5 * 2^23: a number that is added to it loses what comes after its point
  Vector x = within(z, 87.0f) * -1.44269504088896341f, shifted = x + round, r = x - (shifted - round), power = all(powers[0]);
  UNROLLED for (size_t i = 1; i < 7; i++) power = power * r + powers[i];
  Bits bits = reinterpret_cast<Bits>(power) + (reinterpret_cast<Bits>(shifted) << 23);
  return quotient(all(1.0f), 1.0f + reinterpret_cast<Vector>(bits));
}

// An activation at z, and its first two derivatives.
struct Tanh {
  INLINE Vector value(Vector z, Vector& slope, Vector& bend) {
    Vector t = tanh(z);
    slope = 1.0f - t * t;
    bend = -2.0f * t * slope;
    return t;
  }
};

struct Silu {
  INLINE Vector value(Vector z, Vector& slope, Vector& bend) {
    Vector gate = logistic(z), rest = 1.0f - gate;
    slope = gate + gate * rest * z;
    bend = gate * rest * (2.0f + z * (rest - gate));
    return z * gate;
  }
};

// The activation in place of z, its slope and its bend where they are wanted.
template <class Activation, int ORDER>
static void activate(size_t count, float* out, float* slopes, float* bends) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    Vector slope, bend, value = Activation::value(load(out + i), slope, bend);
    store(out + i, value);
    if (ORDER > 0) store(slopes + i, slope);
    if (ORDER > 1) store(bends + i, bend);
  }
  if (i == count) return;
  float last[3][LANES] = {};
  size_t bytes = (count - i) * sizeof(float);
  memcpy(last[0], out + i, bytes);
  activate<Activation, ORDER>(LANES, last[0], last[1], last[2]);
  memcpy(out + i, last[0], bytes);
  if (ORDER > 0) memcpy(slopes + i, last[1], bytes);
  if (ORDER > 1) memcpy(bends + i, last[2], bytes);
}

// `each(place, a, b)` on whole vectors of a row or several, and on the numbers that are left.
template <class Each>
INLINE void over(size_t count, Each each) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) each(i, Vector{});
  for (; i < count; i++) each(i, float{});
}

INLINE Vector read(const float* from, Vector) { return load(from); }
INLINE float read(const float* from, float) { return *from; }
INLINE void write(float* to, Vector value) { store(to, value); }
INLINE void write(float* to, float value) { *to = value; }

// ---- What XLA calls ----

// XLA asks every function once which interface it was compiled for.
static bool is_question(XLA_FFI_CallFrame* call) {
  if (!call->extension_start || call->extension_start->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata* told = reinterpret_cast<XLA_FFI_Metadata_Extension*>(call->extension_start)->metadata;
  told->api_version.major_version = XLA_FFI_API_MAJOR;
  told->api_version.minor_version = XLA_FFI_API_MINOR;
  told->traits = 0;
  return true;
}

struct Given {
  float* numbers;
  size_t rows, columns;
};

static Given given(void* argument) {
  XLA_FFI_Buffer* buffer = static_cast<XLA_FFI_Buffer*>(argument);
  size_t columns = buffer->dims[buffer->rank - 1];
  return {static_cast<float*>(buffer->data), buffer->rank > 1 ? static_cast<size_t>(buffer->dims[0]) : 1, columns};
}

static Given argument(XLA_FFI_CallFrame* call, int64_t index) { return given(call->args.args[index]); }

// The array to write, or none where the program wants fewer.
static float* result(XLA_FFI_CallFrame* call, int64_t index) {
  return index < call->rets.size ? given(call->rets.rets[index]).numbers : nullptr;
}

// (x, w, b) -> the activation of x w + b, and its first two derivatives if wanted.
template <class Activation>
static void layer(XLA_FFI_CallFrame* call) {
  Given x = argument(call, 0), w = argument(call, 1), b = argument(call, 2);
  float *out = result(call, 0), *slopes = result(call, 1), *bends = result(call, 2);
  auto* finish = bends ? activate<Activation, 2> : slopes ? activate<Activation, 1> : activate<Activation, 0>;
  size_t width = w.columns;
  multiply({x.numbers, x.columns, 1}, w.numbers, x.rows, width, x.columns, b.numbers, out, nothing, [=](size_t row, size_t count) {
    size_t at = row * width;
    finish(count * width, out + at, slopes ? slopes + at : nullptr, bends ? bends + at : nullptr);
  });
}

// (y, w, s) -> s (y w), number by number, and y w itself if wanted.
static void tangent(XLA_FFI_CallFrame* call) {
  Given y = argument(call, 0), w = argument(call, 1), s = argument(call, 2);
  float *out = result(call, 0), *plain = result(call, 1);
  float *moved = plain ? plain : out;
  size_t width = w.columns;
  multiply({y.numbers, y.columns, 1}, w.numbers, y.rows, width, y.columns, nullptr, moved, nothing, [=](size_t row, size_t count) {
    const float *factor = s.numbers + row * width, *from = moved + row * width;
    float* to = out + row * width;
    over(count * width, [=](size_t i, auto kind) __attribute__((always_inline)) { write(to + i, read(factor + i, kind) * read(from + i, kind)); });
  });
}

enum { ROWS_WANTED = 1, WEIGHTS_WANTED = 2, BIASES_WANTED = 4 };

// (c1, s1, [c2, s2], [x], [w]) -> c = c1 s1 + c2 s2, number by number, then of what is wanted: c w, where w is the layer's weights transposed,
// the transpose of x times c, and the sum of the rows of c.
static void backward(XLA_FFI_CallFrame* call) {
  int64_t wanted = *static_cast<int64_t*>(static_cast<XLA_FFI_Scalar*>(call->attrs.attrs[0])->value);
  int64_t others = !!(wanted & ROWS_WANTED) + !!(wanted & WEIGHTS_WANTED), next = call->args.size - others, made = 0;
  bool is_pair = next == 4;
  Given c1 = argument(call, 0), s1 = argument(call, 1), c2 = is_pair ? argument(call, 2) : c1, s2 = is_pair ? argument(call, 3) : s1;
  size_t rows = c1.rows, width = c1.columns;
  float* total = result(call, made++);
  float* sums = wanted & BIASES_WANTED ? result(call, call->rets.size - 1) : nullptr;
  if (sums) memset(sums, 0, width * sizeof(float));
  auto prepare = [=](size_t row, size_t count) {
    size_t at = row * width;
    const float *a = c1.numbers + at, *b = s1.numbers + at, *c = c2.numbers + at, *d = s2.numbers + at;
    float* to = total + at;
    over(width, [=](size_t j, auto all_of) __attribute__((always_inline)) {
      for (size_t i = j; i < count * width; i += width) {
        auto product = read(a + i, all_of) * read(b + i, all_of);
        if (is_pair) product += read(c + i, all_of) * read(d + i, all_of);
        write(to + i, product);
        all_of += product;
      }
      if (sums) write(sums + j, read(sums + j, all_of) + all_of);
    });
  };
  Given x = wanted & WEIGHTS_WANTED ? argument(call, next++) : Given{};
  if (wanted & ROWS_WANTED) {
    Given w = argument(call, next++);
    float* out = result(call, made++);
    if (w.columns >= LANES) {
      multiply({total, width, 1}, w.numbers, rows, w.columns, width, nullptr, out, prepare, nothing);
    } else {
      prepare(0, rows);
      rows_times(total, w.numbers, rows, w.columns, width, out);
    }
  } else {
    prepare(0, rows);
  }
  if (wanted & WEIGHTS_WANTED) columns_times(x.numbers, total, x.columns, width, rows, result(call, made++));
}

static void rows_times(XLA_FFI_CallFrame* call) {
  Given x = argument(call, 0), w = argument(call, 1);
  rows_times(x.numbers, w.numbers, x.rows, w.columns, x.columns, result(call, 0));
}

static void columns_times(XLA_FFI_CallFrame* call) {
  Given x = argument(call, 0), y = argument(call, 1);
  columns_times(x.numbers, y.numbers, x.columns, y.columns, x.rows, result(call, 0));
}

#define CALLED(name, function)                                           \
  extern "C" XLA_FFI_Error* fredholm_##name(XLA_FFI_CallFrame* call) {   \
    if (!is_question(call)) function(call);                              \
    return nullptr;                                                      \
  }

CALLED(rows_times, rows_times)
CALLED(columns_times, columns_times)
CALLED(tanh_layer, layer<Tanh>)
CALLED(silu_layer, layer<Silu>)
CALLED(tangent, tangent)
CALLED(backward, backward)
