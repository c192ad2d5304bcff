// Finds or compiles the specialization for the arguments of a launch, and launches it.
#include "tilewright/kernel.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "backend/compile.h"
#include "frontend/launch/checked_options.h"
#include "frontend/launch/first_write.h"
#include "frontend/trace/ir_type.h"
#include "frontend/trace/trace.h"
#include "frontend/trace/trace_state.h"
#include "runtime/active_call.h"
#include "runtime/compile_request.h"
#include "runtime/devices.h"
#include "runtime/environment.h"
#include "runtime/kernel_cache.h"
#include "runtime/log.h"
#include "runtime/ptxas.h"
#include "runtime/write_observer.h"
#include "tileir/builder.h"
#include "tileir/graph/opaque_kernel.h"

namespace tilewright::detail {

namespace {
// The address of this variable distinguishes copies of the library in one process.
const char this_copy = 0;
}  // namespace

class KernelState {
 public:
  explicit KernelState(std::string kernel_name) : name(std::move(kernel_name)) {}

  const char* const made_by = &this_copy;
  const std::string name;
  rt::KernelCache cache{kMostSpecializations};

  /// Logs once that a constant with many values makes many specializations.
  void count_constants(std::uint64_t hash) {
    constexpr std::size_t kMany = 32;
    std::lock_guard lock(mutex_);
    if (warned_) return;
    constants_.insert(hash);
    if (constants_.size() <= kMany) return;
    warned_ = true;
    rt::log(LogLevel::warning,
            fmt::format("kernel '{}' has been compiled for more than {} values of its compile-time parameters; a value that "
                        "changes often is better a run-time parameter",
                        name, kMany));
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::uint64_t> constants_;
  bool warned_ = false;
};

std::shared_ptr<KernelState> make_kernel(std::string name) {
  return {new KernelState(std::move(name)), [](KernelState* kernel) {
            const rt::ActiveCall call(std::nothrow);
            if (call.is_allowed()) delete kernel;
          }};
}

const std::string& name_of(KernelState* kernel, const Here& at) {
  if (!kernel) throw Error(location_of(at), "this kernel has been moved from");
  return kernel->name;
}

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

Request expect_usable(const char* what, KernelState* kernel, const Here& at) {
  const Request r{what, name_of(kernel, at), at};
  if (kernel->made_by != &this_copy)
    r.refuse(
        "another copy of the library made this kernel: shared objects that contain the archive share the statics of inline functions, "
        "unless these are hidden");
  if (Trace::active()) r.refuse("a kernel cannot be launched or compiled inside of a kernel");
  return r;
}

rt::Device& device_of(const Request& request, const Launch& launch, const Arguments& arguments) {
  struct Source {
    const char* what;
    rt::Device* device;
  };
  if (launch.stream.given() && !launch.stream.stream().handle()) request.refuse("the stream is none: a stream comes from Device::stream()");
  const Source sources[] = {{"the buffers are", arguments.device()},
                            {"the stream is", launch.stream.given() ? launch.stream.stream().device().get() : nullptr},
                            {"Launch::device is", launch.device.handle().get()}};
  const Source* found = nullptr;
  for (const Source& s : sources) {
    if (!s.device) continue;
    if (found && found->device != s.device)
      request.refuse(fmt::format("{} on device '{}', but {} '{}'", found->what, found->device->name(), s.what, s.device->name()));
    if (!found) found = &s;
  }
  if (!found) request.refuse("no buffer and no stream says on which device; name it in Launch::device");
  return *found->device;
}

// Whether kernels for the target may depend on which integers are positive: tensor maps take no distances that are not (passes/use_tma.cpp).
bool uses_signs(std::string_view target) { return target.starts_with("sm_90a"); }

// Whether kernels for those targets know that the argument is 0: 64-bit integers are strides of views, and along axes that repeat one element a
// tensor map has no distance.
bool is_known_zero(const Arguments::Word& w, std::uint64_t bits) {
  return bits == 0 && !w.positive && w.type.element == Code::i64 && w.type.indirection == Indirection::value;
}

// Adds the rest that distinguishes specializations besides constants and target: options and argument attributes, but never a value other
// than 0.
void add_rest(KernelKey& key, const Arguments& arguments, const backend::CompileOptions& options, bool with_signs) {
  constexpr int kBits = 8;  // bits of an attribute; a word holds eight attributes
  std::uint64_t classes = 0;
  int used = 0;
  for (std::size_t i = 0; i < arguments.words().size(); ++i) {
    const Arguments::Word& w = arguments.words()[i];
    const bool is_zero = with_signs && is_known_zero(w, arguments.bits()[i]);
    if (used == 64) key.add_word(std::exchange(classes, 0)), used = 0;
    classes |= static_cast<std::uint64_t>(is_zero * 128 + w.positive * 64 + w.divisible_by * 2 + w.disjoint) << used;
    used += kBits;
  }
  key.add_word(classes);
  key.add_word(static_cast<std::uint64_t>(options.num_warps) << 32 | static_cast<std::uint64_t>(options.num_stages) << 8 |
               static_cast<std::uint64_t>(options.check) << 1 | static_cast<std::uint64_t>(options.contract));
}

/// Calls f. If an error in the kernel is in another file, as for a kernel of a library, it gets a note with the line of the request.
template <class F>
auto with_request_noted(const Request& request, F f) {
  try {
    return f();
  } catch (const Error& e) {
    const Location here = location_of(request.at);
    if (typeid(e) != typeid(Error) || e.where().file == here.file) throw;
    throw Error(e, {here, fmt::format("the {} of '{}' is here", request.what, request.kernel)});
  }
}

/// Replaces the parameters that are known to be 0.
void set_zeros(ir::Function& f, const Arguments& arguments) {
  ir::Builder b(f);
  const ir::OpId first = f.block(f.body()).first;
  for (std::size_t i = 0; i < arguments.words().size(); ++i) {
    const ir::ValueId v = f.arg(f.body(), static_cast<int>(i));
    if (!is_known_zero(arguments.words()[i], arguments.bits()[i]) || !f.has_uses(v)) continue;
    b.before(first);
    f.replace_uses(v, b.constant(f.type(v), 0));
  }
}

ir::Function trace(const Request& request, const Arguments& arguments, Body body) {
  if (!body.call) request.refuse("the kernel has no function: what it was made from is null");
  std::vector<TracedParam> params;
  for (const Arguments::Word& w : arguments.words())
    params.push_back(
        {ir_type(w.type),
         {.name = fmt::format("arg{}", params.size()), .divisible_by = w.divisible_by, .disjoint = w.disjoint, .positive = w.positive}});
  return with_request_noted(request, [&] {
    return trace_kernel(symbol_name(request.kernel), params, [&] { body.call(body.context); }, location_of(request.at));
  });
}

backend::CompiledKernel trace_and_compile(const Request& request, const Arguments& arguments, const backend::CompileOptions& options,
                                          Output output, std::uint64_t hash, Body body) {
  const auto start = Clock::now();
  ir::Function function = trace(request, arguments, body);
  if (uses_signs(options.target)) set_zeros(function, arguments);
  const double traced_ms = ms_since(start);
  backend::CompiledKernel compiled =
      with_request_noted(request, [&] { return compile_function(request, std::move(function), options, output, hash); });
  compiled.timings.insert(compiled.timings.begin(), {"trace", traced_ms});
  return compiled;
}

/// Tells a measurement on this thread which memory the launch may write. Throws Error if the kernel writes memory of unknown extent.
void announce_writes(rt::WriteObserver& observer, const Request& request, rt::Device& device, rt::Stream& stream,
                     const Arguments& arguments, Body body) {
  std::optional<ir::Function> traced;
  for (const Arguments::Reach& r : arguments.written()) {
    if (r.buffer) {
      observer.before_write(device, r.begin, r.end, stream, request.at);
      continue;
    }
    bool is_known = false;
    for (const rt::Region& region : device.memory().snapshot())
      if (r.begin == region.begin || (region.begin < r.begin && r.begin < region.end())) {
        is_known = true;
        observer.before_write(device, region.begin, region.end(), stream, request.at);
      }
    if (is_known) continue;
    if (!traced) traced = trace(request, arguments, body);
    const ir::OpId write = detail::first_write(*traced, r.word);
    if (!write.valid()) continue;
    std::vector<Note> notes{{traced->where(write), "it writes here"}};
    if (const Location measured = location_of(observer.at()), here = location_of(request.at);
        measured.file != here.file || measured.line != here.line)
      notes.push_back({measured, "the launch is measured here"});
    throw Error(location_of(request.at),
                fmt::format("tune: kernel '{}' writes through a raw pointer that leads into no buffer: what is there cannot be put back "
                            "between measurements; Device::wrap makes a buffer of it",
                            request.kernel),
                notes);
  }
}

}  // namespace

void set_max_specializations(KernelState* state, std::int64_t count, const Here& at) {
  const rt::ActiveCall call(at);
  const Request request = expect_usable("set_max_specializations", state, at);
  if (count < 1) request.refuse(fmt::format("{} specializations; there must be at least 1", count));
  state->cache.set_capacity(static_cast<std::size_t>(count));
}

void launch(KernelState* state, const Launch& launch, Arguments& arguments, Body body, const Here& at) {
  const rt::ActiveCall call(at);
  const Request request = expect_usable("launch", state, at);
  KernelState& kernel = *state;
  rt::LaunchConfig config{.grid = checked_grid(request, launch.grid), .num_warps = launch.num_warps, .where = at};
  backend::CompileOptions options = checked_options(request, launch);
  rt::Device& device = device_of(request, launch, arguments);
  config.check = options.check;

  // From here on, launching a compiled kernel allocates nothing, takes no lock of this library, and compares words instead of text.
  KernelKey& key = arguments.key();
  const std::uint64_t constants = key.hash();
  const bool with_signs = uses_signs(device.target());
  if (!with_signs) arguments.forget_signs();
  add_rest(key, arguments, options, with_signs);
  key.add_word(reinterpret_cast<std::uint64_t>(&device));  // unique: entries keep the device alive, so no other device gets this address
  const rt::Executable* executable = kernel.cache.find(key);
  if (!executable)
    executable = &kernel.cache.get(key, [&] {
      options.target = device.target();
      const auto compiled = trace_and_compile(request, arguments, options, Output::code, key.hash(), body);
      auto loaded = device.load(compiled, at);
      kernel.count_constants(constants);
      return loaded;
    });
  rt::Stream& stream = launch.stream.given() ? *launch.stream.stream().handle() : device.default_stream();
  if (rt::WriteObserver* observer = rt::WriteObserver::current()) [[unlikely]]
    announce_writes(*observer, request, device, stream, arguments, body);
  device.launch(*executable, config, arguments.bits(), stream);
}

Compiled compile(KernelState* state, std::string_view target, const Launch& launch, Arguments& arguments, Body body, const Here& at) {
  const rt::ActiveCall call(at);
  const Request request = expect_usable("compile", state, at);
  if (const std::string mistake = rt::environment_mistake(); !mistake.empty()) request.refuse(mistake);
  checked_grid(request, launch.grid);
  backend::CompileOptions options = checked_options(request, launch);
  options.target = target;
  const bool with_signs = uses_signs(target);
  if (!with_signs) arguments.forget_signs();
  KernelKey& key = arguments.key();
  add_rest(key, arguments, options, with_signs);
  key.add_bytes(target.data(), target.size());
  backend::CompiledKernel made = trace_and_compile(request, arguments, options, Output::text, key.hash(), body);

  Compiled::Parts parts;
  parts.target = made.target;
  parts.tile_ir = std::move(made.tile_ir);
  parts.llvm_ir = std::move(made.llvm_ir);
  parts.assembly = std::move(made.assembly);
  if (made.format == backend::CompiledKernel::Format::ptx)
    parts.ptx.assign(reinterpret_cast<const char*>(made.image.data()), made.image.size());
  for (const backend::PhaseTiming& t : made.timings) parts.timings.push_back({t.phase, t.ms});
  const backend::Resources& r = made.resources;
  parts.resources = {r.registers, r.spill_bytes, r.shared_bytes, r.num_warps};
  return Compiled(std::move(parts));
}

std::shared_ptr<graph::OpaqueKernel> trace_for_graph(KernelState* state, const Launch& launch, Arguments& arguments, Body body,
                                                     const Here& at) {
  const rt::ActiveCall call(at);
  const Request request = expect_usable("call", state, at);
  const backend::CompileOptions options = checked_options(request, launch);
  auto kernel = std::make_shared<graph::OpaqueKernel>();
  kernel->name = state->name;
  arguments.forget_signs();  // a graph is compiled for any extents
  kernel->function = trace(request, arguments, body);
  for (std::uint64_t word : arguments.bits()) kernel->arguments.push_back({graph::OpaqueKernel::Argument::Kind::number, 0, {}, word, {}});
  kernel->num_warps = options.num_warps;
  kernel->num_stages = options.num_stages;
  kernel->contract = options.contract;
  kernel->check = launch.check;
  return kernel;
}

}  // namespace tilewright::detail

namespace tilewright {

Resources Compiled::resources() const {
  if (parts_.ptx.empty()) return parts_.resources;
  const Resources& known = parts_.resources;
  const backend::Resources r =
      rt::measured_resources(parts_.ptx, parts_.target, {known.registers, known.spill_bytes, known.shared_bytes, known.num_warps});
  return {r.registers, r.spill_bytes, r.shared_bytes, r.num_warps};
}

}  // namespace tilewright
