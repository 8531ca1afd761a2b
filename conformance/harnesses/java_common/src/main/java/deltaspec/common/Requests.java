package deltaspec.common;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors.Refusal;
import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.StreamSupport;

/** Parts of requests as values of Java. */
public final class Requests {
  private Requests() {}

  /** Return the texts of an array; none if it is missing. */
  public static List<String> texts(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asText).toList();
  }

  /** Return the paths of the requested columns, or those of all names if the request names none. */
  public static List<List<String>> columnPaths(JsonNode columns, List<String> names) {
    List<List<String>> paths = new ArrayList<>();
    if (columns.isArray()) {
      columns.forEach(path -> paths.add(texts(path)));
    } else {
      names.forEach(name -> paths.add(List.of(name)));
    }
    return paths;
  }

  /**
   * Parse the text of a literal in a predicate: that of a partition value, or hexadecimal digits for binary.
   *
   * @return the value in the form of {@link ArrowValues}
   */
  public static Object literal(String type, String text) {
    try {
      return switch (type) {
        case "boolean" -> Boolean.parseBoolean(text);
        case "byte" -> Byte.parseByte(text);
        case "short" -> Short.parseShort(text);
        case "integer" -> Integer.parseInt(text);
        case "long" -> Long.parseLong(text);
        case "float" -> Float.parseFloat(text);
        case "double" -> Double.parseDouble(text);
        case "string" -> text;
        case "binary" -> HexFormat.of().parseHex(text);
        case "date" -> (int) LocalDate.parse(text).toEpochDay();
        case "timestamp", "timestamp_ntz" -> parseMicroseconds(text);
        default -> new BigDecimal(text);
      };
    } catch (DateTimeException | ArithmeticException | IllegalArgumentException error) {
      throw new Refusal("invalid-request", "predicate", type + " " + text + ": " + error.getMessage());
    }
  }

  /** Return the refusal of a tree that is no predicate. */
  public static Refusal invalidPredicate(JsonNode tree) {
    return new Refusal("invalid-request", "predicate", "invalid predicate " + tree);
  }

  /** Parse {@code 2020-01-31 12:30:00.123456} or {@code 2020-01-31T12:30:00.123456Z}. */
  private static long parseMicroseconds(String text) {
    Instant instant =
        text.endsWith("Z") ? Instant.parse(text) : LocalDateTime.parse(text.replace(' ', 'T')).toInstant(ZoneOffset.UTC);
    return Math.multiplyExact(instant.getEpochSecond(), 1_000_000L) + instant.getNano() / 1000;
  }
}
