package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.ArrowValues;
import deltaspec.common.Errors.Refusal;
import deltaspec.common.Requests;
import io.delta.standalone.data.RowRecord;
import io.delta.standalone.types.DataType;
import io.delta.standalone.types.StructField;
import io.delta.standalone.types.StructType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.vector.types.pojo.Field;

/** Columns to read: complete columns, or fields of structs, each with its path and its type. */
record Columns(List<List<String>> paths, List<DataType> types) {

  /** Select columns by their paths; null selects all. */
  static Columns of(StructType schema, JsonNode columns) {
    List<List<String>> paths = Requests.columnPaths(columns, List.of(schema.getFieldNames()));
    return new Columns(paths, paths.stream().map(path -> findType(schema, path)).toList());
  }

  /** Return the fields of the answer; a nested field is a column named by its path, with dots. */
  List<Field> fields() {
    return IntStream.range(0, paths.size())
        .mapToObj(i -> ArrowValues.field(String.join(".", paths.get(i)), types.get(i).toJson()))
        .toList();
  }

  /** Return the values of a row; those of a field are null where a struct around it is. */
  List<Object> readRow(RowRecord row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < paths.size(); i++) {
      List<String> path = paths.get(i);
      RowRecord record = row;
      for (String name : path.subList(0, path.size() - 1)) {
        record = record == null || record.isNullAt(name) ? null : record.getRecord(name);
      }
      values.add(record == null ? null : Values.read(record, path.get(path.size() - 1), types.get(i)));
    }
    return values;
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
}
