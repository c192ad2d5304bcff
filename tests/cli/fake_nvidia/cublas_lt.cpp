// A fake libcublasLt.so.13 with the functions that products need. They check their arguments like the real ones, and multiply f32 matrices
// on the host, in the memory of the fake libcuda.so.1.
//
// FAKE_CUBLAS=none: the heuristics have no algorithm; wrong: results are wrong; fails: products fail.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

enum Status { kSuccess = 0, kInvalid = 7, kNotSupported = 15, kFailed = 13 };

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct Product {
  int compute, scale;
};
struct Preference {
  std::uint64_t workspace = 0;
};
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

constexpr std::uint64_t kMagic = 0x7711;

bool behaves(std::string_view how) {
  const char* set = std::getenv("FAKE_CUBLAS");
  return set && how == set;
}

template <class F>
F driver_function(const char* symbol) {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<F>(dlsym(driver, symbol)) : nullptr;
}

/// A matrix of the device, column by column.
std::vector<float> read(const void* from, const Layout& l) {
  std::vector<float> values(static_cast<std::size_t>(l.leading) * l.columns);
  driver_function<int (*)(void*, const void*, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")(values.data(), from, values.size() * 4, nullptr);
  return values;
}

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) {
  static int any;
  // The library works in the current context, as the real one does.
  void* context = nullptr;
  driver_function<int (*)(void**)>("cuCtxGetCurrent")(&context);
  *handle = &any;
  return context ? kSuccess : kFailed;
}
int cublasLtDestroy(void*) { return kSuccess; }
std::size_t cublasLtGetVersion() { return 120906; }
int cublasLtMatmulDescCreate(void** p, int compute, int scale) { return *p = new Product{compute, scale}, kSuccess; }
int cublasLtMatmulDescDestroy(void* p) { return delete static_cast<Product*>(p), kSuccess; }
int cublasLtMatrixLayoutCreate(void** l, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) return kInvalid;
  return *l = new Layout{type, rows, columns, leading}, kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* l) { return delete static_cast<Layout*>(l), kSuccess; }
int cublasLtMatmulPreferenceCreate(void** p) { return *p = new Preference, kSuccess; }
int cublasLtMatmulPreferenceSetAttribute(void* p, int attribute, const void* value, std::size_t bytes) {
  if (attribute != 1 || bytes != 8) return kInvalid;
  return static_cast<Preference*>(p)->workspace = *static_cast<const std::uint64_t*>(value), kSuccess;
}
int cublasLtMatmulPreferenceDestroy(void* p) { return delete static_cast<Preference*>(p), kSuccess; }

int cublasLtMatmulAlgoGetHeuristic(void*, void* product, void* a, void* b, void* c, void* d, void* preference, int most, Heuristic* results,
                                   int* found) {
  const auto& p = *static_cast<Product*>(product);
  const auto& la = *static_cast<Layout*>(a);
  const auto& lb = *static_cast<Layout*>(b);
  const auto& lc = *static_cast<Layout*>(c);
  *found = 0;
  if (la.columns != lb.rows || la.rows != lc.rows || lb.columns != lc.columns || c != d || p.scale != 0) return kInvalid;
  if (behaves("none") || la.type != 0) return kNotSupported;
  for (; *found < std::min(most, 2); ++*found) {
    Heuristic& h = results[*found] = {};
    h.algorithm.data[0] = kMagic;
    h.workspace = static_cast<Preference*>(preference)->workspace;
  }
  return kSuccess;
}

int cublasLtMatmul(void*, void*, const void* alpha, const void* a, void* a_layout, const void* b, void* b_layout, const void* beta,
                   const void* c, void* c_layout, void* d, void*, const Algorithm* algorithm, void* workspace, std::size_t bytes,
                   void* stream) {
  if (behaves("fails")) return kFailed;
  if (algorithm->data[0] != kMagic || c != d || !workspace || bytes == 0 || stream) return kInvalid;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return kInvalid;
  const auto& la = *static_cast<Layout*>(a_layout);
  const auto& lb = *static_cast<Layout*>(b_layout);
  const auto& lc = *static_cast<Layout*>(c_layout);
  const std::vector<float> x = read(a, la), y = read(b, lb);
  std::vector<float> z(static_cast<std::size_t>(lc.leading) * lc.columns);
  for (std::uint64_t j = 0; j < lc.columns; ++j)
    for (std::uint64_t k = 0; k < la.columns; ++k)
      for (std::uint64_t i = 0; i < lc.rows; ++i)
        z[j * static_cast<std::uint64_t>(lc.leading) + i] +=
            x[k * static_cast<std::uint64_t>(la.leading) + i] * y[j * static_cast<std::uint64_t>(lb.leading) + k];
  if (behaves("wrong")) z[0] += 1000;
  driver_function<int (*)(void*, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")(d, z.data(), z.size() * 4, nullptr);
  return kSuccess;
}
}
