#pragma once
// Objects named by paths, as on web servers and in object stores. They have no files or
// descriptors.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline store {

/// One state of an object. Equal states have equal bytes, as far as the object store can tell.
struct ListedState {
  /// Opaque: the object store's name for the state, a date if it has none, or else a hash of the
  /// bytes that were seen.
  std::string tag;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< seconds since 1970; 0 if not reported

  bool same_bytes(const ListedState& other) const { return tag == other.tag && size == other.size; }
};

/// The state of an object, from an answer to a request for it.
struct ObjectState : ListedState {
  /// The user metadata of the object (x-amz-meta-*), by lower-case names.
  std::map<std::string, std::string> metadata;
  /// The object store's clock when it answered, in seconds since 1970; 0 if unknown.
  std::int64_t server_time = 0;
};

/// An object in one state. Reads fail with EIO once the object has another state.
class ObjectSource : public ByteSource {
 public:
  virtual const ObjectState& state() const = 0;
  /// True if no read needs the network any more.
  virtual bool is_in_memory() const = 0;
};

/// An object that is being opened, together with ranges that will be read. Thread-safe. The
/// destructor cancels the requests.
class ObjectOpening {
 public:
  virtual ~ObjectOpening() = default;
  /// Waits for the object. Errors: as ObjectTree::open().
  virtual std::shared_ptr<const ObjectSource> wait() = 0;
  /// True if opening has failed, or the opening was dropped because no reader came. wait() would
  /// request the object again.
  virtual bool is_lost() const = 0;
  /// Like ByteSource::expect() and is_available().
  virtual void expect(std::span<const ByteRange> ranges) = 0;
  virtual bool is_available(std::span<const ByteRange> ranges) const = 0;
};

/// An entry of a listing.
struct ObjectEntry {
  std::string name;  ///< a single component: no '/', no NUL, neither "." nor ".."
  bool is_directory = false;
  bool lists_all_keys = false;  ///< of a directory: the listing showed all its keys
  bool has_other = false;  ///< if lists_all_keys: there are keys other than those of a sparse frame
  /// The state of an object, or of the index in a directory, if the listing shows it.
  std::optional<ListedState> state = std::nullopt;

  /// True for a directory with an empty index or none, and otherwise only chunks: the frame was
  /// removed, or its first commit is not complete.
  bool is_leftover() const { return lists_all_keys && !has_other && (!state || state->size == 0); }
  std::size_t memory() const {
    return sizeof *this + heap_size(name.size()) + (state ? heap_size(state->tag.size()) : 0);
  }
};

/// The memory of an entry in a growing vector: during a reallocation its old place and two new ones
/// exist at once.
inline std::size_t cost_of(const ObjectEntry& entry) {
  return entry.memory() + 2 * sizeof(ObjectEntry);
}

/// Counts what a tree has done since it was opened.
struct ObjectTreeNumbers {
  std::uint64_t requests = 0;        ///< sent; each attempt and redirect counts
  std::uint64_t bytes_received = 0;  ///< of bodies, including those of useless answers
  std::uint64_t reads = 0;           ///< of objects, whether from the network or a cache
  std::uint64_t bytes_read = 0;      ///< by these reads
};

/// The state that put() and remove() require in the object store. Otherwise they fail with ESTALE.
struct ObjectCondition {
  enum class Kind : std::uint8_t { none, absent, same } kind = Kind::none;
  ObjectState state;  ///< if `kind` is same
};

/// Thread-safe. Paths are relative, with components separated by '/'. "" is the root. Calls may
/// take long; the calling thread's Interruption can end them. Errors are std::system_error: ENOENT,
/// EACCES, ETIMEDOUT if nothing answered, otherwise EIO. A failure is not remembered: the next call
/// asks the server again.
class ObjectTree {
 public:
  virtual ~ObjectTree() = default;

  /// The path of the single object or sparse frame that the source consists of. Nothing if the
  /// source is a directory.
  virtual const std::optional<std::string>& single() const = 0;
  /// Returns the URL of a path without secrets, for messages and to tell objects apart.
  virtual std::string url(const std::string& path) const = 0;

  /// Lists a directory, sorted by name and without duplicates. Leaves out names of more than 1,024
  /// bytes. Takes the memory() of the entries, and what a page of the listing needs temporarily,
  /// from `charge`. The charge throws if that is too much, because a server may send endless names.
  /// Throws ENOTDIR if the server shows no directory there.
  virtual std::vector<ObjectEntry> list(const std::string& directory, MemoryCharge& charge) = 0;
  /// Like list(directory, charge), with a charge made by the function given to set_charges().
  std::vector<ObjectEntry> list(const std::string& directory);
  /// Sets the function that makes the charges for list(directory). Without it, list() uses
  /// uncharged(). To be called before other threads exist.
  using ChargeMaker = std::function<std::unique_ptr<MemoryCharge>(const std::string& directory)>;
  void set_charges(ChargeMaker make) { make_charge_ = std::move(make); }
  /// Opens the object in its present state. Returns `known`, which may be null, if the object is
  /// still in that state.
  virtual std::shared_ptr<const ObjectSource> open(
      const std::string& path, const std::shared_ptr<const ObjectSource>& known) = 0;

  /// Requests an object that will be opened soon, and these ranges of it. Never waits. Returns null
  /// if open() is fast enough without that. Requests of different groups start round robin.
  virtual std::shared_ptr<ObjectOpening> begin(const std::string& path,
                                               std::span<const ByteRange> ranges,
                                               const void* group);
  /// Returns the most bytes to keep under way for one reader.
  virtual std::int64_t max_bytes_in_flight() const { return 0; }

  virtual ObjectTreeNumbers numbers() const { return {}; }

  /// True if an empty index stands for a removed frame (ObjectFrames::remove()).
  virtual bool has_tombstones() const { return false; }
  /// If false, the functions below throw EROFS.
  virtual bool is_writable() const { return false; }
  /// Stores an object. Returns the new state once the object store has answered.
  virtual ObjectState put(const std::string& path, Bytes bytes, const ObjectCondition& condition,
                          const std::map<std::string, std::string>& metadata);
  virtual void remove(const std::string& path, const ObjectCondition& condition);
  /// True if the object store honours If-Match of DELETE.
  virtual bool keeps_conditions_of_removals() const { return false; }
  /// Deletes an object in that state, with If-Match if the object store honours it. The request is
  /// repeated only if the object store answers that it did not carry it out. Another repetition
  /// could delete a new object that another host has stored under the name since.
  virtual void remove_once(const std::string& path, const ObjectState& state);
  /// Deletes many objects with few requests, which are repeated only as in remove_once(). Ignores
  /// single objects that the object store does not delete. Throws if a request fails.
  virtual void remove_all(std::span<const std::string> paths);
  /// Copies an object on the server. ENOENT if `from` does not exist.
  virtual void copy(const std::string& from, const std::string& to);

 private:
  ChargeMaker make_charge_;
};

}  // namespace bloscfs::frame::inline store
