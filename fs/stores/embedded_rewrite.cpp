#include "fs/stores/embedded_rewrite.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/block_decoder.hpp"
#include "frame/open/open_writer.hpp"
#include "frame/pystore/embed_map.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/on_behalf.hpp"

namespace bloscfs::fs {
namespace {

const std::string kEmbed(frame::kEmbedName);

void remove_from(const SourceDirectory& root, const EmbeddedKeys& what,
                 frame::SourceCounters* counters, bool anew) {
  frame::WriterSettings settings;
  settings.anew = anew;
  const auto writer =
      frame::open_writer(frame::make_local_store(root.open(".", O_RDONLY | O_DIRECTORY), counters),
                         kEmbed, false, settings);
  const auto transaction = writer->begin();
  if (!(writer->snapshot()->stamp() == what.state)) frame::throw_errno(ESTALE, kEmbed);
  codec::BlockDecoder decoder;
  if (frame::remove_embedded(*writer->snapshot(), what.keys, decoder, *transaction) > 0)
    transaction->commit();
}

bool is_full(const std::system_error& error) {
  return error.code() == std::errc::no_space_on_device ||
         error.code() == std::error_code(EDQUOT, std::generic_category());
}

}  // namespace

void require_changing_embed(const SourceDirectory& root, const Caller& caller) {
  const auto embed = root.stat(kEmbed);
  if (embed && embed->st_uid == caller.user) return;
  const OnBehalfOf behalf(&caller);
  const AsCaller as;
  root.object(kEmbed).check_access(W_OK);
}

void require_replacing_embed(const SourceDirectory& root, const Caller& caller) {
  const OnBehalfOf behalf(&caller);
  root.check_removal(kEmbed);
}

void remove_from_embed(const SourceDirectory& root, const EmbeddedKeys& what,
                       frame::SourceCounters* counters) {
  try {
    remove_from(root, what, counters, true);
  } catch (const std::system_error& error) {
    const auto embed = root.stat(kEmbed);
    // Other names of the file, which are other stores, keep what they have.
    if (!is_full(error) || !embed || embed->st_nlink > 1) throw;
    remove_from(root, what, counters, false);
  }
}

}  // namespace bloscfs::fs
