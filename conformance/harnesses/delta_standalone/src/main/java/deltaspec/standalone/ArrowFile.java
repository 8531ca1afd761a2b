package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.standalone.Errors.Refusal;
import io.delta.standalone.data.RowRecord;
import io.delta.standalone.types.DataType;
import io.delta.standalone.types.StructField;
import io.delta.standalone.types.StructType;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** An Arrow IPC file with some columns of rows; a nested field is a column named by its path, with dots. */
final class ArrowFile implements AutoCloseable {
  private static final int ROWS_OF_A_BATCH = 1024;

  private final List<List<String>> paths;
  private final List<DataType> types = new ArrayList<>();
  private final BufferAllocator allocator = new RootAllocator();
  private final VectorSchemaRoot root;
  private final FileChannel channel;
  private final ArrowFileWriter writer;
  private long numRows;

  /** Create a file for the columns at the paths; null selects all columns of the schema. */
  ArrowFile(String path, StructType schema, JsonNode columns) throws IOException {
    paths =
        columns.isArray()
            ? StreamSupport.stream(columns.spliterator(), false).map(ArrowFile::parsePath).toList()
            : Arrays.stream(schema.getFieldNames()).map(List::of).toList();
    List<Field> fields = new ArrayList<>();
    for (List<String> column : paths) {
      DataType type = findType(schema, column);
      types.add(type);
      fields.add(ArrowValues.field(String.join(".", column), type));
    }
    root = VectorSchemaRoot.create(new Schema(fields), allocator);
    channel =
        FileChannel.open(
            Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
    writer = new ArrowFileWriter(root, null, channel);
    writer.start();
  }

  private static List<String> parsePath(JsonNode path) {
    return StreamSupport.stream(path.spliterator(), false).map(JsonNode::asText).toList();
  }

  /** Return the type of the field at a path. */
  static DataType findType(StructType schema, List<String> path) {
    DataType type = schema;
    for (String name : path) {
      if (!(type instanceof StructType struct)) {
        throw new Refusal("invalid-request", "column", String.join(".", path) + " is not a field of a struct");
      }
      type =
          Arrays.stream(struct.getFields())
              .filter(field -> field.getName().equals(name))
              .map(StructField::getDataType)
              .findFirst()
              .orElseThrow(() -> new Refusal("invalid-request", "column", "no column " + String.join(".", path)));
    }
    return type;
  }

  void write(RowRecord row) throws IOException {
    int index = root.getRowCount();
    if (index == ROWS_OF_A_BATCH) {
      writeBatch();
      index = 0;
    }
    for (int column = 0; column < paths.size(); column++) {
      ArrowValues.set(root.getVector(column), index, readValue(row, paths.get(column), types.get(column)));
    }
    root.setRowCount(index + 1);
  }

  /** Return the value at a path; null if a struct on the path is null. */
  private static Object readValue(RowRecord row, List<String> path, DataType type) {
    RowRecord record = row;
    for (String name : path.subList(0, path.size() - 1)) {
      if (record.isNullAt(name)) {
        return null;
      }
      record = record.getRecord(name);
    }
    return ArrowValues.read(record, path.get(path.size() - 1), type);
  }

  /** Write the last rows and return the number of all. */
  long finish() throws IOException {
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
