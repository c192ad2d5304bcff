// Functions: parameters and results, recursion, pointers, stacks, and what the device itself provides.
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

const std::string kFibonacci = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra BASE;
  sub.u32 %r2, %r1, 1;
  sub.u32 %r3, %r1, 2;
  { .param .b32 a; st.param.b32 [a], %r2; .param .b32 b; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
  { .param .b32 a; st.param.b32 [a], %r3; .param .b32 b; call.uni (b), fib, (a); ld.param.b32 %r5, [b]; }
  add.u32 %r1, %r4, %r5;
BASE:
  st.param.b32 [result], %r1;
  ret;
})";

}  // namespace

TEST_CASE("emulator calls: parameters and results of all shapes") {
  Bench bench(with_functions(R"(
.func (.param .align 16 .b8 result[16]) swap(.param .align 16 .b8 pair[16], .param .b16 factor)
{
  .reg .b16 %h<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<3>;
  ld.param.v2.b64 {%d1, %d2}, [pair];
  ld.param.u16 %h1, [factor];
  cvt.u32.u16 %r1, %h1;
  mul.wide.u32 %d0, %r1, 1;
  mul.lo.u64 %d1, %d1, %d0;
  st.param.b64 [result+8], %d1;
  st.param.b64 [result], %d2;
})",
                             R"(
    mul.wide.u32 %d2, %r0, 10;
    {
      .param .align 16 .b8 a[16];
      .param .b16 b;
      .param .align 16 .b8 c[16];
      st.param.b64 [a], %d2;
      st.param.b64 [a+8], 3;
      st.param.b16 [b], 7;
      call (c), swap, (a, b);
      ld.param.v2.b64 {%d3, %d4}, [c];
    }
    add.u64 %d3, %d3, %d4;
    cvt.u32.u64 %r1, %d3;
  )"));
  const auto out = results_of(bench);
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == 3 + 70 * t);
}

TEST_CASE("emulator calls: parameters and results in registers") {
  Bench bench(with_functions(R"(
.func (.reg .b32 result) scale(.reg .b32 x, .reg .b32 y)
{
  mul.lo.u32 x, x, 3;
  add.u32 result, x, y;
  ret;
})",
                             "call (%r1), scale, (%r0, 5); call (%r1), scale, (%r1, %r0);"));
  const auto out = results_of(bench);
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == (3 * t + 5) * 3 + t);
}

TEST_CASE("emulator calls: lanes return at different places and times") {
  Bench bench(with_functions(R"(
.func (.param .b32 result) steps(.param .b32 n)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  setp.le.u32 %p1, %r1, 1;
  st.param.b32 [result], %r2;
  @%p1 ret;
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 shr.u32 %r1, %r1, 1;
  @!%p2 mad.lo.u32 %r1, %r1, 3, 1;
  add.u32 %r2, %r2, 1;
  setp.gt.u32 %p3, %r2, 20;
  @!%p3 bra LOOP;
  st.param.b32 [result], 99;
})",
                             R"(
    mov.u32 %r1, 1000;
    and.b32 %r2, %r0, 4;
    setp.eq.u32 %p1, %r2, 0;
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r0;
    @%p1 call (b), steps, (a);
    @%p1 ld.param.b32 %r1, [b];
  )"));
  const auto out = results_of(bench);
  for (u32 t = 0; t < 32; ++t) {
    u32 steps = 0;
    for (u32 x = t; x > 1 && steps <= 20; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    CHECK(out[t] == (t & 4 ? 1000 : steps > 20 ? 99 : steps));
  }
}

TEST_CASE("emulator calls: a collective in a function waits for the lanes that come later") {
  Bench bench(with_functions(R"(
.func (.param .b32 result) sum(.param .b32 x)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [x];
  redux.sync.add.s32 %r1, %r1, 0xffffffff;
  st.param.b32 [result], %r1;
  ret;
})",
                             R"(
    .param .b32 a;
    .param .b32 b;
    setp.lt.u32 %p1, %r0, 7;
    @%p1 bra FEW;
    st.param.b32 [a], 1;
    call (b), sum, (a);
    bra DONE;
  FEW:
    st.param.b32 [a], 100;
    call (b), sum, (a);
  DONE:
    ld.param.b32 %r1, [b];
  )"));
  for (u32 value : results_of(bench)) CHECK(value == 725);
}

TEST_CASE("emulator calls: each depth of a recursion has registers and variables of its own") {
  Bench bench(with_functions(kFibonacci, R"(
    and.b32 %r2, %r0, 7;
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), fib, (a);
    ld.param.b32 %r1, [b];
  )"));
  const u32 fib[] = {0, 1, 1, 2, 3, 5, 8, 13};
  const auto out = results_of(bench);
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == fib[t & 7]);

  // A buffer whose address goes down the recursion: each depth writes its own and the one above.
  Bench nested(with_functions(R"(
.func fill(.param .b32 n, .param .b64 above)
{
  .local .align 4 .b32 own;
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u32 %r1, [n];
  ld.param.u64 %d1, [above];
  setp.eq.u32 %p1, %r1, 0;
  mov.u64 %d2, own;
  cvta.local.u64 %d3, %d2;
  st.local.u32 [%d2], %r1;
  @%p1 bra DONE;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; .param .b64 b; st.param.b32 [a], %r2; st.param.b64 [b], %d3; call fill, (a, b); }
DONE:
  ld.local.u32 %r2, [own];
  ld.u32 %r3, [%d1];
  mad.lo.u32 %r3, %r3, 10, %r2;
  st.u32 [%d1], %r3;
  ret;
})",
                              R"(
    .local .align 4 .b32 first;
    st.local.u32 [first], 9;
    mov.u64 %d2, first;
    cvta.local.u64 %d2, %d2;
    .param .b32 a;
    .param .b64 b;
    st.param.b32 [a], 3;
    st.param.b64 [b], %d2;
    call fill, (a, b);
    ld.local.u32 %r1, [first];
  )"));
  // own(0) = 0; own(1) = 10, own(2) = 2 10 + 10 = 30, own(3) = 3 10 + 30 = 60, first = 90 + 60.
  for (u32 value : results_of(nested)) CHECK(value == 150);
}

TEST_CASE("emulator calls: a recursion without end overflows the stack") {
  Bench bench(with_functions(R"(
.func deep(.param .b32 n)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n];
  { .param .b32 a; st.param.b32 [a], %r1; call deep, (a); }
  ret;
})",
                             ".param .b32 a; st.param.b32 [a], 1; call deep, (a); mov.u32 %r1, 0;"));
  Array<u32> out(bench.memory, 32);
  Params params;
  CHECK_FALSE(bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(out.address())));
  CHECK(bench.has_found(DiagnosticKind::out_of_bounds));
  CHECK(bench.found().find("the stack of the thread overflows its") != std::string::npos);
}

TEST_CASE("emulator calls: pointers to functions, in registers and in variables") {
  const std::string functions = R"(
.func (.param .b32 r) twice(.param .b32 x);
.global .align 8 .u64 table[2] = {twice, square};
.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %r<2>; ld.param.u32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) square(.param .b32 x)
{ .reg .b32 %r<2>; ld.param.u32 %r1, [x]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) next(.param .b32 x)
{ .reg .b32 %r<2>; ld.param.u32 %r1, [x]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
)";
  const std::string call = R"(
    mov.u64 %d2, table;
    and.b32 %r2, %r0, 1;
    mad.wide.u32 %d2, %r2, 8, %d2;
    ld.global.u64 %d3, [%d2];
    setp.gt.u32 %p1, %r0, 20;
    mov.u64 %d4, next;
    selp.b64 %d3, %d4, %d3, %p1;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r0;
  )";
  Bench bench(with_functions(functions, call + "call (b), %d3, (a), P; ld.param.b32 %r1, [b];"));
  const auto out = results_of(bench);
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == (t > 20 ? t + 1 : t % 2 == 0 ? 2 * t : t * t));

  const auto diagnostic = [&](const std::string& text) {
    Bench wrong(with_functions(functions, call + text));
    Array<u32> unused(wrong.memory, 32);
    Params params;
    CHECK_FALSE(wrong.run("k", {1, 1, 1}, {32, 1, 1}, params.add(unused.address())));
    CHECK(wrong.has_found(DiagnosticKind::bad_operand));
    return wrong.found();
  };
  CHECK(diagnostic("add.u64 %d3, %d3, 4; call (b), %d3, (a), P;").find("is the address of no function") != std::string::npos);
  CHECK(diagnostic("call %d3, (a), P;").find("the call passes (4) bytes and takes back (); the function takes (4) and returns (4)") !=
        std::string::npos);
}

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
