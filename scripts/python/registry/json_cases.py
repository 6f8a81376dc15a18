"""Records of JSON Schema: (case, schema, values)."""

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def thing(title, properties, **more):
    return {"$schema": DRAFT_7, "title": title, "type": "object", "properties": properties, **more}


CASES = [
    (
        "primitives",
        thing(
            "Primitives",
            {
                "ok": {"type": "boolean"},
                "n": {"type": "integer"},
                "x": {"type": "number"},
                "text": {"type": "string"},
                "small": {"type": "integer", "connect.type": "int8"},
                "short": {"type": "integer", "connect.type": "int16"},
                "int": {"type": "integer", "connect.type": "int32"},
                "float": {"type": "number", "connect.type": "float32"},
                "raw": {"type": "string", "connect.type": "bytes"},
                "maybe": {"oneOf": [{"type": "null"}, {"type": "string"}]},
                "list": {"type": ["string", "null"]},
            },
            required=["ok"],
        ),
        [
            {"ok": True, "n": 2**53 + 1, "x": 0.1, "text": "Grüße 🐈", "small": -128, "short": 32767, "int": -(2**31), "float": 1.5, "raw": "AP8=", "maybe": None, "list": None},
            {"ok": False, "n": -1, "x": 1e300, "text": "", "small": 0, "short": 0, "int": 0, "float": 0, "raw": "", "maybe": "m", "list": "l"},
        ],
    ),
    (
        "logical",
        thing(
            "Logical",
            {
                "day": {"type": "integer", "connect.type": "int32", "title": "org.apache.kafka.connect.data.Date", "connect.version": 1},
                "time": {"type": "integer", "connect.type": "int32", "title": "org.apache.kafka.connect.data.Time", "connect.version": 1},
                "at": {"type": "integer", "connect.type": "int64", "title": "org.apache.kafka.connect.data.Timestamp", "connect.version": 1},
                "amount": {"type": "number", "connect.type": "bytes", "title": "org.apache.kafka.connect.data.Decimal", "connect.version": 1, "connect.parameters": {"scale": "2"}},
                "stamp": {"type": "string", "format": "date-time"},
                "mail": {"type": "string", "format": "email"},
            },
        ),
        [{"day": -1, "time": 86399999, "at": 1700000000123, "amount": 12.34, "stamp": "2023-11-14T22:13:20Z", "mail": "a@example.com"}],
    ),
    (
        "references",
        thing(
            "References",
            {"home": {"$ref": "#/definitions/place"}, "others": {"type": "array", "items": {"$ref": "#/definitions/place"}}},
            definitions={"place": {"type": "object", "title": "Place", "properties": {"city": {"type": "string"}}}},
        ),
        [{"home": {"city": "Bern"}, "others": [{"city": "Lund"}, {"city": "Ulm"}]}],
    ),
    (
        "recursion",
        thing(
            "Tree",
            {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
        ),
        [{"name": "a", "children": [{"name": "b", "children": []}]}],
    ),
    (
        "combined",
        thing(
            "Combined",
            {
                "one": {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "object", "title": "P", "properties": {"x": {"type": "integer"}}}]},
                "any": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]},
                "all": {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object", "properties": {"b": {"type": "string"}}}]},
            },
        ),
        [
            {"one": 1, "any": True, "all": {"a": 1, "b": "x"}},
            {"one": "t", "any": ["u"], "all": {"a": 2, "b": "y"}},
            {"one": {"x": 3}, "any": False, "all": {"a": 3, "b": "z"}},
        ],
    ),
    (
        "enums",
        thing("Enums", {"suit": {"type": "string", "enum": ["SPADES", "HEARTS"]}, "const": {"const": "fixed"}}),
        [{"suit": "HEARTS", "const": "fixed"}],
    ),
    (
        "maps",
        thing(
            "Maps",
            {
                "counts": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer", "connect.type": "int64"}},
                "pairs": {
                    "type": "array",
                    "connect.type": "map",
                    "items": {"type": "object", "properties": {"key": {"type": "integer"}, "value": {"type": "string"}}},
                },
            },
        ),
        [{"counts": {"a": 1, "b": 2}, "pairs": [{"key": 1, "value": "x"}]}],
    ),
    (
        "defaults",
        thing("Defaults", {"n": {"type": "integer", "default": 5}, "s": {"type": "string", "default": "d"}}),
        [{"n": 1, "s": "x"}, {}],
    ),
    (
        "draft 2020-12",
        {
            "$schema": DRAFT_2020,
            "title": "Modern",
            "type": "object",
            "properties": {"p": {"$ref": "#/$defs/p"}},
            "$defs": {"p": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
        [{"p": {"x": 4}}],
    ),
]

REFERRED = {"$schema": DRAFT_7, "$id": "place.json", "title": "Place", "type": "object", "properties": {"city": {"type": "string"}}}
REFERRING = thing("Visit", {"at": {"$ref": "place.json"}, "n": {"type": "integer"}})
VISIT = {"at": {"city": "Bern"}, "n": 1}
