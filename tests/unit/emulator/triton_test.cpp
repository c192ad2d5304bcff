// PTX that Triton compiled: the values are right and there are no diagnostics. Runs the committed kernels, and those in the folder
// TRITON_PTX, which tests/ptx/compile_triton.py writes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/unit/emulator/harness.h"
#include "tests/unit/emulator/triton_kernels.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

namespace fs = std::filesystem;

std::set<fs::path> texts_in(const fs::path& folder) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".ptx") found.insert(entry.path());
  return found;
}

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void check_all(const std::set<fs::path>& files) {
  for (const fs::path& file : files)
    for (const AsyncOrder order : {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random}) {
      std::string wrong;
      try {
        wrong = check_triton_kernel(file.stem().string(), text_of(file), order);
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      INFO(file.filename().string() << ", order " << static_cast<int>(order));
      CHECK(wrong == "");
    }
}

fs::path committed() { return fs::path(__FILE__).parent_path().parent_path().parent_path() / "ptx" / "triton"; }

/// The text without the instructions of this name.
std::string without(const std::string& text, const std::string& instruction) {
  std::stringstream in(text), out;
  std::size_t left_out = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find(instruction) != std::string::npos)
      ++left_out;
    else
      out << line << "\n";
  }
  CHECK(left_out > 0);
  return out.str();
}

}  // namespace

TEST_CASE("emulator triton: committed kernels") {
  const auto files = texts_in(committed());
  CHECK(files.size() >= 6);
  check_all(files);
}

TEST_CASE("emulator triton: kernels without their waits, fences or barriers are found out") {
  const auto found = [](const std::string& name, const std::string& instruction) {
    return check_triton_kernel(name, without(text_of(committed() / (name + ".ptx")), instruction));
  };
  CHECK(found("softmax_bf16_1024.sm_80", "bar.sync").find("race") != std::string::npos);
  CHECK(found("matmul_f16_128x128x32_s3.sm_80", "cp.async.wait_group").find("race") != std::string::npos);
  CHECK(found("matmul_f16_128x128x32_bt.sm_90", "wgmma.wait_group").find("missing wait") != std::string::npos);
  CHECK(found("matmul_f16_128x128x32_bt.sm_90", "fence.proxy.async").find("race") != std::string::npos);
  CHECK(found("attention_desc_f16.sm_90", "wgmma.fence").find("no wgmma.fence") != std::string::npos);
  CHECK(found("matmul_desc_128x128x64.sm_90", "mbarrier.arrive.expect_tx").find("in 'matmul_desc'") != std::string::npos);
}

TEST_CASE("emulator triton: kernels of a folder") {
  const char* folder = std::getenv("TRITON_PTX");
  if (folder == nullptr) {
    MESSAGE("TRITON_PTX names no folder: only the committed kernels were run");
    return;
  }
  const auto files = texts_in(folder);
  CHECK(!files.empty());
  check_all(files);
}

}  // namespace tilewright::rt::emulator
