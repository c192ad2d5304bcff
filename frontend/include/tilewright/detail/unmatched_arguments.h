// Functions of tiles and of tensors for arguments that no overload takes: text, pointers, containers, axes that are no integers. They are
// declared only to be rejected in one sentence, which says what the function takes.
//
// Each takes any arguments through an ellipsis, so that it is the worst match of all: an overload that can be called is called.
#pragma once
#include "tilewright/detail/mismatch.h"

//! @cond
namespace tilewright {

struct it_takes_a_tile_or_a_tensor;
struct it_takes_a_tile_or_a_tensor_and_axes_which_are_integers;
struct it_takes_a_tile_or_a_tensor_and_an_axis_which_is_an_integer;
struct it_takes_tiles_or_tensors_and_cpp_numbers;
struct it_takes_a_condition_and_two_values_which_are_tiles_or_tensors_and_cpp_numbers;
struct it_takes_a_tile_or_a_tensor_and_extents_in_braces;
struct it_takes_tensors_and_then_options;
struct it_takes_tiles_and_then_options;
struct it_takes_values_indices_and_an_axis_which_is_an_integer;
struct it_takes_a_tile_or_a_tensor_and_extents_and_an_axis;
struct it_takes_a_tile_or_a_tensor_an_axis_and_a_function_of_two_values;
struct it_takes_a_seed_and_a_counter_or_a_graph_a_seed_and_extents;
struct it_takes_a_graph_and_an_extent_and_its_element_type_is_named;
struct it_takes_a_graph_extents_and_an_axis_and_its_element_type_is_named;
struct it_takes_extents_and_a_number_and_its_element_type_is_named;

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#endif

// The template's arguments are element types that a call names, as in cast<int>(x).
#define TW_TAKES(NAME, CORRECTION, TEXT) \
  template <class...>                    \
  CORRECTION NAME(...) TW_REFUSED(#NAME " takes " TEXT);
#define TW_TAKES_ONE(NAME) TW_TAKES(NAME, it_takes_a_tile_or_a_tensor, "a tile or a tensor")
TW_TAKES_ONE(abs)
TW_TAKES_ONE(ceil)
TW_TAKES_ONE(floor)
TW_TAKES_ONE(round)
TW_TAKES_ONE(rint)
TW_TAKES_ONE(trunc)
TW_TAKES_ONE(sqrt)
TW_TAKES_ONE(rsqrt)
TW_TAKES_ONE(exp)
TW_TAKES_ONE(exp2)
TW_TAKES_ONE(exp10)
TW_TAKES_ONE(expm1)
TW_TAKES_ONE(log)
TW_TAKES_ONE(log2)
TW_TAKES_ONE(log10)
TW_TAKES_ONE(log1p)
TW_TAKES_ONE(sin)
TW_TAKES_ONE(cos)
TW_TAKES_ONE(tan)
TW_TAKES_ONE(asin)
TW_TAKES_ONE(acos)
TW_TAKES_ONE(atan)
TW_TAKES_ONE(sinh)
TW_TAKES_ONE(cosh)
TW_TAKES_ONE(tanh)
TW_TAKES_ONE(cbrt)
TW_TAKES_ONE(erf)
TW_TAKES_ONE(isnan)
TW_TAKES_ONE(isinf)
TW_TAKES_ONE(popcount)
TW_TAKES_ONE(clz)
TW_TAKES_ONE(ffs)
TW_TAKES_ONE(reverse_bits)
TW_TAKES_ONE(sigmoid)
TW_TAKES_ONE(silu)
TW_TAKES_ONE(gelu)
TW_TAKES_ONE(gelu_tanh)
TW_TAKES_ONE(relu)
TW_TAKES_ONE(transpose)
TW_TAKES_ONE(cast)
#undef TW_TAKES_ONE
#define TW_TAKES_AXES(NAME) \
  TW_TAKES(NAME, it_takes_a_tile_or_a_tensor_and_axes_which_are_integers, "a tile or a tensor, axes, which are integers, and a bool")
TW_TAKES_AXES(sum)
TW_TAKES_AXES(prod)
TW_TAKES_AXES(mean)
TW_TAKES_AXES(max)
TW_TAKES_AXES(min)
TW_TAKES_AXES(argmax)
TW_TAKES_AXES(argmin)
TW_TAKES_AXES(any)
TW_TAKES_AXES(all)
TW_TAKES_AXES(xor_sum)
TW_TAKES_AXES(logsumexp)
#undef TW_TAKES_AXES
#define TW_TAKES_AXIS(NAME) \
  TW_TAKES(NAME, it_takes_a_tile_or_a_tensor_and_an_axis_which_is_an_integer, "a tile or a tensor, and an axis, which is an integer")
TW_TAKES_AXIS(cumsum)
TW_TAKES_AXIS(cumprod)
TW_TAKES_AXIS(cummax)
TW_TAKES_AXIS(cummin)
TW_TAKES_AXIS(softmax)
TW_TAKES_AXIS(log_softmax)
TW_TAKES_AXIS(expand_dims)
TW_TAKES_AXIS(squeeze)
TW_TAKES_AXIS(flip)
TW_TAKES_AXIS(permute)
#undef TW_TAKES_AXIS
#define TW_TAKES_VALUES(NAME) TW_TAKES(NAME, it_takes_tiles_or_tensors_and_cpp_numbers, "tiles or tensors, and C++ numbers")
TW_TAKES_VALUES(pow)
TW_TAKES_VALUES(minimum)
TW_TAKES_VALUES(maximum)
TW_TAKES_VALUES(fmin)
TW_TAKES_VALUES(fmax)
TW_TAKES_VALUES(copysign)
TW_TAKES_VALUES(atan2)
TW_TAKES_VALUES(hypot)
TW_TAKES_VALUES(umulhi)
TW_TAKES_VALUES(div_rn)
TW_TAKES_VALUES(fma)
TW_TAKES_VALUES(clamp)
TW_TAKES_VALUES(cdiv)
#undef TW_TAKES_VALUES
TW_TAKES(where, it_takes_a_condition_and_two_values_which_are_tiles_or_tensors_and_cpp_numbers,
         "a condition, which is a tile or a tensor of bools, and two values, which are tiles or tensors and C++ numbers")
#define TW_TAKES_EXTENTS(NAME) \
  TW_TAKES(NAME, it_takes_a_tile_or_a_tensor_and_extents_in_braces, "a tile or a tensor, and extents, as in " #NAME "(x, {4, 8})")
TW_TAKES_EXTENTS(reshape)
TW_TAKES_EXTENTS(broadcast_to)
#undef TW_TAKES_EXTENTS

// Functions of tensors.
#define TW_TAKES_TENSORS(NAME, TEXT) TW_TAKES(NAME, it_takes_tensors_and_then_options, TEXT)
TW_TAKES_TENSORS(slice, "a tensor, an axis, which is an integer, and extents: where the range begins and ends, and a step")
TW_TAKES_TENSORS(pad, "a tensor, an axis, which is an integer, extents in front of it and behind it, and a number")
TW_TAKES_TENSORS(rotate, "a tensor, an axis, which is an integer, and an extent")
TW_TAKES_TENSORS(window, "a tensor, an axis, which is an integer, and extents: the size, the step and the dilation")
TW_TAKES_TENSORS(concat, "tensors of one element type, as in concat({x, y}, axis), and an axis, which is an integer")
TW_TAKES_TENSORS(materialize, "a tensor")
TW_TAKES_TENSORS(matmul, "two tensors and a Precision")
TW_TAKES_TENSORS(einsum, "an equation, as in \"ik,kj->ij\", and tensors")
TW_TAKES_TENSORS(conv, "two tensors and a ConvOptions")
TW_TAKES_TENSORS(max_pool, "a tensor, a size, which is an integer, and a PoolOptions")
TW_TAKES_TENSORS(avg_pool, "a tensor, a size, which is an integer, and a PoolOptions")
TW_TAKES_TENSORS(layer_norm, "three tensors, x, gamma and beta, and a C++ number")
TW_TAKES_TENSORS(rms_norm, "two tensors, x and gamma, and a C++ number")
TW_TAKES_TENSORS(batch_norm, "five tensors, x, mean, variance, gamma and beta, and a C++ number")
TW_TAKES_TENSORS(cross_entropy, "a tensor of floats and one of integers")
TW_TAKES_TENSORS(rope, "a tensor of floats, one of integers, and a C++ number")
TW_TAKES_TENSORS(dropout, "a tensor, a probability and a seed, which are C++ numbers")
TW_TAKES_TENSORS(take_along, "a tensor, a tensor of integers, and an axis, which is an integer")
TW_TAKES_TENSORS(scatter_add, "a tensor, a tensor of integers, a tensor of updates, and an axis, which is an integer")
#undef TW_TAKES_TENSORS

// Functions of tiles.
#define TW_TAKES_TILES(NAME, TEXT) TW_TAKES(NAME, it_takes_tiles_and_then_options, TEXT)
TW_TAKES_TILES(dot, "two tiles, a tile to add to, and a Precision")
TW_TAKES_TILES(zeros_like, "a tile")
TW_TAKES_TILES(full_like, "a tile, and a tile or a C++ number of its element type")
TW_TAKES_TILES(join, "two tiles of one element type")
TW_TAKES_TILES(interleave, "two tiles of one element type")
TW_TAKES_TILES(cat, "two tiles of one element type, and an axis, which is an integer")
TW_TAKES_TILES(roll, "a tile, a shift, which is an integer or a tile of integers, and an axis, which is an integer")
TW_TAKES_TILES(histogram, "a tile of integers, an integer, and a tile of bools")
TW_TAKES_TILES(sort, "one or two tiles and a bool")
TW_TAKES_TILES(argsort, "a tile and a bool")
TW_TAKES_TILES(topk, "a tile and an integer")
TW_TAKES_TILES(arange, "two integers")
TW_TAKES_TILES(load, "a tile of pointers, a tile of bools, a value of the pointers' element type, and a LoadOptions")
TW_TAKES_TILES(store, "a tile of pointers to memory that is not const, a value of their element type, a tile of bools, and a StoreOptions")
#define TW_ATOMIC_TEXT \
  "a tile of pointers to numbers that are not const, values of their element type, a tile of bools, and an AtomicOptions"
TW_TAKES_TILES(atomic_add, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_max, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_min, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_and, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_or, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_xor, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_exchange, TW_ATOMIC_TEXT)
TW_TAKES_TILES(atomic_cas, TW_ATOMIC_TEXT)
#undef TW_ATOMIC_TEXT
TW_TAKES_TILES(range, "bounds and a step, which are integers or scalar tiles of std::int32_t or std::int64_t, and a RangeOptions")
TW_TAKES_TILES(philox, "a seed and counters, which are integers or tiles of integers")
TW_TAKES_TILES(randn, "a seed and a counter, which are integers or tiles of integers")
TW_TAKES_TILES(randint, "a seed and a counter, which are integers or tiles of integers")
TW_TAKES_TILES(next_power_of_two, "an integer or a tile of integers")
TW_TAKES_TILES(program_id, "an axis, which is an integer")
TW_TAKES_TILES(num_programs, "an axis, which is an integer")
TW_TAKES_TILES(assume, "a tile of bools")
TW_TAKES_TILES(device_assert, "a tile of bools, a text, and a tile of bools")
#undef TW_TAKES_TILES

// Functions of both that differ.
TW_TAKES(gather, it_takes_values_indices_and_an_axis_which_is_an_integer,
         "a tile or a tensor, a tile or a tensor of integers, and an axis, which is an integer")
TW_TAKES(split, it_takes_a_tile_or_a_tensor_and_extents_and_an_axis, "a tile, or a tensor, extents and an axis, as in split(x, {4, 8}, 0)")
TW_TAKES(reduce, it_takes_a_tile_or_a_tensor_an_axis_and_a_function_of_two_values,
         "a tile, an axis and a function of two tiles, or a tensor, an axis, the identity and a function of two tensors")
TW_TAKES(scan, it_takes_a_tile_or_a_tensor_an_axis_and_a_function_of_two_values, "a tile, an axis, a function of two tiles, and a bool")
TW_TAKES(rand, it_takes_a_seed_and_a_counter_or_a_graph_a_seed_and_extents,
         "a seed and a counter, which are integers, or a graph, a seed and extents")
TW_TAKES(extent, it_takes_a_graph_and_an_extent_and_its_element_type_is_named,
         "a graph and an extent, and its element type is named, as in extent<float>(graph, n)")
TW_TAKES(iota, it_takes_a_graph_extents_and_an_axis_and_its_element_type_is_named,
         "a graph, extents and an axis, and its element type is named, as in iota<int>(graph, {4}, 0)")
TW_TAKES(full, it_takes_extents_and_a_number_and_its_element_type_is_named,
         "extents, after a graph for a tensor, and a number, and its element type is named, as in full<float>({4}, 1)")
#undef TW_TAKES
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tilewright
//! @endcond
