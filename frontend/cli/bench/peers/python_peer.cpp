// The peers torch, triton and numpy have one script each and take the same requests. cudnn and flash are torch with one attention backend.
#include "frontend/cli/bench/peers/python_peer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "frontend/cli/bench/peers/openblas_core.h"
#include "frontend/cli/output/json_value.h"
#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw Unavailable(fmt::format("cannot write '{}' for it", path));
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string shape_json(const Shape& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t e : shape) extents.push_back(std::to_string(e));
  return json_array(extents);
}

class PythonKernel final : public Contender {
 public:
  PythonKernel(PythonProcess& process, const Case& c, const std::string& folder) : process_(process), case_(c), folder_(folder) {
    std::vector<std::string> tensors;
    for (const Tensor& t : c.problem.tensors) {
      const std::string path = folder + "/" + t.name + ".bin";
      write_file(path, t.bytes);
      tensors.push_back(json_object({{"name", json_string(t.name)},
                                     {"type", json_string(ir::text(t.element))},
                                     {"shape", shape_json(t.shape)},
                                     {"file", json_string(path)}}));
    }
    process_.ask(json_object({{"do", json_string("prepare")},
                              {"kernel", json_string(c.row->name)},
                              {"type", json_string(ir::text(c.type))},
                              {"shape", shape_json(c.shape)},
                              {"tensors", json_array(tensors)}}));
  }

  double time(int launches) override {
    const std::string answer = process_.ask(json_object({{"do", json_string("time")}, {"launches", std::to_string(launches)}}));
    char* end = nullptr;
    const double ms = std::strtod(answer.c_str(), &end);
    if (end == answer.c_str() || !(ms >= 0) || !std::isfinite(ms)) throw Unavailable(fmt::format("'{}' is not a time", answer));
    return ms;
  }

  Contents results() override {
    std::vector<std::string> files;
    for (const Reference& r : case_.problem.references)
      files.push_back(json_object({{"name", json_string(r.tensor)}, {"file", json_string(path_of_result(r.tensor))}}));
    process_.ask(json_object({{"do", json_string("results")}, {"files", json_array(files)}}));
    Contents all;
    for (const Reference& r : case_.problem.references) all.emplace(r.tensor, read_file(path_of_result(r.tensor)));
    return all;
  }

  void settle() override { wait_until_idle(process_.id()); }

 private:
  std::string path_of_result(const std::string& tensor) const { return fmt::format("{}/{}.result", folder_, tensor); }

  PythonProcess& process_;
  const Case& case_;
  const std::string folder_;
};

class PythonPeer final : public Peer {
 public:
  /// `backend`: the only attention backend, and attention is then the peer's only kernel; empty: the library's own choice.
  PythonPeer(std::string name, std::string_view script, const Setting& setting, const PeerOptions& options, std::string backend = "")
      : name_(std::move(name)),
        backend_(std::move(backend)),
        folder_(setting.folder),
        process_(options.python, setting.folder, name_, script) {
    version_ = process_.ask(json_object({{"do", json_string("open")},
                                         {"device", json_string(setting.device.name())},
                                         {"threads", std::to_string(rt::cpu_threads())},
                                         {"backend", json_string(backend_)},
                                         {"ieee", setting.options.precision == Precision::ieee ? "true" : "false"}}));
  }
  std::string name() const override { return name_; }
  std::string version() const override { return version_; }
  std::unique_ptr<Contender> prepare(const Case& c) override {
    if (!backend_.empty() && c.row->name != "attention" && c.row->name != "attention_causal")
      throw Unavailable("it is called for attention only");
    return std::make_unique<PythonKernel>(process_, c, folder_);
  }

 private:
  const std::string name_, backend_, folder_;
  PythonProcess process_;
  std::string version_;
};

}  // namespace

std::unique_ptr<Peer> open_torch(const Setting& setting, const PeerOptions& options) {
  return std::make_unique<PythonPeer>("torch", kTorchScript, setting, options);
}
std::unique_ptr<Peer> open_triton(const Setting& setting, const PeerOptions& options) {
  return std::make_unique<PythonPeer>("triton", kTritonScript, setting, options);
}
std::unique_ptr<Peer> open_cudnn(const Setting& setting, const PeerOptions& options) {
  return std::make_unique<PythonPeer>("cudnn", kTorchScript, setting, options, "cudnn");
}
std::unique_ptr<Peer> open_flash(const Setting& setting, const PeerOptions& options) {
  return std::make_unique<PythonPeer>("flash", kTorchScript, setting, options, "flash");
}
std::unique_ptr<Peer> open_numpy(const Setting& setting, const PeerOptions& options) {
  choose_openblas_core();  // OpenBLAS multiplies matrices for NumPy
  return std::make_unique<PythonPeer>("numpy", kNumpyScript, setting, options);
}

}  // namespace tilewright::cli::bench
