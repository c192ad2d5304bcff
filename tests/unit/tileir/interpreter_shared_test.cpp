// The interpreter on shared memory: right pipelines give the values that were copied, wrong ones an Error at the op that is wrong.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

/// Three slots of four elements, and pointers to the first three tiles of x and the first of y.
constexpr const char* kSetup = R"(
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %three = constant {value = 3} : i32
  %yes = constant {value = true} : i1
  %no = constant {value = false} : i1
  %i = arange {lo = 0, hi = 4} : i32[4]
  %xb = broadcast %x : ptr<const i32>[4]
  %x0 = add_ptr %xb, %i : ptr<const i32>[4]
  %by4 = constant {value = 4} : i32[4]
  %x1 = add_ptr %x0, %by4 : ptr<const i32>[4]
  %yb = broadcast %y : ptr<i32>[4]
  %y0 = add_ptr %yb, %i : ptr<i32>[4]
  %b = alloc_buffer {ordered} : buffer<3, i32>[4]
  %s0 = buffer_slot %b, %zero : buffer<1, i32>[4]
  %s1 = buffer_slot %b, %one : buffer<1, i32>[4]
  %s2 = buffer_slot %b, %two : buffer<1, i32>[4]
)";

std::string kernel(const std::string& body) {
  return "kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {" + std::string(kSetup) + body + "}\n";
}

/// x is 10, 11, ...; the result is y, which is -1 where no op writes.
std::vector<std::int32_t> run(const std::string& text, int n = 0, int programs = 1) {
  const Module m = parse(text, "t.tile");
  std::vector<std::int32_t> x(64), y(64, -1);
  std::iota(x.begin(), x.end(), 10);
  const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(x.data()), reinterpret_cast<std::uint64_t>(y.data()),
                                     static_cast<std::uint32_t>(n)};
  InterpretOptions options;
  options.grid = {programs, 1, 1};
  interpret(m.functions.at(0), arguments, options);
  return y;
}

/// Whether the program fails with this message at the line that ends in "// wrong".
void check_wrong(const std::string& body, const std::string& message, int n = 0, int programs = 1) {
  const std::string text = kernel(body);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("// wrong")), '\n');
  CAPTURE(body);
  std::string seen = "no error";
  try {
    run(text, n, programs);
  } catch (const Error& e) {
    seen = e.what();
  }
  CHECK(seen.starts_with(fmt::format("t.tile:{}:", line)));
  CHECK_MESSAGE(seen.find("error: " + message) != std::string::npos, seen);
}

/// Copies n tiles of x to y by way of a buffer, `stages` - 1 of them ahead. Wrong pipelines have another wait, or too few slots.
std::string pipeline(int stages, int slots, int pending, const std::string& mark = {}, const std::string& other_mark = {}) {
  std::string body = fmt::format(R"(
  %ring = alloc_buffer {{ordered}} : buffer<{}, i32>[4]
  %slots = constant {{value = {}}} : i32
  %ahead = constant {{value = {}}} : i32
)",
                                 slots, slots, stages - 1);
  for (int j = 0; j + 1 < stages; ++j)
    body += fmt::format(R"(
  %j{0} = constant {{value = {0}}} : i32
  %c{0} = lt %j{0}, %n : i1
  %o{0} = constant {{value = {1}}} : i32[4]
  %p{0} = add_ptr %x0, %o{0} : ptr<const i32>[4]
  %t{0} = buffer_slot %ring, %j{0} : buffer<1, i32>[4]
  copy_async %p{0}, %t{0}, %c{0}
  async_commit
)",
                        j, 4 * j);
  return body + fmt::format(R"(
  for %zero, %n, %one (%k: i32) {{
    async_wait {{pending = {}}}
    %kb = broadcast %k : i32[4]
    %at = mul %kb, %by4 : i32[4]
    %m = add %k, %ahead : i32
    %more = lt %m, %n : i1
    %mb = broadcast %m : i32[4]
    %next_at = mul %mb, %by4 : i32[4]
    %p = add_ptr %x0, %next_at : ptr<const i32>[4]
    %w = rem %m, %slots : i32
    %write = buffer_slot %ring, %w : buffer<1, i32>[4]
    copy_async %p, %write, %more  {}
    async_commit
    %r = rem %k, %slots : i32
    %read = buffer_slot %ring, %r : buffer<1, i32>[4]
    %v = buffer_load %read : i32[4]  {}
    %q = add_ptr %y0, %at : ptr<i32>[4]
    store %q, %v
    yield
  }}
)",
                            pending, mark, other_mark);
}

}  // namespace

TEST_CASE("interpreter of shared memory: a pipelined loop copies what a loop without a pipeline copies") {
  for (int stages : {2, 3, 4, 5})
    for (int n = 0; n <= 7; ++n) {
      CAPTURE(stages);
      CAPTURE(n);
      const std::vector<std::int32_t> y = run(kernel(pipeline(stages, stages, stages - 2)), n);
      for (int i = 0; i < 64; ++i) CHECK(y[static_cast<std::size_t>(i)] == (i < 4 * n ? 10 + i : -1));
    }
}

TEST_CASE("interpreter of shared memory: a pipeline with a group too many pending, or a slot too few, is wrong") {
  check_wrong(pipeline(3, 3, 2, {}, "// wrong"), "buffer_load: a copy of this element may not be complete; an async_wait is missing", 4);
  check_wrong(pipeline(2, 2, 1, {}, "// wrong"), "buffer_load: a copy of this element may not be complete; an async_wait is missing", 1);
  check_wrong(pipeline(3, 2, 1, {}, "// wrong"), "buffer_load: a copy of this element may not be complete; an async_wait is missing", 3);
  check_wrong(pipeline(4, 3, 3, "// wrong"), "copy_async: an earlier copy to this element may not be complete", 4);
}

TEST_CASE("interpreter of shared memory: a copy is not there before the wait for its group") {
  const std::string early = "buffer_load: a copy of this element may not be complete; an async_wait is missing";
  check_wrong("copy_async %x0, %s0, %yes\n async_commit\n %v = buffer_load %s0 : i32[4]  // wrong\n", early);
  check_wrong("copy_async %x0, %s0, %yes\n async_commit\n barrier\n %v = buffer_load %s0 : i32[4]  // wrong\n", early);
  check_wrong("copy_async %x0, %s0, %yes\n async_wait {pending = 0}\n %v = buffer_load %s0 : i32[4]  // wrong\n", early);
  check_wrong("copy_async %x0, %s0, %yes\n async_commit\n async_wait {pending = 1}\n %v = buffer_load %s0 : i32[4]  // wrong\n", early);
  const std::string two =
      "copy_async %x0, %s0, %yes\n async_commit\n copy_async %x1, %s1, %yes\n async_commit\n async_wait {pending = 1}\n";
  check_wrong(two + "%v = buffer_load %s0 : i32[4]\n %w = buffer_load %s1 : i32[4]  // wrong\n", early);
  CHECK(run(kernel(two + "%v = buffer_load %s0 : i32[4]\n store %y0, %v\n"))[3] == 13);
  // Elements that are not read do not matter; a view is the same memory.
  const std::string part = "copy_async %x0, %s0, %yes\n async_commit\n %again = buffer_slot %b, %zero : buffer<1, i32>[4]\n";
  check_wrong(part + "%v = buffer_load %again {offsets = [2]} : i32[2]  // wrong\n", early);
}

TEST_CASE("interpreter of shared memory: what a copy is on its way to is not written") {
  const std::string copy = "copy_async %x0, %s0, %yes\n";
  check_wrong(copy + "copy_async %x1, %s0, %yes  // wrong\n", "copy_async: an earlier copy to this element may not be complete");
  check_wrong(copy + "async_commit\n copy_async %x1, %s0, %yes  // wrong\n",
              "copy_async: an earlier copy to this element may not be complete");
  check_wrong(copy + "async_commit\n buffer_store %s0, %i  // wrong\n",
              "buffer_store: an earlier copy to this element may not be complete");
  CHECK(run(kernel(copy + "copy_async %x1, %s0, %no\n async_commit\n async_wait {pending = 0}\n buffer_store %s0, %i\n"
                          "barrier\n %v = buffer_load %s0 : i32[4]\n store %y0, %v\n"))[3] == 3);
}

TEST_CASE("interpreter of shared memory: a slot that was read since the last wait or barrier is not copied to") {
  const std::string read = "buffer_store %s0, %i\n barrier\n %v = buffer_load %s0 : i32[4]\n";
  const std::string message = "copy_async: another thread may still read this element; a barrier or async_wait is missing";
  check_wrong(read + "copy_async %x0, %s0, %yes  // wrong\n", message);
  // One element is enough; another slot was not read.
  check_wrong("buffer_store %s0, %i\n barrier\n %v = buffer_load %s0 {offsets = [3]} : i32[1]\n copy_async %x0, %s0, %yes  // wrong\n",
              message);
  const std::string rest = "async_commit\n async_wait {pending = 0}\n %w = buffer_load %s0 : i32[4]\n store %y0, %w\n";
  CHECK(run(kernel(read + "copy_async %x1, %s1, %yes\n" + rest))[3] == 3);
  CHECK(run(kernel(read + "barrier\n copy_async %x1, %s0, %yes\n" + rest))[3] == 17);
  CHECK(run(kernel(read + "async_wait {pending = 0}\n copy_async %x1, %s0, %yes\n" + rest))[3] == 17);
}

TEST_CASE("interpreter of shared memory: in a buffer of several slots a wait or barrier is between stores and loads of an element") {
  const std::string unwritten = "buffer_load: another thread may not have written this element; a barrier or async_wait is missing";
  check_wrong("buffer_store %s0, %i\n %v = buffer_load %s0 : i32[4]  // wrong\n", unwritten);
  check_wrong("barrier\n buffer_store %s0, %i\n buffer_store %s1, %i\n %v = buffer_load %s1 {offsets = [3]} : i32[1]  // wrong\n",
              unwritten);
  const std::string read = "buffer_store %s0, %i\n buffer_store %s1, %i\n barrier\n %v = buffer_load %s0 : i32[4]\n";
  check_wrong(read + "buffer_store %s0, %i  // wrong\n",
              "buffer_store: another thread may still read this element; a barrier or async_wait is missing");
  CHECK(run(kernel(read + "buffer_store %s1, %v\n async_wait {pending = 0}\n buffer_store %s0, %v\n %w = buffer_load %s1 : i32[4]\n"
                          "store %y0, %w\n"))[3] == 3);
  // insert_barriers looks after buffers of one slot.
  CHECK(run(kernel("%c = alloc_buffer : buffer<1, i32>[4]\n buffer_store %c, %i\n %v = buffer_load %c : i32[4]\n store %y0, %v\n"))[3] ==
        3);
}

TEST_CASE("interpreter of shared memory: what no op has written is not read") {
  const std::string message = "buffer_load: no op has written this element of the buffer";
  check_wrong("%v = buffer_load %s0 : i32[4]  // wrong\n", message);
  check_wrong("buffer_store %s1, %i\n %v = buffer_load %s0 : i32[4]  // wrong\n", message);
  check_wrong("copy_async %x0, %s0, %no\n async_commit\n async_wait {pending = 0}\n %v = buffer_load %s0 : i32[4]  // wrong\n", message);
  // A program begins with buffers of its own, and so does an iteration that makes one.
  check_wrong(R"(
  %id = program_id {axis = 0} : i32
  %first = eq %id, %zero : i1
  if %first {
    buffer_store %s0, %i
    yield
  } {
    yield
  }
  barrier
  %v = buffer_load %s0 : i32[4]  // wrong
)",
              message, 0, 2);
  check_wrong(R"(
  for %zero, %two, %one (%k: i32) {
    %c = alloc_buffer : buffer<1, i32>[4]
    %again = eq %k, %one : i1
    if %again {
      %v = buffer_load %c : i32[4]  // wrong
      yield
    } {
      yield
    }
    buffer_store %c, %i
    yield
  }
)",
              message);
}

TEST_CASE("interpreter of shared memory: there are as many slots as the type says") {
  check_wrong("%s3 = buffer_slot %b, %three : buffer<1, i32>[4]  // wrong\n", "buffer_slot: there is no slot 3 / 1 of 3");
  check_wrong("%s3 = buffer_slot %b, %one {divisor = 2} : buffer<1, i32>[4]  // wrong\n", "buffer_slot: there is no slot 1 / 2 of 3");
  CHECK(run(kernel(
            "buffer_store %s1, %i\n barrier\n %t = buffer_slot %b, %two {divisor = 2} : buffer<1, i32>[4]\n %v = buffer_load %t : i32[4]\n"
            "store %y0, %v\n"))[3] == 3);
  check_wrong("%m = sub %zero, %one : i32\n %s3 = buffer_slot %b, %m : buffer<1, i32>[4]  // wrong\n",
              "buffer_slot: there is no slot -1 / 1 of 3");
}

TEST_CASE("interpreter of shared memory: lanes that the mask leaves out are zeros, and read nothing") {
  const std::string copy = "%m = lt %i, %by2 : i1[4]\n copy_async %x0, %s0, %yes, %m\n async_commit\n async_wait {pending = 0}\n";
  const std::vector<std::int32_t> y =
      run(kernel("%by2 = constant {value = 2} : i32[4]\n" + copy + "%v = buffer_load %s0 : i32[4]\n store %y0, %v\n"));
  CHECK(std::vector(y.begin(), y.begin() + 4) == std::vector{10, 11, 0, 0});
  int reads = 0;
  const Module m = parse(kernel("%by2 = constant {value = 2} : i32[4]\n" + copy), "t.tile");
  std::vector<std::int32_t> x(4, 7);
  const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(x.data()), 0, 0};
  InterpretOptions options;
  options.may_access = [&](std::uint64_t, int, bool is_store, OpId) { return ++reads, !is_store; };
  interpret(m.functions.at(0), arguments, options);
  CHECK(reads == 2);
}

TEST_CASE("interpreter of shared memory: views and slices name the elements that they should") {
  const std::vector<std::int32_t> y = run(R"(kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {
  %i = arange {lo = 0, hi = 32} : i32[32]
  %t = reshape %i : i32[4, 8]
  %b = alloc_buffer : buffer<1, i32>[4, 8]
  buffer_store %b, %t
  %v = buffer_permute %b {axes = [1, 0]} : buffer<1, i32>[8, 4]
  %a = buffer_load %v {offsets = [4, 2]} : i32[2, 2]
  %c = extract_slice %t {offsets = [2, 6]} : i32[2, 2]
  %d = buffer_load %b {offsets = [2, 6]} : i32[2, 2]
  %j = arange {lo = 0, hi = 4} : i32[4]
  %o = reshape %j : i32[2, 2]
  %p = broadcast %y : ptr<i32>[2, 2]
  %p0 = add_ptr %p, %o : ptr<i32>[2, 2]
  %by4 = constant {value = 4} : i32[2, 2]
  %p1 = add_ptr %p0, %by4 : ptr<i32>[2, 2]
  %p2 = add_ptr %p1, %by4 : ptr<i32>[2, 2]
  store %p0, %a
  store %p1, %c
  store %p2, %d
}
)");
  CHECK(std::vector(y.begin(), y.begin() + 12) == std::vector{20, 28, 21, 29, 22, 23, 30, 31, 22, 23, 30, 31});
}
