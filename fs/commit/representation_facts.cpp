#include "fs/commit/representation_facts.hpp"

#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/encoding/stored_metalayers.hpp"

namespace bloscfs::fs {
namespace {

using Stored = RepresentationFacts::Stored;

/// Returns how the file is stored.
Stored stored_form(const FileView* view) {
  if (view == nullptr) return Stored::nothing;
  if (view->shape().is_array) return Stored::array;
  return view->shape().blocked ? Stored::items : Stored::flat;
}

bool keeps_array(Request& request, const FrozenBytes& bytes, bool is_raw) {
  const ViewShape& shape = bytes.view->shape();
  // Without an NPY header, a change of size only adds rows. With one, it changes the header as
  // well.
  if (shape.file_size() != bytes.size) return is_raw;
  // Elements may change in place. A change of the header means another array.
  return bytes.read_start(request, shape.header.size()) == shape.header;
}

/// True if the frame that a new one replaces has checksums. The new one then gets some, too.
bool had_checksums(const FrozenBytes& bytes) {
  return bytes.snapshot() != nullptr && bytes.snapshot()->has_checksums();
}

NewContents contents_of(Request& request, const FrozenBytes& bytes) {
  return {bytes.size,
          [&](std::int64_t offset, codec::MutableBytes out) { bytes.read(request, offset, out); }};
}

std::optional<frame::FrameSettings> array_settings(Request& request, const FrozenBytes& bytes,
                                                   const ContentServices& services) {
  if (bytes.view != nullptr && bytes.view->missing(request)) return std::nullopt;
  auto settings = array_frame_of(services.options, contents_of(request, bytes));
  if (!settings) return std::nullopt;
  // An array needs one more fixed metalayer, and another one if it has Fortran order.
  const std::size_t added = settings->array->fortran_order ? 2 : 1;
  if (fixed_metalayers(bytes.snapshot(), bytes.layer->metalayers).size() + added >
      static_cast<std::size_t>(frame::kMaxMetalayers))
    return std::nullopt;
  const auto chunks = frame::array_chunk_count(*settings->array, settings->typesize);
  if (!chunks || !can_be_rewritten(*chunks, services.cache.budget().capacity()))
    return std::nullopt;
  if (had_checksums(bytes)) settings->checksums = true;
  if (settings->checksums && *chunks > frame::max_chunk_count(true)) return std::nullopt;
  return settings;
}

}  // namespace

RepresentationFacts representation_facts(Request& request, const Content::Frozen& frozen,
                                         const StoredPlace& place) {
  const FrozenBytes& bytes = frozen.bytes();
  const ContentServices& services = frozen.services();
  RepresentationFacts facts;
  facts.name = place.name;
  facts.stored = stored_form(bytes.view);
  facts.is_writable = frozen.writer() != nullptr;
  if (const frame::Snapshot* const snapshot = bytes.snapshot()) {
    facts.changes_size = bytes.size != bytes.view->size();
    facts.changes_contents = bytes.layer->has_contents() || facts.changes_size;
    facts.can_change_in_part = can_be_changed_in_part(snapshot->info());
    facts.has_variable_chunks = snapshot->info().variable_chunks;
  }
  facts.has_links = place.has_links;
  facts.is_raw = services.raw;
  facts.is_forced_flat = frozen.facts().is_forced_flat;
  facts.must_choose_representation = frozen.facts().must_choose_representation;
  facts.keeps_array = [&] { return keeps_array(request, bytes, services.raw); };
  facts.name_can_be_array = [&] {
    return place.can_be_array && frozen.home().has_array_name(request);
  };
  facts.array_settings = [&] { return array_settings(request, bytes, services); };
  facts.flat_settings = [&] {
    frame::FrameSettings settings = new_flat_frame(services.options, contents_of(request, bytes));
    if (had_checksums(bytes)) settings.checksums = true;
    return settings;
  };
  return facts;
}

}  // namespace bloscfs::fs
