#include "frame/pystore/python_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/open/open.hpp"
#include "frame/python/msgpack_cursor.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

struct StoreMarker {
  StoreKind kind;
  const char* name;
};
constexpr std::array<StoreMarker, 3> kStoreMarkers{{{StoreKind::dict, "b2dict"},
                                                    {StoreKind::tree, "b2tree"},
                                                    {StoreKind::embed, kEmbedStoreLayer}}};
/// A further marker of a b2tree whose leaves cache a server's data, and may be incomplete.
constexpr const char* kRemoteMarker = "b2remote_store";
/// Most bytes of a marker. {"version": 1} takes 10 bytes.
constexpr std::size_t kMaxStoreMarker = 256;
/// Most bytes of the vlmetalayer `kind`, whose texts are short.
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

/// Returns what keys in a group begin with, without the slash: "" for the root, otherwise "/a/b".
std::string stem_of(const std::string& group) { return group == "/" ? std::string() : group; }

/// Returns "a/b" for "/a/b".
std::string path_of(const std::string& key) { return key.empty() ? key : key.substr(1); }

Leaf leaf_of(EmbedMap::Leaf embedded) {
  return std::visit([](auto& leaf) { return Leaf(std::move(leaf)); }, embedded);
}

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

/// Returns null if the ZIP file has no uncompressed embed.b2e.
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
    if (layer.name == kRemoteMarker) codec::throw_unsupported("a cache of a remote store");
  for (const MetalayerEntry& layer : embed.metalayers())
    for (const StoreMarker& marker : kStoreMarkers)
      if (layer.name == marker.name && layer.stored_size <= kMaxStoreMarker &&
          is_version_1(embed.read_metalayer(layer)))
        return marker.kind;
  return std::nullopt;
}

bool is_embed_store(const Snapshot& frame) {
  const std::vector<MetalayerEntry>& layers = frame.metalayers();
  const bool has_layer = std::any_of(layers.begin(), layers.end(), [](const MetalayerEntry& layer) {
    return layer.name == kEmbedStoreLayer;
  });
  return has_layer && store_kind(frame) == StoreKind::embed;
}

PythonStore::PythonStore(StoreKind kind, std::unique_ptr<const StoreFiles> files,
                         std::shared_ptr<const Snapshot> embed, const ChargePointer& charge)
    : kind_(kind),
      files_(std::move(files)),
      embed_(std::move(embed)),
      read_embed_(make_contents_reader(embed_, charge)) {
  try {
    codec::BlockDecoder decoder;
    map_ = EmbedMap::read(*embed_, decoder, *charge);
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

/// The entries of a group, by name.
class PythonStore::Entries {
 public:
  explicit Entries(MemoryCharge& charge) : charge_(charge) {}

  StoreEntry& operator[](const std::string& name) {
    const auto [at, is_new] = entries_.try_emplace(name);
    if (!is_new) return at->second;
    try {
      charge_.take(kEntryCost + 2 * heap_size(name.size()));
    } catch (...) {
      entries_.erase(at);
      throw;
    }
    return at->second;
  }
  /// Replaces the leaf of the entry, if it has one.
  void set_leaf(StoreEntry& entry, Leaf leaf) {
    if (const auto* const external = std::get_if<ExternalLeaf>(&leaf))
      charge_.take(heap_size(external->path.size()));
    if (const auto* const reference = std::get_if<ReferencedLeaf>(&leaf))
      charge_.take(heap_size(reference->urlbase.size()) + heap_size(reference->path.size()));
    entry.leaf = std::move(leaf);
  }
  std::vector<StoreEntry> take() {
    std::vector<StoreEntry> result;
    result.reserve(entries_.size());
    while (!entries_.empty()) {
      auto node = entries_.extract(entries_.begin());
      node.mapped().name = std::move(node.key());
      result.push_back(std::move(node.mapped()));
    }
    return result;
  }

 private:
  using Map = std::map<std::string, StoreEntry>;
  /// Memory of an entry in the map and in the result, in addition to its texts.
  static constexpr std::size_t kEntryCost = sizeof(Map::value_type) + 64 + sizeof(StoreEntry);

  MemoryCharge& charge_;
  Map entries_;
};

void PythonStore::add_files(const std::string& group, Entries& entries) const {
  if (!files_) return;
  const std::string directory = path_of(stem_of(group));
  files_->for_each(directory, [&](const StoreFiles::Item& item) {
    if (item.type == StoreFiles::Type::directory) entries[item.name].is_group = true;
    if (item.type != StoreFiles::Type::file) return;
    const std::string stem(leaf_stem(item.name));
    if (is_no_leaf(item.name, directory.empty()) || stem == kGroupAttributes) return;
    ExternalLeaf leaf{directory.empty() ? item.name : directory + "/" + item.name,
                      leaf_form(item.name)};
    StoreEntry& entry = entries[stem];
    const auto* other = entry.leaf ? std::get_if<ExternalLeaf>(&*entry.leaf) : nullptr;
    // Of several files with one stem, the suffix that comes first in kLeafSuffixes wins.
    if (other == nullptr || leaf.form < other->form) entries.set_leaf(entry, std::move(leaf));
  });
}

void PythonStore::add_embedded(const std::string& group, Entries& entries) const {
  const std::string prefix = stem_of(group) + "/";
  for (std::size_t at = map_.lower_bound(prefix);
       at < map_.size() && map_.key(at).starts_with(prefix);) {
    const std::string_view rest = map_.key(at).substr(prefix.size());
    const std::size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    if (slash != std::string_view::npos) {
      entries[name].is_group = true;
      at = map_.lower_bound(prefix + name + "0");  // '0' is the byte after '/'
      continue;
    }
    if (name != kGroupAttributes)
      if (StoreEntry& entry = entries[name]; !entry.leaf)
        entries.set_leaf(entry, leaf_of(map_.leaf(at)));
    ++at;
  }
}

bool PythonStore::is_group(const std::string& key) const {
  if (key == "/" || (files_ && files_->has_directory(path_of(key)))) return true;
  const std::size_t at = map_.lower_bound(key + "/");
  return at < map_.size() && map_.key(at).starts_with(key + "/");
}

std::vector<StoreEntry> PythonStore::list(const std::string& group, MemoryCharge& charge) const {
  if (group != "/" && (!is_path_key(group) || !is_group(group))) throw_errno(ENOENT, group);
  Entries entries(charge);
  add_files(group, entries);
  add_embedded(group, entries);
  return entries.take();
}

std::optional<Leaf> PythonStore::find_leaf(const std::string& key) const {
  if (files_)
    if (const auto path = files_->find(path_of(key))) return ExternalLeaf{*path, leaf_form(*path)};
  const auto at = map_.find(key);
  return at ? std::optional(leaf_of(map_.leaf(*at))) : std::nullopt;
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
    codec::throw_malformed("is not a Blosc2 frame");
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
                                            const ChargePointer& charge) {
  if (!is_zip(*source)) return nullptr;
  auto zip = std::make_shared<const ZipDirectory>(std::move(source), std::string_view(), *charge);
  const auto embed = open_embed(*zip, settings);
  const auto kind = embed ? store_kind(*embed) : std::nullopt;
  if (!kind) return nullptr;
  return std::make_unique<PythonStore>(*kind, make_zip_files(std::move(zip)), embed, charge);
}

std::optional<StoreKind> zip_store_kind(std::shared_ptr<const ByteSource> source,
                                        const OpenSettings& settings) {
  if (!is_zip(*source)) return std::nullopt;
  const auto embed = open_embed(ZipDirectory(std::move(source), kEmbedName), settings);
  return embed ? store_kind(*embed) : std::nullopt;
}

std::unique_ptr<PythonStore> open_embed_store(std::shared_ptr<const Snapshot> frame,
                                              const ChargePointer& charge) {
  if (!is_embed_store(*frame)) return nullptr;
  return std::make_unique<PythonStore>(StoreKind::embed, nullptr, std::move(frame), charge);
}

std::unique_ptr<PythonStore> open_embedded_part(std::shared_ptr<const Snapshot> embed,
                                                const ChargePointer& charge) {
  const auto kind = store_kind(*embed);
  if (!kind) return nullptr;
  return std::make_unique<PythonStore>(*kind, nullptr, std::move(embed), charge);
}

std::unique_ptr<PythonStore> open_directory_store(UniqueFd directory, const OpenSettings& settings,
                                                  const ChargePointer& charge) {
  const std::string name(kEmbedName);
  UniqueFd fd = open_regular_at(directory.get(), name, O_RDONLY);
  if (!fd) return nullptr;
  auto files = make_directory_files(std::move(directory), settings.counters);
  return open_directory_store(std::move(files),
                              std::make_shared<FileSource>(std::move(fd), settings.counters),
                              settings, charge);
}

std::unique_ptr<PythonStore> open_directory_store(std::unique_ptr<const StoreFiles> files,
                                                  std::shared_ptr<const ByteSource> embed,
                                                  const OpenSettings& settings,
                                                  const ChargePointer& charge) {
  const std::string name(kEmbedName);
  const auto frame = open_embed(std::move(embed), files->settings(name, settings));
  const auto kind = frame ? store_kind(*frame) : std::nullopt;
  if (!kind) return nullptr;
  return std::make_unique<PythonStore>(*kind, std::move(files), frame, charge);
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
  UniqueFd fd = open_if_regular(place, O_RDONLY);
  if (!fd) return nullptr;
  if (path.ends_with(kZipStoreSuffix)) {
    const auto file = std::make_shared<FileSource>(std::move(fd), settings.counters);
    if (auto store = open_zip_store(file, settings)) return store;
  }
  std::shared_ptr<const Snapshot> frame = open_path(path, settings);
  return frame ? open_embed_store(std::move(frame)) : nullptr;
}

}  // namespace bloscfs::frame::inline pystore
