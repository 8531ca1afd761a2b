package deltaspec.common;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** An Arrow IPC file, written row by row. */
public final class ArrowFile implements AutoCloseable {
  private static final int ROWS_OF_A_BATCH = 1024;

  private final BufferAllocator allocator = new RootAllocator();
  private final VectorSchemaRoot root;
  private final FileChannel channel;
  private final ArrowFileWriter writer;
  private long numRows;

  public ArrowFile(String path, List<Field> fields) throws IOException {
    root = VectorSchemaRoot.create(new Schema(fields), allocator);
    channel =
        FileChannel.open(
            Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
    writer = new ArrowFileWriter(root, null, channel);
    writer.start();
  }

  /** Write a row: a value for each field, in the form of {@link ArrowValues}. */
  public void write(List<?> row) throws IOException {
    int index = root.getRowCount();
    if (index == ROWS_OF_A_BATCH) {
      writeBatch();
      index = 0;
    }
    for (int column = 0; column < row.size(); column++) {
      ArrowValues.set(root.getVector(column), index, row.get(column));
    }
    root.setRowCount(index + 1);
  }

  /** Write the last rows and return the number of all. */
  public long finish() throws IOException {
    writeBatch();
    return numRows;
  }

  private void writeBatch() throws IOException {
    numRows += root.getRowCount();
    writer.writeBatch();
    root.clear();
  }

  @Override
  public void close() throws IOException {
    writer.close();
    channel.close();
    root.close();
    allocator.close();
  }
}
