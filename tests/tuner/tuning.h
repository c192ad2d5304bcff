// Shared by the tests of the tuner: a wisdom file of their own, what the log says, and the errors of calls.
#pragma once
#include <doctest/doctest.h>
#include <tilewright/tilewright.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace tw = tilewright;

namespace tuner_tests {

inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
inline void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
inline int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

/// A folder, and TILEWRIGHT_WISDOM in it, for the life of the object.
struct OwnWisdom {
  std::string folder, path;
  OwnWisdom() {
    std::string name = (std::filesystem::temp_directory_path() / "tuner_XXXXXX").string();
    folder = ::mkdtemp(name.data());
    use("wisdom");
  }
  void use(const std::string& name) {
    path = folder + "/" + name;
    ::setenv("TILEWRIGHT_WISDOM", path.c_str(), 1);
  }
  ~OwnWisdom() {
    ::unsetenv("TILEWRIGHT_WISDOM");
    std::filesystem::remove_all(folder);
  }
};

/// The notices of the log while it lives.
struct Notices {
  std::mutex mutex;
  std::string text;
  Notices() {
    tw::set_log_sink([this](tw::LogLevel, std::string_view message) {
      const std::lock_guard lock(mutex);
      text += std::string(message) + "\n";
    });
  }
  ~Notices() { tw::set_log_sink({}); }
};

/// The configurations that searches tried while it lives.
struct Tried {
  std::vector<tw::TuningProgress> steps, results;
  Tried() {
    tw::set_tuning_progress([this](const tw::TuningProgress& p) { (p.is_done ? results : steps).push_back(p); });
  }
  ~Tried() { tw::set_tuning_progress({}); }
};

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace tuner_tests
