#pragma once
// Names of what is not finished: .bloscfs-<16 hex digits>.tmp. Each process makes them with a
// secret of its own. Who knows that later tells what the process has left behind from what somebody
// has only called so.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline store {

/// True for names of that form, whoever made them.
bool is_temporary_name(std::string_view name);

/// For something new; another one at each call.
std::string temporary_name();

/// What no other object of its filesystem has, also after this one is gone.
struct ObjectIdentity {
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  ///< since the epoch; 0 where the filesystem does not know
  bool operator==(const ObjectIdentity&) const = default;
};
/// Identity of what has a name in an open directory, or with an empty name of the open descriptor
/// itself; nullopt if there is nothing. Symlinks stand for themselves. Throws std::system_error.
std::optional<ObjectIdentity> identity_at(int directory, const std::string& name);

/// For an object that is there already, and is moved out of the way: a name for that alone.
std::string displaced_name(const ObjectIdentity& identity);

/// A process by the secret with which it makes names.
class TemporaryMaker {
 public:
  /// The one that this is.
  static const TemporaryMaker& self();
  /// Nullopt for what text() does not return.
  static std::optional<TemporaryMaker> parse(std::string_view text);

  /// The secret: 32 hex digits.
  std::string text() const;
  bool operator==(const TemporaryMaker&) const = default;

  /// True for a name that temporary_name() has returned there. One who sees it can give it to
  /// something else.
  bool has_made(std::string_view name) const;
  /// True if displaced_name() returned it there for that very object.
  bool has_displaced(std::string_view name, const ObjectIdentity& identity) const;

 private:
  friend class NewNames;
  friend std::string displaced_name(const ObjectIdentity& identity);
  using Secret = std::array<std::uint8_t, 16>;
  using Proofs = std::array<std::uint32_t, 8>;

  explicit TemporaryMaker(const Secret& secret) : secret_(secret) {}
  /// What proves the numbers of new names, for some in a row.
  Proofs proofs_of(std::uint32_t group) const;
  std::uint64_t displaced_digits(const ObjectIdentity& identity) const;

  Secret secret_;
};

}  // namespace bloscfs::frame::inline store
