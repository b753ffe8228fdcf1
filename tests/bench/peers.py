"""The subjects of the comparison, each with the same contents in one file: bloscfs, its limits, and
other filesystems that compress. Calling a subject mounts it, with an empty page cache."""

import functools

import images
import mounts
from images import FrameSettings

LZ4 = FrameSettings("lz4", 5, "shuffle", 4)
ZSTD = FrameSettings("zstd", 5, "bitshuffle", 4)
ZLIB = FrameSettings("zlib", 5, "shuffle", 4)
MIXED_LZ4 = FrameSettings("lz4", 5, "none", 1)
MIXED_ZSTD = FrameSettings("zstd", 5, "none", 1)

SMALL, LARGE = 128 << 10, 1 << 20
SIZE_NAMES = {SMALL: "128K", LARGE: "1M"}


def bloscfs(bench, content, settings):
    def mounting():
        frame = images.frame(bench, content, settings)
        images.warm(frame)
        return mounts.bloscfs(bench, frame, "ro")

    return mounting


def null_fuse(bench):
    return functools.partial(mounts.null_fuse, bench, bench.size)


def _kernel(bench, kind, make_image, *options):
    def mounting():
        image = make_image()
        images.warm(image)
        return mounts.loop(bench.point, kind, image, "ro", *options)

    return mounting


def _fuse(bench, mount, make_image):
    def mounting():
        image = make_image()
        images.warm(image)
        return mount(bench, image)

    return mounting


def squashfs(bench, content, codec):
    """Returns subjects with both block sizes, mounted by the kernel and by squashfuse."""
    subjects = {}
    for size, size_name in SIZE_NAMES.items():
        make_image = functools.partial(images.squashfs, bench, content, codec, size)
        subjects[f"squashfs {codec} {size_name}"] = _kernel(bench, "squashfs", make_image)
        subjects[f"squashfuse {codec} {size_name}"] = _fuse(bench, mounts.squashfuse, make_image)
    return subjects


def erofs(bench, content):
    make_image = functools.partial(images.erofs, bench, content, SMALL)
    return {
        "erofs lz4 128K": _kernel(bench, "erofs", make_image),
        "erofsfuse lz4 128K": _fuse(bench, mounts.erofsfuse, make_image),
    }


def btrfs(bench, content, compression):
    make_image = functools.partial(images.filled_image, bench, content, "btrfs",
                                   f"compress={compression}")
    return {f"btrfs {compression}": _kernel(bench, "btrfs", make_image)}


def ext4(bench, content):
    make_image = functools.partial(images.filled_image, bench, content, "ext4")
    return {"ext4": _kernel(bench, "ext4", make_image)}
