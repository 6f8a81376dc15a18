"""Makes the connector that schemathesis finds: found.py URL."""

import sys

from kafka_connect import KafkaConnect

client = KafkaConnect(url=sys.argv[1])
client.update_connector(
    "found",
    {"connector.class": "FileStreamSink", "topics": "found", "file": "found.txt", "tasks.max": "1"},
)
