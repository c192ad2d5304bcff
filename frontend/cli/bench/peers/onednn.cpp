// The peer onednn: products of f32, with a function that oneDNN 2 and 3 both have, loaded at run time.
#include <fmt/format.h>

#include "frontend/cli/bench/peers/peer_library.h"
#include "frontend/cli/bench/peers/peers.h"

namespace tilewright::cli::bench {

namespace {

/// The first members of dnnl_version_t.
struct OneDnnVersion {
  int major, minor, patch;
};

/// Computes c = alpha a b + beta c, row-major, as dnnl.h declares it in both versions.
using Sgemm = int (*)(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
                      std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

struct OneDnn {
  const OneDnnVersion* (*version)() = nullptr;
  Sgemm sgemm = nullptr;
};

OneDnn load_onednn() {
  OneDnn dnn;
  load_functions({"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}, "there is no libdnnl.so.3 or .2 (Debian: libdnnl2, libdnnl3)",
                 {{"dnnl_version", dnn.version}, {"dnnl_sgemm", dnn.sgemm}});
  return dnn;
}

class OneDnnPeer final : public Peer {
 public:
  explicit OneDnnPeer(const Setting& setting) : setting_(setting), dnn_(load_onednn()) {}
  std::string name() const override { return "onednn"; }
  std::string version() const override {
    const OneDnnVersion& v = *dnn_.version();
    return fmt::format("oneDNN {}.{}.{}, its dnnl_sgemm", v.major, v.minor, v.patch);
  }
  std::unique_ptr<Contender> prepare(const Case& c) override {
    if (!c.problem.product || c.type != ir::Element::f32) throw Unavailable("its C functions are called for products of f32 only");
    const MatrixProduct p = *c.problem.product;
    const auto multiply = [p, sgemm = dnn_.sgemm](DeviceTensors& t) {
      const auto at = [&](const std::string& name) { return static_cast<float*>(t.address(name)); };
      if (const int status = sgemm('N', 'N', p.m, p.n, p.k, 1, at(p.a), p.k, at(p.b), p.n, 0, at(p.c), p.n); status != 0)
        throw std::runtime_error(fmt::format("dnnl_sgemm fails with dnnl_status_t {}", status));
    };
    return calls_on_device(setting_.device, c, multiply, true);
  }

 private:
  const Setting& setting_;
  const OneDnn dnn_;
};

}  // namespace

std::unique_ptr<Peer> open_onednn(const Setting& setting, const PeerOptions&) { return std::make_unique<OneDnnPeer>(setting); }

}  // namespace tilewright::cli::bench
