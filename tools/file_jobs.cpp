#include "tools/file_jobs.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {

int FileJobs::run(std::size_t threads, const Next& next) {
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; i++) others.emplace_back([&] { work(next); });
    work(next);
  }
  const fs::MutexLock lock(mutex_);
  if (end_) std::rethrow_exception(end_);
  output_.finish();
  return status_;
}

std::optional<FileJobs::Numbered> FileJobs::take(const Next& next) {
  const fs::MutexLock lock(mutex_);
  if (end_) return std::nullopt;
  try {
    throw_if_interrupted();
    if (auto job = next()) return Numbered{taken_++, std::move(*job)};
  } catch (...) {
    end_ = std::current_exception();
  }
  return std::nullopt;
}

void FileJobs::work(const Next& next) {
  while (const auto piece = take(next)) {
    output_.begin(piece->number);
    output_.set_file(piece->job.name);
    do_job(*piece);
    output_.end(piece->number);
  }
}

void FileJobs::do_job(const Numbered& piece) {
  try {
    piece.job.work([this](std::int64_t bytes) { output_.advance(bytes); });
  } catch (const Interrupted&) {
    const fs::MutexLock lock(mutex_);
    end_ = std::current_exception();
  } catch (const UsageError& error) {
    fail(piece, piece.job.name, error.what(), kExitBadUsage);
  } catch (const FileError& error) {
    fail(piece, error.file(), error.what(), kExitBadData);
  } catch (const std::exception& error) {
    fail(piece, piece.job.name, reason(error, piece.job.name), kExitBadData);
  }
}

void FileJobs::fail(const Numbered& piece, const std::string& file, const std::string& what,
                    int status) {
  output_.add(piece.number, stderr, complaint(file, what));
  const fs::MutexLock lock(mutex_);
  status_ = std::max(status_, status);
}

Threads share_threads(unsigned threads, std::size_t files) {
  const std::size_t at_once = std::clamp<std::size_t>(files, 1, threads);
  return {at_once, std::max(1U, threads / static_cast<unsigned>(at_once))};
}

}  // namespace bloscfs::tools
