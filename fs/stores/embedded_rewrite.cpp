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

constexpr int kRewriteTries = 3;

const std::string kEmbed(frame::kEmbedName);

void remove_from(const SourceDirectory& root, const std::vector<std::string>& keys,
                 frame::SourceCounters* counters, bool anew) {
  frame::WriterSettings settings;
  settings.anew = anew;
  const auto writer =
      frame::open_writer(frame::make_local_store(root.open(".", O_RDONLY | O_DIRECTORY), counters),
                         kEmbed, false, settings);
  const auto transaction = writer->begin();
  codec::BlockDecoder decoder;
  if (frame::remove_embedded(*writer->snapshot(), keys, decoder, *transaction) > 0)
    transaction->commit();
}

bool wants_no_copy(const std::system_error& error) {
  return error.code() == std::errc::no_space_on_device ||
         error.code() == std::error_code(EDQUOT, std::generic_category()) ||
         error.code() == std::errc::operation_not_supported;
}

}  // namespace

void require_replacing_embed(const SourceDirectory& root, const Caller& caller) {
  const OnBehalfOf behalf(&caller);
  const AsCaller as;
  root.object(".").check_access(W_OK | X_OK);
  const struct stat directory = root.stat();
  const auto embed = root.stat(kEmbed);
  if ((directory.st_mode & S_ISVTX) == 0 || caller.user == 0 || !embed) return;
  if (caller.user != directory.st_uid && caller.user != embed->st_uid)
    frame::throw_errno(EPERM, kEmbed);
}

void remove_from_embed(const SourceDirectory& root, const std::vector<std::string>& keys,
                       frame::SourceCounters* counters) {
  bool anew = true;
  for (int tries = 1;; tries++) {
    try {
      return remove_from(root, keys, counters, anew);
    } catch (const std::system_error& error) {
      const bool is_overtaken = error.code() == std::errc(ESTALE);
      if (tries == kRewriteTries || !(is_overtaken || (anew && wants_no_copy(error)))) throw;
      if (!is_overtaken) anew = false;
    }
  }
}

}  // namespace bloscfs::fs
