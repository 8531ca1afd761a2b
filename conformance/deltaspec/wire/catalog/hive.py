"""Hive Metastore: the Delta tables that it knows, over Thrift without SASL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.wire.catalog.listed import ListedTable, find_location, is_delta

SCHEME = "hms://"
_NAME = re.compile(r"hms://([^/@:\s]+)(?::(\d{1,5}))?(?:/([^./\s]*)(?:\.([^/\s]+))?)?/?")
_PORT = 9083
_TIMEOUT_MS = 30_000
_BATCH = 100


def list_hive_tables(location: str, install_command: str) -> Iterator[ListedTable]:
    """Yield the Delta tables of a Hive Metastore, by database and name.

    Args:
        location: `hms://host`, with `:port` if it is not 9083, and `/DATABASE` or `/DATABASE.TABLE`, with globs.
        install_command: command that installs the client, for the message.

    Raises:
        InvalidUsage: the location is malformed, or pymetastore is not installed.
        TableUnreadable: the metastore answers with an error.
        StorageUnavailable: it does not answer.
    """
    match = _NAME.fullmatch(location)
    if match is None:
        raise InvalidUsage(
            f"{location}: write hms://host:9083, hms://host:9083/DATABASE or hms://host:9083/DATABASE.TABLE"
        )
    if find_spec("pymetastore") is None:
        raise InvalidUsage(f"hms:// needs pymetastore: {install_command}")
    from pymetastore.hive_metastore import ThriftHiveMetastore
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.Thrift import TException
    from thrift.transport import TSocket, TTransport

    host, port, database, table = match[1], int(match[2] or _PORT), match[3] or "*", match[4] or "*"
    socket = TSocket.TSocket(host, port)
    socket.setTimeout(_TIMEOUT_MS)
    transport = TTransport.TBufferedTransport(socket)
    client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    try:
        transport.open()
        for name in sorted(each for each in client.get_all_databases() if fnmatchcase(each, database)):
            tables = sorted(each for each in client.get_all_tables(name) if fnmatchcase(each, table))
            for first in range(0, len(tables), _BATCH):
                answer = client.get_table_objects_by_name(name, tables[first : first + _BATCH])
                for found in sorted(answer, key=lambda each: str(each.tableName)):
                    if is_delta(found.parameters or {}):
                        yield _read_table(found)
    except (TTransport.TTransportException, OSError) as fault:
        raise StorageUnavailable(f"{location}: the metastore does not answer: {fault}") from fault
    except TException as fault:
        raise TableUnreadable(f"{location}: the metastore answers: {fault}") from fault
    finally:
        transport.close()


def _read_table(found: Any) -> ListedTable:
    storage = found.sd
    serializer = None if storage is None else storage.serdeInfo
    location = find_location(
        None if storage is None else storage.location, None if serializer is None else serializer.parameters
    )
    return ListedTable(f"{found.dbName}.{found.tableName}", location, found.owner or "", dict(found.parameters or {}))
