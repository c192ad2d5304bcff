// The list of equivalent mutants, ordered by kernel.
#include "tests/mutants/equivalent.h"

#include <regex>

namespace tilewright::test {
namespace {

constexpr Weakening kGuard = Weakening::guard_removed, kBound = Weakening::bound_shifted, kBarrier = Weakening::barrier_removed;

const char* const kCopies = "every lane of a warp holds what the warp reduced, so all of them store the same";
const char* const kProducer = "who waits for a copy reads what the copy wrote, which its bytes tell of, and nothing that its thread did";
const char* const kObject =
    "all that came before are inits, and what a copy does to an mbarrier is an operation on it and no access of its own; "
    "Triton's kernels have no fence there";
const char* const kParity = "a specialization has sizes of one divisibility, and no such size is the index of these elements";
const char* const kPastEnd =
    "past the last iteration a copy reads rows behind the matrix, here memory of another buffer, to a slot that is not multiplied (where "
    "it "
    "is not memory of a buffer, or scratch takes the place of the slot, checks do find it)";
const char* const kNotRead =
    "a copy of an iteration that does not run reads rows of the view, or none and writes zeros, to a slot that no iteration reads then";

}  // namespace

const std::vector<Equivalent>& known_equivalents() {
  static const std::vector<Equivalent> all = {
      {"softmax", kGuard, R"(@%p st\.shared\.b32 .*)", ".*", 2, kCopies},
      {"layer_norm", kGuard, R"(@%p st\.shared\.b32 .*)", ".*", 2, kCopies},
      {"to_int8", kGuard, R"(@%p st\.shared\.b32 .*)", ".*", 1, kCopies},
      {"to_int8", kGuard, R"(@%p st\.global\.b32 .*)", R"(tw::store\(scales .*)", 1,
       "every thread holds the row's scale, so all of them store the same"},
      {"matmul_silu", kGuard, R"(@%p cp\.async\.ca\..*)", R"(auto b_tile = .*)", 8, kPastEnd},
      {"matmul_silu", Weakening::wait_weakened, R"(cp\.async\.wait_group 0;)", ".*", 1,
       "behind the loop zeros may be on their way to the slots, and this kernel uses no shared memory there"},
      {"to_mx", kGuard, R"(@%p st\.(shared|global)\.b8 .*)", R"(tw::store\(scales .*)", 2,
       "the lanes that the guard stops hold copies of the scale that another lane stores"},
      {"topk_sampling", kGuard, R"(@%p st\.global\.b32 .*)", R"(tw::store\(tokens .*)", 1,
       "every thread holds the chosen token, so all of them store the same"},
      {"topk_sampling", kGuard, R"(@%p st\.shared\.v4\.b32 .*)", ".*gather.*", 2,
       "the warps that the guard stops hold copies of the sorted tokens that another one stores"},

      {"look_up", kGuard, R"(@%p ld\.global\.v4\.b32 .*)", ".*", 4,
       "a token past the end is 0, and nobody stores what is read of the table's first row for it"},
      {"add_gradients", kGuard, R"(@%p red\..*)", ".*", 14, "a token past the end is 0 and its gradient too: 0 is added to the first row"},
      {"add_gradients", kGuard, R"(@%p red\..*)", ".*", 2, "a program has a first token, so that this guard holds everywhere"},
      {"add_gradients", kGuard, R"(@%p ld\.global\.b32 .*)", ".*gradients.*", 2,
       "a program has a first token, so that this guard holds everywhere"},

      {"attention", kBound, R"(setp\.gt\.s64 %p, %rd, -1;)", ".*", 11, "the offsets of these views are never negative"},
      {"attention", kBound, R"(setp\.lt\.s64 .*)", ".*", 11, kParity},
      {"attention", kGuard, R"(@%p cp\.async\.cg\..*)", "auto (keys|values) = .*", 48, kNotRead},
      {"attention", kBound, R"(setp\.(gt\.s32 %p, %r, 0|gt\.u32 %p, %r, 1|lt\.s32 %p, %r, %r);)", "(for|auto values).*", 3, kNotRead},
      {"attention", kBarrier, "bar\\.sync 0;", R"(out\.store.*)", 1,
       "it keeps what is stored from what the copies read, and the copies of all iterations are over at the last iteration's barrier"},
      {"add_gradients", kBound, R"(setp\.(lt|gt)\.s32 .*)", ".*", 4, kParity},
      {"histogram", kBound, R"(setp\.lt\.s32 .*)", ".*", 16, kParity},
      {"dropout", kBound, R"(setp\.lt\.s32 .*)", ".*", 4, kParity},

      {"histogram", kBarrier, "bar\\.sync 0;", ".*", 1,
       "a thread clears those bins that it alone has read since the barrier before, and another barrier follows"},
      {"product for sm_90a", kBarrier, "bar\\.sync 0;", "(sum = tw::dot_scaled|for).*", 2,
       "the four warps of the program multiply together, and a product that one of them has waited for has read its factors"},
      {"topk_sampling", kBarrier, "bar\\.sync 0;", ".*topk.*", 1,
       "the last exchange of the sort reads the upper half of its memory, and what is stored next lies in the lower"},
      {"topk_sampling", kBarrier, "bar\\.sync 0;", ".*topk.*", 2,
       "runs of 64 elements are sorted within a warp, so that these exchanges between warps never run"},

      {"ptx: block_sum", kGuard, "@%p bra .*", "", 1, kCopies},
      {"ptx: histogram", kGuard, "@%p bra .*", "", 1, "a block that counted none of a value adds 0"},
      {"ptx: (pipeline|multicast|wgmma_matmul)", Weakening::order_relaxed, R"(mbarrier\.arrive\.expect_tx\..*)", "", 3, kProducer},
      {"ptx: wgmma_matmul", Weakening::fence_removed, R"(fence\.proxy\.async\..*)", "", 1, kObject},
      {"ptx: multicast", kBarrier, "bar\\.sync 0;", "", 1, "the cluster's barrier before it is one of the block too"},
      {"ptx: multicast", Weakening::warp_barrier_removed, "bar\\.warp\\.sync -1;", "", 1,
       "the paths of a warp's lanes join here, and so do the lanes, for ptxas as for the emulator; PTX itself promises it for this barrier "
       "alone"},
  };
  return all;
}

std::string without_numbers(const std::string& instruction) {
  static const std::regex number("(%[a-z]+)[0-9]+");
  return std::regex_replace(instruction, number, "$1");
}

bool describes(const Equivalent& known, const std::string& kernel, const Mutant& mutant, const std::string& source) {
  return known.weakening == mutant.weakening && std::regex_match(kernel, std::regex(known.kernel)) &&
         std::regex_match(without_numbers(mutant.before), std::regex(known.instruction)) &&
         std::regex_match(source, std::regex(known.source));
}

}  // namespace tilewright::test
