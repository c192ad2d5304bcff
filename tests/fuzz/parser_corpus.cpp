// parser_corpus: the texts that the parser's fuzzer starts from, and its dictionary.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/fuzz/generator.h"
#include "tests/fuzz/text_mutator.h"
#include "tileir/text/printer.h"

using namespace tilewright;
namespace fs = std::filesystem;

namespace {

constexpr int kPrograms = 500;
constexpr std::size_t kLongest = 1500;  // longer texts take long to parse, so they are changed less often

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  if (!(out << text)) throw std::runtime_error("cannot write " + path.string());
}

/// The cases of the text tests, each a file of its own. Returns how many there are.
int write_cases(const fs::path& tests, const fs::path& to) {
  int n = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tests)) {
    if (entry.path().extension() != ".tile") continue;
    std::ifstream in(entry.path());
    std::string text, line;
    const auto flush = [&] {
      if (!text.empty()) write(to / fmt::format("case_{}", n++), text);
      text.clear();
    };
    while (std::getline(in, line)) {
      if (line.starts_with("// -----"))
        flush();
      else if (!line.starts_with("//"))
        text += line + '\n';
    }
    flush();
  }
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: parser_corpus TEXT_TESTS CORPUS DICTIONARY\n");
    return 2;
  }
  try {
    const fs::path to = argv[2];
    fs::create_directories(to);
    const int cases = write_cases(argv[1], to);
    if (cases == 0) throw std::runtime_error(std::string("no .tile files in ") + argv[1]);
    fuzz::GeneratorOptions small;
    small.min_ops = 1, small.max_ops = 2, small.max_log2_elements = 5;
    int programs = 0;
    for (std::uint64_t seed = 1; programs < kPrograms; ++seed) {
      const std::string text = ir::print(fuzz::generate(seed, small).function, {.locations = seed % 8 == 0});
      if (text.size() <= kLongest) write(to / fmt::format("program_{}", programs++), text);
    }
    std::string dictionary;
    const auto& words = fuzz::vocabulary();
    for (const std::string& word : std::set(words.begin(), words.end())) dictionary += fmt::format("\"{}\"\n", word);
    write(argv[3], dictionary);
    fmt::print("{} cases of the text tests, {} random programs\n", cases, kPrograms);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "parser_corpus: {}\n", e.what());
    return 1;
  }
}
