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

/// Bytes of a piece of contents: blocks of that size can be tried.
inline constexpr std::int32_t kPieceSize = 1 << 20;

/// Further levels of Zstandard, tried on the best settings of a lower level.
struct RaisedLevel {
  int from;
  std::size_t best;  ///< how many of that level
  int to;
};

/// How much a search tries.
struct SearchBudget {
  std::size_t layout_pieces;  ///< that layouts are tried on
  std::size_t layout_bytes;   ///< of each of them
  std::size_t record_bytes;   ///< on which sizes of records are tried
  std::int32_t record_step;   ///< between these sizes
  /// Layouts are tried for every usual item size, and not only for those that shuffled bytes
  /// compress best with.
  bool tries_all_typesizes;
  /// LZ4 gets the layouts that suit LZ4 best, also where the goal is not speed.
  bool tries_fast_layouts;
  std::span<const int> lz4_levels;
  std::span<const int> zstd_levels;        ///< for balance
  std::span<const int> zstd_ratio_levels;  ///< for ratio
  std::span<const RaisedLevel> raised;     ///< for ratio
  bool tries_large_blocks;                 ///< for ratio
  codec::SplitMode split_of_zstd;
};

/// Takes 1 to 5 ms on samples of 32 KiB: for files that are just being written.
extern const SearchBudget kSmallBudget;
/// Takes seconds on pieces of 1 MiB.
extern const SearchBudget kLargeBudget;

/// For one thread. The result depends on sizes and the table of costs alone: the same pieces give
/// the same settings.
class SettingsSearch {
 public:
  /// Pieces of the contents, of up to kPieceSize bytes, which outlive the search; `typesize` is
  /// that of the items, or 0 where nobody knows.
  SettingsSearch(std::span<const codec::Bytes> pieces, std::int32_t typesize,
                 const SearchBudget& budget);

  /// Asked before each try; once it says false, only what is known already is used, and the result
  /// depends on when that was.
  void set_limit(std::function<bool()> may_go_on) { may_go_on_ = std::move(may_go_on); }

  /// What is worth a look for that goal, cheap settings first, at least one. With a large budget
  /// also all that is for the goals that want less time.
  const std::vector<Candidate>& find(Goal goal);

 private:
  /// How items are laid out before a codec sees them.
  struct Layout {
    std::int32_t typesize = 1;
    std::array<codec::FilterStep, codec::kFilterSlots> filters{};
    bool operator==(const Layout&) const = default;
  };

  void choose_typesizes(Goal goal);
  std::vector<Layout> all_layouts() const;
  /// All of them, what suits a codec best first.
  std::vector<Layout> best_layouts(codec::CodecId codec);
  codec::EncodeSettings settings_of(codec::CodecId codec, int clevel, const Layout& layout) const;
  void add(codec::CodecId codec, int clevel, const Layout& layout, std::int32_t blocksize = 0);
  void add_for_speed(const Layout& fast);
  void add_for_balance(const std::vector<Layout>& best, std::span<const int> levels);
  void add_for_ratio();
  std::vector<Candidate> best_at(int clevel, std::size_t count) const;
  bool may_go_on() const { return !may_go_on_ || may_go_on_(); }

  const SearchBudget& budget_;
  Trial pieces_;  ///< that codecs and levels are tried on
  Trial parts_;   ///< shorter ones, for layouts
  std::vector<std::int32_t> typesizes_;
  std::function<bool()> may_go_on_;
  std::vector<Candidate> candidates_;
};

/// The best of them, which are not empty, for a goal; for ratio nothing that is larger than with
/// Zstandard 5 and shuffle, if that was tried.
const Candidate& best_of(std::span<const Candidate> candidates, Goal goal);

/// Whether all settings are as good, as for zeros.
bool says_nothing(std::span<const Candidate> candidates);

}  // namespace bloscfs::frame::inline choosing
