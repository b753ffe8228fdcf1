#pragma once
// What is used of libcurl, which is loaded by the first call: its functions, without their prefix.

#include <curl/curl.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::frame::libcurl {

inline constinit codec::LateLibrary library("libcurl.so.4");

inline constinit codec::LateFunction<decltype(::curl_easy_cleanup)> easy_cleanup(
    library, "curl_easy_cleanup");
inline constinit codec::LateFunction<decltype(::curl_easy_getinfo)> easy_getinfo(
    library, "curl_easy_getinfo");
inline constinit codec::LateFunction<decltype(::curl_easy_init)> easy_init(library,
                                                                           "curl_easy_init");
inline constinit codec::LateFunction<decltype(::curl_easy_setopt)> easy_setopt(library,
                                                                               "curl_easy_setopt");
inline constinit codec::LateFunction<decltype(::curl_easy_strerror)> easy_strerror(
    library, "curl_easy_strerror");
inline constinit codec::LateFunction<decltype(::curl_free)> free(library, "curl_free");
inline constinit codec::LateFunction<decltype(::curl_getdate)> getdate(library, "curl_getdate");
inline constinit codec::LateFunction<decltype(::curl_global_init)> global_init(library,
                                                                               "curl_global_init");
inline constinit codec::LateFunction<decltype(::curl_multi_add_handle)> multi_add_handle(
    library, "curl_multi_add_handle");
inline constinit codec::LateFunction<decltype(::curl_multi_cleanup)> multi_cleanup(
    library, "curl_multi_cleanup");
inline constinit codec::LateFunction<decltype(::curl_multi_info_read)> multi_info_read(
    library, "curl_multi_info_read");
inline constinit codec::LateFunction<decltype(::curl_multi_init)> multi_init(library,
                                                                             "curl_multi_init");
inline constinit codec::LateFunction<decltype(::curl_multi_perform)> multi_perform(
    library, "curl_multi_perform");
inline constinit codec::LateFunction<decltype(::curl_multi_poll)> multi_poll(library,
                                                                             "curl_multi_poll");
inline constinit codec::LateFunction<decltype(::curl_multi_remove_handle)> multi_remove_handle(
    library, "curl_multi_remove_handle");
inline constinit codec::LateFunction<decltype(::curl_multi_setopt)> multi_setopt(
    library, "curl_multi_setopt");
inline constinit codec::LateFunction<decltype(::curl_multi_wakeup)> multi_wakeup(
    library, "curl_multi_wakeup");
inline constinit codec::LateFunction<decltype(::curl_slist_append)> slist_append(
    library, "curl_slist_append");
inline constinit codec::LateFunction<decltype(::curl_slist_free_all)> slist_free_all(
    library, "curl_slist_free_all");
inline constinit codec::LateFunction<decltype(::curl_url)> url(library, "curl_url");
inline constinit codec::LateFunction<decltype(::curl_url_cleanup)> url_cleanup(library,
                                                                               "curl_url_cleanup");
inline constinit codec::LateFunction<decltype(::curl_url_get)> url_get(library, "curl_url_get");
inline constinit codec::LateFunction<decltype(::curl_url_set)> url_set(library, "curl_url_set");

}  // namespace bloscfs::frame::libcurl
