// Functions: calls that are errors with a line, and functions that the device provides, such as vprintf. tests/ptx/emulator/call.ptx has
// the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

/// A module with functions ahead of a kernel with this body, which stores %r1 of each thread; %r0 is the thread.
std::string with_functions(const std::string& functions, const std::string& body) {
  return module_of(
      ".param .u64 out",
      "mov.u32 %r0, %tid.x;\n" + body + "\nld.param.u64 %d1, [out];\nmad.wide.u32 %d1, %r0, 4, %d1;\nst.global.u32 [%d1], %r1;", functions);
}

std::vector<u32> results_of(Bench& bench, u32 threads = 32) {
  Array<u32> out(bench.memory, threads);
  Params params;
  const bool ran = bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(out.address()));
  INFO(bench.found());
  CHECK(ran);
  return out.values();
}

/// A variable of zero-terminated text.
std::string text_variable(const std::string& name, const std::string& text) {
  std::string bytes;
  for (char c : text) bytes += std::to_string(static_cast<int>(c)) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {" + bytes + "0};\n";
}

std::string error_of(const std::string& text) {
  try {
    LoadedModule::load(text, "t.ptx");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("emulator calls: calls that do not fit are refused with their line") {
  const std::string function = ".func f(.param .b32 x) { ret; }";
  CHECK(error_of(with_functions(function, ".param .b64 a; call f, (a);")) ==
        "t.ptx:12: error: 'call': it passes (8) bytes and takes back (); the function takes (4) and returns ()");
  CHECK(error_of(with_functions(function, "call f;")) ==
        "t.ptx:12: error: 'call': it passes () bytes and takes back (); the function takes (4) and returns ()");
  CHECK(error_of(with_functions(function, "call g;")) == "t.ptx:12: error: unknown name 'g'");
  CHECK(error_of(with_functions(".extern .func g;", "call g;")) == "t.ptx:12: error: 'call': 'g' is not defined");
}

TEST_CASE("emulator calls: vprintf formats what a thread passes") {
  Bench bench(with_functions(".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n" +
                                 text_variable("format", "lane %d of %u: %5.2f|%s|%llx|%c%%|%-4d|%*d\n") + text_variable("word", "text"),
                             R"(
    .local .align 8 .b8 buffer[64];
    st.local.u32 [buffer], %r0;
    st.local.u32 [buffer+4], 32;
    st.local.f64 [buffer+8], 0d400921FB54442D18;
    mov.u64 %d2, word;
    cvta.global.u64 %d2, %d2;
    st.local.u64 [buffer+16], %d2;
    st.local.u64 [buffer+24], 0x123456789abc;
    st.local.u32 [buffer+32], 120;
    st.local.u32 [buffer+36], -7;
    st.local.u32 [buffer+40], 5;
    st.local.u32 [buffer+44], 42;
    mov.u64 %d2, format;
    cvta.global.u64 %d2, %d2;
    mov.u64 %d3, buffer;
    cvta.local.u64 %d3, %d3;
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    st.param.b64 [a], %d2;
    st.param.b64 [b], %d3;
    and.b32 %r2, %r0, 15;
    setp.eq.u32 %p1, %r2, 3;
    mov.u32 %r1, 0;
    @%p1 call (c), vprintf, (a, b);
    @%p1 ld.param.b32 %r1, [c];
  )"));
  std::string printed;
  bench.launch_params.printed = &printed;
  const auto out = results_of(bench);
  CHECK(printed ==
        "lane 3 of 32:  3.14|text|123456789abc|x%|-7  |   42\n"
        "lane 19 of 32:  3.14|text|123456789abc|x%|-7  |   42\n");
  CHECK(out[3] == 8);
  CHECK(out[4] == 0);
}

TEST_CASE("emulator calls: a failed assertion says what and where") {
  const std::string text =
      with_functions(".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n" +
                         text_variable("message", "x > 0") + text_variable("file", "a.cu") + text_variable("name", "f()"),
                     R"(
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    .param .b64 e;
    .param .b64 f;
    mov.u64 %d2, message;
    st.param.b64 [a], %d2;
    mov.u64 %d2, file;
    st.param.b64 [b], %d2;
    st.param.b32 [c], 12;
    mov.u64 %d2, name;
    st.param.b64 [e], %d2;
    st.param.b64 [f], 1;
    setp.eq.u32 %p1, %r0, 40;
    @%p1 call __assertfail, (a, b, c, e, f);
    mov.u32 %r1, 1;
  )");
  Bench good(text);
  CHECK(results_of(good) == std::vector<u32>(32, 1));
  Bench bad(text);
  Array<u32> out(bad.memory, 64);
  Params params;
  CHECK_FALSE(bad.run("k", {1, 1, 1}, {64, 1, 1}, params.add(out.address())));
  CHECK(bad.found().find("warp 1, lane 8") != std::string::npos);
  CHECK(bad.found().find("assertion 'x > 0' failed at a.cu:12 in f()") != std::string::npos);
}

}  // namespace tilewright::rt::emulator
