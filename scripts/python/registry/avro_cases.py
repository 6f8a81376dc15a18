"""Records of Avro: (case, schema, values)."""

import datetime
import uuid
from decimal import Decimal

UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)


def record(name, *fields, **more):
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


PRIMITIVES = record(
    "Primitives",
    field("ok", "boolean"),
    field("i", "int"),
    field("l", "long"),
    field("f", "float"),
    field("d", "double"),
    field("raw", "bytes"),
    field("text", "string"),
    field("maybe", ["null", "string"], default=None),
    field("nothing", ["null", "long"], default=None),
    namespace="shop.types",
)

LOGICAL = record(
    "Logical",
    field("amount", logical("bytes", "decimal", precision=9, scale=2)),
    field("fixed", {"type": "fixed", "name": "Money", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}),
    field("day", logical("int", "date")),
    field("ms_of_day", logical("int", "time-millis")),
    field("us_of_day", logical("long", "time-micros")),
    field("at_ms", logical("long", "timestamp-millis")),
    field("at_us", logical("long", "timestamp-micros")),
    field("local_ms", logical("long", "local-timestamp-millis")),
    field("local_us", logical("long", "local-timestamp-micros")),
    field("id", logical("string", "uuid")),
    field("maybe", ["null", logical("bytes", "decimal", precision=4, scale=1)], default=None),
)

COMPLEX = record(
    "Complex",
    field("suit", {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"], "default": "SPADES"}),
    field("again", "Suit"),
    field("sum", {"type": "fixed", "name": "Sum", "size": 4}),
    field("numbers", {"type": "array", "items": "long"}),
    field("places", {"type": "array", "items": record("Place", field("city", "string"), field("zip", ["null", "int"]))}),
    field("counts", {"type": "map", "values": "double"}),
    field("nested", {"type": "map", "values": {"type": "array", "items": ["null", "Place"]}}),
    namespace="shop",
)

UNION = record(
    "Unions",
    field("u", ["null", "int", "string", record("Inner", field("x", "long")), {"type": "array", "items": "string"}]),
    field("single", ["string"]),
    field("v", ["boolean", "bytes"]),
)

LIST = record("Node", field("value", "int"), field("next", ["null", "Node"], default=None))
TREE = record("Tree", field("name", "string"), field("children", {"type": "array", "items": "Tree"}))

DEFAULTS = record(
    "Defaults",
    field("n", "int", default=42),
    field("s", "string", default="dé"),
    field("first", ["string", "null"], default="one"),
    field("tags", {"type": "array", "items": "string"}, default=[]),
    field("inner", record("In", field("a", "int", default=1)), default={"a": 5}),
    field("old", "long", aliases=["older"], doc="was called older"),
    doc="a record with defaults",
)

OLD_VERSION = record("Evolving", field("id", "long"), field("name", "string"))
NEW_VERSION = record("Evolving", field("id", "long"), field("name", "string"), field("price", ["null", "double"], default=None))

FIVE_HUNDRED = record("Wide", *(field(f"f{n}", ["null", "int"], default=None) for n in range(500)))

CASES = [
    (
        "primitives",
        PRIMITIVES,
        [
            {"ok": True, "i": -(2**31), "l": 2**63 - 1, "f": 1.5, "d": -1e308, "raw": b"\x00\xff", "text": "Grüße 🐈", "maybe": "m", "nothing": None},
            {"ok": False, "i": 2**31 - 1, "l": -(2**63), "f": -0.0, "d": 5e-324, "raw": b"", "text": "", "maybe": None, "nothing": 0},
        ],
    ),
    (
        "logical",
        LOGICAL,
        [
            {
                "amount": Decimal("-1234567.89"),
                "fixed": Decimal("-0.0001"),
                "day": datetime.date(1969, 12, 31),
                "ms_of_day": datetime.time(23, 59, 59, 999000),
                "us_of_day": datetime.time(23, 59, 59, 999999),
                "at_ms": MOMENT.replace(microsecond=123000),
                "at_us": MOMENT,
                "local_ms": MOMENT.replace(microsecond=123000, tzinfo=None),
                "local_us": MOMENT.replace(tzinfo=None),
                "id": uuid.UUID("12345678-9abc-def0-1234-56789abcdef0"),
                "maybe": Decimal("99.9"),
            }
        ],
    ),
    (
        "complex",
        COMPLEX,
        [
            {
                "suit": "HEARTS",
                "again": "SPADES",
                "sum": b"\x01\x02\x03\x04",
                "numbers": [1, -1, 2**40],
                "places": [{"city": "Kyiv", "zip": 1001}, {"city": "Ulm", "zip": None}],
                "counts": {"a": 0.5},
                "nested": {"k": [None, {"city": "Rom", "zip": 2}]},
            },
            {"suit": "SPADES", "again": "HEARTS", "sum": bytes(4), "numbers": [], "places": [], "counts": {}, "nested": {}},
        ],
    ),
    (
        "unions",
        UNION,
        [
            {"u": None, "single": "s", "v": True},
            {"u": 7, "single": "", "v": b"\x01"},
            {"u": "text", "single": "s", "v": False},
            {"u": {"x": 8}, "single": "s", "v": False},
            {"u": ["a", "b"], "single": "s", "v": False},
        ],
    ),
    ("list", LIST, [{"value": 1, "next": {"value": 2, "next": {"value": 3, "next": None}}}]),
    ("tree", TREE, [{"name": "a", "children": [{"name": "b", "children": []}, {"name": "c", "children": [{"name": "d", "children": []}]}]}]),
    ("defaults", DEFAULTS, [{"n": 0, "s": "", "first": None, "tags": ["t"], "inner": {"a": 2}, "old": 9}, {"old": 1}]),
    ("version 1", OLD_VERSION, [{"id": 1, "name": "a"}]),
    ("version 2", NEW_VERSION, [{"id": 2, "name": "b", "price": 2.5}]),
    ("string", "string", ["just text"]),
    ("long", "long", [2**53 + 1]),
    ("array", {"type": "array", "items": "int"}, [[3, 2, 1], []]),
    ("map", {"type": "map", "values": "string"}, [{"k": "v"}]),
    ("wide", FIVE_HUNDRED, [{"f0": 1, "f499": 499}]),
]

# (name in the schema, subject, schema) of what a schema refers to, and the schema that does.
REFERRED = record("Place", field("city", "string"), namespace="shop.ref")
REFERRING = record("Visit", field("at", "shop.ref.Place"), field("all", {"type": "array", "items": "shop.ref.Place"}), namespace="shop.ref")
VISIT = {"at": {"city": "Bern"}, "all": [{"city": "Lund"}]}
