package deltaspec.standalone;

import deltaspec.standalone.Errors.Refusal;
import io.delta.standalone.data.RowRecord;
import io.delta.standalone.types.ArrayType;
import io.delta.standalone.types.BinaryType;
import io.delta.standalone.types.BooleanType;
import io.delta.standalone.types.ByteType;
import io.delta.standalone.types.DataType;
import io.delta.standalone.types.DateType;
import io.delta.standalone.types.DecimalType;
import io.delta.standalone.types.DoubleType;
import io.delta.standalone.types.FloatType;
import io.delta.standalone.types.IntegerType;
import io.delta.standalone.types.LongType;
import io.delta.standalone.types.MapType;
import io.delta.standalone.types.NullType;
import io.delta.standalone.types.ShortType;
import io.delta.standalone.types.StringType;
import io.delta.standalone.types.StructField;
import io.delta.standalone.types.StructType;
import io.delta.standalone.types.TimestampType;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
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
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Values of the library as Arrow values. */
final class ArrowValues {
  private ArrowValues() {}

  /** Return the nullable Arrow field for a Delta type. */
  static Field field(String name, DataType type) {
    List<Field> children = List.of();
    if (type instanceof StructType struct) {
      children = Arrays.stream(struct.getFields()).map(each -> field(each.getName(), each.getDataType())).toList();
    } else if (type instanceof ArrayType array) {
      children = List.of(field("element", array.getElementType()));
    } else if (type instanceof MapType map) {
      Field key = required("key", field("key", map.getKeyType()));
      children = List.of(required("entries", structOf(key, field("value", map.getValueType()))));
    }
    return new Field(name, FieldType.nullable(arrowType(type)), children);
  }

  private static Field structOf(Field... children) {
    return new Field("", FieldType.nullable(ArrowType.Struct.INSTANCE), List.of(children));
  }

  private static Field required(String name, Field field) {
    return new Field(name, FieldType.notNullable(field.getType()), field.getChildren());
  }

  private static ArrowType arrowType(DataType type) {
    if (type instanceof NullType) return ArrowType.Null.INSTANCE;
    if (type instanceof BooleanType) return ArrowType.Bool.INSTANCE;
    if (type instanceof ByteType) return new ArrowType.Int(8, true);
    if (type instanceof ShortType) return new ArrowType.Int(16, true);
    if (type instanceof IntegerType) return new ArrowType.Int(32, true);
    if (type instanceof LongType) return new ArrowType.Int(64, true);
    if (type instanceof FloatType) return new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
    if (type instanceof DoubleType) return new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
    if (type instanceof DecimalType decimal) {
      return new ArrowType.Decimal(decimal.getPrecision(), decimal.getScale(), 128);
    }
    if (type instanceof StringType) return ArrowType.Utf8.INSTANCE;
    if (type instanceof BinaryType) return ArrowType.Binary.INSTANCE;
    if (type instanceof DateType) return new ArrowType.Date(DateUnit.DAY);
    if (type instanceof TimestampType) return new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC");
    if (type instanceof StructType) return ArrowType.Struct.INSTANCE;
    if (type instanceof ArrayType) return ArrowType.List.INSTANCE;
    if (type instanceof MapType) return new ArrowType.Map(false);
    throw new Refusal("unsupported", "type", "the library has no values of type " + type.getTypeName());
  }

  /** Read a field of a record; null if it is null. */
  static Object read(RowRecord record, String name, DataType type) {
    if (type instanceof NullType || record.isNullAt(name)) return null;
    if (type instanceof BooleanType) return record.getBoolean(name);
    if (type instanceof ByteType) return record.getByte(name);
    if (type instanceof ShortType) return record.getShort(name);
    if (type instanceof IntegerType) return record.getInt(name);
    if (type instanceof LongType) return record.getLong(name);
    if (type instanceof FloatType) return record.getFloat(name);
    if (type instanceof DoubleType) return record.getDouble(name);
    if (type instanceof DecimalType) return record.getBigDecimal(name);
    if (type instanceof StringType) return record.getString(name);
    if (type instanceof BinaryType) return record.getBinary(name);
    if (type instanceof DateType) return record.getDate(name);
    if (type instanceof TimestampType) return record.getTimestamp(name);
    if (type instanceof StructType) return record.getRecord(name);
    if (type instanceof ArrayType) return record.getList(name);
    return record.getMap(name);
  }

  /** Set a row of an Arrow vector to a value of the library. Rows must be set in their order. */
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
      vector.setSafe(index, (int) ((Date) value).toLocalDate().toEpochDay());
    } else if (target instanceof TimeStampVector vector) {
      vector.setSafe(index, toMicroseconds((Timestamp) value));
    } else {
      setNested(target, index, value);
    }
  }

  private static void setNested(FieldVector target, int index, Object value) {
    if (target instanceof StructVector vector) {
      RowRecord record = (RowRecord) value;
      vector.setIndexDefined(index);
      for (StructField field : record.getSchema().getFields()) {
        set((FieldVector) vector.getChild(field.getName()), index, read(record, field.getName(), field.getDataType()));
      }
    } else if (target instanceof MapVector vector) {
      Map<?, ?> entries = (Map<?, ?>) value;
      int position = vector.startNewValue(index);
      StructVector pairs = (StructVector) vector.getDataVector();
      for (Map.Entry<?, ?> entry : entries.entrySet()) {
        pairs.setIndexDefined(position);
        set((FieldVector) pairs.getChildByOrdinal(0), position, entry.getKey());
        set((FieldVector) pairs.getChildByOrdinal(1), position, entry.getValue());
        position++;
      }
      vector.endValue(index, entries.size());
    } else if (target instanceof ListVector vector) {
      List<?> elements = (List<?>) value;
      int position = vector.startNewValue(index);
      for (Object element : elements) {
        set(vector.getDataVector(), position++, element);
      }
      vector.endValue(index, elements.size());
    } else {
      throw new IllegalStateException("no values for " + target.getField());
    }
  }

  private static BigDecimal fitDecimal(BigDecimal value, DecimalVector target) {
    BigDecimal scaled = value.setScale(target.getScale());
    if (scaled.precision() > target.getPrecision()) {
      throw new IllegalStateException("the library returned " + value + " for " + target.getField());
    }
    return scaled;
  }

  private static long toMicroseconds(Timestamp value) {
    Instant instant = value.toInstant();
    return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000L), instant.getNano() / 1000);
  }
}
