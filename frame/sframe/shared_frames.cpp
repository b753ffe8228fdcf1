#include "frame/sframe/shared_frames.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>

#include "codec/block_decoder.hpp"
#include "frame/sframe/named_chunk_files.hpp"
#include "frame/sframe/sframe.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

std::string index_of(const std::string& path) { return path + "/" + kSframeIndexName; }

std::vector<std::string> names_in(const std::shared_ptr<StoreDirectory>& directory) {
  auto files = open_sframe_files(directory);
  if (!files) return {};
  const auto snapshot = open_sframe(std::move(files));
  std::vector<std::string> names;
  codec::BlockDecoder decoder;
  for_each_named_file(snapshot.get(), decoder,
                      [&](std::uint32_t number) { names.push_back(chunk_file_name(number)); });
  return names;
}

std::vector<std::string> inside(const std::string& path, std::vector<std::string> names) {
  for (std::string& name : names) name.insert(0, path + "/");
  return names;
}

/// Opens the frame in the state `frame.state`. Throws ESTALE if the store has another state. The
/// result keeps this state's index, whatever other hosts commit later.
std::shared_ptr<StoreDirectory> open_known(ObjectFrames& frames, const KnownFrame& frame) {
  if (auto used = frames.in_state(frame.path, frame.state)) return used;
  const auto index = frame.index ? frame.index : frames.tree().open(index_of(frame.path), nullptr);
  if (!index->state().same_bytes(frame.state)) throw_errno(ESTALE, frame.path);
  return frames.frame(frame.path, index);
}

std::vector<std::uint8_t> index_bytes(const StoreDirectory& frame) {
  const auto index = frame.open_source(kSframeIndexName);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(index->stamp().size));
  index->read_exactly_at(0, bytes, "index");
  return bytes;
}

/// Throws EXDEV if an object in the directory has one of the names, which are sorted.
void require_free(ObjectTree& tree, const std::string& path,
                  const std::vector<std::string>& names) {
  try {
    for (const ObjectEntry& entry : tree.list(path))
      if (std::binary_search(names.begin(), names.end(), entry.name)) throw_errno(EXDEV, path);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
}

/// Copies the chunks in parallel. `names` are sorted. No host changes a chunk that an index names.
void copy_chunks(const ObjectFrames& frames, const std::string& from,
                 const std::vector<std::string>& names, const std::string& to) {
  frames.calls().for_each(names.size(), [&](std::size_t i) {
    try {
      frames.tree().copy(from + "/" + names[i], to + "/" + names[i]);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
      throw_errno(ESTALE, from);
    }
  });
}

ObjectCondition condition_for(const std::optional<ObjectState>& place) {
  return place ? ObjectCondition{ObjectCondition::Kind::same, *place}
               : ObjectCondition{ObjectCondition::Kind::absent, {}};
}

/// Puts an index at `path`, if the object store has no index there, or only a tombstone.
ObjectState put_new_index(ObjectFrames& frames, const std::string& path, Bytes bytes,
                          const std::map<std::string, std::string>& metadata) {
  try {
    return frames.tree().put(index_of(path), bytes, condition_for(std::nullopt), metadata);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc(ESTALE)) throw;
  }
  return frames.tree().put(index_of(path), bytes, condition_for(frames.place_for(path)), metadata);
}

}  // namespace

std::vector<std::string> chunks_of_shared_frame(ObjectFrames& frames, const std::string& path) {
  const auto index = frames.tree().open(index_of(path), nullptr);
  if (index->state().size == 0) throw_errno(ENOENT, path);
  return inside(path, names_in(frames.frame(path, index)));
}

RemovedFrame remove_shared_frame(ObjectFrames& frames, const KnownFrame& frame) {
  std::shared_ptr<StoreDirectory> in_use;
  RemovedFrame removed;
  try {
    in_use = open_known(frames, frame);
    removed.chunks = inside(frame.path, names_in(in_use));
  } catch (const codec::Error&) {
    // It is unknown which chunks belong to a damaged frame. `b2frame gc` finds them.
  }
  removed.tombstone = frames.remove(frame.path, frame.state);
  return removed;
}

RenamedFrame rename_shared_frame(ObjectFrames& frames, const KnownFrame& from,
                                 const std::string& to, const std::optional<KnownFrame>& replaced,
                                 bool may_be_left) {
  ObjectTree& tree = frames.tree();
  const auto old = replaced ? open_known(frames, *replaced) : nullptr;
  RenamedFrame result;
  if (old) result.replaced = inside(to, names_in(old));
  const auto source = open_known(frames, from);
  std::vector<std::string> names = names_in(source);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (may_be_left) require_free(tree, to, names);
  copy_chunks(frames, from.path, names, to);
  std::vector<std::uint8_t> bytes = index_bytes(*source);
  std::map<std::string, std::string> metadata = from.state.metadata;
  metadata[kCommit] = new_commit_id();
  stamp_index(bytes, metadata[kCommit]);
  const ObjectState state =
      replaced ? tree.put(index_of(to), bytes, condition_for(replaced->state), metadata)
               : put_new_index(frames, to, bytes, metadata);
  try {
    result.removed.tombstone = frames.remove(from.path, from.state);
  } catch (const std::system_error& error) {
    // Another host has committed to the old name, so the new name is undone. After other errors the
    // old index may already be gone, and nothing is undone.
    if (error.code() != std::errc(ESTALE)) throw;
    if (old)
      tree.put(index_of(to), index_bytes(*old), condition_for(state), replaced->state.metadata);
    else
      tree.remove_all(frames.remove(to, state));
    throw;
  }
  result.removed.chunks = inside(from.path, std::move(names));
  result.index = std::make_shared<const KeptIndex>(state, std::move(bytes));
  return result;
}

}  // namespace bloscfs::frame::inline sframe
