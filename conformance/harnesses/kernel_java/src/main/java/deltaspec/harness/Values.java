package deltaspec.harness;

import deltaspec.common.ArrowValues;
import deltaspec.common.Errors.Refusal;
import io.delta.kernel.data.ArrayValue;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.MapValue;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.internal.types.DataTypeJsonSerDe;
import io.delta.kernel.types.ArrayType;
import io.delta.kernel.types.BinaryType;
import io.delta.kernel.types.BooleanType;
import io.delta.kernel.types.ByteType;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.DateType;
import io.delta.kernel.types.DecimalType;
import io.delta.kernel.types.DoubleType;
import io.delta.kernel.types.FloatType;
import io.delta.kernel.types.IntegerType;
import io.delta.kernel.types.LongType;
import io.delta.kernel.types.MapType;
import io.delta.kernel.types.ShortType;
import io.delta.kernel.types.StringType;
import io.delta.kernel.types.StructType;
import io.delta.kernel.types.TimestampNTZType;
import io.delta.kernel.types.TimestampType;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.vector.types.pojo.Field;

/** Values of the kernel as those of {@link ArrowValues}, and back. */
final class Values {
  private Values() {}

  /** Return the nullable Arrow field for a type. */
  static Field field(String name, DataType type) {
    return ArrowValues.field(name, DataTypeJsonSerDe.serializeDataType(type));
  }

  /** Read a row of a vector. */
  static Object read(ColumnVector source, int row, DataType type) {
    if (source.isNullAt(row)) return null;
    if (type instanceof BooleanType) return source.getBoolean(row);
    if (type instanceof ByteType) return source.getByte(row);
    if (type instanceof ShortType) return source.getShort(row);
    if (type instanceof IntegerType || type instanceof DateType) return source.getInt(row);
    if (type instanceof LongType) return source.getLong(row);
    if (type instanceof TimestampType || type instanceof TimestampNTZType) return source.getLong(row);
    if (type instanceof FloatType) return source.getFloat(row);
    if (type instanceof DoubleType) return source.getDouble(row);
    if (type instanceof DecimalType) return source.getDecimal(row);
    if (type instanceof StringType) return source.getString(row);
    if (type instanceof BinaryType) return source.getBinary(row);
    if (type instanceof StructType struct) {
      return IntStream.range(0, struct.length())
          .mapToObj(child -> read(source.getChild(child), row, struct.at(child).getDataType()))
          .toList();
    }
    if (type instanceof ArrayType array) {
      ArrayValue value = source.getArray(row);
      return readAll(value.getElements(), value.getSize(), array.getElementType());
    }
    if (type instanceof MapType map) {
      MapValue value = source.getMap(row);
      List<Object> keys = readAll(value.getKeys(), value.getSize(), map.getKeyType());
      List<Object> values = readAll(value.getValues(), value.getSize(), map.getValueType());
      return IntStream.range(0, keys.size()).mapToObj(i -> Arrays.asList(keys.get(i), values.get(i))).toList();
    }
    throw new IllegalStateException("no values for " + type);
  }

  private static List<Object> readAll(ColumnVector source, int size, DataType type) {
    return IntStream.range(0, size).mapToObj(row -> read(source, row, type)).toList();
  }

  /** Return a literal of the kernel; null is allowed. */
  static Literal literal(Object value, DataType type) {
    if (value == null) return Literal.ofNull(type);
    if (type instanceof BooleanType) return Literal.ofBoolean((boolean) value);
    if (type instanceof ByteType) return Literal.ofByte((byte) value);
    if (type instanceof ShortType) return Literal.ofShort((short) value);
    if (type instanceof IntegerType) return Literal.ofInt((int) value);
    if (type instanceof LongType) return Literal.ofLong((long) value);
    if (type instanceof FloatType) return Literal.ofFloat((float) value);
    if (type instanceof DoubleType) return Literal.ofDouble((double) value);
    if (type instanceof StringType) return Literal.ofString((String) value);
    if (type instanceof BinaryType) return Literal.ofBinary((byte[]) value);
    if (type instanceof DateType) return Literal.ofDate((int) value);
    if (type instanceof TimestampType) return Literal.ofTimestamp((long) value);
    if (type instanceof TimestampNTZType) return Literal.ofTimestampNtz((long) value);
    if (type instanceof DecimalType decimal) {
      BigDecimal scaled = ((BigDecimal) value).setScale(decimal.getScale());
      return Literal.ofDecimal(scaled, decimal.getPrecision(), decimal.getScale());
    }
    throw new Refusal("unsupported", "operation", "no literals of the type " + type);
  }
}
