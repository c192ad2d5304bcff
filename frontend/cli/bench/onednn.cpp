// The peer onednn: products of f32 by a function of oneDNN that versions 2 and 3 have alike, found at run time.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "frontend/cli/bench/peers.h"

namespace tilewright::cli::bench {

namespace {

/// The head of dnnl_version_t.
struct OneDnnVersion {
  int major, minor, patch;
};

/// Row-major: c = alpha a b + beta c, as dnnl.h declares it in both versions.
using Sgemm = int (*)(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
                      std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

struct OneDnn {
  const OneDnnVersion* (*version)() = nullptr;
  Sgemm sgemm = nullptr;
};

OneDnn load_onednn() {
  void* library = nullptr;
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Unavailable("there is no libdnnl.so.3 or .2 (Debian: libdnnl2, libdnnl3)");
  OneDnn dnn;
  dnn.version = reinterpret_cast<decltype(dnn.version)>(dlsym(library, "dnnl_version"));
  dnn.sgemm = reinterpret_cast<Sgemm>(dlsym(library, "dnnl_sgemm"));
  if (!dnn.version || !dnn.sgemm) throw Unavailable("libdnnl has no function dnnl_sgemm");
  return dnn;
}

class Product final : public Contender {
 public:
  Product(const Device& device, const Case& c, Sgemm sgemm)
      : device_(device), case_(c), sgemm_(sgemm), tensors_(device, c.problem.tensors) {}

  double time(int launches) override {
    return time_calls(device_, launches, [&] { multiply(); });
  }
  std::vector<std::byte> result(std::string_view tensor) override {
    tensors_.restore(case_.problem.tensors);
    multiply();
    return tensors_.contents(tensor);
  }
  void settle() override { wait_until_idle(getpid()); }

 private:
  float* at(const char* name) { return static_cast<float*>(tensors_.address(name)); }
  void multiply() {
    const std::int64_t m = case_.shape[0], n = case_.shape[1], k = case_.shape[2];
    if (const int status = sgemm_('N', 'N', m, n, k, 1, at("a"), k, at("b"), n, 0, at("c"), n); status != 0)
      throw std::runtime_error(fmt::format("dnnl_sgemm fails with dnnl_status_t {}", status));
  }

  const Device device_;
  const Case& case_;
  const Sgemm sgemm_;
  DeviceTensors tensors_;
};

class OneDnnPeer final : public Peer {
 public:
  explicit OneDnnPeer(const Setting& setting) : setting_(setting), dnn_(load_onednn()) {}
  std::string name() const override { return "onednn"; }
  std::string version() const override {
    const OneDnnVersion& v = *dnn_.version();
    return fmt::format("oneDNN {}.{}.{}, its dnnl_sgemm", v.major, v.minor, v.patch);
  }
  std::unique_ptr<Contender> prepare(const Case& c) override {
    if (c.row->name != "matmul") throw Unavailable(fmt::format("its C functions are not called for {}", c.row->name));
    if (c.type != ir::Element::f32) throw Unavailable(fmt::format("its C functions are not called for {}", ir::text(c.type)));
    return std::make_unique<Product>(setting_.device, c, dnn_.sgemm);
  }

 private:
  const Setting& setting_;
  const OneDnn dnn_;
};

}  // namespace

std::unique_ptr<Peer> open_onednn(const Setting& setting, const PeerOptions&) { return std::make_unique<OneDnnPeer>(setting); }

}  // namespace tilewright::cli::bench
