package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors.Refusal;
import deltaspec.common.Requests;
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
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
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
      default -> throw Requests.invalidPredicate(tree);
    };
  }

  private Expression parseValue(JsonNode tree) {
    return switch (tree.path(0).asText()) {
      case "col" -> parseColumn(tree);
      case "lit" -> parseLiteral(tree.path(1).asText(), tree.path(2));
      default -> throw Requests.invalidPredicate(tree);
    };
  }

  private Column parseColumn(JsonNode tree) {
    if (tree.size() != 2) {
      throw new Refusal("unsupported", "operation", "the library has no conditions on fields of structs");
    }
    String name = tree.get(1).asText();
    return new Column(name, Columns.findType(schema, List.of(name)));
  }

  private static Literal parseLiteral(String type, JsonNode text) {
    if (text.isNull()) {
      return Literal.ofNull(DataType.fromJson("\"" + type + "\""));
    }
    Object value = Requests.literal(type, text.asText());
    return switch (type) {
      case "boolean" -> Literal.of((boolean) value);
      case "byte" -> Literal.of((byte) value);
      case "short" -> Literal.of((short) value);
      case "integer" -> Literal.of((int) value);
      case "long" -> Literal.of((long) value);
      case "float" -> Literal.of((float) value);
      case "double" -> Literal.of((double) value);
      case "string" -> Literal.of((String) value);
      case "binary" -> Literal.of((byte[]) value);
      case "date" -> Literal.of(Date.valueOf(LocalDate.ofEpochDay((int) value)));
      case "timestamp" -> Literal.of(Timestamp.from(Instant.EPOCH.plus((long) value, ChronoUnit.MICROS)));
      default -> Literal.of((BigDecimal) value);
    };
  }
}
