// Runs the files of tests/ptx/emulator, and shows that each kind of expectation can fail.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/emulator/harness.h"
#include "tests/unit/emulator/ptx_case.h"

namespace tilewright::rt::emulator {
namespace {

std::string failures(const std::string& text) {
  std::string all;
  for (const CaseFailure& f : run_cases(text)) all += std::to_string(f.line) + ": " + f.message + "\n";
  return all;
}

bool fails(const std::string& text, const std::string& with) { return failures(text).find(with) != std::string::npos; }

const std::string kHead =
    "// A head.\n// array: out 4 = 7\n// text: STORE\nst.global.u32 [%d1], 5;\n// threads: 1\nld.param.u64 %d1, [out];\n// -----\n// a "
    "store\n";

}  // namespace

TEST_CASE("emulator cases: the files of tests/ptx/emulator hold what they say") {
  std::vector<std::string> names;
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "ptx" / "emulator";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().string().substr(folder.parent_path().string().size() + 1));
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() >= 3);
  for (const std::string& name : names) {
    SUBCASE(name.c_str()) {
      const std::string path = "tests/ptx/" + name;
      for (const CaseFailure& f : run_cases(ptx_file(name))) ADD_FAIL_CHECK_AT(path.c_str(), f.line, f.message);
    }
  }
}

TEST_CASE("emulator cases: each expectation can fail") {
  CHECK(failures(kHead + "$STORE\n// value: out[0] = 5\n// value: out[1..3] = 3 * (i + 2) - 3 * i + 1\n") == "");
  CHECK(fails(kHead + "$STORE\n// value: out[0] = 6\n", "10: a store: out[0] is 5, not 6"));
  CHECK(fails(kHead + "$STORE\n// value: in[0] = 6\n", "there is no such array"));
  CHECK(fails(kHead + "$LOAD\n", "'$LOAD' names no text"));
  CHECK(fails(kHead + "$STORE\n// finds: race\n", "10: a store: it does not find 'race'"));
  CHECK(fails(kHead + "$STORE\n// finds: *\n", "it does not find '*'"));
  CHECK(fails(kHead + "st.global.u32 [%d1+16], 5;\n", "8: a store: it finds\naccess out of bounds"));
  CHECK(failures(kHead + "st.global.u32 [%d1+16], 5;\n// finds: access out of bounds\n") == "");
  CHECK(fails(kHead + "st.global.u32 [%d1+16], 5;\n// finds: access\n// finds_not: of bounds\n", "it finds 'of bounds'"));
  CHECK(fails(kHead + "st.global.u32 [%d1+16], 5;\n// finds: access\n// finding_lines: 7\n", "lines of findings"));
  CHECK(failures(kHead + "trap;\n// finds: trap\n// finds: the kernel gave up\\n\n") == "");
  CHECK(fails(kHead + "trap;\n// finds: trap\n// finds: the kernel\\n\n", "it does not find 'the kernel\n'"));
  CHECK(fails(kHead + "// limit: 100\nL: bra L;\n", "it finds\n"));
  CHECK(fails(kHead + "$STORE\n// remarks: anything\n", "no remark says 'anything'"));
  CHECK(fails(kHead + "$STORE\n// counters: bytes(store) == 5\n", "it is 4"));
  CHECK(fails(kHead + "// each: AT 0\n// each: AT 16\nst.global.u32 [%d1+$AT], 5;\n", "AT '16'"));
  const std::string past = kHead + "// each: AT 16\n// each: AT 32\nst.global.u32 [%d1+$AT], 5;\n";
  CHECK(fails(past + "// finds: $AT bytes of it\n", "it does not find '32 bytes of it'"));
  CHECK(fails(kHead + "// order: forward sideways\n$STORE\n", "'sideways' is not known"));
  CHECK(fails(kHead + "// refused: each line\nst.global.u32 [%d1], 5;\nst.frob [%d1], 5;\n", "'st.global.u32 [%d1], 5;' is not refused"));
  CHECK(fails(kHead + "// workers: 1 2\ntrap;\n", "workers 2"));
  CHECK(fails(kHead + "// functions:\n.func f() { trap; }\n// threads: 1\ncall f;\n", "it finds\ntrap"));
  CHECK(failures(kHead + "st.frob [%d1], 5;\n// error: 'st.frob'\n") == "");
  CHECK(fails(kHead + "st.frob [%d1], 5;\n// error: 'st.flob'\n", "10: a store: the error is not ''st.flob'', but"));
  CHECK(fails(kHead + "$STORE\n// error: *\n", "the error is not '*', but ''"));
  CHECK(fails(kHead + "// kernel: .frob 5\n$STORE\n", ".frob"));
  CHECK(fails(kHead + "// tensor: map u32 2x2 box 2x2 of in\n$STORE\n", "there is no such array"));
  CHECK(fails(kHead + "// tensor: map u32 2x2 box 2x2 of out\n$STORE\n", "no such tensor map"));
  CHECK(failures("// Nothing.\n") == "1: there is no case\n");
}

}  // namespace tilewright::rt::emulator
