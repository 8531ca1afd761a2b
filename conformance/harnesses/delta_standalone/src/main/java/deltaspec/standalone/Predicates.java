package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.standalone.Errors.Refusal;
import io.delta.standalone.expressions.And;
import io.delta.standalone.expressions.Column;
import io.delta.standalone.expressions.EqualTo;
import io.delta.standalone.expressions.Expression;
import io.delta.standalone.expressions.GreaterThan;
import io.delta.standalone.expressions.GreaterThanOrEqual;
import io.delta.standalone.expressions.IsNotNull;
import io.delta.standalone.expressions.IsNull;
import io.delta.standalone.expressions.LessThan;
import io.delta.standalone.expressions.LessThanOrEqual;
import io.delta.standalone.expressions.Literal;
import io.delta.standalone.expressions.Not;
import io.delta.standalone.expressions.Or;
import io.delta.standalone.types.DataType;
import io.delta.standalone.types.StructType;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;

/**
 * Predicates of the protocol as expressions of the library: {@code ["and", t, t]}, {@code ["or", t, t]}, {@code ["not",
 * t]}, {@code ["is_null", x]}, {@code ["is_not_null", x]}, {@code [op, x, x]}; x is {@code ["col", part, ...]} or
 * {@code ["lit", type, text or null]}. The library has no fields of structs and no {@code <=>} in expressions.
 */
record Predicates(StructType schema) {
  Expression parse(JsonNode tree) {
    String operator = tree.path(0).asText();
    return switch (operator) {
      case "and" -> new And(parse(tree.path(1)), parse(tree.path(2)));
      case "or" -> new Or(parse(tree.path(1)), parse(tree.path(2)));
      case "not" -> new Not(parse(tree.path(1)));
      case "is_null" -> new IsNull(parseValue(tree.path(1)));
      case "is_not_null" -> new IsNotNull(parseValue(tree.path(1)));
      default -> compare(operator, tree);
    };
  }

  private Expression compare(String operator, JsonNode tree) {
    Expression left = parseValue(tree.path(1));
    Expression right = parseValue(tree.path(2));
    return switch (operator) {
      case "=" -> new EqualTo(left, right);
      case "!=" -> new Not(new EqualTo(left, right));
      case "<" -> new LessThan(left, right);
      case "<=" -> new LessThanOrEqual(left, right);
      case ">" -> new GreaterThan(left, right);
      case ">=" -> new GreaterThanOrEqual(left, right);
      case "<=>" -> throw new Refusal("unsupported", "operation", "the library has no operator <=>");
      default -> throw invalid(tree);
    };
  }

  private Expression parseValue(JsonNode tree) {
    return switch (tree.path(0).asText()) {
      case "col" -> parseColumn(tree);
      case "lit" -> parseLiteral(tree.path(1).asText(), tree.path(2));
      default -> throw invalid(tree);
    };
  }

  private Column parseColumn(JsonNode tree) {
    if (tree.size() != 2) {
      throw new Refusal("unsupported", "operation", "the library has no conditions on fields of structs");
    }
    String name = tree.get(1).asText();
    return new Column(name, ArrowFile.findType(schema, List.of(name)));
  }

  /** Parse the text of a literal: that of a partition value, or hexadecimal digits for binary. */
  private static Literal parseLiteral(String type, JsonNode value) {
    if (value.isNull()) {
      return Literal.ofNull(DataType.fromJson("\"" + type + "\""));
    }
    String text = value.asText();
    try {
      return switch (type) {
        case "boolean" -> Literal.of(Boolean.parseBoolean(text));
        case "byte" -> Literal.of(Byte.parseByte(text));
        case "short" -> Literal.of(Short.parseShort(text));
        case "integer" -> Literal.of(Integer.parseInt(text));
        case "long" -> Literal.of(Long.parseLong(text));
        case "float" -> Literal.of(Float.parseFloat(text));
        case "double" -> Literal.of(Double.parseDouble(text));
        case "string" -> Literal.of(text);
        case "binary" -> Literal.of(HexFormat.of().parseHex(text));
        case "date" -> Literal.of(Date.valueOf(LocalDate.parse(text)));
        case "timestamp" -> Literal.of(parseTimestamp(text));
        default -> Literal.of(new BigDecimal(text));
      };
    } catch (DateTimeException | IllegalArgumentException error) {
      throw new Refusal("invalid-request", "predicate", type + " " + text + ": " + error.getMessage());
    }
  }

  /** Parse {@code 2020-01-31 12:30:00.123456} or {@code 2020-01-31T12:30:00.123456Z}. */
  private static Timestamp parseTimestamp(String text) {
    boolean hasZone = text.endsWith("Z");
    return Timestamp.from(
        hasZone ? Instant.parse(text) : LocalDateTime.parse(text.replace(' ', 'T')).toInstant(ZoneOffset.UTC));
  }

  private static Refusal invalid(JsonNode tree) {
    return new Refusal("invalid-request", "predicate", "invalid predicate " + tree);
  }
}
