package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.harness.Errors.Refusal;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.MetadataColumnSpec;
import io.delta.kernel.types.StructField;
import io.delta.kernel.types.StructType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;

/**
 * Columns to read: complete columns, or fields of nested columns.
 *
 * @param readSchema schema that the kernel reads; structs have only the requested fields
 * @param paths paths of the answer's columns in the schema that is read
 */
record Projection(StructType readSchema, List<List<String>> paths) {

  /** Select columns by their paths; null selects all. */
  static Projection of(StructType table, JsonNode columns, boolean rowIds) {
    List<List<String>> paths = new ArrayList<>();
    if (columns.isArray()) {
      columns.forEach(path -> paths.add(StreamSupport.stream(path.spliterator(), false).map(JsonNode::asText).toList()));
    } else {
      table.fieldNames().forEach(name -> paths.add(List.of(name)));
    }
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

  /** Return the type of the field at a path. */
  DataType typeOf(List<String> path) {
    DataType type = readSchema;
    for (String name : path) {
      type = ((StructType) type).get(name).getDataType();
    }
    return type;
  }

  /** Return the positions of the fields along a path. */
  List<Integer> ordinalsOf(List<String> path) {
    List<Integer> ordinals = new ArrayList<>();
    DataType type = readSchema;
    for (String name : path) {
      ordinals.add(((StructType) type).indexOf(name));
      type = ((StructType) type).get(name).getDataType();
    }
    return ordinals;
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
