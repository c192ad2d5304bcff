// Inputs, launches and references of Triton's kernels.
#include "tests/unit/emulator/triton_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/simd/small_float.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

using Values = std::vector<double>;

u64 encoded(double value, Type type) {
  switch (type) {
    case Type::s32: return static_cast<u32>(static_cast<s32>(value));
    case Type::f32: return std::bit_cast<u32>(static_cast<float>(value));
    case Type::f16: return round_to(value, kF16, Rounding::nearest_even);
    case Type::bf16: return round_to(value, kBf16, Rounding::nearest_even);
    default: return round_to(value, kE4m3, Rounding::nearest_even);
  }
}

/// A tensor in the memory of the device.
class Tensor {
 public:
  Tensor(Memory& memory, Type type, const Values& values) : type_(type), count_(values.size()) {
    std::vector<u8> bytes(count_ * size());
    for (std::size_t i = 0; i < count_; ++i) {
      const u64 bits = encoded(values[i], type);
      std::memcpy(bytes.data() + i * size(), &bits, size());
    }
    address_ = memory.allocate(bytes.size());
    memory.write(address_, bytes.data(), bytes.size());
  }
  Tensor(Memory& memory, Type type, std::size_t count) : Tensor(memory, type, Values(count, 0)) {}
  u64 address() const { return address_; }
  Type type() const { return type_; }
  double operator[](std::size_t i) const {
    u64 bits = 0;
    std::memcpy(&bits, reinterpret_cast<const void*>(address_ + i * size()), size());
    return number_of(bits, type_);
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(operand_bits(type_) / 8); }
  Type type_;
  std::size_t count_;
  u64 address_ = 0;
};

/// Multiples of `step`, which all types hold.
Values random_values(std::size_t count, int range, double step, u64 seed) {
  std::mt19937_64 random(seed);
  Values values(count);
  for (double& value : values) value = step * (static_cast<double>(random() % static_cast<u64>(2 * range + 1)) - range);
  return values;
}

class Runner {
 public:
  Runner(const std::string& name, const std::string& ptx, AsyncOrder order) : name_(name), bench_(ptx, name + ".ptx") {
    bench_.launch_params.async_order = order;
    bench_.launch_params.order = order == AsyncOrder::eager ? Order::backward : Order::forward;
    // Triton asks for its shared memory at the launch, and the text does not say how much: all that there is.
    const std::string target = name.substr(name.find(".sm_") + 1);
    shared_ = target == "sm_90" ? 227 << 10 : target == "sm_80" ? 163 << 10 : 99 << 10;
    if (target != "sm_90") bench_.launch_params.target = target;
    bench_.launch_params.instruction_limit = 400'000'000;
  }

  std::string check();

 private:
  bool has(const std::string& part) const { return name_.find(part) != std::string::npos; }
  Type type() const {
    return has("fp8") ? Type::e4m3 : has("bf16") ? Type::bf16 : has("f16") || has("scale_matmul") ? Type::f16 : Type::f32;
  }
  double relative() const { return type() == Type::bf16 ? 1.0 / 128 : type() == Type::f16 ? 1.0 / 1024 : 1e-5; }
  /// Numbers in the name: "128x256x64".
  std::array<u32, 3> tile() const {
    std::smatch found;
    if (!std::regex_search(name_, found, std::regex("(\\d+)x(\\d+)x(\\d+)"))) return {128, 128, 32};
    const auto part = [&](int k) { return static_cast<u32>(std::stoul(found[static_cast<std::size_t>(k)])); };
    return {part(1), part(2), part(3)};
  }
  /// The number in the name: "softmax_bf16_1024.sm_80".
  u32 block() const {
    std::smatch found;
    if (!std::regex_search(name_, found, std::regex("_(\\d+)[_.]"))) throw std::runtime_error("no size in the name " + name_);
    return static_cast<u32>(std::stoul(found[1]));
  }
  Tensor tensor(Type type, const Values& values) { return Tensor(bench_.memory, type, values); }
  Tensor output(Type type, std::size_t count) { return Tensor(bench_.memory, type, count); }

  void launch(std::array<u32, 3> grid, Params& params) {
    // Every kernel of Triton has two more pointers: memory for the grid's descriptors, and for profiles.
    const u64 scratch = bench_.memory.allocate(1 << 20);
    params.add(scratch).add(u64{0});
    const Kernel& kernel = *bench_.loaded->kernels().front();
    bench_.run(kernel.name, grid, kernel.required_threads, params, shared_);
    for (const Diagnostic& diagnostic : bench_.diagnostics.list()) wrong_ += to_string(diagnostic) + "\n";
  }

  void expect(const char* what, std::size_t i, double got, double wanted, double relative, double absolute) {
    if (std::abs(got - wanted) <= std::abs(wanted) * relative + absolute) return;
    if (++mismatches_ <= 3) wrong_ += fmt::format("{}[{}] is {}, expected {}\n", what, i, got, wanted);
  }

  void add();
  void softmax();
  void layer_norm();
  void transpose();
  void row_sum();
  void scan();
  void order();
  void histogram();
  void matmul();
  void attention();
  void add_descriptor(Params&, const Tensor&, u32 rows, u32 columns, u32 box_rows);

  std::string name_;
  Bench bench_;
  u64 shared_;
  std::string wrong_;
  int mismatches_ = 0;
};

void Runner::add() {
  const std::size_t n = has("loose") || has("unaligned") ? 2037 : 2032;
  const Values x = random_values(n, 100, 0.125, 1), y = random_values(n, 100, 0.125, 2);
  const Tensor dx = tensor(Type::f32, x), dy = tensor(Type::f32, y), out = output(Type::f32, n);
  Params params;
  params.add(dx.address()).add(dy.address()).add(out.address());
  has("wide") ? params.add(u64{n}) : params.add(static_cast<u32>(n));
  launch({2, 1, 1}, params);
  for (std::size_t i = 0; i < n; ++i) expect("out", i, out[i], x[i] + y[i], 0, 0);
}

void Runner::softmax() {
  const u32 block = this->block(), n = has("loose") ? block - 37 : block - 48, ld = has("loose") ? block + 3 : block;
  const Values x = random_values(std::size_t{3} * ld, 64, 0.0625, 3);
  const Tensor in = tensor(type(), x), out = output(type(), x.size());
  Params params;
  launch({3, 1, 1}, params.add(out.address()).add(in.address()).add(ld).add(ld).add(n));
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[row * ld + i]);
    for (std::size_t i = 0; i < n; ++i) expect("out", row * ld + i, out[row * ld + i], std::exp(x[row * ld + i]) / sum, relative(), 1e-7);
  }
}

void Runner::layer_norm() {
  const u32 n = has("loose") ? 2533 : 2512, ld = n + (has("loose") ? 2 : 16);
  const double eps = 1e-5f;
  const Values x = random_values(std::size_t{3} * ld, 32, 0.0625, 4), g = random_values(n, 8, 0.25, 5), h = random_values(n, 8, 0.25, 6);
  const Tensor in = tensor(type(), x), weight = tensor(type(), g), bias = tensor(type(), h), out = output(type(), x.size()),
               means = output(Type::f32, 3), rstds = output(Type::f32, 3);
  Params params;
  params.add(in.address()).add(out.address()).add(weight.address()).add(bias.address()).add(means.address()).add(rstds.address());
  launch({3, 1, 1}, params.add(ld).add(n).add(static_cast<float>(eps)));
  for (std::size_t row = 0; row < 3; ++row) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[row * ld + i] / n;
    for (std::size_t i = 0; i < n; ++i) square += (x[row * ld + i] - mean) * (x[row * ld + i] - mean) / n;
    const double rstd = 1 / std::sqrt(square + eps);
    expect("mean", row, means[row], mean, 1e-5, 1e-6);
    expect("rstd", row, rstds[row], rstd, 1e-5, 0);
    for (std::size_t i = 0; i < n; ++i)
      expect("out", row * ld + i, out[row * ld + i], (x[row * ld + i] - mean) * rstd * g[i] + h[i], relative(), 1e-5);
  }
}

void Runner::transpose() {
  const u32 m = has("loose") ? 101 : 112, n = has("loose") ? 75 : 80, ld_x = n, ld_out = m;
  const Values x = random_values(std::size_t{m} * n, 100, 0.125, 7);
  const Tensor in = tensor(type(), x), out = output(type(), x.size());
  Params params;
  launch({2, 2, 1}, params.add(in.address()).add(out.address()).add(ld_x).add(ld_out).add(m).add(n));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) expect("out", j * m + i, out[j * m + i], x[i * n + j], 0, 0);
}

void Runner::row_sum() {
  const bool tiles = has("tile16x128");
  const u32 rows = tiles ? 48 : 3, n = tiles ? 400 : 1008, ld = 1024;
  // Sums of small integers are exact in bf16 too.
  const Values x = random_values(std::size_t{rows} * ld, 1, 1, 8);
  const Tensor in = tensor(type(), x), out = output(type(), rows);
  Params params;
  params.add(in.address()).add(out.address()).add(ld);
  if (tiles) params.add(rows);
  launch({tiles ? rows / 16 : rows, 1, 1}, params.add(n));
  for (std::size_t row = 0; row < rows; ++row)
    expect("out", row, out[row], std::accumulate(x.begin() + static_cast<s64>(row * ld), x.begin() + static_cast<s64>(row * ld + n), 0.0),
           0, 0);
}

void Runner::scan() {
  const std::size_t block = this->block(), n = 2 * block - 48;
  const Values x = random_values(n, 1, 1, 9);
  const Tensor in = tensor(type(), x), out = output(type(), n);
  Params params;
  launch({2, 1, 1}, params.add(in.address()).add(out.address()).add(static_cast<u32>(n)));
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = (i % block == 0 ? 0 : sum) + x[i];
    expect("out", i, out[i], sum, 0, 0);
  }
}

void Runner::order() {
  const std::size_t block = this->block(), n = 2 * block;
  // All different.
  Values x(n);
  std::iota(x.begin(), x.end(), -1000);
  std::shuffle(x.begin(), x.end(), std::mt19937_64(10));
  const bool is_argmax = has("argmax"), is_topk = has("topk");
  const std::size_t columns = block - 16;  // columns that argmax considers
  const Tensor in = tensor(Type::f32, x), out = output(is_argmax ? Type::s32 : Type::f32, n);
  Params params;
  params.add(in.address()).add(out.address());
  if (is_argmax) params.add(static_cast<u32>(block));
  launch({2, 1, 1}, params.add(static_cast<u32>(is_argmax ? columns : n)));
  for (std::size_t row = 0; row < 2; ++row) {
    Values part(x.begin() + static_cast<s64>(block * row), x.begin() + static_cast<s64>(block * (row + 1)));
    if (is_argmax) {
      const auto most = std::max_element(part.begin(), part.begin() + static_cast<s64>(columns)) - part.begin();
      expect("out", row, out[row], static_cast<double>(most), 0, 0);
      continue;
    }
    std::sort(part.begin(), part.end());
    if (is_topk) std::reverse(part.begin(), part.end());
    const std::size_t count = is_topk ? 32 : block;
    for (std::size_t i = 0; i < count; ++i) expect("out", count * row + i, out[count * row + i], part[i], 0, 0);
  }
}

void Runner::histogram() {
  const std::size_t n = 2000;
  Values x = random_values(n, 127, 1, 11);
  Values bins(256);
  for (double& value : x) ++bins[static_cast<std::size_t>(value += 128)];
  const Tensor in = tensor(Type::s32, x), out = output(Type::s32, 256);
  Params params;
  launch({2, 1, 1}, params.add(in.address()).add(out.address()).add(static_cast<u32>(n)));
  for (std::size_t i = 0; i < 256; ++i) expect("out", i, out[i], bins[i], 0, 0);
}

/// The map of a row-major matrix for boxes of so many rows and of 128 bytes in each, and what else Triton passes with it.
void Runner::add_descriptor(Params& params, const Tensor& matrix, u32 rows, u32 columns, u32 box_rows) {
  TensorMap map;
  map.address = matrix.address();
  map.strides[0] = u64{columns} * 2;
  map.last = {columns - 1, rows - 1};
  map.box = {64, static_cast<u16>(box_rows)};
  map.element_strides = {1, 1, 1, 1, 1};
  map.rank_less_one = 1;
  map.element = TensorElement::f16;
  map.swizzle = TensorSwizzle::bytes128;
  if (const std::string fault = fault_of(map); !fault.empty()) throw std::runtime_error(fault);
  struct alignas(64) Opaque {
    std::array<std::byte, 128> bytes{};
  } opaque;
  std::memcpy(opaque.bytes.data(), &map, sizeof map);
  params.add_aligned(opaque, 64);
  params.add(rows).add(columns).add(u64{columns}).add(u64{1});
}

void Runner::matmul() {
  const bool by_descriptor = has("desc") || has("persist") || has("split");
  const auto [bm, bn, bk] = tile();
  u32 m = 144, n = 272, k = 112;
  if (has("loose")) m = 150, n = 131, k = 77;
  if (has("scale")) k = 7 * bk + 16;  // more steps than the deepest pipeline has stages
  if (has("even")) m = 2 * bm, n = 2 * bn, k = 3 * bk;
  const bool transposed = has("_bt");
  const Type in = by_descriptor ? Type::f16 : type(), out = in == Type::f32 ? Type::f32 : Type::f16;
  const Values a = random_values(std::size_t{m} * k, 4, 0.25, 12), b = random_values(std::size_t{k} * n, 4, 0.25, 13);
  const Tensor da = tensor(in, a), db = tensor(in, b), dc = output(out, std::size_t{m} * n);
  u32 programs = (m + bm - 1) / bm * ((n + bn - 1) / bn);
  Params params;
  if (has("desc") || (has("persist") && !has("split")) || has("split_host")) {
    add_descriptor(params, da, m, k, bm);
    add_descriptor(params, db, k, n, bk);
    add_descriptor(params, dc, m, n, bm);
  } else {
    params.add(da.address()).add(db.address()).add(dc.address());
  }
  params.add(m).add(n).add(k);
  if (!by_descriptor) params.add(k).add(transposed ? k : n).add(n);
  if (has("persist") || has("split_host")) programs = 3;
  launch({programs, 1, 1}, params);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t x = 0; x < k; ++x) sum += a[i * k + x] * (transposed ? b[j * k + x] : b[x * n + j]);
      expect("c", i * n + j, dc[i * n + j], sum, out == Type::f16 ? 1.0 / 1024 : 0, 0);
    }
}

void Runner::attention() {
  const u32 d = has("d128") ? 128 : 64, heads = 2, n = has("causal_edge") ? 203 : has("edge") ? 208 : 256;
  const u32 bm = 128, bn = has("split") || has("desc_f16_d128") ? 128 : 64;
  const std::size_t count = std::size_t{heads} * n * d;
  const Values q = random_values(count, 8, 0.125, 14), k = random_values(count, 8, 0.125, 15), v = random_values(count, 8, 0.125, 16);
  const Tensor dq = tensor(Type::f16, q), dk = tensor(Type::f16, k), dv = tensor(Type::f16, v), out = output(Type::f16, count),
               lse = output(Type::f32, std::size_t{heads} * n);
  const float scale = 0.125f;
  Params params;
  if (has("desc")) {
    add_descriptor(params, dq, heads * n, d, bm);
    add_descriptor(params, dk, heads * n, d, bn);
    add_descriptor(params, dv, heads * n, d, bn);
    add_descriptor(params, out, heads * n, d, bm);
    params.add(lse.address()).add(scale).add(n);
  } else {
    params.add(dq.address()).add(dk.address()).add(dv.address()).add(out.address());
    if (has("split"))
      params.add(scale).add(n).add(heads);
    else
      params.add(lse.address()).add(scale).add(n * d).add(d).add(n);
  }
  launch({(n + bm - 1) / bm, heads, 1}, params);
  Values p(n);
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t row = 0; row < n; ++row) {
      const std::size_t columns = has("causal") ? row + 1 : n, at = (head * n + row) * d;
      double sum = 0;
      for (std::size_t column = 0; column < columns; ++column) {
        double s = 0;
        for (std::size_t x = 0; x < d; ++x) s += q[at + x] * k[(head * n + column) * d + x];
        sum += p[column] = std::exp(s * static_cast<double>(scale));
      }
      for (std::size_t x = 0; x < d; ++x) {
        double o = 0;
        for (std::size_t column = 0; column < columns; ++column) o += p[column] / sum * v[(head * n + column) * d + x];
        expect("out", at + x, out[at + x], o, 1.0 / 512, 1e-3);
      }
      if (!has("split")) expect("lse", head * n + row, lse[head * n + row], std::log2(sum), 1e-4, 1e-4);
    }
}

std::string Runner::check() {
  if (has("add_")) {
    add();
  } else if (has("softmax")) {
    softmax();
  } else if (has("layernorm")) {
    layer_norm();
  } else if (has("transpose")) {
    transpose();
  } else if (has("rowsum")) {
    row_sum();
  } else if (has("cumsum")) {
    scan();
  } else if (has("sort") || has("topk") || has("argmax")) {
    order();
  } else if (has("histogram")) {
    histogram();
  } else if (has("matmul")) {
    matmul();
  } else if (has("attention")) {
    attention();
  } else {
    throw std::runtime_error("no case for the kernel " + name_);
  }
  if (mismatches_ > 3) wrong_ += fmt::format("{} values are wrong\n", mismatches_);
  return wrong_;
}

}  // namespace

std::string check_triton_kernel(const std::string& name, const std::string& ptx, AsyncOrder order) {
  return Runner(name, ptx, order).check();
}

}  // namespace tilewright::rt::emulator
