// Roles on emulated GPUs, and on GPUs where there are any: warps divide, hand buffers to each other by mbarriers, and have barriers and
// scratch of their own. The emulator finds races and divergent barriers; the interpreter gives the values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "backend/compile.h"
#include "runtime/devices.h"
#include "runtime/ptxas.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/execution/role_kernels.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/roles.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

namespace tilewright::test {

namespace {

/// Two roles, and what the body does before them.
std::string with_body(const std::string& body, const std::string& first, const std::string& second, const std::string& attributes) {
  return "kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {\n" + layout(0, 2) + "  %zero = constant {value = 0} : i32\n" +
         "  %one = constant {value = 1} : i32\n" + body + "  roles {" + attributes + "} {\n" + first + "    yield\n  } {\n" + second +
         "    yield\n  }\n}\n";
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

TEST_CASE("roles: mbarriers are initialised, and accesses before the roles complete, whatever is between") {
  const std::string first = "barrier\n mbarrier_arrive %m\n", two = "warps = [1, 2]";
  const std::string wait = "mbarrier_wait %m, %zero\n store %y, %n\n", sum = R"(
    %i = arange {lo = 0, hi = 256} : i32[256] #0
    %s = reduce %i {axis = 0, commutative} : i32 (%a: i32, %c: i32) {
      %t = add %a, %c : i32
      yield %t
    }
)";
  const std::string m = "%m = alloc_mbarriers {arrivals = 1} : mbarrier<1>\n",
                    unused = "%u = alloc_mbarriers {arrivals = 1} : mbarrier<3>\n";
  std::vector<std::string> texts = {
      with_body(m + unused, first, sum + wait, two),
      with_body(m + unused + "mbarrier_wait %m, %one\n", "mbarrier_arrive %m\n", sum + wait, two),
      with_body(m, first, sum + "barrier\n" + wait, two),
      with_body("store %y, %n\n", "", sum + "%v = load %y : i32\n %p = add_ptr %y, %one : ptr<i32>\n store %p, %v\n", two),
      with_body("store %y, %n\n", "", sum + "store %y, %s\n", two),
  };
  // Scratch of the body is where the second instance has its own.
  std::string atomics = "%s0 = add %n, %n : i32\n";
  for (int i = 0; i < 65; ++i) atomics += fmt::format("%v{0} = atomic_add %y, %one : i32\n %s{1} = add %s{0}, %v{0} : i32\n", i, i + 1);
  texts.push_back(with_body(atomics, "%j = role_instance : i32\n" + sum + R"(
    %q = add %s, %s65 : i32
    %j1 = add %j, %one : i32
    %p = add_ptr %y, %j1 : ptr<i32>
    store %p, %q
)",
                            "", "warps = [2, 2], instances = [2, 1]"));
  for (const std::string& text : texts) {
    CAPTURE(text);
    for (const char* target : {"sm_80", "sm_90"}) check_on_emulator(program(text, 1), target);
    check_on_gpus(program(text, 1));
  }
}

TEST_CASE("roles: two instances take turns at one slot, each waits for every second phase") {
  const std::string text =
      "kernel @k(%x: ptr<const i32> {divisible_by = 16, disjoint}, %y: ptr<i32> {divisible_by = 16, disjoint}, %n: i32) {\n" +
      layout(0, 2) + R"(  layout #1 [256] {offset = [[1], [2], [4], [8], [16], [32], [64], [128]]}
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %b = alloc_buffer : buffer<1, i32>[256] #1
  %full = alloc_mbarriers {arrivals = 1} : mbarrier<1>
  %empty = alloc_mbarriers {arrivals = 1} : mbarrier<1>
  %turn = alloc_mbarriers {arrivals = 1} : mbarrier<2>
  roles {warps = [2, 2], instances = [1, 2]} {
    %i = arange {lo = 0, hi = 256} : i32[256] #0
    %by = constant {value = 256} : i32[256] #0
    %xb = broadcast %x : ptr<const i32>[256] #0
    for %zero, %n, %one (%k: i32) {
      %other = bit_xor %k, %one : i32
      %kb = broadcast %k : i32[256] #0
      %o = mul %kb, %by : i32[256] #0
      %oi = add %o, %i : i32[256] #0
      %px = add_ptr %xb, %oi : ptr<const i32>[256] #0
      mbarrier_wait %empty, %other
      %v = load %px : i32[256] #0
      buffer_store %b, %v
      mbarrier_arrive %full
      yield
    }
    yield
  } {
    %j = role_instance : i32
    %i = arange {lo = 0, hi = 256} : i32[256] #0
    %by = constant {value = 256} : i32[256] #0
    %yb = broadcast %y : ptr<i32>[256] #0
    %jo = bit_xor %j, %one : i32
    %mine = mbarrier_slot %turn, %j : mbarrier<1>
    %his = mbarrier_slot %turn, %jo : mbarrier<1>
    for %j, %n, %two (%k: i32) {
      %h = div %k, %two : i32
      %hx = add %h, %j : i32
      %hy = add %hx, %one : i32
      %kb = broadcast %k : i32[256] #0
      %o = mul %kb, %by : i32[256] #0
      %oi = add %o, %i : i32[256] #0
      %py = add_ptr %yb, %oi : ptr<i32>[256] #0
      mbarrier_wait %mine, %hy
      mbarrier_wait %full, %k
      %v = buffer_load %b : i32[256] #0
      mbarrier_arrive %his
      mbarrier_arrive %empty
      store %py, %v
      yield
    }
    yield
  }
}
)";
  for (const int tiles : {1, 5, 8}) {
    CAPTURE(tiles);
    for (const char* target : {"sm_80", "sm_90"}) check_on_emulator(program(text, tiles), target);
    check_on_gpus(program(text, tiles));
  }
}

TEST_CASE("roles: warps and named barriers are of one instance each") {
  const std::string text =
      "kernel @k() {\n  roles {warps = [1, 2, 4, 1], registers = [40, 40, 152, 40], instances = [1, 3, 2, 1]} {\n    yield\n  } {\n"
      "    yield\n  } {\n    yield\n  } {\n    yield\n  }\n}\n";
  const ir::Function f = ir::parse(text, "roles.tile").functions.at(0);
  std::vector<int> warps, barriers;
  for (const ir::Role& r : ir::roles(f, ir::roles_op(f))) {
    warps.push_back(r.first_warp);
    barriers.push_back(r.barrier);
  }
  CHECK(warps == std::vector<int>{0, 4, 12, 20});
  CHECK(barriers == std::vector<int>{1, 2, 5, 7});
  CHECK(ir::program_warps(f, 4) == 24);
}

TEST_CASE("roles: NVIDIA's assembler takes them for every chip, spills nothing and ignores nothing") {
  const auto ptxas = rt::find_ptxas();
  if (!ptxas) {
    MESSAGE(rt::why_no_ptxas());
    return;
  }
  const std::string copies = "copy_async %px, %s, %yes\n copy_arrive %f\n";
  for (const std::string target : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    std::vector<std::string> texts{hand_over("warps = [4, 2]", 4, 2, 1, 1, kStores, kReduces),
                                   hand_over("warps = [1, 4]", 1, 4, 32, 1, copies, kReduces), instances(2)};
    if (target == "sm_90a") texts.push_back(hand_over("warps = [1, 8], registers = [40, 232]", 1, 8, 1, 2, kStores, kReduces));
    for (const std::string& text : texts) {
      const backend::CompiledKernel k = backend::compile(program(text, 1).function, {.target = target});
      const rt::Assembled a = rt::assemble(*ptxas, std::string(reinterpret_cast<const char*>(k.image.data()), k.image.size()), target);
      CAPTURE(target);
      CAPTURE(text);
      REQUIRE(a.kernels.size() == 1);
      CHECK(a.kernels[0].remarks.empty());
      CHECK(a.kernels[0].spill_store_bytes == 0);
    }
  }
}

TEST_CASE("roles: instances have tiles, barriers and scratch of their own") {
  // Instance j of the second role sorts and sums tile j of x, the third role tile 4.
  for (const int warps : {1, 2, 4}) {
    const std::string text = instances(warps);
    CAPTURE(warps);
    check_on_emulator(program(text, 5), "sm_80");
    check_on_gpus(program(text, 5));
  }
}

}  // namespace tilewright::test
