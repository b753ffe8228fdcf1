// b2frame pack and unpack: convert the directory of a store to a ZIP file, and back.

#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/pystore/store_packing.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_name.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/run_limits.hpp"
#include "tools/store_address.hpp"
#include "tools/store_output.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

void require_name(const std::string& output) {
  if (output.empty() || output == "-" || output == "/")
    throw UsageError("OUT needs the name of a file");
}

/// Runs `work`, which reads the input and writes the output. Blames the output if it has no space.
void blaming_full_output(const std::string& output, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_space_on_device && error.code().value() != EDQUOT) throw;
    throw FileError(output, output_reason(error, output));
  }
}

int pack(const PackOptions& options) {
  if (!options.output.ends_with(".b2z"))
    throw UsageError("OUT needs a name that ends in .b2z; programs find a store by it");
  Progress total("pack", 0);
  const frame::UniqueFd source = open_directory(options.input);
  {
    RunLimits limits;
    const auto store = open_store(options.input);
    for (const TableProblem& problem : table_problems(*store, "/", limits))
      throw std::runtime_error(fmt::format("{}: {}; run: b2frame verify {}", problem.group,
                                           problem.reason, options.input));
  }
  require_name(options.output);
  require_replaceable(options.output, OutputKind::zip_store);
  std::optional<OutputName> out;
  std::shared_ptr<frame::StoreFile> file;
  std::optional<WatchedLock> output_lock;
  with_output_errors(options.output, [&] {
    out.emplace(options.output);
    const auto there = out->status();
    if (there && !S_ISREG(there->st_mode)) throw std::runtime_error("is not a regular file");
    if (there) output_lock.emplace(out->directory(), out->name(), options.output);
    file = frame::make_local_file(out->make_file());
  });
  std::optional<Progress> bar;
  blaming_full_output(options.output,
                      [&] { frame::pack_store(source, *file, shown_progress("pack", bar)); });
  with_output_errors(options.output, [&] {
    file->set_attributes(out->attributes_for(*file, 0666));
    file->sync();
    out->publish(frame::RenameMode::replace);
  });
  bar.reset();
  total.finish({1, 0, file->stamp().size});
  return 0;
}

int unpack(const PackOptions& options) {
  Progress total("unpack", 0);
  fs::wait_for_ended_mounts(options.input);
  const frame::UniqueFd place(::open(options.input.c_str(), O_PATH | O_CLOEXEC));
  if (!place) frame::throw_errno();
  frame::UniqueFd fd = frame::open_if_regular(place, O_RDONLY);
  if (!fd) throw std::runtime_error("is not a regular file");
  if (const auto store = find_any_store(options.input);
      store && store->kind() == frame::StoreKind::embed)
    throw std::runtime_error("is a store in one frame, no ZIP file; b2frame extract -r takes it");
  require_name(options.output);
  std::optional<OutputName> out;
  frame::UniqueFd made;
  std::shared_ptr<frame::StoreDirectory> directory;
  with_output_errors(options.output, [&] {
    out.emplace(options.output);
    if (out->status())
      throw std::runtime_error(
          "exists, and is not replaced: remove it first, or choose another name for OUT");
    made = out->make_directory();
    directory =
        frame::make_local_store(frame::UniqueFd(::fcntl(made.get(), F_DUPFD_CLOEXEC, 0)), nullptr);
  });
  std::optional<Progress> bar;
  const auto archive = std::make_shared<frame::FileSource>(std::move(fd), nullptr);
  blaming_full_output(options.output, [&] {
    frame::unpack_store(archive, directory, shown_progress("unpack", bar));
  });
  with_output_errors(options.output, [&] {
    if (::fchmod(made.get(), without_umask(0777)) != 0 || ::syncfs(made.get()) != 0)
      frame::throw_errno();
    out->publish(frame::RenameMode::no_replace);
  });
  bar.reset();
  total.finish({1, archive->stamp().size});
  return 0;
}

}  // namespace

int run_pack(const PackOptions& options) {
  return guarded(options.input, [&] { return pack(options); });
}

int run_unpack(const PackOptions& options) {
  return guarded(options.input, [&] { return unpack(options); });
}

}  // namespace bloscfs::tools
