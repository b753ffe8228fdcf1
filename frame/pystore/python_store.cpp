#include "frame/pystore/python_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/open/open.hpp"
#include "frame/pystore/msgpack_cursor.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame {
namespace {

struct StoreMarker {
  StoreKind kind;
  const char* name;
};
constexpr std::array<StoreMarker, 3> kStoreMarkers{
    {{StoreKind::dict, "b2dict"}, {StoreKind::tree, "b2tree"}, {StoreKind::embed, "b2embed"}}};
/// {"version": 1} takes 10 bytes.
constexpr std::size_t kMaxStoreMarker = 256;
/// The texts of `kind` are short.
constexpr std::size_t kMaxGroupKind = 256;

bool is_version_1(Bytes marker) {
  try {
    MsgpackCursor cursor(marker);
    for (std::size_t left = cursor.read_map(); left > 0; --left) {
      if (cursor.read_text() == "version") return cursor.read_count() == 1;
      cursor.skip();
    }
  } catch (const codec::Error&) {
  }
  return false;
}

/// "" for the root, else "/a/b": what keys in a group begin with, up to the slash.
std::string stem_of(const std::string& group) { return group == "/" ? std::string() : group; }

/// "a/b" for "/a/b".
std::string path_of(const std::string& key) { return key.empty() ? key : key.substr(1); }

std::shared_ptr<const Snapshot> open_embed(std::shared_ptr<const ByteSource> source,
                                           const OpenSettings& settings) {
  std::array<std::uint8_t, 16> first{};
  const std::size_t got = source->read_at(0, first);
  if (recognise(Bytes(first).first(got)) != ContainerKind::cframe) return nullptr;
  return open_cframe(std::move(source), settings);
}

bool is_zip(const ByteSource& source) {
  std::array<std::uint8_t, 4> first{};
  return source.read_at(0, first) == first.size() && has_zip_magic(first);
}

/// Null where the ZIP file has none that is stored.
std::shared_ptr<const Snapshot> open_embed(const ZipDirectory& zip, OpenSettings settings) {
  const ZipMember* const member = zip.find(kEmbedName);
  if (member == nullptr || !member->is_stored) return nullptr;
  settings.name.clear();
  return open_embed(zip.open(*member), settings);
}

}  // namespace

const char* store_kind_name(StoreKind kind) {
  return kStoreMarkers[static_cast<std::size_t>(kind)].name;
}

std::optional<StoreKind> store_kind(const Snapshot& embed) {
  for (const MetalayerEntry& layer : embed.metalayers())
    for (const StoreMarker& marker : kStoreMarkers)
      if (layer.name == marker.name && layer.stored_size <= kMaxStoreMarker &&
          is_version_1(embed.read_metalayer(layer)))
        return marker.kind;
  return std::nullopt;
}

PythonStore::PythonStore(StoreKind kind, std::unique_ptr<const StoreFiles> files,
                         std::shared_ptr<const Snapshot> embed, ContentsReader read_embed)
    : kind_(kind),
      files_(std::move(files)),
      embed_(std::move(embed)),
      read_embed_(std::move(read_embed)) {
  try {
    codec::BlockDecoder decoder;
    map_ = EmbedMap::read(*embed_, decoder);
  } catch (const codec::Error& error) {
    map_error_ = error.what();
  }
}

std::vector<std::string> PythonStore::messages() const {
  std::vector<std::string> messages;
  const auto add = [&](const LeftOut& left_out) {
    messages.insert(messages.end(), left_out.messages().begin(), left_out.messages().end());
    if (left_out.more() > 0) messages.push_back(fmt::format("{} more like these", left_out.more()));
  };
  if (map_error_) messages.push_back("embedded leaves: " + *map_error_);
  add(map_.left_out());
  if (files_ && files_->left_out() != nullptr) add(*files_->left_out());
  return messages;
}

void PythonStore::add_files(const std::string& group, Entries& entries) const {
  if (!files_) return;
  const std::string directory = path_of(stem_of(group));
  for (const StoreFiles::Item& item : files_->list(directory)) {
    if (item.type == StoreFiles::Type::directory) entries[item.name].is_group = true;
    if (item.type != StoreFiles::Type::file) continue;
    const std::string stem(leaf_stem(item.name));
    if (is_no_leaf(item.name, directory.empty()) || stem == kGroupAttributes) continue;
    const ExternalLeaf leaf{directory.empty() ? item.name : directory + "/" + item.name,
                            leaf_form(item.name)};
    auto& known = entries[stem].leaf;
    const auto* other = known ? std::get_if<ExternalLeaf>(&*known) : nullptr;
    if (other == nullptr || leaf.form < other->form) known = leaf;
  }
}

void PythonStore::add_embedded(const std::string& group, Entries& entries) const {
  const std::string prefix = stem_of(group) + "/";
  const auto& all = map_.entries();
  for (std::size_t at = map_.lower_bound(prefix);
       at < all.size() && all[at].key.starts_with(prefix);) {
    const std::size_t slash = all[at].key.find('/', prefix.size());
    const std::string name = all[at].key.substr(prefix.size(), slash - prefix.size());
    if (slash != std::string::npos) {
      entries[name].is_group = true;
      at = map_.lower_bound(prefix + name + "0");  // what follows the slash
      continue;
    }
    if (name != kGroupAttributes && !entries[name].leaf)
      std::visit([&](const auto& leaf) { entries[name].leaf = leaf; }, all[at].leaf);
    ++at;
  }
}

bool PythonStore::is_group(const std::string& key) const {
  if (key == "/" || (files_ && files_->has_directory(path_of(key)))) return true;
  const std::size_t at = map_.lower_bound(key + "/");
  return at < map_.entries().size() && map_.entries()[at].key.starts_with(key + "/");
}

std::vector<StoreEntry> PythonStore::list(const std::string& group) const {
  if (group != "/" && (!is_path_key(group) || !is_group(group))) throw_errno(ENOENT, group);
  Entries entries;
  add_files(group, entries);
  add_embedded(group, entries);
  std::vector<StoreEntry> result;
  result.reserve(entries.size());
  for (auto& [name, entry] : entries) {
    entry.name = name;
    result.push_back(std::move(entry));
  }
  return result;
}

std::optional<Leaf> PythonStore::find_leaf(const std::string& key) const {
  if (files_)
    if (const auto path = files_->find(path_of(key))) return ExternalLeaf{*path, leaf_form(*path)};
  std::optional<Leaf> found;
  if (const auto* entry = map_.find(key))
    std::visit([&](const auto& leaf) { found = leaf; }, entry->leaf);
  return found;
}

std::optional<StoreEntry> PythonStore::find(const std::string& key) const {
  if (key == "/") return StoreEntry{"", true, std::nullopt};
  if (!is_path_key(key)) return std::nullopt;
  StoreEntry entry{std::string(last_part(key)), is_group(key), find_leaf(key)};
  if (!entry.is_group && !entry.leaf) return std::nullopt;
  return entry;
}

void PythonStore::for_each_leaf(
    const std::string& group,
    const std::function<void(const std::string& key, const Leaf& leaf)>& visit) const {
  for (const StoreEntry& entry : list(group)) {
    const std::string key = stem_of(group) + "/" + entry.name;
    if (entry.leaf) visit(key, *entry.leaf);
    if (entry.is_group) for_each_leaf(key, visit);
  }
}

std::shared_ptr<const ByteSource> PythonStore::source(const Leaf& leaf) const {
  if (const auto* external = std::get_if<ExternalLeaf>(&leaf)) return files_->open(external->path);
  if (const auto* embedded = std::get_if<EmbeddedLeaf>(&leaf))
    return std::make_shared<ContentsSource>(embed_, read_embed_, embedded->offset,
                                            embedded->length);
  codec::throw_unsupported("a reference to " + std::get<ReferencedLeaf>(leaf).url());
}

std::unique_ptr<Snapshot> PythonStore::open(const Leaf& leaf, const OpenSettings& settings) const {
  auto source = this->source(leaf);
  const auto* external = std::get_if<ExternalLeaf>(&leaf);
  std::array<std::uint8_t, 16> first{};
  const std::size_t got = source->read_at(0, first);
  if (recognise(Bytes(first).first(got)) != ContainerKind::cframe) {
    if (external != nullptr && external->form == LeafForm::other) return nullptr;
    codec::throw_malformed("no Blosc2 frame");
  }
  return open_cframe(std::move(source),
                     external != nullptr ? files_->settings(external->path, settings) : settings);
}

std::unique_ptr<Snapshot> PythonStore::attributes(const std::string& group) const {
  const auto leaf = find_leaf(stem_of(group) + "/" + std::string(kGroupAttributes));
  return leaf ? open(*leaf) : nullptr;
}

std::optional<std::string> PythonStore::group_kind(const std::string& group) const {
  const auto leaf = find_leaf(stem_of(group) + "/_meta");
  if (!leaf) return std::nullopt;
  try {
    const auto meta = open(*leaf);
    if (!meta) return std::nullopt;
    codec::BlockDecoder decoder;
    for (const MetalayerEntry& layer : meta->vlmetalayers()) {
      if (layer.name != "kind") continue;
      const auto content = meta->read_vlmetalayer(layer, kMaxGroupKind, decoder);
      return std::string(MsgpackCursor(content).read_text());
    }
  } catch (const codec::Error&) {
  }
  return std::nullopt;
}

std::unique_ptr<PythonStore> open_zip_store(std::shared_ptr<const ByteSource> source,
                                            const OpenSettings& settings,
                                            const ContentsReaderMaker& make_reader) {
  if (!is_zip(*source)) return nullptr;
  auto zip = std::make_shared<const ZipDirectory>(std::move(source));
  const auto embed = open_embed(*zip, settings);
  const auto kind = embed ? store_kind(*embed) : std::nullopt;
  if (!kind) return nullptr;
  return std::make_unique<PythonStore>(*kind, make_zip_files(std::move(zip)), embed,
                                       make_reader(embed));
}

std::optional<StoreKind> zip_store_kind(std::shared_ptr<const ByteSource> source,
                                        const OpenSettings& settings) {
  if (!is_zip(*source)) return std::nullopt;
  const auto embed = open_embed(ZipDirectory(std::move(source), kEmbedName), settings);
  return embed ? store_kind(*embed) : std::nullopt;
}

std::unique_ptr<PythonStore> open_embed_store(std::shared_ptr<const Snapshot> frame,
                                              const ContentsReaderMaker& make_reader) {
  if (store_kind(*frame) != StoreKind::embed) return nullptr;
  ContentsReader reader = make_reader(frame);
  return std::make_unique<PythonStore>(StoreKind::embed, nullptr, std::move(frame),
                                       std::move(reader));
}

std::unique_ptr<PythonStore> open_embedded_part(std::shared_ptr<const Snapshot> embed,
                                                const ContentsReaderMaker& make_reader) {
  const auto kind = store_kind(*embed);
  if (!kind) return nullptr;
  ContentsReader reader = make_reader(embed);
  return std::make_unique<PythonStore>(*kind, nullptr, std::move(embed), std::move(reader));
}

std::unique_ptr<PythonStore> open_directory_store(UniqueFd directory, const OpenSettings& settings,
                                                  const ContentsReaderMaker& make_reader) {
  const std::string name(kEmbedName);
  UniqueFd fd = open_regular_at(directory.get(), name, O_RDONLY);
  if (!fd) return nullptr;
  auto files = make_directory_files(std::move(directory), settings.counters);
  return open_directory_store(std::move(files),
                              std::make_shared<FileSource>(std::move(fd), settings.counters),
                              settings, make_reader);
}

std::unique_ptr<PythonStore> open_directory_store(std::unique_ptr<const StoreFiles> files,
                                                  std::shared_ptr<const ByteSource> embed,
                                                  const OpenSettings& settings,
                                                  const ContentsReaderMaker& make_reader) {
  const std::string name(kEmbedName);
  const auto frame = open_embed(std::move(embed), files->settings(name, settings));
  const auto kind = frame ? store_kind(*frame) : std::nullopt;
  if (!kind) return nullptr;
  return std::make_unique<PythonStore>(*kind, std::move(files), frame, make_reader(frame));
}

std::unique_ptr<PythonStore> open_store(const std::string& path, const OpenSettings& settings) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!place || ::fstat(place.get(), &st) != 0) throw_errno();
  if (S_ISDIR(st.st_mode)) {
    UniqueFd directory(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) throw_errno();
    return open_directory_store(std::move(directory), settings);
  }
  if (path.ends_with(kEmbedStoreSuffix)) {
    std::shared_ptr<const Snapshot> frame = open_path(path, settings);
    return frame ? open_embed_store(std::move(frame)) : nullptr;
  }
  if (!path.ends_with(kZipStoreSuffix)) return nullptr;
  UniqueFd fd = open_if_regular(place, O_RDONLY);
  if (!fd) return nullptr;
  return open_zip_store(std::make_shared<FileSource>(std::move(fd), settings.counters), settings);
}

}  // namespace bloscfs::frame
