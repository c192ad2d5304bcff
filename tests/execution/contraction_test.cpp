// Loops that only multiply, which hosts compute in blocks of iterations: the same bits as the interpreter for factors with NaN and infinity,
// in memory and behind masks, at odd sizes, and where neighbouring programs share a factor.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/execution/machines.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/random.h"
#include "tileir/text/parser.h"
#include "tileir/type.h"
#include "tileir/verifier.h"

namespace tilewright::test {

using namespace ir;

namespace {

struct Product {
  std::int64_t m, n, k;               // of the matrices
  std::int64_t rows, columns, depth;  // of tiles
  Element factor = Element::f32, sum = Element::f32;
  bool left_is_transposed = false, right_is_transposed = false;
  const char* masks = "both";  // "both", or the factor that is loaded without a mask along its depth: "left", "right"
  const char* factors = "";    // ops between the loads of %x and %y and their product
  bool is_one_behind = false;  // elements behind the masks are 1, not 0
  bool is_aliased = false;     // the result is written over the right factor
  std::int32_t shift = 0;      // added to both sides of the left factor's comparison of depth
  bool is_exact = true;        // with precision ieee
  bool is_contraction = true;  // the loop does nothing but multiply
  bool is_stored = false;      // the sums as they are, not twice the sums
  bool has_dead_tile = false;  // behind the last tile of rows, programs compute one without a live row
  bool is_ragged = false;      // the first program adds the products of one step, each program below another one those of one step more
  double scale = 1;            // of the elements of float factors
};

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [name, by] : names)
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += by.size()) text.replace(at, name.size(), by);
  return text;
}

/// Neighbouring programs compute tiles below each other.
std::string text_of(const Product& p) {
  const std::string at_left = p.left_is_transposed ? R"(
    %xd = mul %kr, %Mr : i32[1, $k]
    %x1 = broadcast %i : i32[$m, $k]
    %x2 = broadcast %xd : i32[$m, $k])"
                                                   : R"(
    %x1 = broadcast %iK : i32[$m, $k]
    %x2 = broadcast %kr : i32[$m, $k])";
  const std::string at_right = p.right_is_transposed ? R"(
    %yd = mul %j, %Kj : i32[1, $n]
    %y1 = broadcast %kc : i32[$k, $n]
    %y2 = broadcast %yd : i32[$k, $n])"
                                                     : R"(
    %yd = mul %kc, %Nk : i32[$k, 1]
    %y1 = broadcast %yd : i32[$k, $n]
    %y2 = broadcast %j : i32[$k, $n])";
  const std::string text = R"(
kernel @product(%a: ptr<const $F>$D, %b: ptr<const $F>$D, %c: ptr<$S>$D, %M: i32, %N: i32, %K: i32) {
  %pid = program_id {axis = 0} : i32
  %m = constant {value = $m} : i32
  %n = constant {value = $n} : i32
  %k = constant {value = $k} : i32
  %zero = constant {value = 0} : i32
  %one1 = constant {value = 1} : i32
  %more = constant {value = $V} : i32
  %r0 = add %M, %more : i32
  %r1 = sub %r0, %one1 : i32
  %tiles = div %r1, %m : i32
  %pm = rem %pid, %tiles : i32
  %pn = div %pid, %tiles : i32
  %m0 = mul %pm, %m : i32
  %n0 = mul %pn, %n : i32
  %ia = arange {lo = 0, hi = $m} : i32[$m]
  %ib = broadcast %m0 : i32[$m]
  %is = add %ia, %ib : i32[$m]
  %i = reshape %is : i32[$m, 1]
  %ja = arange {lo = 0, hi = $n} : i32[$n]
  %jb = broadcast %n0 : i32[$n]
  %js = add %ja, %jb : i32[$n]
  %j = reshape %js : i32[1, $n]
  %ka = arange {lo = 0, hi = $k} : i32[$k]
  %Mb = broadcast %M : i32[$m, 1]
  %Nb = broadcast %N : i32[1, $n]
  %im = lt %i, %Mb : i1[$m, 1]
  %jm = lt %j, %Nb : i1[1, $n]
  %Ki = broadcast %K : i32[$m, 1]
  %iK = mul %i, %Ki : i32[$m, 1]
  %Kj = broadcast %K : i32[1, $n]
  %Nk = broadcast %N : i32[$k, 1]
  %Mr = broadcast %M : i32[1, $k]
  %none = constant {value = 0} : $S[$m, $n]
  %steps = add %pm, %one1 : i32
  %least = mul %steps, %k : i32
  %ragged = minimum %least, %K : i32
  %sum = for %zero, $E, %k, %none : $S[$m, $n] (%at: i32, %s: $S[$m, $n]) {
    %atb = broadcast %at : i32[$k]
    %kk = add %atb, %ka : i32[$k]
    %kr = reshape %kk : i32[1, $k]
    %kc = reshape %kk : i32[$k, 1]
    %Kr = broadcast %K : i32[1, $k]
    %Kc = broadcast %K : i32[$k, 1]
    %shift = constant {value = $H} : i32[1, $k]
    %krs = add %kr, %shift : i32[1, $k]
    %Krs = add %Kr, %shift : i32[1, $k]
    %krm = lt $C, $B : i1[1, $k]
    %kcm = lt %kc, %Kc : i1[$k, 1])" +
                           at_left +
                           R"(
    %xo = add %x1, %x2 : i32[$m, $k]
    %xp0 = broadcast %a : ptr<const $F>[$m, $k]
    %xp = add_ptr %xp0, %xo : ptr<const $F>[$m, $k]
    %xm1 = broadcast %im : i1[$m, $k]
    %xm2 = broadcast %krm : i1[$m, $k]
    %xm3 = bit_and %xm1, %xm2 : i1[$m, $k]
    %xone = constant {value = 1} : $F[$m, $k]
    %x = load %xp, $X : $F[$m, $k])" +
                           at_right +
                           R"(
    %yo = add %y1, %y2 : i32[$k, $n]
    %yp0 = broadcast %b : ptr<const $F>[$k, $n]
    %yp = add_ptr %yp0, %yo : ptr<const $F>[$k, $n]
    %ym1 = broadcast %kcm : i1[$k, $n]
    %ym2 = broadcast %jm : i1[$k, $n]
    %ym3 = bit_and %ym1, %ym2 : i1[$k, $n]
    %three = constant {value = 3} : i32[$k, 1]
    %kno3 = ne %kc, %three : i1[$k, 1]
    %kno3m = bit_and %kno3, %kcm : i1[$k, 1]
    %yno3 = broadcast %kno3m : i1[$k, $n]
    %ym4 = bit_and %yno3, %ym2 : i1[$k, $n]
    %yone = constant {value = 1} : $F[$k, $n]
    %y = load %yp, $Y : $F[$k, $n]
    $O
    %d = dot $L, $R, %s$P : $S[$m, $n]
    $U
  }
  %Ni = broadcast %N : i32[$m, 1]
  %iN = mul %i, %Ni : i32[$m, 1]
  %c1 = broadcast %iN : i32[$m, $n]
  %c2 = broadcast %j : i32[$m, $n]
  %co = add %c1, %c2 : i32[$m, $n]
  %cp0 = broadcast %c : ptr<$S>[$m, $n]
  %cp = add_ptr %cp0, %co : ptr<$S>[$m, $n]
  %cm1 = broadcast %im : i1[$m, $n]
  %cm2 = broadcast %jm : i1[$m, $n]
  %cm = bit_and %cm1, %cm2 : i1[$m, $n]
  %twice = add %sum, %sum : $S[$m, $n]
  store %cp, $T, %cm
})";
  const std::string factors = p.factors, masks = p.masks;
  const bool has_left = factors.find("%xf =") != std::string::npos, has_right = factors.find("%yf =") != std::string::npos;
  const std::string left_mask = masks == "left" ? "%xm1" : "%xm3", right_mask = masks == "right"  ? "%ym2"
                                                                                : masks == "hole" ? "%ym4"
                                                                                                  : "%ym3";
  return replaced(text, {{"$O", factors},
                         {"$L", has_left ? "%xf" : "%x"},
                         {"$R", has_right ? "%yf" : "%y"},
                         {"$X", left_mask + (p.is_one_behind ? ", %xone" : "")},
                         {"$Y", right_mask + (p.is_one_behind ? ", %yone" : "")},
                         {"$P", p.is_exact ? " {precision = ieee}" : ""},
                         {"$U", p.is_contraction ? "yield %d" : "%e = abs %d : $S[$m, $n]\n    yield %e"},
                         {"$T", p.is_stored ? "%sum" : "%twice"},
                         {"$C", p.shift != 0 ? "%krs" : "%kr"},
                         {"$B", p.shift != 0 ? "%Krs" : "%Kr"},
                         {"$H", std::to_string(p.shift)},
                         {"$E", p.is_ragged ? "%ragged" : "%K"},
                         {"$D", p.is_aliased ? "" : " {disjoint}"},
                         {"$V", std::to_string(p.has_dead_tile ? 2 * p.rows : p.rows)},
                         {"$F", std::string(ir::text(p.factor))},
                         {"$S", std::string(ir::text(p.sum))},
                         {"$m", std::to_string(p.rows)},
                         {"$n", std::to_string(p.columns)},
                         {"$k", std::to_string(p.depth)}});
}

/// Small numbers, and few that are special: -0, NaN, infinities, and numbers whose products vanish or overflow.
fuzz::Argument buffer(Element e, std::int64_t elements, std::uint64_t seed, double scale = 1) {
  constexpr double kSpecial[] = {-0.0, NAN, HUGE_VAL, -HUGE_VAL, 1e30, -1e30, 1e-30, -1e-30};
  fuzz::Random random(seed);
  fuzz::Argument out;
  out.is_buffer = true;
  out.element = e;
  out.bytes.resize(static_cast<std::size_t>(elements * bytes(e)));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t word = !is_float(e)       ? element_bits(e, random.between(-128, 127))
                               : random.chance(1) ? element_bits(e, random.pick(kSpecial))
                                                  : element_bits(e, scale * (random.between(-1000, 1000) + 0.25) / 64.0);
    std::memcpy(&out.bytes[static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes(e))], &word, static_cast<std::size_t>(bytes(e)));
  }
  return out;
}

/// Compares with the interpreter on all hosts, or on this machine with all of its instructions.
void check_program(const Product& p, bool on_all) {
  fuzz::Program program;
  program.function = parse(text_of(p), "product.tile").functions.at(0);
  verify_or_throw(program.function);
  const auto up = [](std::int64_t x, std::int64_t by) { return (x + by - 1) / by * by; };
  const std::int64_t rows_of_result = p.is_aliased ? p.m * bytes(p.sum) / bytes(p.factor) : 0;  // in the right factor
  // Loads without a mask along the depth read behind the matrix.
  program.arguments.push_back(buffer(p.factor, p.m * p.k + up(p.k, p.depth) + 1, 1, p.scale));
  program.arguments.push_back(buffer(p.factor, std::max(up(p.k, p.depth), rows_of_result) * p.n + 1, 2, p.scale));
  program.arguments.push_back(buffer(p.sum, p.m * p.n + 1, 3));
  if (p.is_aliased) {
    program.arguments[2].bytes.clear();
    program.arguments[2].alias = 1;
  }
  for (std::int64_t extent : {p.m, p.n, p.k}) {
    program.arguments.push_back({});
    program.arguments.back().word = static_cast<std::uint64_t>(extent);
  }
  const std::int64_t tiles_of_rows = up(p.m, p.rows) / p.rows + (p.has_dead_tile ? 1 : 0);
  program.grid[0] = static_cast<std::int32_t>(tiles_of_rows * (up(p.n, p.columns) / p.columns));
  for (const std::string& name : machines()) {
    if (!name.starts_with("cpu") || (!on_all && name != "cpu")) continue;
    fuzz::Machine machine(name, 4);
    fuzz::RewritingExecutor reference = machine.reference();
    const auto difference = fuzz::compare(program, reference, *machine.executor);
    INFO(name, ": ", difference.value_or(""), "\n", fuzz::text(program));
    CHECK_FALSE(difference.has_value());
  }
}

/// Compares twice the sums, and the sums as they are, which a contraction may store itself.
void check(Product p, bool on_all = true) {
  for (const bool is_stored : {false, true}) {
    p.is_stored = is_stored;
    check_program(p, on_all);
  }
}

}  // namespace

TEST_CASE("contraction: extents that tiles divide, or not, and of 0 and 1 products") {
  for (const std::int64_t k : {0, 1, 15, 16, 33, 100})
    for (const std::int64_t m : {1, 9, 40}) check({m, 70, k, 16, 32, 16});
  check({37, 130, 77, 32, 64, 32});
  check({20, 140, 1100, 16, 128, 256});  // more than one block, which are kept
  check({20, 260, 2100, 16, 256, 256});  // more blocks than are kept
  check({5, 40, 50, 4, 16, 8});
  check({3, 9, 7, 1, 8, 4});
}

TEST_CASE("contraction: rows that register tiles do not divide") {
  for (const std::int64_t m : {1, 5, 6, 7, 11, 12, 13, 15, 16}) check({m, 40, 40, 16, 32, 16});
  for (const std::int64_t m : {54, 59, 60, 61, 63, 64}) check({m, 100, 40, 64, 64, 16});
  check({61, 100, 40, 64, 64, 16, Element::f64, Element::f64});
}

TEST_CASE("contraction: few rows, of which the right factor is read in memory") {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 16}) check({m, 300, 70, 16, 256, 32});
  for (const std::int64_t rows : {1, 2, 4, 8}) check({rows, 300, 140, rows, 256, 32});
  check({5, 700, 300, 64, 512, 16});
  // Register tiles of one row, and of four, where a tile of more rows has no more live ones; a mask cuts the last iteration.
  for (const std::int64_t m : {1, 3, 4, 33}) check({m, 140, 333, 32, 64, 32});
  check({3, 140, 333, 32, 64, 32, Element::f64, Element::f64});
}

TEST_CASE("contraction: programs without a live row read nothing before their factors") {
  for (const char* factors : {"", "%xf = abs %x : $F[$m, $k]"})
    for (const std::int64_t m : {0, 3}) {
      Product p{m, 64, 8192, 8, 128, 4096};  // long rows, which reach far before the scratch memory
      p.factors = factors;
      p.has_dead_tile = true;
      check(p);
    }
}

TEST_CASE("contraction: few rows, and rows of the right factor that are long enough to be streamed") {
  for (const std::int64_t m : {1, 3, 8})
    for (const std::int64_t n : {1024, 1100})
      for (const std::int64_t depth : {4, 32}) check({.m = m, .n = n, .k = 70, .rows = m == 3 ? 4 : m, .columns = 1024, .depth = depth});
}

TEST_CASE("contraction: few rows beside other ops, of which the right factor is read in memory") {
  for (const std::int64_t rows : {1, 2, 4, 8})
    for (const std::int64_t n : {64, 70})
      for (const char* masks : {"both", "left", "right", "hole"}) {
        Product p{2 * rows - 1, n, 70, rows, 64, 32, Element::f32, Element::f32, false, false, masks};
        p.is_contraction = false;
        check(p);
      }
  for (const auto& [factor, sum] : {std::pair{Element::f64, Element::f64}, std::pair{Element::i8, Element::i32}}) {
    Product p{7, 70, 70, 4, 64, 32, factor, sum};
    p.is_contraction = false;
    check(p);
  }
  Product written{8, 70, 70, 4, 64, 32};  // over the right factor, which the next program reads
  written.is_contraction = false, written.is_aliased = true;
  check(written);
}

TEST_CASE("contraction: programs of few rows that share a right factor, which the second one copies") {
  for (const std::int64_t rows : {1, 8, 32}) check({5 * rows - 1, 300, 200, rows, 256, 32});
  check({100, 70, 600, 128, 64, 64});  // many rows copy it at once
}

TEST_CASE("contraction: the first rows of a program copy the right factor, which they read in memory, for the other rows") {
  for (const std::int64_t m : {31, 33, 64, 100})
    for (const std::int64_t k : {0, 1, 33, 300}) check({m, 140, k, 32, 64, 32});
  // Register tiles read all live columns in memory, but not those of the tile that a mask hides.
  for (const std::int64_t m : {3, 33, 70}) check({m, 64, 300, 32, 128, 32});
  check({70, 64, 333, 32, 256, 64});
  check({7, 32, 70, 32, 256, 64});
  // Columns that a mask cuts are copied before; there are more blocks than are kept; programs side by side share no factor.
  check({70, 128, 100, 64, 128, 32});
  check({70, 260, 2100, 64, 256, 256});
  for (const std::int64_t n : {64, 256, 300}) check({64, n, 600, 64, 64, 64});
  check({50, 150, 600, 64, 64, 128});
  check({70, 150, 100, 64, 64, 32, Element::f64, Element::f64});
  for (const char* masks : {"left", "right", "hole"}) check({70, 128, 77, 64, 64, 32, Element::f32, Element::f32, false, false, masks});
  check({70, 128, 77, 64, 64, 32, Element::f32, Element::f32, false, false, "both", "", true});
  check({70, 128, 77, 64, 64, 32, Element::f32, Element::f32, true});
  Product aliased{128, 128, 64, 32, 64, 16};
  aliased.is_aliased = true;
  check(aliased);
}

// More bytes than the caches that four threads are given on processors with a second level of 2 MB.
TEST_CASE("contraction: sums of a launch that exceeds the caches go to memory past them, also at the edges") {
  Product p{3001, 3008, 3, 64, 64, 4};
  p.is_stored = true;
  check_program(p, false);
}

TEST_CASE("contraction: types of factors") {
  check({20, 70, 50, 16, 64, 16, Element::f64, Element::f64});
  for (const Element e : {Element::f16, Element::bf16}) check({20, 70, 50, 16, 64, 16, e, Element::f32});
  check({20, 70, 50, 16, 64, 16, Element::i8, Element::i32});
}

// Where the processor has an instruction for it, four at a time.
TEST_CASE("contraction: products of bytes") {
  const auto bytes = [](Product p) {
    p.factor = Element::i8, p.sum = Element::i32;
    check(p);
  };
  for (const std::int64_t k : {0, 1, 3, 16, 33, 130})
    for (const std::int64_t m : {1, 9, 40}) bytes({m, 140, k, 16, 128, 16});
  for (const std::int64_t depth : {1, 2, 8, 32, 128}) bytes({21, 70, 150, 16, 64, depth});
  for (const std::int64_t rows : {1, 2, 4, 8}) bytes({7, 300, 143, rows, 256, 32});
  for (const std::int64_t columns : {1, 8, 16}) bytes({20, 9, 50, 16, columns, 32});
  bytes({20, 260, 2101, 16, 256, 256});  // more blocks than are kept
  bytes({100, 70, 603, 32, 64, 64});     // neighbouring programs share panels
  for (const bool left : {false, true})
    for (const bool right : {false, true}) bytes({37, 70, 50, 16, 64, 32, {}, {}, left, right});
  for (const char* masks : {"left", "right"}) bytes({37, 70, 50, 16, 64, 32, {}, {}, false, false, masks});
  bytes({37, 70, 50, 16, 64, 32, {}, {}, false, false, "both", "", true});
  for (const char* factors : {"%xf = add %x, %x : i8[$m, $k]", "%yf = add %y, %y : i8[$k, $n]"})
    bytes({70, 70, 50, 64, 64, 64, {}, {}, false, false, "both", factors});
  Product wraps{20, 70, 50, 16, 64, 32, {}, {}, false, false, "right"};
  wraps.shift = std::numeric_limits<std::int32_t>::max() - 3 - 50;
  bytes(wraps);
}

// The interpreter knows the order in which AMX adds products of bf16, so the bits are those of every processor.
TEST_CASE("contraction: products in tile registers, where the processor has them") {
  for (const auto& [factor, sum] : {std::pair{Element::i8, Element::i32}, std::pair{Element::bf16, Element::f32}}) {
    const auto in_tiles = [&, factor = factor, sum = sum](Product p) {
      p.factor = factor, p.sum = sum, p.is_exact = false;
      for (const bool is_contraction : {true, false}) {
        p.is_contraction = is_contraction;
        check(p, false);
      }
    };
    for (const std::int64_t k : {0, 1, 31, 64, 130})
      for (const std::int64_t m : {1, 17, 40}) in_tiles({m, 140, k, 32, 128, 64});
    for (const std::int64_t depth : {32, 128}) in_tiles({21, 70, 150, 16, 64, depth});
    for (const std::int64_t rows : {16, 64, 128}) in_tiles({rows + 5, 70, 143, rows, 64, 64});
    in_tiles({20, 9, 150, 16, 16, 64});
    in_tiles({20, 260, 2101, 16, 256, 256});  // blocks that are kept
    in_tiles({40, 140, 4700, 32, 128, 256});  // more blocks than are kept
    in_tiles({100, 70, 603, 32, 64, 64});     // neighbouring programs share panels
    for (const bool left : {false, true})
      for (const bool right : {false, true}) in_tiles({37, 70, 100, 32, 64, 64, {}, {}, left, right});
    for (const char* masks : {"left", "right"}) in_tiles({37, 70, 100, 32, 64, 64, {}, {}, false, false, masks});
    in_tiles({37, 70, 100, 32, 64, 64, {}, {}, false, false, "both", "", true});
    const std::string type(text(factor)), left = "%xf = sub %xone, %x : " + type + "[$m, $k]",
                                          right = "%yf = sub %yone, %y : " + type + "[$k, $n]";
    for (const std::string& factors : {left, right, left + "\n    " + right})
      in_tiles({70, 70, 100, 64, 64, 64, {}, {}, false, false, "both", factors.c_str()});
    Product wraps{20, 70, 100, 16, 64, 64, {}, {}, false, false, "right"};
    wraps.shift = std::numeric_limits<std::int32_t>::max() - 3 - 100;
    in_tiles(wraps);
  }
  for (const double scale : {1e-20, 1e-21, 1e-38}) {  // subnormal products, and factors
    Product tiny{37, 70, 100, 32, 64, 64, Element::bf16, Element::f32};
    tiny.is_exact = false, tiny.scale = scale;
    check(tiny, false);
  }
}

TEST_CASE("contraction: transposed factors") {
  for (const bool left : {false, true})
    for (const bool right : {false, true}) check({37, 70, 50, 16, 64, 32, Element::f32, Element::f32, left, right});
}

TEST_CASE("contraction: one row, whose right factor lies along k, is a sum") {
  for (const Element e : {Element::f32, Element::f64, Element::f16, Element::bf16})
    for (const std::int64_t k : {1, 31, 64, 150}) check({3, 70, k, 1, 32, 64, e, e == Element::f64 ? e : Element::f32, false, true});
  check({3, 70, 50, 1, 32, 64, Element::f32, Element::f32, false, true, "both", "", true});
  check({2, 70, 50, 1, 32, 32, Element::f32, Element::f32, true, true, "left"});
}

TEST_CASE("contraction: masks and elements behind them") {
  for (const char* masks : {"left", "right"}) check({37, 70, 50, 16, 64, 32, Element::f32, Element::f32, false, false, masks});
  check({37, 70, 50, 16, 64, 32, Element::f32, Element::f32, false, false, "both", "", true});
}

TEST_CASE("contraction: an index that wraps is less than the bound again") {
  Product p{20, 70, 50, 16, 64, 32, Element::f32, Element::f32, false, false, "right"};
  p.shift = std::numeric_limits<std::int32_t>::max() - 3 - 50;  // elements 54 and on are behind the greatest index
  check(p);
}

TEST_CASE("contraction: factors that are computed") {
  const char* const kLeft = "%xf = mul %x, %x : f32[$m, $k]";
  const char* const kRight = "%yf = exp %y : f32[$k, $n]";
  const char* const kBoth = "%xf = mul %x, %x : f32[$m, $k]\n    %yf = abs %y : f32[$k, $n]";
  for (const char* factors : {kLeft, kRight, kBoth}) {
    check({37, 70, 50, 16, 64, 32, Element::f32, Element::f32, false, false, "both", factors});
    check({70, 70, 50, 64, 64, 64, Element::f32, Element::f32, false, false, "both", factors});  // tiles of one shape
  }
}

TEST_CASE("contraction: factors of a block share no memory with what its iterations compute before them") {
  for (const Element e : {Element::f32, Element::f64}) {
    const std::string type(text(e));
    // The square is transposed in a buffer of its own, and so free when the right factor is filled.
    const std::string factors = "%xs = mul %x, %x : " + type + "[$m, $k]\n    %xf = permute %xs {axes = [1, 0]} : " + type +
                                "[$k, $m]\n    %yf = constant {value = 2.0} : " + type + "[$k, $n]";
    for (const std::int64_t columns : {1, 32}) check({64, columns, 200, 32, columns, 32, e, e, false, false, "both", factors.c_str()});
  }
}

TEST_CASE("contraction: a right factor with a hole between its first and its last row") {
  for (const std::int64_t m : {1, 16, 70}) check({m, 300, 70, 16, 256, 32, Element::f32, Element::f32, false, false, "hole"});
}

TEST_CASE("contraction: a program multiplies more of a right factor than the program before, which left it") {
  for (const std::int64_t rows : {1, 8, 32}) {
    Product p{5 * rows - 1, 140, 150, rows, 64, 32};
    p.is_ragged = true;
    check(p);
  }
  Product bytes{100, 140, 150, 32, 64, 32, Element::i8, Element::i32};
  bytes.is_ragged = true;
  check(bytes);
}

TEST_CASE("contraction: a program's right factor is what the program before wrote") {
  Product p{64, 70, 50, 16, 64, 16};
  p.is_aliased = true;
  check(p);
  Product in_tiles{64, 140, 70, 32, 128, 64, Element::i8, Element::i32};
  in_tiles.is_aliased = in_tiles.is_stored = true;
  check(in_tiles, false);
}

}  // namespace tilewright::test
