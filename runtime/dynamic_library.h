// Functions of a shared library that is found at run time: of drivers, and of libraries that no build needs.
#pragma once
#include <initializer_list>
#include <string>

namespace tilewright::rt {

/// A function pointer and the symbol whose address it gets.
class DynamicFunction {
 public:
  template <class Result, class... Arguments>
  DynamicFunction(const char* symbol, Result (*&function)(Arguments...))
      : symbol_(symbol), function_(&function), set_(set<Result(Arguments...)>) {}

  const char* symbol() const { return symbol_; }
  void set(void* address) const { set_(function_, address); }

 private:
  template <class F>
  static void set(void* function, void* address) {
    *static_cast<F**>(function) = reinterpret_cast<F*>(address);
  }

  const char* symbol_;
  void* function_;
  void (*set_)(void* function, void* address);
};

/// A shared library. It is never closed: drivers, and libraries with threads, have exit handlers of their own.
class DynamicLibrary {
 public:
  /// Loads the first of these libraries that the system's loader finds; is_open() says whether there was one.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  bool is_open() const { return library_ != nullptr; }
  /// Why it is not open, in the loader's words about the first file that does not load; empty if there is no file of these names.
  const std::string& reason() const { return reason_; }

  /// The address of a function, or null. Requires: is_open().
  void* find(const char* symbol) const;
  /// Sets all of them; returns the first symbol that the library lacks, or null. Requires: is_open().
  const char* find_all(std::initializer_list<DynamicFunction>) const;

 private:
  void* library_ = nullptr;
  std::string reason_;
};

}  // namespace tilewright::rt
