// Rows that begin within a cache line: hosts store whole registers from the first multiple of their size on, past the caches or not, and the parts
// at both ends with masks. The same bits as the interpreter, and nothing beside the row.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/execution/machines.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/random.h"
#include "tileir/text/parser.h"
#include "tileir/type.h"
#include "tileir/verifier.h"

namespace tilewright::test {

using namespace ir;

namespace {

/// A program computes a row of `n` elements, `stride` elements behind the one before it, with tiles of 1024.
struct Rows {
  std::int64_t rows, n, stride;
  Element element = Element::f32;
  std::int64_t misaligned_x = 0, misaligned_z = 0;  // elements
  const char* values = "";                          // ops that make %v of the loaded %x
  const char* stored_below = "%below";              // the store's mask
};

constexpr const char* kTwice = "%v = add %x, %x : $E[1024]";
// Each element needs all of them, so the row is stored from a buffer.
constexpr const char* kShare = R"(%zero = constant {value = 0} : $E[1024]
  %counted = select %below, %x, %zero : $E[1024]
  %sum = reduce %counted {axis = 0, commutative} : $E (%a: $E, %b: $E) {
    %c = add %a, %b : $E
    yield %c
  }
  %sums = broadcast %sum : $E[1024]
  %v = sub %x, %sums : $E[1024])";

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [name, by] : names)
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += by.size()) text.replace(at, name.size(), by);
  return text;
}

fuzz::Argument buffer(Element e, std::int64_t elements, std::int64_t misalignment) {
  fuzz::Random random(static_cast<std::uint64_t>(elements));
  fuzz::Argument out;
  out.is_buffer = true;
  out.element = e;
  out.misalignment = misalignment;
  const auto size = static_cast<std::size_t>(bytes(e));
  out.bytes.resize(static_cast<std::size_t>(elements) * size);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t word = element_bits(e, random.between(-100, 100));
    std::memcpy(&out.bytes[static_cast<std::size_t>(i) * size], &word, size);
  }
  return out;
}

void check(const Rows& p) {
  const std::string text = replaced(R"(
kernel @rows(%px: ptr<const $E> {disjoint}, %pz: ptr<$E> {disjoint}, %n: i32, %stride: i32, %m: i32) {
  %row = program_id {axis = 0} : i32
  %first = mul %row, %stride : i32
  %j = arange {lo = 0, hi = 1024} : i32[1024]
  %firsts = broadcast %first : i32[1024]
  %at = add %firsts, %j : i32[1024]
  %ns = broadcast %n : i32[1024]
  %below = lt %j, %ns : i1[1024]
  %ms = broadcast %m : i32[1024]
  %fewer = lt %j, %ms : i1[1024]
  %xs = broadcast %px : ptr<const $E>[1024]
  %xp = add_ptr %xs, %at : ptr<const $E>[1024]
  %x = load %xp, %below : $E[1024]
  $V
  %zs = broadcast %pz : ptr<$E>[1024]
  %zp = add_ptr %zs, %at : ptr<$E>[1024]
  store %zp, %v, $B
})",
                                    {{"$V", p.values}, {"$B", p.stored_below}, {"$E", std::string(ir::text(p.element))}});
  fuzz::Program program;
  program.function = parse(text, "rows.tile").functions.at(0);
  verify_or_throw(program.function);
  const std::int64_t elements = (p.rows - 1) * p.stride + p.n;
  program.arguments.push_back(buffer(p.element, elements, p.misaligned_x));
  program.arguments.push_back(buffer(p.element, elements, p.misaligned_z));
  for (std::int64_t word : {p.n, p.stride, p.n - 3}) {
    program.arguments.push_back({});
    program.arguments.back().word = static_cast<std::uint64_t>(word);
  }
  program.grid[0] = static_cast<std::int32_t>(p.rows);
  for (const std::string& name : machines()) {
    if (!name.starts_with("cpu")) continue;
    fuzz::Machine machine(name, 4);
    fuzz::RewritingExecutor reference = machine.reference();
    const auto difference = fuzz::compare(program, reference, *machine.executor);
    INFO(name, ", n = ", p.n, ", stride = ", p.stride, ": ", difference.value_or(""));
    CHECK_FALSE(difference.has_value());
  }
}

/// Programs whose tiles of 8 rows and 256 columns follow each other in rows of 1024 columns. No mask, or one that cuts whole rows: a vector that
/// begins within a cache line crosses the edge of its tile, and the next program's elements lie behind it.
void check_tiles(Element element, std::int64_t misaligned, const char* mask) {
  const std::string text = replaced(R"(
kernel @tiles(%px: ptr<const $E> {disjoint}, %pz: ptr<$E> {disjoint}, %stride: i32, %m: i32) {
  %tile = program_id {axis = 0} : i32
  %width = constant {value = 256} : i32
  %first = mul %tile, %width : i32
  %r = arange {lo = 0, hi = 8} : i32[8]
  %rs = reshape %r : i32[8, 1]
  %strides = broadcast %stride : i32[8, 1]
  %rows = mul %rs, %strides : i32[8, 1]
  %all_rows = broadcast %rows : i32[8, 256]
  %c = arange {lo = 0, hi = 256} : i32[256]
  %firsts = broadcast %first : i32[256]
  %cs = add %c, %firsts : i32[256]
  %row_of_columns = reshape %cs : i32[1, 256]
  %columns = broadcast %row_of_columns : i32[8, 256]
  %at = add %all_rows, %columns : i32[8, 256]
  %ms = broadcast %m : i32[8, 1]
  %counts = lt %rs, %ms : i1[8, 1]
  %mask = broadcast %counts : i1[8, 256]
  %xs = broadcast %px : ptr<const $E>[8, 256]
  %xp = add_ptr %xs, %at : ptr<const $E>[8, 256]
  %x = load %xp$M : $E[8, 256]
  %v = add %x, %x : $E[8, 256]
  %zs = broadcast %pz : ptr<$E>[8, 256]
  %zp = add_ptr %zs, %at : ptr<$E>[8, 256]
  store %zp, %v$M
})",
                                    {{"$M", mask}, {"$E", std::string(ir::text(element))}});
  constexpr std::int64_t kPrograms = 4, kStride = 1024 + 3, kRows = 8;
  for (const std::int64_t m : {0, 1, 5, 8}) {
    fuzz::Program program;
    program.function = parse(text, "tiles.tile").functions.at(0);
    verify_or_throw(program.function);
    const std::int64_t elements = (kRows - 1) * kStride + 1024;
    program.arguments.push_back(buffer(element, elements, 0));
    program.arguments.push_back(buffer(element, elements, misaligned));
    for (std::int64_t word : {kStride, m}) {
      program.arguments.push_back({});
      program.arguments.back().word = static_cast<std::uint64_t>(word);
    }
    program.grid[0] = kPrograms;
    for (const std::string& name : machines()) {
      if (!name.starts_with("cpu")) continue;
      fuzz::Machine machine(name, 4);
      fuzz::RewritingExecutor reference = machine.reference();
      const auto difference = fuzz::compare(program, reference, *machine.executor);
      INFO(name, ", m = ", m, ", misaligned by ", misaligned, ": ", difference.value_or(""));
      CHECK_FALSE(difference.has_value());
    }
  }
}

}  // namespace

TEST_CASE("aligned rows: every place of a line to begin at, and lengths at which whole registers end everywhere") {
  for (const char* values : {kTwice, kShare}) {
    for (const std::int64_t misaligned : {0, 1, 3, 4, 7, 8, 12, 15}) check({2, 1000, 1000, Element::f32, 2, misaligned, values});
    for (const std::int64_t n : {1, 15, 16, 127, 128, 129, 136, 255, 1009, 1016, 1017, 1023, 1024})
      for (const std::int64_t stride : {n, std::int64_t{1029}}) check({3, n, stride, Element::f32, 0, 5, values});
  }
}

TEST_CASE("aligned rows: types of elements") {
  for (const char* values : {kTwice, kShare})
    for (const Element e : {Element::f64, Element::i32, Element::i64, Element::i16}) check({3, 1003, 1003, e, 0, 1, values});
}

TEST_CASE("aligned rows: tiles beside each other, of which masks cut whole rows") {
  for (const Element e : {Element::f32, Element::i16})
    for (const std::int64_t misaligned : {0, 1, 5, 15})
      for (const char* mask : {"", ", %mask"}) check_tiles(e, misaligned, mask);
}

TEST_CASE("aligned rows: the store ends before the loads do") {
  for (const std::int64_t n : {100, 999, 1024}) check({3, n, n, Element::f32, 0, 1, kTwice, "%fewer"});
}

}  // namespace tilewright::test
