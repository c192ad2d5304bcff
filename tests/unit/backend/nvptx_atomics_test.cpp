// Atomics as PTX: order, scope and width of instructions; scalar atomics, which one thread executes and whose result all threads get.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/backend/ptx_assembler.h"

namespace tilewright::backend {

using testing::checked_ptx;
using testing::compile_for;
using testing::count;

namespace {

/// A tile of 512 elements, op by op; `uses`: the results are stored.
std::string tile_atomic(const char* op, const char* element, const char* attrs, bool uses) {
  const std::string e = element;
  return fmt::format(R"(kernel @k(%p: ptr<{0}>, %q: ptr<{0}>, %x: {0}) {{
  %i = arange {{lo = 0, hi = 512}} : i32[512]
  %b = broadcast %p : ptr<{0}>[512]
  %a = add_ptr %b, %i : ptr<{0}>[512]
  %v = broadcast %x : {0}[512]
  %o = {1} %a, %v {2} : {0}[512]
  {3}
}})",
                     e, op, attrs,
                     uses ? fmt::format("%c = broadcast %q : ptr<{0}>[512]\n %d = add_ptr %c, %i : ptr<{0}>[512]\n store %d, %o", e) : "");
}

std::string ptx(const std::string& tile, const char* target = "sm_80", int warps = 4) {
  return checked_ptx(compile_for(tile, target, warps));
}

}  // namespace

TEST_CASE("nvptx atomics: every op and type assembles on every generation") {
  for (const char* target : {"sm_75", "sm_80", "sm_90"}) {
    for (const char* e : {"i32", "u32", "i64", "u64", "f32", "f64"}) {
      CAPTURE(e);
      for (const char* op : {"atomic_add", "atomic_max", "atomic_min", "atomic_exchange"})
        for (const bool uses : {false, true}) ptx(tile_atomic(op, e, "", uses), target);
    }
    for (const char* e : {"i32", "u64"})
      for (const char* op : {"atomic_and", "atomic_or", "atomic_xor"}) ptx(tile_atomic(op, e, "{order = relaxed}", false), target);
    for (const char* e : {"f16", "bf16"}) ptx(tile_atomic("atomic_add", e, "{order = release, scope = system}", true), target);
  }
}

TEST_CASE("nvptx atomics: order and scope are the instruction's; a result that nobody wants makes it a red, but where it acquires") {
  CHECK(count(ptx(tile_atomic("atomic_add", "f32", "", true)), "atom.acq_rel.gpu.global.add.f32") == 4);
  CHECK(count(ptx(tile_atomic("atomic_add", "f32", "", false)), "atom.acq_rel.gpu.global.add.f32") == 4);
  CHECK(count(ptx(tile_atomic("atomic_max", "i64", "{order = relaxed, scope = block}", false)), "red.relaxed.cta.global.max.s64") == 4);
  CHECK(count(ptx(tile_atomic("atomic_min", "u32", "{order = release, scope = system}", false)), "red.release.sys.global.min.u32") == 4);
  CHECK(count(ptx(tile_atomic("atomic_exchange", "f64", "{order = relaxed}", false)), "atom.relaxed.gpu.global.exch.b64") == 4);
  CHECK(count(ptx(tile_atomic("atomic_add", "f16", "{order = acquire}", true)), "atom.acquire.gpu.global.add.noftz.f16") == 4);
}

TEST_CASE("nvptx atomics: one that releases comes after a barrier, one that acquires before one; relaxed ones need neither") {
  const auto barriers = [](const char* attrs) {
    // Only the text after the atomic: insert_barriers has other reasons for barriers before it.
    const std::string text = ptx(tile_atomic("atomic_add", "i32", attrs, false));
    const std::size_t first = text.find("add.u32") == std::string::npos ? 0 : text.find(".global.add.u32");
    return std::pair(count(text.substr(0, first), "bar.sync"), count(text.substr(first), "bar.sync"));
  };
  CHECK(barriers("").first >= 1);
  CHECK(barriers("").second == 1);
  CHECK(barriers("{order = acquire}").second == 1);
  CHECK(barriers("{order = release}").first >= 1);
  CHECK(barriers("{order = release}").second == 0);
  CHECK(barriers("{order = relaxed}").second == 0);
}

TEST_CASE("nvptx atomics: what there is no instruction for is a compare-and-swap loop of its own width") {
  CHECK(count(ptx(tile_atomic("atomic_max", "f32", "", true)), "atom.acq_rel.gpu.global.cas.b32") == 4);
  CHECK(count(ptx(tile_atomic("atomic_min", "f64", "", true)), "atom.acq_rel.gpu.global.cas.b64") == 4);
  CHECK(count(ptx(tile_atomic("atomic_add", "bf16", "", true), "sm_80"), "atom.acq_rel.gpu.global.cas.b16") == 4);
  CHECK(count(ptx(tile_atomic("atomic_add", "bf16", "", true), "sm_90"), "atom.acq_rel.gpu.global.add.noftz.bf16") == 4);
}

TEST_CASE("nvptx atomics: a scalar one happens once, and every thread gets its result") {
  const char* tile = R"(kernel @k(%p: ptr<i32>, %q: ptr<i32>) {
  %one = constant {value = 1} : i32
  %o = atomic_add %p, %one : i32
  %i = arange {lo = 0, hi = 256} : i32[256]
  %b = broadcast %q : ptr<i32>[256]
  %a = add_ptr %b, %i : ptr<i32>[256]
  %v = broadcast %o : i32[256]
  store %a, %v
})";
  const CompiledKernel many = compile_for(tile, "sm_80", 4);
  CHECK(many.resources.shared_bytes == 4);
  const std::string text = checked_ptx(many);
  CHECK(count(text, "atom.acq_rel") == 1);
  CHECK(count(text, "st.shared") == 1);
  CHECK(count(text, "ld.shared") == 1);
  // A warp needs no memory for that.
  const CompiledKernel one = compile_for(tile, "sm_80", 1);
  CHECK(one.resources.shared_bytes == 0);
  CHECK(count(checked_ptx(one), "shfl.sync.idx") == 1);
}

TEST_CASE("nvptx atomics: of a tile smaller than the program each element counts once") {
  const char* tile = R"(kernel @k(%p: ptr<f32>, %q: ptr<f32>, %x: f32, %m: i1) {
  %i = arange {lo = 0, hi = 8} : i32[8]
  %b = broadcast %p : ptr<f32>[8]
  %a = add_ptr %b, %i : ptr<f32>[8]
  %v = broadcast %x : f32[8]
  %w = broadcast %m : i1[8]
  %o = atomic_add %a, %v, %w : f32[8]
  %c = broadcast %q : ptr<f32>[8]
  %d = add_ptr %c, %i : ptr<f32>[8]
  store %d, %o
})";
  for (const int warps : {1, 4}) {
    const std::string text = checked_ptx(compile_for(tile, "sm_80", warps));
    CAPTURE(text);
    CHECK(count(text, "atom.acq_rel") <= 4);
    CHECK(count(text, "@%p") >= 2);  // neither it nor the store happens everywhere
  }
  CHECK(compile_for(tile, "sm_80", 4).resources.shared_bytes == 32);
  CHECK(compile_for(tile, "sm_80", 1).resources.shared_bytes == 0);
}

}  // namespace tilewright::backend
