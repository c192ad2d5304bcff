// The peer openblas: products of f32 and f64 by a CBLAS that is found at run time.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "frontend/cli/bench/peers.h"
#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

/// The functions of OpenBLAS, after cblas.h.
struct OpenBlas {
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                float beta, float* c, int ldc) = nullptr;
  void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
                double beta, double* c, int ldc) = nullptr;
  void (*sgemv)(int order, int trans, int m, int n, float alpha, const float* a, int lda, const float* x, int incx, float beta, float* y,
                int incy) = nullptr;
  void (*dgemv)(int order, int trans, int m, int n, double alpha, const double* a, int lda, const double* x, int incx, double beta,
                double* y, int incy) = nullptr;
  void (*set_num_threads)(int) = nullptr;
  char* (*get_config)() = nullptr;
};

constexpr int kRowMajor = 101, kNoTrans = 111;

OpenBlas load_openblas() {
  void* library = nullptr;
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Unavailable("there is no libopenblas.so.0 (Debian: libopenblas0)");
  OpenBlas blas;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function) throw Unavailable(fmt::format("libopenblas has no function {}", symbol));
  };
  find(blas.sgemm, "cblas_sgemm");
  find(blas.dgemm, "cblas_dgemm");
  find(blas.sgemv, "cblas_sgemv");
  find(blas.dgemv, "cblas_dgemv");
  find(blas.set_num_threads, "openblas_set_num_threads");
  find(blas.get_config, "openblas_get_config");
  return blas;
}

/// A call of the library on arrays in the cpu's memory.
class BlasCall final : public Contender {
 public:
  BlasCall(const Device& device, const Case& c, std::function<void(DeviceTensors&)> call)
      : device_(device), case_(c), call_(std::move(call)), tensors_(device, c.problem.tensors) {}

  double time(int launches) override {
    return time_calls(device_, launches, [&] { call_(tensors_); });
  }
  std::vector<std::byte> result(std::string_view tensor) override {
    tensors_.restore(case_.problem.tensors);
    call_(tensors_);
    return tensors_.contents(tensor);
  }
  void settle() override { wait_until_idle(getpid()); }

 private:
  const Device device_;
  const Case& case_;
  std::function<void(DeviceTensors&)> call_;
  DeviceTensors tensors_;
};

template <class T>
T* at(DeviceTensors& t, const char* name) {
  return static_cast<T*>(t.address(name));
}

template <class T>
std::function<void(DeviceTensors&)> product(const Case& c, decltype(OpenBlas::sgemm) single, decltype(OpenBlas::dgemm) twofold) {
  const int m = static_cast<int>(c.shape[0]), n = static_cast<int>(c.shape[1]), k = static_cast<int>(c.shape[2]);
  return [=](DeviceTensors& t) {
    if constexpr (std::is_same_v<T, float>)
      single(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, at<T>(t, "a"), k, at<T>(t, "b"), n, 0, at<T>(t, "c"), n);
    else
      twofold(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, at<T>(t, "a"), k, at<T>(t, "b"), n, 0, at<T>(t, "c"), n);
  };
}

template <class T>
std::function<void(DeviceTensors&)> matrix_vector(const Case& c, decltype(OpenBlas::sgemv) single, decltype(OpenBlas::dgemv) twofold) {
  const int m = static_cast<int>(c.shape[0]), k = static_cast<int>(c.shape[1]);
  return [=](DeviceTensors& t) {
    if constexpr (std::is_same_v<T, float>)
      single(kRowMajor, kNoTrans, m, k, 1, at<T>(t, "a"), k, at<T>(t, "x"), 1, 0, at<T>(t, "y"), 1);
    else
      twofold(kRowMajor, kNoTrans, m, k, 1, at<T>(t, "a"), k, at<T>(t, "x"), 1, 0, at<T>(t, "y"), 1);
  };
}

class OpenBlasPeer final : public Peer {
 public:
  explicit OpenBlasPeer(const Setting& setting) : setting_(setting), blas_(load_openblas()) { blas_.set_num_threads(rt::cpu_threads()); }
  std::string name() const override { return "openblas"; }
  std::string version() const override { return fmt::format("{}, {} threads", blas_.get_config(), rt::cpu_threads()); }

  std::unique_ptr<Contender> prepare(const Case& c) override {
    const bool single = c.type == ir::Element::f32;
    if (!single && c.type != ir::Element::f64) throw Unavailable(fmt::format("it has no {}", ir::text(c.type)));
    std::function<void(DeviceTensors&)> call;
    if (c.row->name == "matmul")
      call = single ? product<float>(c, blas_.sgemm, blas_.dgemm) : product<double>(c, blas_.sgemm, blas_.dgemm);
    else if (c.row->name == "matvec")
      call = single ? matrix_vector<float>(c, blas_.sgemv, blas_.dgemv) : matrix_vector<double>(c, blas_.sgemv, blas_.dgemv);
    else
      throw Unavailable(fmt::format("it has no {}", c.row->name));
    return std::make_unique<BlasCall>(setting_.device, c, std::move(call));
  }

 private:
  const Setting& setting_;
  OpenBlas blas_;
};

}  // namespace

std::unique_ptr<Peer> open_openblas(const Setting& setting, const PeerOptions&) { return std::make_unique<OpenBlasPeer>(setting); }

}  // namespace tilewright::cli::bench
