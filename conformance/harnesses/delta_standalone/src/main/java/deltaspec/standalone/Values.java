package deltaspec.standalone;

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
import io.delta.standalone.types.StructType;
import io.delta.standalone.types.TimestampType;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Values of the library as those of {@link deltaspec.common.ArrowValues}. */
final class Values {
  private Values() {}

  /** Read a field of a record; null if it is null. */
  static Object read(RowRecord record, String name, DataType type) {
    return type instanceof NullType || record.isNullAt(name) ? null : convert(get(record, name, type), type);
  }

  private static Object get(RowRecord record, String name, DataType type) {
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

  /** Convert a value that the library returned: of a field, or an element, key or value. */
  private static Object convert(Object value, DataType type) {
    if (value == null) return null;
    if (type instanceof DateType) return (int) ((Date) value).toLocalDate().toEpochDay();
    if (type instanceof TimestampType) return toMicroseconds((Timestamp) value);
    if (type instanceof StructType struct) {
      RowRecord record = (RowRecord) value;
      return Arrays.stream(struct.getFields()).map(each -> read(record, each.getName(), each.getDataType())).toList();
    }
    if (type instanceof ArrayType array) {
      return ((List<?>) value).stream().map(each -> convert(each, array.getElementType())).toList();
    }
    if (type instanceof MapType map) {
      return ((Map<?, ?>) value)
          .entrySet().stream()
              .map(
                  each ->
                      Arrays.asList(
                          convert(each.getKey(), map.getKeyType()), convert(each.getValue(), map.getValueType())))
              .toList();
    }
    return value;
  }

  private static long toMicroseconds(Timestamp value) {
    Instant instant = value.toInstant();
    return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000L), instant.getNano() / 1000);
  }
}
