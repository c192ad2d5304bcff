// Bulk copies on the emulated Hopper, and on one where there is one: boxes of tensors of any extents, slots that are used again, slabs, further
// axes, and maps that the host computes. The emulator finds races and missing fences; the interpreter gives the values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/execution/tile_texts.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

constexpr const char* kHopper = "sm_90a";
constexpr int kWarps = 4;

using Tile = BufferedTile;

/// The lines of layout #0, of the tile, layout #1, of its numbers in a row, and layout #2, of a canonical buffer.
std::string layouts(const Tile& t) {
  return layout_over_threads(0, {t.rows, t.columns}) + layout_over_threads(1, {t.elements()}) + layout_of_buffer(2, t);
}

/// Starts the copy of tile NUMBER, if the condition holds, to its slot.
constexpr const char* kStart = R"(
    %w_SUFFIX = rem %NUMBER, %slots : i32
    %s_SUFFIX = buffer_slot %b, %w_SUFFIX : buffer<1, SHAPE #2
    %f_SUFFIX = mbarrier_slot %full, %w_SUFFIX : mbarrier<1>
    %c_SUFFIX = mul %NUMBER, %width : i32
    mbarrier_expect %f_SUFFIX, %CONDITION {bytes = BYTES}
    bulk_copy %map, %s_SUFFIX, %f_SUFFIX, %CONDITION, PLANE%row, %c_SUFFIX)";

/// Program p copies the tiles of row p from x, a tensor of `rows` by `columns` elements, to y, through `slots` slots of a buffer. With several
/// slots the next copy is under way while a tile is read. is_plane: x is the second plane of a tensor of three axes. is_ordered: a barrier of the kernel's own
/// orders the reuse of slots, of which there are several then.
std::string copies(const Tile& t, int slots, bool is_plane = false, bool is_ordered = false) {
  const auto start = [](const char* suffix, const char* number, const char* condition) {
    return replaced(kStart, {{"SUFFIX", suffix}, {"NUMBER", number}, {"CONDITION", condition}});
  };
  const std::string text = R"(
kernel @k(%x: ptr<const ELEMENT> {divisible_by = 16, disjoint}, %y: ptr<ELEMENT> {disjoint}, %rows: i32, %columns: i32,
          %pitch: i32 {divisible_by = 16}, %tiles: i32) {
)" + layouts(t) + R"(
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %slots = constant {value = SLOTS} : i32
  %height = constant {value = ROWS} : i32
  %width = constant {value = COLUMNS} : i32
  %size = constant {value = COUNT} : i32
  %planes = constant {value = 2} : i32
  %plane = mul %rows, %pitch : i32
  %map = make_tensor_map %x, MAP {swizzle = SLAB} : tensor_map<ELEMENT>[BOX]
  %p = program_id {axis = 0} : i32
  %row = mul %p, %height : i32
  %full = alloc_mbarriers {arrivals = 1} : mbarrier<SLOTS>
  %b = alloc_buffer {ORDEREDalignment = 1024} : buffer<SLOTS, SHAPE #2
  %flat = arange {lo = 0, hi = COUNT} : i32[COUNT] #1
  %offsets = reshape %flat : i32[ROWS, COLUMNS] #0
  %any = lt %zero, %tiles : i1)" +
                           start("first", "zero", "any") + R"(
  for %zero, %tiles, %one (%k: i32) {
    %next = add %k, %one : i32
    %more = lt %next, %tiles : i1
    BARRIER)" + (slots > 1 ? start("next", "next", "more") : "") +
                           R"(
    %w = rem %k, %slots : i32
    %q = div %k, %slots : i32
    %slot = buffer_slot %b, %w : buffer<1, SHAPE #2
    %f = mbarrier_slot %full, %w : mbarrier<1>
    mbarrier_wait %f, %q
    %v = buffer_load %slot : ELEMENT[ROWS, COLUMNS] #0
    %pt = mul %p, %tiles : i32
    %t = add %pt, %k : i32
    %o = mul %t, %size : i32
    %yt = add_ptr %y, %o : ptr<ELEMENT>
    %yb = broadcast %yt : ptr<ELEMENT>[ROWS, COLUMNS] #0
    %yp = add_ptr %yb, %offsets : ptr<ELEMENT>[ROWS, COLUMNS] #0
    store %yp, %v)" + (slots == 1 ? start("next", "next", "more") : "") +
                           R"(
    yield
  }
}
)";
  return replaced(text,
                  {{"ORDERED", is_ordered ? "ordered, " : ""},
                   {"BARRIER", is_ordered ? "barrier" : ""},
                   {"MAP", is_plane ? "%planes, %rows, %columns, %plane, %pitch" : "%rows, %columns, %pitch"},
                   {"PLANE", is_plane ? "%one, " : ""},
                   {"BOX", fmt::format("{}{}, {}", is_plane ? "1, " : "", std::min(t.rows, 256), t.slab_bytes / ir::bytes(t.element))},
                   {"SHAPE", fmt::format("{}>[{}, {}]", ir::text(t.element), t.rows, t.columns)},
                   {"ELEMENT", std::string(ir::text(t.element))},
                   {"SLOTS", std::to_string(slots)},
                   {"ROWS", std::to_string(t.rows)},
                   {"COLUMNS", std::to_string(t.columns)},
                   {"COUNT", std::to_string(t.elements())},
                   {"BYTES", std::to_string(t.bytes())},
                   {"SLAB", std::to_string(t.slab_bytes)}});
}

fuzz::Argument buffer(Element e, std::size_t elements, bool is_random) {
  fuzz::Argument a;
  a.is_buffer = true;
  a.element = e;
  a.bytes.resize(elements * static_cast<std::size_t>(bytes(e)));
  std::mt19937 random(7);
  for (std::byte& b : a.bytes) b = is_random ? static_cast<std::byte>(random() & 0x3f) : std::byte{0};  // no infinity or NaN
  return a;
}

struct Sizes {
  int rows, columns, pitch;
};

fuzz::Program program(const std::string& text, const Tile& t, const Sizes& of) {
  const int programs = (of.rows + t.rows - 1) / t.rows, tiles = (of.columns + t.columns - 1) / t.columns;
  fuzz::Program p;
  p.function = parse(text, "copies.tile").functions.at(0);
  p.grid[0] = programs;
  p.arguments = {buffer(t.element, static_cast<std::size_t>(2 * of.rows * of.pitch), true),
                 buffer(t.element, static_cast<std::size_t>(programs * tiles * t.rows * t.columns), false),
                 {},
                 {},
                 {},
                 {}};
  std::size_t next = 2;
  for (const int word : {of.rows, of.columns, of.pitch, tiles}) p.arguments[next++].word = static_cast<std::uint64_t>(word);
  return p;
}

void check(const Tile& t, int slots, const Sizes& of, bool is_plane = false) {
  CAPTURE(slots);
  CAPTURE(of.rows);
  CAPTURE(of.columns);
  const Emitted code = check_on_emulator(program(copies(t, slots, is_plane), t, of), kWarps, kHopper);
  CHECK(count(code.ptx, "cp.async.bulk.tensor.") > 0);
}

/// What the interpreter says of the kernel with one op changed or left out.
std::string error_of(const fuzz::Program& p, const Function& f, const std::function<void(Function&)>& change) {
  fuzz::InterpreterExecutor reference;
  fuzz::RewritingExecutor mutant("mutant", [&](Function& m) {
    m = f;
    change(m);
  });
  return fuzz::compare(p, reference, mutant).value_or("");
}

}  // namespace

TEST_CASE("bulk copies: boxes of tensors of any extents, zeros outside") {
  const Tile t{Element::f16, 64, 64, 128};
  for (const int slots : {1, 2, 3})
    for (const Sizes& of : {Sizes{64, 64, 64}, {128, 192, 192}, {70, 100, 112}, {1, 1, 16}, {130, 257, 272}}) check(t, slots, of);
}

TEST_CASE("bulk copies: elements and slabs of every width, several slabs and boxes of a slot") {
  for (const Tile& t : {Tile{Element::f32, 32, 32, 128}, Tile{Element::f32, 32, 16, 64}, Tile{Element::bf16, 64, 16, 32},
                        Tile{Element::i8, 64, 128, 128}, Tile{Element::f8e4m3, 32, 32, 32}, Tile{Element::f64, 16, 16, 128},
                        Tile{Element::f16, 64, 128, 128}, Tile{Element::f16, 512, 64, 128}, Tile{Element::i32, 16, 128, 128}}) {
    CAPTURE(text(t.element));
    check(t, 2, {3 * t.rows - 5, 3 * t.columns - 7, (3 * t.columns + 15) / 16 * 16});
  }
}

TEST_CASE("bulk copies: a plane of a tensor of three axes") { check({Element::f16, 64, 64, 128}, 2, {64, 200, 208}, true); }

TEST_CASE("bulk copies: the host makes the map from parameters") {
  const Tile t{Element::f16, 64, 64, 128};
  const backend::CompiledKernel k =
      backend::compile(program(copies(t, 2), t, {70, 100, 112}).function, {.target = kHopper, .num_warps = kWarps});
  REQUIRE(k.launch.parameters.size() == 1);
  const auto& map = std::get<backend::TensorMapParameter>(k.launch.parameters[0]);
  CHECK(map.element == Element::f16);
  CHECK(map.box == std::vector<int>{64, 64});
  CHECK(map.swizzle_bytes == 128);
  using Kind = backend::LaunchRecipe::Kind;
  const auto parameter = [&](int step) {
    const auto& s = k.launch.recipe.steps[static_cast<std::size_t>(step)];
    return s.kind == Kind::parameter ? s.value : -1;
  };
  CHECK(parameter(map.address) == 0);
  REQUIRE(map.extents.size() == 2);
  CHECK(parameter(map.extents[0]) == 3);  // columns: the innermost axis comes first
  CHECK(parameter(map.extents[1]) == 2);
  REQUIRE(map.strides.size() == 1);
  CHECK(parameter(map.strides[0]) == 4);
}

TEST_CASE("bulk copies: arithmetic of 32 bits wraps on the host as it does in a kernel") {
  const Tile t{Element::f16, 64, 64, 128};
  std::string text = copies(t, 1);
  const std::string from = "make_tensor_map %x, %rows,";
  text.replace(text.find(from), from.size(), R"(constant {value = 2147483647} : i32
  %unused = add %rows, %map : i32
  %back = sub %unused, %map : i32
  %wide = cast %back : i64
  %real = make_tensor_map %x, %wide,)");
  text = replaced(text, {{"bulk_copy %map", "bulk_copy %real"}});
  check_on_emulator(program(text, t, {70, 100, 112}), kWarps, kHopper);
}

TEST_CASE("bulk copies: each fence, barrier, expectation and wait is needed, and the interpreter says so") {
  const Tile t{Element::f16, 64, 64, 128};
  const fuzz::Program p = program(copies(t, 2, false, true), t, {64, 300, 304});
  const TargetDesc target = backend::describe_target(kHopper);
  Function f = p.function;
  passes::run_passes(f, passes::pipeline_for(f, target), {target, true, false, kWarps});
  CHECK(error_of(p, f, [](Function&) {}) == "");
  int mutants = 0;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    const bool is_first = f.op(id).parent == f.body();
    if (k != OpKind::barrier_ && k != OpKind::mbarrier_wait_ && k != OpKind::mbarrier_expect_) return;
    if (k == OpKind::barrier_ && is_first) return;  // orders the initialisation of mbarriers, which the interpreter does not look at
    ++mutants;
    CAPTURE(text(k));
    const std::string error = error_of(p, f, [&](Function& m) { m.erase(id); });
    CHECK_MESSAGE(error.find("error: ") != std::string::npos, error);
    if (k != OpKind::mbarrier_expect_) return;
    for (const int more : {-16, 16}) {
      const std::string other =
          error_of(p, f, [&](Function& m) { m.set_attr(id, {AttrName::bytes, m.attr(id, AttrName::bytes) + more, {}, {}}); });
      CHECK_MESSAGE(other.find("error: ") != std::string::npos, other);
    }
  });
  CHECK(mutants == 4);
}

}  // namespace tilewright::test
