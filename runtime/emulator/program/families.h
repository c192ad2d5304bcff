// The decoders of the instruction families: each takes one instruction's modifiers and operands and chooses the function that executes it.
#pragma once
#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

// execute_integer.cpp, execute_multiword.cpp
void decode_integer(Decoder&);    // add sub mul mad div rem abs neg min max of integers, sad, mul24, mad24, dp4a, dp2a
void decode_multiword(Decoder&);  // those with a carry: add.cc addc sub.cc subc mad.cc madc
// execute_video.cpp
void decode_video(Decoder&);  // vadd2 and its like
// execute_logic.cpp
void decode_logic(Decoder&);  // and or xor not cnot lop3
void decode_bits(Decoder&);   // shl shr shf bfe bfi bmsk szext brev popc clz bfind fns prmt
// execute_float.cpp
void decode_float(Decoder&);  // add sub mul fma mad div min max abs neg of f32 and f64, copysign, testp
// execute_half.cpp
void decode_half(Decoder&);  // the same of f16, bf16 and pairs of them
// execute_special.cpp
void decode_special(Decoder&);  // rcp sqrt rsqrt sin cos lg2 ex2 tanh
// execute_compare.cpp
void decode_setp(Decoder&);
void decode_set(Decoder&);
void decode_select(Decoder&);  // selp slct
// execute_convert.cpp
void decode_convert(Decoder&);
// execute_move.cpp
void decode_move(Decoder&);
void decode_cvta(Decoder&);
void decode_isspacep(Decoder&);
// execute_memory.cpp
void decode_load(Decoder&);
void decode_store(Decoder&);
void decode_hint(Decoder&);  // prefetch, prefetchu, discard, applypriority
void decode_createpolicy(Decoder&);
// execute_atomic.cpp
void decode_atomic(Decoder&);  // atom red
// execute_warp.cpp
void decode_shuffle(Decoder&);
void decode_vote(Decoder&);
void decode_match(Decoder&);
void decode_redux(Decoder&);
void decode_activemask(Decoder&);
void decode_elect(Decoder&);
// execute_barrier.cpp
void decode_barrier(Decoder&);  // bar barrier
void decode_fence(Decoder&);    // membar fence
void decode_nanosleep(Decoder&);
// execute_async.cpp
void decode_async_copy(Decoder&);  // cp.async
// execute_mbarrier.cpp
void decode_mbarrier(Decoder&);
// execute_proxy.cpp
void decode_proxy_fence(Decoder&);     // fence.proxy
void decode_mbarrier_fence(Decoder&);  // fence.mbarrier_init
void decode_griddepcontrol(Decoder&);
// execute_cluster.cpp
void decode_cluster_barrier(Decoder&);  // barrier.cluster
void decode_mapa(Decoder&);
void decode_getctarank(Decoder&);
// execute_remote.cpp
void decode_store_async(Decoder&);   // st.async
void decode_reduce_async(Decoder&);  // red.async
// execute_bulk.cpp
void decode_bulk(Decoder&);  // cp.async.bulk cp.reduce.async.bulk
// execute_tensor.cpp
void decode_bulk_tensor(Decoder&, bool is_prefetch);  // cp.async.bulk.tensor
// execute_tensormap.cpp
void decode_tensormap(Decoder&);
// execute_matrix.cpp
void decode_ldmatrix(Decoder&);
void decode_stmatrix(Decoder&);
void decode_movmatrix(Decoder&);
void decode_mma(Decoder&);
// execute_wgmma.cpp
void decode_wgmma(Decoder&);
// execute_registers.cpp
void decode_setmaxnreg(Decoder&);
// execute_wmma.cpp
void decode_wmma(Decoder&);
// execute_control.cpp
void decode_branch(Decoder&);   // bra
void decode_indexed(Decoder&);  // brx
void decode_exit(Decoder&);
void decode_trap(Decoder&);  // trap brkpt
// execute_call.cpp
void decode_call(Decoder&);
void decode_return(Decoder&);  // ret

}  // namespace tilewright::rt::emulator
