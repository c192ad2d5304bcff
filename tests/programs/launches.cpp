// The host side: grids, options, streams, threads, transfers, compilation without a device, checked mode, dumps.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

void saxpy(tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, tw::F32 a, int block) {
  auto i = tw::program_id(0) * block + arange(0, block);
  store(y + i, load(x + i, i < n) * a + load(y + i, i < n), i < n);
}

}  // namespace

TEST_CASE("launches: grids of one to three extents") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("grid", [](tw::Ptr<std::int32_t> out) {
      auto x = tw::program_id(0), y = tw::program_id(1), z = tw::program_id(2);
      auto nx = tw::num_programs(0), ny = tw::num_programs(1), nz = tw::num_programs(2);
      auto at = (z * ny + y) * nx + x;
      store(out + at, ((z * 100 + y) * 100 + x) * 10 + nz);
    });
    for (const std::array<int, 3>& g : {std::array{7, 1, 1}, {5, 3, 1}, {4, 5, 6}, {1, 1, 9}, {1000, 1, 1}}) {
      std::vector<std::int32_t> want;
      for (int z = 0; z < g[2]; ++z)
        for (int y = 0; y < g[1]; ++y)
          for (int x = 0; x < g[0]; ++x) want.push_back(((z * 100 + y) * 100 + x) * 10 + g[2]);
      auto out = device.allocate<std::int32_t>(want.size());
      const std::int64_t gx = g[0];
      const unsigned char gy = g[1];
      kernel({.grid = {gx, gy, std::size_t(g[2])}, .num_warps = 8, .num_stages = 1}, out);
      check_same("grid", out.download(), want);
    }
    auto out = device.allocate<std::int32_t>(8);
    auto refused = [&](const tw::Launch& launch, const char* piece) { CHECK(has(message_of([&] { kernel(launch, out); }), piece)); };
    refused({.grid = 0}, "grid");
    refused({.grid = {1, -1}}, "grid");
    refused({.grid = {1, 1, 1, 1}}, "grid");
    refused({.grid = 1, .num_warps = 3}, "num_warps");
    refused({.grid = 1, .num_stages = 9}, "num_stages");
  });
}

TEST_CASE("launches: order on the default stream, streams and events") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("saxpy", saxpy);
    const int n = 1000;
    const auto x = numbers<float>(n, 1);
    const auto bx = device.upload(x);
    auto y = device.allocate<float>(n), z = device.allocate<float>(n);
    y.fill(1);
    z.fill(-1);
    for (int k = 0; k < 50; ++k) kernel({.grid = tw::cdiv(n, 64)}, bx, y, n, 0.5f, 64);
    std::vector<double> want;
    for (float v : x) want.push_back(1 + 25.0 * v);
    check_close("in order", y.download(), want, 1e-4, 1e-4);

    const tw::Stream first = device.stream(), second = device.stream();
    device.synchronize();
    const tw::Event start = first.record();
    for (int k = 0; k < 20; ++k) kernel({.grid = tw::cdiv(n, 64), .stream = first}, bx, z, n, 1.0f, 64);
    const tw::Event done = first.record();
    second.wait(done);
    for (int k = 0; k < 20; ++k) kernel({.grid = tw::cdiv(n, 64), .stream = second}, z, y, n, 0.25f, 64);
    second.synchronize();
    for (int i = 0; i < n; ++i) want[i] += 5 * (20.0 * x[i] - 1);
    check_close("streams", y.download(), want, 1e-4, 1e-3);
    CHECK(start.elapsed_ms(done) >= 0);
    tw::Device other = tw::Device::open("cpu");
    if (other.name() != device.name())
      CHECK(has(message_of([&] { kernel({.grid = 1, .stream = other.stream()}, bx, y, n, 1.0f, 64); }), "launches.cpp:"));
  });
}

TEST_CASE("launches: transfers of vectors, spans, bools; fill") {
  on_every_device([](tw::Device& device) {
    const std::vector<std::int32_t> v{1, 2, 3, 4};
    std::array<std::int32_t, 3> a{5, 6, 7};
    auto x = device.upload(v);
    auto y = device.upload(std::span(a));
    auto z = device.upload(std::span<const std::int32_t>(v).subspan(1, 2));
    CHECK(y.download() == std::vector<std::int32_t>{5, 6, 7});
    CHECK(z.download() == std::vector<std::int32_t>{2, 3});
    x.upload(std::vector<std::int32_t>{9, 8, 7, 6});
    std::vector<std::int32_t> got(4);
    x.download(std::span(got));
    CHECK(got == std::vector<std::int32_t>{9, 8, 7, 6});
    x.fill(-3);
    CHECK(x.download() == std::vector<std::int32_t>(4, -3));
    auto b = device.upload(std::vector<bool>{true, false, true});
    CHECK(b.download() == std::vector<bool>{true, false, true});
    b.fill(true);
    b.upload(std::vector<bool>{false, true, true});
    CHECK(b.download() == std::vector<bool>{false, true, true});
    auto h = device.allocate<tw::f8e4m3>(1000);
    h.fill(tw::f8e4m3(1.5f));
    CHECK(static_cast<float>(h.download()[999]) == 1.5f);
    tw::Buffer<std::int32_t> moved = std::move(x);
    CHECK(moved.size() == 4);
    CHECK(has(message_of([&] { (void)x.download(); }), "launches.cpp:"));
    CHECK(has(message_of([&] { moved.upload(std::vector<std::int32_t>(5)); }), "launches.cpp:"));
    auto none = device.allocate<float>(0);
    CHECK(none.download().empty());
    CHECK(device.free_memory() > 0);
    CHECK(!device.description().empty());
  });
}

TEST_CASE("launches: one kernel and many, from many threads") {
  on_every_device([](tw::Device& device) {
    std::atomic<int> traced = 0;
    const tw::Kernel shared("shared", [&](tw::Ptr<std::int32_t> p, tw::I32 by, int block) {
      ++traced;
      auto i = arange(0, block);
      tw::I32 sum = 0;
      for (auto k : tw::range(0, by)) sum += k;
      store(p + i, load(p + i) + sum);
    });
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        const tw::Kernel own("own", [](tw::Ptr<std::int32_t> p, tw::I32 by, int block) { store(p + arange(0, block), by); });
        auto buffer = device.upload(std::vector<std::int32_t>(64, t));
        const tw::Stream stream = device.stream();
        device.synchronize();
        for (int k = 0; k < 20; ++k) shared({.grid = 1, .stream = stream}, buffer, k, 16 << k % 3);
        stream.synchronize();
        std::vector<std::int32_t> want(64, t);
        for (int k = 0; k < 20; ++k)
          for (int i = 0; i < 16 << k % 3; ++i) want[i] += k * (k - 1) / 2;
        if (buffer.download() != want) ++wrong;
        own({.grid = 1}, buffer, t, 64);
        if (buffer.download() != std::vector<std::int32_t>(64, t)) ++wrong;
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(traced >= 3);
    CHECK(traced <= 15);  // blocks of three sizes, `by` in five classes
  });
}

TEST_CASE("launches: the same launch gives the same bits each time, whatever the grid's order was") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("repeat", [](tw::Ptr<const float> x, tw::Ptr<float> out) {
      auto pid = tw::program_id(0);
      auto t = load(x + column(arange(0, 32)) * 32 + row(arange(0, 32)) + pid);
      store(out + pid, tw::sum(tw::exp(tw::softmax(tw::dot(t, tw::transpose(t)), 1)) / (tw::abs(t) + 0.3f)));
    });
    const auto x = device.upload(numbers<float>(2000, 1));
    auto out = device.allocate<float>(64);
    kernel({.grid = 64}, x, out);
    const auto first = out.download();
    for (int k = 0; k < 10; ++k) {
      out.fill(0);
      kernel({.grid = 64}, x, out);
      check_same("again", out.download(), first);
    }
  });
}

TEST_CASE("launches: buffers of one device opened twice meet; a buffer may go while a kernel reads it") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("slow", [](tw::Ptr<const float> x, tw::Ptr<float> y) {
      auto i = tw::program_id(0) * 256 + arange(0, 256);
      auto sum = tw::zeros<float>({256});
      for (auto k : tw::range(0, 200)) sum += load(x + i) * (k + 1).to<float>();
      store(y + i, sum);
    });
    const int n = 1 << 14;
    const tw::Device again = tw::Device::open(device.name());
    auto y = again.allocate<float>(n);
    const tw::Stream stream = device.stream();
    {
      const auto x = device.upload(std::vector<float>(n, 1));
      kernel({.grid = n / 256, .stream = stream, .device = again}, x, y);
    }
    const auto next = device.upload(std::vector<float>(n, 7));  // where x was, perhaps
    stream.synchronize();
    check_same("y", y.download(), std::vector<float>(n, 20100));
  });
}

TEST_CASE("launches: compile() without a device") {
  const tw::Kernel kernel("saxpy", saxpy);
  for (const char* target : {"cpu", "cpu:x86-64", "cpu:x86-64-v3"}) {
    CAPTURE(target);
    const tw::Compiled c =
        kernel.compile(target, {.num_warps = 2}, tw::pointer<float>(), tw::pointer<float>(4), tw::scalar<std::int32_t>(16), 2.0f, 64);
    CHECK(has(c.tile_ir(), "saxpy"));
    CHECK(has(c.llvm_ir(), "define"));
    CHECK(has(c.assembly(), "ret"));
    CHECK(c.ptx().empty());
    REQUIRE(!c.timings().empty());
    CHECK(c.timings()[0].phase == "trace");
    for (const tw::Timing& t : c.timings()) CHECK(t.ms >= 0);
    CHECK(c.resources().registers == -1);
  }
  const tw::Kernel viewed("viewed", [](tw::View<const tw::f16, 2> x, tw::View<float, 2> y, tw::F64 by) {
    y.store({0, 0}, x.load({0, 0}, {8, 8}).to<float>() * by.to<float>());
  });
  auto y = tw::Device::open("cpu").allocate<float>(64);
  const tw::Compiled c = viewed.compile("cpu", {}, tw::view(tw::pointer<tw::f16>(), {100, 200}), tw::view(y, {8, 8}), tw::scalar<double>());
  CHECK(has(c.tile_ir(), "f16"));
  CHECK(has(message_of([&] { (void)kernel.compile("vax", {}, nullptr, nullptr, 1, 1.0f, 64); }), "launches.cpp:"));
  CHECK(has(message_of([&] { (void)kernel.compile("cpu", {}, nullptr, nullptr, 1, 1.0f, 63); }), "power of two"));
}

TEST_CASE("launches: checked mode reports the line that leaves a buffer, and the process goes on") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("outside", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, tw::I32 m) {
      auto i = tw::program_id(0) * 32 + arange(0, 32);
      auto v = load(x + i, i < n);
      store(y + i, v, i < m);
    });
    const int load_line = __LINE__ - 3, store_line = __LINE__ - 2;
    auto x = device.upload(numbers<float>(100, 1));
    auto y = device.allocate<float>(100);
    auto attempt = [&](int n, int m) {
      return message_of([&] {
        kernel({.grid = 4, .check = true}, x, y, n, m);
        device.synchronize();
      });
    };
    CHECK(attempt(100, 100) == "");
    CHECK(x.download() == y.download());
    CHECK(has(attempt(101, 100), "launches.cpp:" + std::to_string(load_line)));
    CHECK(has(attempt(100, 105), "launches.cpp:" + std::to_string(store_line)));
    CHECK(attempt(100, 100) == "");
    // An offset buffer may be read in front of where it starts, as long as it is the same buffer.
    const tw::Kernel back(
        "back", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 by) { store(y + arange(0, 4), load(x - by + arange(0, 4))); });
    CHECK(message_of([&] {
            back({.grid = 1, .check = true}, x + 50, y, 50);
            device.synchronize();
          }) == "");
    CHECK(message_of([&] {
            back({.grid = 1, .check = true}, x + 50, y, 51);
            device.synchronize();
          }) != "");
    CHECK(message_of([&] {
            back({.grid = 1, .check = true}, nullptr, y, 0);
            device.synchronize();
          }) != "");
  });
}

namespace {

/// A variable of the environment, until the end of the block.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("launches: TILEWRIGHT_DUMP leaves each stage of a compiled kernel") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tilewright_test_programs_dump";
  std::filesystem::remove_all(folder);
  {
    const Environment dump("TILEWRIGHT_DUMP", folder.c_str()), stage("TILEWRIGHT_DUMP_STAGE", "");
    tw::Device device = tw::Device::open("cpu");
    const tw::Kernel kernel("dumped", saxpy);
    auto x = device.upload(numbers<float>(64, 1));
    auto y = device.allocate<float>(64);
    kernel({.grid = 1}, x, y, 64, 1.0f, 64);
  }
  int tile = 0, llvm = 0, assembly = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    tile += name.ends_with(".tile"), llvm += name.ends_with(".ll"), assembly += name.ends_with(".s");
  }
  CHECK(tile > 3);
  CHECK(llvm >= 1);
  CHECK(assembly >= 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("launches: devices that are there and not there") {
  const auto list = tw::Device::list();
  CHECK(std::any_of(list.begin(), list.end(), [](const tw::DeviceInfo& d) { return d.name == "cpu" && d.usable; }));
  for (const tw::DeviceInfo& d : list) CHECK((d.usable || !d.reason.empty()));
  CHECK(has(message_of([] { tw::Device::open("cuda:77"); }), "launches.cpp:"));
  CHECK(has(message_of([] { tw::Device::open("toaster"); }), "cpu"));
  const tw::Kernel kernel("nowhere", [](tw::I32) {});
  CHECK(has(message_of([&] { kernel({.grid = 1}, 1); }), "launches.cpp:"));
  kernel({.grid = 1, .device = tw::Device::open("cpu")}, 1);
}
