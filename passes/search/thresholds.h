// The numbers by which the search of graphs chooses, with their units. Limits that a caller may set are in SearchOptions and SearchLimits.
//
// A comment names the machine and the date of a number that was measured. The others are estimates: each says what it weighs. Tolerances of
// floating-point arithmetic are not choices, and stand where they are used.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tilewright::passes::search {

// ---- graph: terms, and what is written from them ----

/// Additions inside of each other: an axis that is summed over and that some addends lack is given to each addend, and not to their sum.
inline constexpr int kMostAddends = 8;
/// Concatenations inside of each other that become one op: if others read the prefixes of a chain, the time would be quadratic otherwise.
inline constexpr std::size_t kMostPiecesOfConcat = 256;
/// Parts of parts that become one slice, for the same reason.
inline constexpr int kMostPartsOfSlice = 8;

// ---- regions ----

/// Nodes of a region, without those that cost nothing: the time of saturation grows faster than its terms.
inline constexpr std::size_t kMostRegionNodes = 40;
/// Element-wise nodes between two nodes that count, up to which these are in one region.
inline constexpr std::size_t kMostLightNodes = 8;

// ---- rules and saturation ----

/// Terms that a round of saturation may add for each node of its limit.
inline constexpr std::size_t kTermsOfNode = 4;
/// Ops inside of each other into which the diagonal of a value is followed.
inline constexpr int kMostOpsOfDiagonal = 8;
/// Nodes of an e-graph for each term of a region as written, at first. Most graphs of the tests need fewer than 3, and a chain of 8 matrices 6.
/// Steps of conjugate gradients have 11 to 40 and become no cheaper (November 2026).
inline constexpr std::size_t kNodesOfTerm = 8;
/// The factor by which the limit of nodes grows as long as graphs become cheaper.
inline constexpr std::size_t kGrowthOfNodes = 4;
/// The share of its time by which a graph must be cheaper, so that a greater limit is tried.
inline constexpr double kLeastGainOfNodes = 1e-3;

// ---- extraction ----

/// Steps of an extraction for each node of the e-graph.
inline constexpr std::uint64_t kStepsOfNode = 1000;
/// Elements of a value that is known before a run, as a multiple of what it is computed from: a larger one is not computed ahead for free, as
/// fusion does not keep it.
inline constexpr double kMostGrowthOfKnown = 2;
/// The cost of a node beside its operations, in seconds. If graphs cost the same, the one with fewer nodes is chosen: an average pool of a
/// concatenation costs as much as the concatenation of the pools of its pieces, and rounding must not decide. This is less than any operation
/// takes, and more than rounding changes the sums.
inline constexpr double kSecondsOfNode = 1e-14;
/// Users of a class that the local search moves to another member together.
inline constexpr std::size_t kMostUsers = 64;
/// Products that become one.
inline constexpr std::size_t kMostMerged = 32;
/// The time that merged products must save, as a share of their time.
inline constexpr double kLeastSaved = 0.05;

// ---- choice ----

/// Pieces of a rewritten region that are estimated one by one.
inline constexpr std::size_t kMostPieces = 16;
/// The share of a region's time that a piece must gain: one that gains less gains nothing.
inline constexpr double kOfNothing = 1e-3;
/// The share of its time that a graph must save, launches included, so that the launches of both graphs are left out of the comparison.
inline constexpr double kLeastShareSaved = 0.05;
/// The most time lost at the least values of symbols, as a share of what is gained at typical ones. Linear attention of four heads loses 4.7 us
/// at one row and gains 2.3 ms at 1,024 rows, by the estimates for a Xeon with three threads (2026-11-30).
inline constexpr double kShareLostIfSmall = 1.0 / 400;

// ---- reports ----

/// Values of a piece for which reports have formulas.
inline constexpr std::size_t kMostValues = 3;
/// How deep a formula of numbers is, so that reports write it out.
inline constexpr int kMostDepthOfNumbers = 4;
/// Nodes of a formula; a longer one is cut.
inline constexpr int kMostNodesOfText = 40;
/// Pairs of terms between which the rules are looked for by which one became the other.
inline constexpr int kMostPaths = 500;

}  // namespace tilewright::passes::search
