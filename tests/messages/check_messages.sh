#!/usr/bin/env bash
# check_messages.sh CXX FLAG...: mistakes that the host compiler must refuse. For each one: a limit on the number of lines, and words
# that the first error must contain. The first error must name the user's file.
set -u
cxx=$1
shift
flags=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# Everything after the third line is the user's. The headers are compiled once.
cat >prelude.h <<'CPP'
#include <tilewright/tilewright.h>

#include <iostream>
namespace tw = tilewright;
CPP
"$cxx" -std=c++20 "${flags[@]}" -x c++-header prelude.h -o "prelude.h.$([[ $cxx == *clang* ]] && echo pch || echo gch)" || exit 1

# message LIMIT WORDS CODE [FIRST]: FIRST is the file that the first error names; the default is user.cpp.
message() {
  printf '#include "prelude.h"\nvoid f(tw::Graph& g, tw::I32 i, tw::U32 u, tw::F32 x, tw::Bool b, tw::Buffer<float>& out, const tw::Buffer<float>& in, tw::Tensor<int> ti, tw::Tensor<unsigned> tu, tw::Tensor<float> tf, tw::Tensor<tw::f8e4m3> t8, tw::Tensor<double> td, tw::Tensor<bool> tb, tw::Tensor<std::int8_t> tc) {\n  %s\n}\n' \
    "$3" >user.cpp
  local include=(-include prelude.h)
  if "$cxx" -std=c++20 -Wno-unused "${flags[@]}" "${include[@]}" -fsyntax-only user.cpp >log 2>&1; then
    echo "FAIL compiles: $3" >&2
    failed=1
    return
  fi
  local lines first
  lines=$(wc -l <log)
  first=$(grep -m1 'error: ' log)
  if ((lines > $1)) || [[ $first != *"${4:-user.cpp:3}"* ]] || ! grep 'error: ' log | grep -qE "$2"; then
    { echo "FAIL $lines lines (limit $1), the first error must name ${4:-user.cpp:3}, and one say /$2/: $3"; head -n 20 log; } >&2
    failed=1
  fi
}

# Tiles of types that do not meet: was 186 lines with GCC 12, 76 with Clang 19.
message 20 'cast_one_of_the_tiles|cast one of them' 'auto r = i + x;'
message 20 'cast_one_of_the_tiles|cast one of them' 'auto r = x < i;'
message 20 'cast_one_of_the_tiles|cast one of them' 'auto r = i * u;'
message 20 'cast_the_tile_to_a_float|cast the tile' 'auto r = i + 1.5f;'
message 20 'cast_the_tile_to_a_float|cast the tile' 'auto r = 2.0 / i;'
message 20 'cast_the_right_side|cast it' 'i += x;'
message 20 'no_such_operator|no such operator' 'auto r = x & x;'
message 20 'no_such_operator|no such operator' 'auto r = i && i;'
# Products of tiles of different types, or of types that have none.
message 20 'the_tiles_of_dot_have_one_type|the tiles of dot have one element type' 'auto r = tw::dot(x, x.to<tw::f16>());'
message 20 'the_tiles_of_dot_have_one_type|the tiles of dot have one element type' 'auto r = tw::dot(x, x.to<double>(), x, tw::Precision::ieee);'
message 20 'the_tiles_of_dot_have_one_type|the tiles of dot have one element type' 'auto r = tw::dot(i, i);'
# Tensors: the same.
message 20 'cast_one_of_the_tensors|cast one of them' 'auto r = ti + tf;'
message 20 'cast_one_of_the_tensors|cast one of them' 'auto r = ti < tu;'
message 20 'cast_the_tensor_to_a_float|cast the tensor' 'auto r = ti * 1.5f;'
message 20 'cast_the_right_side|cast it' 'ti += tf;'
message 20 'no_such_operator|no such operator' 'auto r = tf & tf;'
message 20 'no_such_operator|no such operator' 'auto r = t8 + t8;'
# C++ bools beside numbers, and operators that an element type does not have beside a C++ number: were 143 to 393 lines.
for code in 'tf * true' 'false - ti' 'tf == true' 'tb == 1' 'tb && 1' 'x * true' 'i < false' 'tb & 1'; do
  message 20 'bools_and_numbers_do_not_meet|a bool and a number do not meet' "auto r = $code;"
done
message 20 'bools_and_numbers_do_not_meet|a bool and a number do not meet' 'tf *= true;'
for code in 'tf % 2.f' '2 % tf' 'x % 2' 'tf & 1' 'tf << 1' 'tb + 1' '2.f * tb' 'ti && 1' '!tf' '~x' '-tb'; do
  message 20 'no_such_operator|no such operator' "auto r = $code;"
done
message 20 'no_such_operator|no such operator' 'tf %= 2.f;'
message 20 'no_such_operator|no such operator' 'x &= x;'
# Functions of element types that they do not take: were 21 to 211 lines.
for code in 'exp(ti)' 'exp(i)' 'tanh(t8)' 'sqrt(b)' 'isnan(ti)' 'relu(ti)' 'softmax(ti, 0)' 'logsumexp(ti, 0)' 'layer_norm(ti, ti, ti)' 'mean(ti)' \
  'dropout(ti, 0.5f, 1)' 'cross_entropy(ti, ti)'; do
  message 20 'cast_the_argument_to_a_float_type|takes floats' "auto r = tw::$code;"
done
for code in 'abs(tb)' 'max(tb)' 'prod(b)' 'cumsum(tb, 0)' 'argmax(tb, 0)' 'scatter_add(tb, ti, tb)'; do
  message 20 'cast_the_argument_to_numbers|takes integers, and floats' "auto r = tw::$code;"
done
message 20 'cast_the_argument_to_integers|takes integers' 'auto r = tw::popcount(tf);'
message 20 'compare_to_get_bools|takes bools' 'auto r = tw::any(tf);'
for code in 'pow(ti, 2)' 'fma(ti, ti, ti)' 'maximum(tb, tb)'; do
  message 20 'cast_the_arguments_to_other_element_types|cast its arguments' "auto r = tw::$code;"
done
for code in 'pow(tf, ti)' 'maximum(ti, 0.5f)' 'maximum(x, true)' 'clamp(ti, 0.f, 1.f)' 'where(tb, ti, 0.5f)' 'where(b, x, true)'; do
  message 20 'cast_one_of_the_arguments|cast one of them' "auto r = tw::$code;"
done
for code in 'where(tf, tf, 0.f)' 'where(ti, 1.f, 0.f)' 'where(x, x, x)'; do
  message 20 'the_condition_of_where_is|the condition of where is' "auto r = tw::$code;"
done
message 20 'choose_by_a_cpp_bool_with_an_if|write an if' 'auto r = tw::where(true, tf, 0.f);'
for code in 'gather(tf, tf)' 'gather(x, x, 0)' 'take_along(tf, td, 0)' 'scatter_add(tf, tb, tf)' 'cross_entropy(tf, tf)' 'rope(tf, tf)'; do
  message 20 'cast_the_index_to_integers|of integers: cast them' "auto r = tw::$code;"
done
message 20 'cast_the_updates|cast them' 'auto r = tw::scatter_add(tf, ti, ti);'
message 20 'cast_the_weights|cast them' 'auto r = tw::layer_norm(tf, ti, tf);'
# Constants that would lose their value: were 18 to 187 lines.
for code in 'full<int>(g, {4}, 0.5)' 'full<int>({4}, 0.5)' 'full<bool>(g, {4}, 1)' 'full<float>(g, {4}, true)' 'pad(ti, 0, 1, 1, 0.5f)'; do
  message 20 'constants_of_integers_are_integers|a constant of integers is an integer' "auto r = tw::$code;"
done
message 20 'there_is_no_iota|iota takes' 'auto r = tw::iota<bool>(g, {4}, 0);'
# Products of tensors: was 27 lines.
for code in 'tw::matmul<float>(td, td)' 'tw::matmul<double>(tf, tf)' 'tw::matmul<float>(ti, ti)' 'tw::matmul<std::int8_t>(tc, tc)' \
  'tw::einsum<float>("ik,kj->ij", td, td)' 'tw::matmul<tw::f16>(tf, tf, tw::Precision::ieee)'; do
  message 20 'has_the_type_of_its_operands_or_float|has the element type of its operands, or float' "auto r = $code;"
done
message 20 'R = float; A = double; B = double|the result of a product' 'auto r = tw::matmul<float>(td, td);'
message 20 'cast_the_operands_of_the_product|no products of tensors' 'auto r = tw::matmul(tb, tb);'
message 20 'cast_the_operands_of_the_product|no products of tensors' 'auto r = tw::einsum("ik,kj->ij", tb, tb);'
message 20 'cast_one_of_the_tensors|cast one of them' 'auto r = tw::matmul(tf, ti);'
# Offsets of pointers that are not integers, and extents beside numbers of 16 bits: were 263 lines.
message 20 'offset_of_a_pointer_is_an_integer|offset of a pointer is an integer' 'tw::Ptr<float> p; auto r = p + 1.5f;'
message 20 'offset_of_a_pointer_is_an_integer|offset of a pointer is an integer' 'tw::Ptr<float> p; auto r = x + p;'
message 20 'offset_of_a_pointer_is_an_integer|offset of a pointer is an integer' 'tw::Ptr<float> p; p -= x;'
message 20 'offset_of_a_pointer_is_an_integer|neither added nor subtracted' 'tw::Ptr<float> p, q; auto r = p - q;'
message 20 'cast_the_tensor_to_32_bits|cast the tensor' 'tw::Dim n = 3; tw::Tensor<tw::f16> t; auto r = t * n;'
message 20 'cast_the_tensor_to_32_bits|cast the tensor' 'tw::Dim n = 3; tw::Tensor<std::int8_t> t; auto r = n < t;'
message 20 'cast_the_tensor_to_32_bits|cast the tensor' 'tw::Dim n = 3; tw::Tensor<bool> t; auto r = t == n;'
for op in '&' '|' '<<' '%'; do
  message 20 'cast_the_tensor_to_32_bit_integers|32- and 64-bit integers' "tw::Dim n = 3; tw::Tensor<bool> t; auto r = t $op n;"
  message 20 'cast_the_tensor_to_32_bit_integers|32- and 64-bit integers' "tw::Dim n = 3; auto r = n $op tf;"
done
message 20 'compare_the_extent|not a condition' 'tw::Dim n = 3; auto r = ti && n;'
message 20 'cast_the_tensor_to_32_bit_integers|32- and 64-bit integers' 'tw::Dim n = 3; tw::Tensor<bool> t; t &= n;'
message 20 'cast_the_tensor_to_32_bits|cast the tensor' 'tw::Dim n = 3; tw::Tensor<tw::f16> t; t += n;'
# Extents have no order, no fractions and no remainders.
for code in 'n < 5' '5 < n' 'n <= n' 'n >= 2l'; do
  message 20 'extents_have_no_order|extents have no order' "tw::Dim n = 3; auto r = $code;"
done
message 20 'extents_are_integers|an extent is an integer' 'tw::Dim n = 3; auto r = n / 2.0;'
message 20 'extents_are_integers|an extent is an integer' 'tw::Dim n = 3; auto r = 0.5f * n;'
message 20 'no_remainders|no remainders' 'tw::Dim n = 3; auto r = n % 4;'
# Reductions that were meant for two values, counts, chains of comparisons, sums in a C++ number: were 58 to 126 lines.
for code in 'tw::max(x, x)' 'tw::min(x, 0.0f)' 'tw::max(tf, tf)' 'tw::max(tf, 0.0)'; do
  message 20 'use_maximum_or_minimum|use maximum' "auto r = $code;"
done
for code in 'tw::sum(b)' 'tw::sum(b, 0)' 'tw::sum(tf < 1.0f, -1)'; do
  message 20 'count_with_to_int|count them' "auto r = $code;"
done
message 20 'cast_one_of_the_tiles|cast one of them' 'auto r = tw::where(b, x, i);'
message 20 'cast_one_of_the_tensors|cast one of them' 'auto r = tw::where(tf < 1.0f, tf, ti);'
message 20 'combine_comparisons|combine comparisons' 'auto r = 2 < i < i;'
message 20 'combine_comparisons|combine comparisons' 'auto r = ti < ti < ti;'
message 20 'left_side_as_a_tile|declare the left side' 'float s = 0; s += x;'
message 20 'left_side_as_a_tensor|declare the left side' 'int s = 0; s += ti;'
# What is neither a handle nor a C++ number, as an operand of any operator, on either side: was 280 to 1,499 lines.
declare -A foreign=([text]='"x"' [pointer]='static_cast<const char*>("x")' [string]='std::string()' [container]='std::vector<float>()' [null]='nullptr'
  [lambda]='[] { return 1; }' [object]='tw::LoadOptions()' [enumerator]='tw::Cache::all' [stream]='std::cout')
for operand in "${foreign[@]}"; do
  message 20 'an_operand_of_a_tile|an operand of a tile' "auto r = x + $operand;"
  message 20 'an_operand_of_a_tensor|an operand of a tensor' "auto r = $operand > tf;"
done
for op in + - '*' / '%' '&' '|' '^' '<<' '>>' == '!=' '<' '<=' '>' '>=' '&&' '||' += -= '*=' /= '%=' '&=' '|=' '^=' '<<=' '>>='; do
  message 20 'an_operand_of_a_tile|an operand of a tile' "\"x\" $op i;"
  message 20 'an_operand_of_a_tensor|an operand of a tensor' "tb $op \"x\";"
done
for op in + '<<' '<' '&&' += '^='; do
  message 20 'tiles_of_kernels_and_tensors_of_graphs_do_not_meet|do not meet' "x $op tf;"
  message 20 'tiles_of_kernels_and_tensors_of_graphs_do_not_meet|do not meet' "ti $op i;"
done
for op in + - '*' / '%' == '!=' '<' '>=' += '*='; do
  message 20 'an_operand_of_an_extent|an operand of an extent' "tw::Dim n = 3; n $op \"x\";"
done
for code in 'p * 2' 'i / p' 'p & p' 'p << 1' 'p == p' 'p < p' 'p != 0' 'p && b' 'p *= 2' 'p ^= p'; do
  message 20 'there_is_no_such_operator_for_pointers|keep offsets as integers' "tw::Ptr<float> p; $code;"
done
for op in + '*' ++ --; do message 20 'no_such_unary_operator|the unary operators' "auto r = $op tf;"; done
message 20 'there_is_no_such_operator_for_pointers|keep offsets as integers' 'tw::Ptr<float> p; auto r = -p;'
# The same as arguments of functions, axes that are no integers, and calls without the element type: were 10 to 226 lines.
for operand in "${foreign[@]}"; do
  message 20 'it_takes_a_tile_or_a_tensor|takes a tile or a tensor' "auto r = tw::exp($operand);"
  message 20 'it_takes_tiles_or_tensors_and_cpp_numbers|and C\+\+ numbers' "auto r = tw::maximum(tf, $operand);"
done
for code in 'sum(tf, 0.5)' 'sum(x, 0.5)' 'sum(tf, "x")' 'sum(tf, {0.5})' 'mean(tf, true)' 'argmax("x")' 'logsumexp(tf, nullptr)' 'any(tb, 0.5)' \
  'softmax(tf, 0.5)' 'cumsum(x, "x")' 'flip(tf, 0.5)' 'permute(tf, "x")'; do
  message 20 'axis_which_is_an_integer|axes_which_are_integers|which (is an integer|are integers)' "auto r = tw::$code;"
done
for code in 'where("x", tf, tf)' 'where(b, x, "x")' 'where(tb, tf, x)' 'reshape(tf, "x")' 'slice(tf, 0, 0.5, 2)' 'pad(tf, 0, 1, 1, "x")' 'concat({tf, ti}, 0)' \
  'gather(tf, "x")' 'take_along(tf, ti, 0.5)' 'matmul(tf, 1)' 'matmul(tf, x)' 'einsum(tf, tf)' 'conv(tf, nullptr)' 'layer_norm(tf, 1, tf)' \
  'batch_norm(tf, tf, tf, 1, 2)' 'dropout(tf, "x", 1)' 'reduce(tf, 0, 1)' 'dot(x, "x")' 'join(x, 1)' 'topk(x, "x")' 'sort(tf)' 'load(x)' \
  'cast<int>("x")' 'range(0, x)' 'full(g, {4}, 0.5f)' 'full({4}, 0.5f)' 'full<float>(g, 4, 0.5f)' 'iota(g, {4}, 0)' 'extent(g, 4)' 'split(tf, "x", 0)'; do
  message 20 'it_takes_|takes ' "auto r = tw::$code;"
done
for code in 'store(x, 1)' 'atomic_add(i, 1)' 'atomic_cas(x, 1, 1)' 'assume(x)' 'device_assert("x", "y")'; do
  message 20 'it_takes_|takes ' "tw::$code;"
done
# Kernels.
message 8 'no_generic_lambda' 'tw::Kernel k("k", [](auto p) { tw::store(p, 1); });'
message 8 'one_const_function' 'tw::Kernel k("k", [n = 0](tw::Ptr<int> p) mutable { tw::store(p, n++); });'
message 8 'returns_void' 'tw::Kernel k("k", [](tw::I32 n) { return n; });'
message 25 'is not a pointer.*std::string' 'tw::Kernel k("k", [](tw::Ptr<float>, const char*) {}); k({.grid = 1}, out, "text");' arguments.h
# Launches.
message 14 'const_buffer_is_read_only|deleted function' 'tw::Kernel k("k", [](tw::Ptr<float>) {}); k({.grid = 1}, in);'
message 14 'no match' 'tw::Kernel k("k", [](tw::Ptr<float>) {}); k({.grid = 1}, in + 1);'
message 14 'no match' 'tw::Kernel k("k", [](tw::I32) {}); k({.grid = 1, .device = tw::Device::open()}, 3.5f);'
# Views of temporaries.
message 45 'keep_the_buffer_in_a_variable|deleted function' 'auto v = tw::view(tw::Device::open().upload(std::vector<float>(4)), {2, 2});'
message 45 'keep_the_buffer_in_a_variable|deleted function' 'auto v = tw::view(tw::Device::open().allocate<int>(4), {2, 2}, {1, 2});'

# The layout of std::vector: the flag that changes it is refused, not linked.
echo '#include <tilewright/tilewright.h>' >debug.cpp
debug=-D_GLIBCXX_DEBUG
[[ " ${flags[*]} " == *" -DTILEWRIGHT_GLIBCXX_DEBUG "* ]] && debug=-U_GLIBCXX_DEBUG
if "$cxx" -std=c++20 "${flags[@]}" $debug -fsyntax-only debug.cpp >log 2>&1 || ! grep -q 'error: .*_GLIBCXX_DEBUG' log; then
  echo "FAIL $debug is not refused" >&2
  head -n 5 log >&2
  failed=1
fi
exit $failed
