// Functions of libraries that are found at run time.
#include "runtime/dynamic_library.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace tilewright::rt {
namespace {

TEST_CASE("dynamic library: the first library that is there is opened, and its functions are set") {
  const DynamicLibrary library({"libtw_no_such_library.so.7", "libm.so.6"});
  REQUIRE(library.is_open());
  CHECK(library.reason().empty());
  double (*cosine)(double) = nullptr;
  int (*classify)(double) = nullptr;
  CHECK(library.find_all({{"cos", cosine}, {"__fpclassify", classify}}) == nullptr);
  REQUIRE((cosine != nullptr));
  CHECK(cosine(0.0) == 1.0);
  CHECK((classify != nullptr));
}

TEST_CASE("dynamic library: the first function that is missing is named, and those before it are set") {
  const DynamicLibrary library({"libm.so.6"});
  REQUIRE(library.is_open());
  double (*cosine)(double) = nullptr;
  double (*missing)(double) = nullptr;
  double (*another)(double) = nullptr;
  CHECK(library.find_all({{"cos", cosine}, {"tw_missing", missing}, {"tw_another", another}}) == std::string("tw_missing"));
  CHECK((cosine != nullptr));
  CHECK((missing == nullptr));
}

TEST_CASE("dynamic library: a library that is absent has no reason, one that is broken has the loader's") {
  const DynamicLibrary absent({"libtw_no_such_library.so.7"});
  CHECK_FALSE(absent.is_open());
  CHECK(absent.reason().empty());

  const auto file = std::filesystem::temp_directory_path() / ("tw_broken_" + std::to_string(getpid()) + ".so");
  std::ofstream(file) << "not a library";
  const std::string name = file.string();
  const DynamicLibrary broken({name.c_str(), "libtw_no_such_library.so.7"});
  std::filesystem::remove(file);
  CHECK_FALSE(broken.is_open());
  CHECK(broken.reason().find(name) != std::string::npos);
}

}  // namespace
}  // namespace tilewright::rt
