// Writes the tile IR that a report of a compiler bug refers to.
#include "passes/debug/leave_reproducer.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tileir/text/printer.h"

namespace tilewright::passes {

void leave_reproducer(const ir::Function& f, std::string_view stage, std::string_view how, BugReport& report) {
  if (!report.reproducer.empty()) return;
  std::error_code no_directory;
  const auto stamp = std::chrono::system_clock::now().time_since_epoch().count();
  const auto path = std::filesystem::temp_directory_path(no_directory) / fmt::format("tilewright-{}-{}-{}.tile", f.name, stage, stamp);
  std::ofstream out(path);
  out << "// " << how << '\n' << ir::print(f, {.locations = true});
  out.close();
  if (!out) return;
  report.reproducer = path.string();
  report.text += fmt::format("\n  reproducer: {}", report.reproducer);
}

}  // namespace tilewright::passes
