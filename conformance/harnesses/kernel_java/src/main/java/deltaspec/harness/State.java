package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors;
import deltaspec.common.Requests;
import io.delta.kernel.Snapshot;
import io.delta.kernel.Table;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.SnapshotImpl;
import io.delta.kernel.internal.TableConfig;
import io.delta.kernel.internal.actions.AddFile;
import io.delta.kernel.internal.actions.DeletionVectorDescriptor;
import io.delta.kernel.internal.actions.Metadata;
import io.delta.kernel.internal.actions.Protocol;
import io.delta.kernel.internal.util.VectorUtils;
import io.delta.kernel.utils.CloseableIterator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** State of a table: version, protocol, metadata, live files, transactions, domains. */
final class State {
  private State() {}

  static Map<String, Object> readSnapshot(Engine engine, JsonNode request) {
    return Errors.inPhase("snapshot", () -> describe(engine, loadSnapshot(engine, request), request));
  }

  /** Load the version that `at` selects. */
  static SnapshotImpl loadSnapshot(Engine engine, JsonNode request) {
    Table table = Table.forPath(engine, request.get("table").textValue());
    JsonNode at = request.path("at");
    Snapshot snapshot;
    if (at.has("version")) {
      snapshot = table.getSnapshotAsOfVersion(engine, at.get("version").longValue());
    } else if (at.has("timestamp_ms")) {
      snapshot = table.getSnapshotAsOfTimestamp(engine, at.get("timestamp_ms").longValue());
    } else {
      snapshot = table.getLatestSnapshot(engine);
    }
    return (SnapshotImpl) snapshot;
  }

  private static Map<String, Object> describe(Engine engine, SnapshotImpl snapshot, JsonNode request)
      throws IOException {
    List<String> want = Requests.texts(request.path("want"));
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("version", snapshot.getVersion());
    long timestamp = snapshot.getTimestamp(engine);
    answer.put("timestamp_ms", timestamp);
    if (TableConfig.IN_COMMIT_TIMESTAMPS_ENABLED.fromMetadata(snapshot.getMetadata())) {
      answer.put("in_commit_timestamp", timestamp);
    }
    answer.put("protocol", describeProtocol(snapshot.getProtocol()));
    answer.put("metadata", describeMetadata(snapshot.getMetadata()));
    if (want.contains("files")) {
      answer.put("files", listFiles(engine, snapshot));
    }
    if (want.contains("transactions")) {
      Map<String, Long> transactions = new HashMap<>();
      for (JsonNode id : request.path("app_ids")) {
        snapshot
            .getLatestTransactionVersion(engine, id.textValue())
            .ifPresent(version -> transactions.put(id.textValue(), version));
      }
      answer.put("transactions", transactions);
    }
    if (want.contains("domains")) {
      Map<String, String> domains = new HashMap<>();
      snapshot.getActiveDomainMetadataMap().forEach((name, each) -> domains.put(name, each.getConfiguration()));
      answer.put("domains", domains);
    }
    return answer;
  }

  private static Map<String, Object> describeProtocol(Protocol protocol) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("minReaderVersion", protocol.getMinReaderVersion());
    fields.put("minWriterVersion", protocol.getMinWriterVersion());
    if (protocol.supportsReaderFeatures()) {
      fields.put("readerFeatures", protocol.getReaderFeatures());
    }
    if (protocol.supportsWriterFeatures()) {
      fields.put("writerFeatures", protocol.getWriterFeatures());
    }
    return fields;
  }

  private static Map<String, Object> describeMetadata(Metadata metadata) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("id", metadata.getId());
    metadata.getName().ifPresent(name -> fields.put("name", name));
    metadata.getDescription().ifPresent(description -> fields.put("description", description));
    fields.put(
        "format",
        Map.of("provider", metadata.getFormat().getProvider(), "options", metadata.getFormat().getOptions()));
    fields.put("schemaString", metadata.getSchemaString());
    fields.put("partitionColumns", VectorUtils.toJavaList(metadata.getPartitionColumns()));
    metadata.getCreatedTime().ifPresent(time -> fields.put("createdTime", time));
    fields.put("configuration", metadata.getConfiguration());
    return fields;
  }

  private static List<Map<String, Object>> listFiles(Engine engine, SnapshotImpl snapshot) throws IOException {
    List<Map<String, Object>> files = new ArrayList<>();
    try (CloseableIterator<FilteredColumnarBatch> batches = snapshot.getScanBuilder().build().getScanFiles(engine)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> rows = batches.next().getRows()) {
          while (rows.hasNext()) {
            AddFile add = new AddFile(rows.next().getStruct(InternalScanFileUtils.ADD_FILE_ORDINAL));
            Map<String, Object> file = new LinkedHashMap<>();
            file.put("path", add.getPath());
            file.put("size", add.getSize());
            add.getDeletionVector()
                .map(DeletionVectorDescriptor::getUniqueId)
                .ifPresent(id -> file.put("deletion_vector_id", id));
            files.add(file);
          }
        }
      }
    }
    return files;
  }
}
