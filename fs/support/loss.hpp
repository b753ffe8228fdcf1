#pragma once
// What a saved frame lacks of the old file, on top of which its contents were written.

#include <string_view>

namespace bloscfs::fs {

enum class Loss {
  none,
  zeros,     ///< zeros stand for old bytes that could not be read
  doubtful,  ///< some old bytes do not match their checksum
};

/// Returns the end of a message that names the saved frame.
constexpr std::string_view text_of(Loss loss) {
  if (loss == Loss::zeros) return ", with zeros for what could not be read";
  if (loss == Loss::doubtful) return ", with bytes that do not match their checksum";
  return "";
}

/// Returns the word that is stored for the loss; "" for none.
constexpr std::string_view word_of(Loss loss) {
  if (loss == Loss::zeros) return "zeros";
  if (loss == Loss::doubtful) return "doubtful";
  return "";
}

/// Inverse of word_of(). Returns `none` for other words.
constexpr Loss loss_of(std::string_view word) {
  for (const Loss loss : {Loss::zeros, Loss::doubtful})
    if (word == word_of(loss)) return loss;
  return Loss::none;
}

}  // namespace bloscfs::fs
