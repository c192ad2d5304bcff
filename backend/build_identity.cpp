// Reads the build ids of loaded objects from their ELF notes.
#include "backend/build_identity.h"

#include <elf.h>
#include <link.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tileir/byte_stream.h"

namespace tilewright::backend {

namespace {

/// The loaded object that contains an address: its start, and its build id.
struct Object {
  ElfW(Addr) address;
  ElfW(Addr) base = 0;
  std::vector<std::byte> build_id = {};
};

// A note: name size, descriptor size, type; then name and descriptor, each padded to 4 bytes (ELF specification, "Note Section").
std::vector<std::byte> build_id_in(const std::byte* notes, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    const std::size_t name = padded(head.n_namesz), whole = sizeof head + name + padded(head.n_descsz);
    if (whole > size) break;
    const std::byte* at = notes + sizeof head;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU && std::memcmp(at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
      return {at + name, at + name + head.n_descsz};
    notes += whole;
    size -= whole;
  }
  return {};
}

int visit(dl_phdr_info* info, std::size_t, void* context) {
  auto& object = *static_cast<Object*>(context);
  const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
  const bool holds_address = std::any_of(headers.begin(), headers.end(), [&](const ElfW(Phdr) & h) {
    return h.p_type == PT_LOAD && object.address - (info->dlpi_addr + h.p_vaddr) < h.p_memsz;
  });
  if (!holds_address) return 0;
  object.base = info->dlpi_addr;
  for (const ElfW(Phdr) & h : headers)
    if (h.p_type == PT_NOTE && object.build_id.empty())
      object.build_id = build_id_in(reinterpret_cast<const std::byte*>(info->dlpi_addr + h.p_vaddr), h.p_memsz);
  return 1;
}

template <class R, class... P>
Object object_of(R (*function)(P...)) {
  Object object{reinterpret_cast<ElfW(Addr)>(function)};
  dl_iterate_phdr(visit, &object);
  return object;
}

std::vector<std::byte> read_identity() {
  const Object compiler = object_of(&read_identity), llvm = object_of(&llvm::sys::getProcessTriple);
  if (compiler.build_id.empty() || llvm.build_id.empty()) return {};
  ir::ByteWriter identity;
  identity.write(std::span(compiler.build_id));
  if (llvm.base != compiler.base) identity.write(std::span(llvm.build_id));
  return std::move(identity).bytes();
}

}  // namespace

std::span<const std::byte> build_identity() {
  static const std::vector<std::byte> identity = read_identity();
  return identity;
}

}  // namespace tilewright::backend
