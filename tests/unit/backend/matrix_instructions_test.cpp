// The texts of asynchronous matrix instructions, put together from the columns of their rows, as ptxas takes and refuses them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/unit/backend/ptx_assembler.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::backend {
namespace {

using ir::MatrixInstruction;

std::vector<const MatrixInstruction*> asynchronous_rows() {
  std::vector<const MatrixInstruction*> rows;
  for (const MatrixInstruction& i : ir::matrix_instructions())
    if (i.issue == MatrixInstruction::Issue::asynchronous) rows.push_back(&i);
  return rows;
}

std::string registers(const char* prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i > 0 ? ", " : "", prefix, i);
  return text + "}";
}

/// One product of n columns, with a from registers or from shared memory. `across`: b is contiguous along n.
std::string product(const MatrixInstruction& i, int n, bool a_in_registers, bool across) {
  const bool is_integer = i.sums == ir::Element::i32, has_order = i.major == MatrixInstruction::Major::either || across;
  std::string text(i.ptx);
  text.replace(text.find('N'), 1, std::to_string(n));
  text += fmt::format(" {}, {}, %d1, 1", registers(is_integer ? "%r" : "%f", n / 2), a_in_registers ? registers("%a", 4) : "%d0");
  if (!is_integer) text += ", 1, 1";
  if (has_order && !a_in_registers) text += ", 0";
  if (has_order) text += across ? ", 1" : ", 0";
  return "  " + text + ";\n";
}

std::string kernel(const MatrixInstruction& i, const std::string& products) {
  return fmt::format(
      ".version {}.{}\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n  .reg .b64 %d<2>;\n  .reg .f32 %f<128>;\n"
      "  .reg .b32 %r<128>, %a<4>;\n  wgmma.fence.sync.aligned;\n{}  wgmma.commit_group.sync.aligned;\n"
      "  wgmma.wait_group.sync.aligned 0;\n  ret;\n}}\n",
      i.ptx_version / 10, i.ptx_version % 10, products);
}

TEST_CASE("matrix_instructions: ptxas takes every extent, place and order that the row of an asynchronous instruction has") {
  for (const MatrixInstruction* i : asynchronous_rows()) {
    CAPTURE(i->name);
    std::string products;
    for (int n = 8; n <= 256; n += 8)
      if (i->n.has(n)) products += product(*i, n, n % 16 == 0, i->major == MatrixInstruction::Major::either && n % 32 == 0);
    CHECK(testing::ptxas_complaints(kernel(*i, products), "sm_90a") == "");
  }
}

TEST_CASE("matrix_instructions: ptxas refuses what the row of an asynchronous instruction has not") {
  if (testing::ptxas_complaints("no PTX", "sm_90a").empty()) return;  // ptxas is not installed
  for (const MatrixInstruction* i : asynchronous_rows()) {
    CAPTURE(i->name);
    for (const int n : {4, 40, 264})
      if (!i->n.has(n)) CHECK(testing::ptxas_complaints(kernel(*i, product(*i, n, false, false)), "sm_90a") != "");
    if (i->major == MatrixInstruction::Major::k) CHECK(testing::ptxas_complaints(kernel(*i, product(*i, 64, false, true)), "sm_90a") != "");
  }
}

}  // namespace
}  // namespace tilewright::backend
