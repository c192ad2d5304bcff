// Our kernels as functions with C linkage, so that one process of Python can time them beside other compilers' and libraries': see
// peers/on_gpu.py. They run on the caller's memory and stream.
#include <dlfcn.h>
#include <tilewright/tilewright.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/bench/gpu_kernels.h"

namespace {

namespace tw = tilewright;

struct Library {
  Library(const char* device_name, void* native) : device(tw::Device::open(device_name)), stream(device.wrap_stream(native)) {}

  tw::Buffer<float> floats(std::uint64_t address, std::int64_t count) { return device.wrap(reinterpret_cast<float*>(address), count); }

  tw::Device device;
  tw::Stream stream;
  tw::Kernel<decltype(bench::gpu::vector_add)> vector_add{"vector_add", bench::gpu::vector_add};
  tw::Kernel<decltype(bench::gpu::softmax)> softmax{"softmax", bench::gpu::softmax};
  tw::Kernel<decltype(bench::gpu::layer_norm)> layer_norm{"layer_norm", bench::gpu::layer_norm};
  tw::Kernel<decltype(bench::gpu::transpose)> transpose{"transpose", bench::gpu::transpose};
  tw::Kernel<decltype(bench::gpu::row_sum)> row_sum{"row_sum", bench::gpu::row_sum};
  tw::Kernel<decltype(bench::gpu::matmul)> matmul{"matmul", bench::gpu::matmul};
};

std::optional<Library> library;
std::string failure;

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

int tw_layer_norm(std::uint64_t x, std::uint64_t out, std::uint64_t weight, std::uint64_t bias, std::uint64_t means, std::uint64_t scales,
                  int rows, int columns, int block, int warps) {
  return attempt([&] {
    Library& l = *library;
    const std::int64_t count = std::int64_t{rows} * columns;
    l.layer_norm({.grid = rows, .num_warps = warps, .stream = l.stream}, l.floats(x, count), l.floats(out, count),
                 l.floats(weight, columns), l.floats(bias, columns), l.floats(means, rows), l.floats(scales, rows), columns, columns, 1e-5f,
                 block);
  });
}

int tw_transpose(std::uint64_t x, std::uint64_t out, int m, int n, int bm, int bn, int warps) {
  return attempt([&] {
    Library& l = *library;
    const std::int64_t count = std::int64_t{m} * n;
    l.transpose({.grid = {tw::cdiv(m, bm), tw::cdiv(n, bn)}, .num_warps = warps, .stream = l.stream}, l.floats(x, count),
                l.floats(out, count), n, m, m, n, bm, bn);
  });
}

int tw_row_sum(std::uint64_t x, std::uint64_t out, int rows, int columns, int block, int warps) {
  return attempt([&] {
    Library& l = *library;
    l.row_sum({.grid = rows, .num_warps = warps, .stream = l.stream}, l.floats(x, std::int64_t{rows} * columns), l.floats(out, rows),
              columns, columns, block);
  });
}

int tw_matmul(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k, int bm, int bn, int bk, int warps) {
  return attempt([&] {
    Library& l = *library;
    l.matmul({.grid = {tw::cdiv(m, bm), tw::cdiv(n, bn)}, .num_warps = warps, .stream = l.stream}, l.floats(a, std::int64_t{m} * k),
             l.floats(b, std::int64_t{k} * n), l.floats(c, std::int64_t{m} * n), m, n, k, k, n, n, bm, bn, bk);
  });
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

/// The same launch through the driver alone, as a floor: no library of ours is in between.
double tw_driver_launch_ns(std::uint64_t x, std::uint64_t y, std::uint64_t out, int n, int launches) {
  double ns = -1;
  attempt([&] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) throw std::runtime_error("there is no libcuda.so.1");
    const auto module_load = reinterpret_cast<int (*)(void**, const void*)>(dlsym(driver, "cuModuleLoadData"));
    const auto get_function = reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver, "cuModuleGetFunction"));
    const auto launch_kernel =
        reinterpret_cast<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)>(
            dlsym(driver, "cuLaunchKernel"));
    const std::string ptx(library->vector_add.compile("sm_90a", {}, tw::pointer<const float>(), tw::pointer<const float>(), tw::pointer<float>(),
                                                      tw::scalar<std::int32_t>(16), 1024)
                              .ptx());
    void *module = nullptr, *function = nullptr;
    if (module_load(&module, ptx.c_str()) || get_function(&function, module, "vector_add")) throw std::runtime_error("the driver takes no PTX");
    void* arguments[] = {&x, &y, &out, &n};
    const auto grid = static_cast<unsigned>(tw::cdiv(n, 1024));
    const auto launch = [&] {
      if (launch_kernel(function, grid, 1, 1, 128, 1, 1, 0, library->stream.native(), arguments, nullptr)) throw std::runtime_error("no launch");
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
