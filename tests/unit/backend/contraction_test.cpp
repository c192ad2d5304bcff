// Which loops the host back end computes as contractions, which factors it reads where they lie, and which it keeps for the next program.
#include "backend/host/contraction.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "backend/compile.h"
#include "tests/messages.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

using ir::OpKind;
using test::has;

namespace {

struct Planned {
  explicit Planned(const std::string& text, ProductInstructions products = {})
      : function(ir::parse(text, "test.tile").functions.at(0)), axes(function), plan(function, MemoryAxes{axes, 16, products}) {
    function.walk([&](OpId id) {
      if (function.kind(id) == OpKind::for_) loop = id;
    });
  }
  ir::Function function;
  passes::AxisInfoAnalysis axes;
  EvaluationPlan plan;
  OpId loop;

  const Contraction* contraction() const { return plan.contraction(loop); }
  /// The ops of the loop nests in the loop's body.
  std::string items() const {
    std::string out;
    for (const Step& step : plan.block(function.region(loop)).steps)
      for (const Item& item : step.items)
        out += (out.empty() ? "" : " ") + std::string(item.op ? ir::text(function.kind(item.op)) : "fill");
    return out;
  }
};

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [name, by] : names)
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += by.size()) text.replace(at, name.size(), by);
  return text;
}

/// The LLVM IR of a kernel.
std::string code(const std::string& text, const char* target = "cpu:x86-64-v4") {
  CompileOptions options;
  options.target = target;
  return compile(ir::parse(text, "test.tile").functions.at(0), options, {.keep_text = true, .dump = {}}).llvm_ir;
}

/// A product of 64 x 64 tiles, 16 deep. `mask`: of the left factor; `in_loop`, `left`: ops between the loads and the product, and its left
/// operand; `stored`: where the result goes; `right`: the right operand.
std::string product(const char* mask = "%both", const char* in_loop = "", const char* left = "%x", const char* yielded = "%d",
                    const char* stored = "%c", const char* right = "%y") {
  return std::string(R"(kernel @product(%a: ptr<const f32> {disjoint}, %b: ptr<f32> {disjoint}, %c: ptr<f32> {disjoint}, %n: i32) {
    %pid = program_id {axis = 0} : i32
    %i = arange {lo = 0, hi = 64} : i32[64]
    %k = arange {lo = 0, hi = 16} : i32[16]
    %ic = reshape %i : i32[64, 1]
    %jr = reshape %i : i32[1, 64]
    %size = constant {value = 64} : i32
    %first = mul %pid, %size : i32
    %fb = broadcast %first : i32[1, 64]
    %j = add %jr, %fb : i32[1, 64]
    %nc = broadcast %n : i32[64, 1]
    %nr = broadcast %n : i32[16, 1]
    %in = mul %ic, %nc : i32[64, 1]
    %rows = lt %ic, %nc : i1[64, 1]
    %zero = constant {value = 0} : i32
    %step = constant {value = 16} : i32
    %none = constant {value = 0.0} : f32[64, 64]
    %sum = for %zero, %n, %step, %none : f32[64, 64] (%at: i32, %s: f32[64, 64]) {
      %atb = broadcast %at : i32[16]
      %kk = add %k, %atb : i32[16]
      %kr = reshape %kk : i32[1, 16]
      %kc = reshape %kk : i32[16, 1]
      %nk = broadcast %n : i32[1, 16]
      %depth = lt %kr, %nk : i1[1, 16]
      %m1 = broadcast %rows : i1[64, 16]
      %m2 = broadcast %depth : i1[64, 16]
      %both = bit_and %m1, %m2 : i1[64, 16]
      %x1 = broadcast %in : i32[64, 16]
      %x2 = broadcast %kr : i32[64, 16]
      %odd = lt %x2, %x1 : i1[64, 16]
      %pidr = broadcast %pid : i32[1, 16]
      %far = add %kr, %pidr : i32[1, 16]
      %wraps = lt %far, %nk : i1[1, 16]
      %cut = broadcast %wraps : i1[64, 16]
      %xo = add %x1, %x2 : i32[64, 16]
      %xb = broadcast %a : ptr<const f32>[64, 16]
      %xp = add_ptr %xb, %xo : ptr<const f32>[64, 16]
      %x = load %xp, )") +
         mask + R"( : f32[64, 16]
      %kn = mul %kc, %nr : i32[16, 1]
      %y1 = broadcast %kn : i32[16, 64]
      %y2 = broadcast %j : i32[16, 64]
      %yo = add %y1, %y2 : i32[16, 64]
      %yb = broadcast %b : ptr<f32>[16, 64]
      %yp = add_ptr %yb, %yo : ptr<f32>[16, 64]
      %y = load %yp : f32[16, 64]
      )" +
         in_loop + R"(
      %d = dot )" +
         left + ", " + right + R"(, %s {precision = ieee} : f32[64, 64]
      yield )" +
         yielded + R"(
    }
    %c1 = broadcast %in : i32[64, 64]
    %c2 = broadcast %j : i32[64, 64]
    %co = add %c1, %c2 : i32[64, 64]
    %cb = broadcast )" +
         stored + R"( : ptr<f32>[64, 64]
    %cp = add_ptr %cb, %co : ptr<f32>[64, 64]
    store %cp, %sum
  })";
}

/// The product of factors and sums of these types, in steps of `depth`.
std::string product_of(const std::string& factor, const std::string& sum, const char* depth, std::string text = product()) {
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
  };
  const std::string sums = "f32[64, 64]";
  replace("%c: ptr<f32>", "%c: ptr<SUM>");
  replace("ptr<f32>[64, 64]", "ptr<SUM>[64, 64]");
  replace(sums, "SUM[64, 64]");
  replace("f32", factor);
  replace("16]", std::string(depth) + "]");
  replace("hi = 16", std::string("hi = ") + depth);
  replace("value = 16", std::string("value = ") + depth);
  replace("[16,", std::string("[") + depth + ",");
  replace("SUM", sum);
  if (sum == "i32") replace("value = 0.0", "value = 0");
  return text;
}

}  // namespace

TEST_CASE("contraction: panels of bytes are interleaved where an instruction adds four products") {
  for (const bool has_byte_products : {false, true}) {
    const Planned p(product_of("i8", "i32", "16"), {.four_bytes = has_byte_products});
    REQUIRE(p.contraction() != nullptr);
    CHECK(p.contraction()->dots.at(0).left.load);
    CHECK(p.contraction()->kept_blocks > 0);
    const Panels* panels = p.plan.panels(p.plan.operand_class(p.contraction()->dots.at(0).dot, 1));
    REQUIRE(panels != nullptr);
    CHECK(panels->are_interleaved == has_byte_products);
  }
  const Planned floats(product(), {.four_bytes = true});
  CHECK_FALSE(floats.plan.panels(floats.plan.operand_class(floats.contraction()->dots.at(0).dot, 1))->are_interleaved);
}

TEST_CASE("contraction: products are added in tile registers where steps fill their rows") {
  for (const char* depth : {"16", "64"}) {
    const Planned p(product_of("i8", "i32", depth), {.four_bytes = true, .byte_tiles = true});
    REQUIRE(p.contraction() != nullptr);
    const Panels* panels = p.plan.panels(p.plan.operand_class(p.contraction()->dots.at(0).dot, 1));
    REQUIRE(panels != nullptr);
    CHECK(panels->columns == 32);
    CHECK(panels->are_interleaved);
    CHECK(p.contraction()->iterations == 32);  // 512 products in registers, 2048 in tile registers
  }
  const Planned p(product_of("bf16", "f32", "32"), {.bf16_tiles = true});
  REQUIRE(p.contraction() != nullptr);
  CHECK(p.contraction()->dots.at(0).left.load);
  const Panels* panels = p.plan.panels(p.plan.operand_class(p.contraction()->dots.at(0).dot, 1));
  REQUIRE(panels != nullptr);
  CHECK(panels->columns == 32);
  CHECK(panels->are_interleaved);
  CHECK(p.contraction()->iterations == 32);  // 1024 products
}

TEST_CASE("contraction: the last block stores sums that go straight to memory") {
  const auto store = [](const std::string& text, ProductInstructions products = {.bf16_tiles = true}) {
    const Planned p(product_of("bf16", "f32", "32", text), products);
    REQUIRE(p.contraction() != nullptr);
    return p.contraction()->dots.at(0).store.valid();
  };
  const auto stored_by = [](const std::string& by) {
    std::string text = product();
    const std::string plain = "store %cp, %sum";
    return text.replace(text.find(plain), plain.size(), by);
  };
  CHECK(store(product()));
  CHECK(store(product(), {}));
  CHECK(Planned(product_of("f64", "f64", "16")).contraction()->dots.at(0).store.valid());
  CHECK(Planned(product_of("i8", "i32", "16"), {.four_bytes = true}).contraction()->dots.at(0).store.valid());
  CHECK(store(stored_by("%m = broadcast %rows : i1[64, 64]\n store %cp, %sum, %m")));
  CHECK_FALSE(store(stored_by("%m = lt %c1, %c2 : i1[64, 64]\n store %cp, %sum, %m")));
  CHECK_FALSE(store(stored_by("%t = add %sum, %sum : f32[64, 64]\n store %cp, %t")));
  CHECK_FALSE(store(stored_by("store %cp, %sum\n store %cp, %sum")));
  CHECK_FALSE(store(stored_by("store %cp, %sum {is_volatile}")));
  CHECK_FALSE(store(stored_by("%far = add_ptr %cp, %co : ptr<f32>[64, 64]\n store %far, %sum")));  // columns are not neighbours
  std::string shared = product();                                                                  // with factors
  for (const std::string word = " {disjoint}"; shared.find(word) != std::string::npos;) shared.erase(shared.find(word), word.size());
  CHECK_FALSE(store(shared));
}

TEST_CASE("contraction: the code copies right factors by the first register tiles, fetches left ones, and stores past the caches") {
  CHECK(has(code(product()), "\npack"));
  CHECK_FALSE(has(code(product("%both", "%z = abs %y : f32[16, 64]", "%x", "%d", "%c", "%z")), "\npack"));
  // Rows behind the end of a matrix, of which a mask hides all lanes, may be in no page of the process.
  CHECK(has(code(product("%both", "%x3 = mul %x, %x : f32[64, 16]", "%x3")), "(ptr %some_lane"));
  // Rows of the left factor that follow those of a register tile are fetched, if they are read in memory.
  CHECK(has(code(product()), "i32 0, i32 3, i32 1"));
  CHECK_FALSE(has(code(product("%both", "%x3 = mul %x, %x : f32[64, 16]", "%x3")), "i32 0, i32 3, i32 1"));
  CHECK(has(code(product()), "!nontemporal"));
  // The sums go to memory from which the launch loads.
  CHECK_FALSE(has(code(product("%both", "", "%x", "%d", "%b")), "!nontemporal"));
}

TEST_CASE("contraction: the code has register tiles of few rows and more columns for the live rows of a larger tile") {
  const auto few = [](const char* target, const std::string& text) { return has(code(text, target), "\nfew_rows"); };
  std::string cut = product();
  const std::string plain = "store %cp, %sum";
  cut.replace(cut.find(plain), plain.size(), "%m = broadcast %rows : i1[64, 64]\n store %cp, %sum, %m");
  for (const char* target : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
    CHECK(few(target, cut));
    CHECK_FALSE(few(target, product()));  // all rows are live
  }
}

TEST_CASE("contraction: only columns that register tiles with live columns read need be in memory") {
  const auto asks = [](const std::string& text) { return has(code(text), "%needed_columns"); };
  std::string cut = product();
  const std::string plain = "store %cp, %sum";
  cut.replace(cut.find(plain), plain.size(),
              "%nj = broadcast %n : i32[1, 64]\n %cl = lt %j, %nj : i1[1, 64]\n %m = broadcast %cl : i1[64, 64]\n store %cp, %sum, %m");
  CHECK(asks(cut));
  CHECK_FALSE(asks(product()));
}

TEST_CASE("contraction: tiles that copy right factors and those that read the copies share their code, and so do rows of fetched lines") {
  const std::string text = code(product());
  const auto count = [&](const std::string& piece) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(piece, at)) != std::string::npos; at += piece.size()) ++n;
    return n;
  };
  CHECK(count("\nloaded") == 1);                // where sums are loaded that an earlier block has stored
  CHECK(count("\nstreams") == 2);               // where sums are stored past the caches, and their lines need not be fetched
  CHECK(count(", i32 1, i32 3, i32 1)") == 2);  // the two lines of a row
}

TEST_CASE("contraction: sums start at zero without a buffer of zeros") {
  for (const bool has_tiles : {false, true})
    for (const char* first : {"0.0", "1.0"}) {
      std::string text = product();
      const std::string zero = "%none = constant {value = 0.0}";
      text.replace(text.find(zero), zero.size(), std::string("%none = constant {value = ") + first + "}");
      const Planned p(product_of("bf16", "f32", "32", text), {.bf16_tiles = has_tiles});
      bool has_fill = false;
      for (const Step& step : p.plan.block(p.function.body()).steps)
        for (const Item& item : step.items) has_fill = has_fill || item.fill.valid();
      CHECK(has_fill == (std::string(first) == "1.0"));
    }
}

TEST_CASE("contraction: the left factor is read in memory, the right one is kept in panels") {
  const Planned p(product());
  REQUIRE(p.contraction() != nullptr);
  CHECK(p.contraction()->dots.at(0).left.load);
  CHECK(p.contraction()->dots.at(0).left.mask.rows.size() == 1);
  CHECK(p.contraction()->dots.at(0).left.mask.columns.size() == 1);
  CHECK(p.contraction()->iterations == 32);  // 512 products
  CHECK(p.contraction()->kept_blocks > 0);
  CHECK(p.contraction()->key.size() == 1);  // the first column
  CHECK(p.items() == "load");
}

TEST_CASE("contraction: a left factor with a mask of another form is copied") {
  const Planned p(product("%odd"));
  REQUIRE(p.contraction() != nullptr);
  CHECK_FALSE(p.contraction()->dots.at(0).left.load);
  CHECK(p.items() == "load load");
}

TEST_CASE("contraction: a left factor is copied if an index wraps that its mask compares, and no address is computed from it") {
  const Planned p(product("%cut"));
  REQUIRE(p.contraction() != nullptr);
  CHECK_FALSE(p.contraction()->dots.at(0).left.load);
}

TEST_CASE("contraction: programs of few rows read the right factor in memory") {
  const Planned p(product());
  REQUIRE(p.contraction() != nullptr);
  CHECK(p.contraction()->dots.at(0).right.load);
  CHECK(p.contraction()->reads_right);
  const Planned computed(product("%both", "%z = abs %y : f32[16, 64]", "%x", "%d", "%c", "%z"));
  REQUIRE(computed.contraction() != nullptr);
  CHECK_FALSE(computed.contraction()->reads_right);
}

TEST_CASE("contraction: programs of few rows stream long rows of the right factor, some of them side by side") {
  const auto streamed = [](const std::string& rows, const std::string& columns) {
    const Planned p("kernel @product(%a: ptr<const f32> {disjoint}, %b: ptr<const f32> {disjoint}, %c: ptr<f32> {disjoint}, %n: i32) {" +
                    replaced(R"(
    %i = arange {lo = 0, hi = $m} : i32[$m]
    %j = arange {lo = 0, hi = $n} : i32[$n]
    %d = arange {lo = 0, hi = 8} : i32[8]
    %ic = reshape %i : i32[$m, 1]
    %jr = reshape %j : i32[1, $n]
    %dr = reshape %d : i32[1, 8]
    %dc = reshape %d : i32[8, 1]
    %zero = constant {value = 0} : i32
    %step = constant {value = 8} : i32
    %none = constant {value = 0.0} : f32[$m, $n]
    %c2 = for %zero, %n, %step, %none : f32[$m, $n] (%k: i32, %acc: f32[$m, $n]) {
      %nm = broadcast %n : i32[$m, 1]
      %xr = mul %ic, %nm : i32[$m, 1]
      %kr = broadcast %k : i32[1, 8]
      %xk = add %kr, %dr : i32[1, 8]
      %x1 = broadcast %xr : i32[$m, 8]
      %x2 = broadcast %xk : i32[$m, 8]
      %xo = add %x1, %x2 : i32[$m, 8]
      %xb = broadcast %a : ptr<const f32>[$m, 8]
      %xp = add_ptr %xb, %xo : ptr<const f32>[$m, 8]
      %x = load %xp : f32[$m, 8]
      %kc = broadcast %k : i32[8, 1]
      %yk = add %kc, %dc : i32[8, 1]
      %size = constant {value = $n} : i32[8, 1]
      %yr = mul %yk, %size : i32[8, 1]
      %y1 = broadcast %yr : i32[8, $n]
      %y2 = broadcast %jr : i32[8, $n]
      %yo = add %y1, %y2 : i32[8, $n]
      %yb = broadcast %b : ptr<const f32>[8, $n]
      %yp = add_ptr %yb, %yo : ptr<const f32>[8, $n]
      %y = load %yp : f32[8, $n]
      %s = dot %x, %y, %acc : f32[$m, $n]
      yield %s
    }
    %cs = constant {value = $n} : i32[$m, 1]
    %cr = mul %ic, %cs : i32[$m, 1]
    %o1 = broadcast %cr : i32[$m, $n]
    %o2 = broadcast %jr : i32[$m, $n]
    %o = add %o1, %o2 : i32[$m, $n]
    %cb = broadcast %c : ptr<f32>[$m, $n]
    %cp = add_ptr %cb, %o : ptr<f32>[$m, $n]
    store %cp, %c2
  })",
                             {{"$m", rows}, {"$n", columns}}));
    REQUIRE(p.contraction() != nullptr);
    CHECK(p.contraction()->reads_right);
    return std::pair(streams_right(p.function, p.contraction()->dots[0].dot), iterations_in_place(p.function, *p.contraction()));
  };
  CHECK(streamed("8", "1024") == std::pair(true, std::int64_t{1}));
  CHECK(streamed("8", "512") == std::pair(false, std::int64_t{16}));
  CHECK_FALSE(streamed("16", "1024").first);
}

TEST_CASE("contraction: a dot outside of contractions reads the right factor of few rows in memory") {
  /// `between`: ops between the load of the right factor and the dot; `right`: the right operand; `mask`: of the load.
  const auto reads = [](const std::string& rows, const std::string& between = "", const char* right = "%y", const char* mask = "%cut",
                        const char* options = "") {
    const Planned p("kernel @product(%a: ptr<const f32> {disjoint}, %b: ptr<f32> {disjoint}, %c: ptr<f32> {disjoint}, %n: i32) {" +
                    replaced(R"(
    %i = arange {lo = 0, hi = $m} : i32[$m]
    %j = arange {lo = 0, hi = 64} : i32[64]
    %k = arange {lo = 0, hi = 16} : i32[16]
    %ic = reshape %i : i32[$m, 1]
    %jr = reshape %j : i32[1, 64]
    %kr = reshape %k : i32[1, 16]
    %kc = reshape %k : i32[16, 1]
    %wide = constant {value = 64} : i32[16, 1]
    %deep = constant {value = 16} : i32[$m, 1]
    %far = constant {value = 64} : i32[$m, 1]
    %none = constant {value = 0.0} : f32[$m, 64]
    %xr = mul %ic, %deep : i32[$m, 1]
    %x1 = broadcast %xr : i32[$m, 16]
    %x2 = broadcast %kr : i32[$m, 16]
    %xo = add %x1, %x2 : i32[$m, 16]
    %xb = broadcast %a : ptr<const f32>[$m, 16]
    %xp = add_ptr %xb, %xo : ptr<const f32>[$m, 16]
    %x = load %xp : f32[$m, 16]
    %yr = mul %kc, %wide : i32[16, 1]
    %y1 = broadcast %yr : i32[16, 64]
    %y2 = broadcast %jr : i32[16, 64]
    %yo = add %y1, %y2 : i32[16, 64]
    %yb = broadcast %b : ptr<f32>[16, 64]
    %yp = add_ptr %yb, %yo : ptr<f32>[16, 64]
    %nk = broadcast %n : i32[16, 1]
    %seen = lt %kc, %nk : i1[16, 1]
    %cut = broadcast %seen : i1[16, 64]
    %odd = lt %y2, %y1 : i1[16, 64]
    %y = load %yp, $k$v : f32[16, 64]
    $b
    %d = dot %x, $y, %none {precision = ieee} : f32[$m, 64]
    %or = mul %ic, %far : i32[$m, 1]
    %o1 = broadcast %or : i32[$m, 64]
    %o2 = broadcast %jr : i32[$m, 64]
    %oo = add %o1, %o2 : i32[$m, 64]
    %cb = broadcast %c : ptr<f32>[$m, 64]
    %cp = add_ptr %cb, %oo : ptr<f32>[$m, 64]
    store %cp, %d
  })",
                             {{"$m", rows}, {"$b", between}, {"$y", right}, {"$k", mask}, {"$v", options}}));
    bool found = false;
    p.function.walk([&](OpId id) { found = found || (p.function.kind(id) == OpKind::dot_ && p.plan.right_in_memory(id) != nullptr); });
    // The load is a step of its own, which is executed if the mask cuts rows.
    bool is_alone = false;
    for (const Step& step : p.plan.block(p.function.body()).steps)
      if (step.right_of) is_alone = step.items.size() == 1 && p.function.kind(step.items[0].op) == OpKind::load_;
    CHECK(found == is_alone);
    return found;
  };
  for (const char* rows : {"1", "4", "8"}) CHECK(reads(rows));
  CHECK_FALSE(reads("16"));
  CHECK_FALSE(reads("4", "", "%y", "%odd"));
  CHECK_FALSE(reads("4", "", "%y", "%cut", " {is_volatile}"));  // the dot would read it more than once, and later
  CHECK_FALSE(reads("4", "%z = abs %y : f32[16, 64]", "%z"));
  CHECK_FALSE(reads("4", "%z = abs %y : f32[16, 64]\n store %yp, %z"));
  CHECK_FALSE(reads("4", "%one = constant {value = 1.0} : f32[16, 64]\n store %yp, %one"));
}

TEST_CASE("contraction: a right factor with a hole between its first and its last row is copied") {
  for (const char* condition : {"ge", "ne"}) {
    std::string text = product();
    const std::string load = "%y = load %yp :";
    text.replace(text.find(load), load.size(),
                 std::string("%few = constant {value = 3} : i32[16, 1]\n %kf = ") + condition +
                     " %kc, %few : i1[16, 1]\n %kl = lt %kc, %nr : i1[16, 1]\n"
                     " %kb = bit_and %kf, %kl : i1[16, 1]\n %ym = broadcast %kb : i1[16, 64]\n"
                     " %y = load %yp, %ym :");
    const Planned p(text);
    REQUIRE(p.contraction() != nullptr);
    CHECK(p.contraction()->reads_right == (std::string(condition) == "ge"));
  }
}

TEST_CASE("contraction: a left factor with another use is copied") {
  const Planned p(product("%both", "%x3 = mul %x, %x : f32[64, 16]", "%x3"));
  REQUIRE(p.contraction() != nullptr);
  CHECK_FALSE(p.contraction()->dots.at(0).left.load);
  CHECK(p.items() == "load mul load");
}

TEST_CASE("contraction: a right factor that the launch writes is not kept") {
  const Planned p(product("%both", "", "%x", "%d", "%b"));
  REQUIRE(p.contraction() != nullptr);
  CHECK(p.contraction()->kept_blocks == 0);
}

TEST_CASE("contraction: none where the accumulator is used within the loop") {
  CHECK(Planned(product("%both", "", "%x", "%s")).contraction() == nullptr);
  CHECK(Planned(product("%both", "%e = add %s, %s : f32[64, 64]")).contraction() == nullptr);
}

}  // namespace tilewright::backend::host
