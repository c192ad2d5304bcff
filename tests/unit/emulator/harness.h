// Runs PTX on the emulator for tests: one instruction on rows of inputs, with one thread for each row; kernels from text; files of
// tests/ptx.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/emulator/machine/emulator.h"
#include "tests/unit/emulator/fast_paths.h"

namespace tilewright::rt::emulator {

/// The bytes of a kernel's parameters, each aligned to its size.
class Params {
 public:
  template <class T>
  Params& add(const T& value) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back({});
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  /// A value whose alignment is not its size.
  template <class T>
  Params& add_aligned(const T& value, std::size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Device memory that holds a vector's values.
template <class T>
class Array {
 public:
  Array(Memory& memory, const std::vector<T>& values)
      : memory_(memory), count_(values.size()), address_(memory.allocate(count_ * sizeof(T))) {
    memory.write(address_, values.data(), count_ * sizeof(T));
  }
  Array(Memory& memory, std::size_t count, T value = T()) : Array(memory, std::vector<T>(count, value)) {}
  ~Array() { memory_.free(address_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  u64 address() const { return address_; }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address_), count_ * sizeof(T));
    return values;
  }

 private:
  Memory& memory_;
  std::size_t count_;
  u64 address_;
};

/// A module, device memory, and the reports and counters of its launches.
struct Bench {
  explicit Bench(const std::string& text, const std::string& name = "test.ptx") : loaded(LoadedModule::load(text, name)) {
    launch_params.instruction_limit = 50'000'000;
  }
  std::shared_ptr<LoadedModule> loaded;
  Memory memory;
  Diagnostics diagnostics;
  Counters counters;
  LaunchParams launch_params;
  bool compares_fast_paths = true;  // false if a launch cannot be repeated, for example because it reads the time

  bool run(const std::string& kernel, std::array<u32, 3> grid, std::array<u32, 3> block, const Params& params, u64 dynamic_shared = 0) {
    launch_params.grid = grid;
    launch_params.block = block;
    launch_params.params = params.bytes();
    launch_params.dynamic_shared_bytes = dynamic_shared;
    launch_params.diagnostics = &diagnostics;
    launch_params.counters = &counters;
    const FastPathComparison comparison(*loaded, memory);
    const bool is_clean = launch(*loaded, kernel, memory, launch_params);
    if (compares_fast_paths) comparison.check(kernel, launch_params);
    return is_clean;
  }
  /// All diagnostics, one a line.
  std::string found() const {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics.list()) text += to_string(diagnostic) + "\n";
    return text;
  }
  bool has_found(DiagnosticKind kind) const {
    for (const Diagnostic& diagnostic : diagnostics.list())
      if (diagnostic.kind == kind) return true;
    return false;
  }
};

/// Each schedule of asynchronous work.
inline constexpr AsyncOrder kAsyncOrders[] = {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random};

/// Whether the text holds the part; if not, both are shown with the failure.
inline bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("'" << text << "' has no '" << part << "'");
  return false;
}

/// A module with this kernel body; registers %p0-7, %h0-15 (16 bits), %r0-31, %d0-31 (64 bits), and `params` in the parentheses.
std::string module_of(const std::string& params, const std::string& body, const std::string& globals = "");
/// A module for sm_90a.
std::string hopper_module_of(const std::string& params, const std::string& body, const std::string& globals = "");
/// A module for a target by name, with directives of the kernel such as ".maxnreg 128".
std::string module_for(const std::string& target, const std::string& params, const std::string& body, const std::string& globals,
                       const std::string& kernel_directives);
/// The text of a file in tests/ptx.
std::string ptx_file(const std::string& name);

/// A kernel that applies `op` to each row of inputs. In it, $d is the destination and $a, $b, $c are the sources.
std::string row_kernel(const std::string& op, int result_bytes, const std::vector<int>& source_bytes);

/// The results of `op` on rows of inputs.
template <class D, class... S>
std::vector<D> apply(const std::string& op, const std::vector<S>&... inputs) {
  Bench bench(row_kernel(op, sizeof(D), {static_cast<int>(sizeof(S))...}));
  const std::size_t rows = std::get<0>(std::tie(inputs...)).size();
  Array<D> result(bench.memory, rows);
  Params params;
  params.add(result.address());
  const auto upload = [&](const auto& values) {
    const u64 address = bench.memory.allocate(values.size() * sizeof(values[0]));
    bench.memory.write(address, values.data(), values.size() * sizeof(values[0]));
    return address;
  };
  (params.add(upload(inputs)), ...);
  params.add(static_cast<u32>(rows));
  if (!bench.run("k", {static_cast<u32>((rows + 127) / 128), 1, 1}, {128, 1, 1}, params)) throw std::runtime_error(bench.found());
  return result.values();
}

/// Random integers: extremes, small numbers, single bits, masks, and any bits.
template <class T>
std::vector<T> integers(std::size_t count, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) switch (random() % 5) {
      case 0: value = static_cast<T>(random() % 7) - 3; break;
      case 1: value = static_cast<T>(u64{1} << random() % (8 * sizeof(T))); break;
      case 2: value = static_cast<T>((u64{1} << random() % (8 * sizeof(T))) - 1); break;
      case 3: value = random() % 2 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min(); break;
      default: value = static_cast<T>(random()); break;
    }
  return values;
}

/// Random floats: zeros, infinities, NaN, subnormal numbers, neighbours of powers of two, and any bits.
template <class T>
std::vector<T> floats(std::size_t count, u64 seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  constexpr int kFraction = sizeof(T) == 4 ? 23 : 52;
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    Bits bits = static_cast<Bits>(random());
    switch (random() % 6) {
      case 0: value = static_cast<T>(static_cast<s64>(random() % 2001) - 1000) / 8; continue;
      case 1: bits &= (Bits{1} << kFraction) - 1; break;  // subnormal
      case 2: bits = (bits >> kFraction << kFraction) + static_cast<Bits>(random() % 3) - 1; break;
      case 3: {
        const T special[] = {T(0),
                             -T(0),
                             std::numeric_limits<T>::infinity(),
                             -std::numeric_limits<T>::infinity(),
                             std::numeric_limits<T>::quiet_NaN(),
                             std::numeric_limits<T>::max()};
        value = special[random() % 6];
        continue;
      }
      case 4: value = std::ldexp(static_cast<T>(random() % 4096) / 1024, static_cast<int>(random() % 40) - 20); continue;
      default: break;
    }
    std::memcpy(&value, &bits, sizeof bits);
  }
  return values;
}

/// Whether the bits are equal; all NaNs are equal.
template <class T>
bool same(T a, T b) {
  if (a != a || b != b) return a != a && b != b;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace tilewright::rt::emulator
