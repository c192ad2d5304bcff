// Builds the texts around what the roles do.
#include "tests/execution/role_kernels.h"

#include <fmt/format.h>

#include "tileir/text/parser.h"

namespace tilewright::test {

std::string layout(int number, int warps) {
  std::string text = fmt::format("  layout #{} [256] {{register = [", number);
  int at = 1;
  for (int n = 8 / warps; n > 1; n /= 2, at *= 2) text += fmt::format("{}[{}]", at > 1 ? ", " : "", at);
  text += "], lane = [";
  for (int i = 0; i < 5; ++i, at *= 2) text += fmt::format("{}[{}]", i ? ", " : "", at);
  text += "], warp = [";
  for (int i = 0; at < 256; ++i, at *= 2) text += fmt::format("{}[{}]", i ? ", " : "", at);
  return text + "]}\n";
}

std::string hand_over(const std::string& roles, int writers, int readers, int full, int empty, const std::string& fill,
                      const std::string& use) {
  return "kernel @k(%x: ptr<const i32> {divisible_by = 16, disjoint}, %y: ptr<i32> {divisible_by = 16, disjoint}, %n: i32) {\n" +
         layout(0, writers) + layout(1, readers) + R"(  layout #2 [256] {offset = [[1], [2], [4], [8], [16], [32], [64], [128]]}
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %four = constant {value = 4} : i32
  %yes = constant {value = true} : i1
  %program = program_id {axis = 0} : i32
  %base = mul %program, %n : i32
  %b = alloc_buffer : buffer<2, i32>[256] #2
)" +
         fmt::format(
             "  %full = alloc_mbarriers {{arrivals = {}}} : mbarrier<2>\n  %empty = alloc_mbarriers {{arrivals = {}}} : mbarrier<2>\n",
             full, empty) +
         "  roles {" + roles + R"(} {
    %i = arange {lo = 0, hi = 256} : i32[256] #0
    %by = constant {value = 256} : i32[256] #0
    %xb = broadcast %x : ptr<const i32>[256] #0
    for %zero, %n, %one (%k: i32) {
      %w = rem %k, %two : i32
      %q = div %k, %two : i32
      %p = bit_and %q, %one : i32
      %other = bit_xor %p, %one : i32
      %w4 = mul %w, %four : i32
      %e = mbarrier_slot %empty, %w : mbarrier<1>
      %f = mbarrier_slot %full, %w4 {divisor = 4} : mbarrier<1>
      %s = buffer_slot %b, %w : buffer<1, i32>[256] #2
      %tile = add %base, %k : i32
      %kb = broadcast %tile : i32[256] #0
      %o = mul %kb, %by : i32[256] #0
      %oi = add %o, %i : i32[256] #0
      %px = add_ptr %xb, %oi : ptr<const i32>[256] #0
      mbarrier_wait %e, %other
)" + fill +
         R"(
      yield
    }
    yield
  } {
    %i = arange {lo = 0, hi = 256} : i32[256] #1
    %by = constant {value = 256} : i32[256] #1
    %yb = broadcast %y : ptr<i32>[256] #1
    for %zero, %n, %one (%k: i32) {
      %w = rem %k, %two : i32
      %q = div %k, %two : i32
      %p = bit_and %q, %one : i32
      %e = mbarrier_slot %empty, %w : mbarrier<1>
      %f = mbarrier_slot %full, %w : mbarrier<1>
      %s = buffer_slot %b, %w : buffer<1, i32>[256] #2
      %tile = add %base, %k : i32
      %kb = broadcast %tile : i32[256] #1
      %o = mul %kb, %by : i32[256] #1
      %oi = add %o, %i : i32[256] #1
      %py = add_ptr %yb, %oi : ptr<i32>[256] #1
      mbarrier_wait %f, %p
      %v = buffer_load %s : i32[256] #1
      mbarrier_arrive %e
)" + use +
         R"(
      yield
    }
    yield
  }
}
)";
}

std::string instances(int warps) {
  const auto sorts_tile = [](const std::string& number) {
    return "    %j = " + number + R"( : i32
    %i = arange {lo = 0, hi = 256} : i32[256] #0
    %by = constant {value = 256} : i32[256] #0
    %jb = broadcast %j : i32[256] #0
    %o = mul %jb, %by : i32[256] #0
    %oi = add %o, %i : i32[256] #0
    %xb = broadcast %x : ptr<const i32>[256] #0
    %px = add_ptr %xb, %oi : ptr<const i32>[256] #0
    %v = load %px : i32[256] #0
    %sorted = sort %v : i32[256] #0
    %sum = scan %sorted {axis = 0} : i32[256] #0 (%a: i32, %c: i32) {
      %t = add %a, %c : i32
      yield %t
    }
    %yb = broadcast %y : ptr<i32>[256] #0
    %py = add_ptr %yb, %oi : ptr<i32>[256] #0
    store %py, %sum
    yield
)";
  };
  return "kernel @k(%x: ptr<const i32> {divisible_by = 16, disjoint}, %y: ptr<i32> {divisible_by = 16, disjoint}, %n: i32) {\n" +
         layout(0, warps) + fmt::format("  roles {{warps = [1, {0}, {0}], instances = [1, 3, 1]}} {{\n    yield\n  }} {{\n", warps) +
         sorts_tile("role_instance") + "  } {\n" + sorts_tile("constant {value = 4}") + "  }\n}\n";
}

fuzz::Program program(const std::string& text, int tiles, int programs) {
  fuzz::Program p;
  p.function = ir::parse(text, "roles.tile").functions.at(0);
  p.grid[0] = programs;
  for (int i : {0, 1}) {
    fuzz::Argument a;
    a.is_buffer = true;
    a.element = ir::Element::i32;
    a.bytes.resize(static_cast<std::size_t>(programs) * static_cast<std::size_t>(tiles) * 1024);
    for (std::size_t k = 0; k < a.bytes.size(); ++k) a.bytes[k] = static_cast<std::byte>(i == 0 ? k * 37 + k / 251 : 0);
    p.arguments.push_back(std::move(a));
  }
  fuzz::Argument n;
  n.word = static_cast<std::uint64_t>(tiles);
  p.arguments.push_back(n);
  return p;
}

}  // namespace tilewright::test
