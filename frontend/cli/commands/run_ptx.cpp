// Parses the arguments of PTX kernels, whose parameters have sizes but no types, and launches on the emulator.
#include "frontend/cli/commands/run_ptx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>

#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/arguments/values.h"
#include "frontend/cli/execution/interruption.h"
#include "frontend/cli/files/npy.h"
#include "runtime/device_print.h"
#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/driver/emulated_driver.h"
#include "runtime/emulator/driver/launch_environment.h"
#include "runtime/emulator/machine/emulator.h"
#include "tileir/text/literal.h"

namespace tilewright::cli {
namespace {

using namespace rt::emulator;

/// The elements of an argument, in device memory.
struct Buffer {
  u64 address = 0;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;
};

std::int64_t number(std::string_view text, const std::string& where) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < 0)
    throw UsageError(fmt::format("'{}': '{}' is not a number", where, text));
  return value;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

TensorElement tensor_element(const std::string& dtype, const std::string& where) {
  const std::pair<std::string_view, TensorElement> known[] = {
      {"|u1", TensorElement::u8},  {"|i1", TensorElement::u8},  {"|V1", TensorElement::u8},  {"<u2", TensorElement::u16},
      {"<u4", TensorElement::u32}, {"<i4", TensorElement::s32}, {"<u8", TensorElement::u64}, {"<i8", TensorElement::s64},
      {"<f2", TensorElement::f16}, {"<f4", TensorElement::f32}, {"<f8", TensorElement::f64}, {"<V2", TensorElement::bf16},
      {"|V2", TensorElement::bf16}};
  for (const auto& [name, element] : known)
    if (name == dtype) return element;
  throw UsageError(fmt::format("'{}': tensor maps have no elements of dtype '{}'", where, dtype));
}

std::vector<std::byte> bytes_of(const void* value, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(value);
  return {from, from + count};
}
std::vector<std::byte> bytes_of(u64 address) { return bytes_of(&address, sizeof address); }

constexpr std::string_view kStruct = "struct:";

class Launcher {
 public:
  Launcher(const PtxRun& options, Session& session) : options_(options), session_(session) {
    constexpr std::string_view kPrefix = "emulator:";
    const std::string& device = options.run.device;
    target_ = device.starts_with(kPrefix) ? device.substr(kPrefix.size()) : "";
    if (emulated_ordinal(target_) < 0)
      throw UsageError(
          fmt::format("--device '{}': PTX runs on emulator:sm_XX, with sm_XX one of {}", device, fmt::join(emulated_targets(), ", ")));
    loaded_ = LoadedModule::load(session.files.read(options.run.file), options.run.file);
    if (options.run.kernel.empty() && loaded_->kernels().size() == 1) {
      kernel_ = loaded_->kernels().front().get();
    } else {
      kernel_ = loaded_->kernel(options.run.kernel);
    }
    if (kernel_ == nullptr) {
      std::string all;
      for (const auto& kernel : loaded_->kernels()) all += fmt::format("{}'{}'", all.empty() ? "" : ", ", kernel->name);
      throw UsageError(fmt::format("--kernel names none of the kernels of '{}': {}", options.run.file, all.empty() ? "it has none" : all));
    }
    params_.resize(kernel_->parameter_bytes);
  }

  void run() {
    take_arguments();
    const std::vector<std::pair<Buffer, std::string>> outputs = take_outputs();
    Diagnostics diagnostics;
    Counters counters;
    std::string printed;
    LaunchParams launch_params;
    const std::array<std::int32_t, 3> grid = launch_grid("run", kernel_->name, parse_grid(options_.run.grid));
    for (std::size_t k = 0; k < grid.size(); ++k) launch_params.grid[k] = static_cast<u32>(grid[k]);
    const bool is_required = kernel_->required_threads[0] != 0;
    launch_params.block = is_required ? kernel_->required_threads : std::array<u32, 3>{32 * static_cast<u32>(options_.run.warps), 1, 1};
    launch_params.dynamic_shared_bytes = options_.shared_bytes;
    launch_params.params = params_;
    launch_params.target = target_;
    launch_params.diagnostics = &diagnostics;
    launch_params.counters = &counters;
    launch_params.printed = &printed;
    if (const std::string fault = take_environment(launch_params); !fault.empty()) throw Failure(fault);
    launch_params.instruction_limit = options_.limit.value_or(launch_params.instruction_limit);
    const Interruption interruption;
    launch_params.interrupted = &Interruption::flag();
    launch(*loaded_, kernel_->name, memory_, launch_params);
    for (const std::string& line : parts_of(printed, '\n'))
      if (!line.empty()) rt::print_line(line);
    for (const Diagnostic& remark : diagnostics.remarks()) fmt::print(stderr, "{}\n", to_string(remark));
    std::string found;
    for (const Diagnostic& diagnostic : diagnostics.list()) found += (found.empty() ? "" : "\n") + to_string(diagnostic);
    for (const auto& [buffer, path] : outputs) write_output(buffer, path);
    if (!found.empty()) throw Failure(found);
    if (options_.report)
      fmt::print(stderr, "kernel '{}' on {}\n{}", kernel_->name, options_.run.device, report_text(counters.of(kernel_->name)));
  }

 private:
  std::size_t parameter_named(const std::string& name) const {
    std::size_t position = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), position);
    if (error == std::errc() && stop == name.data() + name.size() && position < kernel_->parameters.size()) return position;
    throw UsageError(fmt::format("'{}' is not a position of a parameter: '{}' has {}", name, kernel_->name, kernel_->parameters.size()));
  }

  /// Copies the array into device memory. The kernel gets its address. --out refers to it by `name`.
  std::vector<std::byte> make_buffer(const std::string& name, std::string dtype, std::vector<std::int64_t> shape,
                                     const std::vector<std::byte>& bytes) {
    const Buffer buffer{memory_.allocate(bytes.size()), std::move(dtype), std::move(shape), bytes.size()};
    memory_.write(buffer.address, bytes.data(), bytes.size());
    buffers_[name] = buffer;
    return bytes_of(buffer.address);
  }

  std::vector<std::byte> read_file(const std::string& name, const std::string& path) {
    const NpyArray array = read_npy(session_.files.read(path), path == "-" ? "<stdin>" : path);
    return make_buffer(name, array.dtype, array.shape, array.data);
  }

  /// tensormap:FILE.npy:ROWSxCOLUMNS[:swizzle32|64|128]: boxes with these extents; the last extent is along a row.
  std::vector<std::byte> tensor_map(const std::string& name, const std::string& value) {
    const std::vector<std::string> words = parts_of(value, ':');
    if (words.size() < 3 || words.size() > 4) throw UsageError(fmt::format("'{}': expected tensormap:FILE.npy:64x128[:swizzle128]", value));
    read_file(name, words[1]);
    const Buffer& buffer = buffers_.at(name);
    const std::vector<std::string> box = parts_of(words[2], 'x');
    const std::size_t rank = buffer.shape.size();
    if (rank < 1 || rank > 5 || box.size() != rank)
      throw UsageError(fmt::format("'{}': the array has {} dimensions, and the box {}", value, rank, box.size()));
    TensorMap map;
    map.address = buffer.address;
    map.rank_less_one = static_cast<u8>(rank - 1);
    map.element = tensor_element(buffer.dtype, value);
    map.element_strides.fill(1);
    u64 stride = static_cast<u64>(rt::emulator::bytes_of(map.element));
    for (std::size_t k = 0; k < rank; ++k) {
      const std::int64_t extent = buffer.shape[rank - 1 - k];
      map.last[k] = static_cast<u32>(extent - 1);
      map.box[k] = static_cast<u16>(number(box[rank - 1 - k], value));
      stride *= static_cast<u64>(extent);
      if (k + 1 < rank) map.strides[k] = stride;
    }
    const std::string_view swizzles[] = {"swizzle0", "swizzle32", "swizzle64", "swizzle128"};
    const auto* swizzle = std::find(std::begin(swizzles), std::end(swizzles), words.size() == 4 ? words[3] : "swizzle0");
    if (swizzle == std::end(swizzles))
      throw UsageError(fmt::format("'{}': '{}' is not a swizzle: expected swizzle32, 64 or 128", value, words[3]));
    map.swizzle = static_cast<TensorSwizzle>(swizzle - std::begin(swizzles));
    if (const std::string fault = fault_of(map); !fault.empty()) throw UsageError(fmt::format("'{}': {}", value, fault));
    std::vector<std::byte> opaque(128);
    std::memcpy(opaque.data(), &map, sizeof map);
    return opaque;
  }

  /// A number, or the address of a buffer.
  std::vector<std::byte> scalar(const std::string& name, const std::string& value) {
    const std::vector<std::string> words = parts_of(value, ':');
    if (words[0] == "zeros") {
      const auto element = words.size() == 3 ? parse_element_name(words[1]) : std::nullopt;
      if (!element) throw UsageError(fmt::format("'{}': a buffer of zeros is zeros:TYPE:N, as zeros:f32:1024", value));
      const std::int64_t count = number(words[2], value);
      const std::vector<std::byte> bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(ir::bytes(*element)));
      return make_buffer(name, std::string(dtype_of(*element)), {count}, bytes);
    }
    const auto element = words.size() == 2 ? parse_element_name(words[0]) : std::nullopt;
    if (!element) return read_file(name, value);
    const ir::ParsedLiteral literal = ir::parse_literal(ir::Type(*element), words[1]);
    if (!literal.error.empty()) throw UsageError(fmt::format("'{}': {}", value, literal.error));
    return bytes_of(&literal.bits, static_cast<std::size_t>(ir::bytes(*element)));
  }

  /// struct:FIELD,FIELD,...: each field is at a multiple of its size, as in C++; pad:N is N bytes that belong to no field.
  std::vector<std::byte> structure(std::size_t parameter, const std::string& value) {
    std::vector<std::byte> bytes;
    const auto align = [&](std::size_t unit) { bytes.resize((bytes.size() + unit - 1) / unit * unit); };
    std::size_t widest = kernel_->parameters[parameter].align;
    int position = 0;
    for (const std::string& field : parts_of(std::string_view(value).substr(kStruct.size()), ',')) {
      if (field.starts_with("pad:")) {
        bytes.resize(bytes.size() + static_cast<std::size_t>(number(std::string_view(field).substr(4), value)));
        continue;
      }
      const std::vector<std::byte> one = scalar(fmt::format("{}.{}", parameter, position++), field);
      align(one.size());
      widest = std::max(widest, one.size());
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    align(widest);
    return bytes;
  }

  void take_value(std::size_t parameter, const std::string& value) {
    const std::string name = std::to_string(parameter);
    const std::vector<std::byte> bytes = value.starts_with("tensormap:") ? tensor_map(name, value)
                                         : value.starts_with(kStruct)    ? structure(parameter, value)
                                                                         : scalar(name, value);
    const Parameter& p = kernel_->parameters[parameter];
    if (p.bytes != bytes.size())
      throw UsageError(
          fmt::format("parameter {} of '{}' has {} bytes; '{}' has {}", parameter, kernel_->name, p.bytes, value, bytes.size()));
    std::memcpy(params_.data() + p.offset, bytes.data(), bytes.size());
  }

  void take_arguments() {
    std::vector<bool> given(kernel_->parameters.size());
    for (const std::string& word : options_.run.arguments) {
      const auto [name, value] = split_assignment(word, "--arg");
      const std::size_t parameter = parameter_named(name);
      if (given[parameter]) throw UsageError(fmt::format("parameter {} is given twice", parameter));
      given[parameter] = true;
      take_value(parameter, value);
    }
    for (std::size_t k = 0; k < given.size(); ++k)
      if (!given[k]) throw UsageError(fmt::format("no --arg gives a value to parameter {} of '{}'", k, kernel_->name));
  }

  /// The buffers to write, each with the path of its file.
  std::vector<std::pair<Buffer, std::string>> take_outputs() const {
    std::vector<std::pair<Buffer, std::string>> outputs;
    for (const std::string& word : options_.outputs) {
      const auto [name, path] = split_assignment(word, "--out");
      const auto buffer = buffers_.find(name);
      if (buffer == buffers_.end()) {
        parameter_named(name.substr(0, name.find('.')));
        throw UsageError(fmt::format("--out '{}': parameter {} is not a buffer", word, name));
      }
      outputs.emplace_back(buffer->second, path);
    }
    return outputs;
  }

  void write_output(const Buffer& buffer, const std::string& path) {
    std::vector<std::byte> bytes(buffer.bytes);
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(buffer.address), bytes.size());
    session_.files.write(path, write_npy(buffer.dtype, buffer.shape, bytes));
  }

  const PtxRun& options_;
  Session& session_;
  std::string target_;
  std::shared_ptr<LoadedModule> loaded_;
  const Kernel* kernel_ = nullptr;
  Memory memory_;
  std::vector<std::byte> params_;
  std::map<std::string, Buffer> buffers_;  // key: the parameter's position, or "2.0" for the first field of parameter 2
};

}  // namespace

void run_ptx(const PtxRun& options, Session& session) {
  if (options.run.grid.empty()) throw UsageError("--grid is required: how many blocks to run, as --grid 64 or --grid 8,8");
  Launcher(options, session).run();
}

}  // namespace tilewright::cli
