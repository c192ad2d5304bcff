// Bulk stores on the emulated Hopper, and on one where there is one: parts of tensors of any extents, slots that are used again, slabs,
// further axes and reductions; then the stores of products that passes/promote_stores.cpp makes bulk stores. The emulator finds races, and
// fences and waits that are missing; so does the interpreter, which gives the values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "runtime/ptxas.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/execution/product_subject.h"
#include "tests/execution/tile_texts.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

constexpr int kWarps = 4;

using Tile = BufferedTile;

/// The lines of layout #0, of the tile, layout #1, of a canonical buffer, and layout #2, of the tile's numbers in a row.
std::string layouts(const Tile& t) {
  return layout_over_threads(0, {t.rows, t.columns}) + layout_of_buffer(1, t) + layout_over_threads(2, {t.elements()});
}

enum class Order { by_passes, by_kernel };

/// Program p writes the tiles of row p of y, a tensor of `rows` by `columns` elements, from x, a row of tiles for each program, through
/// `slots` slots of a buffer: a store waits for the one that read its slot. is_plane: y is the second plane of a tensor of three axes.
std::string stores(const Tile& t, int slots, Order order, bool is_plane = false, const std::string& reduction = "") {
  const bool is_ordered = order == Order::by_kernel;
  return replaced(R"(
kernel @k(%x: ptr<const ELEMENT> {divisible_by = 16, disjoint}, %y: ptr<ELEMENT> {divisible_by = 16, disjoint}, %rows: i32, %columns: i32,
          %pitch: i32 {divisible_by = 16}, %tiles: i32) {
LAYOUTS
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %slots = constant {value = SLOTS} : i32
  %height = constant {value = ROWS} : i32
  %width = constant {value = COLUMNS} : i32
  %size = constant {value = COUNT} : i32
  %planes = constant {value = 2} : i32
  %plane = mul %rows, %pitch : i32
  %map = make_tensor_map %y, MAP {swizzle = SLAB} : tensor_map<ELEMENT>[BOX]
  %p = program_id {axis = 0} : i32
  %row = mul %p, %height : i32
  %b = alloc_buffer {ORDEREDalignment = 1024} : buffer<SLOTS, ELEMENT>[ROWS, COLUMNS] #1
  %flat = arange {lo = 0, hi = COUNT} : i32[COUNT] #2
  %offsets = reshape %flat : i32[ROWS, COLUMNS] #0
  for %zero, %tiles, %one (%k: i32) {
    %pt = mul %p, %tiles : i32
    %t = add %pt, %k : i32
    %o = mul %t, %size : i32
    %xt = add_ptr %x, %o : ptr<const ELEMENT>
    %xb = broadcast %xt : ptr<const ELEMENT>[ROWS, COLUMNS] #0
    %xp = add_ptr %xb, %offsets : ptr<const ELEMENT>[ROWS, COLUMNS] #0
    %v = load %xp : ELEMENT[ROWS, COLUMNS] #0
    %w = rem %k, %slots : i32
    %slot = buffer_slot %b, %w : buffer<1, ELEMENT>[ROWS, COLUMNS] #1
    %c = mul %k, %width : i32
    bulk_wait {pending = OTHERS, read}
BARRIER
    buffer_store %slot, %v
FENCE
BARRIER
    bulk_store %map, %slot, PLANE%row, %cREDUCE
    bulk_commit
    yield
  }
  bulk_wait {pending = 0, read}
}
)",
                  {{"LAYOUTS", layouts(t)},
                   {"ORDERED", is_ordered ? "ordered, " : ""},
                   {"BARRIER", is_ordered ? "    barrier" : ""},
                   {"FENCE", is_ordered ? "    proxy_fence" : ""},
                   {"OTHERS", std::to_string(slots - 1)},
                   {"REDUCE", reduction.empty() ? "" : " {reduction = " + reduction + "}"},
                   {"MAP", is_plane ? "%planes, %rows, %columns, %plane, %pitch" : "%rows, %columns, %pitch"},
                   {"PLANE", is_plane ? "%one, " : ""},
                   {"BOX", fmt::format("{}{}, {}", is_plane ? "1, " : "", std::min(t.rows, 256), t.slab_bytes / bytes(t.element))},
                   {"ELEMENT", std::string(text(t.element))},
                   {"SLOTS", std::to_string(slots)},
                   {"ROWS", std::to_string(t.rows)},
                   {"COLUMNS", std::to_string(t.columns)},
                   {"COUNT", std::to_string(t.elements())},
                   {"SLAB", std::to_string(t.slab_bytes)}});
}

fuzz::Argument buffer(Element e, std::size_t elements) {
  fuzz::Argument a;
  a.is_buffer = true;
  a.element = e;
  a.bytes.resize(elements * static_cast<std::size_t>(bytes(e)));
  std::mt19937 random(7);
  for (std::byte& b : a.bytes) b = static_cast<std::byte>(random() & 0x3f);  // no infinity or NaN
  // Atomic sums of f32 in global memory flush subnormal numbers (PTX ISA, red).
  for (std::size_t i = 3; e == Element::f32 && i < a.bytes.size(); i += 4) a.bytes[i] |= std::byte{0x20};
  return a;
}

struct Sizes {
  int rows, columns, pitch;
};

fuzz::Program program(const std::string& text, const Tile& t, const Sizes& of) {
  const int programs = (of.rows + t.rows - 1) / t.rows, tiles = (of.columns + t.columns - 1) / t.columns;
  fuzz::Program p;
  p.function = parse(text, "stores.tile").functions.at(0);
  p.grid[0] = programs;
  p.arguments = {buffer(t.element, static_cast<std::size_t>(programs * tiles * t.elements())),
                 buffer(t.element, static_cast<std::size_t>(2 * of.rows * of.pitch)),
                 {},
                 {},
                 {},
                 {}};
  std::size_t next = 2;
  for (const int word : {of.rows, of.columns, of.pitch, tiles}) p.arguments[next++].word = static_cast<std::uint64_t>(word);
  return p;
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

// ---- stores of products ----

/// Tiles whose slots take more than half of the shared memory, and smaller ones.
const ProductKernel kRoles{.rows = 128, .columns = 128, .depth = 64, .warps = 8, .stages = 4, .result = "f16", .has_result_pitch = true};
const ProductKernel kSmall{.rows = 64, .columns = 64, .depth = 32, .warps = 4, .stages = 3, .result = "f16", .has_result_pitch = true};

constexpr ProductShape kShapes[] = {{64, 64, 64}, {70, 72, 40}, {1, 1, 1}, {130, 200, 104}, {63, 129, 0}, {128, 128, 320}};

Function passed_without(const fuzz::Program& p, int warps, std::string_view left_out) {
  const TargetDesc target = backend::describe_target(kHopper);
  std::vector<std::string_view> passes = passes::pipeline(target);
  std::erase(passes, left_out);
  Function f = p.function;
  passes::run_passes(f, passes, {target, true, false, warps});
  return f;
}

int bulk_stores(const std::string& ptx) { return count(ptx, "async.bulk.tensor.2d.global") + count(ptx, "async.bulk.tensor.3d.global"); }

}  // namespace

TEST_CASE("bulk stores: parts of tensors of any extents") {
  const Tile t{Element::f16, 64, 64, 128};
  for (const Order order : {Order::by_passes, Order::by_kernel})
    for (const int slots : {1, 2, 3})
      for (const Sizes& of : {Sizes{64, 64, 64}, {128, 192, 192}, {70, 100, 112}, {1, 1, 16}, {130, 257, 272}}) {
        CAPTURE(slots);
        CAPTURE(of.rows);
        CAPTURE(of.columns);
        check_on_emulator(program(stores(t, slots, order), t, of), kWarps, kHopper);
      }
}

TEST_CASE("bulk stores: elements and slabs of every width, several slabs and boxes of a slot") {
  for (const Tile& t : {Tile{Element::f32, 32, 32, 128}, Tile{Element::f32, 32, 16, 64}, Tile{Element::bf16, 64, 16, 32},
                        Tile{Element::i8, 64, 128, 128}, Tile{Element::f8e4m3, 32, 32, 32}, Tile{Element::f64, 16, 16, 128},
                        Tile{Element::f16, 64, 128, 128}, Tile{Element::f16, 512, 64, 128}, Tile{Element::i32, 16, 128, 128}}) {
    CAPTURE(text(t.element));
    const Sizes of{3 * t.rows - 5, 3 * t.columns - 7, (3 * t.columns + 15) / 16 * 16};
    check_on_emulator(program(stores(t, 2, Order::by_passes), t, of), kWarps, kHopper);
  }
}

TEST_CASE("bulk stores: a plane of a tensor of three axes") {
  const Tile t{Element::f16, 64, 64, 128};
  check_on_emulator(program(stores(t, 2, Order::by_passes, true), t, {64, 200, 208}), kWarps, kHopper);
}

TEST_CASE("bulk stores: reductions") {
  for (const Element e : {Element::i32, Element::u32, Element::u64, Element::i64, Element::f32, Element::f16, Element::bf16})
    for (const std::string reduction : {"add", "min", "max"}) {
      const bool is_float = e == Element::f32 || e == Element::f16 || e == Element::bf16;
      if (reduction == "add" ? e == Element::i64 : is_float) continue;
      CAPTURE(text(e));
      CAPTURE(reduction);
      const int columns = 128 / bytes(e);
      const Tile t{e, 32, columns, 128};
      const std::string ptx =
          check_on_emulator(program(stores(t, 2, Order::by_passes, false, reduction), t, {70, 2 * columns - 3, 2 * columns}), kWarps,
                            kHopper)
              .ptx;
      CHECK(count(ptx, "cp.reduce.async.bulk.tensor.2d.global.shared::cta." + reduction) > 0);
    }
}

TEST_CASE("bulk stores: each fence, barrier, group and wait is needed, and the interpreter says so") {
  const Tile t{Element::f16, 64, 64, 128};
  const fuzz::Program p = program(stores(t, 2, Order::by_kernel), t, {64, 300, 304});
  const Function f = p.function;
  CHECK(error_of(p, f, [](Function&) {}) == "");
  int mutants = 0;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    if (k != OpKind::barrier_ && k != OpKind::proxy_fence_ && k != OpKind::bulk_commit_ && k != OpKind::bulk_wait_) return;
    ++mutants;
    CAPTURE(text(k));
    const std::string error = error_of(p, f, [&](Function& m) { m.erase(id); });
    CHECK_MESSAGE(error.find("error: ") != std::string::npos, error);
    if (k != OpKind::bulk_wait_) return;
    const std::string other =
        error_of(p, f, [&](Function& m) { m.set_attr(id, {AttrName::pending, m.attr(id, AttrName::pending) + 1, {}, {}}); });
    CHECK_MESSAGE(other.find("error: ") != std::string::npos, other);
  });
  CHECK(mutants == 6);
}

TEST_CASE("bulk stores: the interpreter reports accesses to what may not be stored yet") {
  const Tile t{Element::f16, 64, 64, 128};
  const auto said = [&](const std::string& from, const std::string& to) {
    std::string changed = stores(t, 1, Order::by_kernel);
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    const fuzz::Program p = program(changed, t, {64, 64, 64});
    return error_of(program(stores(t, 1, Order::by_kernel), t, {64, 64, 64}), p.function, [](Function&) {});
  };
  const std::string end = "    yield\n  }\n  bulk_wait {pending = 0, read}\n";
  CHECK(said(end, "    yield\n  }\n  bulk_wait {pending = 0, read}\n  %e = load %y : f16\n").find("load: a bulk store to this element") !=
        std::string::npos);
  CHECK(said(end, "    yield\n  }\n  bulk_wait {pending = 0}\n  %e = load %y : f16\n") == "");
  CHECK(said("    bulk_commit\n", "    bulk_commit\n    bulk_store %map, %slot, %row, %c\n    bulk_commit\n")
            .find("bulk_store: a bulk store to") != std::string::npos);
}

TEST_CASE("bulk stores: products of any extents, by roles and without") {
  for (const ProductKernel& k : {kRoles, kSmall})
    for (const ProductShape& s : kShapes) CHECK(bulk_stores(check_product(k, s)) > 0);
}

TEST_CASE("bulk stores: results of every element type, turned ones, batches and masks") {
  for (const char* result : {"f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u16", "f8e4m3", "f8e5m2"}) {
    ProductKernel k = kRoles;
    k.result = result;
    CHECK(bulk_stores(check_product(k, {130, 200, 104})) > 0);
  }
  for (const auto& change : std::vector<std::function<void(ProductKernel&)>>{[](ProductKernel& k) { k.result_is_turned = true; },
                                                                             [](ProductKernel& k) { k.has_batches = true; },
                                                                             [](ProductKernel& k) { k.is_grouped = true; }})
    for (const ProductKernel& of : {kRoles, kSmall}) {
      ProductKernel k = of;
      change(k);
      CHECK(bulk_stores(check_product(k, {130, 200, 104})) > 0);
    }
  ProductKernel odd = kRoles, close = kRoles;
  odd.has_odd_mask = true;
  close.has_result_pitch = false;
  CHECK(bulk_stores(check_product(odd, {130, 200, 104})) == 0);
  CHECK(bulk_stores(check_product(close, {130, 200, 104})) == 0);
}

TEST_CASE("bulk stores: what becomes of the sums first") {
  for (const char* epilogue : {kBias, kActivation, kResidual})
    for (const char* result : {"f16", "f32"})
      for (const ProductKernel& of : {kRoles, kSmall}) {
        ProductKernel k = of;
        k.epilogue = epilogue, k.result = result;
        CHECK(bulk_stores(check_product(k, {130, 200, 104})) > 0);
      }
}

TEST_CASE("bulk stores: relaxed atomics add the tiles of all batches") {
  for (const char* result : {"f16", "bf16", "f32", "i32"})
    for (const ProductKernel& of : {kRoles, kSmall}) {
      ProductKernel k = of;
      k.has_batches = k.adds = true;
      k.result = result;
      CHECK(count(check_product(k, {70, 72, 4}), "cp.reduce.async.bulk.tensor") > 0);
    }
}

TEST_CASE("bulk stores: without the pass the values are the same") {
  const fuzz::Program p = program(kRoles, {130, 200, 104});
  for (const char* left_out : {"promote_stores", "specialize_warps", "place_mma_waits", "use_tma"}) {
    CAPTURE(left_out);
    fuzz::InterpreterExecutor reference;
    fuzz::RewritingExecutor rewritten(left_out, [&](Function& f) { f = passed_without(p, kRoles.warps, left_out); });
    const auto difference = fuzz::compare(p, reference, rewritten);
    CHECK_MESSAGE(!difference.has_value(), difference.value_or(""));
  }
}

TEST_CASE("bulk stores: of the pass each fence, barrier, group and wait is needed, and the interpreter says so") {
  const fuzz::Program p = program(kRoles, {64, 64, 300});
  const Function f = passed(p, kRoles.warps);
  REQUIRE(roles_op(f).valid());
  int mutants = 0;
  bool is_behind = false;  // the products
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    is_behind = is_behind || (k == OpKind::alloc_buffer_ && f.op(id).parent != f.body());
    const bool is_order = k == OpKind::barrier_ || k == OpKind::proxy_fence_ || k == OpKind::bulk_commit_ || k == OpKind::bulk_wait_;
    if (!is_order || !is_behind || f.kind(f.op(id).next) == OpKind::buffer_store_) return;
    ++mutants;
    CAPTURE(text(k));
    const std::string error = error_of(p, f, [&](Function& m) { m.erase(id); });
    CHECK_MESSAGE(error.find("error: ") != std::string::npos, error);
  });
  CHECK(mutants == 4);
}

TEST_CASE("bulk stores: the emulator finds each weakening of the order in PTX") {
  constexpr int kLinesBefore = 12;
  for (const ProductKernel& k : {kRoles, kSmall}) {
    const ProductSubject kernel(k, {{64, 64, 128}});
    const auto line_of = [&](const char* piece) {
      const std::size_t at = kernel.ptx().find(piece);
      REQUIRE(at != std::string::npos);
      return 1 + std::count(kernel.ptx().begin(), kernel.ptx().begin() + static_cast<std::ptrdiff_t>(at), '\n');
    };
    // From the barrier behind the last products on.
    const auto first = line_of("stmatrix") - kLinesBefore, last = line_of("bulk.wait_group");
    std::string survivors;
    int mutants = 0;
    for (const Mutant& m : mutants_of(kernel.subject().module(), kernel.subject().kernel())) {
      if (m.weakening == Weakening::bound_shifted || m.line < first || m.line > last) continue;
      // All lanes may commit groups without stores, and wait for none.
      const bool is_election = m.before.find("elect.sync") != std::string::npos;
      if (is_election && m.weakening == Weakening::guard_removed && m.line > line_of("bulk.tensor.2d.global")) continue;
      ++mutants;
      const Verdict v = kernel.subject().judge(m);
      if (v.fate != Fate::found && v.fate != Fate::wrong)
        survivors += fmt::format("{}, line {}: {} becomes {}\n", name_of(m.weakening), m.line, m.before, m.after);
    }
    CHECK(survivors == "");
    CHECK(mutants >= 5);
  }
}

TEST_CASE("bulk stores: NVIDIA's assembler spills nothing and ignores nothing") {
  const auto ptxas = rt::find_ptxas();
  if (!ptxas) {
    MESSAGE(rt::why_no_ptxas());
    return;
  }
  ProductKernel large = kRoles;
  large.columns = 256, large.stages = 3;
  for (const char* epilogue : {"", kBias, kActivation})
    for (const char* result : {"f16", "f32"}) {
      ProductKernel k = large;
      k.epilogue = epilogue, k.result = result;
      CAPTURE(epilogue);
      const backend::CompiledKernel c =
          backend::compile(passed(program(k, {64, 64, 64}), k.warps), {.target = kHopper, .num_warps = k.warps});
      const std::string ptx(reinterpret_cast<const char*>(c.image.data()), c.image.size());
      CHECK(bulk_stores(ptx) > 0);
      CHECK(count(ptx, "st.global") == 0);
      CHECK((count(ptx, "stmatrix") > 0) == (k.result == "f16"));
      const rt::Assembled a = rt::assemble(*ptxas, ptx, kHopper);
      REQUIRE(a.kernels.size() == 1);
      CHECK(a.kernels[0].remarks.empty());
      CHECK(a.kernels[0].spill_store_bytes == 0);
      CHECK(a.kernels[0].registers == 168);
    }
}

}  // namespace tilewright::test
