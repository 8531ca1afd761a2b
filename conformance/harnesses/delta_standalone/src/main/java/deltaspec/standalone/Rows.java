package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.ArrowFile;
import deltaspec.common.Errors;
import io.delta.standalone.actions.AddFile;
import io.delta.standalone.data.CloseableIterator;
import io.delta.standalone.data.RowRecord;
import io.delta.standalone.internal.SnapshotImpl;
import io.delta.standalone.internal.data.CloseableParquetDataIterator;
import io.delta.standalone.internal.util.FileNames;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** Rows of a table, written as an Arrow IPC file. */
final class Rows {
  private Rows() {}

  static Map<String, Object> scan(JsonNode request) {
    SnapshotImpl snapshot = Errors.inPhase("snapshot", () -> State.loadSnapshot(request));
    return Errors.inPhase("scan", () -> scan(snapshot, request));
  }

  private static Map<String, Object> scan(SnapshotImpl snapshot, JsonNode request) throws IOException {
    Columns columns = Columns.of(snapshot.getMetadata().getSchema(), request.path("columns"));
    JsonNode tree = request.path("predicate_tree");
    Map<String, Object> answer = new LinkedHashMap<>();
    String out = request.get("out").textValue();
    try (ArrowFile file = new ArrowFile(out, columns.fields());
        CloseableIterator<RowRecord> rows = openRows(snapshot, tree, answer)) {
      while (rows.hasNext()) {
        file.write(columns.readRow(rows.next()));
      }
      answer.put("num_rows", file.finish());
    }
    answer.put("path", out);
    return answer;
  }

  /** Open all rows, or those of the files that a predicate selects. */
  private static CloseableIterator<RowRecord> openRows(SnapshotImpl snapshot, JsonNode tree, Map<String, Object> answer)
      throws IOException {
    int allFiles = snapshot.getAllFiles().size();
    if (!tree.isArray()) {
      answer.put("files_read", allFiles);
      answer.put("files_skipped", 0);
      return snapshot.open();
    }
    List<AddFile> files = new ArrayList<>();
    var condition = new Predicates(snapshot.getMetadata().getSchema()).parse(tree);
    try (CloseableIterator<AddFile> selected = snapshot.scan(condition).getFiles()) {
      selected.forEachRemaining(files::add);
    }
    answer.put("files_read", files.size());
    answer.put("files_skipped", allFiles - files.size());
    return openFiles(snapshot, files);
  }

  /** Open the rows of files as `Snapshot.open` does; the library has no method for the files of a scan. */
  private static CloseableIterator<RowRecord> openFiles(SnapshotImpl snapshot, List<AddFile> files) {
    List<Tuple2<String, scala.collection.immutable.Map<String, String>>> locations = new ArrayList<>();
    for (AddFile file : files) {
      String path = FileNames.absolutePath(snapshot.deltaLog().dataPath(), file.getPath()).toString();
      var values = CollectionConverters.asScala(file.getPartitionValues());
      locations.add(Tuple2.apply(path, scala.collection.immutable.Map.from(values)));
    }
    return new CloseableParquetDataIterator(
        CollectionConverters.asScala(locations).toSeq(),
        snapshot.getMetadata().getSchema(),
        snapshot.deltaLog().timezone(),
        snapshot.hadoopConf());
  }
}
