// Wisdom files: kept from process to process, merged by writers, ignored where they are damaged, older or of another device; and the seal.
#include <sys/stat.h>
#include <sys/wait.h>

#include "runtime/wisdom/wisdom.h"
#include "tests/scoped_cache.h"
#include "tests/tuner/tuning.h"

using namespace tuner_tests;

namespace {

struct Block {
  int size;
};
void set_to(tw::Ptr<int> x, int value, Block block) {
  auto i = tw::arange(0, block.size);
  tw::store(x + i, tw::full<int>({block.size}, value));
}

/// Launches for a key; whether it was measured.
bool tuned(const std::string& key, bool tune = true) {
  static const tw::Kernel kernel("set_to", set_to);
  tw::Device device = tw::Device::open("cpu");
  auto x = device.allocate<int>(64);
  Tried tried;
  tw::Tuner tuner(kernel, {Block{64}, Block{32}}, {.key = key, .tune = tune});
  tuner({.grid = 1}, x, 7);
  CHECK(x.download()[0] == 7);
  return !tried.results.empty();
}

int entries(const std::string& path) { return static_cast<int>(tw::rt::read_wisdom(path).entries.size()); }

}  // namespace

TEST_CASE("wisdom: a file is read by the next process, and has what was measured") {
  OwnWisdom wisdom;
  CHECK(tuned("kept"));
  const std::string text = contents(wisdom.path);
  CHECK(has(text, "kernel=set_to"));
  CHECK(has(text, "problem=kept;"));
  CHECK(has(text, "configuration="));
  const std::string first = wisdom.path;
  wisdom.use("copy");  // forgets
  write(wisdom.path, contents(first));
  CHECK_FALSE(tuned("kept"));
}

TEST_CASE("wisdom: a missing, damaged, newer or foreign file is ignored with a word in the log") {
  OwnWisdom wisdom;
  CHECK(tuned("a"));
  CHECK(tuned("b"));
  const std::string good = contents(wisdom.path);
  Notices notices;
  const auto with = [&](const std::string& name, const std::string& text) {
    wisdom.use(name);
    if (!text.empty()) write(wisdom.path, text);
    notices.text.clear();
  };
  with("missing", "");
  CHECK(tuned("a"));
  CHECK(has(notices.text, "there is none yet"));

  std::string damaged = good;
  damaged[good.find("configuration=") + 14] ^= 1;  // of the first entry, a
  with("damaged", damaged);
  CHECK_FALSE(tuned("b"));
  CHECK(has(notices.text, "1 damaged line is ignored"));
  CHECK(tuned("a"));
  CHECK(entries(wisdom.path) == 2);

  with("cut", good.substr(0, good.size() - 20));
  CHECK_FALSE(tuned("a"));
  CHECK(tuned("b"));

  with("other", "my thesis\n");
  CHECK(tuned("a"));
  CHECK(has(notices.text, "damaged, or no wisdom file"));
  CHECK(contents(wisdom.path + ".damaged") == "my thesis\n");
  CHECK(entries(wisdom.path) == 1);

  with("newer", "tilewright-wisdom 99\nwhatever\n");
  CHECK(tuned("a"));
  CHECK(has(notices.text, "a later version of Tilewright wrote it"));
  CHECK(contents(wisdom.path) == "tilewright-wisdom 99\nwhatever\n");
  CHECK_FALSE(tuned("a"));

  std::vector<tw::rt::WisdomEntry> old = tw::rt::parse_wisdom(good).entries;
  for (auto& e : old) e.key.version = "0.0.1";
  with("older", tw::rt::print_wisdom(old));
  CHECK(tuned("a"));
  CHECK(has(notices.text, "is ignored: it was measured by version 0.0.1"));
  CHECK(entries(wisdom.path) == 3);

  std::vector<tw::rt::WisdomEntry> foreign = tw::rt::parse_wisdom(good).entries;
  for (auto& e : foreign) e.key.device = "another machine";
  with("foreign", tw::rt::print_wisdom(foreign));
  CHECK(tuned("a"));

  std::vector<tw::rt::WisdomEntry> strange = tw::rt::parse_wisdom(good).entries;
  for (auto& e : strange) e.configuration = "12345";
  with("strange", tw::rt::print_wisdom(strange));
  CHECK(tuned("a"));
  CHECK(has(notices.text, "is none of the tuner's"));

  with("no/such/folder/wisdom", "");
  CHECK(tuned("a"));
  CHECK(entries(wisdom.path) == 1);
  with("file", "x");
  wisdom.use("file/wisdom");
  notices.text.clear();
  CHECK(tuned("a"));
  CHECK(has(notices.text, "is not kept"));
  CHECK_FALSE(tuned("a"));

  ::setenv("TILEWRIGHT_WISDOM", "off", 1);
  CHECK(tuned("a"));
  CHECK_FALSE(tuned("a"));
}

TEST_CASE("wisdom: newer entries stay") {
  tw::rt::WisdomEntry old{{"k", "p", "d", "", "1"}, "old", 1, 0, 1, "2026-01-01T00:00:00.000000Z"}, young = old, other = old;
  young.configuration = "young", young.date = "2026-02-01T00:00:00.000000Z";
  other.key.problem = "a\tb\nc\\d";
  std::vector<tw::rt::WisdomEntry> all{young};
  tw::rt::merge_wisdom(all, {old, other});
  REQUIRE(all.size() == 2);
  CHECK(all[0].configuration == "young");
  CHECK(tw::rt::parse_wisdom(tw::rt::print_wisdom(all)).entries == all);
  CHECK(tw::rt::wisdom_date() > "2026-01-01T00:00:00.000000Z");
}

TEST_CASE("wisdom: 8 processes that write at once lose nothing") {
  OwnWisdom wisdom;
  constexpr int kProcesses = 8, kEach = 20;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < kEach; ++i)
        good = good && tw::rt::add_to_wisdom(
                           wisdom.path,
                           {{{"kernel", std::to_string(p) + "," + std::to_string(i), "d", "", "1"}, "c", 1, 0, 1, tw::rt::wisdom_date()}})
                           .empty();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const tw::rt::WisdomFile file = tw::rt::read_wisdom(wisdom.path);
  CHECK(file.notice == "");
  CHECK(file.entries.size() == kProcesses * kEach);
}

TEST_CASE("wisdom: export and import carry what is known") {
  OwnWisdom wisdom;
  CHECK(tuned("carried"));
  const std::string carried = wisdom.folder + "/carried";
  tw::wisdom::export_to(carried);
  wisdom.use("empty");
  tw::wisdom::import_from(carried);
  CHECK_FALSE(tuned("carried"));
  CHECK(tuned("more"));
  CHECK(entries(wisdom.path) == 1);
  tw::wisdom::export_to(carried);
  CHECK(entries(carried) == 2);
  CHECK(has(message_of([&] { tw::wisdom::import_from(wisdom.folder + "/none"); }), "import_from: there is no file"));
  write(wisdom.folder + "/text", "hello");
  CHECK(has(message_of([&] { tw::wisdom::import_from(wisdom.folder + "/text"); }), "no wisdom file"));
  CHECK(has(message_of([&] { tw::wisdom::export_to(wisdom.folder + "/text"); }), "not a wisdom file"));
  CHECK(has(message_of([&] { tw::wisdom::export_to(wisdom.folder + "/text/no"); }), "wisdom_test.cpp:"));
}

TEST_CASE("seal: nothing is measured or compiled any more") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  auto x = device.allocate<int>(64);
  const tw::Kernel kernel("sealed", set_to);
  kernel({.grid = 1}, x, 1, Block{64});
  CHECK(tuned("sealed"));
  tw::Graph graph;
  auto in = graph.input<float>("x", {64});
  graph.output("y", in + 1.0f);

  tw::seal();
  kernel({.grid = 1}, x, 1, Block{64});
  CHECK_FALSE(tuned("sealed"));
  CHECK_FALSE(tuned("unknown", false));
  const auto refused = [](auto&& f, const char* piece) {
    const std::string text = message_of(f);
    CHECK_MESSAGE(has(text, piece), text);
    CHECK_MESSAGE(has(text, "wisdom_test.cpp:"), text);
    CHECK_MESSAGE(has(text, "tw::seal()"), text);
  };
  refused([&] { kernel({.grid = 1}, x, 1, Block{32}); }, "launch of 'sealed': this kernel would be compiled now");
  refused([&] { kernel.compile("sm_80", {.grid = 1}, tw::pointer<int>(), 1, Block{64}); }, "compile of 'sealed'");
  refused([&] { tuned("unknown"); }, "tune of 'set_to': nothing is known of unknown");
  refused([&] { graph.compile(device); }, "compile of ");
  tw::rt::set_sealed(false);
  kernel({.grid = 1}, x, 1, Block{32});
  CHECK(tuned("unknown"));
}

TEST_CASE("seal: what the disk cache has is loaded") {
  const tests::ScopedCache cache;
  tw::Device device = tw::Device::open("cpu");
  auto x = device.allocate<int>(64);
  tw::Kernel("on_disk", set_to)({.grid = 1}, x, 1, Block{64});
  tw::seal();
  tw::Kernel("on_disk", set_to)({.grid = 1}, x, 1, Block{64});
  CHECK(tw::cache_statistics().hits == 1);
  CHECK(has(message_of([&] { tw::Kernel("on_disk", set_to)({.grid = 1}, x, 1, Block{32}); }), "this kernel would be compiled now"));
  tw::rt::set_sealed(false);
}

TEST_CASE("wisdom: a device, a FIFO and a folder are not wisdom files, and stay what they are") {
  OwnWisdom wisdom;
  const std::string fifo = wisdom.folder + "/fifo", link = wisdom.folder + "/zero", folder = wisdom.folder + "/folder";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", link);
  std::filesystem::create_directory(folder);
  for (const std::string& path : {fifo, link, folder}) {
    CAPTURE(path);
    ::setenv("TILEWRIGHT_WISDOM", path.c_str(), 1);
    Notices notices;
    CHECK(tuned(path));
    CHECK_MESSAGE(has(notices.text, "wisdom file " + path + ": it is not a regular file"), notices.text);
    CHECK_FALSE(std::filesystem::exists(path + ".damaged"));
  }
  struct stat facts{};
  CHECK((::stat(fifo.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode)));
  CHECK((::stat("/dev/zero", &facts) == 0 && S_ISCHR(facts.st_mode)));
}
