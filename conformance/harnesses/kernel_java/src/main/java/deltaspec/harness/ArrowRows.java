package deltaspec.harness;

import deltaspec.common.Errors.Refusal;
import io.delta.kernel.internal.data.GenericRow;
import io.delta.kernel.types.BinaryType;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.StringType;
import io.delta.kernel.types.StructField;
import io.delta.kernel.types.StructType;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;

/** Rows of an Arrow IPC file as values of the kernel. */
final class ArrowRows {
  private ArrowRows() {}

  /** Read all rows: the values of the schema's columns, which are found by name. */
  static List<List<Object>> read(String path, StructType schema) throws IOException {
    List<List<Object>> rows = new ArrayList<>();
    try (BufferAllocator allocator = new RootAllocator();
        FileChannel channel = FileChannel.open(Path.of(path));
        ArrowFileReader reader = new ArrowFileReader(channel, allocator)) {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      while (reader.loadNextBatch()) {
        for (int index = 0; index < root.getRowCount(); index++) {
          rows.add(row(schema, root, index));
        }
      }
    }
    return rows;
  }

  private static List<Object> row(StructType schema, VectorSchemaRoot root, int index) {
    List<Object> values = new ArrayList<>();
    for (StructField field : schema.fields()) {
      FieldVector vector = root.getVector(field.getName());
      if (vector == null) {
        // The kernel writes complete rows; it does not fill in default values.
        throw new Refusal("unsupported", "operation", "the rows have no column " + field.getName());
      }
      values.add(value(vector, index, field.getDataType()));
    }
    return values;
  }

  private static Object value(FieldVector vector, int index, DataType type) {
    if (vector.isNull(index)) return null;
    if (vector instanceof BitVector each) return each.get(index) != 0;
    if (vector instanceof TinyIntVector each) return each.get(index);
    if (vector instanceof SmallIntVector each) return each.get(index);
    if (vector instanceof IntVector each) return each.get(index);
    if (vector instanceof BigIntVector each) return each.get(index);
    if (vector instanceof Float4Vector each) return each.get(index);
    if (vector instanceof Float8Vector each) return each.get(index);
    if (vector instanceof DecimalVector each) return (BigDecimal) each.getObject(index);
    if (vector instanceof DateDayVector each) return each.get(index);
    if (vector instanceof TimeStampVector each) return each.get(index);
    if (vector instanceof VarCharVector each && type instanceof StringType) {
      return new String(each.get(index), StandardCharsets.UTF_8);
    }
    if (vector instanceof VarBinaryVector each && type instanceof BinaryType) return each.get(index);
    if (vector instanceof StructVector each && type instanceof StructType struct) {
      Map<Integer, Object> values = new HashMap<>();
      for (int ordinal = 0; ordinal < struct.length(); ordinal++) {
        StructField field = struct.at(ordinal);
        values.put(ordinal, value((FieldVector) each.getChild(field.getName()), index, field.getDataType()));
      }
      return new GenericRow(struct, values);
    }
    throw new Refusal("unsupported", "operation", "the harness does not write values of the type " + type);
  }
}
