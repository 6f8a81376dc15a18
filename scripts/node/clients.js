// Confluent's JavaScript client as a writer and a reader of records with schemas; its lines are those of
// scripts/python/registry/clients.py.
//
// clients.js write URL PREFIX   registers schemas and prints records
// clients.js read URL           reads such lines and prints what the client sees
"use strict";
const {
  AvroDeserializer, AvroSerializer, HeaderSchemaIdSerializer, JsonDeserializer, JsonSerializer,
  SchemaRegistryClient, SerdeType,
} = require("@confluentinc/schemaregistry");

const PLACE = {type: "record", name: "Place", fields: [{name: "city", type: "string"}, {name: "zip", type: ["null", "int"]}]};
const AVRO = {
  type: "record",
  name: "Everything",
  namespace: "shop.js",
  fields: [
    {name: "ok", type: "boolean"}, {name: "i", type: "int"}, {name: "l", type: "long"}, {name: "f", type: "float"},
    {name: "d", type: "double"}, {name: "raw", type: "bytes"}, {name: "text", type: "string"},
    {name: "maybe", type: ["null", "string"], default: null},
    {name: "suit", type: {type: "enum", name: "Suit", symbols: ["SPADES", "HEARTS"]}},
    {name: "sum", type: {type: "fixed", name: "Sum", size: 2}},
    {name: "places", type: {type: "array", items: PLACE}}, {name: "home", type: "Place"},
    {name: "counts", type: {type: "map", values: "long"}},
    {name: "u", type: ["null", "int", "string"]},
    {name: "next", type: ["null", "Everything"], default: null},
  ],
};
const LAST = {
  ok: true, i: -(2 ** 31), l: -(2 ** 52), f: 1.5, d: 1e300, raw: Buffer.from([0, 255]), text: "Grüße 🐈", maybe: "m",
  suit: "HEARTS", sum: Buffer.from([1, 2]), places: [{city: "Ulm", zip: null}],
  home: {city: "Bern", zip: 3}, counts: {a: 1}, u: "text", next: null,
};
const FIRST = {...LAST, u: 7, maybe: null, next: LAST};
const JSON_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Everything",
  type: "object",
  properties: {
    ok: {type: "boolean"}, n: {type: "integer"}, x: {type: "number"}, text: {type: "string"},
    maybe: {oneOf: [{type: "null"}, {type: "string"}]}, place: {$ref: "#/definitions/place"},
    list: {type: "array", items: {type: "integer"}}, suit: {type: "string", enum: ["SPADES", "HEARTS"]},
  },
  definitions: {place: {type: "object", title: "Place", properties: {city: {type: "string"}}}},
};
const OBJECT = {ok: false, n: -5, x: 0.25, text: "Grüße 🐈", maybe: null, place: {city: "Bern"}, list: [1, 2], suit: "HEARTS"};

const FORMATS = {
  avro: [AvroSerializer, AvroDeserializer, "AVRO", AVRO, FIRST],
  json: [JsonSerializer, JsonDeserializer, "JSON", JSON_SCHEMA, OBJECT],
};
const CASES = {
  everything: {},
  "id in a header": {schemaIdSerializer: HeaderSchemaIdSerializer},
};

async function write(client, prefix) {
  for (const [format, [Serializer, , kind, schema, value]] of Object.entries(FORMATS)) {
    for (const [name, more] of Object.entries(CASES)) {
      const topic = `${prefix}${format}-${name.replaceAll(" ", "-")}`;
      await client.register(`${topic}-value`, {schema: JSON.stringify(schema), schemaType: kind});
      const serializer = new Serializer(client, SerdeType.VALUE, {useLatestVersion: true, ...more});
      const headers = {};
      const data = await serializer.serialize(topic, value, headers);
      const shown = Object.entries(headers).map(([key, header]) => [key, Buffer.from(header).toString("hex")]);
      console.log(JSON.stringify({
        case: name, format, topic, side: "value", strategy: "topic", headers: shown, data: data.toString("hex"),
      }));
    }
  }
}

function plain(value) {
  if (Buffer.isBuffer(value)) return {bytes: value.toString("hex")};
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

async function read(client) {
  const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
  for (const line of lines.map((text) => JSON.parse(text))) {
    const side = line.side === "key" ? SerdeType.KEY : SerdeType.VALUE;
    const deserializer = new FORMATS[line.format][1](client, side, {});
    const headers = Object.fromEntries((line.headers ?? []).map(([key, hex]) => [key, Buffer.from(hex, "hex")]));
    try {
      const value = await deserializer.deserialize(line.topic, Buffer.from(line.data, "hex"), headers);
      console.log(JSON.stringify({case: line.case, value: plain(value)}));
    } catch (error) {
      throw new Error(`${line.case}: ${error}`);
    }
  }
}

const [, , command, url, prefix] = process.argv;
const client = new SchemaRegistryClient({baseURLs: [url], cacheCapacity: 1000});
(command === "write" ? write(client, prefix) : read(client)).catch((error) => {
  console.error(`clients.js: ${error.stack}`);
  process.exitCode = 1;
});
