// Loads ELF objects of the compiler into this process. All share one LLVM session, but each is unloaded separately.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt {

/// Code in memory, which is unloaded when this object is destroyed.
class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  /// The address of the `entry` that was passed to load().
  virtual void* entry() const = 0;
};

/// Thread-safe. Loaded objects keep the session alive.
class ObjectLoader {
 public:
  /// Throws DeviceError at `where` if the session cannot start.
  explicit ObjectLoader(const Here& where);

  /// Links `image`, a relocatable ELF object for this machine, and finds `entry` in it. Undefined symbols are resolved in the C library, in
  /// libm and in the process. Throws DeviceError at `where` with LLVM's reason.
  std::unique_ptr<LoadedObject> load(std::span<const std::byte> image, const std::string& entry, const Here& where);

 private:
  struct Session;
  class Object;
  std::shared_ptr<Session> session_;
};

}  // namespace tilewright::rt
