"""How much smaller the same contents are in each filesystem."""

import images
import mounts
import peers
from bench_run import Table
from commands import Missing, run


def data_of_btrfs(point):
    for line in run("btrfs", "filesystem", "df", "-b", point).splitlines():
        if line.startswith("Data"):
            return int(line.split("used=")[1])


def used_by_btrfs(bench, image):
    with mounts.loop(bench.point, "btrfs", image, "ro"):
        return data_of_btrfs(bench.point)


def sizes(bench, content, settings, codec, btrfs_codec):
    """Yields the name and the bytes of each filesystem that is available."""
    makers = {"bloscfs": lambda: images.frame(bench, content, settings).stat().st_size}
    for block_size, name in peers.SIZE_NAMES.items():
        makers[f"squashfs {codec} {name}"] = lambda block_size=block_size: images.squashfs(
            bench, content, codec, block_size).stat().st_size
    if codec == "lz4":
        makers["erofs lz4 128K"] = lambda: images.erofs(bench, content, peers.SMALL).stat().st_size
    makers[f"btrfs {btrfs_codec}"] = lambda: used_by_btrfs(
        bench, images.filled_image(bench, content, "btrfs", f"compress={btrfs_codec}"))
    for name, size in makers.items():
        try:
            yield name, size()
        except Missing:
            pass  # the measurement reports it


def table(bench, *what):
    cells = {name: {"all": [bench.size / size]} for name, size in sizes(bench, *what)}
    return Table("Contents to what is stored", "ratio", cells)
