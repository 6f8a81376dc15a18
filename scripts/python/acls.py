"""Grants rights to a user; see scripts/acls."""

import sys

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)


def main(bootstrap, user, *rights):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    bindings = []
    for right in rights:
        kind, name, operation = right.split(":")
        bindings.append(
            AclBinding(
                ResourceType[kind.upper()],
                name,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                AclOperation[operation.upper()],
                AclPermissionType.ALLOW,
            )
        )
    for done in admin.create_acls(bindings, request_timeout=30).values():
        done.result()


main(*sys.argv[1:])
