// Mistakes at the command line: the message and the exit code of each.
#include <doctest/doctest.h>

#include <cstring>

#include "frontend/cli/files/npy.h"
#include "tests/cli/program.h"

namespace tilewright::test {
namespace {

struct Mistake {
  std::vector<std::string> words;
  int code;
  std::string text;  // within standard error
};

std::vector<std::string> add(const std::vector<std::string>& rest) {
  std::vector<std::string> words{"run", "add.tile", "--grid", "1"};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

std::string zeros_npy(ir::Element e, std::int64_t n) {
  return cli::write_npy(e, std::vector<std::int64_t>{n},
                        std::vector<std::byte>(static_cast<std::size_t>(n) * static_cast<std::size_t>(ir::bytes(e))));
}

/// The files that the mistakes name.
void fill(const Folder& folder) {
  folder.write("add.tile", kernel_text("add"));
  folder.write("two.tile", kernel_text("add") + kernel_text("softmax"));
  folder.write("empty.tile", "// nothing\n");
  folder.write("syntax.tile", "kernel @k(%x: ptr<f32>) {\n  %0 = load %x, : f32\n}\n");
  folder.write("types.tile", "kernel @k(%x: ptr<f32>, %n: i32) {\n\t%v = load %x : f32\n\t%s = add %v, %n : f32\n\tstore %x, %s\n}\n");
  folder.write("bytes.tile", std::string("kernel @k(\0\x01\xff) {}", 18));
  folder.write("none.tile", "kernel @none() {\n}\n");
  folder.write("promise.tile",
               "kernel @promise(%x: ptr<f32> {divisible_by = 128}, %n: i32 {divisible_by = 16}) {\n}\n"
               "kernel @number(%n: i32 {divisible_by = 16}) {\n}\n");
  folder.write("null.tile", "kernel @null() {\n  %p = constant {value = 0} : ptr<f32>\n  %v = load %p : f32\n  store %p, %v\n}\n");
  folder.write(
      "huge.tile",
      "kernel @huge(%x: ptr<f32>) {\n  %a = arange {lo = 0, hi = 1048576} : i32[1048576]\n  %p = broadcast %x : ptr<f32>[1048576]\n"
      "  %q = add_ptr %p, %a : ptr<f32>[1048576]\n  %v = load %q : f32[1048576]\n  store %q, %v\n}\n");
  folder.write("f32.npy", zeros_npy(ir::Element::f32, 8));
  folder.write("f64.npy", zeros_npy(ir::Element::f64, 8));
  folder.write("i32.npy", zeros_npy(ir::Element::i32, 8));
  folder.write("void2.npy", zeros_npy(ir::Element::bf16, 8));
  folder.write("cut.npy", zeros_npy(ir::Element::f32, 8).substr(0, 140));
  folder.write("text.npy", "1 2 3\n");
  std::string fortran = zeros_npy(ir::Element::f32, 8);
  fortran.replace(fortran.find("False"), 5, "True ");
  fortran.replace(fortran.find("(8,)"), 4, "(8,1");
  fortran.replace(fortran.find(", }"), 3, "), ");
  fortran.replace(fortran.find("), "), 3, ")} ");
  folder.write("fortran.npy", fortran);
  folder.write("a.ptx", ".version 8.0\n");
}

const std::string kSee = "\nsee 'tilewright ";

const std::vector<Mistake> kMistakes = {
    // ---- commands and options ----
    {{}, 2, "Usage: tilewright [OPTIONS] COMMAND"},
    {{"comple", "add.tile"}, 2, "tilewright: error: there is no command 'comple' (did you mean 'compile'?)\nsee 'tilewright --help'\n"},
    {{"frobnicate"}, 2, "tilewright: error: there is no command 'frobnicate'\n"},
    {{"--nope"}, 2, "'tilewright' has no option '--nope'"},
    {{"tune"}, 2, "there is no command 'tune'\nsee 'tilewright --help'\n"},
    {{"--verison"}, 2, "'tilewright' has no option '--verison' (did you mean '--version'?)"},
    {{"run", "add.tile", "--gird", "4"},
     2,
     "'tilewright run' has no option '--gird' (did you mean '--grid'?)\nsee 'tilewright run --help'"},
    {{"run", "add.tile", "--gird=4"}, 2, "'tilewright run' has no option '--gird' (did you mean '--grid'?)"},
    {{"opt", "add.tile", "-x", "--passes=cse"}, 2, "'tilewright opt' has no option '-x'"},
    {{"bench"}, 2, "which kernel? one of 'tilewright bench --list', or a FILE.tile"},
    {{"bench", "matmull"}, 2, "there is no kernel 'matmull' (did you mean 'matmul'?); 'tilewright bench --list' lists them"},
    {{"bench", "fft", "--shapes", "3x30"}, 2, "--shapes '3x30': N is a power of two in a shape of 'fft', which is BATCHxN"},
    {{"bench", "matmul", "--shapes", "64x64"}, 2, "--shapes '64x64' has 2 extents; a shape of 'matmul' is MxNxK, as 256x256x256"},
    {{"bench", "softmax", "--shapes", "64x0"},
     2,
     "--shapes '64x0': extent '0' is not a number from 1 to 2147483647; a shape of 'softmax' is ROWSxN"},
    {{"bench", "attention", "--shapes", "1x1x8x300"}, 2, "--shapes '1x1x8x300': D is at most 256 in a shape of 'attention'"},
    {{"bench", "softmax", "--shapes", "8x8,,4x4"}, 2, "--shapes '8x8,,4x4' has an empty word between its commas"},
    {{"bench", "matmul", "--types", "u8"}, 2, "--types: 'matmul' has no type 'u8'; it has f32, f16, bf16, f64, i8"},
    {{"bench", "matmul", "--vs", "cubla"}, 2, "--vs: there is no peer 'cubla' (did you mean 'cublas'?); there are: cublas, torch, triton"},
    {{"bench", "matmul", "--device", "gpu"}, 2, "no device 'gpu'"},
    {{"bench", "matmul", "--device", "interpreter"}, 2, "--device: the interpreter is the meaning of kernels, and has no times"},
    {{"bench", "matmul", "--rounds", "x"}, 2, "--rounds: Value x not in range 1 to 100000"},
    {{"bench", "matmul", "--grid", "4"}, 2, "--kernel, --grid, --arg and --warps are for a FILE.tile"},
    {{"bench", "copy", "--shapes", "8x8", "--json", "no/such/b.json"}, 2, "cannot write 'no/such/b.json': No such file or directory"},
    {{"bench", "copy", "--shapes", "8x8", "--json", "-", "--plot", "-"}, 2, "--json and --plot cannot both go to standard output"},
    {{"bench", "add.tile"}, 2, "--grid is required: how many programs to run, as --grid 64 or --grid 8,8"},
    {{"bench", "add.tile", "add.tile"}, 2, "a FILE.tile is measured alone"},
    {{"bench", "add.tile", "--grid", "1", "--shapes", "8x8"}, 2, "--shapes and --types are for kernels of the library"},
    {{"bench", "add.tile", "--grid", "1", "--tune"}, 2, "--tune is for kernels of the library"},
    {{"bench", "add.tile", "--grid", "1", "--vs", "torch"}, 2, "--vs 'torch': the only peer of a kernel of a file is memcpy"},
    {{"bench", "add.tile", "--grid", "1", "--device", "interpreter"},
     2,
     "--device: the interpreter is the meaning of kernels, and has no times"},
    {{"devices", "cpu"}, 2, "'tilewright devices' does not expect 'cpu'\nsee 'tilewright devices --help'"},
    {{"compile"}, 2, "FILE is required\nsee 'tilewright compile --help'"},
    {{"compile", "add.tile", "two.tile"}, 2, "'tilewright compile' does not expect 'two.tile'"},
    {{"opt", "add.tile"}, 2, "--passes is required"},
    {{"opt", "add.tile", "--passes="}, 2, "--passes has an empty value"},
    {{"opt", "add.tile", "--passes"}, 2, "--passes needs a value; one that starts with '-' is written --passes=VALUE"},
    {{"compile", "add.tile", "--target", "cpu", "--target", "cpu"}, 2, "--target is given more than once"},
    {add({"--warps", "many"}), 2, "--warps: 'many' is not a number that it accepts"},
    {{"ops", "--json", "--markdown"}, 2, "--json and --markdown are two forms of one output; give one of them"},
    {{"ops", "laod"}, 2, "there is no op 'laod' (did you mean 'load'?); 'tilewright ops' lists them"},
    {{"completion"}, 2, "SHELL is required"},
    {{"completion", "fis"}, 2, "'fis' is none of bash, zsh, fish (did you mean 'fish'?)"},
    {{"rules", "--ops", "5"}, 2, "--ops is 5; it must be 1 to 4"},
    {{"rules", "--ops", "2", "--proof", "oder"}, 2, "--proof: there is no rule 'oder' (did you mean 'order'?)"},

    // ---- layouts ----
    {{"layout"}, 2, "--shape is required\nsee 'tilewright layout --help'"},
    {{"layout", "--shape", "16,60"}, 2, "--shape: extent 1 is 60; it must be a power of two"},
    {{"layout", "--shape", "16,x"}, 2, "--shape: '16,x' is not a list of numbers with commas between"},
    {{"layout", "--shape", "16,"}, 2, "--shape: '16,' is not a list of numbers"},
    {{"layout", "--shape", "2,2,2,2,2,2"}, 2, "--shape: 6 extents; a tile has at most 5"},
    {{"layout", "--shape", "4096,4096"}, 2, "--shape: 2^24 elements; a tile has at most 2^20"},
    {{"layout", "--shape", "4,4", "--order", "1,1"}, 2, "--order: '1,1' must name each of the axes 0 to 1 once"},
    {{"layout", "--shape", "4,4", "--vector", "3"}, 2, "--vector is 3; it must be a power of two"},
    {{"layout", "--shape", "4,4", "--warps", "0"}, 2, "--warps is 0; it must be a power of two"},
    {{"layout", "--shape", "4,4", "--warps", "64"}, 2, "--warps is 64; a block has at most 32"},
    {{"layout", "--shape", "4,4", "--element", "f33"}, 2, "--element: 'f33' is not an element type (did you mean 'f32'?)"},
    {{"layout", "--shape", "4,4", "--slice", "2"}, 2, "--slice: '2' is not an axis; the tile has axes 0 to 1"},
    {{"layout", "--shape", "4,4", "--slice", "1", "--slice", "1"}, 2, "--slice: '1' is not an axis; the tile has axis 0"},
    {{"layout", "--shape", "4,4", "--reshape", "8"}, 2, "--reshape: 8 elements; the tile has 16"},
    {{"layout", "--shape", "4", "--bases", "{lanes = [[1]]}"},
     2,
     "--bases: 'lanes' is none of register, lane, warp, block, offset (did you mean 'lane'?)"},
    {{"layout", "--shape", "4", "--bases", "{lane = [[4]]}"}, 2, "--bases: axis 0 has extent 4; a basis of lane says 4"},
    {{"layout", "--shape", "4", "--bases", "{lane = [[1]]}", "--warps", "4"},
     2,
     "--bases says all of the layout; --order, --vector and --warps are"},
    {{"layout", "--shape", "4", "--bases", "{lane = [[1]], offset = [[2]]}"},
     2,
     "--bases: bases of offset are those of shared memory; there is no lane"},
    {{"layout", "--shape", "4", "--bases", "{lane = [[1]]}", "--convert-to", "0"}, 2, "the layout does not hold every element of the tile"},
    {{"layout", "--shape", "4", "--convert-to", "0:2:2"}, 2, "--convert-to: '2:2' is not a list of numbers"},
    {{"layout", "--shape", "4", "--convert-to", "{offset = [[1], [2]]}"},
     2,
     "--convert-to is of shared memory; a conversion is between registers"},
    {{"layout", "--shape", "4", "--convert-to", "{lane = [[1], [2]]}"}, 2, "--convert-to has 4 lanes; the layout has 32"},
    {{"layout", "--shape", "1024,1024", "--svg", "t.svg"}, 2, "--svg: 1048576 elements are too many for a picture; at most 16384"},

    // ---- files ----
    {{"compile", "nope.tile"}, 2, "cannot read 'nope.tile': No such file or directory\nsee"},
    {{"compile", "."}, 2, "cannot read '.': it is a directory"},
    {{"compile", "add.tile", "-o", "no/such/folder"}, 2, "cannot write 'no/such/folder': No such file or directory"},
    {{"compile", "add.tile", "-o", "/dev/full"}, 1, "cannot write '/dev/full': No space left on device"},
    {{"compile", "empty.tile"}, 1, "'empty.tile' holds no kernel"},
    {{"run", "a.ptx", "--grid", "1"},
     2,
     "--device 'cpu': PTX runs on emulator:sm_XX, with sm_XX one of sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120"},
    {{"run", "a.ptx", "--device", "emulator:sm_80"}, 2, "--grid is required: how many blocks to run"},
    {{"run", "add.tile", "--grid", "1", "--limit", "9"}, 2, "--limit is for emulators"},
    {{"run", "a.ptx", "--device", "emulator:sm_80", "--grid", "1"}, 2, "--kernel names none of the kernels of 'a.ptx': it has none"},
    {{"run", "add.tile", "--grid", "1", "--shared", "16"}, 2, "--shared is for PTX"},
    {{"compile", "a.ptx", "--target", "cpu", "--emit", "tileir"}, 1, "'a.ptx' is PTX, which only run takes"},

    // ---- texts ----
    {{"compile", "syntax.tile"}, 1, "syntax.tile:2:17: error: expected a value, found ':'"},
    {{"compile", "syntax.tile"}, 1, "\n    2 |   %0 = load %x, : f32\n      |                 ^\n"},
    {{"opt", "types.tile", "--passes=cse"}, 1, "types.tile:3:7: error: add: "},
    {{"opt", "types.tile", "--passes=cse"}, 1, "\n    3 | \t%s = add %v, %n : f32\n      | \t     ^\n"},
    {{"compile", "bytes.tile"}, 1, "bytes.tile:1:11: error: "},

    // ---- targets, forms, passes, kernels ----
    {{"compile", "add.tile", "--target", "tpu"},
     2,
     "target 'tpu': it is not a target; there are cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4, sm_75, sm_80, sm_86, sm_89, sm_90, "
     "sm_90a, "
     "sm_100, sm_120"},
    {{"compile", "add.tile", "--target", "sm_91"}, 2, "target 'sm_91': it is not a target; there are cpu, cpu:x86-64"},
    {{"opt", "add.tile", "--passes=cse", "--target", "sm_8"}, 2, "target 'sm_8': it is not a target; there are cpu"},
    {{"compile", "add.tile", "--emit", "ptx"},
     2,
     "--emit ptx: target 'cpu' is not a GPU; there are sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120"},
    {{"compile", "add.tile", "--emit", "cubin", "--target", "cpu:x86-64"},
     2,
     "--emit cubin: target 'cpu:x86-64' is not a GPU; there are sm_75"},
    {{"compile", "two.tile", "--emit", "ptx", "--target", "sm_80"},
     2,
     "the file holds 2 kernels; name one with --kernel: 'add', 'softmax'"},
    {{"compile", "add.tile", "--target", "sm_80", "--warps", "6"}, 2, "num_warps is 6; it must be 1, 2, 4, 8, 16 or 32"},
    {{"opt", "add.tile", "--passes=default", "--target", "sm_80", "--warps", "0"}, 2, "num_warps is 0; it must be 1, 2, 4, 8, 16 or 32"},
    {{"compile", "add.tile", "--emit", "assmebly"},
     2,
     "--emit 'assmebly' is none of tileir, llvm, ptx, assembly, cubin, stats (did you mean 'assembly'?)"},
    {{"opt", "add.tile", "--passes=canonicalise"},
     2,
     "--passes: there is no pass 'canonicalise' (did you mean 'canonicalize'?); there are: default "},
    {{"opt", "add.tile", "--passes=cse,,licm"}, 2, "--passes: there is no pass ''"},
    {{"opt", "add.tile", "--passes=cse licm"}, 2, "--passes: there is no pass 'cse licm'"},
    {{"compile", "add.tile", "--kernel", "ad"}, 2, "there is no kernel 'ad' (did you mean 'add'?); the file holds 'add'"},
    {{"compile", "two.tile", "--emit", "llvm"}, 2, "the file holds 2 kernels; name one with --kernel: 'add', 'softmax'"},
    {{"run", "two.tile", "--grid", "1"}, 2, "the file holds 2 kernels; name one with --kernel: 'add', 'softmax'"},

    // ---- launches ----
    {{"run", "none.tile"}, 2, "--grid is required: how many programs to run, as --grid 64 or --grid 8,8"},
    {{"run", "none.tile", "--grid", "0"}, 2, "--grid '0': extent '0' is not a number from 1 to 2147483647"},
    {{"run", "none.tile", "--grid", "4,x"}, 2, "--grid '4,x': extent 'x' is not a number from 1 to 2147483647"},
    {{"run", "none.tile", "--grid", "4,"}, 2, "--grid '4,': extent '' is not a number"},
    {{"run", "none.tile", "--grid=-3"}, 2, "--grid '-3': extent '-3' is not a number"},
    {{"run", "none.tile", "--grid", "1,2,3,4"}, 2, "--grid '1,2,3,4' has 4 extents; a grid has 1 to 3"},
    {{"run", "none.tile", "--grid", "1", "--warps", "3"}, 2, "num_warps is 3; it must be 1, 2, 4, 8, 16 or 32"},
    {{"run", "none.tile", "--grid", "1", "--device", "gpu"},
     2,
     "no device 'gpu': a device is 'cpu', 'cpu:LEVEL', 'cuda:N' or 'emulator:sm_XX'"},
    {{"run", "none.tile", "--grid", "1", "--device", "cuda:x"},
     1,
     "no device 'cuda:x': a CUDA device is 'cuda:0', 'cuda:1' and so on; there is: cpu"},
    {{"run", "none.tile", "--grid", "1", "--device", "emulator:sm_81"},
     1,
     "no device 'emulator:sm_81': an emulator is 'emulator:' and one of sm_75, sm_80, sm_86"},
    {{"run", "none.tile", "--grid", "1", "--device", "cpu:x86-64-v9"}, 2, "no device 'cpu:x86-64-v9': "},
    {{"run", "none.tile", "--grid", "1", "--arg", "n=i32:1"}, 2, "there is no parameter 'n' of 'none'; it has none"},

    // ---- arguments ----
    {add({}), 2, "no --arg gives a value to 'x' (a FILE.npy of f32 (float32) or zeros:f32:N), 'y' ("},
    {add({"--arg", "x=zeros:f32:8", "--arg", "y=f32.npy", "--arg", "z=f32.npy"}), 2, "no --arg gives a value to 'n' (i32:NUMBER)\n"},
    {add({"--arg", "xx=f32.npy"}), 2, "there is no parameter 'xx' of 'add' (did you mean 'x'?); it has 'x', 'y', 'z', 'n'"},
    {add({"--arg", "7=f32.npy"}), 2, "there is no parameter '7' of 'add'"},
    {add({"--arg", "x=f32.npy", "--arg", "x=f32.npy"}), 2, "parameter 'x' is given twice"},
    {add({"--arg", "x"}), 2, "--arg 'x' is not NAME=VALUE"},
    {add({"--arg", "=f32.npy"}), 2, "--arg '=f32.npy' is not NAME=VALUE"},
    {add({"--arg", "x="}), 2, "--arg 'x=' is not NAME=VALUE"},
    {add({"--arg", "x=nope.npy"}), 2, "cannot read 'nope.npy': No such file or directory"},
    {add({"--arg", "x=f64.npy"}), 2,
     "parameter 'x' of 'add' is ptr<const f32>, and 'f64.npy' has elements of dtype '<f8'; expected f32 (float32)"},
    {add({"--arg", "x=void2.npy"}), 2, "'void2.npy' has elements of dtype '<V2'; expected f32 (float32)"},
    {add({"--arg", "x=f32:5"}), 2,
     "parameter 'x' of 'add' is ptr<const f32>, and not the scalar 'f32:5'; expected a FILE.npy of f32 (float32) or zeros:f32:N"},
    {add({"--arg", "x=zeros:i32:8"}), 2, "and 'zeros:i32:8' has elements of i32 (int32); expected a FILE.npy of f32"},
    {add({"--arg", "x=zeros:f32"}), 2, "'zeros:f32': a buffer of zeros is zeros:TYPE:N, as zeros:f32:1024"},
    {add({"--arg", "x=zeros:f31:8"}), 2, "'zeros:f31:8': a buffer of zeros is zeros:TYPE:N"},
    {add({"--arg", "x=zeros:f32:-1"}), 2, "'zeros:f32:-1': the number of elements is '-1'; it must be 0 or more"},
    {add({"--arg", "x=zeros:f32:1e3"}), 2, "'zeros:f32:1e3': the number of elements is '1e3'"},
    {add({"--arg", "n=f32.npy"}), 2, "parameter 'n' of 'add' is i32, which 'f32.npy' is not; expected i32:NUMBER"},
    {add({"--arg", "n=1000"}), 2, "parameter 'n' of 'add' is i32, which '1000' is not; expected i32:1000"},
    {add({"--arg", "n=zeros:i32:1"}), 2, "parameter 'n' of 'add' is i32, which 'zeros:i32:1' is not; expected i32:NUMBER"},
    {add({"--arg", "n=i64:5"}), 2, "parameter 'n' of 'add' is i32, and 'i64:5' is i64 (int64); expected i32:NUMBER"},
    {add({"--arg", "n=i32:five"}), 2, "'i32:five': 'five' is not a value of type i32"},
    {add({"--arg", "n=i32:3000000000"}), 2, "'i32:3000000000': 3000000000 does not fit i32"},
    {add({"--arg", "n=i32:"}), 2, "'i32:': '' is not a value of type i32"},
    {add({"--arg", "x=-", "--arg", "y=-"}), 1, "'<stdin>' is not a good NPY file: it has 0 bytes"},
    {{"run", "promise.tile", "--kernel", "promise", "--grid", "1", "--arg", "x=f32.npy"},
     2,
     "must be aligned to 128 bytes; buffers of the command line are aligned to 64"},
    {{"run", "promise.tile", "--kernel", "number", "--grid", "1", "--arg", "n=i32:24"},
     2,
     "parameter 'n' of 'number' is i32, and must be divisible by 16 as the kernel says; 24 is not"},
    {add({"--out", "z"}), 2, "--out 'z' is not NAME=VALUE"},
    {add({"--out", "n=n.npy"}), 2, "--out 'n=n.npy': parameter 'n' is i32; only buffers can be written"},
    {add({"--out", "zz=n.npy"}), 2, "there is no parameter 'zz' of 'add' (did you mean 'z'?)"},
    {add({"--arg", "x=text.npy"}), 1, "'text.npy' is not a good NPY file: it does not start with \\x93NUMPY"},
    {add({"--arg", "x=cut.npy"}), 1,
     "'cut.npy' is not a good NPY file: (8) elements of dtype '<f4' take 32 bytes, and 12 follow its header"},
    {add({"--arg", "x=fortran.npy"}), 1, "'fortran.npy': the array is in Fortran order; it must be in C order (numpy.ascontiguousarray)"},
    {add({"--arg", "x=f32.npy", "--arg", "y=f32.npy", "--arg", "z=zeros:f32:1000000000000000", "--arg", "n=i32:1"}), 1,
     "allocate: out of memory"},
    {add({"--arg", "x=f32.npy", "--arg", "y=f32.npy", "--arg", "z=zeros:f32:8", "--arg", "n=i32:8", "--out", "z=-", "--out", "x=-"}), 2,
     "--out: standard output is written twice"},
    {add({"--out", "x=a.npy", "--out", "z=a.npy"}), 2, "--out: 'a.npy' is written twice"},

    // ---- what only the launch finds ----
    {{"run", "null.tile", "--grid", "1", "--check"},
     1,
     "null.tile:3:8: error: load of 4 bytes at address 0x0, 0 bytes from a null pointer"},
    {{"run", "null.tile", "--grid", "1", "--device", "interpreter"}, 1, "null.tile:3:8: error: load of 4 bytes at address 0x0"},
    {{"run", "huge.tile", "--grid", "1", "--check", "--arg", "x=f32.npy"},
     1,
     "huge.tile:5:8: error: load of 4 bytes at index 8 of a buffer of 8 float elements"},

    // ---- reduce ----
    {{"reduce", "add.tile"}, 2, "give either --passes (do the passes change what the kernel does?) or --run"},
    {{"reduce", "add.tile", "--passes=cse", "--run"}, 2, "give either --passes"},
    {{"reduce", "add.tile", "--run"}, 2, "--run needs the arguments of the launch: --grid and --arg as 'tilewright run' takes them"},
    {{"reduce", "add.tile", "--run", "--device", "interpreter", "--grid", "1", "--arg", "x=f32.npy"},
     2,
     "--run compares with the interpreter; --device must be another one"},
    {{"reduce", "add.tile", "--passes=nope"}, 2, "--passes: there is no pass 'nope'"},
    {{"reduce", "none.tile", "--passes=cse"}, 1, "kernel 'none' does not fail: the passes do not change its results"},
    {{"reduce", "add.tile", "--passes=cse", "--tolerance", "small"}, 2, "--tolerance: 'small' is not a number that it accepts"},
};

TEST_CASE("mistakes: each is told by its own text and exit code, results stay empty") {
  const Folder folder;
  fill(folder);
  for (const Mistake& m : kMistakes) {
    std::string line = "tilewright";
    for (const std::string& w : m.words) line += " " + w;
    CAPTURE(line);
    const Outcome o = tilewright(m.words, "", folder.path());
    CAPTURE(o.err);
    CHECK(o.code == m.code);
    CHECK(o.out.empty());
    CHECK(o.err.find(m.text) != std::string::npos);
    // An error in the command line refers to its help; other errors do not.
    if (!m.words.empty()) CHECK((o.err.find(kSee) != std::string::npos) == (m.code == 2));
    for (const char* trace : {"terminate called", "what():", "\033["}) CHECK(o.err.find(trace) == std::string::npos);
  }
  CHECK(kMistakes.size() >= 90);
}

TEST_CASE("mistakes: standard input is one input only") {
  const Folder folder;
  fill(folder);
  for (const auto& words : {add({"--arg", "x=-", "--arg", "y=-"}), std::vector<std::string>{"run", "-", "--grid", "1", "--arg", "x=-"}}) {
    const Outcome o = tilewright(words, words[1] == "-" ? kernel_text("add") : zeros_npy(ir::Element::f32, 8), folder.path());
    CHECK(o.code == 2);
    CHECK(o.err.find("standard input '-' is read twice; it can be only one of the inputs") != std::string::npos);
  }
}

TEST_CASE("mistakes: the place is shown in standard input and under characters of several bytes, without the terminal's control codes") {
  const Outcome o = tilewright({"opt", "-", "--passes=cse"}, "kernel @k() {\n  // \n  %\xc3\xa9 = nope\n}\n");
  CHECK(o.code == 1);
  CHECK(o.err.starts_with("<stdin>:3:"));
  const Outcome codes = tilewright({"opt", "-", "--passes=cse"}, "kernel @k(%x: f32) {\n  nope /* \x1b[31m */\n}\n");
  CHECK(codes.err.find("?[31m") != std::string::npos);
  CHECK(codes.err.find('\x1b') == std::string::npos);
}

TEST_CASE("mistakes: an error in a kernel that was dumped shows the C++ that it was traced from, if that is there") {
  const Folder folder;
  folder.write("user.cpp", "// a user's program\nauto x = tw::load(in + at);\n");
  folder.write("dumped.tile",
               "kernel @k(%x: ptr<f32>) {\n  %o = constant {value = 8} : i32\n  %p = add_ptr %x, %o : ptr<f32>\n"
               "  %v = load %p : f32 @ \"user.cpp\":2:10\n  store %x, %v\n}\n");
  const Outcome o = tilewright({"run", "dumped.tile", "--grid", "1", "--arg", "x=zeros:f32:8", "--check"}, "", folder.path());
  CHECK(o.code == 1);
  CHECK(o.err.starts_with(
      "user.cpp:2:10: error: load of 4 bytes at index 8 of a buffer of 8 float elements (the first element past its end)\n"
      "    2 | auto x = tw::load(in + at);\n      |          ^\n"));
}

}  // namespace
}  // namespace tilewright::test
