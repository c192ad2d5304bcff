# Finds rows of tables whose functions are missing, and says which step of docs/extending.md writes them. The linker would only report an
# undefined reference.
#   cmake -DROOT=... [-DTESTS=ON] [-DWITHOUT=text] -P check_tables.cmake
# TESTS: whether the steps that only tests need are looked at too. WITHOUT: what the files are read without, for tests of this script.
set(problems "")

# Sets `name` to the contents of all files of these patterns.
function(read_files name)
  set(all "")
  foreach(pattern ${ARGN})
    file(GLOB_RECURSE files ${ROOT}/${pattern})
    foreach(file ${files})
      file(READ ${file} text)
      string(APPEND all "\n" "${text}")
    endforeach()
  endforeach()
  if(NOT "${WITHOUT}" STREQUAL "")
    string(REPLACE "${WITHOUT}" "" all "${all}")
  endif()
  set(${name} "${all}" PARENT_SCOPE)
endfunction()

# Names of the rows of a table: the group of a regular expression. Names contain no special characters, unlike whole rows.
function(rows_of table expression)
  file(READ ${ROOT}/${table} text)
  string(REGEX MATCHALL "\n${expression}" rows "${text}")
  set(names "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "\n${expression}" "\\1" name "${row}")
    list(APPEND names ${name})
  endforeach()
  list(REMOVE_DUPLICATES names)
  if(names STREQUAL "")
    message(FATAL_ERROR "${table} has no rows of the form ${expression}: mend check_tables.cmake")
  endif()
  set(rows "${names}" PARENT_SCOPE)
endfunction()

# Reports each of `rows` for which the text has none of these forms, in which @ stands for the name.
function(require_each text table step what)
  foreach(name IN LISTS rows)
    set(found -1)
    foreach(form IN LISTS ARGN)
      string(REPLACE "@" "${name}" form "${form}")
      string(FIND "${text}" "${form}" found)
      if(NOT found EQUAL -1)
        break()
      endif()
    endforeach()
    if(found EQUAL -1)
      string(REPLACE "@" "${name}" said "${what}")
      string(APPEND problems "${table}: '${name}' has no ${said}: docs/extending.md, ${step}\n")
    endif()
  endforeach()
  set(problems "${problems}" PARENT_SCOPE)
endfunction()

# ---- tensor ops ----
set(table tileir/graph/graph_ops.def)
rows_of(${table} "TW_GRAPH_OP\\(([a-z_0-9]+), ")
read_files(text "tileir/graph/shape_rules*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 2"
  "shape rule, rule_@ in tileir/graph/shape_rules*.cpp" "Inferred rule_@(const RuleInput&")
# Rules of ops whose attributes may have symbols: between the head of the rule and the end of the function.
rows_of(${table} "TW_GRAPH_OP\\(([a-z_0-9]+), [a-z]+, \"[^\"]*\", [a-z]+, \"[^\"]*lengths[^\"]*\"")
set(conditions "")
foreach(name IN LISTS rows)
  string(FIND "${text}" "Inferred rule_${name}(" begin)
  set(rule "Any value is right")  # a rule that is missing was reported
  if(NOT begin EQUAL -1)
    string(SUBSTRING "${text}" ${begin} -1 rule)
    string(FIND "${rule}" "\n}" end)
    string(SUBSTRING "${rule}" 0 ${end} rule)
  endif()
  if(rule MATCHES "require\\(|Any value is right")
    string(APPEND conditions "<${name}>")
  endif()
endforeach()
require_each("${conditions}" ${table} "Adding a tensor op, step 2"
  "condition on the values of its attributes, Inferred::require in rule_@, or a comment 'Any value is right' there" "<@>")
rows_of(${table} "TW_GRAPH_OP\\(([a-z_0-9]+), ")
read_files(text "tileir/graph/interpreter*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 3"
  "meaning, Evaluation::run_@ in tileir/graph/interpreter*.cpp" "Array Evaluation::run_@(")
read_files(text "passes/fusion/translate/axes*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 4"
  "axes, AxisAnalysis::atoms_@ in passes/fusion/translate/axes.cpp" "TensorAtoms AxisAnalysis::atoms_@(")
read_files(text "passes/fusion/translate/graph_to_exprs*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 4"
  "formula, GraphToExprs::translate_@ in passes/fusion/translate/graph_to_exprs*.cpp" "Expr GraphToExprs::translate_@(")
read_files(text "passes/fusion/check/graph_values*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 5"
  "element for the check, GraphValues::run_@ in passes/fusion/check/graph_values.cpp" "Number GraphValues::run_@(")

rows_of(${table} "TW_GRAPH_OP\\(([a-z_0-9]+), (shape|index), ")
read_files(text "tileir/graph/graph_builder*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 6"
  "function of GraphBuilder, GraphBuilder::@ in tileir/graph/graph_builder*.cpp" "NodeId GraphBuilder::@(")
read_files(text "frontend/graph/*.cpp")
require_each("${text}" ${table} "Adding a tensor op, step 6" "definition for users in frontend/graph/*.cpp" "\nHandle @(" "\nHandle @_to(")
# Attributes: the words of the fifth column, and the files that read and print them.
file(READ ${ROOT}/${table} text)
string(REGEX MATCHALL "\nTW_GRAPH_OP\\([a-z_0-9]+, [a-z]+, \"[^\"]*\", [a-z]+, \"[^\"]*\"" rows "${text}")
list(TRANSFORM rows REPLACE ".*\"([^\"]*)\"$" "\\1")
string(REGEX MATCHALL "[a-z_]+" rows "${rows}")
list(REMOVE_DUPLICATES rows)
foreach(part parser printer)
  read_files(text "tileir/graph/text/graph_${part}.cpp")
  require_each("${text}" ${table} "Adding a tensor op, step 1" "case in the ${part} of graphs, tileir/graph/text/graph_${part}.cpp" "name == \"@\"" "text == \"@\""
    "name != \"@\"")
endforeach()

# ---- tile ops ----
set(table tileir/ops.def)
rows_of(${table} "TW_OP\\([a-z0-9_]+, [a-z]+, [^\"]*\"[^\"]*\", [0-9]+, [0-9]+, \"[^\"]*\", ([a-z0-9_]+), [a-z_]+")
read_files(text "tileir/type_rules/*.cpp")
require_each("${text}" ${table} "Adding an op, The row"
  "definition of its type rule, rule_@ in tileir/type_rules" "RuleResult rule_@(const RuleInput&")
rows_of(${table} "TW_OP\\(([a-z0-9_]+), [a-z]+, ")
set(others ${rows})
rows_of(${table} "TW_OP\\(([a-z0-9_]+), (unary|binary|ternary|convert), ")
list(REMOVE_ITEM others ${rows})
read_files(meanings "tileir/interpreter/*.cpp")
require_each("${meanings}" ${table} "Adding an op, An element-wise op, step 1"
  "meaning, evaluate_@ in tileir/interpreter/evaluate_*.cpp" "void evaluate_@(const Lanes&")
read_files(text "backend/lowering/*.cpp")
require_each("${text}" ${table} "Adding an op, An element-wise op, step 2"
  "machine code, lower_@ in backend/lowering/elementwise.cpp" " lower_@(const Lanes&")
set(rows ${others})
require_each("${meanings}" ${table} "Adding an op, Any other op, step 1"
  "meaning, Interpreter::run_@ in tileir/interpreter" "Interpreter::run_@(")
set(others ${rows})
rows_of(${table} "TW_OP\\(([a-z0-9_]+), atomic, ")  # one function for all of them
list(REMOVE_ITEM others ${rows})
set(rows ${others})
read_files(text "backend/host/*.cpp")
require_each("${text}" ${table} "Adding an op, Any other op, step 2"
  "code for hosts, emit_@ in backend/host" "void emit_@(Emitter&" "TW_NO_STEP(@)")

# ---- passes, and instructions of the emulator ----
set(table passes/passes.def)
rows_of(${table} "TW_PASS[A-Z_]*\\(([a-z_0-9]+), ")
read_files(text "passes/*.cpp")
require_each("${text}" ${table} "Adding a pass, step 1"
  "function, bool @(Function&, const PassContext&) in passes/@.cpp" "bool @(")
set(table runtime/emulator/program/instructions.def)
rows_of(${table} "TW_INSTRUCTION\\(\"[^\"]*\", ([a-z_0-9]+), ")
read_files(text "runtime/emulator/*.cpp")
require_each("${text}" ${table} "Adding a PTX instruction to the emulator, step 2"
  "decoder, decode_@ in runtime/emulator" "void decode_@(Decoder&")

# ---- forms of fusion: the rules that forms.h declares ----
set(table passes/fusion/plan/forms.h)
rows_of(${table} "  Form ([a-z_]+)\\(Expr")
list(REMOVE_ITEM rows make reduction)  # the function that has the cases, and the form of a whole reduction
read_files(text "passes/fusion/plan/forms.cpp")
require_each("${text}" ${table} "Adding a form of fusion, step 2" "case in Forms::make" "return @(")

# ---- what only tests need ----
if(TESTS)
  set(table tileir/graph/graph_ops.def)
  rows_of(${table} "TW_GRAPH_OP\\(([a-z_0-9]+), (shape|index|memory), ")
  read_files(text "frontend/include/tilewright/graph/shape.h" "frontend/include/tilewright/graph/index.h"
    "frontend/include/tilewright/graph/placement.h")
  require_each("${text}" ${table} "Adding a tensor op, step 6"
    "function for users in frontend/include/tilewright/graph" "Tensor<T> @")
  read_files(text "docs/tutorial/11_formulas.md")
  require_each("${text}" ${table} "Adding a tensor op, step 6" "word in the list of docs/tutorial/11_formulas.md" "`@")
  foreach(test graph_ops_test graph_mistakes_test)
    read_files(text "tests/unit/frontend/graph/${test}.cpp")
    require_each("${text}" ${table} "Adding a tensor op, step 7" "call in tests/unit/frontend/graph/${test}.cpp" "tw::@")
  endforeach()
  read_files(text "tests/unit/frontend/graph/graph_programs_*_test.cpp")
  require_each("${text}" ${table} "Adding a tensor op, step 7" "call in tests/unit/frontend/graph/graph_programs_*_test.cpp" "tw::@")
  list(REMOVE_ITEM rows scatter_add)  # it has its own kernels
  foreach(step axes expressions)
    read_files(text "tests/files/graphs/${step}/*.graph")
    require_each("${text}" ${table} "Adding a tensor op, step 7" "text in tests/files/graphs/${step}" " = @ ")
  endforeach()

  set(table passes/passes.def)
  rows_of(${table} "TW_PASS[A-Z_]*\\(([a-z_0-9]+), ")
  read_files(text "tests/files/passes/*.tile")
  require_each("${text}" ${table} "Adding a pass, step 4" "text in tests/files/passes/@" "passes: @" ", @" ",@")

  set(table passes/fusion/cover/strategies.cpp)
  rows_of(${table} " *\\{\"([a-z ,]+)\", Tried::")
  read_files(text "docs/fusion.md")
  require_each("${text}" ${table} "Adding a strategy of fusion, step 5" "item in docs/fusion.md" "* *@*: ")

  # Kernels of the library, by the names of their launchers.
  read_files(text "frontend/include/tilewright/kernels/*.h")
  string(REGEX MATCHALL "\nTW_PER_MODULE void launch_[a-z_]+" rows "${text}")
  list(TRANSFORM rows REPLACE ".*launch_" "")
  list(REMOVE_DUPLICATES rows)
  list(REMOVE_ITEM rows reduce_parts)  # a part of reduce
  set(table frontend/include/tilewright/kernels)
  foreach(place "3;tests/kernels/surface_test.cpp;call" "4;frontend/cli/bench/rows/*.cpp;row" "5;docs/kernels.md;line of the table")
    list(GET place 0 step)
    list(GET place 1 files)
    list(GET place 2 what)
    read_files(text ${files})
    require_each("${text}" ${table} "Adding a kernel of the library, step ${step}" "${what} in ${files}" "@")
  endforeach()
  set(table frontend/cli/bench/rows/kernel_row.h)
  rows_of(${table} "void add_([a-z_]+)\\(KernelRows&")
  read_files(text "frontend/cli/bench/rows/kernel_row.cpp")
  require_each("${text}" ${table} "Adding a kernel of the library, step 4" "call of add_@ in kernel_row.cpp" "add_@," "add_@}")

  # Chips of GPUs. A row has the name of a chip first, its capability, and the target of its code.
  set(table tileir/target/gpu_chips.cpp)
  file(READ ${ROOT}/${table} text)
  string(REGEX MATCHALL "{\"sm_[0-9a-z]+\", [0-9]+, \"sm_[0-9a-z]+\"" chips "${text}")
  if(chips STREQUAL "")
    message(FATAL_ERROR "${table} has no rows of chips: mend check_tables.cmake")
  endif()
  set(capabilities ${chips})
  list(TRANSFORM capabilities REPLACE ".*\", ([0-9]+), .*" "\\1")
  list(REMOVE_DUPLICATES capabilities)
  set(codes ${chips})
  list(TRANSFORM codes REPLACE ".*, \"(.*)\"" "\\1")
  list(REMOVE_DUPLICATES codes)
  list(TRANSFORM chips REPLACE "{\"([^\"]*).*" "\\1")
  set(rows ${capabilities})
  read_files(text "tileir/target/machine_facts.cpp")
  require_each("${text}" ${table} "Adding a target, A GPU, step 2" "row of its rates, by capability, in kGpus of machine_facts.cpp" "{@, ")
  read_files(text "runtime/emulator/machine/chips.cpp")
  require_each("${text}" ${table} "Adding a target, A GPU, step 5" "row, by capability, in kRows of runtime/emulator/machine/chips.cpp" "{@, ")
  set(rows ${codes})
  read_files(text "runtime/ptx_lint.cpp")
  require_each("${text}" ${table} "Adding a target, A GPU, step 4" "name in kTargets of runtime/ptx_lint.cpp" "\"@\"")
  set(rows ${chips})
  read_files(text "frontend/cli/arguments/targets.h")
  require_each("${text}" ${table} "Adding a target, A GPU, step 4" "name in kTargetNames of frontend/cli/arguments/targets.h" "|@|" "|@\"")
  require_each("${text}" ${table} "Adding a target, A GPU, step 4" "name in kGpuTargets of frontend/cli/arguments/targets.h" "\"@, " " @, " " @\"")
  read_files(text "backend/host/target.cpp")
  require_each("${text}" ${table} "Adding a target, A GPU, step 4" "name in the message of backend/host/target.cpp" "\"@, " " @, " " @\"")
  foreach(test tests/unit/runtime/cuda_on_emulator_test.cpp tests/cli/commands_test.cpp)
    read_files(text ${test})
    require_each("${text}" ${table} "Adding a target, A GPU, step 6" "entry in the list of ${test}" "\"@\"")
  endforeach()
  list(REMOVE_ITEM rows sm_90)  # a device of capability 9.0 is sm_90a
  read_files(text "runtime/emulator/driver/emulated_driver.cpp")
  require_each("${text}" ${table} "Adding a target, A GPU, step 5" "device in emulated_targets of runtime/emulator/driver/emulated_driver.cpp" "\"@\"")

  # Levels of hosts: rows with the target's name and LLVM's.
  set(table backend/host/target.cpp)
  rows_of(${table} "    {\"cpu:([a-z0-9-]+)\", ")
  read_files(text "frontend/cli/arguments/targets.h")
  require_each("${text}" ${table} "Adding a target, A level of a host" "name in kTargetNames of frontend/cli/arguments/targets.h" "|cpu:@|")
  read_files(text "backend/host/target.cpp")
  require_each("${text}" ${table} "Adding a target, A level of a host" "name in the message of backend/host/target.cpp" " cpu:@, ")
  read_files(text "runtime/host/cpu_model.cpp")
  require_each("${text}" ${table} "Adding a target, A level of a host" "case in reason_against_level of runtime/host/cpu_model.cpp" "level == \"@\"")
  read_files(text "tests/unit/backend/compile_test.cpp")
  require_each("${text}" ${table} "Adding a target, A level of a host" "entry in the lists of tests/unit/backend/compile_test.cpp" "\"cpu:@\"")
endif()

if(NOT problems STREQUAL "")
  message(NOTICE "${problems}")
  message(FATAL_ERROR "Rows of tables lack what docs/extending.md asks for: see above.")
endif()
