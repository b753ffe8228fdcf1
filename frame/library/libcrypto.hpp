#pragma once
// What is used of libcrypto, which is loaded by the first call.

#include <boost/preprocessor/stringize.hpp>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::frame::libcrypto {

inline constinit codec::LateLibrary library(
    "libcrypto.so." BOOST_PP_STRINGIZE(OPENSSL_SHLIB_VERSION));

inline constinit codec::LateFunction<decltype(::EVP_Digest)> EVP_Digest(library, "EVP_Digest");
inline constinit codec::LateFunction<decltype(::EVP_DigestFinal_ex)> EVP_DigestFinal_ex(
    library, "EVP_DigestFinal_ex");
inline constinit codec::LateFunction<decltype(::EVP_DigestInit_ex)> EVP_DigestInit_ex(
    library, "EVP_DigestInit_ex");
inline constinit codec::LateFunction<decltype(::EVP_DigestUpdate)> EVP_DigestUpdate(
    library, "EVP_DigestUpdate");
inline constinit codec::LateFunction<decltype(::EVP_EncodeBlock)> EVP_EncodeBlock(
    library, "EVP_EncodeBlock");
inline constinit codec::LateFunction<decltype(::EVP_MD_CTX_free)> EVP_MD_CTX_free(
    library, "EVP_MD_CTX_free");
inline constinit codec::LateFunction<decltype(::EVP_MD_CTX_new)> EVP_MD_CTX_new(library,
                                                                                "EVP_MD_CTX_new");
inline constinit codec::LateFunction<decltype(::EVP_md5)> EVP_md5(library, "EVP_md5");
inline constinit codec::LateFunction<decltype(::EVP_sha1)> EVP_sha1(library, "EVP_sha1");
inline constinit codec::LateFunction<decltype(::EVP_sha224)> EVP_sha224(library, "EVP_sha224");
inline constinit codec::LateFunction<decltype(::EVP_sha256)> EVP_sha256(library, "EVP_sha256");
inline constinit codec::LateFunction<decltype(::EVP_sha384)> EVP_sha384(library, "EVP_sha384");
inline constinit codec::LateFunction<decltype(::EVP_sha512)> EVP_sha512(library, "EVP_sha512");
inline constinit codec::LateFunction<decltype(::HMAC)> HMAC(library, "HMAC");

}  // namespace bloscfs::frame::libcrypto
