// Compiled kernels as bytes, and the keys of compilations.
#include "backend/kernel_serialization.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "backend/build_identity.h"
#include "backend/compilation_key.h"
#include "tests/unit/backend/sample_plan.h"
#include "tileir/text/parser.h"

namespace tilewright::backend {
namespace {

CompiledKernel sample() {
  CompiledKernel k;
  k.name = "softmax";
  k.entry = "entry";
  k.target = "sm_80";
  k.format = CompiledKernel::Format::ptx;
  k.image = {std::byte{1}, std::byte{0}, std::byte{255}};
  k.params = {ir::Type::pointer(ir::Element::f16, true), ir::Type(ir::Element::i32)};
  k.launch = sample_plan();
  k.scratch_bytes = 4096;
  k.sites = {{{"a.cpp", 3, 7}, true, 2, 1, false, true}};
  const std::int64_t shape[] = {4, 8};
  k.reports = {{{"b.cpp", 4, 0}, true, "x = {}", ir::Reason::gather, {ir::Type(ir::Element::f32, shape)}}};
  k.resources = {10, 20, 30, 4};
  k.remarks = {"a.cpp:3: slow", ""};
  return k;
}

TEST_CASE("kernel_serialization: every member comes back") {
  const auto k = deserialize(serialize(sample()));
  REQUIRE(k);
  CHECK(k->name == "softmax");
  CHECK(k->entry == "entry");
  CHECK(k->target == "sm_80");
  CHECK(k->format == CompiledKernel::Format::ptx);
  CHECK(k->image == sample().image);
  CHECK(k->params == sample().params);
  CHECK(k->launch == sample().launch);
  CHECK(k->scratch_bytes == 4096);
  REQUIRE(k->sites.size() == 1);
  CHECK(k->sites[0].where.file == "a.cpp");
  CHECK(k->sites[0].where.line == 3);
  CHECK(k->sites[0].where.column == 7);
  CHECK(k->sites[0].is_store);
  CHECK(k->sites[0].element_bytes == 2);
  CHECK(k->sites[0].parameter == 1);
  CHECK(!k->sites[0].is_atomic);
  CHECK(k->sites[0].needs_alignment);
  REQUIRE(k->reports.size() == 1);
  CHECK(k->reports[0].where.file == "b.cpp");
  CHECK(k->reports[0].is_print);
  CHECK(k->reports[0].text == "x = {}");
  CHECK(k->reports[0].reason == ir::Reason::gather);
  CHECK(k->reports[0].operands == sample().reports[0].operands);
  CHECK(k->resources.registers == 10);
  CHECK(k->resources.spill_bytes == 20);
  CHECK(k->resources.shared_bytes == 30);
  CHECK(k->resources.num_warps == 4);
  CHECK(k->remarks == sample().remarks);
  CHECK(serialize(*k) == serialize(sample()));
}

TEST_CASE("kernel_serialization: bytes that are cut short or too long are not a kernel") {
  auto bytes = serialize(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) CHECK(!deserialize(std::span(bytes).first(length)));
  bytes.push_back(std::byte{0});
  CHECK(!deserialize(bytes));
}

TEST_CASE("compilation_key: options, targets and functions differ, and the build is in it") {
  const auto function = [](const char* name) {
    return ir::parse(std::string("kernel @") + name + "(%p: ptr<f32>) {\n  %x = load %p : f32\n  store %p, %x\n}\n", "f.tile")
        .functions.at(0);
  };
  REQUIRE(!build_identity().empty());
  std::set<std::vector<std::byte>> keys;
  const auto is_new = [&](const char* name, const CompileOptions& options) {
    return keys.insert(compilation_key(function(name), options)).second;
  };
  CHECK(is_new("k", {}));
  CHECK(!is_new("k", {}));
  CHECK(is_new("l", {}));
  for (const char* target : {"cpu:x86-64", "cpu:x86-64-v3", "sm_80", "sm_90a"}) CHECK(is_new("k", {.target = target}));
  CHECK(is_new("k", {.num_warps = 8}));
  CHECK(is_new("k", {.num_stages = 3}));
  CHECK(is_new("k", {.check = true}));
  CHECK(is_new("k", {.contract = false}));
  CHECK(is_new("k", {.ptx_version = 80}));
  const auto key = compilation_key(function("k"), {});
  CHECK(std::search(key.begin(), key.end(), build_identity().begin(), build_identity().end()) != key.end());
}

}  // namespace
}  // namespace tilewright::backend
