// The pairs of bench_tuning.
#include "tests/bench/tuning_pairs.h"

#include <memory>

namespace bench {

namespace {

/// A buffer of numbers between -1 and 1 that look random.
template <class T>
std::shared_ptr<tw::Buffer<T>> filled(const tw::Device& device, std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    values[static_cast<std::size_t>(i)] = T(static_cast<float>(static_cast<std::uint32_t>(i) * 2654435761u >> 16) / 32768.0f - 1.0f);
  return std::make_shared<tw::Buffer<T>>(device.upload(values));
}

template <class T>
constexpr const char* name_of() {
  return sizeof(T) == 2 ? "f16" : "f32";
}

std::string text(std::initializer_list<std::int64_t> extents) {
  std::string all;
  for (const std::int64_t e : extents) all += (all.empty() ? "" : "x") + std::to_string(e);
  return all;
}

template <class T>
TuningPair product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {std::string("matmul ") + name_of<T>() + " " + text({m, n, k}), [=](const tw::Device& d) {
            return [=, a = filled<T>(d, m * k), b = filled<T>(d, k * n), c = filled<T>(d, m * n)](const kernels::Options& o) {
              kernels::matmul(tw::view(*a, {m, k}), tw::view(*b, {k, n}), tw::view(*c, {m, n}), o);
            };
          }};
}

template <class T>
TuningPair matvec(std::int64_t m, std::int64_t k) {
  return {std::string("matvec ") + name_of<T>() + " " + text({m, k}), [=](const tw::Device& d) {
            return [=, a = filled<T>(d, m * k), x = filled<T>(d, k), y = filled<T>(d, m)](const kernels::Options& o) {
              kernels::matvec(tw::view(*a, {m, k}), tw::view(*x, {k}), tw::view(*y, {m}), o);
            };
          }};
}

template <class T>
TuningPair softmax(std::int64_t rows, std::int64_t n) {
  return {std::string("softmax ") + name_of<T>() + " " + text({rows, n}), [=](const tw::Device& d) {
            return [=, x = filled<T>(d, rows * n), y = filled<T>(d, rows * n)](const kernels::Options& o) {
              kernels::softmax(tw::view(*x, {rows, n}), tw::view(*y, {rows, n}), o);
            };
          }};
}

template <class T>
TuningPair layer_norm(std::int64_t rows, std::int64_t n) {
  return {std::string("layer_norm ") + name_of<T>() + " " + text({rows, n}), [=](const tw::Device& d) {
            return [=, x = filled<T>(d, rows * n), y = filled<T>(d, rows * n), gamma = filled<T>(d, n),
                    beta = filled<T>(d, n)](const kernels::Options& o) {
              kernels::layer_norm(tw::view(*x, {rows, n}), tw::view(*gamma, {n}), tw::view(*beta, {n}), tw::view(*y, {rows, n}), 1e-5, {},
                                  {}, o);
            };
          }};
}

template <class T>
TuningPair cross_entropy(std::int64_t rows, std::int64_t n) {
  return {std::string("cross_entropy ") + name_of<T>() + " " + text({rows, n}), [=](const tw::Device& d) {
            auto targets =
                std::make_shared<tw::Buffer<std::int32_t>>(d.upload(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 3)));
            return [=, x = filled<T>(d, rows * n), y = filled<float>(d, rows)](const kernels::Options& o) {
              kernels::cross_entropy(tw::view(*x, {rows, n}), tw::view(*targets, {rows}), tw::view(*y, {rows}), {}, o);
            };
          }};
}

template <class T>
TuningPair transpose(std::int64_t m, std::int64_t n) {
  return {std::string("transpose ") + name_of<T>() + " " + text({m, n}), [=](const tw::Device& d) {
            return [=, x = filled<T>(d, m * n), y = filled<T>(d, m * n)](const kernels::Options& o) {
              kernels::transpose(tw::view(*x, {m, n}), tw::view(*y, {n, m}), o);
            };
          }};
}

template <class T>
TuningPair copy(std::int64_t m, std::int64_t n) {
  return {std::string("copy ") + name_of<T>() + " " + text({m, n}), [=](const tw::Device& d) {
            return [=, x = filled<T>(d, m * n), y = filled<T>(d, m * n)](const kernels::Options& o) {
              kernels::copy(tw::view(*x, {m, n}), tw::view(*y, {m, n}), o);
            };
          }};
}

template <class T>
TuningPair reduce_rows(std::int64_t m, std::int64_t k) {
  return {std::string("reduce ") + name_of<T>() + " " + text({m, k}) + " axis 1", [=](const tw::Device& d) {
            return [=, x = filled<T>(d, m * k), y = filled<float>(d, m)](const kernels::Options& o) {
              kernels::reduce(tw::view(*x, {m, k}), 1, tw::view(*y, {m}), o);
            };
          }};
}
template <class T>
TuningPair reduce_columns(std::int64_t k, std::int64_t m) {
  return {std::string("reduce ") + name_of<T>() + " " + text({k, m}) + " axis 0", [=](const tw::Device& d) {
            return [=, x = filled<T>(d, m * k), y = filled<float>(d, m)](const kernels::Options& o) {
              kernels::reduce(tw::view(*x, {k, m}), 0, tw::view(*y, {m}), o);
            };
          }};
}

TuningPair scan(std::int64_t n) {
  return {"scan f32 " + text({n}), [=](const tw::Device& d) {
            return [=, x = filled<float>(d, n), y = filled<float>(d, n)](const kernels::Options& o) {
              kernels::scan(*x, *y, [](auto a, auto b) { return a + b; }, 0.0f, o);
            };
          }};
}

template <class T>
TuningPair attention(std::int64_t heads, std::int64_t length, int depth, bool causal) {
  return {std::string("attention ") + name_of<T>() + " " + text({heads, length, depth}) + (causal ? " causal" : ""),
          [=](const tw::Device& d) {
            const std::int64_t n = heads * length * depth;
            return [=, q = filled<T>(d, n), k = filled<T>(d, n), v = filled<T>(d, n), out = filled<T>(d, n)](const kernels::Options& o) {
              const auto of = [&](auto& b) { return tw::view(*b, {std::int64_t{1}, heads, length, std::int64_t{depth}}); };
              kernels::attention(of(q), of(k), of(v), of(out), {.causal = causal}, o);
            };
          }};
}

template <class T>
TuningPair decode(std::int64_t batch, std::int64_t heads, std::int64_t capacity, int depth) {
  return {std::string("decode_attention ") + name_of<T>() + " " + text({batch, heads, capacity, depth}), [=](const tw::Device& d) {
            auto lengths = std::make_shared<tw::Buffer<std::int32_t>>(
                d.upload(std::vector<std::int32_t>(static_cast<std::size_t>(batch), static_cast<std::int32_t>(capacity))));
            const std::int64_t cache = batch * heads * capacity * depth, n = batch * heads * depth;
            return [=, q = filled<T>(d, n), k = filled<T>(d, cache), v = filled<T>(d, cache),
                    out = filled<T>(d, n)](const kernels::Options& o) {
              const auto of = [&](auto& b) { return tw::view(*b, {batch, heads, capacity, std::int64_t{depth}}); };
              kernels::decode_attention(tw::view(*q, {batch, heads, std::int64_t{depth}}), of(k), of(v), tw::view(*lengths, {batch}),
                                        tw::view(*out, {batch, heads, std::int64_t{depth}}), {}, o);
            };
          }};
}

}  // namespace

std::vector<TuningPair> tuning_pairs(bool is_small) {
  using tw::f16;
  if (is_small)
    return {product<f16>(128, 128, 256),  product<f16>(256, 64, 64),       product<float>(64, 64, 128),       product<f16>(17, 256, 512),
            softmax<float>(64, 1000),     layer_norm<f16>(64, 512),        transpose<float>(256, 192),        copy<f16>(128, 1000),
            reduce_rows<float>(64, 2048), reduce_columns<float>(512, 100), attention<f16>(2, 128, 64, false), matvec<f16>(256, 512)};
  return {product<float>(256, 256, 256),
          product<float>(1000, 1000, 300),
          product<float>(16, 2048, 512),
          product<float>(64, 64, 8192),
          product<f16>(256, 256, 256),
          product<f16>(512, 384, 1000),
          matvec<float>(2048, 2048),
          matvec<float>(100, 30000),
          softmax<float>(4096, 64),
          softmax<float>(1024, 1000),
          softmax<float>(64, 50257),
          softmax<f16>(1024, 1024),
          layer_norm<float>(1024, 768),
          layer_norm<float>(333, 5000),
          cross_entropy<float>(64, 32000),
          transpose<float>(1024, 1024),
          transpose<f16>(777, 2001),
          copy<float>(1000, 1000),
          reduce_rows<float>(1000, 1000),
          reduce_rows<float>(1, 4000000),
          reduce_columns<float>(2000, 1000),
          scan(1000000),
          attention<float>(8, 256, 64, false),
          decode<float>(4, 8, 1024, 64)};
}

std::vector<TuningPair> product_pairs() {
  return {product<float>(512, 512, 512), product<float>(1024, 1024, 1024), product<float>(4096, 64, 4096), product<float>(4096, 4096, 64),
          product<float>(128, 512, 1024)};
}

}  // namespace bench
