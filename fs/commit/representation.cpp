#include "fs/commit/representation.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

using Stored = RepresentationFacts::Stored;

/// A file with other hard links does not become an array: these would keep the old frame. A mount
/// that shows only elements makes no arrays either.
bool can_become_array(const RepresentationFacts& facts) {
  if (!facts.must_choose_representation || facts.has_links || facts.is_raw) return false;
  // A file that stays the same array is edited in place.
  if (facts.stored == Stored::array && facts.keeps_array()) return false;
  return facts.name_can_be_array();
}

bool can_be_edited(const RepresentationFacts& facts) {
  if (facts.stored == Stored::nothing || !facts.is_writable) return false;
  if (facts.changes_contents && !facts.can_change_in_part) return false;
  if (facts.stored == Stored::flat) return !facts.has_variable_chunks || !facts.changes_size;
  return facts.keeps_array();
}

/// True if the file may keep its present representation.
bool may_stay(const RepresentationFacts& facts) {
  if (facts.stored != Stored::array) return true;
  return !facts.is_forced_flat && (facts.is_raw || facts.name_can_be_array());
}

}  // namespace

Representation choose_representation(const RepresentationFacts& facts) {
  if (can_become_array(facts))
    if (auto settings = facts.array_settings()) return NewArray{std::move(*settings)};
  // Editing has second priority, since an array is worth storing everything anew. It comes before a
  // new flat frame, which also stores everything anew.
  if (can_be_edited(facts) && may_stay(facts)) return EditInPlace();
  if (facts.has_links)
    frame::throw_errno(EOPNOTSUPP, facts.name + ": has other names, so that it stays an array");
  return NewFlat{facts.flat_settings()};
}

}  // namespace bloscfs::fs
