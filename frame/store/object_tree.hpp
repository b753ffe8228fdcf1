#pragma once
// Objects with names that are paths, as web servers and object stores have them: what a source is
// that has no files and no descriptors.

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

/// One state of an object. Two that are equal are the same bytes, as far as the store tells.
struct ListedState {
  /// Opaque: the store's name for the state, a date where it has none, or a hash of what was seen.
  std::string tag;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< seconds since 1970; 0: not told

  bool same_bytes(const ListedState& other) const { return tag == other.tag && size == other.size; }
};

/// The state of an object from an answer to a request for it.
struct ObjectState : ListedState {
  /// The user metadata of the object (x-amz-meta-*), by lower-case names.
  std::map<std::string, std::string> metadata;
  /// The store's clock when it answered, in seconds since 1970; 0 if unknown.
  std::int64_t told = 0;
};

/// An object in one state: reads fail with EIO once it has another.
class ObjectSource : public ByteSource {
 public:
  virtual const ObjectState& state() const = 0;
  /// No read needs the network any more.
  virtual bool is_in_memory() const = 0;
};

/// An object that is being opened, with what will be read of it. Thread-safe; its destructor gives
/// up.
class ObjectOpening {
 public:
  virtual ~ObjectOpening() = default;
  /// As ObjectTree::open().
  virtual std::shared_ptr<const ObjectSource> wait() = 0;
  /// Opening it has failed, or nobody came for it: wait() would begin anew.
  virtual bool is_lost() const = 0;
  /// As of ByteSource.
  virtual void expect(std::span<const ByteRange> ranges) = 0;
  virtual bool is_at_hand(std::span<const ByteRange> ranges) const = 0;
};

/// An entry of a listing.
struct ObjectEntry {
  std::string name;  ///< a single component: no '/', no NUL, neither "." nor ".."
  bool is_directory = false;
  bool knows_inside = false;  ///< of a directory: the listing showed all its keys
  bool has_other = false;     ///< then: it has other keys than those of a sparse frame
  /// The state of an object, or of the index in a directory, if the listing shows it.
  std::optional<ListedState> state = std::nullopt;

  /// True for a directory with an empty index or none, and otherwise only chunks: the frame was
  /// removed, or its first commit is not complete.
  bool is_left_over() const { return knows_inside && !has_other && (!state || state->size == 0); }
  std::size_t memory() const {
    return sizeof *this + heap_size(name.size()) + (state ? heap_size(state->tag.size()) : 0);
  }
};

/// Of an entry in a vector that grows: its old place and two new ones are there at once.
inline std::size_t cost_of(const ObjectEntry& entry) {
  return entry.memory() + 2 * sizeof(ObjectEntry);
}

/// What a tree has done since it was opened.
struct ObjectTreeNumbers {
  std::uint64_t requests = 0;        ///< sent, each attempt and redirect
  std::uint64_t bytes_received = 0;  ///< of bodies, also of answers that were of no use
  std::uint64_t reads = 0;           ///< of objects, wherever their bytes were
  std::uint64_t bytes_read = 0;      ///< by these
};

/// What put() and remove() find there, or fail with ESTALE.
struct ObjectCondition {
  enum class Kind : std::uint8_t { none, absent, same } kind = Kind::none;
  ObjectState state;  ///< of same
};

/// Thread-safe. Paths are relative, components separated by '/', "" is the root. Calls may take
/// long, and end as Interruption says. Errors are std::system_error: ENOENT, EACCES, ETIMEDOUT
/// where nothing answered, else EIO; nothing that failed is remembered.
class ObjectTree {
 public:
  virtual ~ObjectTree() = default;

  /// The one object, or sparse frame, that the source is; nothing if it is a directory.
  virtual const std::optional<std::string>& single() const = 0;
  /// Of a path, without secrets: for messages, and to tell objects apart.
  virtual std::string url(const std::string& path) const = 0;

  /// In the order of names, each once; names of more than 1,024 bytes are left out. Their
  /// memory(), and what a page of the listing needs for a while, is taken of `charge`, which throws
  /// where that is too much: a server may have no end of names. ENOTDIR where the server shows no
  /// directory there.
  virtual std::vector<ObjectEntry> list(const std::string& directory, MemoryCharge& charge) = 0;
  /// The same with a charge of its own.
  std::vector<ObjectEntry> list(const std::string& directory);
  /// Makes these; uncharged() where this is not called. Before there are threads.
  using ChargeMaker = std::function<std::unique_ptr<MemoryCharge>(const std::string& directory)>;
  void set_charges(ChargeMaker make) { make_charge_ = std::move(make); }
  /// The object as it is now; `known`, which may be null, where it is still in that state.
  virtual std::shared_ptr<const ObjectSource> open(
      const std::string& path, const std::shared_ptr<const ObjectSource>& known) = 0;

  /// Asks for an object that will be opened soon, and for these ranges of it, without a wait; null
  /// where open() takes no time worth it. `group` tells whose turn it is among all that are asked
  /// for.
  virtual std::shared_ptr<ObjectOpening> begin(const std::string& path,
                                               std::span<const ByteRange> ranges,
                                               const void* group);
  /// How many bytes are to be under way for one reader at most.
  virtual std::int64_t most_under_way() const { return 0; }

  virtual ObjectTreeNumbers numbers() const { return {}; }

  /// True where an empty index stands for a frame that was removed (ObjectFrames::remove()).
  virtual bool has_tombstones() const { return false; }
  /// False: what follows throws EROFS.
  virtual bool is_writable() const { return false; }
  /// Returns the new state once the store has answered.
  virtual ObjectState put(const std::string& path, Bytes bytes, const ObjectCondition& condition,
                          const std::map<std::string, std::string>& metadata);
  virtual void remove(const std::string& path, const ObjectCondition& condition);
  /// True if the store honours If-Match of DELETE.
  virtual bool keeps_conditions_of_removals() const { return false; }
  /// Deletes an object in that state, with If-Match if the store honours it. The request is never
  /// repeated, because a repetition could arrive after another host has made the name again.
  virtual void remove_once(const std::string& path, const ObjectState& state);
  /// Deletes many objects with few requests, which are never repeated. Failures are ignored.
  virtual void remove_all(std::span<const std::string> paths);
  /// Copies an object on the server. ENOENT if `from` does not exist.
  virtual void copy(const std::string& from, const std::string& to);

 private:
  ChargeMaker make_charge_;
};

}  // namespace bloscfs::frame::inline store
