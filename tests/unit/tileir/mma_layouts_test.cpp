// Fragments of matrix instructions against the formulas of the PTX ISA 9.0 manual, section 9.7.14.5, and as tiles of any size.
#include "tileir/target/mma_layouts.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/target/target_desc.h"
#include "tileir/verifier.h"

namespace tilewright::ir {
namespace {

using Shape = std::vector<std::int64_t>;

/// An mma of these extents, its operands left to the layouts.
struct Product {
  Function f{"product"};
  OpId mma;

  Product(int row, std::int64_t m, std::int64_t n, std::int64_t k, Shape warps, std::int64_t batch = 0) {
    const MatrixInstruction& instruction = mma_instructions()[static_cast<std::size_t>(row)];
    Builder b{f};
    const auto tile = [&](Element e, std::int64_t rows, std::int64_t columns) {
      Shape shape{rows, columns};
      if (batch > 0) shape.insert(shape.begin(), batch);
      return b.broadcast(f.add_param(Type(e), {"p" + std::to_string(f.block(f.body()).args.size()), 1}), shape);
    };
    if (batch > 0 && warps.size() == 2) warps.insert(warps.begin(), 1);
    const ValueId operands[] = {tile(instruction.factors, m, k), tile(instruction.factors, k, n), tile(instruction.sums, m, n)};
    mma = b.create(OpKind::mma_, operands, {{AttrName::instruction, row, {}, {}}, {AttrName::warps, 0, warps, {}}});
  }
  MmaLayouts layouts() const { return mma_layouts(f, mma); }
};

/// A place in a fragment.
struct Coordinates {
  std::uint32_t row, column;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};
using Formula = Coordinates (*)(std::uint32_t i, std::uint32_t group, std::uint32_t thread);  // groupID, threadID_in_group
struct Formulas {
  Formula a, b, c;
  std::uint32_t a_elements, b_elements, c_elements;  // elements of a thread
};

/// As the manual writes them, for element i of a thread.
const std::map<std::string_view, Formulas>& formulas() {
  static const Formula kSums16 = [](auto i, auto g, auto t) { return Coordinates{i < 2 ? g : g + 8, t * 2 + (i & 1)}; };
  static const Formulas k16n8k16{[](auto i, auto g, auto t) {
                                   return Coordinates{i < 2 || (i >= 4 && i < 6) ? g : g + 8,
                                                      i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
                                 },
                                 [](auto i, auto g, auto t) { return Coordinates{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g}; },
                                 kSums16,
                                 8,
                                 4,
                                 4};
  static const Formulas k16n8k32{[](auto i, auto g, auto t) {
                                   return Coordinates{i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                                                      i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
                                 },
                                 [](auto i, auto g, auto t) { return Coordinates{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g}; },
                                 kSums16,
                                 16,
                                 8,
                                 4};
  static const std::map<std::string_view, Formulas> kAll = {
      {"m16n8k16_f16", k16n8k16},
      {"m16n8k16_bf16", k16n8k16},
      {"m16n8k8_f16",
       {[](auto i, auto g, auto t) { return Coordinates{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
        [](auto i, auto g, auto t) { return Coordinates{t * 2 + i, g}; }, kSums16, 4, 2, 4}},
      {"m16n8k8_tf32",
       {[](auto i, auto g, auto t) { return Coordinates{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
        [](auto i, auto g, auto t) { return Coordinates{i == 0 ? t : t + 4, g}; }, kSums16, 4, 2, 4}},
      {"m8n8k4_f64",
       {[](auto, auto g, auto t) { return Coordinates{g, t}; }, [](auto, auto g, auto t) { return Coordinates{t, g}; },
        [](auto i, auto g, auto t) { return Coordinates{g, t * 2 + (i & 1)}; }, 1, 1, 2}},
      {"m8n8k16_i8",
       {[](auto i, auto g, auto t) { return Coordinates{g, t * 4 + i}; }, [](auto i, auto g, auto t) { return Coordinates{t * 4 + i, g}; },
        [](auto i, auto g, auto t) { return Coordinates{g, t * 2 + i}; }, 4, 4, 2}},
      {"m16n8k32_i8", k16n8k32},
      {"m16n8k32_e4m3", k16n8k32},
      {"m16n8k32_e5m2", k16n8k32},
  };
  return kAll;
}

void check_fragment(const LinearLayout& l, Formula formula, std::uint32_t elements) {
  CHECK(l.size(HardwareDim::reg) == elements);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = 0; i < elements; ++i) {
      const std::vector<std::uint32_t> at = l.coordinates(l(i, lane, 0));
      CHECK(Coordinates{at[0], at[1]} == formula(i, lane >> 2, lane % 4));
    }
}

TEST_CASE("mma_layouts: one instruction has the fragments that the manual gives") {
  for (std::size_t row = 0; row < mma_instructions().size(); ++row) {
    const MatrixInstruction& instruction = mma_instructions()[row];
    CAPTURE(instruction.name);
    REQUIRE(formulas().contains(instruction.name));
    const Formulas& expected = formulas().at(instruction.name);
    const Product p(static_cast<int>(row), 1 << instruction.log2_m, 1 << instruction.log2_n, 1 << instruction.log2_k, {1, 1});
    const MmaLayouts layouts = p.layouts();
    check_fragment(layouts.a, expected.a, expected.a_elements);
    check_fragment(layouts.b, expected.b, expected.b_elements);
    check_fragment(layouts.acc, expected.c, expected.c_elements);
  }
}

TEST_CASE("matrix_instructions: the name says the extents, the text says name and types") {
  for (const MatrixInstruction& i : mma_instructions()) {
    CAPTURE(i.name);
    const std::string shape =
        "m" + std::to_string(1 << i.log2_m) + "n" + std::to_string(1 << i.log2_n) + "k" + std::to_string(1 << i.log2_k);
    CHECK(i.name.starts_with(shape + "_"));
    CHECK(i.ptx.starts_with("mma.sync.aligned." + shape + ".row.col."));
    CHECK(!i.chips.has(70));
    CHECK(i.chips.has(120));
    CHECK(i.chips.has(89));
    // Emulated there by products of f16.
    for (const int sm : {80, 90, 100, 110})
      if (is_fp8(i.factors)) CHECK(!i.chips.has(sm));
  }
}

TEST_CASE("matrix_instructions: wgmma is code of sm_90a alone, and no mma") {
  const auto all = matrix_instructions();
  REQUIRE(mma_instructions().size() + 6 == all.size());
  const auto describe = [](const char* name, bool own_code) {
    TargetDesc target;
    target.kind = TargetDesc::Kind::nvptx;
    target.name = name;
    target.sm = 90;
    target.has_wgmma = own_code;
    return target;
  };
  for (const MatrixInstruction& i : all.subspan(mma_instructions().size())) {
    CAPTURE(i.name);
    CHECK(i.issue == MatrixInstruction::Issue::asynchronous);
    CHECK(has_instruction(describe("sm_90a", true), i));
    for (const char* other : {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) CHECK(!has_instruction(describe(other, false), i));
    // 256 bits of K, as the manual's table of shapes; the other axis of 16-bit factors may be contiguous.
    CHECK((bits(i.factors) << i.log2_k) == 256);
    CHECK((i.major == MatrixInstruction::Major::either) == (bits(i.factors) == 16));
    for (const int n : {8, 16, 24, 32, 48, 128, 256}) CHECK(i.n.has(n));
    for (const int n : {0, 4, 12, 264}) CHECK(!i.n.has(n));
    CHECK(i.n.has(40) == (i.sums == Element::f32));
  }
}

TEST_CASE("matrix_instructions: a precision refuses sums that are less accurate than it promises") {
  const auto keeps_of = [](std::string_view name, Precision precision) {
    for (const MatrixInstruction& i : matrix_instructions())
      if (i.name == name) return keeps(i, precision);
    FAIL("no such row");
    return false;
  };
  CHECK(keeps_of("m16n8k16_f16", Precision::ieee));
  CHECK(keeps_of("m16n8k8_tf32", Precision::tf32));
  CHECK(!keeps_of("m16n8k8_tf32", Precision::ieee));
  CHECK(keeps_of("m64k8_tf32", Precision::standard));
  CHECK(!keeps_of("m64k8_tf32", Precision::tf32));
  CHECK(!keeps_of("m64k8_tf32", Precision::tf32x3));
  CHECK(keeps_of("m64k32_e4m3", Precision::standard));
  CHECK(!keeps_of("m64k32_e4m3", Precision::ieee));
}

/// Checks the layouts of a product of m x n by one or more warp groups against the manual's figures of wgmma: the sum in register r is in
/// row 16 w + g + 8 (r / 2 % 2) and column 8 (r / 4) + 2 t + r % 2 of the group's 64 rows.
void check_warp_group(const MatrixInstruction& i, int log2_m, int log2_n, const Shape& warps) {
  const MmaLayouts l = mma_layouts(i, {log2_m, log2_n}, i.log2_k, warps, {});
  CHECK(l.b.rank() == 0);
  const std::uint32_t columns = 1u << (log2_n - static_cast<int>(warps[1] > 1));
  const std::uint32_t groups_of_rows = static_cast<std::uint32_t>(warps[0]) / 4, rows = (1u << log2_m) / groups_of_rows;
  REQUIRE(l.acc.size(HardwareDim::reg) == rows / 64 * columns / 2);
  const std::uint32_t per_register = static_cast<std::uint32_t>(32 / bits(i.factors));
  REQUIRE(l.a.size(HardwareDim::reg) == rows / 64 * 4 * per_register);
  for (std::uint32_t warp = 0; warp < l.acc.size(HardwareDim::warp); ++warp)
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t g = lane / 4, t = lane % 4, w = warp % 4;
      const std::uint32_t first_row = warps[0] > 4 ? warp / 4 * rows : 0, first_column = warps[1] > 1 ? warp / 4 * columns : 0;
      for (std::uint32_t r = 0; r < l.acc.size(HardwareDim::reg); ++r) {
        const std::uint32_t in_group = r % (columns / 2), block = r / (columns / 2);
        const auto at = l.acc.coordinates(l.acc(r, lane, warp));
        CHECK(at[0] == first_row + 64 * block + 16 * w + g + 8 * (in_group / 2 % 2));
        CHECK(at[1] == first_column + 8 * (in_group / 4) + 2 * t + in_group % 2);
      }
      for (std::uint32_t r = 0; r < l.a.size(HardwareDim::reg); ++r) {
        const std::uint32_t word = r / per_register % 4, block = r / per_register / 4;
        const auto at = l.a.coordinates(l.a(r, lane, warp));
        CHECK(at[0] == first_row + 64 * block + 16 * w + g + 8 * (word % 2));
        CHECK(at[1] == per_register * (t + 4 * (word / 2)) + r % per_register);
      }
    }
}

TEST_CASE("mma_layouts: a warp group has the fragments of wgmma") {
  for (const MatrixInstruction& i : matrix_instructions().subspan(mma_instructions().size())) {
    CAPTURE(i.name);
    check_warp_group(i, 6, 3, {4, 1});
    check_warp_group(i, 6, 8, {4, 1});
    check_warp_group(i, 7, 6, {4, 1});  // a warp group has 128 rows: rows 16 and 32 are still those of its warps
    check_warp_group(i, 7, 7, {8, 1});
    check_warp_group(i, 6, 7, {4, 2});
  }
}

TEST_CASE("mma_layouts: the sums of wgmma of 16-bit factors are those of mma by four warps") {
  // So code for fragments of mma also works for the sums of a warp group: reductions of rows, casts, stores.
  const Product by_warps(0, 64, 128, 16, {4, 1});
  const MatrixInstruction& by_group = matrix_instructions()[mma_instructions().size()];
  const MmaLayouts group = mma_layouts(by_group, {6, 7}, 4, Shape{4, 1}, {});
  CHECK(group.acc == by_warps.layouts().acc);
  CHECK(group.a == by_warps.layouts().a);
}

TEST_CASE("mma_layouts: of tiles of every size, each element has a thread, and operands and sums meet in one warp") {
  int tiles = 0;
  for (std::size_t row = 0; row < mma_instructions().size(); ++row)
    for (std::int64_t m : {1, 2, 8, 16, 64})
      for (std::int64_t n : {1, 4, 8, 32})
        for (std::int64_t k : {1, 2, 4, 8, 16, 64})
          for (const Shape& warps : {Shape{1, 1}, Shape{2, 2}, Shape{4, 1}, Shape{1, 4}})
            for (std::int64_t batch : {0, 2}) {
              const Product p(static_cast<int>(row), m, n, k, warps, batch);
              const MmaLayouts l = p.layouts();
              for (const LinearLayout* layout : {&l.a, &l.b, &l.acc}) {
                CHECK(layout->is_surjective());
                CHECK(layout->bits(HardwareDim::lane) == 5);
                CHECK(layout->size(HardwareDim::warp) == static_cast<std::uint32_t>(warps[0] * warps[1]));
              }
              // The rows of a warp's sums are the rows of its a, the columns those of its b; a warp has all of K of them.
              const int rows = batch > 0 ? 1 : 0;
              const auto sets = [](const LinearLayout& layout, std::uint32_t warp, int axis) {
                std::vector<bool> seen(std::size_t{1} << layout.log2_extents()[static_cast<std::size_t>(axis)]);
                for (std::uint32_t lane = 0; lane < 32; ++lane)
                  for (std::uint32_t r = 0; r < layout.size(HardwareDim::reg); ++r)
                    seen[layout.coordinates(layout(r, lane, warp))[static_cast<std::size_t>(axis)]] = true;
                return seen;
              };
              if (++tiles % 7 == 0)  // the check is slow
                for (std::uint32_t warp = 0; warp < l.acc.size(HardwareDim::warp); ++warp) {
                  CHECK(sets(l.acc, warp, rows) == sets(l.a, warp, rows));
                  CHECK(sets(l.acc, warp, rows + 1) == sets(l.b, warp, rows + 1));
                  CHECK(sets(l.a, warp, rows + 1) == std::vector<bool>(static_cast<std::size_t>(k), true));
                  CHECK(sets(l.b, warp, rows) == std::vector<bool>(static_cast<std::size_t>(k), true));
                }
            }
}

TEST_CASE("mma_layouts: an order permutes the coordinates of all instructions of a tile, swapped exchanges the operands") {
  const std::vector<std::int64_t> kOrders[] = {{}, {1, 2, 3, 0}, {2, 3, 4, 0, 1}};
  for (const MatrixInstruction& instruction : mma_instructions())
    for (const auto& rows : kOrders)
      for (const auto& columns : kOrders)
        for (const auto& k : kOrders) {
          CAPTURE(instruction.name);
          const std::vector<std::int64_t> warps{2, 1};
          const MmaLayouts own = mma_layouts(instruction, {6, 5}, 5, warps, {}),
                           ordered = mma_layouts(instruction, {6, 5}, 5, warps, {false, rows, columns, k});
          const auto check = [](const LinearLayout& from, const LinearLayout& to, const auto& of_rows, const auto& of_columns) {
            for (HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp})
              for (std::uint32_t x = 0; x < from.size(d); ++x) {
                const auto a = from.coordinates(from.apply(d, x)), b = to.coordinates(to.apply(d, x));
                CHECK(in_order(of_rows, a[0]) == b[0]);
                CHECK(in_order(of_columns, a[1]) == b[1]);
              }
          };
          check(own.a, ordered.a, rows, k);
          check(own.b, ordered.b, k, columns);
          check(own.acc, ordered.acc, rows, columns);
          // Transposed tiles give transposed layouts, except for the order of registers beyond one instruction.
          const MmaLayouts swapped = mma_layouts(instruction, {5, 6}, 5, std::vector<std::int64_t>{1, 2}, {true, columns, rows, k});
          constexpr std::int64_t kTransposed[] = {1, 0};
          const auto lanes_and_warps = [](const LinearLayout& l) {
            return std::pair(l.bases(HardwareDim::lane), l.bases(HardwareDim::warp));
          };
          CHECK(lanes_and_warps(swapped.a.permuted(kTransposed)) == lanes_and_warps(ordered.b));
          CHECK(lanes_and_warps(swapped.b.permuted(kTransposed)) == lanes_and_warps(ordered.a));
          CHECK(lanes_and_warps(swapped.acc.permuted(kTransposed)) == lanes_and_warps(ordered.acc));
          CHECK(swapped.acc.is_injective());
          CHECK(swapped.acc.is_surjective());
        }
  CHECK(in_order(std::vector<std::int64_t>{1, 2, 3, 0}, 0b10110) == 0b11100);
}

TEST_CASE("mma_layouts: the sums of m16n8 are the first operand of m16n8k16 of the next product") {
  // Attention: P has the layout of the scores, and is a of the second product.
  const Product scores(0, 64, 64, 32, {4, 1}), values(0, 64, 32, 64, {4, 1});
  CHECK(scores.layouts().acc.bases(HardwareDim::lane) == values.layouts().a.bases(HardwareDim::lane));
  CHECK(scores.layouts().acc.bases(HardwareDim::warp) == values.layouts().a.bases(HardwareDim::warp));
}

}  // namespace
}  // namespace tilewright::ir
