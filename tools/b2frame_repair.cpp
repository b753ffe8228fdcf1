// b2frame repair: writes the intact parts of a damaged frame to a new file, and reports losses.

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>

#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/repair/frame_rebuild.hpp"
#include "frame/repair/open_damaged.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/source/naming.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_name.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/repair_report.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// The new frame file. publish() gives it its name when it is complete.
class RepairOutput {
 public:
  /// Throws UsageError if OUT is no file name, is FILE, or is in FILE. Throws FileError for other
  /// problems, such as an existing file that may not be replaced.
  explicit RepairOutput(const RepairOptions& options) : options_(options) {
    if (options.output.ends_with('/') || options.output == "-")
      throw UsageError("-o needs the name of a file to be written to");
    try {
      name_.emplace(options.output);
    } catch (const std::exception& error) {
      throw FileError(options.output, output_reason(error, options.output));
    }
    refuse_input();
    try {
      check_target();
      file_ = frame::make_local_file(name_->make_file());
    } catch (const std::exception& error) {
      throw FileError(options.output, output_reason(error, options.output));
    }
  }
  RepairOutput(const RepairOutput&) = delete;
  RepairOutput& operator=(const RepairOutput&) = delete;

  frame::StoreFile& file() { return *file_; }

  void publish() {
    try {
      file_->set_attributes(name_->attributes_for(*file_, mode_of_input(options_.input)));
      file_->sync();
      name_->publish(options_.force ? frame::RenameMode::replace : frame::RenameMode::no_replace);
    } catch (const std::exception& error) {
      throw FileError(options_.output, output_reason(error, options_.output));
    }
  }

 private:
  void refuse_input() const {
    struct stat input {
    }, directory{};
    if (::stat(options_.input.c_str(), &input) != 0) frame::throw_errno();
    const auto same = [](const struct stat& a, const struct stat& b) {
      return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    };
    const auto output = name_->status();
    const bool inside = ::fstat(name_->directory(), &directory) == 0 && same(input, directory);
    if ((output && same(input, *output)) || inside)
      throw UsageError("a frame is not repaired in place: -o has to be another file");
  }

  void check_target() {
    const auto there = name_->status();
    if (!there) return;
    if (!S_ISREG(there->st_mode)) throw std::runtime_error("is not a regular file");
    if (!options_.force)
      throw std::runtime_error("exists; --force replaces it, or choose another name for OUT");
    lock_.emplace(name_->directory(), name_->name(), options_.output);
  }

  const RepairOptions& options_;
  std::optional<OutputName> name_;
  std::optional<WatchedLock> lock_;  ///< on the file to be replaced
  std::shared_ptr<frame::StoreFile> file_;
};

/// True if nothing of a frame is in the file, and its suffix does not promise a frame either.
bool is_other_file(const std::string& path, const frame::RepairPlan& plan) {
  if (plan.found_anything || fs::promises_frame(path)) return false;
  try {
    return frame::open_path(path, {}) == nullptr;
  } catch (const std::exception&) {
    return false;  // it has a header, which is damaged
  }
}

int exit_status(const frame::RepairPlan& plan) {
  if (!plan.found_anything) return kExitNothingFound;
  return is_complete(plan) ? 0 : kExitIncomplete;
}

int repair(const RepairOptions& options) {
  fs::wait_for_ended_mounts(options.input);
  RepairOutput out(options);
  const frame::RepairPlan plan = frame::plan_repair(options.input);
  if (options.leave_out && plan.info.array)
    throw UsageError("--missing leave-out: an array keeps its shape, what is lost of it is zeros");
  if (plan.found_anything) {
    require_frame_name(options.output, plan.info.array && !plan.info.has_packed_tensor());
    Progress bar("repair", plan.info.nchunks);
    frame::RebuildSettings settings;
    settings.leave_out = options.leave_out;
    settings.progress = [&](std::int64_t done) {
      throw_if_interrupted();
      bar.update(done);
    };
    frame::write_repaired(plan, out.file(), settings);
    out.publish();
  }
  print_repair_report(options.input, plan,
                      {options.json, options.leave_out, is_other_file(options.input, plan)});
  return exit_status(plan);
}

}  // namespace

int run_repair(const RepairOptions& options) {
  return guarded(options.input, [&] {
    RepairOptions of_file = options;
    of_file.input = file_of_frame(options.input);
    return repair(of_file);
  });
}

int run_repairable(const VerifyOptions& options) {
  int status = 0;
  for (const std::string& file : options.files)
    status = std::max(
        status, guarded(file, [&] {
          const std::string path = file_of_frame(file);
          fs::wait_for_ended_mounts(path);
          const frame::RepairPlan plan = frame::plan_repair(path);
          print_repair_report(file, plan, {options.json, false, is_other_file(path, plan)});
          return exit_status(plan);
        }));
  return status;
}

}  // namespace bloscfs::tools
