package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.harness.Errors.Refusal;
import io.delta.kernel.expressions.And;
import io.delta.kernel.expressions.Column;
import io.delta.kernel.expressions.Expression;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.expressions.Or;
import io.delta.kernel.expressions.Predicate;
import io.delta.kernel.types.BasePrimitiveType;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.DecimalType;
import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Predicates of the protocol as predicates of the kernel: {@code ["and", t, t]}, {@code ["or", t, t]}, {@code ["not",
 * t]}, {@code ["is_null", x]}, {@code ["is_not_null", x]}, {@code [op, x, x]}; x is {@code ["col", part, ...]} or
 * {@code ["lit", type, text or null]}.
 */
final class Predicates {
  private static final Pattern DECIMAL = Pattern.compile("decimal\\((\\d+), ?(\\d+)\\)");

  private Predicates() {}

  static Predicate parse(JsonNode tree) {
    String operator = tree.path(0).asText();
    return switch (operator) {
      case "and" -> new And(parse(tree.path(1)), parse(tree.path(2)));
      case "or" -> new Or(parse(tree.path(1)), parse(tree.path(2)));
      case "not" -> new Predicate("NOT", parse(tree.path(1)));
      case "is_null" -> new Predicate("IS_NULL", parseValue(tree.path(1)));
      case "is_not_null" -> new Predicate("IS_NOT_NULL", parseValue(tree.path(1)));
      case "=", "<", "<=", ">", ">=" -> compare(operator, tree);
      case "!=" -> new Predicate("NOT", compare("=", tree));
      case "<=>" -> compare("IS NOT DISTINCT FROM", tree);
      default -> throw invalid(tree);
    };
  }

  private static Predicate compare(String name, JsonNode tree) {
    return new Predicate(name, parseValue(tree.path(1)), parseValue(tree.path(2)));
  }

  private static Expression parseValue(JsonNode tree) {
    return switch (tree.path(0).asText()) {
      case "col" -> new Column(IntStream.range(1, tree.size()).mapToObj(i -> tree.get(i).asText()).toArray(String[]::new));
      case "lit" -> parseLiteral(tree.path(1).asText(), tree.path(2));
      default -> throw invalid(tree);
    };
  }

  /** Parse the text of a literal: that of a partition value, or hexadecimal digits for binary. */
  private static Literal parseLiteral(String type, JsonNode value) {
    Matcher decimal = DECIMAL.matcher(type);
    DataType dataType =
        decimal.matches()
            ? new DecimalType(Integer.parseInt(decimal.group(1)), Integer.parseInt(decimal.group(2)))
            : BasePrimitiveType.createPrimitive(type);
    if (value.isNull()) {
      return Literal.ofNull(dataType);
    }
    String text = value.asText();
    try {
      return switch (type) {
        case "boolean" -> Literal.ofBoolean(Boolean.parseBoolean(text));
        case "byte" -> Literal.ofByte(Byte.parseByte(text));
        case "short" -> Literal.ofShort(Short.parseShort(text));
        case "integer" -> Literal.ofInt(Integer.parseInt(text));
        case "long" -> Literal.ofLong(Long.parseLong(text));
        case "float" -> Literal.ofFloat(Float.parseFloat(text));
        case "double" -> Literal.ofDouble(Double.parseDouble(text));
        case "string" -> Literal.ofString(text);
        case "binary" -> Literal.ofBinary(HexFormat.of().parseHex(text));
        case "date" -> Literal.ofDate((int) LocalDate.parse(text).toEpochDay());
        case "timestamp" -> Literal.ofTimestamp(parseMicroseconds(text));
        case "timestamp_ntz" -> Literal.ofTimestampNtz(parseMicroseconds(text));
        default -> parseDecimal((DecimalType) dataType, text);
      };
    } catch (DateTimeException | ArithmeticException | IllegalArgumentException error) {
      throw new Refusal("invalid-request", "predicate", type + " " + text + ": " + error.getMessage());
    }
  }

  private static Literal parseDecimal(DecimalType type, String text) {
    BigDecimal value = new BigDecimal(text).setScale(type.getScale());
    return Literal.ofDecimal(value, type.getPrecision(), type.getScale());
  }

  /** Parse {@code 2020-01-31 12:30:00.123456} or {@code 2020-01-31T12:30:00.123456Z}. */
  private static long parseMicroseconds(String text) {
    Instant instant =
        text.endsWith("Z") ? Instant.parse(text) : LocalDateTime.parse(text.replace(' ', 'T')).toInstant(ZoneOffset.UTC);
    return Math.multiplyExact(instant.getEpochSecond(), 1_000_000L) + instant.getNano() / 1000;
  }

  private static Refusal invalid(JsonNode tree) {
    return new Refusal("invalid-request", "predicate", "invalid predicate " + tree);
  }
}
