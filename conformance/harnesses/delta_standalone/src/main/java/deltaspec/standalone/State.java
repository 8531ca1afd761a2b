package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors.Refusal;
import deltaspec.common.Errors;
import deltaspec.common.Requests;
import io.delta.standalone.DeltaLog;
import io.delta.standalone.actions.Metadata;
import io.delta.standalone.internal.SnapshotImpl;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import scala.jdk.javaapi.CollectionConverters;

/** State of a table: version, protocol, metadata, live files, transactions. */
final class State {
  /** The library has no lists of features, so it cannot show a protocol of this version. */
  private static final int TABLE_FEATURES_WRITER_VERSION = 7;

  private State() {}

  static Map<String, Object> readSnapshot(JsonNode request) {
    return Errors.inPhase("snapshot", () -> describe(loadSnapshot(request), request));
  }

  /**
   * Load the version that `at` selects. A table without a log gives an empty snapshot, which is no table.
   *
   * <p>A snapshot reads its files when it is asked for them; list them here, so that errors belong to this phase.
   */
  static SnapshotImpl loadSnapshot(JsonNode request) {
    String path = request.get("table").textValue();
    DeltaLog log = DeltaLog.forTable(new Configuration(), path);
    if (!log.tableExists()) {
      throw new Refusal("not-found", "table", "there is no Delta table at " + path);
    }
    JsonNode at = request.path("at");
    SnapshotImpl snapshot;
    if (at.has("version")) {
      snapshot = (SnapshotImpl) log.getSnapshotForVersionAsOf(at.get("version").longValue());
    } else if (at.has("timestamp_ms")) {
      snapshot = (SnapshotImpl) log.getSnapshotForTimestampAsOf(at.get("timestamp_ms").longValue());
    } else {
      snapshot = (SnapshotImpl) log.snapshot();
    }
    snapshot.getAllFiles();
    return snapshot;
  }

  private static Map<String, Object> describe(SnapshotImpl snapshot, JsonNode request) {
    List<String> want = Requests.texts(request.path("want"));
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("version", snapshot.getVersion());
    var protocol = snapshot.protocolScala();
    if (protocol.minWriterVersion() < TABLE_FEATURES_WRITER_VERSION) {
      answer.put(
          "protocol",
          Map.of("minReaderVersion", protocol.minReaderVersion(), "minWriterVersion", protocol.minWriterVersion()));
    }
    answer.put("metadata", describeMetadata(snapshot.getMetadata()));
    if (want.contains("files")) {
      List<Map<String, Object>> files = new ArrayList<>();
      snapshot.getAllFiles().forEach(add -> files.add(Map.of("path", add.getPath(), "size", add.getSize())));
      answer.put("files", files);
    }
    if (want.contains("transactions")) {
      Map<String, Long> transactions = new HashMap<>();
      CollectionConverters.asJava(snapshot.setTransactions())
          .forEach(each -> transactions.put(each.getAppId(), each.getVersion()));
      answer.put("transactions", transactions);
    }
    return answer;
  }

  private static Map<String, Object> describeMetadata(Metadata metadata) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("id", metadata.getId());
    fields.put("name", metadata.getName());
    fields.put("description", metadata.getDescription());
    fields.put(
        "format",
        Map.of("provider", metadata.getFormat().getProvider(), "options", metadata.getFormat().getOptions()));
    fields.put("schemaString", metadata.getSchema().toJson());
    fields.put("partitionColumns", metadata.getPartitionColumns());
    metadata.getCreatedTime().ifPresent(time -> fields.put("createdTime", time));
    fields.put("configuration", metadata.getConfiguration());
    fields.values().removeIf(value -> value == null);
    return fields;
  }
}
