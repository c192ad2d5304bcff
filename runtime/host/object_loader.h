// Puts ELF objects that the compiler emitted into this process. One LLVM session for all; each object is unloaded on its own.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt {

/// Code in memory; unloaded when it dies.
class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  /// The address of the symbol that load() was asked for.
  virtual void* entry() const = 0;
};

/// Thread-safe. Loaded objects keep the session alive.
class ObjectLoader {
 public:
  /// Throws DeviceError at `where` if the session cannot start.
  explicit ObjectLoader(const Here& where);

  /// Links `image`, a relocatable ELF object for this machine, and finds `entry` in it. Symbols that it lacks are those of the C
  /// library, of libm and of the process. Throws DeviceError at `where` with LLVM's reason.
  std::unique_ptr<LoadedObject> load(std::span<const std::byte> image, const std::string& entry, const Here& where);

 private:
  struct Session;
  class Object;
  std::shared_ptr<Session> session_;
};

}  // namespace tilewright::rt
