// Writes a CompiledKernel as bytes and reads it back, for the disk cache.
#include "backend/kernel_serialization.h"

#include <bit>

#include "tileir/byte_stream.h"

namespace tilewright::backend {

namespace {

// Each pair of functions names every member of its struct in a structured binding, which does not compile when a member is added.

void write(ir::ByteWriter& out, const Location& location) {
  out.write(location.file);
  out.write(location.line);
  out.write(location.column);
}
void read(ir::ByteReader& in, Location& location) {
  location.file = in.text();
  location.line = in.read<int>();
  location.column = in.read<int>();
}

void write(ir::ByteWriter& out, const ir::Type& type) { out.write(type.key()); }
void read(ir::ByteReader& in, ir::Type& type) { type = std::bit_cast<ir::Type>(in.read<std::uint64_t>()); }

void write(ir::ByteWriter& out, const std::string& text) { out.write(text); }
void read(ir::ByteReader& in, std::string& text) { text = in.text(); }

void write(ir::ByteWriter& out, const AccessSite& site) {
  const auto& [where, is_store, element_bytes, parameter, is_atomic, needs_alignment] = site;
  write(out, where);
  out.write(is_store);
  out.write(element_bytes);
  out.write(parameter);
  out.write(is_atomic);
  out.write(needs_alignment);
}
void read(ir::ByteReader& in, AccessSite& site) {
  auto& [where, is_store, element_bytes, parameter, is_atomic, needs_alignment] = site;
  read(in, where);
  is_store = in.read<bool>();
  element_bytes = in.read<int>();
  parameter = in.read<int>();
  is_atomic = in.read<bool>();
  needs_alignment = in.read<bool>();
}

void write(ir::ByteWriter&, const ReportSite&);
void read(ir::ByteReader&, ReportSite&);

void write(ir::ByteWriter& out, int number) { out.write(number); }
void read(ir::ByteReader& in, int& number) { number = in.read<int>(); }

void write(ir::ByteWriter& out, const LaunchRecipe::Step& step) {
  const auto& [kind, value, a, b] = step;
  out.write(kind);
  out.write(value);
  out.write(a);
  out.write(b);
}
void read(ir::ByteReader& in, LaunchRecipe::Step& step) {
  auto& [kind, value, a, b] = step;
  kind = in.read<LaunchRecipe::Kind>();
  value = in.read<std::int64_t>();
  a = in.read<int>();
  b = in.read<int>();
}

void write(ir::ByteWriter& out, const PackedParameter::Field& field) {
  const auto& [offset, bytes, step] = field;
  for (const int number : {offset, bytes, step}) out.write(number);
}
void read(ir::ByteReader& in, PackedParameter::Field& field) {
  auto& [offset, bytes, step] = field;
  for (int* number : {&offset, &bytes, &step}) *number = in.read<int>();
}

void write(ir::ByteWriter&, const HostParameter&);
void read(ir::ByteReader&, HostParameter&);

template <class T>
void write(ir::ByteWriter& out, const std::vector<T>& list) {
  out.write(std::uint64_t{list.size()});
  for (const T& element : list) write(out, element);
}
template <class T>
void read(ir::ByteReader& in, std::vector<T>& list) {
  list.resize(in.length());
  for (T& element : list) read(in, element);
}

void write(ir::ByteWriter& out, const ReportSite& site) {
  const auto& [where, is_print, text, reason, operands] = site;
  write(out, where);
  out.write(is_print);
  out.write(text);
  out.write(reason);
  write(out, operands);
}
void read(ir::ByteReader& in, ReportSite& site) {
  auto& [where, is_print, text, reason, operands] = site;
  read(in, where);
  is_print = in.read<bool>();
  text = in.text();
  reason = in.read<ir::Reason>();
  read(in, operands);
}

void write(ir::ByteWriter& out, const HostParameter& parameter) {
  out.write(static_cast<std::uint8_t>(parameter.index()));
  if (const auto* packed = std::get_if<PackedParameter>(&parameter)) {
    const auto& [bytes, fields] = *packed;
    out.write(bytes);
    write(out, fields);
    return;
  }
  const auto& [element, address, extents, strides, box, swizzle_bytes] = std::get<TensorMapParameter>(parameter);
  out.write(element);
  out.write(address);
  for (const std::vector<int>* list : {&extents, &strides, &box}) write(out, *list);
  out.write(swizzle_bytes);
}
void read(ir::ByteReader& in, HostParameter& parameter) {
  if (in.read<std::uint8_t>() == 0) {
    auto& [bytes, fields] = parameter.emplace<PackedParameter>();
    bytes = in.read<int>();
    read(in, fields);
    return;
  }
  auto& [element, address, extents, strides, box, swizzle_bytes] = parameter.emplace<TensorMapParameter>();
  element = in.read<ir::Element>();
  address = in.read<int>();
  for (std::vector<int>* list : {&extents, &strides, &box}) read(in, *list);
  swizzle_bytes = in.read<int>();
}

void write(ir::ByteWriter& out, const LaunchPlan& plan) {
  const auto& [recipe, parameters, grid, positive] = plan;
  write(out, recipe.steps);
  write(out, parameters);
  for (const int step : grid) out.write(step);
  write(out, positive);
}
void read(ir::ByteReader& in, LaunchPlan& plan) {
  auto& [recipe, parameters, grid, positive] = plan;
  read(in, recipe.steps);
  read(in, parameters);
  for (int& step : grid) step = in.read<int>();
  read(in, positive);
}

void write(ir::ByteWriter& out, const Resources& resources) {
  const auto& [registers, spill_bytes, shared_bytes, num_warps] = resources;
  for (const int number : {registers, spill_bytes, shared_bytes, num_warps}) out.write(number);
}
void read(ir::ByteReader& in, Resources& resources) {
  auto& [registers, spill_bytes, shared_bytes, num_warps] = resources;
  for (int* number : {&registers, &spill_bytes, &shared_bytes, &num_warps}) *number = in.read<int>();
}

}  // namespace

std::vector<std::byte> serialize(const CompiledKernel& kernel) {
  const auto& [name, entry, target, format, image, params, launch, scratch_bytes, sites, reports, resources, remarks, timings, tile_ir,
               llvm_ir, assembly] = kernel;
  ir::ByteWriter out;
  for (const std::string* text : {&name, &entry, &target}) out.write(*text);
  out.write(format);
  out.write(image);
  write(out, params);
  write(out, launch);
  out.write(std::uint64_t{scratch_bytes});
  write(out, sites);
  write(out, reports);
  write(out, resources);
  write(out, remarks);
  return std::move(out).bytes();
}

std::optional<CompiledKernel> deserialize(std::span<const std::byte> bytes) {
  CompiledKernel kernel;
  auto& [name, entry, target, format, image, params, launch, scratch_bytes, sites, reports, resources, remarks, timings, tile_ir, llvm_ir,
         assembly] = kernel;
  ir::ByteReader in(bytes);
  for (std::string* text : {&name, &entry, &target}) *text = in.text();
  format = in.read<CompiledKernel::Format>();
  image = in.bytes();
  read(in, params);
  read(in, launch);
  scratch_bytes = static_cast<std::size_t>(in.read<std::uint64_t>());
  read(in, sites);
  read(in, reports);
  read(in, resources);
  read(in, remarks);
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return kernel;
}

}  // namespace tilewright::backend
