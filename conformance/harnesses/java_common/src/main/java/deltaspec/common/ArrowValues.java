package deltaspec.common;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import deltaspec.common.Errors.Refusal;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/**
 * Values of Java as Arrow values of a Delta type.
 *
 * <p>A date is an {@code Integer} of days, a timestamp a {@code Long} of microseconds, binary a {@code byte[]}. A struct
 * is a list of the values of its fields, an array a list of its elements, and a map a list of lists of key and value.
 */
public final class ArrowValues {
  private static final Pattern DECIMAL = Pattern.compile("decimal\\((\\d+), ?(\\d+)\\)");
  private static final ObjectMapper JSON = new ObjectMapper();

  private ArrowValues() {}

  /** Return the nullable Arrow field for a Delta type in JSON, as in schema strings. */
  public static Field field(String name, String type) {
    try {
      return field(name, JSON.readTree(type));
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Field field(String name, JsonNode type) {
    return switch (type.path("type").asText(type.asText())) {
      case "struct" -> {
        List<Field> children =
            StreamSupport.stream(type.get("fields").spliterator(), false)
                .map(each -> field(each.get("name").asText(), each.get("type")))
                .toList();
        yield new Field(name, FieldType.nullable(ArrowType.Struct.INSTANCE), children);
      }
      case "array" -> {
        List<Field> children = List.of(field("element", type.get("elementType")));
        yield new Field(name, FieldType.nullable(ArrowType.List.INSTANCE), children);
      }
      case "map" -> {
        Field key = required("key", field("key", type.get("keyType")));
        Field value = field("value", type.get("valueType"));
        Field entries = new Field("entries", FieldType.notNullable(ArrowType.Struct.INSTANCE), List.of(key, value));
        yield new Field(name, FieldType.nullable(new ArrowType.Map(false)), List.of(entries));
      }
      default -> new Field(name, FieldType.nullable(primitive(type.asText())), List.of());
    };
  }

  private static Field required(String name, Field field) {
    return new Field(name, FieldType.notNullable(field.getType()), field.getChildren());
  }

  private static ArrowType primitive(String type) {
    Matcher decimal = DECIMAL.matcher(type);
    if (decimal.matches()) {
      return new ArrowType.Decimal(Integer.parseInt(decimal.group(1)), Integer.parseInt(decimal.group(2)), 128);
    }
    return switch (type) {
      case "void" -> ArrowType.Null.INSTANCE;
      case "boolean" -> ArrowType.Bool.INSTANCE;
      case "byte" -> new ArrowType.Int(8, true);
      case "short" -> new ArrowType.Int(16, true);
      case "integer" -> new ArrowType.Int(32, true);
      case "long" -> new ArrowType.Int(64, true);
      case "float" -> new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
      case "double" -> new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
      case "string" -> ArrowType.Utf8.INSTANCE;
      case "binary" -> ArrowType.Binary.INSTANCE;
      case "date" -> new ArrowType.Date(DateUnit.DAY);
      case "timestamp" -> new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC");
      case "timestamp_ntz" -> new ArrowType.Timestamp(TimeUnit.MICROSECOND, null);
      default -> throw new Refusal("unsupported", "type", "the harness has no values of type " + type);
    };
  }

  /** Set a row of a vector to a value. Rows must be set in their order. */
  static void set(FieldVector target, int index, Object value) {
    if (target instanceof NullVector) {
      return;
    }
    if (value == null) {
      target.setNull(index);
    } else if (target instanceof BitVector vector) {
      vector.setSafe(index, (Boolean) value ? 1 : 0);
    } else if (target instanceof TinyIntVector vector) {
      vector.setSafe(index, ((Number) value).byteValue());
    } else if (target instanceof SmallIntVector vector) {
      vector.setSafe(index, ((Number) value).shortValue());
    } else if (target instanceof IntVector vector) {
      vector.setSafe(index, (Integer) value);
    } else if (target instanceof BigIntVector vector) {
      vector.setSafe(index, (Long) value);
    } else if (target instanceof Float4Vector vector) {
      vector.setSafe(index, (Float) value);
    } else if (target instanceof Float8Vector vector) {
      vector.setSafe(index, (Double) value);
    } else if (target instanceof DecimalVector vector) {
      vector.setSafe(index, fitDecimal((BigDecimal) value, vector));
    } else if (target instanceof VarCharVector vector) {
      vector.setSafe(index, ((String) value).getBytes(StandardCharsets.UTF_8));
    } else if (target instanceof VarBinaryVector vector) {
      vector.setSafe(index, (byte[]) value);
    } else if (target instanceof DateDayVector vector) {
      vector.setSafe(index, (Integer) value);
    } else if (target instanceof TimeStampVector vector) {
      vector.setSafe(index, (Long) value);
    } else if (target instanceof StructVector vector) {
      setStruct(vector, index, (List<?>) value);
    } else if (target instanceof ListVector vector) {
      setElements(vector, index, (List<?>) value);
    } else {
      throw new IllegalStateException("no values for " + target.getField());
    }
  }

  private static void setStruct(StructVector target, int index, List<?> values) {
    target.setIndexDefined(index);
    for (int child = 0; child < target.size(); child++) {
      set((FieldVector) target.getChildByOrdinal(child), index, values.get(child));
    }
  }

  /** Set the elements of an array, or the entries of a map, which is a list of structs. */
  private static void setElements(ListVector target, int index, List<?> elements) {
    int position = target.startNewValue(index);
    for (Object element : elements) {
      set(target.getDataVector(), position++, element);
    }
    target.endValue(index, elements.size());
  }

  private static BigDecimal fitDecimal(BigDecimal value, DecimalVector target) {
    BigDecimal scaled = value.setScale(target.getScale());
    if (scaled.precision() > target.getPrecision()) {
      throw new IllegalStateException("the library returned " + value + " for " + target.getField());
    }
    return scaled;
  }
}
