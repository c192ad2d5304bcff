// Calls of ptxas, with shell scripts in its place: the search for it, parsing of its output, and failures.
#include "runtime/ptxas.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tilewright/error.h"

namespace tilewright::rt {
namespace {

namespace fs = std::filesystem;

/// A folder with a script `ptxas`; the environment is as it was when this object goes.
class Script {
 public:
  explicit Script(const std::string& text) : path_(saved("PATH")), named_(saved("TILEWRIGHT_PTXAS")) {
    std::string name = (fs::temp_directory_path() / "tilewright-script-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(file()) << "#!/bin/sh\n" << text;
    REQUIRE(chmod(file().c_str(), 0700) == 0);
    unsetenv("TILEWRIGHT_PTXAS");
  }
  ~Script() {
    setenv("PATH", path_.c_str(), 1);
    named_.empty() ? unsetenv("TILEWRIGHT_PTXAS") : setenv("TILEWRIGHT_PTXAS", named_.c_str(), 1);
    fs::remove_all(folder_);
  }
  std::string file() const { return folder_ / "ptxas"; }
  std::string folder() const { return folder_; }

 private:
  static std::string saved(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
  }
  fs::path folder_;
  std::string path_, named_;
};

// Output of ptxas 13.0 with invented numbers; the last word is the file to make.
constexpr const char* kSpeaks = R"(
echo "ptxas info    : 0 bytes gmem"
echo "ptxas info    : Compiling entry function 'one' for 'sm_80'"
echo "ptxas info    : Function properties for one"
echo "    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads"
echo "ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 4096 bytes smem, 384 bytes cmem[0]" >&2
for last; do :; done
echo "$@" > "$last"
)";

// Output of ptxas 13.0 for a module of two slow kernels.
constexpr const char* kWarns = R"(
echo "ptxas a.ptx, line 22; warning : .minnctapersm is ignored when neither .maxntid nor .reqntid is specified."
echo "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry."
echo "ptxas info    : (C7517) warpgroup.wait is injected in around line 13 by compiler to allow use of registers defined by GMMA in function 'two'"
echo "ptxas info    : 0 bytes gmem"
echo "ptxas info    : Compiling entry function 'one' for 'sm_90a'"
echo "ptxas info    : Used 8 registers, used 0 barriers"
echo "ptxas info    : Compiling entry function 'two' for 'sm_90a'"
echo "ptxas info    : Used 34 registers, used 0 barriers"
for last; do :; done
echo cubin > "$last"
)";

TEST_CASE("ptxas: warnings and remarks on lost speed are kept with the kernels that they are of") {
  const Script script(kWarns);
  const Assembled a = assemble(script.file(), ".version 8.0\n", "sm_90a");
  REQUIRE(a.kernels.size() == 2);
  const std::vector<std::string>&one = a.kernels[0].remarks, &two = a.kernels[1].remarks;
  REQUIRE(one.size() == 2);
  CHECK(one[0] == "warning : .minnctapersm is ignored when neither .maxntid nor .reqntid is specified.");
  CHECK(one[1].starts_with("(C7508) Potential Performance Loss: 'setmaxnreg' ignored"));
  REQUIRE(two.size() == 3);
  CHECK(two[2].starts_with("(C7517) warpgroup.wait is injected"));
  CHECK(!is_performance_fault(one[0]));
  CHECK(is_performance_fault(one[1]));
  CHECK(is_performance_fault(two[2]));
  CHECK(!is_performance_fault("(C7519) a wait without an effect"));
}

TEST_CASE("ptxas: registers, stack, spills, barriers and shared memory are read off what it says") {
  const Script script(kSpeaks);
  const Assembled a = assemble(script.file(), ".version 8.0\n", "sm_80");
  REQUIRE(a.kernels.size() == 1);
  CHECK(a.kernels[0].name == "one");
  CHECK(a.kernels[0].registers == 255);
  CHECK(a.kernels[0].stack_bytes == 24);
  CHECK(a.kernels[0].spill_store_bytes == 16);
  CHECK(a.kernels[0].spill_load_bytes == 20);
  CHECK(a.kernels[0].barriers == 1);
  CHECK(a.kernels[0].shared_bytes == 4096);
  CHECK(a.cubin.find("--gpu-name=sm_80") != a.cubin.npos);
}

TEST_CASE("ptxas: TILEWRIGHT_PTXAS is taken before PATH, and is not passed over if it cannot be run") {
  const Script named(kSpeaks), on_path(kSpeaks);
  setenv("PATH", ("/nonexistent:" + on_path.folder()).c_str(), 1);
  CHECK(find_ptxas() == on_path.file());
  setenv("TILEWRIGHT_PTXAS", named.file().c_str(), 1);
  CHECK(find_ptxas() == named.file());
  setenv("TILEWRIGHT_PTXAS", "/nonexistent/ptxas", 1);
  CHECK_FALSE(find_ptxas().has_value());
  CHECK(why_no_ptxas() == "TILEWRIGHT_PTXAS is '/nonexistent/ptxas', which is not a program that can be run");
  setenv("TILEWRIGHT_PTXAS", named.folder().c_str(), 1);
  CHECK_FALSE(find_ptxas().has_value());
}

TEST_CASE("ptxas: a refusal is an error with its words") {
  const Script script("echo \"line 3; error: Unexpected instruction types\"\nexit 255\n");
  CHECK_THROWS_WITH_AS(assemble(script.file(), "", "sm_80"), doctest::Contains("ended with code 255:\nline 3; error: Unexpected"), Error);
  CHECK_THROWS_WITH_AS(assemble("/nonexistent/ptxas", "", "sm_80"), doctest::Contains("'/nonexistent/ptxas'"), Error);
}

TEST_CASE("ptxas: resources are completed where it speaks, and left where it does not") {
  backend::Resources known;
  known.shared_bytes = 512;
  known.num_warps = 4;
  {
    const Script script(kSpeaks);
    setenv("TILEWRIGHT_PTXAS", script.file().c_str(), 1);
    const backend::Resources r = measured_resources("", "sm_80", known);
    CHECK(r.registers == 255);
    CHECK(r.spill_bytes == 16);
    CHECK(r.shared_bytes == 512);
    CHECK(r.num_warps == 4);
  }
  for (const char* text : {"exit 1\n", "exit 0\n"}) {
    const Script script(text);
    setenv("TILEWRIGHT_PTXAS", script.file().c_str(), 1);
    CHECK(measured_resources("", "sm_80", known).registers == -1);
    setenv("TILEWRIGHT_PTXAS", "/nonexistent/ptxas", 1);
    CHECK(measured_resources("", "sm_80", known).spill_bytes == -1);
  }
}

}  // namespace
}  // namespace tilewright::rt
