// Products whose factors come by bulk copies (passes/use_tma.cpp), on the emulated Hopper, and on one where there is one: matrices of any
// extents, factors in either order in memory, batches, and loops of which a part is copied by threads. Values are those of the kernel as it was
// traced; the factors are small whole numbers, whose products and sums are exact.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

constexpr const char* kHopper = "sm_90a";

struct Kernel {
  int rows = 64, columns = 64, depth = 32;  // of a tile
  int warps = 4, stages = 3;
  bool left_is_turned = false, right_is_turned = false;  // neighbours are along the rows of a, along the columns of b are none
  bool has_batches = false;                              // program id 2 counts matrices; their number of rows is that of a
  bool has_heads = false;                                // or heads of batches, at distances that are parameters
  bool is_view = false;  // rows of a begin some elements behind its address, and some rows before position 0
  std::string of_pitch = "{divisible_by = 8, positive}";
};

std::string replaced(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [from, to] : words)
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

/// x[row * pitch + column], with a mask for both.
constexpr const char* kLoad = R"(
    %NAME_r = broadcast %ROW : i32[SHAPE]
    %NAME_c = broadcast %COLUMN : i32[SHAPE]
    %NAME_p = broadcast %NAME_pitch : i32[SHAPE]
    %NAME_o = mul %FAR, %NAME_p : i32[SHAPE]
    %NAME_oo = add %NAME_o, %NEAR : i32[SHAPE]
    %NAME_b = broadcast %NAME_base : ptr<const f16>[SHAPE]
    %NAME_ptr = add_ptr %NAME_b, %NAME_oo : ptr<const f16>[SHAPE]
    %NAME_rm = broadcast %ROW_most : i32[SHAPE]
    %NAME_cm = broadcast %COLUMN_most : i32[SHAPE]
    %NAME_z = broadcast %zero : i32[SHAPE]
    %NAME_lr = lt %NAME_r, %NAME_rm : i1[SHAPE]
    %NAME_lc = lt %NAME_c, %NAME_cm : i1[SHAPE]
    %NAME_gr = ge %NAME_r, %NAME_z : i1[SHAPE]
    %NAME_gc = ge %NAME_c, %NAME_z : i1[SHAPE]
    %NAME_mr = bit_and %NAME_lr, %NAME_gr : i1[SHAPE]
    %NAME_mc = bit_and %NAME_lc, %NAME_gc : i1[SHAPE]
    %NAME_m = bit_and %NAME_mr, %NAME_mc : i1[SHAPE]
    %NAME_x = load %NAME_ptr, %NAME_m : f16[SHAPE])";

std::string load(const std::string& name, const std::string& row, const std::string& column, bool is_turned, int rows, int columns) {
  return replaced(kLoad, {{"FAR", name + (is_turned ? "_c" : "_r")},
                          {"NEAR", name + (is_turned ? "_r" : "_c")},
                          {"NAME", name},
                          {"ROW", row},
                          {"COLUMN", column},
                          {"SHAPE", fmt::format("{}, {}", rows, columns)}});
}

/// c = a b, of m x k and k x n elements.
std::string text_of(const Kernel& k) {
  const std::string text = R"(
kernel @product(%a: ptr<const f16> {divisible_by = 16, disjoint}, %b: ptr<const f16> {divisible_by = 16, disjoint}, %c: ptr<f32> {disjoint},
                %m: i32 {positive}, %n: i32, %k: i32, %a_pitch: i32 PITCH, %b_pitch: i32 PITCH,
                %heads: i32 {positive}, %batch_step: i64 PITCH, %head_step: i64 PITCH, %begin: i64 {divisible_by = 8}, %above: i32) {
  %zero = constant {value = 0} : i32
  %step = constant {value = DEPTH} : i32
  %p0 = program_id {axis = 0} : i32
  %p1 = program_id {axis = 1} : i32
  %p2 = program_id {axis = 2} : i32
  %height = constant {value = ROWS} : i32
  %width = constant {value = COLUMNS} : i32
  %i0 = mul %p0, %height : i32
  %j0 = mul %p1, %width : i32
  %ib = broadcast %i0 : i32[ROWS]
  %jb = broadcast %j0 : i32[COLUMNS]
  %ir = arange {lo = 0, hi = ROWS} : i32[ROWS]
  %jr = arange {lo = 0, hi = COLUMNS} : i32[COLUMNS]
  %kr = arange {lo = 0, hi = DEPTH} : i32[DEPTH]
  %is = add %ib, %ir : i32[ROWS]
  %js = add %jb, %jr : i32[COLUMNS]
  %up = broadcast %above : i32[ROWS]
  %above_is = sub %is, %up : i32[ROWS]
  %i = reshape %is : i32[ROWS, 1]
  %ia = reshape LINES : i32[ROWS, 1]
  %j = reshape %js : i32[1, COLUMNS]
  %i_most = add %m, %zero : i32
  %ia_most = add %m, %zero : i32
  %j_most = add %n, %zero : i32
  %ka_most = add %k, %zero : i32
  %kb_most = add %k, %zero : i32
  %matrix = mul %p2, %m : i32
  %skipped = mul %matrix, %a_pitch : i32
  %batch = div %p2, %heads : i32
  %head = rem %p2, %heads : i32
  %wide_batch = cast %batch : i64
  %wide_head = cast %head : i64
  %to_batch = mul %wide_batch, %batch_step : i64
  %to_head = mul %wide_head, %head_step : i64
  %both_steps = add %to_batch, %to_head : i64
  %a_matrix = add_ptr %a, SKIPPED : ptr<const f16>
  %a_base = add_ptr %a_matrix, BEGIN : ptr<const f16>
  %b_base = add_ptr %b, %zero : ptr<const f16>
  %none = constant {value = 0.0} : f32[ROWS, COLUMNS]
  %sums = for %zero, %k, %step, %none {num_stages = STAGES} : f32[ROWS, COLUMNS] (%at: i32, %acc: f32[ROWS, COLUMNS]) {
    %atb = broadcast %at : i32[DEPTH]
    %ks = add %atb, %kr : i32[DEPTH]
    %ka = reshape %ks : i32[1, DEPTH]
    %kb = reshape %ks : i32[DEPTH, 1])" +
                           load("a", "ia", "ka", k.left_is_turned, k.rows, k.depth) +
                           load("b", "kb", "j", k.right_is_turned, k.depth, k.columns) + R"(
    %d = dot %a_x, %b_x, %acc : f32[ROWS, COLUMNS]
    yield %d
  }
  %ri = broadcast %i : i32[ROWS, COLUMNS]
  %rj = broadcast %j : i32[ROWS, COLUMNS]
  %first = mul %matrix, %n : i32
  %cf = add_ptr %c, %first : ptr<f32>
  %nb = broadcast %n : i32[ROWS, COLUMNS]
  %mb = broadcast %m : i32[ROWS, COLUMNS]
  %ro = mul %ri, %nb : i32[ROWS, COLUMNS]
  %o = add %ro, %rj : i32[ROWS, COLUMNS]
  %cb = broadcast %cf : ptr<f32>[ROWS, COLUMNS]
  %cp = add_ptr %cb, %o : ptr<f32>[ROWS, COLUMNS]
  %mi = lt %ri, %mb : i1[ROWS, COLUMNS]
  %mj = lt %rj, %nb : i1[ROWS, COLUMNS]
  %both = bit_and %mi, %mj : i1[ROWS, COLUMNS]
  store %cp, %sums, %both
})";
  return replaced(text, {{"PITCH", k.of_pitch},
                         {"SKIPPED", k.has_heads     ? "%both_steps"
                                     : k.has_batches ? "%skipped"
                                                     : "%zero"},
                         {"BEGIN", k.is_view ? "%begin" : "%zero"},
                         {"LINES", k.is_view ? "%above_is" : "%is"},
                         {"ROWS", std::to_string(k.rows)},
                         {"COLUMNS", std::to_string(k.columns)},
                         {"DEPTH", std::to_string(k.depth)},
                         {"STAGES", std::to_string(k.stages)}});
}

fuzz::Argument buffer(Element e, int elements) {
  fuzz::Argument a;
  a.is_buffer = true;
  a.element = e;
  a.bytes.resize(static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes(e)));
  return a;
}

/// 0, 1, 2, -1, 3, -2 and 0.5.
fuzz::Argument small_halves(int elements) {
  constexpr std::uint16_t kSmall[] = {0, 0x3c00, 0x4000, 0xbc00, 0x4200, 0xc000, 0x3800};
  fuzz::Argument a = buffer(Element::f16, elements);
  for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i)
    std::memcpy(&a.bytes[2 * i], &kSmall[(i * 5 + i / 13) % std::size(kSmall)], 2);
  return a;
}

struct Shape {
  int m, n, k;
};

fuzz::Program program(const Kernel& kernel, const Shape& s) {
  const auto pitch = [](int extent) { return (extent + 7) / 8 * 8 + 8; };
  const int a_pitch = pitch(kernel.left_is_turned ? s.m : s.k), b_pitch = pitch(kernel.right_is_turned ? s.k : s.n);
  const int heads = 3, batches = kernel.has_heads ? 2 * heads : kernel.has_batches ? 3 : 1;
  const int of_a = (kernel.left_is_turned ? s.k : s.m) * a_pitch, begin = kernel.is_view ? 8 : 0;
  fuzz::Program p;
  p.function = parse(text_of(kernel), "product.tile").functions.at(0);
  p.grid = {(s.m + kernel.rows - 1) / kernel.rows, (s.n + kernel.columns - 1) / kernel.columns, batches};
  p.arguments = {small_halves(batches * (of_a + 16) + begin),
                 small_halves((kernel.right_is_turned ? s.n : s.k) * b_pitch),
                 buffer(Element::f32, batches * s.m * s.n),
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {}};
  std::size_t next = 3;
  // Heads come before batches in memory, or behind them.
  const int near = of_a + 16, far = near * (kernel.left_is_turned ? 2 : heads);
  const int batch_step = kernel.left_is_turned ? near : far, head_step = kernel.left_is_turned ? far : near;
  for (const int word : {s.m, s.n, s.k, a_pitch, b_pitch, heads, batch_step, head_step, begin, 5})
    p.arguments[next++].word = static_cast<std::uint64_t>(word);
  return p;
}

/// Runs the product, and compares it with the traced kernel; returns its PTX.
std::string check(const Kernel& kernel, const Shape& s) {
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  const fuzz::Program p = program(kernel, s);
  fuzz::InterpreterExecutor reference;
  fuzz::EmulatorExecutor emulator(kHopper, kernel.warps);
  const auto difference = fuzz::compare(p, reference, emulator);
  CHECK_MESSAGE(!difference.has_value(), difference.value_or(""));
  return check_on_emulator(p, kernel.warps, kHopper).ptx;
}

int bulk_copies(const std::string& ptx) { return count(ptx, "cp.async.bulk.tensor."); }
int thread_copies(const std::string& ptx) { return count(ptx, "cp.async.c"); }

constexpr Shape kShapes[] = {{64, 64, 64}, {70, 72, 40}, {1, 1, 1}, {130, 200, 104}, {63, 129, 33}, {64, 64, 320}};

Function passed(const fuzz::Program& p, int warps) {
  const TargetDesc target = backend::describe_target(kHopper);
  Function f = p.function;
  passes::run_passes(f, passes::pipeline(target), {target, true, false, warps});
  return f;
}

}  // namespace

TEST_CASE("tensor boxes: products of matrices of any extents") {
  for (const Shape& s : kShapes) {
    const std::string ptx = check({}, s);
    CHECK(bulk_copies(ptx) > 0);
    CHECK(thread_copies(ptx) == 0);
  }
}

TEST_CASE("tensor boxes: any number of stages, and larger tiles") {
  for (const int stages : {2, 4, 6}) CHECK(bulk_copies(check({.stages = stages}, {100, 90, 200})) > 0);
  // Two slabs for each tile of b, and of a.
  CHECK(bulk_copies(check({.rows = 128, .columns = 128, .depth = 64, .warps = 8}, {200, 200, 190})) > 0);
  CHECK(bulk_copies(check({.rows = 64, .columns = 64, .depth = 128}, {100, 100, 300})) > 0);
}

TEST_CASE("tensor boxes: factors in either order in memory") {
  for (const bool left : {false, true})
    for (const bool right : {false, true})
      for (const Shape& s : {Shape{70, 72, 40}, Shape{130, 200, 104}}) {
        const std::string ptx = check({.left_is_turned = left, .right_is_turned = right}, s);
        CHECK(bulk_copies(ptx) > 0);
        CHECK(thread_copies(ptx) == 0);
      }
}

TEST_CASE("tensor boxes: batches are a further axis") {
  const std::string ptx = check({.has_batches = true}, {70, 72, 40});
  CHECK(count(ptx, "cp.async.bulk.tensor.3d") > 0);
  CHECK(count(ptx, "cp.async.bulk.tensor.2d") > 0);
}

TEST_CASE("tensor boxes: batches and heads at distances that are parameters are two further axes") {
  for (const bool left : {false, true})
    for (const bool is_view : {false, true})
      for (const Shape& s : {Shape{64, 64, 64}, Shape{70, 72, 40}, Shape{63, 129, 33}}) {
        const std::string ptx = check({.left_is_turned = left, .has_heads = true, .is_view = is_view}, s);
        CHECK(count(ptx, "cp.async.bulk.tensor.4d") > 0);
        CHECK(count(ptx, "cp.async.bulk.tensor.2d") > 0);
        CHECK(thread_copies(ptx) == 0);
      }
}

TEST_CASE("tensor boxes: views that begin behind an address, and positions above the first row") {
  for (const bool left : {false, true})
    for (const Shape& s : kShapes) {
      const std::string ptx = check({.left_is_turned = left, .is_view = true}, s);
      CHECK(bulk_copies(ptx) > 0);
      CHECK(thread_copies(ptx) == 0);
    }
}

TEST_CASE("tensor boxes: rows that the host cannot describe are copied by threads") {
  for (const char* attributes : {"{divisible_by = 8}", "{positive}", "{divisible_by = 4, positive}"}) {
    const std::string ptx = check({.of_pitch = attributes}, {70, 72, 40});
    CHECK(bulk_copies(ptx) == 0);
  }
}

TEST_CASE("tensor boxes: the interpreter says of each op that the order of the loop rests on that it is needed") {
  const fuzz::Program p = program({}, {64, 64, 208});
  const Function f = passed(p, 4);
  int mutants = 0;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    const bool is_inside = f.op(id).parent != f.body();
    std::vector<std::function<void(Function&)>> changes;
    if (k == OpKind::mbarrier_wait_ || k == OpKind::mbarrier_expect_ || (k == OpKind::barrier_ && is_inside))
      changes.push_back([id](Function& m) { m.erase(id); });
    if (k == OpKind::mma_wait_) {
      changes.push_back([id](Function& m) { m.set_attr(id, {AttrName::pending, m.attr(id, AttrName::pending) + 1, {}, {}}); });
      changes.push_back([id](Function& m) {
        const std::vector<ValueId> results = m.op(id).results;
        for (std::size_t i = 0; i < results.size(); ++i) m.replace_uses(results[i], m.operand(id, static_cast<int>(i)));
        m.erase(id);
      });
    }
    if (k == OpKind::mbarrier_expect_)
      for (const int more : {-16, 16})
        changes.push_back([id, more](Function& m) { m.set_attr(id, {AttrName::bytes, m.attr(id, AttrName::bytes) + more, {}, {}}); });
    for (const auto& change : changes) {
      ++mutants;
      CAPTURE(text(k));
      fuzz::InterpreterExecutor reference;
      fuzz::RewritingExecutor mutant("mutant", [&](Function& m) {
        m = f;
        change(m);
      });
      const auto difference = fuzz::compare(p, reference, mutant);
      REQUIRE(difference.has_value());
      CHECK_MESSAGE(difference->find("error: ") != std::string::npos, *difference);
    }
  });
  CHECK(mutants >= 14);
}

}  // namespace tilewright::test
