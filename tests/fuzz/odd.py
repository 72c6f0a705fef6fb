"""What probes are made odd with. Header values are Latin-1, as HTTP/1.1 sends them."""

from __future__ import annotations

import gzip
from typing import Any, Final

METHODS: Final = ("HEAD", "TRACE", "PUT", "OPTIONS", "QUERY", "PROPFIND", "get", "X")
SEGMENTS: Final = (
    *("%00", "%2F", "%2e%2e", "%2E", "..", ".", "", "%zz", "%", "%E9", "%C0%AF", "%ED%A0%80", "%F0%9F%98%80"),
    *("%EF%BB%BF", "%0d%0aX-Evil:1", "a;b=c", "a+b", "%20", "%7E0-1", "~0-1", "$default", "{sid}", "*", "x" * 129),
    *("x" * 3000, "%2525", "%5c", "null", "undefined", "-1", "a%2Fevents", "%3F", "%23"),
)
QUERIES: Final = (
    *("&", "=", "&&=&", "limit", "limit=", "limit=1&limit=2", "limit=1.0", "limit=+1", "limit=-0", "limit=01"),
    *(
        "limit=1e1",
        "limit=0x1",
        "limit=%D9%A3",
        "limit=99999999999999999999999",
        "limit[]=1",
        "LIMIT=1",
        "limit=1;order=asc",
    ),
    *("limit=%31", "%6Cimit=1", "order=ASC", "order=asc%00", "order=", "cursor=", "cursor=" + "A" * 3000, "cursor=%00"),
    *("cursor=MXxlfA", "types=user,", "types=,", "types=user&types=tool", "types=user%2Ctool", "archived=TRUE"),
    *(
        "archived=1",
        "archived",
        "exclude_synthetic=yes",
        "keyword=%00",
        "keyword=%20",
        "keyword=%FF",
        "keyword=%ED%A0%80",
    ),
    *("keyword=" + "%F0%9F%98%80" * 300, "keywords=a,,b", "keywords=%2C", "match=all", "match=ALL&keywords=a"),
    *(
        "branch=",
        "branch=a..b",
        "branch=a%00",
        "from=2026-01-31",
        "from=2026-01-31T12:00:00",
        "from=2026-02-30T12:00:00Z",
    ),
    *(
        "from=2026-01-31t12:00:00z",
        "from=2016-12-31T23:59:60Z",
        "from=0000-01-01T00:00:00Z",
        "from=0001-01-01T00:00:00%2B23:59",
    ),
    *(
        "to=9999-12-31T23:59:59-23:59",
        "to=2026-01-31T12:00:00+02:00",
        "to=2026-01-31T12:00:00.1234567890Z",
        "to=1&from=1",
    ),
    *("last_n=0", "last_n=1001", "last_n=5&limit=5", "__proto__=1", "%00=1", "%ZZ=1", "a=%", "+=+", "x" * 2000),
)
HEADERS: Final = (
    *(
        ("Content-Type", value)
        for value in (
            "",
            "text/plain",
            "application/json; charset=latin-1",
            "application/json; charset=UTF-8",
            "APPLICATION/JSON",
            "application/json; charset=utf-8; charset=utf-16",
            "application/json;",
            "application/merge-patch+json",
            "json",
            'application/json; charset="utf-8"',
            "application/json, text/plain",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded",
            "application/jsonp",
            "\xe9",
            "application/json; charset",
        )
    ),
    *(("Content-Encoding", value) for value in ("gzip", "identity", "br", "gzip, gzip", "\xe9")),
    *(
        ("If-Match", value)
        for value in (
            "*",
            '"*"',
            "",
            '""',
            "a",
            '"a',
            '"a", "b"',
            '"a"b',
            'W/"1.0.0"',
            '"\xe9"',
            '"a",',
            ",",
            '"1.0.0' + "0" * 3000 + '"',
        )
    ),
    *(("If-None-Match", value) for value in ("*", '"*"', "", "**", '"a"')),
    *(("Idempotency-Key", value) for value in ("", "a", " ", "a b", "\xe9", "k" * 256, '"quoted"', "a\tb")),
    *(("Accept", value) for value in ("text/html", "application/xml;q=1", "", "*/*;q=0")),
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-Forwarded-Host", "evil.example"),
    ("X-Turnlog-Tenant", "globex"),
    ("X-Turnlog-User", "mallory"),
    ("Range", "bytes=0-1"),
    ("Cookie", "a=\xe9; =; ;"),
    ("Prefer", "return=minimal"),
    ("If-Modified-Since", "yesterday"),
)
BODIES: Final = (
    *(
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        b"{",
        b"}",
        b"{}x",
        b'{"id":"a",}',
        b"{'id':'a'}",
        b"null",
        b"true",
        b"0",
        b'""',
        b"[]",
    ),
    *(b"NaN", b"-Infinity", b'{"metadata":{"a":NaN}}', b'{"metadata":{"a":1,"a":2}}', b'{"id":"a","id":"b"}', b"\x00"),
    *(
        b'{"metadata":{"a":"\\ud800"}}',
        b'{"metadata":{"\\udc00":1}}',
        b'{"metadata":{"a":"\xff"}}',
        b'{"id":"\xc3\x28"}',
    ),
    *(b"[" * 65 + b"]" * 65, b"[" * 100_000, b'{"a":' * 100_000, b'{"metadata":' + b'{"a":' * 70 + b"1" + b"}" * 71),
    *(
        b'{"metadata":{"a":' + b"1" * 1001 + b"}}",
        b'{"metadata":{"a":1e' + b"9" * 998 + b"}}",
        b'{"ttl_seconds":1E400}',
    ),
    *(
        "{}".encode("utf-16"),
        "{}".encode("utf-32"),
        gzip.compress(b"{}"),
        b"id=a&metadata=b",
        b"--x\r\n\r\n{}\r\n--x--",
    ),
    *(b'{"metadata":{"a":"' + b"x" * 17_000 + b'"}}', b'{"events":[' + b" " * (4 * 1024 * 1024) + b"]}"),
    *(
        b'{"id":"a"}//',
        b'{"id":/**/"a"}',
        b'{"\\u0069d":"from-escape"}',
        b'{"id":"a\\u0000"}',
        b"\r\n\t {} \r\n",
        b"{}\x00",
    ),
)
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 1.5, 1e300, 10**30, "", " ", "\0", "\u202e", "é" * 100, "x" * 300, "~0-1", "null"),
    *([], {}, [None], [[]], {"": None}, {"type": "text"}, {"type": ["text"]}, ["a"], {"__proto__": {}}, [{}] * 101),
)
