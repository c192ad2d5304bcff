// The peer openblas: products of f32 and f64 with a CBLAS library that is loaded at run time.
#include <fmt/format.h>

#include "frontend/cli/bench/peers/openblas_core.h"
#include "frontend/cli/bench/peers/peer_library.h"
#include "frontend/cli/bench/peers/peers.h"
#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

/// The functions of OpenBLAS, declared as in cblas.h.
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
  char* (*get_corename)() = nullptr;
};

constexpr int kRowMajor = 101, kNoTrans = 111;

OpenBlas load_openblas() {
  OpenBlas blas;
  load_functions(kOpenBlasNames, "there is no libopenblas.so.0 (Debian: libopenblas0)",
                 {{"cblas_sgemm", blas.sgemm},
                  {"cblas_dgemm", blas.dgemm},
                  {"cblas_sgemv", blas.sgemv},
                  {"cblas_dgemv", blas.dgemv},
                  {"openblas_set_num_threads", blas.set_num_threads},
                  {"openblas_get_config", blas.get_config},
                  {"openblas_get_corename", blas.get_corename}});
  return blas;
}

/// c = a b, with gemm, or with gemv if b is a vector.
template <class T, class Gemm, class Gemv>
std::function<void(DeviceTensors&)> product(const MatrixProduct& p, Gemm gemm, Gemv gemv) {
  return [=, m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k)](DeviceTensors& t) {
    const auto at = [&](const std::string& name) { return static_cast<T*>(t.address(name)); };
    if (n == 1)
      gemv(kRowMajor, kNoTrans, m, k, 1, at(p.a), k, at(p.b), 1, 0, at(p.c), 1);
    else
      gemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, at(p.a), k, at(p.b), n, 0, at(p.c), n);
  };
}

class OpenBlasPeer final : public Peer {
 public:
  explicit OpenBlasPeer(const Setting& setting) : setting_(setting), own_choice_(choose_openblas_core()), blas_(load_openblas()) {
    blas_.set_num_threads(rt::cpu_threads());
  }
  std::string name() const override { return "openblas"; }
  std::string version() const override {
    const std::string core = blas_.get_corename();
    return fmt::format("{}, kernels of {}{}, {} threads", blas_.get_config(), core,
                       own_choice_.empty() || own_choice_ == core ? "" : fmt::format(" (by itself it would run those of {})", own_choice_),
                       rt::cpu_threads());
  }

  std::unique_ptr<Contender> prepare(const Case& c) override {
    const bool single = c.type == ir::Element::f32;
    if (!c.problem.product || (!single && c.type != ir::Element::f64)) throw Unavailable("it is called for products of f32 and f64 only");
    const MatrixProduct& p = *c.problem.product;
    return calls_on_device(setting_.device, c,
                           single ? product<float>(p, blas_.sgemm, blas_.sgemv) : product<double>(p, blas_.dgemm, blas_.dgemv), true);
  }

 private:
  const Setting& setting_;
  const std::string own_choice_;  // the processor whose kernels OpenBLAS would run by itself
  OpenBlas blas_;
};

}  // namespace

std::unique_ptr<Peer> open_openblas(const Setting& setting, const PeerOptions&) { return std::make_unique<OpenBlasPeer>(setting); }

}  // namespace tilewright::cli::bench
