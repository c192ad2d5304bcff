// Loads ELF objects into this process by LLVM's ORC and JITLink.
#include "runtime/host/object_loader.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

namespace tilewright::rt {

namespace orc = llvm::orc;

// The parts of LLJIT that objects need: without an IR layer and a platform, no target must be initialised.
struct ObjectLoader::Session {
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer linker;
  orc::JITDylib& library;
  std::atomic<unsigned> loaded{0};
  std::mutex mutex;
  std::string reported;  // LLVM passes the reason of a failed link to its reporter; the caller gets only a general error

  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> process)
      : session(std::move(process)), linker(session), library(session.createBareJITDylib("library")) {
    session.setErrorReporter([this](llvm::Error error) {
      std::lock_guard lock(mutex);
      reported += (reported.empty() ? "" : "; ") + llvm::toString(std::move(error));
    });
  }
  ~Session() { llvm::consumeError(session.endSession()); }

  [[noreturn]] void fail(const std::string& what, llvm::Error error, const Here& where) {
    std::string reason = llvm::toString(std::move(error));
    std::lock_guard lock(mutex);
    if (!reported.empty()) reason = std::exchange(reported, {});
    throw DeviceError(detail::location_of(where), what + ": " + reason);
  }
};

namespace {

// Defines the C functions that emitted code calls most by their addresses, so that they are found even if the C library is not among the
// process's global symbols, as in a plug-in.
llvm::Error define_library(orc::ExecutionSession& session, orc::JITDylib& library) {
  orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) {
    symbols[session.intern(name)] = {orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  add("memset", &std::memset);
  add("memcpy", &std::memcpy);
  add("memmove", &std::memmove);
  add("memcmp", &std::memcmp);
#define TW_MATH(name)                                   \
  add(#name, static_cast<double (*)(double)>(&::name)); \
  add(#name "f", static_cast<float (*)(float)>(&::name##f));
  TW_MATH(floor)
  TW_MATH(ceil)
  TW_MATH(trunc)
  TW_MATH(rint)
  TW_MATH(nearbyint)
  TW_MATH(round)
  TW_MATH(roundeven)
  TW_MATH(sqrt)
#undef TW_MATH
  add("fmod", static_cast<double (*)(double, double)>(&::fmod));
  add("fmodf", static_cast<float (*)(float, float)>(&::fmodf));
  add("fma", static_cast<double (*)(double, double, double)>(&::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
  add("ldexp", static_cast<double (*)(double, int)>(&::ldexp));
  add("ldexpf", static_cast<float (*)(float, int)>(&::ldexpf));
  return library.define(orc::absoluteSymbols(std::move(symbols)));
}

}  // namespace

class ObjectLoader::Object : public LoadedObject {
 public:
  Object(std::shared_ptr<Session> session, orc::JITDylib& code) : session_(std::move(session)), code_(code) {}
  ~Object() override { llvm::consumeError(session_->session.removeJITDylib(code_)); }
  void* entry() const override { return entry_; }

  void link(std::span<const std::byte> image, const std::string& entry, const Here& where) {
    code_.addToLinkOrder(session_->library);
    const llvm::StringRef bytes(reinterpret_cast<const char*>(image.data()), image.size());
    if (llvm::Error e = session_->linker.add(code_, llvm::MemoryBuffer::getMemBufferCopy(bytes, entry)))
      session_->fail("cannot load the code of kernel '" + entry + "'", std::move(e), where);
    auto symbol = session_->session.lookup({&code_}, session_->session.intern(entry));
    if (!symbol) session_->fail("cannot link the code of kernel '" + entry + "'", symbol.takeError(), where);
    entry_ = symbol->getAddress().toPtr<void*>();
  }

 private:
  std::shared_ptr<Session> session_;
  orc::JITDylib& code_;
  void* entry_ = nullptr;
};

ObjectLoader::ObjectLoader(const Here& where) {
  auto process = orc::SelfExecutorProcessControl::Create();
  if (!process) throw DeviceError(detail::location_of(where), "cannot start the object loader: " + llvm::toString(process.takeError()));
  session_ = std::make_shared<Session>(std::move(*process));
  auto symbols = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!symbols) session_->fail("cannot read the symbols of this process", symbols.takeError(), where);
  session_->library.addGenerator(std::move(*symbols));
  if (llvm::Error e = define_library(session_->session, session_->library))
    session_->fail("cannot define the library of emitted code", std::move(e), where);
}

std::unique_ptr<LoadedObject> ObjectLoader::load(std::span<const std::byte> image, const std::string& entry, const Here& where) {
  orc::JITDylib& code = session_->session.createBareJITDylib(fmt::format("{}.{}", entry, session_->loaded.fetch_add(1)));
  auto object = std::make_unique<Object>(session_, code);
  object->link(image, entry, where);
  return object;
}

}  // namespace tilewright::rt
