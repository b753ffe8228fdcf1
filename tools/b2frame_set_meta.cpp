// b2frame set-meta: sets and removes vlmetalayers.

#include "codec/error.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_file.hpp"
#include "tools/input.hpp"
#include "tools/metalayer_file.hpp"

namespace bloscfs::tools {
namespace {

int set_meta(const SetMetaOptions& options) {
  FrameFile frame(options.file);
  const auto transaction = frame.writer().begin();
  for (const NamedLayer& layer : options.vlmetalayers) {
    if (layer.content || !layer.file.empty())
      transaction->set_vlmetalayer(layer.name, content_of(layer));
    else if (!transaction->remove_vlmetalayer(layer.name))
      codec::throw_malformed("no vlmetalayer " + layer.name);
  }
  transaction->commit();
  return 0;
}

}  // namespace

int run_set_meta(const SetMetaOptions& options) {
  return guarded(options.file, [&] { return set_meta(options); });
}

}  // namespace bloscfs::tools
