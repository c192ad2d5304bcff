// Executes kernels that were parsed from text.
#include "frontend/cli/execution/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/files/errors.h"
#include "frontend/cli/output/diagnostics_text.h"
#include "runtime/bounds_check.h"
#include "runtime/compile_request.h"
#include "runtime/devices.h"
#include "runtime/ptxas.h"
#include "runtime/reports.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"
#include "tilewright/kernel_key.h"

namespace tilewright::cli {

namespace {

constexpr const char* kInterpreter = "interpreter";

detail::Code code_of(ir::Element e) { return static_cast<detail::Code>(e); }

std::uint64_t hash_of(const ir::Function& f, const backend::CompileOptions& options) {
  detail::KernelKey key;
  const std::string text = ir::print(f) + options.target;
  key.add_bytes(text.data(), text.size());
  key.add(static_cast<std::uint8_t>(options.check * 2 + options.contract));
  return key.hash();
}

}  // namespace

std::shared_ptr<rt::Device> open_named_device(const std::string& name) {
  const bool is_level = name == "cpu:x86-64" || name == "cpu:x86-64-v3" || name == "cpu:x86-64-v4";
  const bool is_name = name == "cpu" || is_level || name == "cuda" || name.starts_with("cuda:") || name.starts_with("emulator");
  try {
    return rt::open_device(name, Here());
  } catch (const Error& e) {
    if (is_name) throw Failure(message_of(e));
    throw UsageError(message_of(e) + ", interpreter");
  }
}

Execution::Execution(const ir::Function& f, const std::vector<Argument>& arguments, const ExecutionOptions& options)
    : function_(f), arguments_(arguments), options_(options) {
  const Here here;
  const detail::Request request{"run", f.name, here};
  const bool interpreted = options.device == kInterpreter;
  device_ = open_named_device(interpreted ? "cpu" : options.device);
  config_.grid = launch_grid("run", f.name, options.grid);
  backend::CompileOptions compile =
      compile_options("run", f.name, {.num_warps = options.warps, .check = options.check, .contract = options.contract});
  config_.num_warps = options.warps;
  config_.check = compile.check;
  for (const Argument& a : arguments) {
    detail::RawBuffer buffer;
    if (a.is_buffer()) buffer = detail::RawBuffer(device_, code_of(a.type.element()), a.elements, here);
    words_.push_back(a.is_buffer() ? reinterpret_cast<std::uint64_t>(buffer.memory()) : a.word);
    buffers_.push_back(std::move(buffer));
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) fill(i);
  if (interpreted) return;
  compile.target = device_->target();
  const backend::CompiledKernel compiled = detail::compile_function(request, f, compile, detail::Output::code, hash_of(f, compile));
  timings_ = compiled.timings;
  const auto start = std::chrono::steady_clock::now();
  executable_ = device_->load(compiled, here);
  ptx_.assign(reinterpret_cast<const char*>(compiled.image.data()), compiled.image.size());
  resources_ = compiled.resources;
  timings_.push_back({"load", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()});
}

void Execution::restore() {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (!arguments_[i].type.is_const_pointer()) fill(i);
}

void Execution::fill(std::size_t parameter) {
  const Argument& a = arguments_[parameter];
  const std::uint64_t zero = 0;
  if (!a.is_buffer() || a.elements == 0) return;
  if (a.bytes.empty())
    buffers_[parameter].fill(&zero, Here());
  else
    buffers_[parameter].write(a.bytes.data(), static_cast<std::size_t>(a.elements), Here());
}

std::vector<std::byte> Execution::contents(int parameter) const {
  const Argument& a = arguments_[parameter];
  std::vector<std::byte> bytes(static_cast<std::size_t>(a.elements) * static_cast<std::size_t>(ir::bytes(a.type.element())));
  buffers_[parameter].read(bytes.data(), static_cast<std::size_t>(a.elements), Here());
  return bytes;
}

void Execution::launch() {
  if (!executable_) return interpret();
  device_->launch(*executable_, config_, words_, device_->default_stream());
  device_->synchronize();  // so that the kernel's prints come before its results
}

namespace {

/// The report sites of device_print and device_assert in a function. Messages are the same as in checked mode on the cpu.
class InterpreterReports {
 public:
  explicit InterpreterReports(const ir::Function& f) : f_(f) {
    f.walk([&](ir::OpId id) {
      const bool is_print = f.kind(id) == ir::OpKind::device_print_;
      if (!is_print && f.kind(id) != ir::OpKind::device_assert_) return;
      sites_.push_back({f.where(id), is_print, f.attr_text(id, ir::AttrName::text), {}, {}});
      for (const ir::ValueId v : f.op(id).operands) sites_.back().operands.push_back(f.type(v));
      if (!is_print) sites_.back().operands.resize(1);  // only the condition: the report has the failing lane
      if (const auto reason = f.attr(id, ir::AttrName::reason); reason != 0)
        sites_.back().text =
            fmt::format("{} {} does not hold", ir::symbols(ir::AttrName::reason)[static_cast<std::size_t>(reason)], sites_.back().text);
      ops_.push_back(id);
    });
    reports_.emplace(sites_);
  }

  void add(const ir::Report& r) {
    const auto site = static_cast<std::size_t>(std::find(ops_.begin(), ops_.end(), r.op) - ops_.begin());
    const std::vector<ir::Type>& types = sites_[site].operands;
    std::vector<std::vector<std::byte>> memory;
    std::vector<const void*> operands;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto width = static_cast<std::size_t>(types[i].element_bytes());
      std::vector<std::byte>& m = memory.emplace_back(width * static_cast<std::size_t>(types[i].elements()), std::byte{1});
      if (sites_[site].is_print) {
        for (std::size_t k = 0; k < r.operands[i]->bits.size(); ++k) std::memcpy(&m[k * width], &r.operands[i]->bits[k], width);
      } else {
        m[static_cast<std::size_t>(r.lane)] = std::byte{0};
      }
    }
    for (const auto& m : memory) operands.push_back(m.data());
    rt::Reports::report(&*reports_, r.program.data(), operands.data(), static_cast<std::int32_t>(site));
  }
  void finish() const { reports_->finish(Here()); }
  bool is_print(ir::OpId id) const { return f_.kind(id) == ir::OpKind::device_print_; }

 private:
  const ir::Function& f_;
  std::vector<backend::ReportSite> sites_;
  std::vector<ir::OpId> ops_;
  std::optional<rt::Reports> reports_;
};

}  // namespace

void Execution::interpret() {
  InterpreterReports reports(function_);
  const std::vector<rt::Region> live = device_->memory().snapshot();
  ir::InterpretOptions options;
  options.grid = config_.grid;
  options.max_ops = options_.max_ops;
  options.reduction = backend::describe_target(device_->target()).reduction;
  options.may_access = [&](std::uint64_t address, int bytes, bool is_store, ir::OpId op) {
    for (const rt::Region& r : live)
      if (address >= r.begin && address <= r.end() && r.end() - address >= static_cast<std::uint64_t>(bytes)) return true;
    if (options_.skip_bad_accesses) return false;
    const Location where = function_.where(op);
    throw Error(where, rt::describe_bad_access(address, {where, is_store, bytes}, live, words_));
  };
  options.report = [&](const ir::Report& r) {
    if (config_.check || reports.is_print(r.op)) reports.add(r);
  };
  ir::interpret(function_, words_, options);
  reports.finish();
}

std::string Execution::device_text() const {
  return executable_ ? fmt::format("{}: {}", device_->name(), device_->description()) : "interpreter: the reference meaning";
}

std::string Execution::counters_text() {
  if (!executable_ || !device_->name().starts_with("emulator:")) return "";
  return rt::take_counters_text(device_->name(), rt::measured_resources(ptx_, device_->target(), resources_).registers);
}

}  // namespace tilewright::cli
