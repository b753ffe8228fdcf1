#pragma once
// Finds settings that suit data, by encoding samples of them within a budget.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame::inline choosing {

/// Bytes of a piece of contents. Blocks of that size can be tried.
inline constexpr std::int32_t kPieceSize = 1 << 20;

/// Further levels of Zstandard, tried on the best settings of a lower level.
struct RaisedLevel {
  int from;
  std::size_t best;  ///< number of settings of that level to try
  int to;
};

/// How much a search tries.
struct SearchBudget {
  std::size_t layout_pieces;  ///< number of pieces that layouts are tried on
  std::size_t layout_bytes;   ///< bytes of each of them
  std::size_t record_bytes;   ///< bytes that sizes of records are tried on
  std::int32_t record_step;   ///< difference between these sizes
  /// Tries layouts for every usual item size, not only for those that compress best with shuffle.
  bool tries_all_typesizes;
  /// Gives LZ4 the layouts that suit LZ4 best, even if the goal is not speed.
  bool tries_fast_layouts;
  std::span<const int> lz4_levels;
  std::span<const int> zstd_levels;        ///< for balanced
  std::span<const int> zstd_ratio_levels;  ///< for ratio
  std::span<const RaisedLevel> raised;     ///< for ratio
  bool tries_large_blocks;                 ///< for ratio
  codec::SplitMode split_of_zstd;
};

/// Takes 1 to 5 ms on samples of 32 KiB. Used for files that are being written.
extern const SearchBudget kSmallBudget;
/// Takes seconds on pieces of 1 MiB.
extern const SearchBudget kLargeBudget;

/// For use by one thread. The result depends only on sizes and the table of costs: the same pieces
/// get the same settings.
class SettingsSearch {
 public:
  /// `pieces` are pieces of the contents, of up to kPieceSize bytes, and must outlive the search.
  /// `typesize` is the item size, or 0 if it is not known.
  SettingsSearch(std::span<const codec::Bytes> pieces, std::int32_t typesize,
                 const SearchBudget& budget);

  /// Sets a function that is called before each try. Once it returns false, the search uses only
  /// what it already knows. The result then depends on time.
  void set_limit(std::function<bool()> should_continue) {
    should_continue_ = std::move(should_continue);
  }

  /// Returns the candidates for a goal, cheap settings first, at least one. With a large budget,
  /// also those for goals that want less time.
  const std::vector<Candidate>& find(Goal goal);

 private:
  /// How items are arranged before a codec encodes them.
  struct Layout {
    std::int32_t typesize = 1;
    std::array<codec::FilterStep, codec::kFilterSlots> filters{};
    bool operator==(const Layout&) const = default;
  };

  void choose_typesizes(Goal goal);
  std::vector<Layout> all_layouts() const;
  /// Returns all layouts, the best for the codec first.
  std::vector<Layout> best_layouts(codec::CodecId codec);
  codec::EncodeSettings settings_of(codec::CodecId codec, int clevel, const Layout& layout) const;
  void add(codec::CodecId codec, int clevel, const Layout& layout, std::int32_t blocksize = 0);
  void add_for_speed(const Layout& fast);
  void add_for_balance(const std::vector<Layout>& best, std::span<const int> levels);
  void add_for_ratio();
  std::vector<Candidate> best_at(int clevel, std::size_t count) const;
  bool should_continue() const { return !should_continue_ || should_continue_(); }

  const SearchBudget& budget_;
  Trial pieces_;  ///< pieces that codecs and levels are tried on
  Trial parts_;   ///< shorter pieces, for layouts
  std::vector<std::int32_t> typesizes_;
  std::function<bool()> should_continue_;
  std::vector<Candidate> candidates_;
};

/// Returns the best candidate for a goal. `candidates` is not empty. For ratio, prefers none that
/// is larger than Zstandard 5 with shuffle, if that was tried.
const Candidate& best_of(std::span<const Candidate> candidates, Goal goal);

/// True if every candidate stores less than a thousandth of the contents, as for zeros. The sample
/// then does not tell which candidate is best.
bool are_indistinguishable(std::span<const Candidate> candidates);

}  // namespace bloscfs::frame::inline choosing
