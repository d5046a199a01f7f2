"""A process with little address space: libraries reserve little, and less than they need is refused."""

from __future__ import annotations

import pytest

READ = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)\n"


@pytest.mark.parametrize(("limit", "status"), [(1_700_000 << 10, 0), (600_000 << 10, 2)])
def test_a_small_file_is_read_or_refused(apart, tmp_path, limit, status):
    """With the defaults of Arrow and the C library, reading takes 2.1 GB of address space."""
    (tmp_path / "g.csv").write_text("src,dst\nann,bob\n")
    command = f"from evener.cli import main; sys.exit(main(['info', {str(tmp_path / 'g.csv')!r}]))"
    done = apart("-c", READ + command, limit)
    assert done.status == status, done.err
    if status:
        assert done.err.startswith("evener: expected at least 1")
        assert done.err.endswith("raise it with ulimit -v\n")
    else:
        assert done.out.startswith("vertices        2\n")
