// The model of programs on GPUs: the work of one program, and the time of all. matrix_model.h has those that multiply matrices. The namespace
// `host` is that of what the host computes before a launch, also one on a GPU.
//
// Programs are distributed evenly. Each multiprocessor moves bytes, multiplies matrices and does other arithmetic. Memory moves each
// element of the problem at least once. problems/ counts the work that depends on tiles.
#pragma once
#include "frontend/kernels/models/machine.h"

namespace tilewright::kernels::host {

/// The work of a launch. Bytes, operations and steps are those of one program.
struct Work {
  double programs = 1;
  double memory_bytes = 0;  // bytes that all programs move; each element counts once
  double bytes = 0;         // bytes that a program moves between it and memory or caches
  double products = 0;      // operations of matrix products
  double operations = 0;    // all other operations
  double exponentials = 0;
  double steps = 1;     // steps of a program's loop
  double launches = 1;  // number of kernels that are launched
};

/// Bytes that memory moves for rows of `run` contiguous elements: it moves whole cache lines.
double lines(const Machine&, double rows, double run, int element_bytes);

/// The seconds of the launch. `element_bytes`: the size of the factors of its products.
double gpu_seconds(const Machine&, const Work&, int element_bytes);

}  // namespace tilewright::kernels::host
