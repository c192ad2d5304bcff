// The numbers by which fusion chooses, with their units.
//
// A comment names the machine and the date of a number that was measured. The others are estimates: each says what it weighs. Numbers that
// follow from a type, an instruction set or a proof are not choices, and stand where they are used.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tileir/graph/typical_extent.h"

namespace tilewright::passes::fusion {

// ---- expr: sizes of symbols, and the range of formulas ----

/// The value that estimates assume for a symbol, unless its bounds exclude it; the search of graphs assumes it, too.
inline constexpr double kTypicalExtent = static_cast<double>(graph::kTypicalExtent);
/// Values of symbols are sought at most so many multiples from the typical ones, for which all extents are integers: a network that halves an
/// image six times has an image of 64 m or 64 m + 1 rows.
inline constexpr std::int64_t kMostDistanceOfSymbols = 65;
/// The value of symbols by which estimates recognise work that grows faster than the data.
inline constexpr double kLargeExtent = 1 << 18;
/// Bits of a moderate number, above and below 1: a product with a few such numbers is in range if its other factors are. The guarantee of
/// range (docs/fusion.md) counts them.
inline constexpr int kSpareBits = 24;
/// The greatest power of a moderate value that is still taken for moderate.
inline constexpr std::int64_t kMostPowerOfModerate = 2;
/// A constant from here on counts as a limit that no finite score reaches. It is a little below the greatest f16, since formulas choose
/// limits just below that one.
inline constexpr double kLeastUnreachedScore = 60000;
/// The greatest power of an integer for which a range is computed.
inline constexpr std::int64_t kMostBoundedPower = 4;
/// Primes that are taken out of the number under a root one by one; the rest is one factor, since finding its primes would take time.
inline constexpr int kMostPrimeOfRoot = 1000;
/// Bits above and below 1 of a product's coefficient that is multiplied with others; f32 has 126, and further products need the rest.
inline constexpr int kMostCoefficientExponent = 100;
/// Values that are added and multiplied in the body of a sum. For more of them it is not proved that the sum is not a matrix product.
inline constexpr std::size_t kMostValuesOfProduct = 64;
/// Characters of a formula that is printed as a tree; a longer one gets names for the parts that it has several times.
inline constexpr double kLongestText = 2000;
/// Parts of an element of memory, and of its index, that has no name in such a formula.
inline constexpr double kLongestElementText = 16;
/// Numerators and denominators from here on are printed as decimal fractions, which are shorter.
inline constexpr int kLeastLongNumber = 1000;

// ---- graph: constants ----

/// Elements of a constant that the interpreter computes, and that it reads for it, at most.
inline constexpr std::size_t kMostFoldedElements = 1 << 16;
/// As above, for all nodes of a graph together: 32 MB.
inline constexpr std::size_t kMostFoldedElementsOfGraph = 1 << 22;
/// Nodes that are copied in the types of casts, for each node of a graph: two casts of each of n nested choices would make 2^n.
inline constexpr std::size_t kMostCopiesOfCasts = 8;

// ---- graph and segments: what is stored ----

/// Operations of a segment, counted as in segment_parts.h: the time of a derivation grows faster than its formulas.
inline constexpr std::size_t kMostOperations = 160;
/// A reduction, a product or a scan counts as so many operations.
inline constexpr std::size_t kOperationsOfReduction = 6;
/// So many views of views, such as reshapes and permutes in turn, count as one operation, and the last one may be stored: each of them
/// makes the formulas of positions longer.
inline constexpr std::size_t kViewsOfOperation = 16;
/// Reshapes in a row that divide positions by extents without common parts. Each takes some ten instructions for a vector of elements.
inline constexpr std::size_t kMostDivisions = 8;
/// Steps (steps.h) that a derivation may take for each operation, unless an option says otherwise. Models take a tenth of this.
inline constexpr std::uint64_t kStepsOfOperation = 4000;
/// Operations of a segment that is not halved even if its derivation exceeds its budget of steps.
inline constexpr std::size_t kFewestOperations = 8;
/// If at least so many segments differ in numbers only, their kernels get these as arguments. Fewer segments are compiled each with its own
/// numbers, which rules and the back end may use.
inline constexpr std::size_t kFewestAlike = 4;
/// Elements up to which the alignment of slices tells segments apart: those of the narrowest type that a vector of a host has. With a greater
/// alignment memory is accessed in the same way.
inline constexpr std::int64_t kAlignedElements = 64;
/// Slices of one tensor whose readers are derived together. Readers of different slices among more of them have segments of their own, which
/// share kernels if they differ in the begins of slices only: that takes a launch for each, and not the code of each.
inline constexpr std::size_t kMostSlicesTogether = 64;
/// Numbers that the kernels of a segment get as arguments, at most: CUDA passes 4 KiB of arguments.
inline constexpr std::size_t kMostArgumentNumbers = 256;
/// Additional operations on tiles that a kernel may have if its numbers are arguments, as a part of those that it has with its own numbers.
inline constexpr double kMostAddedByArguments = 1.0 / 16;
/// Products in one segment that depend on each other.
inline constexpr int kMostProductDepth = 4;
/// Element-wise nodes between a sum and the value that another operand of it is a product of.
inline constexpr int kFarthestReuse = 6;
/// Positions at which an element of a result computes a value, on GPUs and on hosts; a value with more is stored. A host reads what it stored
/// from its caches: 32 steps of the heat equation on 512 x 32 values take 1.02 ms with 8 positions, 0.49 with 5, 0.35 with 3 or 4, and Burgers'
/// equation 0.29, 0.07 and 0.06 ms (Intel Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr std::size_t kMostPositions = 8, kMostPositionsOnHost = 4;
/// As above, if a transcendental function is computed again. Two slices of a value, such as the halves of a gated layer, are two positions.
inline constexpr std::size_t kMostCostlyPositionsOnHost = 2;
/// Tensors from which later kernels would compute a value again; a value of more is stored.
inline constexpr std::size_t kMostTensorsReadAgain = 4;
/// The most tensors that are remembered of those which a formula reads; small ones, which do not count, are among them.
inline constexpr std::size_t kMostKeptTensors = 16;
/// Reductions, each waiting for the one before, that read a function of the data; a function with more is stored.
inline constexpr std::size_t kMostReaders = 3;
/// Elements that a reduction combines for each element of its result, from which several reductions that walk the result read it from memory;
/// and the reductions that are remembered of those.
inline constexpr double kLeastCombined = 8;
inline constexpr std::size_t kMostWalkers = 8;
/// The most functions of the data that are looked for in one formula. A formula with more does not compute one of them again and again.
inline constexpr std::size_t kMostRecurringValues = 4;
/// Nodes between a value and one that depends on it by a product; values that are further apart are not in one segment anyway.
inline constexpr std::size_t kMostStepsOfReuse = 2048;
/// Operands of a concatenation in one kernel, on GPUs and on hosts; one with more is written operand by operand.
inline constexpr std::size_t kMostJoined = 32, kMostJoinedOnHost = 8;
/// Positions at which concatenations are read on a path from a result, together: for each, a kernel chooses between the operands.
inline constexpr std::size_t kMostChoices = 64;
/// Elements: if rows of operands are shorter, so that several share a vector, hosts take kMostJoined too.
inline constexpr std::int64_t kShortJoinedRow = 16;
/// Nodes between a piece of a concatenation and the reductions that it is computed from, and from a concatenation to its readers.
inline constexpr std::size_t kMostStepsOfPiece = 256;
/// The most positions of a value that are remembered: a value with this many is stored, so more of them change nothing.
inline constexpr std::size_t kMostKeptPositions = std::max(kMostPositions, kMostJoined) + 1;
/// Indices that a program of checked mode compares with their extent at once: 8 for each of 128 threads.
inline constexpr std::int64_t kCheckedAtOnce = 1024;

// ---- translate: parameters ----

/// Memory of values that are computed ahead, as a multiple of the parameters and constants that they read.
inline constexpr double kMostParameterCopies = 2;

// ---- plan ----

/// How deep sums are nested in which the exponentials of a maximum are looked for (hidden_maxima.h).
inline constexpr int kMostNestedSums = 8;
/// The parts of a sum's body in which exponentials are looked for.
inline constexpr int kMostGuardedParts = 256;
/// Terms of a form: more accumulators than this cost more than another pass.
inline constexpr std::size_t kMostFormTerms = 12;
/// The f32 accumulators of one row: with this many, 64 rows fill the registers of a GPU's program.
inline constexpr double kMostRowCells = 1024;
/// Positions of an axis that a program holds completely beside a loop.
inline constexpr std::int64_t kMostHeldExtent = 8192;
/// The greatest power of a sum that a loop multiplies out: higher powers have more accumulators.
inline constexpr std::int64_t kMostPowerOfSum = 4;
/// How far a bounded exponent may be from the middle of its bounds, so that the middle stands for its maximum. exp(22) is about 2^32, which the
/// guarantee of range counts (docs/fusion.md). Operands of products of 16-bit floats are within exp(5), about 2^7, of 1: an f16 has all of its
/// bits down to 2^-14.
inline constexpr double kMostSpread = 22, kMostNarrowSpread = 5;

// ---- tiles ----

/// Positions of an axis of a reduction; longer axes are walked in a loop.
inline constexpr std::int64_t kMostWholeExtent = 256;
/// Positions at a time of such a loop.
inline constexpr std::int64_t kWalkedAtOnce = 64;
/// Positions along which operands of products are contracted at once; on hosts only of the axis of the loop.
inline constexpr std::int64_t kContracted = 32;
/// Positions along each axis of a product's tile: matrix instructions on narrow elements are fully used only by the larger one.
inline constexpr std::int64_t kProductSide = 64, kLargeProductSide = 128;
/// Positions of both axes of a result from which a GPU's tiles of narrow elements have the larger side: small results need more programs.
inline constexpr double kLargeResult = 1024;
/// Accumulators of a kernel whose tiles have the larger side: more of them do not fit into registers.
inline constexpr std::size_t kMostLargeAccumulators = 2;
/// Positions at a time of a loop each of whose positions is a column of a product (the scores of attention), or beside which a program holds
/// all of another axis.
inline constexpr std::int64_t kLoopOfProducts = 64;
/// The tile of the loop times the accumulators of a row, above which the tile is halved; but it stays at this many positions.
inline constexpr std::int64_t kMostLoopCells = 64 * 128, kLeastLoopOfProducts = 32;
/// The part (one fourth) of a program's shared memory for one operand of a product: there are two, each of them twice, since the next tile
/// is loaded while one is multiplied.
inline constexpr std::int64_t kShareOfOperand = 4;
/// An axis gets a tile if the reads that it saves are at least this share of the greatest savings.
inline constexpr double kWorthATile = 1.0 / 16;
/// Elements of all accumulators of a tile of a product.
inline constexpr std::int64_t kMostProductCells = 64 * 256;
/// Positions of a GPU's tile of rows along the axis with contiguous memory: a cache line of f32.
inline constexpr std::int64_t kLineOfRows = 32;
/// Elements of a tile of rows: on GPUs 32 registers of each of 128 threads; on hosts without an axis with contiguous memory, the vectors of
/// a loop.
inline constexpr std::int64_t kMostRowElements = 4096, kMostHostRowElements = 2048;
/// Elements of a host's tile of rows whose length is a symbol without a greatest value: each row takes the time of whole tiles. A softmax and
/// its gradient of 1000 rows of 64, 1024 and 4096 elements takes 1.57, 2.03 and 8.3 ms in tiles of 2048, 0.44, 0.94 and 8.0 in tiles of 512,
/// 0.11, 0.91 and 9.9 in tiles of 256 (Intel Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr std::int64_t kHostRowElementsOfSymbol = 512;
/// Passes of a loop from which a host takes one tile for the whole loop if it would compute functions again in each pass, and the elements of
/// such a tile. 8 steps t = t + tanh(t - mean of t) along columns take 0.83 ms in 9 passes and 0.28 ms in one tile for [256, 256] elements, 1.70
/// and 0.58 ms for [2048, 64]; with x = |x - mean of x| the latter take 0.17 and 0.23 ms (Intel Xeon, AVX-512, one thread of a busy machine,
/// 2026-11-30).
inline constexpr int kLeastPassesOfOneTile = 3;
inline constexpr std::int64_t kMostElementsOfOneTile = 1 << 16;
/// Elements of a tile of short rows, from which no more rows are added.
inline constexpr std::int64_t kElementsOfShortRows = 512;
/// Elements of a tile without reductions: 8 for each of 128 threads. If outputs are contiguous along different axes, a tile of 64 x 64
/// reads and writes whole cache lines of both.
inline constexpr std::int64_t kElementwiseElements = 1024, kTransposedElements = 4096, kTransposedSide = 64;
/// Positions of a host's tile that is not halved for more programs.
inline constexpr std::int64_t kLeastHostSide = 16;
/// Where a host has fewer programs than threads, tiles are halved if the largest program then has at most this part of the positions that
/// it had: 32 of 90 rows in place of 64.
inline constexpr double kOfSmallerTiles = 0.6;
/// Rows of accumulators that a host's program keeps.
inline constexpr std::int64_t kHostRows = 8;
/// Positions of a host's loop beside which rows lie, at least.
inline constexpr std::int64_t kLeastHostLoop = 8;
/// Positions of the longest window that a host walks one by one.
inline constexpr std::int64_t kLongestWindow = 16;
/// Positions of a row that a program of a host handles, and the bytes from which rows come from memory. Tiles stay in registers: a row times
/// a 256 x 640 matrix takes 22 us with tiles of 64 x 32, and 11 us with 8 x 64 (AMD EPYC Zen 5, one core, 2026-11-25). Memory is read
/// faster by whole rows, which are distributed over threads: a row times a 2816 x 1024 matrix takes 240 us with 8 x 64 and 124 us with
/// 16 x 1024 (Zen 4, two cores).
inline constexpr std::int64_t kHostPieceOfRegisters = 64, kHostPieceOfMemory = 4096;
inline constexpr double kLeastBytesOfMemory = 4 << 20;
/// Positions that a footprint counts; a program with more does not fit on any chip, and the product of two counts still fits into 64 bits.
inline constexpr std::int64_t kManyPositions = std::int64_t{1} << 20;

// ---- tiles: loops that programs divide ----

/// Bytes of a loop that is divided, and of each part: a second kernel costs some microseconds, the time in which one processor reads this
/// many.
inline constexpr double kLeastSplitBytes = 512 * 1024, kLeastBytesOfPart = 64 * 1024;
/// Steps of a part, with those of inner loops.
inline constexpr double kLeastStepsOfPart = 4;
/// States, which are written and read again, as a share of what the loop reads.
inline constexpr double kGreatestShareOfStates = 1.0 / 8;
/// Parts if results must not depend on the number of rows.
inline constexpr double kInvariantParts = 8;
/// Elements of states that a merge holds in registers.
inline constexpr double kMostMergedElements = 8192;
/// Parts of a divided loop, at least: fewer save too little time for a second kernel.
inline constexpr std::int64_t kLeastParts = 4;
/// Bytes of a program's loop from which a host divides it into two parts, too.
inline constexpr double kLeastBytesOfTwoParts = 4 << 20;
/// Positions of a host's tile that is not halved to give each thread a program.
inline constexpr std::int64_t kLeastSideForThreads = 64;

// ---- emit ----

/// The greatest integer power that is emitted as multiplications; a greater one is a call of pow.
inline constexpr std::int64_t kMostMultiplications = 4;
/// The greatest multiple of a sum's coefficient whose term is added before the coefficient is multiplied: its product with the multiple has
/// few more bits.
inline constexpr std::int64_t kMostGroupedMultiple = 16;
/// Bits above and below 1 of a constant that is multiplied as one number. f32 has 126 and f64 1022; the other factors need the rest.
inline constexpr int kMostConstantExponentOfF32 = 100, kMostConstantExponentOfF64 = 900;
/// Bits of each of the powers of two by which factors are multiplied in place of a constant with more bits: two of them are in range.
inline constexpr int kExponentOfStepOfF32 = 60, kExponentOfStepOfF64 = 500;
/// Factors of unknown magnitude of a product that is multiplied in an order of the compiler; with more, partial products may leave the range
/// that those of the formula as written keep.
inline constexpr double kMostUnknownFactors = 2;

// ---- emit: scatter_add ----

/// Processors of a host up to which updates are added in order: an atomic takes as long as six additions of a single thread.
inline constexpr int kFewProcessors = 6;
/// Elements of a program's columns, in order and with atomics.
inline constexpr std::int64_t kLanesInOrder = 128, kLanesOfAtomics = 1024;
/// Columns that one warp and two warps add in order; more take four warps.
inline constexpr double kColumnsOfWarp = 32, kColumnsOfTwoWarps = 64;
/// Programs that a GPU should have; with fewer than half of them, rows are distributed too.
inline constexpr double kScatterPrograms = 256;

// ---- cover ----

/// The factor by which an alternative that stores values must be faster: estimates are rough, and stored values need memory.
inline constexpr double kOfStoring = 1.25;
/// Rows of a product at once with which a host multiplies at its full rate; fewer rows take as long. A row at a time of [128, 64] times
/// [64, 64], 16 times, takes 5.4 times as long as 64 rows at a time (Intel Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr double kRowsOfHostProduct = 6;
/// Bytes that the caches of a host's processor keep, and how many times as long as from caches a byte takes that each program reads again
/// from beyond them, also beside a product. gelu(x W) U with 256 rows, 512 columns and 2048 between them takes 14.6 ms in programs of 32
/// rows that read W and U whole, and 10.9 ms with gelu(x W) stored; with 1024 between 256 columns 2.5 and 2.7 ms (same machine and date).
inline constexpr double kBytesOfCaches = 5 << 20, kOfFar = 2;
/// How many times as long as reading an operand from caches a host takes to copy it to scratch memory, from which a product inside of a loop is
/// computed. tanh(tanh(x W) U) with 4 rows and 256 columns takes 19.0 us in one kernel, and 8.5 us with tanh(x W) stored; with 16 rows 47 and
/// 32 us (Intel Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr double kOfCopies = 1.5;
/// Rows of a program's product that use one copy of an operand; with more, the copy counts for a smaller part of its time. The scores of 90
/// rows and 1000 columns in tiles of 64 rows take 196 us in the loop of their cross entropy, 158 us alone and some 18 us to read again (same
/// machine and date).
inline constexpr double kRowsOfCopies = 16;
/// How many times as long a host takes to read in a reduction along axes over which programs are distributed: each program walks all of it,
/// in tiles of the size of its own part of the result. (x - min) / (max - min) of [1500, 1200] takes 1.4 times as much processor time in two
/// such programs as in five kernels that move three times as much (Intel Xeon, AVX-512, two threads, 2026-11-27).
inline constexpr double kOfWalkingOnHost = 3;
/// How many times as long as the best alternative one may take if symbols are large, to be chosen for what it takes if they are not.
inline constexpr double kMostGrowth = 8;
/// Positions of the longest axis of an accumulator that a program holds completely, besides a tile of rows.
inline constexpr double kMostStoredPayload = 512;
/// Positions of the longest axis that a program holds completely, of a kernel that fits on the chip.
inline constexpr std::int64_t kLongestPayload = 1024;
/// The most kernels between two that may be merged: kernels that are further apart rarely have reads in common.
inline constexpr std::size_t kMergeWindow = 12;
/// The most outputs of a merged kernel. With so many outputs, merging one more kernel saves little: one launch in so many, and one read in
/// so many of what all of them read. The time of an attempt to merge grows with the outputs.
inline constexpr std::size_t kMostMergedOutputs = 64;
/// Shares of a thread's registers that hold data: if each warp has rows of its own, and in programs of 4 and 8 warps that have rows in
/// common. Measured with ptxas 13.0.88 (2026-11-25), see cover/limits.cpp.
inline constexpr double kOwnRows = 212.0 / 255, kCommonRowsOf4 = 96.0 / 255, kCommonRowsOf8 = 132.0 / 255;
/// A program may spill this part of its registers: that costs less than reading all of the loop in more programs.
inline constexpr std::int64_t kShareToSpill = 8;

/// How many exponentials of f32 an exponential of f64 takes: 0.73 ns and 0.25 ns beyond the time to move 16,384 elements that are in caches
/// (Intel Xeon, AVX-512, 2026-11-28).
inline constexpr double kExponentialsOfDouble = 3;
/// Exponentials of f32 that a host needs beside the operations themselves for each element of a left operand of a product that is computed:
/// it goes through scratch memory, where a stored operand is read in place. relu(x) W of [256, 512] and [512, 512] takes 0.4 ns longer for
/// each element and tile of columns than with relu(x) stored, [300, 500] 0.7 ns (Intel Xeon, AVX-512, 2026-11-28).
inline constexpr double kExponentialsOfOperand = 1.5;
/// Exponentials of f32 that a host needs for each element of a window that is reduced in the loop of a product, which is walked row by row: a
/// product of [6272, 64] and [64, 64] takes 830 us with the greatest of 3 x 3 elements as its left operand, and 960 us with the greatest stored;
/// of [196, 32] and [32, 12] 14.7 us both ways (Intel Xeon, AVX-512, one thread of a busy machine, 2026-11-29).
inline constexpr double kExponentialsOfWindow = 0.25;
/// Exponentials of f32 that a host needs for each element of a scan, beside the operations themselves: a running maximum or sum of 250,000
/// elements along rows or columns takes 0.6 ns an element, as long as 3 exponentials (Intel Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr double kExponentialsOfScan = 3;
/// Bytes of a tensor that stays in the first cache of a processor, and the part of the time that its bytes take there: a matrix of
/// [512, 512] times a vector of 2 KiB, row by row, takes 15 us; the vector from further caches for each row would take as long again (Intel
/// Xeon, AVX-512, one thread, 2026-11-29).
inline constexpr double kBytesNearby = 16 << 10, kOfNearby = 0.125;

// ---- check ----

/// Random points at which a plan is compared with its definition: at each, a wrong plan passes with a probability of about 2^-54.
inline constexpr int kRoundsOfCheck = 2;
/// Positions of a tile in the check: the least number for which the order inside of a tile and between tiles counts.
inline constexpr int kTileOfCheck = 2;
/// Positions of the loop's axis in the check (two whole tiles and a part of one), and of any other axis.
inline constexpr int kLoopOfCheck = 5, kPositionsOfCheck = 2;
/// The degree that is assumed of formulas, as polynomials in each of the random values.
inline constexpr double kMostDegree = 64;
/// Draws of real numbers for a factor whose sign is unknown: a wrong sign is found with a probability of 1 - 2^-64.
inline constexpr std::size_t kDrawsOfReals = 64;
/// Draws for a value of which formulas take roots: half of the residues have none.
inline constexpr int kMostDrawsOfRoots = 200;
/// Elements of all values of an instance with three positions along each axis; larger graphs are compared with two.
inline constexpr double kMostElementsOfInstance = 4000;
/// Positions that an instance visits because masks or indexed reads name them.
inline constexpr std::size_t kMostNamedPositions = 6;
/// The most distances of indices by which an instance divides what a position represents; those of two comparisons count if there are no more.
inline constexpr std::size_t kMostRelatedDistances = 25;
/// Elements of one result that are compared. If a result has more, these are spread over it.
inline constexpr std::uint64_t kMostComparedElements = 512;
/// Positions at which an axis is cut into ranges that sums visit one by one. Further ones are left out, and a rewriting may be refuted.
inline constexpr std::size_t kMostCutsOfAxis = 512;
/// The error bound of a number as a part of it; with a greater one a difference proves nothing, but numbers that agree up to 2^-40 are equal.
inline constexpr long double kMostRelativeError = 1e-5L, kEqualNotByChance = 0x1p-40L;
/// Exponents of which the check computes an exponential, and the bound of their errors: beyond them the result is unknown.
inline constexpr long double kMostExponentOfCheck = 4000, kMostErrorOfExponent = 0.5L;
/// Powers that the check multiplies out, as if the user had written products.
inline constexpr std::int64_t kMostMultipliedPower = 8;
/// Values that wait for each other on the machine's stack; further ones are computed from a list.
inline constexpr int kMostDepthOfCheck = 64;

// ---- sequence and report ----

/// Names in the name of a value that is made of several.
inline constexpr std::size_t kMostJoinedNames = 3;
/// Nodes that are searched for those of a kernel, more than kernels have.
inline constexpr std::size_t kMostSearchedNodes = 512;

}  // namespace tilewright::passes::fusion
