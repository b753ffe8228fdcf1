#pragma once
// Finds settings that suit data, by encoding samples of them.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame {

/// Bytes of a piece of contents: blocks of that size can be tried.
inline constexpr std::int32_t kPieceSize = 1 << 20;

/// For one thread. What it finds goes by sizes and the table of costs alone: the same pieces give
/// the same settings.
class SettingsSearch {
 public:
  /// Pieces of the contents, of up to kPieceSize bytes, which outlive the search; `typesize` is
  /// that of the items, or 0 where nobody knows.
  SettingsSearch(std::span<const codec::Bytes> pieces, std::int32_t typesize);

  /// Asked before each try; once it says false, only what is known already is used, and what it
  /// finds depends on when that was.
  void set_limit(std::function<bool()> may_go_on) { may_go_on_ = std::move(may_go_on); }

  /// What is worth a look for that goal, cheap settings first, at least one. For ratio also all
  /// that is for balanced, and for that all that is for speed.
  const std::vector<Candidate>& find(Goal goal);

 private:
  /// How items are laid out before a codec sees them.
  struct Layout {
    std::int32_t typesize = 1;
    std::array<codec::FilterStep, codec::kFilterSlots> filters{};
    bool operator==(const Layout&) const = default;
  };

  void choose_typesizes();
  std::vector<Layout> all_layouts() const;
  /// All of them, what suits a codec best first.
  std::vector<Layout> best_layouts(codec::CodecId codec);
  void add(codec::CodecId codec, int clevel, const Layout& layout, std::int32_t blocksize = 0);
  void add_for_speed(const Layout& fast);
  void add_for_balance(const Layout& fast);
  void add_for_ratio();
  bool may_go_on() const { return !may_go_on_ || may_go_on_(); }

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

}  // namespace bloscfs::frame
