// The subcommand graph: what it shows of a plan, runs on devices and the interpreter, and mistakes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace tilewright::test {
namespace {

using cli::read_npy;
using Words = std::vector<std::string>;

// Attention of a symbol's length, and a sum with a scalar.
const char* const kAttention = R"(graph {
  symbol n {max = 64}
  composite 0 "softmax"
  %q = input : f32[n, 16]
  %k = input : f32[n, 16]
  %v = input : f32[n, 16]
  %unused = input : f32[7]
  %scale = scalar : f32
  %5 = permute %k {axes = [1, 0]} : f32[16, n]
  %6 = einsum %q, %5 {text = "mk,kn->mn"} : f32[n, n]
  %scores = mul %6, %scale : f32[n, n]
  %8 = reduce %scores {kind = max, axes = [1], keep_dims, composite = 0} : f32[n, 1]
  %9 = sub %scores, %8 {composite = 0} : f32[n, n]
  %10 = exp %9 {composite = 0} : f32[n, n]
  %11 = reduce %10 {kind = sum, axes = [1], keep_dims, composite = 0} : f32[n, 1]
  %12 = div %10, %11 {composite = 0} : f32[n, n]
  %13 = einsum %12, %v {text = "mk,kn->mn"} : f32[n, 16]
  output "out" %13
}
)";

// Two kernels at least, one of them of parameters alone: sums of different axes, an index into rows.
const char* const kTwo = R"(graph {
  %x = input : f32[8, 24]
  %i = input : i32[5]
  %0 = gather %x, %i {axes = [0]} : f32[5, 24]
  %1 = reduce %0 {kind = sum, axes = [1]} : f32[5]
  %2 = reduce %x {kind = max, axes = [0]} : f32[24]
  output "sums" %1
  output "most" %2
}
)";

Outcome graph(const char* text, Words words, const std::filesystem::path& folder = ".") {
  words.insert(words.begin(), {"graph", "-"});
  return tilewright(words, text, folder);
}

TEST_CASE("graph: explains the plan of a file, as text and as a picture, for a target and for a device") {
  const Folder folder;
  folder.write("attention.graph", kAttention);
  const Outcome text = tilewright({"graph", "attention.graph"}, "", folder.path());
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(text.out.starts_with("plan for cpu: 1 kernel;"));
  for (const char* part : {"scores (mul) (attention.graph:11)", "softmax (attention.graph:3)", "\nproof: exact"})
    CHECK(contains(text.out, part));
  CHECK(tilewright({"graph", "attention.graph", "--emit", "explain", "--target", "sm_90a"}, "", folder.path())
            .out.starts_with("plan for sm_90a: 1 kernel;"));
  CHECK(tilewright({"graph", "attention.graph", "--device", "emulator:sm_80"}, "", folder.path())
            .out.starts_with("plan for emulator:sm_80: 1 kernel;"));
  const Outcome unfused = tilewright({"graph", "attention.graph", "--no-fuse"}, "", folder.path());
  CHECK(contains(unfused.out, "because    one node\n"));
  const Outcome picture = tilewright({"graph", "attention.graph", "--emit", "svg", "-o", "a.svg"}, "", folder.path());
  CHECK(picture.code == 0);
  CHECK(picture.out.empty());
  CHECK(folder.read("a.svg").starts_with("<svg "));
  CHECK(contains(folder.read("a.svg"), "softmax (attention.graph:3)"));
}

TEST_CASE("graph: its kernels as tile IR, which compile reads, and as PTX; the graph itself") {
  const Outcome ir = graph(kTwo, {"--emit", "tileir"});
  CHECK(ir.code == 0);
  const Outcome compiled = tilewright({"compile", "-"}, ir.out);
  CAPTURE(compiled.err);
  CHECK(compiled.code == 0);
  const Outcome ptx = graph(kAttention, {"--emit", "ptx", "--target", "sm_80"});
  CHECK(ptx.code == 0);
  CHECK(contains(ptx.out, "\n.target sm_80"));
  const Outcome chosen = graph(kAttention, {"--emit", "tileir", "--kernel", "out"});
  CHECK(chosen.out.starts_with("kernel @out("));
  CHECK(graph(kAttention, {"--emit", "graph"}).out == kAttention);
  CHECK(contains(graph(kAttention, {"--emit", "graph", "--locations"}).out, "%scores = mul %6, %scale : f32[n, n] @ \"<stdin>\":11:3\n"));
}

TEST_CASE("graph: its labelled terms, what equals them, and the graph that is made of them, which is read again and computes the same") {
  const Outcome terms = graph(kTwo, {"--emit", "terms"});
  CHECK(terms.code == 0);
  CHECK(contains(terms.out, "t0[a, b] : f32["));
  CHECK(contains(terms.out, "= leaf gather(t0["));
  CHECK(contains(terms.out, "output \"most\" t"));
  CHECK(graph(kTwo, {"--emit", "terms", "--device", "interpreter"}).out == terms.out);
  const Outcome classes = graph(kTwo, {"--emit", "classes"});
  CHECK(classes.code == 0);
  CHECK(contains(classes.out, "\n  = leaf gather(t0["));
  CHECK(contains(classes.out, " nodes, complete after "));
  const Outcome rewritten = graph(kAttention, {"--emit", "rewritten"});
  CHECK(rewritten.code == 0);
  CHECK(graph(rewritten.out.c_str(), {"--emit", "graph"}).out == rewritten.out);
  CHECK(graph(rewritten.out.c_str(), {"--random", "1", "--arg", "n=20", "--arg", "scale=0.25", "--compare", "1e-5"}).code == 0);
}

TEST_CASE("graph: runs on files of NumPy, whose shapes are the symbols' values, on every device as in the interpreter") {
  const Folder folder;
  std::vector<float> x(20 * 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  folder.write("q.npy", npy(ir::Element::f32, x, {20, 16}));
  std::vector<std::vector<float>> results;
  for (const char* device : {"cpu", "emulator:sm_80", "interpreter"}) {
    CAPTURE(device);
    const Outcome o = graph(kAttention,
                            {"--device", device, "--arg", "q=q.npy", "--arg", "k=q.npy", "--arg", "v=zeros:f32:320", "--arg", "scale=0.25",
                             "--arg", "v=q.npy", "--out", "out=out.npy"},
                            folder.path());
    CHECK(o.code == 2);
    CHECK(contains(o.err, "input 'v' is given twice"));
    const Outcome right = graph(kAttention,
                                {"--device", device, "--arg", "q=q.npy", "--arg", "k=q.npy", "--arg", "v=q.npy", "--arg", "scale=f32:0.25",
                                 "--out", "out=out.npy", "--compare", "1e-3"},
                                folder.path());
    CAPTURE(right.err);
    CHECK(right.code == 0);
    CHECK(right.out.empty());
    CHECK(right.err.starts_with("out: relative error "));
    CHECK(read_npy(folder.read("out.npy"), "out").shape == std::vector<std::int64_t>{20, 16});
    results.push_back(values<float>(folder.read("out.npy")));
  }
  for (const auto& r : results)
    for (std::size_t i = 0; i < r.size(); ++i) CHECK(std::abs(r[i] - results[2][i]) < 1e-2f);
}

TEST_CASE("graph: random inputs, zeros of a size, results through standard output, sizes of the run in explain") {
  const Outcome o =
      graph(kAttention, {"--random", "7", "--arg", "n=33", "--arg", "scale=0.5", "--compare", "1e-4", "--report", "--emit=explain"});
  CHECK(o.code == 0);
  CHECK(contains(o.out, "the latest run had n = 33 and moved "));
  CHECK(contains(o.err, "graph on cpu: "));
  CHECK(contains(o.err, ", the median of "));
  CHECK(contains(o.err, "out: relative error "));
  const Outcome zeros = graph(kTwo, {"--random", "7", "--arg", "x=zeros:f32:192", "--out", "sums=-", "--batch-invariant",
                                     "--no-reassociate", "--no-move-rounding", "--no-deterministic", "--max-workspace", "100000"});
  CHECK(zeros.code == 0);
  CHECK(values<float>(zeros.out) == std::vector<float>(5));
  const Outcome first = graph(kTwo, {"--random", "1", "--out", "most=-"}), other = graph(kTwo, {"--random", "2", "--out", "most=-"});
  CHECK(first.out == graph(kTwo, {"--random", "1", "--out", "most=-"}).out);
  CHECK(first.out != other.out);
  // A tolerance of 0 asks for the bits of the graph in double precision.
  std::string in_doubles = kAttention;
  for (std::size_t at = in_doubles.find("f32"); at != in_doubles.npos; at = in_doubles.find("f32")) in_doubles.replace(at, 3, "f64");
  const Outcome inexact = graph(in_doubles.c_str(), {"--random", "7", "--arg", "n=33", "--arg", "scale=0.5", "--compare", "0"});
  CHECK(inexact.code == 1);
  CHECK(contains(inexact.err, "tilewright: error: elements of 'out' are beyond --compare 0\n"));
}

TEST_CASE("graph: a search, its limits, and the graph that it chooses") {
  const char* const kProducts = R"(graph {
  %q = input : f32[600, 8]
  %k = input : f32[600, 8]
  %v = input : f32[600, 8]
  %0 = einsum %q, %k {text = "id,jd->ij"} : f32[600, 600]
  %1 = einsum %0, %v {text = "ij,je->ie"} : f32[600, 8]
  output "o" %1
})";
  CHECK(!contains(graph(kProducts, {"--search", "off"}).out, "rewritten"));
  CHECK(graph(kProducts, {}).out == graph(kProducts, {"--search", "estimate"}).out);
  const Outcome o = graph(kProducts, {"--random", "1", "--compare", "1e-4", "--emit", "explain"});
  CHECK(o.code == 0);
  CHECK(contains(o.out, "  order: (q k) v  ->  q (k v); saves about "));
  const Outcome rewritten = graph(kProducts, {"--emit", "rewritten"});
  CHECK(!contains(rewritten.out, "[600, 600]"));
  CHECK(graph(rewritten.out.c_str(), {"--emit", "rewritten"}).out == rewritten.out);
  CHECK(contains(graph(kProducts, {"--emit", "rewritten", "--search", "off"}).out, "[600, 600]"));
  CHECK(contains(graph(kProducts, {"--search", "estimate", "--search-gain", "1000"}).out, "less than 1000"));
  CHECK(contains(graph(kProducts, {"--search", "estimate", "--search-nodes", "1"}).out, "at a limit"));
  CHECK(contains(graph(kProducts, {"--search", "all"}).err, "--search 'all' is none of off, estimate, measure"));
  CHECK(graph(kProducts, {"--search", "estimate", "--search-candidates", "0"}).code != 0);
  CHECK(contains(graph(kProducts, {"--search", "measure", "--target", "cpu"}).err, "--search measure runs graphs: it needs a --device"));
  setenv("TILEWRIGHT_WISDOM", "off", 1);
  const Outcome measured = graph(kProducts, {"--search", "measure", "--search-candidates", "2", "--emit", "explain"});
  unsetenv("TILEWRIGHT_WISDOM");
  CHECK(measured.code == 0);
  CHECK(contains(measured.out, ", the best ones measured\n"));
}

TEST_CASE("graph: extents of 0, of a symbol and of a tensor") {
  const char* const kEmpty = R"(graph {
  symbol n {min = 0}
  %x = input : f32[n, 3]
  %y = input : f32[0, 3]
  %0 = reduce %x {kind = sum, axes = [0]} : f32[3]
  %1 = concat %x, %y {axes = [0]} : f32[n, 3]
  output "sums" %0
  output "joined" %1
}
)";
  for (const char* n : {"n=0", "n=5"}) {
    const Outcome o = graph(kEmpty, {"--random", "7", "--arg", n, "--compare", "1e-5"});
    CAPTURE(o.err);
    CHECK(o.code == 0);
  }
  CHECK(values<float>(graph(kEmpty, {"--random", "7", "--arg", "n=0", "--out", "sums=-"}).out) == std::vector<float>(3));
  CHECK(contains(graph(kEmpty, {"--random", "7", "--arg", "n=-1"}).err, "it must be at least 0"));
}

struct Mistake {
  Words words;
  int code;
  std::string text;
};

TEST_CASE("graph: mistakes of the command line name what was seen and what is there") {
  const Folder folder;
  folder.write("q.npy", npy(ir::Element::f32, numbers(320, 1), {20, 16}));
  folder.write("wide.npy", npy(ir::Element::f32, numbers(320, 1), {10, 32}));
  folder.write("flat.npy", npy(ir::Element::f32, numbers(320, 1)));
  folder.write("long.npy", npy(ir::Element::f32, numbers(1040, 1), {65, 16}));
  folder.write("i32.npy", npy(ir::Element::i32, std::vector<int>(320), {20, 16}));
  const Mistake mistakes[] = {
      {{"--emit", "ptxx"}, 2, "--emit 'ptxx' is none of explain, svg, tileir, ptx, graph, terms, classes, rewritten (did you mean 'ptx'?)"},
      {{"--emit", "ptx"}, 2, "--emit ptx: target 'cpu' is not a GPU"},
      {{"--target", "sm_81"}, 2, "'sm_81'"},
      {{"--target", "cpu", "--device", "cpu"}, 2, "--target is for plans that do not run, --device for those that do; give one"},
      {{"--target", "cpu", "--random", "1"}, 2, "--target compiles only; --device runs the graph"},
      {{"--device", "interpreter", "--emit", "svg"}, 2, "--emit svg: the interpreter has no kernels"},
      {{"--device", "cpux"}, 2, "'cpux'"},
      {{"--kernel", "out"}, 2, "--kernel is for --emit tileir and ptx"},
      {{"--emit", "tileir", "--kernel", "ou"}, 2, "the plan has no kernel 'ou' (did you mean 'out'?); it has '"},
      {{"--no-fuse", "--emit", "ptx", "--target", "sm_80"}, 2, "kernels; name one with --kernel: '"},
      {{"--arg", "n=5"}, 2, "no --arg gives a value to input 'q' (a FILE.npy of f32 (float32) or zeros:f32:N), input 'k'"},
      {{"--random", "1"}, 2, "no --arg gives a value to symbol 'n' (a number), scalar 'scale' (f32:NUMBER)"},
      {{"--arg", "n=5", "--arg", "n=5"}, 2, "symbol 'n' is given twice"},
      {{"--arg", "n=x"}, 2, "symbol 'n' is an extent, and 'x' is not an integer"},
      {{"--arg", "n=65"}, 2, "symbol 'n' is 65; it must be at most 64"},
      {{"--arg", "q=long.npy"}, 2, "symbol 'n' is 65; it must be at most 64"},
      {{"--arg", "scal=1"},
       2,
       "the graph has no input, scalar or symbol 'scal' (did you mean 'scale'?); it has 'q', 'k', 'v', 'unused', 'scale', 'n'"},
      {{"--arg", "scale=x"}, 2, "scalar 'scale' is f32, which 'x' is not; expected f32:NUMBER"},
      {{"--arg", "scale=i32:1"}, 2, "scalar 'scale' is f32, and 'i32:1' is i32"},
      {{"--arg", "q=i32.npy"}, 2, "input 'q' is f32[n, 16], and 'i32.npy' has elements of dtype '<i4'"},
      {{"--arg", "q=flat.npy"}, 2, "input 'q' is f32[n, 16], and 'flat.npy' is [320]"},
      {{"--arg", "q=wide.npy", "--random", "1", "--arg", "scale=1"}, 2, "input 'q' is f32[n, 16], and 'wide.npy, axis 1' has 32"},
      {{"--arg", "q=q.npy", "--arg", "n=21", "--random", "1", "--arg", "scale=1"},
       2,
       "input 'q' is f32[n, 16], where n = 21, and 'q.npy, axis 0' has 20"},
      {{"--arg", "q=zeros:f32:100", "--random", "1", "--arg", "scale=1", "--arg", "n=5"},
       2,
       "input 'q' is f32[n, 16], where n = 5, and 'zeros:f32:100' has 100"},
      {{"--random", "1", "--arg", "n=5", "--arg", "scale=1", "--out", "ou=a.npy"}, 2, "the graph has no output 'ou' (did you mean 'out'?)"},
      {{"--random", "1", "--arg", "n=5", "--arg", "scale=1", "--limit", "5"}, 2, "--limit is for emulators"},
  };
  for (const Mistake& m : mistakes) {
    std::string line;
    for (const std::string& w : m.words) line += " " + w;
    CAPTURE(line);
    const Outcome o = graph(kAttention, m.words, folder.path());
    CAPTURE(o.err);
    CHECK(o.code == m.code);
    CHECK(o.out.empty());
    CHECK(contains(o.err, m.text));
    CHECK(contains(o.err, "\nsee 'tilewright graph --help'") == (m.code == 2));
  }
}

TEST_CASE("graph: a mistake in the file is shown with its line and column") {
  const Outcome shape =
      graph("graph {\n  %x = input : f32[4, 8]\n  %y = input : f32[4, 7]\n  %z = add %x, %y : f32[4, 8]\n  output \"z\" %z\n}\n", {});
  CHECK(shape.code == 1);
  CHECK(shape.out.empty());
  CHECK(shape.err.starts_with("<stdin>:4:8: error: add: "));
  CHECK(contains(shape.err, "[4, 8]"));
  CHECK(contains(shape.err, "[4, 7]"));
  CHECK(contains(shape.err, "\n    4 |   %z = add %x, %y : f32[4, 8]\n      |        ^\n"));
  const Outcome none = graph("graph {\n  %x = input : f32[4]\n}\n", {});
  CHECK(none.code == 1);
  CHECK(none.err == "tilewright: error: '<stdin>' has no output\n");
  const Outcome uneven = graph("graph {\n  symbol n\n  %x = input : f32[n]\n  %y = reshape %x : f32[2, \"n / 2\"]\n  output \"y\" %y\n}\n",
                               {"--random", "1", "--arg", "n=3"});
  CHECK(uneven.code == 1);
  CHECK(contains(uneven.err, "<stdin>:4:3: error: extent 'n / 2' is not an integer"));
}

}  // namespace
}  // namespace tilewright::test
