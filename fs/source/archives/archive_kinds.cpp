#include "fs/source/archives/archive_kinds.hpp"

#include <array>
#include <limits>
#include <utility>

#include "frame/open/open.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/pystore/store_names.hpp"
#include "fs/source/archives/store_archive.hpp"

namespace bloscfs::fs {
namespace {

using Charge = std::shared_ptr<MemoryBudget::Listing>;

std::unique_ptr<const Archive> archive_of(std::unique_ptr<const frame::PythonStore> store, bool raw,
                                          Charge charge) {
  if (!store) return nullptr;
  return std::make_unique<StoreArchive>(std::move(store), raw, std::move(charge));
}

bool is_zip_store(const std::shared_ptr<const frame::ByteSource>& bytes) {
  return frame::zip_store_kind(bytes, {}).has_value();
}

std::unique_ptr<const Archive> open_zip_store(const ArchiveFile& file, bool raw, Charge charge) {
  auto store = frame::open_zip_store(file.bytes(), {}, charge);
  return archive_of(std::move(store), raw, std::move(charge));
}

bool is_embed_store(const std::shared_ptr<const frame::ByteSource>& bytes) {
  const auto frame = frame::open_file(bytes, {});
  return frame && frame::store_kind(*frame) == frame::StoreKind::embed;
}

std::unique_ptr<const Archive> open_embed_store(const ArchiveFile& file, bool raw, Charge charge) {
  auto frame = file.frame();
  auto store = frame ? frame::open_embed_store(std::move(frame), charge) : nullptr;
  return archive_of(std::move(store), raw, std::move(charge));
}

constexpr std::array kKinds = {
    // The directory of a ZIP file is read whole.
    ArchiveKind{frame::kZipStoreSuffix, std::numeric_limits<std::uint64_t>::max(), is_zip_store,
                open_zip_store},
    ArchiveKind{frame::kEmbedStoreSuffix, 1 << 20, is_embed_store, open_embed_store},
};

}  // namespace

const ArchiveKind* archive_kind_of(std::string_view name) {
  for (const ArchiveKind& kind : kKinds)
    if (name.ends_with(kind.suffix)) return &kind;
  return nullptr;
}

}  // namespace bloscfs::fs
