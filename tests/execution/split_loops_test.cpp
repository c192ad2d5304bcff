// Loops whose masks cut only the last iterations, which hosts run apart from the others (passes/split_masked_loops.cpp).
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/execution/machines.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

namespace {

constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int32_t>::max(), kLeast = std::numeric_limits<std::int32_t>::min();

/// What a program reads from its line of a table: the loop runs from begin to end; the mask holds below the bound, and for the first rows.
struct Line {
  std::int64_t begin, end, bound, first, rows;
};

const std::vector<Line> kLines = {
    {0, 64, 64, 0, 4},
    {0, 64, 50, 0, 4},
    {0, 64, 64, 0, 3},
    {0, 100, 33, 20, 4},
    {0, 100, 1000, -20, 4},  // the first indices are negative
    {-40, 60, 30, 0, 4},
    {16, 16, 20, 0, 4},  // no iteration
    {80, 16, 20, 0, 4},
    {0, 64, -5, 0, 4},
    {0, 64, kLeast, 3, 4},
    {0, 64, kGreatest, 0, 4},
    {kGreatest - 70, kGreatest, kGreatest, 0, 4},  // the last indices wrap
    {kGreatest - 70, kGreatest, kGreatest - 20, 7, 4},
    {0, 64, kGreatest, kGreatest - 30, 4},
    // For counters of 64 bits.
    {std::int64_t{1} << 40, (std::int64_t{1} << 40) + 60, (std::int64_t{1} << 40) + 50, 0, 4},
    {std::int64_t{1} << 61, (std::int64_t{1} << 61) + 60, (std::int64_t{1} << 61) + 50, 0, 4},
    {-(std::int64_t{1} << 61), 60 - (std::int64_t{1} << 61), 50 - (std::int64_t{1} << 61), 0, 4},
    {kFarthest - 70, kFarthest, kFarthest - 20, 0, 4},
    {0, 64, kFarthest, 0, 4},
};

/// Counts, in base 3, in which iterations the mask holds for an element. INDEX: what is compared with the bound, a tile of type T.
const std::string kText = R"(
kernel @k(%lines: ptr<const i64>, %y: ptr<i32>) {
  %pid = program_id {axis = 0} : i32
  %five = constant {value = 5} : i32
  %line = mul %pid, %five : i32
  %lp = add_ptr %lines, %line : ptr<const i64>
  %c1 = constant {value = 1} : i32
  %c2 = constant {value = 2} : i32
  %c3 = constant {value = 3} : i32
  %c4 = constant {value = 4} : i32
  %p1 = add_ptr %lp, %c1 : ptr<const i64>
  %p2 = add_ptr %lp, %c2 : ptr<const i64>
  %p3 = add_ptr %lp, %c3 : ptr<const i64>
  %p4 = add_ptr %lp, %c4 : ptr<const i64>
  %begin64 = load %lp : i64
  %end64 = load %p1 : i64
  %bound64 = load %p2 : i64
  %first64 = load %p3 : i64
  %rows64 = load %p4 : i64
  %begin = cast %begin64 : COUNTER
  %end = cast %end64 : COUNTER
  %bound = cast %bound64 : T
  %first = cast %first64 : i32
  %rows = cast %rows64 : i32
  %step = constant {value = 16} : COUNTER
  %i = arange {lo = 0, hi = 4} : i32[4]
  %rb = broadcast %rows : i32[4]
  %below = lt %i, %rb : i1[4]
  %column = reshape %below : i1[4, 1]
  %live = broadcast %column : i1[4, 16]
  %j = arange {lo = 0, hi = 16} : i32[16]
  %bb = broadcast %bound : T[16]
  %zeros = constant {value = 0} : i32[4, 16]
  %ones = constant {value = 1} : i32[4, 16]
  %threes = constant {value = 3} : i32[4, 16]
  %s = for %begin, %end, %step, %zeros : i32[4, 16] (%k: COUNTER, %acc: i32[4, 16]) {
INDEX
    %mask = COMPARED : i1[16]
    %row = reshape %mask : i1[1, 16]
    %each = broadcast %row : i1[4, 16]
    %both = bit_and %live, %each : i1[4, 16]
    %v = select %both, %ones, %zeros : i32[4, 16]
    %more = mul %acc, %threes : i32[4, 16]
    %next = add %more, %v : i32[4, 16]
    yield %next
  }
  %size = constant {value = 64} : i32
  %at = mul %pid, %size : i32
  %yq = add_ptr %y, %at : ptr<i32>
  %yb = broadcast %yq : ptr<i32>[4, 16]
  %all = arange {lo = 0, hi = 64} : i32[64]
  %square = reshape %all : i32[4, 16]
  %yp = add_ptr %yb, %square : ptr<i32>[4, 16]
  store %yp, %s
})";

// The counter, an offset and the lanes; the counter three times; the same in 64 bits, and in 32 bits that are extended.
const std::string kNarrow = R"(
    %kf = add %k, %first : i32
    %kb = broadcast %kf : i32[16]
    %x = add %kb, %j : i32[16])";
const std::string kApart = R"(
    %kb = broadcast %k : i32[16]
    %fb = broadcast %first : i32[16]
    %fj = add %fb, %j : i32[16]
    %x = add %kb, %fj : i32[16])";
const std::string kThrice = R"(
    %c = constant {value = 3} : i32
    %k3 = mul %k, %c : i32
    %kb = broadcast %k3 : i32[16]
    %x = add %kb, %j : i32[16])";
const std::string kWide = R"(
    %kw = cast %k : i64
    %fw = cast %first : i64
    %kf = add %kw, %fw : i64
    %kb = broadcast %kf : i64[16]
    %jw = cast %j : i64[16]
    %x = add %kb, %jw : i64[16])";
const std::string kExtended = R"(
    %kb = broadcast %k : i32[16]
    %kj = add %kb, %j : i32[16]
    %x = cast %kj : i64[16])";

// A counter of 64 bits.
const std::string kLong = R"(
    %kb = broadcast %k : i64[16]
    %jw = cast %j : i64[16]
    %x = add %kb, %jw : i64[16])";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

void check(const std::string& index, const std::string& type, const std::string& compared) {
  CAPTURE(index);
  CAPTURE(compared);
  // The text's only capital T is the type.
  std::string text = replaced(kText, "COUNTER", index == kLong ? "i64" : "i32");
  text = replaced(replaced(replaced(text, "COMPARED", compared), " T", " " + type), "INDEX", index);
  fuzz::Program p;
  p.function = ir::parse(text, "split.tile").functions.at(0);
  p.grid = {static_cast<std::int32_t>(kLines.size()), 1, 1};
  p.arguments.resize(2);
  p.arguments[0].is_buffer = p.arguments[1].is_buffer = true;
  p.arguments[0].element = ir::Element::i64;
  p.arguments[0].bytes.resize(kLines.size() * sizeof(Line));
  std::memcpy(p.arguments[0].bytes.data(), kLines.data(), p.arguments[0].bytes.size());
  p.arguments[1].element = ir::Element::i32;
  p.arguments[1].bytes.resize(kLines.size() * 64 * sizeof(std::int32_t));
  check_on_machines(p);
}

}  // namespace

TEST_CASE("loops: masks that cut the last iterations, with bounds near and far, and indices that wrap") {
  for (const char* compared : {"lt %x, %bb", "le %x, %bb", "gt %bb, %x", "ge %bb, %x"}) {
    for (const std::string& index : {kNarrow, kApart, kThrice}) check(index, "i32", compared);
    for (const std::string& index : {kWide, kExtended, kLong}) check(index, "i64", compared);
  }
}

}  // namespace tilewright::test
