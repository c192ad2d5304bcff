// Writes a CompiledKernel as bytes and reads it back, for the disk cache.
#include "backend/kernel_serialization.h"

#include <bit>

#include "tileir/byte_stream.h"

namespace tilewright::backend {

namespace {

// Each pair names every member of its struct in a structured binding, which does not compile when a member is added.

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
  const auto& [name, entry, target, format, image, params, scratch_bytes, sites, reports, resources, remarks, timings, tile_ir, llvm_ir,
               assembly] = kernel;
  ir::ByteWriter out;
  for (const std::string* text : {&name, &entry, &target}) out.write(*text);
  out.write(format);
  out.write(image);
  write(out, params);
  out.write(std::uint64_t{scratch_bytes});
  write(out, sites);
  write(out, reports);
  write(out, resources);
  write(out, remarks);
  return std::move(out).bytes();
}

std::optional<CompiledKernel> deserialize(std::span<const std::byte> bytes) {
  CompiledKernel kernel;
  auto& [name, entry, target, format, image, params, scratch_bytes, sites, reports, resources, remarks, timings, tile_ir, llvm_ir,
         assembly] = kernel;
  ir::ByteReader in(bytes);
  for (std::string* text : {&name, &entry, &target}) *text = in.text();
  format = in.read<CompiledKernel::Format>();
  image = in.bytes();
  read(in, params);
  scratch_bytes = static_cast<std::size_t>(in.read<std::uint64_t>());
  read(in, sites);
  read(in, reports);
  read(in, resources);
  read(in, remarks);
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return kernel;
}

}  // namespace tilewright::backend
