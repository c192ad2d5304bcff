// Builds the text of the kernels, and their arguments.
#include "tests/execution/product_kernels.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <utility>

#include "tests/execution/tile_texts.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

/// x[row * pitch + column], with a mask for both.
constexpr const char* kLoad = R"(
    %NAME_r = broadcast %ROW : i32[SHAPE]
    %NAME_c = broadcast %COLUMN : i32[SHAPE]
    %NAME_p = broadcast %NAME_pitch : i32[SHAPE]
    %NAME_o = mul %FAR, %NAME_p : i32[SHAPE]
    %NAME_oo = add %NAME_o, %NEAR : i32[SHAPE]
    %NAME_b = broadcast %NAME_base : ptr<const ELEMENT>[SHAPE]
    %NAME_ptr = add_ptr %NAME_b, %NAME_oo : ptr<const ELEMENT>[SHAPE]
    %NAME_rm = broadcast %ROW_most : i32[SHAPE]
    %NAME_cm = broadcast %COLUMN_most : i32[SHAPE]
    %NAME_z = broadcast %zero : i32[SHAPE]
    %NAME_lr = lt %NAME_r, %NAME_rm : i1[SHAPE]
    %NAME_lc = lt %NAME_c, %NAME_cm : i1[SHAPE]
    %NAME_gr = ge %NAME_r, %NAME_z : i1[SHAPE]
    %NAME_gc = ge %NAME_c, %NAME_z : i1[SHAPE]
    %NAME_mr = bit_and %NAME_lr, %NAME_BELOWr : i1[SHAPE]
    %NAME_mc = bit_and %NAME_lc, %NAME_BELOWc : i1[SHAPE]
    %NAME_m = bit_and %NAME_mr, %NAME_mc : i1[SHAPE]
    %NAME_x = load %NAME_ptr, %NAME_m : ELEMENT[SHAPE])";

std::string load(const std::string& name, const std::string& row, const std::string& column, bool is_turned, int rows, int columns,
                 const std::string& element = "f16") {
  return replaced(kLoad, {{"ELEMENT", element},
                          {"FAR", name + (is_turned ? "_c" : "_r")},
                          {"NEAR", name + (is_turned ? "_r" : "_c")},
                          {"NAME", name},
                          {"ROW", row},
                          {"COLUMN", column},
                          {"SHAPE", fmt::format("{}, {}", rows, columns)}});
}

/// c = a b, of m x k and k x n elements.
std::string text_of(const ProductKernel& k) {
  const std::string text = R"(
kernel @product(%a: ptr<const ELEMENT> {divisible_by = 16, disjoint}, %b: ptr<const ELEMENT> {divisible_by = 16, disjoint},
                %c: ptr<RESULT> {ALIGNEDdisjoint}, %m: i32 {positive}, %n: i32 ATTRIBUTES, %k: i32, %a_pitch: i32 PITCH, %b_pitch: i32 PITCH,
                %heads: i32 {positive}, %batch_step: i64 PITCH, %head_step: i64 PITCH, %begin: i64 {divisible_by = 8}, %above: i32,
                %group: i32 {positive}, %c_pitch: i32 {divisible_by = 16, positive}, %r: ptr<const f32> {divisible_by = 16, disjoint}) {
  %zero = constant {value = 0} : i32
  %step = constant {value = DEPTH} : i32
  %p0 = program_id {axis = 0} : i32
  %p1 = program_id {axis = 1} : i32
  %p2 = program_id {axis = 2} : i32
  %height = constant {value = ROWS} : i32
  %width = constant {value = COLUMNS} : i32
  %one = constant {value = 1} : i32
  %last_i = sub %height, %one : i32
  %last_j = sub %width, %one : i32
  %most_i = add %m, %last_i : i32
  %most_j = add %n, %last_j : i32
  %tiles_i = div %most_i, %height : i32
  %tiles_j = div %most_j, %width : i32
  %of_group = mul %group, %tiles_j : i32
  %number = div %p0, %of_group : i32
  %above_group = mul %number, %group : i32
  %below = sub %tiles_i, %above_group : i32
  %group_rows = minimum %below, %group : i32
  %in_group = rem %p0, %of_group : i32
  %row_of_group = rem %in_group, %group_rows : i32
  %group_i = add %above_group, %row_of_group : i32
  %group_j = div %in_group, %group_rows : i32
  %quotient = div %p0, %above : i32
  %i0 = mul TILE_I, %height : i32
  %j0 = mul TILE_J, %width : i32
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
  %a_matrix = add_ptr %a, SKIPPED : ptr<const ELEMENT>
  %a_base = add_ptr %a_matrix, BEGIN : ptr<const ELEMENT>
  %b_base = add_ptr %b, %zero : ptr<const ELEMENT>
  %none = constant {value = NOTHING} : SUMS[ROWS, COLUMNS]
  %sums = for %zero, %k, %step, %none {num_stages = STAGES} : SUMS[ROWS, COLUMNS] (%at: i32, %acc: SUMS[ROWS, COLUMNS]) {
    %atb = broadcast %at : i32[DEPTH]
    %ks = add %atb, %kr : i32[DEPTH]
    %ka = reshape %ks : i32[1, DEPTH]
    %kb = reshape %ks : i32[DEPTH, 1])" +
                           load("a", "ia", "ka", k.left_is_turned, k.rows, k.depth, k.element) +
                           load("b", "kb", "j", k.right_is_turned, k.depth, k.columns, k.element) + R"(
    %d = dot %a_x, %b_x, %acc : SUMS[ROWS, COLUMNS]
    yield %d
  }
  %ri = broadcast %i : i32[ROWS, COLUMNS]
  %rj = broadcast %j : i32[ROWS, COLUMNS]
  %first = mul FIRST_ROW, DISTANCE : i32
  %cf = add_ptr %c, %first : ptr<RESULT>
  %nb = broadcast %n : i32[ROWS, COLUMNS]
  %mb = broadcast %m : i32[ROWS, COLUMNS]
  %db = broadcast DISTANCE : i32[ROWS, COLUMNS]
  %ro = mul FARTHER, %db : i32[ROWS, COLUMNS]
  %o = add %ro, NEARER : i32[ROWS, COLUMNS]
  %cb = broadcast %cf : ptr<RESULT>[ROWS, COLUMNS]
  %cp = add_ptr %cb, %o : ptr<RESULT>[ROWS, COLUMNS]
  %mi = lt %ri, %mb : i1[ROWS, COLUMNS]
  %mj = lt %rj, %nb : i1[ROWS, COLUMNS]
  %inside = bit_and %mi, %mj : i1[ROWS, COLUMNS]
  %ones = broadcast %one : i32[ROWS, COLUMNS]
  %nothing = broadcast %zero : i32[ROWS, COLUMNS]
  %low = bit_and %rj, %ones : i32[ROWS, COLUMNS]
  %is_even = eq %low, %nothing : i1[ROWS, COLUMNS]
  %some = bit_and %inside, %is_even : i1[ROWS, COLUMNS]
EPILOGUE
CAST  WRITE %cp, STORED, WRITTENOF_ATOMIC
})";
  const std::string sums = k.element == "i8" ? "i32" : "f32", shape = fmt::format("{}, {}", k.rows, k.columns);
  const std::string summed = k.epilogue.empty() ? "%sums" : "%value";
  return replaced(text, {{"PITCH", k.of_pitch},
                         {"ATTRIBUTES", k.of_columns},
                         {"ELEMENT", k.element},
                         {"SUMS", sums},
                         {"NOTHING", sums == "i32" ? "0" : "0.0"},
                         {"CAST", k.result == sums ? "" : "  %rounded = cast " + summed + " : RESULT[ROWS, COLUMNS]\n"},
                         {"STORED", k.result == sums ? summed : "%rounded"},
                         {"ALIGNED", k.has_result_pitch ? "divisible_by = 16, " : ""},
                         {"DISTANCE", k.has_result_pitch ? "%c_pitch" : "%n"},
                         {"EPILOGUE", replaced(k.epilogue, {{"SHAPE", shape}, {"COLUMNS", std::to_string(k.columns)}})},
                         {"FARTHER", k.result_is_turned ? "%rj" : "%ri"},
                         {"FIRST_ROW", !k.adds && (k.has_batches || k.has_heads) ? "%matrix" : "%zero"},
                         {"NEARER", k.result_is_turned ? "%ri" : "%rj"},
                         {"OF_ATOMIC", k.adds ? fmt::format(" {{order = relaxed}} : {}[{}]", k.result, shape) : ""},
                         {"WRITE ", k.adds ? "%before = atomic_add " : "store "},
                         {"WRITTEN", k.has_odd_mask ? "%some" : "%inside"},
                         {"RESULT", k.result},
                         {"SKIPPED", k.has_heads     ? "%both_steps"
                                     : k.has_batches ? "%skipped"
                                                     : "%zero"},
                         {"TILE_I", k.is_grouped   ? "%group_i"
                                    : k.is_divided ? "%quotient"
                                                   : "%p0"},
                         {"TILE_J", k.is_grouped ? "%group_j" : "%p1"},
                         {"BELOW", k.has_lower_bounds ? "g" : "l"},
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

/// The same numbers in one byte; of i8 the last one is 5.
fuzz::Argument small_bytes(Element e, int elements) {
  constexpr std::uint8_t kE4M3[] = {0, 0x38, 0x40, 0xb8, 0x44, 0xc0, 0x30}, kE5M2[] = {0, 0x3c, 0x40, 0xbc, 0x42, 0xc0, 0x38},
                         kI8[] = {0, 1, 2, 0xff, 3, 0xfe, 5};
  const auto& small = e == Element::f8e4m3 ? kE4M3 : e == Element::f8e5m2 ? kE5M2 : kI8;
  fuzz::Argument a = buffer(e, elements);
  for (std::size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = std::byte{small[(i * 5 + i / 13) % std::size(small)]};
  return a;
}

fuzz::Argument small_numbers(const std::string& element, int elements) {
  if (element == "f16") return small_halves(elements);
  return small_bytes(element == "i8" ? Element::i8 : element == "f8e4m3" ? Element::f8e4m3 : Element::f8e5m2, elements);
}

/// -3, -2.5, ... 3.
fuzz::Argument small_floats(int elements) {
  fuzz::Argument a = buffer(Element::f32, elements);
  for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
    const float x = static_cast<float>((i * 7 + i / 11) % 13) / 2 - 3;
    std::memcpy(&a.bytes[4 * i], &x, 4);
  }
  return a;
}

}  // namespace

const char* const kBias = R"(
  %rb = broadcast %r : ptr<const f32>[1, COLUMNS]
  %rp = add_ptr %rb, %j : ptr<const f32>[1, COLUMNS]
  %nr = broadcast %n : i32[1, COLUMNS]
  %jn = lt %j, %nr : i1[1, COLUMNS]
  %bias = load %rp, %jn : f32[1, COLUMNS]
  %biases = broadcast %bias : f32[SHAPE]
  %value = add %sums, %biases : f32[SHAPE])";
const char* const kActivation = R"(
  %nil = constant {value = 0.0} : f32[SHAPE]
  %positive = maximum %sums, %nil : f32[SHAPE]
  %value = mul %positive, %positive : f32[SHAPE])";
const char* const kResidual = R"(
  %rb = broadcast %r : ptr<const f32>[SHAPE]
  %rp = add_ptr %rb, %o : ptr<const f32>[SHAPE]
  %residual = load %rp, %inside : f32[SHAPE]
  %value = add %sums, %residual : f32[SHAPE])";

fuzz::Program program(const ProductKernel& kernel, const ProductShape& s, int above) {
  const int unit = kernel.element == "f16" ? 8 : 16;  // 16 bytes
  const auto pitch = [&](int extent) { return (extent + unit - 1) / unit * unit + unit; };
  const int a_pitch = pitch(kernel.left_is_turned ? s.m : s.k), b_pitch = pitch(kernel.right_is_turned ? s.k : s.n);
  const int heads = 3, batches = kernel.has_heads ? 2 * heads : kernel.has_batches ? 3 : 1;
  const int c_pitch = (kernel.result_is_turned ? s.m : s.n) / 16 * 16 + 32, c_rows = kernel.result_is_turned ? s.n : s.m;
  const int of_c = batches * c_rows * (kernel.has_result_pitch ? c_pitch : s.n);
  const int of_a = (kernel.left_is_turned ? s.k : s.m) * a_pitch, begin = kernel.is_view ? 8 : 0;
  fuzz::Program p;
  p.function = parse(text_of(kernel), "product.tile").functions.at(0);
  p.grid = {(s.m + kernel.rows - 1) / kernel.rows, (s.n + kernel.columns - 1) / kernel.columns, batches};
  if (kernel.is_grouped) p.grid[0] *= std::exchange(p.grid[1], 1);
  p.arguments = {small_numbers(kernel.element, batches * (of_a + 16) + begin),
                 small_numbers(kernel.element, (kernel.right_is_turned ? s.n : s.k) * b_pitch),
                 buffer(*parse_element(kernel.result), of_c),
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 small_floats(of_c)};
  std::size_t next = 3;
  // Heads come before batches in memory, or behind them.
  const int near = of_a + 16, far = near * (kernel.left_is_turned ? 2 : heads);
  const int batch_step = kernel.left_is_turned ? near : far, head_step = kernel.left_is_turned ? far : near;
  for (const int word : {s.m, s.n, s.k, a_pitch, b_pitch, heads, batch_step, head_step, begin, above, 2, c_pitch})
    p.arguments[next++].word = static_cast<std::uint64_t>(word);
  return p;
}

fuzz::Program chained_products(int rows, int keys, int stages) {
  const std::string text = R"(
kernel @chain(%q: ptr<const f16> {divisible_by = 16, disjoint}, %k: ptr<const f16> {divisible_by = 16, disjoint},
              %v: ptr<const f16> {divisible_by = 16, disjoint}, %o: ptr<f32> {divisible_by = 16, disjoint}, %m: i32 {positive}, %n: i32) {
  %zero = constant {value = 0} : i32
  %side = constant {value = 128} : i32
  %p0 = program_id {axis = 0} : i32
  %i0 = mul %p0, %side : i32
  %ib = broadcast %i0 : i32[128]
  %r = arange {lo = 0, hi = 128} : i32[128]
  %is = add %ib, %r : i32[128]
  %i = reshape %is : i32[128, 1]
  %d = reshape %r : i32[1, 128]
  %i_most = add %m, %zero : i32
  %d_most = add %side, %zero : i32
  %j_most = add %n, %zero : i32
  %q_pitch = constant {value = 128} : i32
  %k_pitch = constant {value = 128} : i32
  %v_pitch = constant {value = 128} : i32
  %q_base = add_ptr %q, %zero : ptr<const f16>
  %k_base = add_ptr %k, %zero : ptr<const f16>
  %v_base = add_ptr %v, %zero : ptr<const f16>)" +
                           load("q", "i", "d", false, 128, 128) + R"(
  %none = constant {value = 0.0} : f32[128, 128]
  %sums = for %zero, %n, %side, %none {num_stages = STAGES} : f32[128, 128] (%at: i32, %acc: f32[128, 128]) {
    %atb = broadcast %at : i32[128]
    %js = add %atb, %r : i32[128]
    %j = reshape %js : i32[128, 1])" +
                           load("k", "j", "d", false, 128, 128) + load("v", "j", "d", false, 128, 128) + R"(
    %turned = permute %k_x {axes = [1, 0]} : f16[128, 128]
    %first = dot %q_x, %turned, %none : f32[128, 128]
    %rounded = cast %first : f16[128, 128]
    %second = dot %rounded, %v_x, %acc : f32[128, 128]
    yield %second
  }
  %po = mul %q_r, %q_p : i32[128, 128]
  %oo = add %po, %q_c : i32[128, 128]
  %ob = broadcast %o : ptr<f32>[128, 128]
  %op = add_ptr %ob, %oo : ptr<f32>[128, 128]
  store %op, %sums, %q_lr
})";
  fuzz::Program p;
  p.function = parse(replaced(text, {{"STAGES", std::to_string(stages)}, {"BELOW", "g"}}), "chain.tile").functions.at(0);
  p.grid = {(rows + 127) / 128, 1, 1};
  p.arguments = {small_halves(rows * 128), small_halves(keys * 128), small_halves(keys * 128), buffer(Element::f32, rows * 128), {}, {}};
  p.arguments[4].word = static_cast<std::uint64_t>(rows);
  p.arguments[5].word = static_cast<std::uint64_t>(keys);
  return p;
}

}  // namespace tilewright::test
