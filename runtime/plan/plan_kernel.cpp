// Compiles the kernels of plans.
#include "runtime/plan/plan_kernel.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "runtime/compile_request.h"
#include "runtime/host/cpu_model.h"
#include "runtime/host/thread_pool.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/text/printer.h"
#include "tilewright/kernel_key.h"

namespace tilewright::detail {

namespace {

std::uint64_t hash_of(const ir::Function& f, const backend::CompileOptions& options) {
  KernelKey key;
  const std::string text = ir::print(f) + options.target;
  key.add_bytes(text.data(), text.size());
  key.add_word(static_cast<std::uint64_t>(options.num_warps) << 32 | static_cast<std::uint64_t>(options.num_stages) << 8 |
               static_cast<std::uint64_t>(options.check));
  return key.hash();
}

}  // namespace

PlanKernel::PlanKernel(const passes::fusion::SequenceKernel& source, const std::string& target)
    : source_(source), target_(target), is_checked_(source.check) {
  TW_CHECK(source.function.params.size() == source.arguments.size(), "a kernel of a sequence has an argument for each parameter");
}

PlanKernel::PlanKernel(const passes::fusion::SequenceKernel& source, PlanKernel& like)
    : source_(source), like_(&like), target_(like.target_), is_checked_(like.is_checked_) {}

backend::CompiledKernel PlanKernel::compile(Variant variant, const Here& at) const {
  ir::Function f = source_.function;
  if (variant == kUnpromised)
    for (std::size_t i = 0; i < f.params.size(); ++i) {
      const ir::Type type = f.type(f.arg(f.body(), static_cast<int>(i)));
      f.params[i].divisible_by = type.is_pointer() ? ir::bytes(type.element()) : 1;
      f.params[i].positive = false;
    }
  backend::CompileOptions options;
  options.target = target_;
  options.num_warps = source_.num_warps;
  options.num_stages = source_.num_stages;
  options.check = is_checked_;
  options.contract = source_.contract;
  const std::uint64_t hash = hash_of(f, options);
  return compile_without_log({"compile", source_.name, at}, std::move(f), options, Output::code, hash);
}

void PlanKernel::compile_all(std::span<PlanKernel* const> kernels, const Here& at) {
  std::vector<PlanKernel*> own;
  for (PlanKernel* k : kernels)
    if (!k->like_) own.push_back(k);
  std::vector<std::exception_ptr> errors(own.size());
  // The other threads end with this call. They have no ActiveCall of their own: one that began while another thread waits to fork would wait
  // for the end of this call, which waits for it.
  rt::ThreadPool threads(static_cast<int>(std::min(static_cast<std::size_t>(rt::cpu_threads()), own.size())));
  threads.run(static_cast<std::int64_t>(own.size()), [&](rt::Chunks& chunks) {
    for (rt::Chunks::Range r; chunks.next(r);)
      for (auto i = static_cast<std::size_t>(r.begin); i < static_cast<std::size_t>(r.end); ++i) try {
          own[i]->compiled_[kPromised] = own[i]->compile(kPromised, at);
        } catch (...) {
          // Kernels are taken in increasing order, so those before this one are compiled or will be, and the first error will be among these.
          errors[i] = std::current_exception();
          return chunks.stop();
        }
  });
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    log_remarks(*own[i]->compiled_[kPromised]);
  }
}

bool PlanKernel::keeps_promises(std::span<const std::uint64_t> words) const {
  const ir::Function& f = source_.function;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] % static_cast<std::uint64_t>(f.params[i].divisible_by) != 0) return false;
    const ir::Type type = f.type(f.arg(f.body(), static_cast<int>(i)));
    const std::int64_t value = f.params[i].positive ? ir::integer_value(type.element(), words[i]) : 1;
    if (value < 1 || value > INT32_MAX) return false;
  }
  return true;
}

const rt::Executable& PlanKernel::prepare(rt::Device& device, std::span<const std::uint64_t> words, std::int64_t& compilations,
                                          const Here& at) {
  if (like_) return like_->prepare(device, words, compilations, at);
  const Variant variant = keeps_promises(words) ? kPromised : kUnpromised;
  if (loaded_[variant]) return *loaded_[variant];
  if (!compiled_[variant]) {
    compiled_[variant] = compile(variant, at);
    log_remarks(*compiled_[variant]);
    ++compilations;
  }
  loaded_[variant] = device.load(*compiled_[variant], at);
  return *loaded_[variant];
}

std::string PlanKernel::ptx() const {
  if (like_) return like_->ptx();
  const backend::CompiledKernel& k = *compiled_[kPromised];
  if (k.format != backend::CompiledKernel::Format::ptx) return "";
  return {reinterpret_cast<const char*>(k.image.data()), k.image.size()};
}

}  // namespace tilewright::detail
