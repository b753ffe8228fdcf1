#pragma once
// The index of a sparse frame whose files are objects: as it is stored, or as it is to be.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline store {

/// What tells a commit from all others, as `commit` in the metadata of its index: 32 hexadecimal
/// digits.
std::string new_commit_id();
inline constexpr const char* kCommit = "commit";
/// The metadata that marks our chunk objects: gc deletes no chunk of another program.
inline constexpr const char* kMark = "bloscfs";
/// That of the metadata; empty if there is none.
std::string commit_of(const ObjectState& state);

/// Puts it into the fingerprint with which an index ends, which no reader checks
/// (frame/formats/cframe.md): stores take equal bytes for one state, whatever their metadata says.
void stamp_index(std::vector<std::uint8_t>& index, const std::string& commit);

/// Owner, mode, and time of modification as they are put with an object; mode in octal, the time in
/// seconds since 1970 with a fraction.
std::map<std::string, std::string> metadata_of(const FileAttributes& attributes);
/// The metadata of a tombstone: the commit id, the host and the time of the removal.
std::map<std::string, std::string> metadata_of_tombstone(const std::string& commit);
/// Reverses metadata_of(). Missing or invalid values become the owner of this process, mode 0644,
/// and the store's modification time.
FileAttributes attributes_of(const ObjectState& state);

/// Thread-safe. One that was made here is written in memory, another one is read where it is.
class ObjectIndex final : public StoreFile {
 public:
  explicit ObjectIndex(mode_t mode);
  explicit ObjectIndex(std::shared_ptr<const ObjectSource> source);

  /// All of it.
  std::vector<std::uint8_t> bytes() const;

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  bool is_far() const override { return source_ && source_->is_far(); }
  void expect(std::span<const ByteRange> ranges) const override {
    if (source_) source_->expect(ranges);
  }
  bool is_at_hand(std::span<const ByteRange> ranges) const override {
    return !source_ || source_->is_at_hand(ranges);
  }
  /// Of its own, and the same whatever attributes it gets.
  FileStamp stamp() const override;
  void write_at(std::uint64_t offset, Bytes bytes) override;
  void truncate(std::uint64_t size) override;
  void punch(std::uint64_t offset, std::uint64_t size) override;
  void sync() override {}
  std::uint64_t link_count() const override { return 1; }
  FileAttributes attributes() const override;
  void set_attributes(const FileAttributes& attributes) override;
  void set_times(const timespec& accessed, const timespec& modified) override;
  bool is_sole_user() const override { return false; }

 private:
  void require_own() const;

  const std::shared_ptr<const ObjectSource> source_;
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t> bytes_;  ///< without a source
  FileAttributes attributes_;
};

/// An index that this host has stored, kept in memory.
class KeptIndex final : public ObjectSource {
 public:
  KeptIndex(ObjectState state, std::vector<std::uint8_t> bytes)
      : state_(std::move(state)), bytes_(std::move(bytes)) {}

  const ObjectState& state() const override { return state_; }
  bool is_in_memory() const override { return true; }
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  FileStamp stamp() const override;

 private:
  const ObjectState state_;
  const std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::frame::inline store
