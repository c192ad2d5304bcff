// The NPY format: a magic string, a version, a header that is a Python dictionary, and the elements.
#include "frontend/cli/files/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "frontend/cli/files/errors.h"

namespace tilewright::cli {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;  // the limit of NumPy
constexpr std::size_t kAlignment = 64;

/// The spellings of one element type.
struct Names {
  ir::Element element;
  std::string_view descr;  // as written by NumPy and ml_dtypes
  std::string_view numpy;
};
// In the order of ir::Element.
constexpr Names kNames[] = {
    {ir::Element::boolean, "|b1", "bool"},       {ir::Element::i8, "|i1", "int8"},
    {ir::Element::i16, "<i2", "int16"},          {ir::Element::i32, "<i4", "int32"},
    {ir::Element::i64, "<i8", "int64"},          {ir::Element::u8, "|u1", "uint8"},
    {ir::Element::u16, "<u2", "uint16"},         {ir::Element::u32, "<u4", "uint32"},
    {ir::Element::u64, "<u8", "uint64"},         {ir::Element::f16, "<f2", "float16"},
    {ir::Element::bf16, "<V2", "bfloat16"},      {ir::Element::f32, "<f4", "float32"},
    {ir::Element::f64, "<f8", "float64"},        {ir::Element::f8e4m3, "|V1", "float8_e4m3fn"},
    {ir::Element::f8e5m2, "|V1", "float8_e5m2"},
};
static_assert(std::size(kNames) == ir::kElementCount);

const Names& names(ir::Element e) { return kNames[static_cast<std::size_t>(e)]; }

/// The byte order, kind and width in "<f4".
struct Dtype {
  char order = '|', kind = '\0';
  int bytes = 0;
};

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (const Names& n : kNames)
    if (text == n.numpy && (n.descr[1] == 'V')) return Dtype{'<', 'V', ir::bytes(n.element)};
  Dtype d;
  if (!text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos) {
    d.order = text[0];
    text.remove_prefix(1);
  }
  if (text.size() != 2 || std::string_view("biufV").find(text[0]) == std::string_view::npos || text[1] < '1' || text[1] > '9')
    return std::nullopt;
  d.kind = text[0];
  d.bytes = text[1] - '0';
  // Some versions of ml_dtypes store 8-bit floats as void, others as float.
  if (d.kind == 'f' && d.bytes == 1) d.kind = 'V';
  return d;
}

/// Parses the header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Header {
 public:
  Header(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void read(NpyArray& array) {
    bool fortran = false, has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      bool* seen = key == "descr" ? &has_descr : key == "fortran_order" ? &has_order : key == "shape" ? &has_shape : nullptr;
      if (!seen) fail(fmt::format("its header has an unknown key '{}'", shown(key)));
      if (std::exchange(*seen, true)) fail(fmt::format("its header has '{}' twice", key));
      if (seen == &has_descr) array.dtype = descr();
      if (seen == &has_order) fortran = truth();
      if (seen == &has_shape) array.shape = tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("its header goes on after the dictionary");
    if (!has_descr || !has_order || !has_shape)
      fail(fmt::format("its header lacks '{}'", !has_descr ? "descr" : !has_order ? "fortran_order" : "shape"));
    if (fortran && array.shape.size() > 1)
      throw Failure(fmt::format("'{}': the array is in Fortran order; it must be in C order (numpy.ascontiguousarray)", name_));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Failure(fmt::format("'{}' is not a good NPY file: {}", name_, what)); }
  static std::string shown(std::string_view s) {
    std::string out(s.substr(0, 40));
    for (char& c : out)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return out;
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("its header has no '{}' where one is expected", c));
  }
  std::string string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("its header has no string where one is expected");
    const auto end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("a string of its header does not end");
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }
  std::string descr() {
    skip();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      throw Failure(fmt::format("'{}': the array has a structured dtype; its elements must be numbers", name_));
    const std::string text = string();
    const auto d = parse_dtype(text);
    if (!d) throw Failure(fmt::format("'{}': elements of dtype '{}' have no counterpart here", name_, shown(text)));
    if (d->order == '>' && d->bytes > 1)
      throw Failure(fmt::format(
          "'{}': the array is big-endian ('{}'); it must be little-endian (array.astype(array.dtype.newbyteorder('<')))", name_, text));
    return text;
  }
  bool truth() {
    skip();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail("its 'fortran_order' is neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t v = 0;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
      if (error == std::errc::result_out_of_range) fail("an extent of its shape does not fit 64 bits");
      if (error != std::errc()) fail("its 'shape' is not a tuple of numbers");
      if (v < 0) fail(fmt::format("an extent of its shape is {}; it must not be negative", v));
      if (values.size() == kMaxRank) fail(fmt::format("its shape has more than {} axes", kMaxRank));
      values.push_back(v);
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

}  // namespace

NpyArray read_npy(std::string_view contents, const std::string& name) {
  const auto fail = [&](const std::string& what) { throw Failure(fmt::format("'{}' is not a good NPY file: {}", name, what)); };
  if (!contents.starts_with(kMagic))
    fail(contents.size() < kMagic.size() ? fmt::format("it has {} bytes", contents.size()) : "it does not start with \\x93NUMPY");
  std::string_view rest = contents.substr(kMagic.size());
  if (rest.size() < 2) fail("it ends before the version");
  const int version = static_cast<unsigned char>(rest[0]);
  if (version < 1 || version > 3) fail(fmt::format("it has version {}; 1 to 3 are known", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  rest.remove_prefix(2);
  if (rest.size() < length_bytes) fail("it ends before the length of its header");
  const std::size_t length = little_endian(rest.substr(0, length_bytes));
  rest.remove_prefix(length_bytes);
  if (length > rest.size()) fail(fmt::format("its header should have {} bytes, and {} are there", length, rest.size()));

  NpyArray array;
  Header(rest.substr(0, length), name).read(array);
  rest.remove_prefix(length);
  std::int64_t bytes = parse_dtype(array.dtype)->bytes;
  const bool is_empty = std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
  for (const std::int64_t extent : array.shape)
    if (!is_empty && __builtin_mul_overflow(bytes, extent, &bytes)) fail("its shape has more than 2^63 bytes");
  if (is_empty) bytes = 0;
  array.elements = bytes / parse_dtype(array.dtype)->bytes;
  if (rest.size() != static_cast<std::size_t>(bytes))
    fail(fmt::format("{} of dtype '{}' take {} bytes, and {} follow its header",
                     array.shape.empty() ? "a scalar" : fmt::format("({}) elements", fmt::join(array.shape, ", ")), array.dtype, bytes,
                     rest.size()));
  const auto bytes_left = std::as_bytes(std::span(rest));
  array.data.assign(bytes_left.begin(), bytes_left.end());
  return array;
}

std::string_view dtype_of(ir::Element element) { return names(element).descr; }

std::string write_npy(ir::Element element, std::span<const std::int64_t> shape, std::span<const std::byte> data) {
  return write_npy(dtype_of(element), shape, data);
}

std::string write_npy(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const std::byte> data) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype, fmt::join(shape, ", "),
                                   shape.size() == 1 ? "," : "");
  // The header ends in a newline; elements start at a multiple of 64. Even the longest shape needs less than the 65535 bytes of version 1.
  const std::size_t before = kMagic.size() + 4, total = (before + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.append(total - before - header.size() - 1, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  out += header;
  out.append(reinterpret_cast<const char*>(data.data()), data.size());
  return out;
}

bool dtype_holds(std::string_view dtype, ir::Element element) {
  const auto d = parse_dtype(dtype);
  if (!d || d->bytes != ir::bytes(element)) return false;
  const bool is_own = names(element).descr[1] == 'V';
  for (const Names& n : kNames)  // the file may contain the name of the dtype
    if (dtype == n.numpy) return n.element == element;
  return is_own ? d->kind == 'V' : d->kind == names(element).descr[1];
}

std::optional<ir::Element> parse_element_name(std::string_view name) {
  for (const Names& n : kNames)
    if (name == n.numpy) return n.element;
  return ir::parse_element(name);
}

std::string element_names(ir::Element e) { return fmt::format("{} ({})", ir::text(e), names(e).numpy); }

}  // namespace tilewright::cli
