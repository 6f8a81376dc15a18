"""Calls of the Python client kafka-connect-py, one after the other: connect.py URL.

Ends with status 1 at the first answer that is not as its documentation says.
"""

import sys
import time

from kafka_connect import KafkaConnect
from requests.exceptions import HTTPError

NAME = "python-client"
CONFIG = {
    "connector.class": "FileStreamSource",
    "topic": "python-client",
    "file": "python-client.txt",
    "tasks.max": "1",
}


def check(what, right):
    if not right:
        sys.exit(f"connect.py: {what}")


def wait(what, right):
    end = time.monotonic() + 60
    while not right():
        check(f"{what}: not within 60 s", time.monotonic() < end)
        time.sleep(0.05)


def main(url):
    client = KafkaConnect(url=url)
    check("version", client.get_cluster_info()["version"])
    plugins = {plugin["class"] for plugin in client.list_connector_plugins()}
    check("plugins", "org.apache.kafka.connect.file.FileStreamSourceConnector" in plugins)
    checked = client.validate_connector_config("FileStreamSource", {**CONFIG, "name": NAME})
    check(f"validate: {checked}", checked["error_count"] == 0)
    made = client.create_connector({"name": NAME, "config": CONFIG})
    check(f"create: {made}", made["name"] == NAME and made["type"] == "source")
    try:
        client.create_connector({"name": NAME, "config": CONFIG})
        check("a second connector of the same name was made", False)
    except HTTPError as error:
        check(f"create again: {error}", error.response.status_code == 409)
    state = lambda: client.get_connector_status(NAME)["connector"]["state"]
    task = lambda: client.get_connector_task_status(NAME, 0)["state"]
    wait("RUNNING", lambda: state() == "RUNNING" and task() == "RUNNING")
    check("list", NAME in client.list_connectors())
    check("list by name", client.list_connectors(pattern="^python-cl") == [NAME])
    for what in ["status", "info"]:
        check(f"list with {what}", set(client.list_connectors(expand=what)[NAME]) == {what})
    check("info", client.get_connector(NAME)["tasks"] == [{"connector": NAME, "task": 0}])
    check("config", client.get_connector_config(NAME)["topic"] == CONFIG["topic"])
    changed = client.update_connector(NAME, {**CONFIG, "batch.size": "10"})
    check("update", changed["config"]["batch.size"] == "10")
    check("tasks", client.list_connector_tasks(NAME)[0]["id"] == {"connector": NAME, "task": 0})
    check("restart", client.restart_connector(NAME) is None)
    restarted = client.restart_connector(NAME, include_tasks=True)
    check("restart with tasks", restarted["connector"]["state"] == "RESTARTING")
    client.restart_connector_task(NAME, 0)
    client.pause_connector(NAME)
    wait("PAUSED", lambda: state() == "PAUSED")
    client.resume_connector(NAME)
    wait("RUNNING again", lambda: state() == "RUNNING")
    check("topics", NAME in client.list_connector_topics(NAME))
    client.reset_connector_topics(NAME)
    client.stop_connector(NAME)
    wait("STOPPED", lambda: state() == "STOPPED")
    client.delete_connector(NAME)
    check("deleted", NAME not in client.list_connectors())
    try:
        client.get_connector(NAME)
        check("a deleted connector is still there", False)
    except HTTPError as error:
        check(f"deleted: {error}", error.response.status_code == 404)


main(sys.argv[1])
