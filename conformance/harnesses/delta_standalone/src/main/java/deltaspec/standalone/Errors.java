package deltaspec.standalone;

import io.delta.standalone.exceptions.DeltaConcurrentModificationException;
import io.delta.standalone.exceptions.DeltaStandaloneException;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.time.DateTimeException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Errors of the library as categories of the candidate protocol. */
final class Errors {
  private Errors() {}

  /** An error of the harness itself. */
  static final class Refusal extends RuntimeException {
    final String category;
    final String code;

    Refusal(String category, String code, String message) {
      super(message);
      this.category = category;
      this.code = code;
    }
  }

  /** An error with the phase in which it occurred. */
  static final class InPhase extends RuntimeException {
    final String phase;

    InPhase(String phase, Throwable cause) {
      super(cause);
      this.phase = phase;
    }
  }

  /** The category of errors whose class name and message match. The first entry that fits decides. */
  private record Entry(Pattern type, Pattern message, String category) {
    Entry(Class<? extends Throwable> type, String message, String category) {
      this(type.getSimpleName(), message, category);
    }

    Entry(String type, String message, String category) {
      this(Pattern.compile(type), Pattern.compile(message), category);
    }

    /** Return whether the class of the error or one of its superclasses has the name, and the message matches. */
    boolean fits(Throwable error) {
      return message.matcher(String.valueOf(error.getMessage())).find()
          && Stream.<Class<?>>iterate(error.getClass(), Objects::nonNull, Class::getSuperclass)
              .anyMatch(each -> type.matcher(each.getSimpleName()).matches());
    }
  }

  /** Names stand for classes that are internal or shaded. The library has few classes, so messages decide. */
  private static final List<Entry> TABLE =
      List.of(
          new Entry(DeltaConcurrentModificationException.class, "", "conflict"),
          new Entry("InvalidProtocolVersionException", "", "unsupported"),
          new Entry(IOException.class, "No space left|File too large|Permission denied", "io"),
          new Entry(DeltaStandaloneException.class, "Cannot time travel|(before|after) the (earliest|latest)", "not-found"),
          new Entry(IllegalArgumentException.class, "(before|after) the (earliest|latest)", "not-found"),
          new Entry(DeltaStandaloneException.class, "No (commits|reproducible commits|delta log)", "not-found"),
          new Entry(DeltaStandaloneException.class, "not supported|[Uu]nsupported", "unsupported"),
          new Entry("BadConfigurationException", "", "unsupported"),
          new Entry(UnsupportedOperationException.class, "", "unsupported"),
          new Entry(FileNotFoundException.class, "", "corrupt"),
          new Entry(EOFException.class, "", "corrupt"),
          new Entry("JacksonException|JsonProcessingException|MappingException", "", "corrupt"),
          new Entry("ParquetDecodingException", "", "corrupt"),
          new Entry(DateTimeException.class, "", "corrupt"),
          new Entry(DeltaStandaloneException.class, "", "corrupt"),
          new Entry(RuntimeException.class, "is not a Parquet file|corrupted file", "corrupt"),
          new Entry(IllegalStateException.class, "recovered|not contiguous|part\\(s\\) of the checkpoint", "corrupt"),
          new Entry(IOException.class, "", "io"));

  /** Return the error answer. */
  static Map<String, Object> describe(Throwable thrown) {
    Map<String, Object> answer = new LinkedHashMap<>();
    Throwable error = thrown;
    if (thrown instanceof InPhase inPhase) {
      answer.put("phase", inPhase.phase);
      error = thrown.getCause();
    }
    answer.put("message", describeCauses(error));
    if (error instanceof Refusal refusal) {
      answer.put("category", refusal.category);
      answer.put("code", refusal.code);
      return answer;
    }
    answer.put("category", category(error));
    answer.put("code", error.getClass().getSimpleName());
    answer.put("native", error.getClass().getName());
    error.printStackTrace();
    return answer;
  }

  /** Return the category of the first entry of the table that fits the error or one of its causes. */
  private static String category(Throwable error) {
    List<Throwable> chain = Stream.iterate(error, Objects::nonNull, Throwable::getCause).toList();
    return TABLE.stream()
        .filter(entry -> chain.stream().anyMatch(entry::fits))
        .map(Entry::category)
        .findFirst()
        .orElse("internal");
  }

  private static String describeCauses(Throwable error) {
    StringBuilder text = new StringBuilder(String.valueOf(error.getMessage()));
    for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
      text.append("; caused by ").append(cause);
    }
    return text.toString();
  }
}
