#pragma once
// What a saved frame lacks of the old file, on top of which its contents were written.

#include <string_view>

namespace bloscfs::fs {

enum class Loss {
  none,
  doubtful,      ///< some old bytes do not match their checksum
  zeros,         ///< zeros stand for the old bytes that do not decode
  newer,         ///< bytes of another program's new state stand for all old bytes
  only_written,  ///< zeros stand for all old bytes
};

/// Returns the end of a message that names the saved frame.
constexpr std::string_view text_of(Loss loss) {
  if (loss == Loss::doubtful) return ", with bytes that do not match their checksum";
  if (loss == Loss::zeros) return ", with zeros for what could not be read";
  if (loss == Loss::newer) return ", with the other program's bytes where nothing was written";
  if (loss == Loss::only_written) return ", with zeros for all that was not written";
  return "";
}

/// Returns the word that is stored for the loss; "" for none.
constexpr std::string_view word_of(Loss loss) {
  if (loss == Loss::doubtful) return "doubtful";
  if (loss == Loss::zeros) return "zeros";
  if (loss == Loss::newer) return "newer";
  if (loss == Loss::only_written) return "written-only";
  return "";
}

/// Inverse of word_of(). Returns `none` for other words.
constexpr Loss loss_of(std::string_view word) {
  for (const Loss loss : {Loss::doubtful, Loss::zeros, Loss::newer, Loss::only_written})
    if (word == word_of(loss)) return loss;
  return Loss::none;
}

}  // namespace bloscfs::fs
