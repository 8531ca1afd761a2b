package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Requests;
import io.delta.kernel.expressions.And;
import io.delta.kernel.expressions.Column;
import io.delta.kernel.expressions.Expression;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.expressions.Or;
import io.delta.kernel.expressions.Predicate;
import io.delta.kernel.types.BasePrimitiveType;
import io.delta.kernel.types.DataType;
import io.delta.kernel.types.DecimalType;
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
      default -> throw Requests.invalidPredicate(tree);
    };
  }

  private static Predicate compare(String name, JsonNode tree) {
    return new Predicate(name, parseValue(tree.path(1)), parseValue(tree.path(2)));
  }

  private static Expression parseValue(JsonNode tree) {
    return switch (tree.path(0).asText()) {
      case "col" -> new Column(IntStream.range(1, tree.size()).mapToObj(i -> tree.get(i).asText()).toArray(String[]::new));
      case "lit" -> parseLiteral(tree.path(1).asText(), tree.path(2));
      default -> throw Requests.invalidPredicate(tree);
    };
  }

  private static Literal parseLiteral(String type, JsonNode value) {
    Matcher decimal = DECIMAL.matcher(type);
    DataType dataType =
        decimal.matches()
            ? new DecimalType(Integer.parseInt(decimal.group(1)), Integer.parseInt(decimal.group(2)))
            : BasePrimitiveType.createPrimitive(type);
    return Values.literal(value.isNull() ? null : Requests.literal(type, value.asText()), dataType);
  }
}
