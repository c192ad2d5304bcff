// Loads shared libraries by the system's loader.
#include "runtime/dynamic_library.h"

#include <dlfcn.h>

namespace tilewright::rt {

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_) {
      reason_.clear();
      return;
    }
    const char* error = dlerror();
    const std::string text = error ? error : "";
    if (reason_.empty() && text.find("No such file") == std::string::npos) reason_ = text;
  }
}

void* DynamicLibrary::find(const char* symbol) const { return dlsym(library_, symbol); }

const char* DynamicLibrary::find_all(std::initializer_list<DynamicFunction> functions) const {
  for (const DynamicFunction& f : functions) {
    void* address = find(f.symbol());
    if (!address) return f.symbol();
    f.set(address);
  }
  return nullptr;
}

}  // namespace tilewright::rt
