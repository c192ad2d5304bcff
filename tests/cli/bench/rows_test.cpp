// The rows of bench: what they launch is right on the cpu and on an emulator, and a result that is wrong in one element is found.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "frontend/cli/bench/measuring/measurement.h"

namespace tilewright::cli::bench {
namespace {

Case case_of(const KernelRow& row, const Setting& setting) {
  const Shape shape = row.shapes.emulator.front();
  const ir::Element type = row.problems.types.front();
  Case c{&row, shape, type, row.problems.make(shape, type)};
  prepare_inputs(setting, c.problem);
  return c;
}

/// Changes an element of an array by more than any rounding error.
void change(std::vector<std::byte>& bytes, ir::Element element, std::int64_t index) {
  with_type(element, [&]<class T>(std::type_identity<T>) {
    T value;
    std::byte* at = bytes.data() + static_cast<std::size_t>(index) * sizeof(T);
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(value + 1);
    else
      value = T(static_cast<double>(value) * 3 + 20);
    std::memcpy(at, &value, sizeof value);
  });
}

TEST_CASE("bench rows: each is right, and wrong if one element of any result is") {
  const Setting setting{open_measured_device("cpu"), {}, ""};
  for (const KernelRow& row : kernel_rows()) {
    const Case c = case_of(row, setting);
    const Contents right = our_kernel(setting, c)->results();
    CHECK_NOTHROW((void)checked_error(c, right, setting));
    for (const Reference& r : c.problem.references)
      for (const std::int64_t index : {std::int64_t{0}, r.rows * r.columns / 2, r.rows * r.columns - 1}) {
        CAPTURE(row.name);
        CAPTURE(r.tensor);
        CAPTURE(index);
        Contents wrong = right;
        for (const Tensor& t : c.problem.tensors)
          if (t.name == r.tensor) change(wrong.at(r.tensor), t.element, index);
        CHECK_THROWS((void)checked_error(c, wrong, setting));
        wrong.at(r.tensor).clear();
        CHECK_THROWS((void)checked_error(c, wrong, setting));
      }
  }
}

TEST_CASE("bench rows: a kernel that writes nothing is wrong") {
  const Setting setting{open_measured_device("cpu"), {}, ""};
  for (const KernelRow& row : kernel_rows()) {
    CAPTURE(row.name);
    Case c = case_of(row, setting);
    c.problem.launch = [](DeviceTensors&, const kernels::Options&) {};
    CHECK_THROWS((void)checked_error(c, our_kernel(setting, c)->results(), setting));
  }
}

TEST_CASE("bench rows: each is right on an emulated GPU") {
  const Setting setting{open_measured_device("emulator:sm_80"), {}, ""};
  for (const KernelRow& row : kernel_rows()) {
    CAPTURE(row.name);
    const Case c = case_of(row, setting);
    CHECK_NOTHROW((void)checked_error(c, our_kernel(setting, c)->results(), setting));
  }
}

TEST_CASE("bench rows: names are of one word, and shapes fit their axes") {
  for (const KernelRow& row : kernel_rows()) {
    CAPTURE(row.name);
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_3") == std::string::npos);
    for (const auto* shapes : {&row.shapes.emulator, &row.shapes.cpu, &row.shapes.gpu}) {
      CHECK_FALSE(shapes->empty());
      for (const Shape& s : *shapes) {
        CHECK(s.size() == row.axes.size());
        CHECK(row.reason_against(s).empty());
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::cli::bench
