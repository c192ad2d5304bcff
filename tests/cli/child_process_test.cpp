// Child processes of `tilewright reduce`: results, signals and time limits, and that no process is left behind.
#include "frontend/cli/execution/child_process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

std::size_t folders() {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
    n += entry.path().filename().string().starts_with("tilewright-reduce-");
  return n;
}

TEST_CASE("child_process: what the check returns comes back whole, what it prints is kept apart") {
  const ChildProcesses children;
  const std::string large(1 << 20, 'x');
  const ChildResult r = children.run(
      [&] {
        std::printf("not to be seen");
        std::fputs("a word", stderr);
        return large;
      },
      10);
  CHECK(r.text == large);
  CHECK(r.errors == "a word");
  CHECK(r.signal == 0);
}

TEST_CASE("child_process: a crash and a check that does not end are told by their signals") {
  const ChildProcesses children;
  const ChildResult crash = children.run(
      []() -> std::string {
        std::signal(SIGABRT, SIG_DFL);
        std::abort();
      },
      10);
  CHECK(crash.signal == SIGABRT);
  const ChildResult thrown = children.run(
      []() -> std::string {
        std::signal(SIGABRT, SIG_DFL);
        throw std::runtime_error("what it says");
      },
      10);
  CHECK(thrown.signal == SIGABRT);
  CHECK(thrown.errors == "what it says");
  const ChildResult endless = children.run(
      []() -> std::string {
        std::signal(SIGALRM, SIG_DFL);
        while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
      },
      1);
  CHECK(endless.signal == SIGALRM);
}

TEST_CASE("child_process: the exit code of a check that ends the process, as a sanitizer does") {
  const ChildProcesses children;
  const ChildResult ended = children.run(
      []() -> std::string {
        std::fputs("ERROR: what a sanitizer found\n", stderr);
        std::fflush(stderr);
        _exit(7);
      },
      10);
  CHECK(ended.exit_code == 7);
  CHECK(ended.signal == 0);
  CHECK(ended.text.empty());
  CHECK(ended.errors == "ERROR: what a sanitizer found\n");
}

TEST_CASE("child_process: files that a check leaves in the temporary folder go with it") {
  const std::size_t before = folders();
  {
    const ChildProcesses children;
    CHECK(folders() == before + 1);
    const ChildResult r = children.run(
        [] {
          const fs::path file = fs::temp_directory_path() / "reproducer.tile";
          std::fclose(std::fopen(file.c_str(), "w"));
          return file.string();
        },
        10);
    CHECK(r.text.find("tilewright-reduce-") != std::string::npos);
    CHECK(fs::exists(r.text));
  }
  CHECK(folders() == before);
}

}  // namespace
}  // namespace tilewright::cli
