"""Confluent's own Python client as a writer and a reader of records with schemas.

clients.py write URL PREFIX    registers schemas below topics that begin with PREFIX, and prints a line of JSON for each
                               record: case, topic, subject, side and format; its bytes and headers in hex
clients.py read URL            reads such lines and prints a line for each: case and value, as Python has it

Ends with status 1 and the client's own words at the first record that it refuses.
"""

import base64
import datetime
import json
import pathlib
import re
import sys
import tempfile
import uuid
from decimal import Decimal

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import avro_cases
import json_cases
import proto_cases

STRATEGIES = {"topic": None, "record": record_subject_name_strategy, "topic-record": topic_record_subject_name_strategy}


class Writer:
    def __init__(self, url, prefix):
        self.client = SchemaRegistryClient({"url": url})
        self.prefix = prefix

    def serializer(self, format, schema, conf):
        if format == "avro":
            return AvroSerializer(self.client, schema, conf=conf)
        if format == "json":
            return JSONSerializer(schema, self.client, conf=conf)
        return ProtobufSerializer(type(schema), self.client, conf=conf)

    def write(self, case, format, schema, values, side=MessageField.VALUE, strategy="topic", ids="prefix"):
        """Writes the values as one case; `schema` of Protobuf is any message of the type."""
        topic = f"{self.prefix}{format}-{re.sub('[^a-z0-9]+', '-', case)}"
        conf = {}
        if STRATEGIES[strategy]:
            conf["subject.name.strategy"] = STRATEGIES[strategy]
        if ids == "header":
            conf["schema.id.serializer"] = header_schema_id_serializer
        serializer = self.serializer(format, schema, conf)
        for value in values:
            context = SerializationContext(topic, side, [])
            data = serializer(value, context)
            headers = [[name, value.hex()] for name, value in context.headers]
            line = {"case": case, "format": format, "topic": topic, "side": side, "headers": headers}
            line["strategy"] = strategy
            line["data"] = data.hex()
            print(json.dumps(line))

    def refer(self, name, kind, schema):
        """Registers a schema that others refer to."""
        subject = f"{self.prefix}{name}"
        self.client.register_schema(subject, Schema(json.dumps(schema), kind))
        return SchemaReference(name, subject, 1)

    def referring(self, case, format, kind, schema, reference, value):
        self.write(case, format, Schema(json.dumps(schema), kind, [reference]), [value])

    def all(self):
        for case, schema, values in avro_cases.CASES:
            self.write(case, "avro", json.dumps(schema), values)
        place = self.refer("shop.ref.Place", "AVRO", avro_cases.REFERRED)
        self.referring("referring", "avro", "AVRO", avro_cases.REFERRING, place, avro_cases.VISIT)
        for case, schema, values in json_cases.CASES:
            self.write(case, "json", json.dumps(schema), values)
        place = self.refer("place.json", "JSON", json_cases.REFERRED)
        self.referring("referring", "json", "JSON", json_cases.REFERRING, place, json_cases.VISIT)
        messages = proto_cases.cases()
        for case, message in messages:
            self.write(case, "protobuf", message, [message])
        plain = {
            "avro": (json.dumps(avro_cases.LIST), avro_cases.CASES[4][2][0]),
            "json": (json.dumps(json_cases.CASES[5][1]), json_cases.CASES[5][2][0]),
            "protobuf": (messages[3][1], messages[3][1]),
        }
        for format, (schema, value) in plain.items():
            self.write("key", format, schema, [value], side=MessageField.KEY)
            self.write("named by record", format, schema, [value], strategy="record")
            self.write("named by topic and record", format, schema, [value], strategy="topic-record")
            self.write("id in a header", format, schema, [value], ids="header")


def plain(value):
    """What Python has, as JSON that keeps the kind of each value."""
    if hasattr(value, "DESCRIPTOR"):
        return {field.name: message_field(value, field) for field in value.DESCRIPTOR.fields if has(value, field)}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime.datetime) and value.tzinfo:
        return {"datetime": str(value), "ms": round(value.timestamp() * 1000)}
    if isinstance(value, (datetime.date, datetime.time, uuid.UUID)):
        return {type(value).__name__: str(value)}
    return value


def has(message, field):
    return message.HasField(field.name) if field.has_presence else True


def message_field(message, field):
    value = getattr(message, field.name)
    entry = field.message_type and field.message_type.GetOptions().map_entry
    if entry:
        return {str(key): plain(part) for key, part in sorted(value.items())}  # the library has no order
    return [plain(part) for part in value] if field.is_repeated else plain(value)


class Reader(SchemaRegistryClient):
    """Schemas of Protobuf as descriptors, which is the form that the client asks for: Apicurio's registry cannot make
    it of a schema that imports what comes with every registry, so protoc does."""

    def get_schema(self, *arguments, **more):
        more.pop("fmt", None)
        schema = super().get_schema(*arguments[:2], **more)
        if schema.schema_type != "PROTOBUF" or "syntax" not in schema.schema_str:
            return schema
        return Schema(compile_text(schema.schema_str), "PROTOBUF", schema.references)


def message_type(client, data):
    """The class of a message that is not known beforehand: that of its index in the registry's schema."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    schema = client.get_schema(int.from_bytes(data[1:5], "big"))
    pool = descriptor_pool.DescriptorPool()
    import_known(pool)
    described = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str))
    described.name = "google/protobuf/wrappers.proto" if described.package == "google.protobuf" else "own.proto"
    if described.name == "own.proto":
        pool.Add(described)
    # A count and indexes follow the id, zig-zag; no count is the first message.
    index = data[6] >> 1 if data[5] else 0
    messages = pool.FindFileByName(described.name).message_types_by_name
    return message_factory.GetMessageClass(messages[described.message_type[index].name])


def import_known(pool):
    """The messages that come with every registry."""
    from confluent_kafka.schema_registry.confluent import meta_pb2
    from confluent_kafka.schema_registry.confluent.type import decimal_pb2
    from google.protobuf import descriptor_pb2, timestamp_pb2, wrappers_pb2
    from google.type import date_pb2, timeofday_pb2

    for module in (descriptor_pb2, timestamp_pb2, wrappers_pb2, date_pb2, timeofday_pb2, decimal_pb2, meta_pb2):
        described = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(described)
        pool.Add(described)


def compile_text(text):
    """The descriptor of a schema's text in base64, which is how Confluent's client has it."""
    from google.protobuf import descriptor_pb2

    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "own.proto").write_text(text)
    proto_cases.run_protoc(folder, f"--descriptor_set_out={folder}/set", "own.proto")
    described = descriptor_pb2.FileDescriptorSet.FromString((folder / "set").read_bytes())
    return base64.b64encode(described.file[0].SerializeToString()).decode()


def read(url):
    client = Reader({"url": url})
    avro, text = AvroDeserializer(client), JSONDeserializer(None, schema_registry_client=client)
    for line in sys.stdin:
        line = json.loads(line)
        data = bytes.fromhex(line["data"])
        headers = [(name, bytes.fromhex(value)) for name, value in line.get("headers", [])]
        context = SerializationContext(line["topic"], line["side"], headers)
        if line["format"] == "protobuf":
            reader = ProtobufDeserializer(message_type(client, data), {}, client)
        else:
            reader = avro if line["format"] == "avro" else text
        try:
            value = plain(reader(data, context))
        except Exception as error:  # whatever it is, it is the client's word on our record
            sys.exit(f"clients.py: {line['case']}: {type(error).__name__}: {error}")
        print(json.dumps({"case": line["case"], "value": value}))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        Writer(sys.argv[2], sys.argv[3]).all()
    else:
        read(sys.argv[2])
