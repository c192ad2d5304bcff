// Loading, calling and unloading machine code; an object whose symbols do not resolve.
#include "runtime/host/object_loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/host_abi.h"
#include "entry_object.h"

using namespace tilewright;

namespace {

std::vector<std::byte> image() {
  const auto bytes = std::as_bytes(std::span(kEntryObject));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> call(const rt::LoadedObject& object, int count) {
  std::vector<float> out(count);
  const std::uint64_t argument = reinterpret_cast<std::uint64_t>(out.data());
  reinterpret_cast<backend::HostEntry>(object.entry())(&argument, nullptr, 0, count, nullptr);
  return out;
}

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const DeviceError& e) {
    return e.what();
  }
  return "no DeviceError";
}

}  // namespace

TEST_CASE("object_loader: a loaded object runs and finds fmaf in the process") {
  rt::ObjectLoader loader(Here::current());
  const auto object = loader.load(image(), "entry", Here::current());
  CHECK(call(*object, 4) == std::vector<float>{1, 3, 5, 7});
}

TEST_CASE("object_loader: one image loads many times, and objects outlive their loader") {
  std::unique_ptr<rt::LoadedObject> kept;
  {
    rt::ObjectLoader loader(Here::current());
    for (int i = 0; i < 20; ++i) kept = loader.load(image(), "entry", Here::current());
  }
  CHECK(call(*kept, 2) == std::vector<float>{1, 3});
}

TEST_CASE("object_loader: threads load and unload at once") {
  rt::ObjectLoader loader(Here::current());
  std::vector<int> good(4);
  std::vector<std::thread> threads;
  for (int& ok : good)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) ok += call(*loader.load(image(), "entry", Here::current()), 3) == std::vector<float>{1, 3, 5};
    });
  for (auto& t : threads) t.join();
  CHECK(good == std::vector<int>{10, 10, 10, 10});
}

TEST_CASE("object_loader: a missing symbol is named, and the loader still works") {
  rt::ObjectLoader loader(Here::current());
  auto broken = image();
  const std::string_view name = "fmaf";
  auto at =
      std::search(broken.begin(), broken.end(), name.begin(), name.end(), [](std::byte b, char c) { return static_cast<char>(b) == c; });
  REQUIRE(at != broken.end());
  *at = std::byte{'q'};
  const Here here = Here::current();
  const std::string text = message([&] { loader.load(broken, "entry", here); });
  CHECK_MESSAGE(text.find("qmaf") != std::string::npos, text);
  CHECK_MESSAGE(text.starts_with(std::string(here.file_name()) + ":" + std::to_string(here.line())), text);
  CHECK(call(*loader.load(image(), "entry", here), 1) == std::vector<float>{1});
}

TEST_CASE("object_loader: bytes that are not an object are refused") {
  rt::ObjectLoader loader(Here::current());
  const std::string text = message([&] { loader.load(std::vector<std::byte>(100), "entry", Here::current()); });
  CHECK_MESSAGE(text.find("the code of kernel 'entry'") != std::string::npos, text);
  CHECK(message([&] { loader.load(image(), "absent", Here::current()); }).find("absent") != std::string::npos);
}
