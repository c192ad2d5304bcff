// Roles on emulated GPUs, and on GPUs where there are any: warps divide, hand buffers to each other by mbarriers, and have barriers and
// scratch of their own. The emulator finds races and divergent barriers; the interpreter gives the values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "backend/compile.h"
#include "runtime/devices.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/roles.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

namespace tilewright::test {

namespace {

/// 256 elements over `warps` warps, 2 * 2^i neighbours in a thread.
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

/// In each program n tiles go from x to y by way of two slots. `fill` and `use`: what the two roles do with %s, a slot.
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

const std::string kStores = "%v = load %px : i32[256] #0\n buffer_store %s, %v\n mbarrier_arrive %f\n";
const std::string kUse = "store %py, %v\n";
/// A maximum and a scan over all warps of the role: scratch, and barriers of the role.
const std::string kReduces = R"(
      %m = reduce %v {axis = 0, commutative} : i32 (%a: i32, %c: i32) {
        %t = maximum %a, %c : i32
        yield %t
      }
      %sc = scan %v {axis = 0} : i32[256] #1 (%a: i32, %c: i32) {
        %t = add %a, %c : i32
        yield %t
      }
      %mb = broadcast %m : i32[256] #1
      %r = add %sc, %mb : i32[256] #1
      store %py, %r
)";

fuzz::Program program(const std::string& text, int tiles, int programs = 1) {
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

constexpr int kWarps = 4;  // unless roles say otherwise

/// GPUs among machines(), on which warps of a program and programs run at the same time.
void check_on_gpus(const fuzz::Program& p) {
  const bool changes_registers = !p.function.attr_list(ir::roles_op(p.function), ir::AttrName::registers).empty();
  for (const std::string& name : machines()) {
    if (!name.starts_with("cuda:")) continue;
    const ir::TargetDesc target = backend::describe_target(rt::open_device(name, {})->target());
    if (target.sm < 80 || (changes_registers && !target.has_wgmma)) continue;  // refused there
    fuzz::DeviceExecutor gpu(name, kWarps);
    check_on(gpu, p, kWarps, target);
  }
}

void check_on_emulator(const fuzz::Program& p, const char* target) {
  CAPTURE(target);
  fuzz::EmulatorExecutor emulator(target, kWarps);
  check_on(emulator, p, kWarps, backend::describe_target(target));
}

void check(const std::string& text, std::initializer_list<const char*> targets = {"sm_80", "sm_90"}) {
  for (const int tiles : {1, 2, 5}) {
    CAPTURE(tiles);
    for (const char* target : targets) check_on_emulator(program(text, tiles, /*programs=*/2), target);
    check_on_gpus(program(text, tiles));
  }
  check_on_gpus(program(text, /*tiles=*/20, /*programs=*/150));
}

}  // namespace

TEST_CASE("roles: one role fills slots, another one empties them") {
  check(hand_over("warps = [4, 2]", 4, 2, 1, 1, kStores, kUse));
  check(hand_over("warps = [1, 4]", 1, 4, 1, 1, kStores, kUse));
  check(hand_over("warps = [8, 4]", 8, 4, 2, 1, kStores, kUse));
}

TEST_CASE("roles: barriers and scratch within ops are of the role") {
  check(hand_over("warps = [4, 2]", 4, 2, 1, 1, kStores, kReduces));
  check(hand_over("warps = [1, 8]", 1, 8, 1, 2, kStores, kReduces));
}

TEST_CASE("roles: an mbarrier waits for copies") {
  const std::string copies = "copy_async %px, %s, %yes\n copy_arrive %f\n";
  check(hand_over("warps = [4, 2]", 4, 2, 128, 1, copies, kReduces));
  check(hand_over("warps = [1, 4]", 1, 4, 32, 1, copies, kUse));
}

TEST_CASE("roles: a role that says registers has whole groups of warps, of which the surplus ends at once") {
  check(hand_over("warps = [1, 8], registers = [40, 232]", 1, 8, 1, 2, kStores, kReduces), {"sm_90a"});
  const fuzz::Program p = program(hand_over("warps = [1, 8], registers = [40, 232]", 1, 8, 1, 2, kStores, kUse), 1);
  const backend::CompiledKernel k = backend::compile(p.function, {.target = "sm_90a"}, {.keep_text = true, .dump = {}});
  CHECK(k.resources.num_warps == 12);
  CHECK(count(k.assembly, ".reqntid 384") == 1);
  CHECK(count(k.assembly, ".minnctapersm 1") == 1);
  CHECK(count(k.assembly, "setmaxnreg.dec.sync.aligned.u32 40;") == 1);
  CHECK(count(k.assembly, "setmaxnreg.inc.sync.aligned.u32 232;") == 1);
  CHECK_THROWS_AS(backend::compile(p.function, {.target = "sm_90"}), Error);
  CHECK_THROWS_AS(backend::compile(program(hand_over("warps = [1, 4]", 1, 4, 1, 1, kStores, kUse), 1).function, {.target = "sm_75"}),
                  Error);
}

TEST_CASE("roles: instances have tiles, barriers and scratch of their own") {
  // Instance j of the second role sorts and sums tile j of x.
  for (const int warps : {1, 2, 4}) {
    const std::string text =
        "kernel @k(%x: ptr<const i32> {divisible_by = 16, disjoint}, %y: ptr<i32> {divisible_by = 16, disjoint}, %n: i32) {\n" +
        layout(0, warps) + fmt::format("  roles {{warps = [1, {}], instances = [1, 3]}} {{\n", warps) + R"(    yield
  } {
    %j = role_instance : i32
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
  }
}
)";
    CAPTURE(warps);
    check_on_emulator(program(text, 3), "sm_80");
    check_on_gpus(program(text, 3));
  }
}

}  // namespace tilewright::test
