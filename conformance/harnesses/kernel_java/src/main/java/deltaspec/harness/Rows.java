package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.ArrowFile;
import deltaspec.common.Errors;
import io.delta.kernel.Scan;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.ColumnarBatch;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.engine.FileReadResult;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.SnapshotImpl;
import io.delta.kernel.internal.data.ScanStateRow;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.types.StructType;
import io.delta.kernel.utils.CloseableIterator;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Rows of a table, written as an Arrow IPC file. */
final class Rows {
  private Rows() {}

  static Map<String, Object> scan(Engine engine, JsonNode request) {
    SnapshotImpl snapshot = Errors.inPhase("snapshot", () -> State.loadSnapshot(engine, request));
    return Errors.inPhase("scan", () -> scan(engine, snapshot, request));
  }

  private static Map<String, Object> scan(Engine engine, SnapshotImpl snapshot, JsonNode request) throws IOException {
    Projection projection =
        Projection.of(snapshot.getSchema(), request.path("columns"), request.path("row_ids").asBoolean());
    var builder = snapshot.getScanBuilder().withReadSchema(projection.readSchema());
    boolean hasPredicate = request.path("predicate_tree").isArray();
    if (hasPredicate) {
      builder = builder.withFilter(Predicates.parse(request.get("predicate_tree")));
    }
    Scan scan = builder.build();
    String out = request.get("out").textValue();
    long filesRead = 0;
    long numRows;
    try (ArrowFile file = new ArrowFile(out, projection.fields());
        CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(engine)) {
      Row state = scan.getScanState(engine);
      while (batches.hasNext()) {
        try (CloseableIterator<Row> scanFiles = batches.next().getRows()) {
          for (; scanFiles.hasNext(); filesRead++) {
            writeRows(engine, state, scanFiles.next(), projection, file);
          }
        }
      }
      numRows = file.finish();
    }
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("path", out);
    answer.put("num_rows", numRows);
    answer.put("files_read", filesRead);
    long allFiles = hasPredicate ? countFiles(engine, snapshot.getScanBuilder().build()) : filesRead;
    answer.put("files_skipped", allFiles - filesRead);
    return answer;
  }

  /** Read a data file, as in the examples of the kernel: the kernel applies vectors, mapping and partition values. */
  private static void writeRows(Engine engine, Row state, Row scanFile, Projection projection, ArrowFile file)
      throws IOException {
    StructType physicalSchema = ScanStateRow.getPhysicalDataReadSchema(state);
    var status = Utils.singletonCloseableIterator(InternalScanFileUtils.getAddFileStatus(scanFile));
    CloseableIterator<ColumnarBatch> physicalRows =
        engine
            .getParquetHandler()
            .readParquetFiles(status, physicalSchema, Optional.empty())
            .map(FileReadResult::getData);
    try (CloseableIterator<FilteredColumnarBatch> rows =
        Scan.transformPhysicalData(engine, state, scanFile, physicalRows)) {
      while (rows.hasNext()) {
        FilteredColumnarBatch batch = rows.next();
        ColumnVector selection = batch.getSelectionVector().orElse(null);
        for (int row = 0; row < batch.getData().getSize(); row++) {
          if (selection == null || (!selection.isNullAt(row) && selection.getBoolean(row))) {
            file.write(projection.readRow(batch.getData(), row));
          }
        }
      }
    }
  }

  private static long countFiles(Engine engine, Scan scan) throws IOException {
    long count = 0;
    try (CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(engine)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> files = batches.next().getRows()) {
          for (; files.hasNext(); files.next()) {
            count++;
          }
        }
      }
    }
    return count;
  }
}
