// Our kernels as functions with C linkage, so that one process of Python can time them beside other libraries': see peers/measured.py.
// They run on the caller's memory and stream.
#include <tilewright/kernels.h>
#include <tilewright/tilewright.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/dynamic_library.h"
#include "tests/bench/gpu_kernels.h"

namespace {

namespace tw = tilewright;

/// A product by matrix instructions of one set of element types.
struct Product {
  virtual ~Product() = default;
  struct Tiles {
    int m, n, k, warps, stages, group;
  };
  virtual void launch(const tw::Device&, const tw::Stream&, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k,
                      const Tiles&) const = 0;
  /// By the kernel library, which chooses the tiles if none are given.
  virtual void launch_library(const tw::Device&, const tw::Stream&, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k,
                              const std::optional<tw::kernels::Configuration>&) const = 0;
  /// With no launch. `divisible_by`: of all extents.
  virtual tw::Compiled compile(const std::string& target, int divisible_by, const Tiles&) const = 0;
};

template <class T, class S, class C, bool kTransposed>
class ProductOf final : public Product {
 public:
  void launch(const tw::Device& device, const tw::Stream& stream, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k,
              const Tiles& t) const override {
    auto out = device.wrap(reinterpret_cast<C*>(c), std::int64_t{m} * n);
    kernel_({.grid = tw::cdiv(m, t.m) * tw::cdiv(n, t.n), .num_warps = t.warps, .num_stages = t.stages, .stream = stream},
            device.wrap(reinterpret_cast<T*>(a), std::int64_t{m} * k), device.wrap(reinterpret_cast<T*>(b), std::int64_t{k} * n), out, m, n,
            k, k, kTransposed ? k : n, n, t.m, t.n, t.k, t.group);
  }
  void launch_library(const tw::Device& device, const tw::Stream& stream, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n,
                      int k, const std::optional<tw::kernels::Configuration>& configuration) const override {
    const auto x = device.wrap(reinterpret_cast<T*>(a), std::int64_t{m} * k), y = device.wrap(reinterpret_cast<T*>(b), std::int64_t{k} * n);
    auto out = device.wrap(reinterpret_cast<C*>(c), std::int64_t{m} * n);
    const auto right = kTransposed ? tw::view(y, {k, n}, {1, k}) : tw::view(y, {k, n});
    tw::kernels::matmul(tw::view(x, {m, k}), right, tw::view(out, {m, n}), {.stream = stream, .configuration = configuration});
  }
  tw::Compiled compile(const std::string& target, int divisible_by, const Tiles& t) const override {
    const auto extent = tw::scalar<std::int32_t>(divisible_by);
    return kernel_.compile(target, {.num_warps = t.warps, .num_stages = t.stages}, tw::pointer<const T>(), tw::pointer<const T>(),
                           tw::pointer<C>(), extent, extent, extent, extent, extent, extent, t.m, t.n, t.k, t.group);
  }

 private:
  tw::Kernel<decltype(bench::gpu::product_grouped<T, S, C, kTransposed>)> kernel_{"product",
                                                                                  bench::gpu::product_grouped<T, S, C, kTransposed>};
};

std::map<std::string, std::unique_ptr<Product>> all_products() {
  std::map<std::string, std::unique_ptr<Product>> all;
  all["f16"] = std::make_unique<ProductOf<tw::f16, float, tw::f16, false>>();
  all["f16 bt"] = std::make_unique<ProductOf<tw::f16, float, tw::f16, true>>();
  all["bf16"] = std::make_unique<ProductOf<tw::bf16, float, tw::bf16, false>>();
  all["tf32"] = std::make_unique<ProductOf<float, float, float, false>>();
  all["i8"] = std::make_unique<ProductOf<std::int8_t, std::int32_t, std::int32_t, false>>();
  all["e4m3 bt"] = std::make_unique<ProductOf<tw::f8e4m3, float, tw::f16, true>>();
  all["i8 bt"] = std::make_unique<ProductOf<std::int8_t, std::int32_t, std::int32_t, true>>();
  return all;
}

struct Library {
  Library(const char* device_name, void* native) : device(tw::Device::open(device_name)), stream(device.wrap_stream(native)) {}

  tw::Buffer<float> floats(std::uint64_t address, std::int64_t count) { return device.wrap(reinterpret_cast<float*>(address), count); }

  tw::Device device;
  tw::Stream stream;
  tw::Kernel<decltype(bench::gpu::vector_add)> vector_add{"vector_add", bench::gpu::vector_add};
  tw::Kernel<decltype(bench::gpu::softmax)> softmax{"softmax", bench::gpu::softmax};
  tw::Kernel<decltype(bench::gpu::attention)> attention{"attention", bench::gpu::attention};
  std::map<std::string, std::unique_ptr<Product>> products = all_products();
};

std::optional<Library> library;
std::string failure, text;

/// `numbers`: bm, bn, bk, warps, stages, splits; null: the kernel library chooses.
std::optional<tw::kernels::Configuration> configuration_of(const int* numbers) {
  if (!numbers) return std::nullopt;
  return tw::kernels::Configuration{
      .bm = numbers[0], .bn = numbers[1], .bk = numbers[2], .num_warps = numbers[3], .num_stages = numbers[4], .splits = numbers[5]};
}

/// 0, or 1 with the message for tw_failure().
template <class F>
int attempt(F&& f) {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    failure = e.what();
    return 1;
  }
}

}  // namespace

extern "C" {

const char* tw_failure() { return failure.c_str(); }

/// `device`: "cuda:0"; `stream`: a cudaStream_t, null for the default one.
int tw_open(const char* device, void* stream) {
  return attempt([&] { library.emplace(device, stream); });
}

int tw_vector_add(std::uint64_t x, std::uint64_t y, std::uint64_t out, int n, int block, int warps) {
  return attempt([&] {
    Library& l = *library;
    l.vector_add({.grid = tw::cdiv(n, block), .num_warps = warps, .stream = l.stream}, l.floats(x, n), l.floats(y, n), l.floats(out, n), n,
                 block);
  });
}

int tw_softmax(std::uint64_t out, std::uint64_t x, int rows, int columns, int block, int warps) {
  return attempt([&] {
    Library& l = *library;
    const std::int64_t count = std::int64_t{rows} * columns;
    l.softmax({.grid = rows, .num_warps = warps, .stream = l.stream}, l.floats(out, count), l.floats(x, count), columns, columns, columns,
              block);
  });
}

/// `types`: "f16", "bf16", "tf32", "i8", of B [K, N]; "f16 bt", "i8 bt", "e4m3 bt" of B [N, K].
int tw_product(const char* types, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k, int bm, int bn, int bk, int warps,
               int stages, int group) {
  return attempt([&] {
    const Library& l = *library;
    l.products.at(types)->launch(l.device, l.stream, a, b, c, m, n, k, {bm, bn, bk, warps, stages, group});
  });
}

/// Computes the product by the kernel library; see configuration_of.
int tw_library_product(const char* types, std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k,
                       const int* configuration) {
  return attempt([&] {
    const Library& l = *library;
    l.products.at(types)->launch_library(l.device, l.stream, a, b, c, m, n, k, configuration_of(configuration));
  });
}

/// The PTX of that product, with its shared memory in `shared_bytes`; null with a failure.
const char* tw_product_ptx(const char* types, const char* target, int divisible_by, int bm, int bn, int bk, int warps, int stages,
                           int group, int* shared_bytes) {
  const int failed = attempt([&] {
    const auto compiled = library->products.at(types)->compile(target, divisible_by, {bm, bn, bk, warps, stages, group});
    text = compiled.ptx();
    *shared_bytes = compiled.resources().shared_bytes;
  });
  return failed ? nullptr : text.c_str();
}

/// Computes attention of f16; heads are [length, depth].
int tw_attention(std::uint64_t q, std::uint64_t k, std::uint64_t v, std::uint64_t out, int heads, int length, int depth, float scale,
                 int bm, int bn, int warps, int stages) {
  return attempt([&] {
    Library& l = *library;
    const std::int64_t count = std::int64_t{heads} * length * depth;
    const auto halves = [&](std::uint64_t address) { return l.device.wrap(reinterpret_cast<tw::f16*>(address), count); };
    auto result = halves(out);
    l.attention({.grid = {tw::cdiv(length, bm), heads}, .num_warps = warps, .num_stages = stages, .stream = l.stream}, halves(q), halves(k),
                halves(v), result, length, scale, bm, bn, depth);
  });
}

/// Computes attention by the kernel library, see configuration_of; `causal` is 0 or 1.
int tw_library_attention(std::uint64_t q, std::uint64_t k, std::uint64_t v, std::uint64_t out, int heads, int length, int depth, int causal,
                         const int* configuration) {
  return attempt([&] {
    const Library& l = *library;
    const std::int64_t count = std::int64_t{heads} * length * depth;
    const auto halves = [&](std::uint64_t address) { return l.device.wrap(reinterpret_cast<tw::f16*>(address), count); };
    const auto bq = halves(q), bk = halves(k), bv = halves(v);
    auto result = halves(out);
    const auto of = [&](auto& buffer) { return tw::view(buffer, {1, heads, length, depth}); };
    tw::kernels::attention(of(bq), of(bk), of(bv), of(result), {.causal = causal != 0},
                           {.stream = l.stream, .configuration = configuration_of(configuration)});
  });
}

/// Memory of the device, for a process that has no other way to get it; 0 with a failure.
std::uint64_t tw_allocate(std::int64_t bytes) {
  static std::vector<tw::Buffer<std::uint8_t>> all;
  std::uint64_t address = 0;
  attempt([&] {
    all.push_back(library->device.allocate<std::uint8_t>(bytes));
    address = reinterpret_cast<std::uint64_t>(all.back().data());
  });
  return address;
}

/// Waits for what was launched.
int tw_synchronize() {
  return attempt([&] { library->stream.synchronize(); });
}

/// Nanoseconds of the host per launch of a warm vector_add of n elements, buffers made before; negative with a failure.
double tw_launch_ns(std::uint64_t x, std::uint64_t y, std::uint64_t out, int n, int launches) {
  double ns = -1;
  attempt([&] {
    Library& l = *library;
    const auto bx = l.floats(x, n), by = l.floats(y, n);
    auto bout = l.floats(out, n);
    const auto launch = [&] { l.vector_add({.grid = tw::cdiv(n, 1024), .stream = l.stream}, bx, by, bout, n, 1024); };
    launch();
    l.stream.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / launches;
    l.stream.synchronize();
  });
  return ns;
}

/// Launches through the driver alone: a floor, since no library of ours is in between.
double tw_driver_launch_ns(std::uint64_t x, std::uint64_t y, std::uint64_t out, int n, int launches) {
  double ns = -1;
  attempt([&] {
    const tw::rt::DynamicLibrary driver{"libcuda.so.1"};
    if (!driver.is_open()) throw std::runtime_error("there is no libcuda.so.1");
    int (*module_load)(void**, const void*) = nullptr;
    int (*get_function)(void**, void*, const char*) = nullptr;
    int (*launch_kernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) = nullptr;
    const char* missing =
        driver.find_all({{"cuModuleLoadData", module_load}, {"cuModuleGetFunction", get_function}, {"cuLaunchKernel", launch_kernel}});
    if (missing) throw std::runtime_error(std::string("libcuda.so.1 has no ") + missing);
    const std::string ptx(library->vector_add
                              .compile("sm_90a", {}, tw::pointer<const float>(), tw::pointer<const float>(), tw::pointer<float>(),
                                       tw::scalar<std::int32_t>(16), 1024)
                              .ptx());
    void *module = nullptr, *function = nullptr;
    if (module_load(&module, ptx.c_str()) || get_function(&function, module, "vector_add"))
      throw std::runtime_error("the driver takes no PTX");
    void* arguments[] = {&x, &y, &out, &n};
    const auto grid = static_cast<unsigned>(tw::cdiv(n, 1024));
    const auto launch = [&] {
      if (launch_kernel(function, grid, 1, 1, 128, 1, 1, 0, library->stream.native(), arguments, nullptr))
        throw std::runtime_error("no launch");
    };
    launch();
    library->stream.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / launches;
    library->stream.synchronize();
  });
  return ns;
}

}  // extern "C"
