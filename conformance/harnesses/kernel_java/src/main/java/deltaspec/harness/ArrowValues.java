package deltaspec.harness;

import deltaspec.harness.Errors.Refusal;
import io.delta.kernel.data.ArrayValue;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.MapValue;
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
import java.nio.charset.StandardCharsets;
import java.util.List;
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
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Values of the kernel as Arrow values. */
final class ArrowValues {
  private ArrowValues() {}

  /** Return the nullable Arrow field for a Delta type. */
  static Field field(String name, DataType type) {
    List<Field> children = List.of();
    if (type instanceof StructType struct) {
      children = struct.fields().stream().map(each -> field(each.getName(), each.getDataType())).toList();
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
    if (type instanceof TimestampNTZType) return new ArrowType.Timestamp(TimeUnit.MICROSECOND, null);
    if (type instanceof StructType) return ArrowType.Struct.INSTANCE;
    if (type instanceof ArrayType) return ArrowType.List.INSTANCE;
    if (type instanceof MapType) return new ArrowType.Map(false);
    throw new Refusal("unsupported", "type", "the kernel gives no values of type " + type);
  }

  /** Copy a value of a kernel vector to a row of an Arrow vector. Rows must be set in their order. */
  static void copy(ColumnVector source, int row, FieldVector target, int index) {
    if (source.isNullAt(row)) {
      target.setNull(index);
    } else if (target instanceof BitVector vector) {
      vector.setSafe(index, source.getBoolean(row) ? 1 : 0);
    } else if (target instanceof TinyIntVector vector) {
      vector.setSafe(index, source.getByte(row));
    } else if (target instanceof SmallIntVector vector) {
      vector.setSafe(index, source.getShort(row));
    } else if (target instanceof IntVector vector) {
      vector.setSafe(index, source.getInt(row));
    } else if (target instanceof BigIntVector vector) {
      vector.setSafe(index, source.getLong(row));
    } else if (target instanceof Float4Vector vector) {
      vector.setSafe(index, source.getFloat(row));
    } else if (target instanceof Float8Vector vector) {
      vector.setSafe(index, source.getDouble(row));
    } else if (target instanceof DecimalVector vector) {
      vector.setSafe(index, source.getDecimal(row).setScale(vector.getScale()));
    } else if (target instanceof VarCharVector vector) {
      vector.setSafe(index, source.getString(row).getBytes(StandardCharsets.UTF_8));
    } else if (target instanceof VarBinaryVector vector) {
      vector.setSafe(index, source.getBinary(row));
    } else if (target instanceof DateDayVector vector) {
      vector.setSafe(index, source.getInt(row));
    } else if (target instanceof TimeStampVector vector) {
      vector.setSafe(index, source.getLong(row));
    } else if (target instanceof StructVector vector) {
      copyStruct(source, row, vector, index);
    } else if (target instanceof MapVector vector) {
      copyMap(source.getMap(row), vector, index);
    } else if (target instanceof ListVector vector) {
      copyList(source.getArray(row), vector, index);
    } else {
      throw new IllegalStateException("no values for " + target.getField());
    }
  }

  private static void copyStruct(ColumnVector source, int row, StructVector target, int index) {
    target.setIndexDefined(index);
    for (int child = 0; child < target.size(); child++) {
      copy(source.getChild(child), row, (FieldVector) target.getChildByOrdinal(child), index);
    }
  }

  private static void copyList(ArrayValue source, ListVector target, int index) {
    int start = target.startNewValue(index);
    for (int i = 0; i < source.getSize(); i++) {
      copy(source.getElements(), i, target.getDataVector(), start + i);
    }
    target.endValue(index, source.getSize());
  }

  private static void copyMap(MapValue source, MapVector target, int index) {
    int start = target.startNewValue(index);
    StructVector entries = (StructVector) target.getDataVector();
    for (int i = 0; i < source.getSize(); i++) {
      entries.setIndexDefined(start + i);
      copy(source.getKeys(), i, (FieldVector) entries.getChildByOrdinal(0), start + i);
      copy(source.getValues(), i, (FieldVector) entries.getChildByOrdinal(1), start + i);
    }
    target.endValue(index, source.getSize());
  }
}
