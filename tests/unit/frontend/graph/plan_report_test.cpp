// Reports of a plan: kernels as data, explain() and its picture; and plans that are compiled from graphs.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "tests/messages.h"
#include "tests/unit/frontend/graph/fake_program.h"

namespace fake_program {
namespace {

using tilewright::test::has;
std::size_t count_of(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

/// Two kernels, of which the second covers a softmax, and a third that reads the first's result late.
struct Sample {
  tw::Graph graph;
  std::optional<FakeProgram> program;
  int line = 0;

  Sample() {
    const tw::Dim n = graph.dim("n", {.min = 8, .max = 8});
    auto x = graph.input<float>("x", {n, 16}), bias = graph.input<float>("bias", {n, 16});
    auto scaled = (x * 2.0f).name("scaled & <biased>");
    line = __LINE__ + 1;
    auto soft = tw::softmax(scaled, -1);
    auto y = soft + bias;
    graph.output("y", y), graph.output("a result with a name that is much longer than any box should be, so that it must be cut", y);
    program.emplace(graph);
    for (const char* name : {"t0", "t1"}) program->add(name, BufferKind::intermediate, {n, 16});
    const tw::graph::Graph& g = nodes(graph);
    std::vector<tw::graph::NodeId> all;
    for (std::uint32_t i = 0; i < g.size(); ++i) all.push_back({i});
    program->kernel("t0", 2, "x", "bias").covers = {{scaled.node()}};
    program->kernel("t1", 3, "t0", "x").covers = all;
    program->kernel("y", 1, "t1", "t0").covers = {{y.node()}};
    program->kernel(program->program.buffers[program->buffer("y") + 1].name, 1, "x", "t0");
    program->program.kernels.back().name = "late";
    program->program.kernels[2].loop = {std::string(400, 'j'), "n", 2, {}};
    tw::passes::fusion::LoopReport& loop = program->program.kernels[1].loop;
    loop = {"j", "16", 2, {}};
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (const tw::graph::Node& node = g.node({i}); node.op == tw::graph::Op::reduce)
        loop.reductions.push_back(
            {static_cast<int>(loop.reductions.size()),
             1,
             node.kind == tw::graph::Combine::max ? tw::passes::fusion::Policy::rolling : tw::passes::fusion::Policy::deferred,
             node.kind,
             {i}});
    tw::passes::fusion::SequenceBuffer& second = program->program.buffers[static_cast<std::size_t>(program->buffer("t1"))];
    second.source = {soft.node()}, second.contents = tw::passes::fusion::BufferContents::part;
    program->program.kernels[1].estimate = "1.0 KiB through memory";
    program->program.not_fused = {"not fused: exp (a.cpp:3) because sum (a.cpp:2) is complete only after all of j"};
    program->program.proof = {.exact = true, .rounds = 3, .log2_error = -180, .left_open = {}, .text = ""};
  }
};

struct Rectangle {
  double x, y, width, height;
  bool contains(double px, double py) const { return px >= x && px <= x + width && py >= y && py <= y + height; }
};

double number(const std::string& element, const std::string& attribute) {
  const auto at = element.find(" " + attribute + "=\"");
  REQUIRE(at != std::string::npos);
  return std::stod(element.substr(at + attribute.size() + 3));
}

}  // namespace

TEST_CASE("plan report: kernels as data") {
  Sample sample;
  const tw::Plan plan = sample.program->plan(tw::Device::open("emulator:sm_80"));
  const std::vector<tw::PlannedKernel> kernels = plan.kernels();
  REQUIRE(kernels.size() == 4);
  CHECK(kernels[0].name == "make_t0");
  CHECK(kernels[0].reason == "made by hand");
  CHECK(kernels[0].grid == std::array<std::int64_t, 3>{2, 1, 1});  // 8 rows of 16, 64 a program
  CHECK(kernels[0].bytes_read == 2 * 8 * 16 * 4);
  CHECK(kernels[0].bytes_written == 8 * 16 * 4);
  CHECK(kernels[0].flops == 2 * 8 * 16);
  CHECK(has(kernels[0].tile_ir, "kernel @make_t0("));
  CHECK(has(kernels[0].ptx, ".target sm_80"));
  REQUIRE(kernels[0].covers.size() == 1);
  CHECK(kernels[0].covers[0].name == "scaled & <biased> (mul)");
  // The softmax is named once, and inputs and constants not at all.
  std::multiset<std::string> names;
  for (const tw::CoveredNode& c : kernels[1].covers) {
    names.insert(c.name);
    CHECK(has(c.where.file, "plan_report_test.cpp"));
    if (c.name == "softmax") CHECK(c.where.line == sample.line);
  }
  CHECK(names.count("softmax") == 1);
  CHECK(names.count("add") == 1);
  CHECK(names.count("input") == 0);
  CHECK(sample.program->plan(tw::Device::open("cpu")).kernels()[0].ptx.empty());
  const tw::PlanProof proof = plan.proof();
  CHECK(proof.exact);
  CHECK(proof.rounds == 3);
  CHECK(proof.log2_error == -180);
}

TEST_CASE("plan report: explain") {
  Sample sample;
  const tw::Plan plan = sample.program->plan(tw::Device::open("cpu"));
  const std::string text = plan.explain();
  INFO(text);
  CHECK(
      text.starts_with("plan for cpu: 4 kernels; 1.0 KiB between kernels, in a workspace of 1.0 KiB; estimates and sizes are for n = 8\n"));
  const std::vector<std::string> in_order = {
      "\n1. make_t0: grid [2], 1 pass\n",
      "covers     scaled & <biased> (mul) (plan_report_test.cpp:",
      "because    made by hand\n",
      "stores     t0 f32[n, 16]\n",
      "moves      reads 1.0 KiB (x, bias), writes 512 B (t0); 256 flop\n",
      "\n2. make_t1",
      fmt::format("softmax (plan_report_test.cpp:{})", sample.line),
      "estimate   1.0 KiB through memory\n",
      "   loop       over j, 16 elements; a row keeps 2 numbers\n",
      fmt::format("              r0  rolling   max  softmax (plan_report_test.cpp:{})\n", sample.line),
      fmt::format("              r1  deferred  sum  softmax (plan_report_test.cpp:{})\n", sample.line),
      fmt::format("   stores     t1 f32[n, 16] (part of softmax at plan_report_test.cpp:{})\n", sample.line),
      "\n3. make_y",
      "   loop       over jjjj",
      "j...\n",
      "\nbytes moved: 6.0 KiB; inputs and outputs once are 2.0 KiB (this plan: 3.00 times)\n",
      "not fused: exp (a.cpp:3) because sum (a.cpp:2) is complete only after all of j\n",
      "proof: exact in 3 rounds; a wrong derivation would pass with a probability of 2^-180 at most\n"};
  std::size_t at = 0;
  for (const std::string& piece : in_order) {
    CAPTURE(piece);
    const std::size_t found = text.find(piece, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  std::size_t line = 0;
  for (char c : text) {
    line = c == '\n' ? 0 : line + 1;
    CHECK(line <= 165);
  }
}

TEST_CASE("plan report: sizes are for values of the symbols with which every extent is an integer") {
  tw::Graph g;
  const tw::Dim rows = g.dim("rows", {.min = 8, .max = 512}), columns = g.dim("columns");
  // Three times half as many: (rows + 7) / 8 and (columns - 1) / 8 + 1.
  tw::Tensor<float> x = g.input<float>("x", {rows, columns, 3});
  for (int i = 0; i < 3; ++i) x = tw::avg_pool(x, 3, {.stride = 2, .pad = 1});
  g.output("y", x);
  const tw::Plan plan = g.compile("cpu");
  INFO(plan.explain());
  CHECK(plan.explain().find("sizes are for rows = 505, columns = 1017\n") != std::string::npos);
  CHECK(plan.proof().exact);
  CHECK(plan.proof().text.find("was compared") == std::string::npos);
}

TEST_CASE("plan report: the picture keeps every text inside of its box") {
  Sample sample;
  const std::string svg = sample.program->plan(tw::Device::open("cpu")).explain_svg();
  INFO(svg);
  CHECK(count_of(svg, "class=\"kernel\"") == 4);
  CHECK(count_of(svg, "class=\"tensor\"") == 2 + 2);
  CHECK(has(svg, "scaled &amp; &lt;biased&gt; (mul)"));
  CHECK(!has(svg, "<biased>"));
  CHECK(has(svg, ">t0 512 B</text>"));
  const double width = number(svg, "width"), height = number(svg, "height");
  std::vector<Rectangle> boxes;
  const std::regex element("<(rect|text) class=\"([a-z]*)\"[^>]*>([^<]*)");
  std::size_t texts = 0;
  for (std::sregex_iterator i(svg.begin(), svg.end(), element), end; i != end; ++i) {
    const std::string all = i->str(), style = i->str(2);
    const double x = number(all, "x"), y = number(all, "y");
    if (i->str(1) == "rect") {
      boxes.push_back({x, y, number(all, "width"), number(all, "height")});
      CHECK(x + boxes.back().width <= width);
      CHECK(y + boxes.back().height <= height);
      continue;
    }
    ++texts;
    std::string shown = std::regex_replace(i->str(3), std::regex("&[a-z]+;"), "?");
    const double length = 7.23 * static_cast<double>(shown.size()), left = has(all, "\"end\"") ? x - length : x;
    CHECK(left >= 0);
    CHECK(left + length <= width);
    for (const Rectangle& box : boxes) {
      if (!box.contains(left, y)) continue;
      CHECK(box.contains(left + length, y));
      CHECK(box.contains(left, y - 9));
      CHECK(style != "bytes");  // labels of edges are outside of the boxes
    }
  }
  CHECK(texts > 20);
}

TEST_CASE("plan report: dumps") {
  const std::string folder =
      std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + "/plan_dumps_" + std::to_string(getpid());
  setenv("TILEWRIGHT_DUMP", folder.c_str(), 1);
  Sample sample;
  (void)sample.program->plan(tw::Device::open("cpu"));
  unsetenv("TILEWRIGHT_DUMP");
  std::set<std::string> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) kernels.insert(entry.path().filename().string().substr(0, 7));
  CHECK(kernels.contains("make_t0"));
  CHECK(kernels.contains("make_y-"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("plan: a graph is compiled as it is, for a device or a target") {
  on_devices([](tw::Device& device) {
    tw::Graph graph;
    const tw::Dim n = graph.dim("n");
    auto x = graph.input<float>("x", {n, 8});
    graph.output("y", tw::softmax(x, -1) * graph.scalar<float>("alpha"));
    const tw::Plan first = graph.compile(device);
    graph.output("z", tw::sum(x, 1));
    const tw::Plan second = graph.compile(device), dry = graph.compile("sm_90a"), unfused = graph.compile(device, {.fuse = false});
    auto bx = device.upload(std::vector<float>(24, 1)), y = device.allocate<float>(24), z = device.allocate<float>(3);
    first.run({{"x", bx}, {"y", y}, {"alpha", 8}});
    CHECK(y.download()[23] == doctest::Approx(1));
    for (const tw::Plan& plan : {second, unfused}) {
      y.fill(0), z.fill(0);
      plan.run({{"x", bx}, {"y", y}, {"z", z}, {"alpha", 16}});
      CHECK(y.download()[23] == doctest::Approx(2));
      CHECK(z.download() == std::vector<float>(3, 8));
    }
    CHECK(unfused.kernels().size() > second.kernels().size());
    CHECK(unfused.intermediate_bytes() > 0);
    CHECK(has(dry.kernels()[0].ptx, ".target sm_90a"));
    CHECK(has(dry.explain(), "plan for sm_90a: "));
    CHECK(has(dry.explain(), "; unfused: "));
    CHECK_THROWS_WITH_AS(dry.run({{"x", bx}, {"y", y}, {"z", z}, {"alpha", 16}}),
                         doctest::Contains("run: this plan was compiled for target 'sm_90a' and no device"), tw::Error);
  });
}

TEST_CASE("plan: what cannot be compiled names the line of compile") {
  tw::Graph graph;
  const auto fails = [](int line, const std::string& text, const std::function<void()>& act) {
    try {
      act();
      FAIL("no error");
    } catch (const tw::Error& e) {
      CHECK(e.where().line == line);
      CHECK_MESSAGE(has(e.what(), text), e.what());
    }
  };
  fails(__LINE__, "error: compile: the graph has no output", [&] { graph.compile("cpu"); });
  graph.output("y", graph.input<float>("x", {4}) + 1.0f);
  fails(__LINE__, "error: compile: ", [&] { graph.compile("sm_1"); });
  const tw::Graph moved = std::move(graph);
  fails(__LINE__, "error: compile: the graph was moved from", [&] { graph.compile("cpu"); });
  (void)moved.compile("cpu");
}

}  // namespace fake_program
