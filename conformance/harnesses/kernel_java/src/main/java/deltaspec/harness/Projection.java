package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors.Refusal;
import deltaspec.common.Requests;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.ColumnarBatch;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.MetadataColumnSpec;
import io.delta.kernel.types.StructField;
import io.delta.kernel.types.StructType;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * Columns to read: complete columns, or fields of nested columns.
 *
 * @param readSchema schema that the kernel reads; structs have only the requested fields
 * @param paths paths of the answer's columns in the schema that is read
 */
record Projection(StructType readSchema, List<List<String>> paths) {

  /** Select columns by their paths; null selects all. */
  static Projection of(StructType table, JsonNode columns, boolean rowIds) {
    List<List<String>> paths = Requests.columnPaths(columns, table.fieldNames());
    StructType schema = selectFields(table, paths);
    if (rowIds) {
      schema =
          schema
              .addMetadataColumn("__row_id", MetadataColumnSpec.ROW_ID)
              .addMetadataColumn("__row_commit_version", MetadataColumnSpec.ROW_COMMIT_VERSION);
      paths.add(List.of("__row_id"));
      paths.add(List.of("__row_commit_version"));
    }
    return new Projection(schema, paths);
  }

  /** Return the fields of the answer; a nested field is a column named by its path, with dots. */
  List<Field> fields() {
    return paths.stream().map(path -> Values.field(String.join(".", path), typesAlong(path).get(path.size()))).toList();
  }

  /** Return the values of a row; those of a field are null where a struct around it is. */
  List<Object> readRow(ColumnarBatch batch, int row) {
    List<Object> values = new ArrayList<>();
    for (List<String> path : paths) {
      List<DataType> types = typesAlong(path);
      ColumnVector vector = batch.getColumnVector(readSchema.indexOf(path.get(0)));
      for (int depth = 1; depth < path.size() && vector != null; depth++) {
        // Nested vectors have physical names.
        int ordinal = ((StructType) types.get(depth)).indexOf(path.get(depth));
        vector = vector.isNullAt(row) ? null : vector.getChild(ordinal);
      }
      values.add(vector == null ? null : Values.read(vector, row, types.get(path.size())));
    }
    return values;
  }

  /** Return the type of the schema and those of the fields along a path. */
  private List<DataType> typesAlong(List<String> path) {
    List<DataType> types = new ArrayList<>(List.of(readSchema));
    for (String name : path) {
      types.add(((StructType) types.get(types.size() - 1)).get(name).getDataType());
    }
    return types;
  }

  /** Return the struct with only the fields at the paths, in the order of the paths. */
  private static StructType selectFields(StructType schema, List<List<String>> paths) {
    StructType selected = new StructType();
    for (String name : paths.stream().map(path -> path.get(0)).distinct().toList()) {
      if (schema.indexOf(name) < 0) {
        throw new Refusal("invalid-request", "column", "no column " + name);
      }
      StructField field = schema.get(name);
      List<List<String>> inner =
          paths.stream().filter(path -> path.get(0).equals(name)).map(path -> path.subList(1, path.size())).toList();
      boolean complete = inner.stream().anyMatch(List::isEmpty);
      if (!complete && !(field.getDataType() instanceof StructType)) {
        throw new Refusal("invalid-request", "column", name + " is not a struct");
      }
      selected =
          selected.add(complete ? field : field.withDataType(selectFields((StructType) field.getDataType(), inner)));
    }
    return selected;
  }
}
