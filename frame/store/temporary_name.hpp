#pragma once
// Names of temporaries: .bloscfs-<16 hex digits>.tmp. Each process makes them with a secret of its
// own. A later process that knows the secret can tell files that this process left behind from
// files that somebody else gave such a name.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline store {

/// True for names of that form, no matter which program made them.
bool is_temporary_name(std::string_view name);

/// Returns a name for a new file, a different one at each call.
std::string temporary_name();

/// Identifies an object of a filesystem. No other object gets the same identity, even after this
/// one was removed.
struct ObjectIdentity {
  std::uint64_t inode = 0;
  std::int64_t birth_time_ns = 0;  ///< since the epoch; 0 if the filesystem does not record it
  bool operator==(const ObjectIdentity&) const = default;
};
/// Returns the identity of a name in an open directory, or of the open descriptor itself if the
/// name is empty. Returns nullopt if the name does not exist. Does not follow symlinks. Throws
/// std::system_error.
std::optional<ObjectIdentity> identity_at(int directory, const std::string& name);

/// Returns the name to which an existing object is moved out of the way. Each object has its own.
std::string displaced_name(const ObjectIdentity& identity);

/// A process, identified by the secret with which it makes names.
class TemporaryMaker {
 public:
  /// This process.
  static const TemporaryMaker& self();
  /// Returns nullopt if text() cannot have returned `text`.
  static std::optional<TemporaryMaker> parse(std::string_view text);

  /// The secret: 32 hex digits.
  std::string text() const;
  bool operator==(const TemporaryMaker&) const = default;

  /// True if temporary_name() returned the name in that process. A program that sees the name can
  /// give it to another file.
  bool has_made(std::string_view name) const;
  /// True if displaced_name() returned the name in that process for this very object.
  bool has_displaced(std::string_view name, const ObjectIdentity& identity) const;

 private:
  friend class NewNames;
  friend std::string displaced_name(const ObjectIdentity& identity);
  using Secret = std::array<std::uint8_t, 16>;
  using Proofs = std::array<std::uint32_t, 8>;

  explicit TemporaryMaker(const Secret& secret) : secret_(secret) {}
  /// Returns the proofs of eight consecutive numbers, from 8 * `group` on. A proof is 32 bits that
  /// only a process with the secret can compute.
  Proofs proofs_of(std::uint32_t group) const;
  std::uint64_t displaced_digits(const ObjectIdentity& identity) const;

  Secret secret_;
};

}  // namespace bloscfs::frame::inline store
