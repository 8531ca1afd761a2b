package deltaspec.harness;

import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.ColumnarBatch;
import io.delta.kernel.data.FilteredColumnarBatch;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** An Arrow IPC file with the columns of a projection; a nested field is a column named by its path, with dots. */
final class ArrowFile implements AutoCloseable {
  private final Projection projection;
  private final BufferAllocator allocator = new RootAllocator();
  private final VectorSchemaRoot root;
  private final FileChannel channel;
  private final ArrowFileWriter writer;
  private long numRows;

  ArrowFile(String path, Projection projection) throws IOException {
    this.projection = projection;
    List<Field> fields = new ArrayList<>();
    for (List<String> column : projection.paths()) {
      fields.add(ArrowValues.field(String.join(".", column), projection.typeOf(column)));
    }
    root = VectorSchemaRoot.create(new Schema(fields), allocator);
    channel =
        FileChannel.open(
            Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
    writer = new ArrowFileWriter(root, null, channel);
    writer.start();
  }

  long numRows() {
    return numRows;
  }

  /** Write the selected rows of a batch. */
  void write(FilteredColumnarBatch batch) throws IOException {
    List<Integer> rows = selectedRows(batch);
    root.allocateNew();
    for (int i = 0; i < projection.paths().size(); i++) {
      List<ColumnVector> ancestors = ancestors(batch.getData(), projection.ordinalsOf(projection.paths().get(i)));
      ColumnVector values = ancestors.remove(ancestors.size() - 1);
      for (int j = 0; j < rows.size(); j++) {
        int row = rows.get(j);
        if (ancestors.stream().anyMatch(struct -> struct.isNullAt(row))) {
          root.getVector(i).setNull(j);
        } else {
          ArrowValues.copy(values, row, root.getVector(i), j);
        }
      }
    }
    root.setRowCount(rows.size());
    writer.writeBatch();
    numRows += rows.size();
  }

  private static List<Integer> selectedRows(FilteredColumnarBatch batch) {
    List<Integer> rows = new ArrayList<>();
    ColumnVector selection = batch.getSelectionVector().orElse(null);
    for (int row = 0; row < batch.getData().getSize(); row++) {
      if (selection == null || (!selection.isNullAt(row) && selection.getBoolean(row))) {
        rows.add(row);
      }
    }
    return rows;
  }

  /** Return the vectors along a path: structs, and last the values. Nested vectors have physical names. */
  private static List<ColumnVector> ancestors(ColumnarBatch batch, List<Integer> ordinals) {
    List<ColumnVector> vectors = new ArrayList<>();
    vectors.add(batch.getColumnVector(ordinals.get(0)));
    for (int ordinal : ordinals.subList(1, ordinals.size())) {
      vectors.add(vectors.get(vectors.size() - 1).getChild(ordinal));
    }
    return vectors;
  }

  @Override
  public void close() throws IOException {
    writer.close();
    channel.close();
    root.close();
    allocator.close();
  }
}
