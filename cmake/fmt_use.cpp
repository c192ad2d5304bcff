// Whether fmt_functions.cpp holds what a use of fmt needs: numbers, ranges, widths and errors. Linked with it when the project is
// configured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  const std::string text = fmt::format("{} {:>8.3f} {:#x} {} {}", 1, 2.5, 255u, 1.5f, fmt::join(std::vector{1, 2}, ", "));
  std::puts(text.c_str());
  try {
    std::puts(fmt::format(fmt::runtime("{"), 1).c_str());
  } catch (const fmt::format_error&) {
    return 0;
  }
  return 1;
}
