// The program under test, run as a shell would.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::test {

struct Outcome {
  int code = -1;  // exit code; 128 and the signal if one ended it
  std::string out, err;
};

/// A signal for a running program: it is sent `after_ms` milliseconds after the program handles SIGINT, or after the signal before.
struct SentSignal {
  int number = 0;
  unsigned after_ms = 0;
};

/// Runs `tilewright` with these words, in the folder, and sends it the signals.
Outcome tilewright(const std::vector<std::string>& arguments, const std::string& input = "", const std::filesystem::path& folder = ".",
                   const std::vector<SentSignal>& signals = {});

/// A folder that goes with this object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file of the folder and returns its name there.
  std::string write(const std::string& name, const std::string& contents) const;
  std::string read(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// The text of tests/cli/kernels/NAME.tile.
std::string kernel_text(const std::string& name);

}  // namespace tilewright::test
