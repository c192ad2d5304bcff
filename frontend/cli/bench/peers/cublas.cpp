// The peer cublas: products with libcublasLt, which gets a workspace; its heuristics propose the algorithms.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

#include "frontend/cli/bench/measuring/gpu_context.h"
#include "frontend/cli/bench/peers/cublas_lt.h"
#include "frontend/cli/bench/peers/peer_library.h"
#include "frontend/cli/bench/peers/peers.h"

namespace tilewright::cli::bench {

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // NVIDIA's advice for Hopper; older GPUs need less
constexpr int kMostAlgorithms = 8;
constexpr int kTrialLaunches = 3;

void expect(int status, const char* function) {
  if (status != 0) throw std::runtime_error(fmt::format("{} fails with cublasStatus_t {}", function, status));
}

struct ProductTypes {
  int factor, result, compute, scale;
};

ProductTypes types_of(ir::Element e, bool ieee) {
  switch (e) {
    case ir::Element::f64: return {kCudaF64, kCudaF64, kComputeF64, kCudaF64};
    case ir::Element::f16: return {kCudaF16, kCudaF16, kComputeF32, kCudaF32};
    case ir::Element::bf16: return {kCudaBf16, kCudaBf16, kComputeF32, kCudaF32};
    case ir::Element::i8: return {kCudaI8, kCudaI32, kComputeI32, kCudaI32};
    default: return {kCudaF32, kCudaF32, ieee ? kComputeF32 : kComputeF32ByTf32, kCudaF32};
  }
}

/// The numbers 1 and 0 in the type of a scale factor.
struct Scale {
  explicit Scale(int type) {
    if (type == kCudaF64)
      set(1.0, 0.0);
    else if (type == kCudaI32)
      set(std::int32_t{1}, std::int32_t{0});
    else
      set(1.0f, 0.0f);
  }
  template <class T>
  void set(T a, T b) {
    static_assert(sizeof(T) <= sizeof one);
    *reinterpret_cast<T*>(&one) = a;
    *reinterpret_cast<T*>(&zero) = b;
  }
  alignas(8) std::array<std::byte, 8> one{}, zero{};
};

/// c = a b of row-major matrices. The library sees them as column-major matrices of c^T = b^T a^T.
class Product {
 public:
  Product(const CublasLt& lt, CublasLtHandle handle, const Setting& setting, const Case& c)
      : lt_(lt),
        handle_(handle),
        device_(setting.device),
        product_of_(*c.problem.product),
        types_(types_of(c.type, setting.options.precision == Precision::ieee)),
        scale_(types_.scale),
        workspace_(setting.device.allocate<std::int8_t>(kWorkspaceBytes)) {
    const auto layout = [&](CublasLtDescriptor& to, int type, std::int64_t rows, std::int64_t columns) {
      expect(lt.layout_create(&to, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
             "cublasLtMatrixLayoutCreate");
    };
    const MatrixProduct& p = product_of_;
    expect(lt.product_create(&product_, types_.compute, types_.scale), "cublasLtMatmulDescCreate");
    layout(first_, types_.factor, p.n, p.k);
    layout(second_, types_.factor, p.k, p.m);
    layout(result_, types_.result, p.n, p.m);
    propose();
  }
  ~Product() {
    for (CublasLtDescriptor layout : {first_, second_, result_})
      if (layout) lt_.layout_destroy(layout);
    if (product_) lt_.product_destroy(product_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// Multiplies with the fastest of the proposed algorithms; the first call finds it.
  void multiply(DeviceTensors& tensors) {
    if (!algorithm_) choose_algorithm(tensors);
    multiply(tensors, *algorithm_);
  }

 private:
  /// Asks the heuristics for algorithms.
  void propose() {
    CublasLtDescriptor preference = nullptr;
    expect(lt_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::uint64_t bytes = kWorkspaceBytes;
    const int set = lt_.preference_set(preference, kMaxWorkspaceBytes, &bytes, sizeof bytes);
    const int status = set != 0 ? set
                                : lt_.find_algorithms(handle_, product_, first_, second_, result_, result_, preference, kMostAlgorithms,
                                                      proposals_.data(), &proposed_);
    lt_.preference_destroy(preference);
    if (status != 0 || proposed_ == 0) throw Unavailable(fmt::format("its heuristics have no algorithm (cublasStatus_t {})", status));
  }

  void choose_algorithm(DeviceTensors& tensors) {
    double least = 1e30;
    for (int i = 0; i < proposed_; ++i) {
      const CublasLtAlgorithm& tried = proposals_[static_cast<std::size_t>(i)].algorithm;
      multiply(tensors, tried);
      const double ms = time_calls(device_, kTrialLaunches, [&] { multiply(tensors, tried); });
      if (ms < least) least = ms, algorithm_ = tried;
    }
  }

  void multiply(DeviceTensors& tensors, const CublasLtAlgorithm& algorithm) {
    void* c = tensors.address(product_of_.c);
    expect(lt_.multiply(handle_, product_, scale_.one.data(), tensors.address(product_of_.b), first_, tensors.address(product_of_.a),
                        second_, scale_.zero.data(), c, result_, c, result_, &algorithm, workspace_.data(), kWorkspaceBytes, nullptr),
           "cublasLtMatmul");
  }

  const CublasLt& lt_;
  const CublasLtHandle handle_;
  const Device device_;
  const MatrixProduct product_of_;
  const ProductTypes types_;
  const Scale scale_;
  Buffer<std::int8_t> workspace_;
  CublasLtDescriptor product_ = nullptr, first_ = nullptr, second_ = nullptr, result_ = nullptr;
  std::array<CublasLtHeuristic, kMostAlgorithms> proposals_{};
  int proposed_ = 0;
  std::optional<CublasLtAlgorithm> algorithm_;
};

class Cublas final : public Peer {
 public:
  explicit Cublas(const Setting& setting) : setting_(setting), lt_(load_cublas_lt()) {
    use_primary_context(setting.device);
    if (const int status = lt_.create(&handle_); status != 0)
      throw Unavailable(fmt::format("cublasLtCreate fails with cublasStatus_t {}", status));
  }
  ~Cublas() override { lt_.destroy(handle_); }
  std::string name() const override { return "cublas"; }
  std::string version() const override {
    return fmt::format("cublasLt {}, the fastest of {} algorithms that it proposes, {} MiB of workspace",
                       cublas_version_text(lt_.version()), kMostAlgorithms, kWorkspaceBytes >> 20);
  }

  std::unique_ptr<Contender> prepare(const Case& c) override {
    if (!c.problem.product) throw Unavailable("it is called for single products only");
    const auto product = std::make_shared<Product>(lt_, handle_, setting_, c);
    return calls_on_device(setting_.device, c, [product](DeviceTensors& t) { product->multiply(t); });
  }

 private:
  const Setting& setting_;
  const CublasLt lt_;
  CublasLtHandle handle_ = nullptr;
};

}  // namespace

CublasLt load_cublas_lt() {
  CublasLt lt;
  load_functions({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                 "there is no libcublasLt.so.13 or .12 where the linker looks",
                 {{"cublasLtCreate", lt.create},
                  {"cublasLtDestroy", lt.destroy},
                  {"cublasLtGetVersion", lt.version},
                  {"cublasLtMatmulDescCreate", lt.product_create},
                  {"cublasLtMatmulDescDestroy", lt.product_destroy},
                  {"cublasLtMatrixLayoutCreate", lt.layout_create},
                  {"cublasLtMatrixLayoutDestroy", lt.layout_destroy},
                  {"cublasLtMatmulPreferenceCreate", lt.preference_create},
                  {"cublasLtMatmulPreferenceSetAttribute", lt.preference_set},
                  {"cublasLtMatmulPreferenceDestroy", lt.preference_destroy},
                  {"cublasLtMatmulAlgoGetHeuristic", lt.find_algorithms},
                  {"cublasLtMatmul", lt.multiply}});
  return lt;
}

std::string cublas_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<Peer> open_cublas(const Setting& setting, const PeerOptions&) { return std::make_unique<Cublas>(setting); }

}  // namespace tilewright::cli::bench
