#include "frame/sframe/shared_frames.hpp"

#include <algorithm>
#include <cerrno>
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

std::vector<std::uint8_t> bytes_of(const ObjectSource& index) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(index.state().size));
  index.read_exactly_at(0, bytes, "index");
  return bytes;
}

/// Null where there is none, or one of a frame that was removed.
std::shared_ptr<const ObjectSource> find_index(ObjectTree& tree, const std::string& path,
                                               std::optional<ObjectState>& present) {
  try {
    auto source = tree.open(index_of(path), nullptr);
    present = source->state();
    return source->state().size > 0 ? source : nullptr;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    return nullptr;
  }
}

/// What was here under the same numbers may still go: it is removed after a while.
void require_free(ObjectTree& tree, const std::string& path,
                  const std::vector<std::string>& names) {
  try {
    for (const ObjectEntry& entry : tree.list(path))
      if (std::binary_search(names.begin(), names.end(), entry.name)) throw_errno(EXDEV, path);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
}

void copy_chunks(const ObjectFrames& frames, const std::string& from,
                 std::vector<std::string> names, const std::string& to) {
  ObjectTree& tree = frames.tree();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  require_free(tree, to, names);
  std::vector<ObjectEntry> chunks;
  for (ObjectEntry& entry : tree.list(from)) {
    const auto wanted = std::lower_bound(names.begin(), names.end(), entry.name);
    if (wanted == names.end() || *wanted != entry.name || !entry.state) continue;
    chunks.push_back(std::move(entry));
  }
  if (chunks.size() < names.size()) throw_errno(ESTALE, from);
  frames.calls().for_each(chunks.size(), [&](std::size_t i) {
    const ObjectEntry& chunk = chunks[i];
    tree.copy(from + "/" + chunk.name, *chunk.state, to + "/" + chunk.name);
  });
}

}  // namespace

std::vector<std::string> chunks_of_shared_frame(ObjectFrames& frames, const std::string& path) {
  std::optional<ObjectState> present;
  const auto index = find_index(frames.tree(), path, present);
  if (!index) throw_errno(ENOENT, path);
  return inside(path, names_in(frames.frame(path, index)));
}

std::vector<std::string> remove_shared_frame(ObjectFrames& frames, const std::string& path,
                                             const ObjectState& base) {
  std::vector<std::string> chunks;
  try {
    chunks = chunks_of_shared_frame(frames, path);
  } catch (const codec::Error&) {
    // Of a damaged one nobody knows what belongs to it: gc finds it.
  }
  frames.remove(path, base);
  return chunks;
}

RenamedFrame rename_shared_frame(ObjectFrames& frames, const std::string& from,
                                 const ObjectState& base, const std::string& to, bool replaces) {
  ObjectTree& tree = frames.tree();
  std::optional<ObjectState> state, target;
  const auto index = find_index(tree, from, state);
  if (!index) throw_errno(ENOENT, from);
  if (!state->same_bytes(base)) throw_errno(ESTALE, from);
  const auto replaced = find_index(tree, to, target);
  if (replaced && !replaces) throw_errno(EEXIST, to);
  std::vector<std::string> old;
  if (replaced) old = inside(to, names_in(frames.frame(to, replaced)));
  // In use until the end: what somebody commits there meanwhile is not what is removed.
  const auto source = frames.frame(from, index);
  const auto names = names_in(source);
  copy_chunks(frames, from, names, to);
  std::vector<std::uint8_t> bytes = bytes_of(*index);
  const std::vector<std::uint8_t> before =
      replaced ? bytes_of(*replaced) : std::vector<std::uint8_t>();
  std::map<std::string, std::string> metadata = state->metadata;
  metadata["commit"] = new_commit_id();
  stamp_index(bytes, metadata["commit"]);
  const auto condition = target ? ObjectCondition{ObjectCondition::Kind::same, *target}
                                : ObjectCondition{ObjectCondition::Kind::absent, {}};
  const ObjectState made = tree.put(index_of(to), bytes, condition, metadata);
  try {
    frames.remove(from, base);
  } catch (const std::system_error& error) {
    // Somebody has committed to the old name: the new one is undone. After other errors the old one
    // may have gone.
    if (error.code() != std::errc(ESTALE)) throw;
    tree.put(index_of(to), before, {ObjectCondition::Kind::same, made},
             replaced ? target->metadata : std::map<std::string, std::string>{});
    throw;
  }
  for (std::string& path : inside(from, names)) old.push_back(std::move(path));
  return {made, std::move(old)};
}

}  // namespace bloscfs::frame::inline sframe
