"""How fast redaction is, on text like that of real logs. Run: python benchmarks/redaction.py [FILE ...]."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from memory_pipeline.redact import redact

SECRET_LINE = "DATABASE_URL=postgres://shop:not-a-real-password@db.example/shop\n"
TEXTS = {
    "test output": "tests/test_cart.py::test_total[3-19.99] PASSED      [ 42%]\n" * 20_000,
    "file listing": "-rw-r--r-- 1 sam sam 12224 Nov 29 23:15 ./src/cart/total.test.ts\n" * 20_000,
    "uuids and hashes": "01a22912-fc6b-7762-9dc6-735c156dab2a 3fcb839aab1ff9aa6dba6c582b1839844bf85609\n" * 15_000,
    "code": "    token = self.tokens.next()  # the parser's next token, see README.md\n    key = password_key(token)\n"
    * 10_000,
    "Chinese": "这个测试失败了，因为数据库没有启动，需要先运行迁移脚本然后再试一次。\n" * 30_000,
    "a secret in every 200 lines": ("plain line of output, nothing to see here\n" * 199 + SECRET_LINE) * 100,
}


def main(paths: list[str]) -> None:
    """Print megabytes per second for each text, best of three."""
    texts = {path: Path(path).read_text(errors="replace") for path in paths} or TEXTS
    redact("warm up: token=fake123 ://")
    for name, text in texts.items():
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            masked = redact(text)
            best = min(best, time.perf_counter() - began)
        megabytes = len(text.encode("utf-8", "replace")) / 1e6
        print(f"{name[-40:]:40} {megabytes:7.2f} MB {megabytes / best:8.1f} MB/s  masked {sum(masked.counts.values())}")


if __name__ == "__main__":
    main(sys.argv[1:])
