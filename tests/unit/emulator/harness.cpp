// Writes the modules around PTX snippets of tests.
#include "tests/unit/emulator/harness.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilewright::rt::emulator {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
  return text;
}

// A register of so many bytes, by number.
std::string register_of(int bytes, int number) { return fmt::format("%{}{}", bytes <= 2 ? "h" : bytes == 4 ? "r" : "d", number); }

}  // namespace

std::string module_for(const std::string& target, const std::string& params, const std::string& body, const std::string& globals,
                       const std::string& kernel_directives) {
  return fmt::format(
      ".version {}\n.target {}\n.address_size 64\n{}\n.visible .entry k({}){}\n{{\n"
      ".reg .pred %p<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n{}\nret;\n}}\n",
      target == "sm_80" ? "8.0" : "8.6", target, globals, params, kernel_directives, body);
}

std::string module_of(const std::string& params, const std::string& body, const std::string& globals) {
  return module_for("sm_80", params, body, globals, "");
}

std::string hopper_module_of(const std::string& params, const std::string& body, const std::string& globals) {
  return module_for("sm_90a", params, body, globals, "");
}

std::string ptx_file(const std::string& name) {
  const auto path = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "ptx" / name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string row_kernel(const std::string& op, int result_bytes, const std::vector<int>& source_bytes) {
  std::string params = ".param .u64 out";
  std::string body = R"(
    mov.u32 %r20, %ctaid.x;
    mov.u32 %r21, %ntid.x;
    mov.u32 %r22, %tid.x;
    mad.lo.u32 %r20, %r20, %r21, %r22;
    ld.param.u32 %r21, [rows];
    setp.ge.u32 %p7, %r20, %r21;
    @%p7 ret;
  )";
  std::string line = replaced(op, "$d", register_of(result_bytes, 10));
  for (std::size_t k = 0; k < source_bytes.size(); ++k) {
    params += fmt::format(", .param .u64 in{}", k);
    const int bytes = source_bytes[k];
    const std::string reg = register_of(bytes, static_cast<int>(k) + 1);
    body += fmt::format("ld.param.u64 %d20, [in{}];\nmad.wide.u32 %d21, %r20, {}, %d20;\nld.global.u{} {}, [%d21];\n", k, bytes, 8 * bytes,
                        reg);
    line = replaced(line, fmt::format("${}", static_cast<char>('a' + k)), reg);
  }
  params += ", .param .u32 rows";
  body += line + fmt::format("\nld.param.u64 %d20, [out];\nmad.wide.u32 %d21, %r20, {}, %d20;\nst.global.b{} [%d21], {};\n", result_bytes,
                             8 * result_bytes, register_of(result_bytes, 10));
  return module_of(params, body);
}

}  // namespace tilewright::rt::emulator
